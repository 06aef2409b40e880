//! The little of HTTP that the load needs: one request a connection, so that each can be cut anywhere.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request as it was read.
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) body: String,
}

/// An answer, as far as it came.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Whether its end came, too.
    pub(crate) is_whole: bool,
}

/// Reads one request.
pub(crate) async fn receive(socket: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = end_of_head(&bytes) {
            let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
            let length = header(&head, "content-length").and_then(|it| it.parse().ok());
            let end = at + length.unwrap_or(0);
            if bytes.len() >= end {
                return Ok(Received {
                    path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
                    body: String::from_utf8_lossy(&bytes[at..end]).into_owned(),
                });
            }
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Sends a request on a connection of its own.
pub(crate) async fn send(address: &str, path: &str, body: &str) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(address).await?;
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await?;
    Ok(socket)
}

/// Sends a request and reads its answer.
pub(crate) async fn post(address: &str, path: &str, body: &str) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let mut socket = send(address, path, body).await?;
    socket.read_to_end(&mut bytes).await?;
    answer(&bytes)
}

/// Answers with a whole body.
pub(crate) async fn reply(socket: &mut TcpStream, status: u16, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(answer.as_bytes()).await
}

fn answer(bytes: &[u8]) -> io::Result<Answer> {
    let at = end_of_head(bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    let (body, is_whole) = match header(&head, "content-length") {
        Some(length) => (bytes[at..].to_vec(), length.parse() == Ok(bytes.len() - at)),
        None => joined(&bytes[at..]),
    };
    Ok(Answer {
        status,
        body: String::from_utf8_lossy(&body).into_owned(),
        is_whole,
    })
}

/// Joins the chunks of a body. The last one is empty if its end came.
fn joined(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let Some((size, rest)) = line.map(|at| bytes.split_at(at + 1)) else {
            return (body, false);
        };
        let size = String::from_utf8_lossy(size);
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else {
            return (body, false);
        };
        if size == 0 {
            return (body, true);
        }
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        // A line end follows each chunk.
        let Some(rest) = rest.get(size + 2..) else {
            return (body, false);
        };
        bytes = rest;
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    Some(at + 4)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
