//! A server that answers with the bytes of a row, in pieces of a size that the path says: `/ROW/SIZE/…`.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::row::{Answer, End};

/// Starts the server on a free port of loopback. It lives as long as the test's runtime.
pub(crate) async fn start(answers: Vec<Answer>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let answers: Arc<[Answer]> = answers.into();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let answers = Arc::clone(&answers);
            tokio::spawn(serve(stream, answers));
        }
    });
    address
}

/// Answers requests until the client has had enough, or a row breaks the connection.
async fn serve(stream: TcpStream, answers: Arc<[Answer]>) {
    stream.set_nodelay(true).expect("a TCP connection");
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    while let Some((row, size)) = request(&mut read).await {
        let answer = &answers[row];
        let written = respond(answer, size, &mut write).await;
        if written.is_err() || matches!(answer.end, End::Broken | End::Slammed) {
            return;
        }
        if matches!(answer.end, End::Silent | End::Mute) {
            // Until the client loses its patience.
            _ = read.read(&mut [0]).await;
            return;
        }
    }
}

/// Reads one request. `None` when the client has closed.
async fn request(read: &mut BufReader<OwnedReadHalf>) -> Option<(usize, usize)> {
    let mut path = String::new();
    read.read_line(&mut path).await.ok().filter(|n| *n > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        read.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).await.ok()?;
    let body: serde_json::Value = serde_json::from_slice(&body).expect("the request is JSON");
    assert_eq!(body["model"], "m", "{body}");
    let mut parts = path.split('/').skip(1);
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Each piece is a chunk of HTTP's own, so the client reads it alone, however the packets travel.
async fn respond(answer: &Answer, size: usize, write: &mut OwnedWriteHalf) -> std::io::Result<()> {
    if matches!(answer.end, End::Mute | End::Slammed) {
        return Ok(());
    }
    let mut out = format!("HTTP/1.1 {} Whatever\r\n", answer.status).into_bytes();
    for (name, value) in &answer.headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    for piece in answer.body.chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    if answer.end == End::Closed {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    write.write_all(&out).await
}
