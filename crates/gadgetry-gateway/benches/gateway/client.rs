//! Clients.

use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Failure;
use crate::upstream::{CONTENT, Pace};

/// The body of a request. Its message says what the upstream replies.
pub(crate) fn body(number: usize, pace: Pace, chunks: usize, streams: bool, tools: bool) -> String {
    let tools = if tools {
        ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"description\":\"Looks\",\"parameters\":{\"type\":\"object\",\
         \"properties\":{\"at\":{\"type\":\"string\"}}}}}]"
    } else {
        ""
    };
    format!(
        "{{\"model\":\"m\",\"stream\":{streams},\"messages\":[{{\"role\":\"user\",\"content\":\"load {number} {} {chunks} .\"}}]{tools}}}",
        pace.word()
    )
}

/// A request with this body.
pub(crate) fn request(body: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: Bearer sk-bench\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A connection that stays open between requests.
pub(crate) struct Connection {
    address: String,
    socket: TcpStream,
    bytes: Vec<u8>,
}

/// When a reply came.
pub(crate) struct Timed {
    pub(crate) asked: Instant,
    /// When each chunk was read.
    pub(crate) chunks: Vec<Instant>,
    pub(crate) ended: Instant,
    /// It has a call.
    pub(crate) has_call: bool,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self, Failure> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            address: address.to_owned(),
            socket,
            bytes: Vec::with_capacity(64 << 10),
        })
    }

    /// Sends a request, and reads the reply to its end.
    pub(crate) async fn ask(&mut self, body: &str) -> Result<Timed, Failure> {
        // A server may have closed a connection that was idle, as that of `LiteLLM` does after some seconds.
        let is_closed = matches!(self.socket.try_read(&mut [0]), Ok(0));
        if is_closed {
            self.socket = TcpStream::connect(&self.address).await?;
            self.socket.set_nodelay(true)?;
        }
        let request = request(body);
        self.bytes.clear();
        let asked = Instant::now();
        self.socket.write_all(request.as_bytes()).await?;
        let mut chunks = Vec::new();
        let mut found = 0;
        loop {
            if self.socket.read_buf(&mut self.bytes).await? == 0 {
                let text = String::from_utf8_lossy(&self.bytes).into_owned();
                return Err(format!("a reply was cut off: {text}").into());
            }
            let now = Instant::now();
            while let Some(at) = memchr::memmem::find(&self.bytes[found..], CONTENT) {
                chunks.push(now);
                found += at + CONTENT.len();
            }
            if is_whole(&self.bytes) {
                if !self.bytes.starts_with(b"HTTP/1.1 200") {
                    return Err(String::from_utf8_lossy(&self.bytes).into_owned().into());
                }
                return Ok(Timed {
                    asked,
                    chunks,
                    ended: now,
                    has_call: memchr::memmem::find(&self.bytes, b"tool_calls").is_some(),
                });
            }
        }
    }
}

/// Returns whether an answer has come to its end.
fn is_whole(answer: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(answer, b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..at]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|it| it.trim().parse::<usize>().ok());
    match length {
        Some(length) => answer.len() >= at + 4 + length,
        None => answer.ends_with(b"0\r\n\r\n"),
    }
}

/// One stream: when each chunk has arrived.
pub(crate) async fn stream(
    address: &str,
    number: usize,
    pace: Pace,
    chunks: usize,
    ready: Option<tokio::sync::mpsc::UnboundedSender<()>>,
) -> Result<Vec<Instant>, Failure> {
    let body = body(number, pace, chunks, true, true);
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    socket.write_all(request(&body).as_bytes()).await?;
    let mut arrived = Vec::with_capacity(chunks);
    let mut buffer = vec![
        0;
        if pace == Pace::Silent {
            2_048
        } else {
            16 << 10
        }
    ];
    let mut kept = 0;
    loop {
        let read = socket.read(&mut buffer[kept..]).await?;
        let now = Instant::now();
        let text = &buffer[..kept + read];
        if arrived.is_empty() && !text.starts_with(b"HTTP/1.1 200") && text.len() > 12 && kept == 0
        {
            return Err(String::from_utf8_lossy(text).into_owned().into());
        }
        let found = memchr::memmem::find_iter(text, CONTENT);
        let mut end = 0;
        for at in found {
            arrived.push(now);
            end = at + CONTENT.len();
        }
        let is_over = read == 0 || memchr::memmem::find(text, b"data: [DONE]").is_some();
        if is_over || arrived.len() >= chunks && pace == Pace::Paced {
            return Ok(arrived);
        }
        if pace == Pace::Silent && !arrived.is_empty() {
            if let Some(ready) = &ready {
                let _ = ready.send(());
            }
            std::future::pending::<()>().await;
        }
        // What may be the beginning of a chunk's content or of the end.
        let rest = text.len().saturating_sub(16).max(end);
        let total = text.len();
        buffer.copy_within(rest..total, 0);
        kept = total - rest;
    }
}
