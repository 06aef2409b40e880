//! A server on loopback that reads one request a connection turn and answers as a test says.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the server does after having read a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Write(Vec<u8>),
    /// Says nothing more, and stays.
    Hang,
    /// Closes the connection.
    Close,
}

/// A running server. Dropping it ends it.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Server {
    /// Answers each request with these acts; then waits for the next one on the same connection.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        Self::start_each(vec![acts]).await
    }

    /// The same with other acts for each connection; the last ones again for all that follow.
    pub(crate) async fn start_each(acts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, count) = (Arc::clone(&requests), Arc::clone(&connections));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let acts = acts[number.min(acts.len() - 1)].clone();
                open.spawn(serve(stream, acts, Arc::clone(&seen)));
            }
        });
        Self {
            address,
            requests,
            connections,
            _task: task,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Head and body of each request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, acts: Vec<Act>, seen: Arc<Mutex<Vec<String>>>) {
    while let Some(request) = read_request(&mut stream).await {
        seen.lock().unwrap().push(request);
        for act in &acts {
            match act {
                Act::Write(bytes) => {
                    if stream.write_all(bytes).await.is_err() {
                        return;
                    }
                }
                Act::Hang => std::future::pending().await,
                Act::Close => return,
            }
        }
    }
}

/// One request; `None` if the client has gone.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Act {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        _ = write!(text, "{name}: {value}\r\n");
    }
    Act::Write(format!("{text}\r\n{body}").into_bytes())
}

/// The head of an answer that comes in chunks.
pub(crate) fn head() -> Act {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    Act::Write(head.into())
}

/// One chunk; an empty one is the end.
pub(crate) fn chunk(body: &str) -> Act {
    Act::Write(format!("{:x}\r\n{body}\r\n", body.len()).into_bytes())
}
