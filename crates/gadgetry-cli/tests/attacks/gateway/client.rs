//! HTTP/1.1 without a library, so that anything can be sent.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// An answer that takes longer does not come.
const FOREVER: Duration = Duration::from_mins(5);

/// An answer as it was received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Without the date and the id of the request, which always differ.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends a request, and reads the whole answer.
pub(crate) fn send(address: &str, head: &str, body: &[u8]) -> Result<Answer, String> {
    let mut socket = connect(address)?;
    // A server that refuses a body need not read it.
    let _ = socket.write_all(head.as_bytes());
    let _ = socket.write_all(body);
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or_else(|| format!("no answer: {end:?} {text:?}"))?;
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if is_chunked {
        unchunked(body)
    } else {
        body.to_owned()
    };
    let always_new = ["date:", "x-request-id:", "request-id:"];
    let lines = head.lines().filter(|line| {
        let line = line.to_ascii_lowercase();
        !always_new.iter().any(|it| line.starts_with(it))
    });
    Ok(Answer {
        status: status.ok_or("no status")?,
        head: lines.collect::<Vec<_>>().join("\n"),
        body,
    })
}

/// Sends a head and the beginning of a body, and waits until the server reads that.
pub(crate) fn begin(address: &str, head: &str) -> Result<TcpStream, String> {
    let mut socket = connect(address)?;
    socket
        .write_all(head.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut line = [0; 12];
    socket
        .read_exact(&mut line)
        .map_err(|error| error.to_string())?;
    socket.write_all(b"{").map_err(|error| error.to_string())?;
    if line == *b"HTTP/1.1 100" {
        Ok(socket)
    } else {
        Err(format!("a slow body: {}", String::from_utf8_lossy(&line)))
    }
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let socket = TcpStream::connect(address).map_err(|error| error.to_string())?;
    let timeout = Some(FOREVER);
    socket
        .set_read_timeout(timeout)
        .and_then(|()| socket.set_write_timeout(timeout))
        .map_err(|error| error.to_string())?;
    Ok(socket)
}

/// The body of chunks, as far as they go.
fn unchunked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = after.get(..size).filter(|_| size > 0) else {
            break;
        };
        out.push_str(chunk);
        rest = after[size..].trim_start_matches("\r\n");
    }
    out
}
