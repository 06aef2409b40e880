//! The upstream of the load: a text model that sends chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::{Failure, STREAMS};

/// A call in text, which the gateway of the bench reads.
const CALL: &str = "!!!GADGET_START:look\\n!!!ARG:at\\nthe end of the street\\n!!!GADGET_END";
/// As long, and no call.
const PROSE: &str =
    "It is at the end of the long street, \\nwhere the shop of the baker is, they all say.";

/// The time between two chunks of a stream: 50 tokens a second, as a fast model writes.
pub(crate) const PACE: Duration = Duration::from_millis(20);
/// Chunks of a write where the upstream has more than one ready.
pub(crate) const READY: usize = 16;
/// The content of a chunk, as it is on the wire of every server, but for its last byte.
pub(crate) const CONTENT: &[u8] = b"\"abc";
/// The last byte of a chunk: `LiteLLM` ends a reply that repeats a chunk.
pub(crate) const LAST: &str = "abcdefghijklmnopqrstuvwxyz";

/// When each chunk was sent, in nanoseconds since the start, by stream.
pub(crate) struct Sent {
    pub(crate) began: Instant,
    pub(crate) times: Vec<Vec<AtomicU64>>,
}

/// How chunks are sent.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// As fast as they are read, and as many a write as a server with that many ready sends.
    Flat,
    /// As fast as they are read, each in a write of its own.
    Single,
    /// One at a time.
    Paced,
    /// The same by a timer of milliseconds, which leaves the processor to others meanwhile.
    Timed,
    /// The first one, and then nothing.
    Silent,
    /// A call, instead of chunks.
    Call,
    /// Prose that is as long as the call.
    Prose,
}

impl Pace {
    /// The word for it in a request.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Single => "single",
            Self::Paced => "paced",
            Self::Timed => "timed",
            Self::Silent => "silent",
            Self::Call => "call",
            Self::Prose => "prose",
        }
    }
}

/// Begins an upstream, which notes when each chunk of paced streams is sent. Returns its address.
pub(crate) async fn upstream(
    streams: usize,
    chunks: usize,
) -> Result<(String, Arc<Sent>), Failure> {
    let sent = Arc::new(Sent {
        began: Instant::now(),
        times: (0..streams)
            .map(|_| (0..chunks).map(|_| AtomicU64::new(0)).collect())
            .collect(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(upstream_of(listener, Arc::clone(&sent)));
    Ok((address, sent))
}

/// The upstream: a text model that sends chunks.
async fn upstream_of(listener: TcpListener, sent: Arc<Sent>) {
    while let Ok((socket, _)) = listener.accept().await {
        let sent = Arc::clone(&sent);
        tokio::spawn(async move {
            // A client that goes ends its stream.
            let _ = replies(socket, &sent).await;
        });
    }
}

/// Answers requests of one connection.
async fn replies(mut socket: TcpStream, sent: &Sent) -> Result<(), Failure> {
    socket.set_nodelay(true)?;
    let frame = |delta: &str, reason: &str| {
        let data = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"finish_reason\":{reason}}}]}}\n\n"
        );
        format!("{:x}\r\n{data}\r\n", data.len())
    };
    let chunk = |last: char| frame(&format!("{{\"content\":\"abc{last}\"}}"), "null");
    let size = chunk('a').len();
    // As many as a write may need, from any of them on.
    let chunks: String = LAST
        .chars()
        .cycle()
        .take(LAST.len() + READY)
        .map(chunk)
        .collect();
    let some =
        |at: usize, count: usize| &chunks.as_bytes()[at % LAST.len() * size..][..count * size];
    let end = frame("{}", "\"stop\"");
    let document = "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\
                    \"content\":\"abca\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}";
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{document}",
        document.len()
    );
    loop {
        let request = read_request(&mut socket).await?;
        let at = request.find("load ").ok_or("a request of this bench")?;
        let mut words = request[at + 5..].split_whitespace();
        let number: usize = words.next().ok_or("a number")?.parse()?;
        let pace = words.next().ok_or("a pace")?.to_owned();
        let count: usize = words.next().ok_or("a count")?.parse()?;
        if !request.contains("\"stream\":true") && !request.contains("\"stream\": true") {
            socket.write_all(whole.as_bytes()).await?;
            continue;
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        socket
            .write_all(frame("{\"role\":\"assistant\",\"content\":\"\"}", "null").as_bytes())
            .await?;
        match pace.as_str() {
            "flat" | "single" => {
                let ready = if pace == "flat" { READY } else { 1 };
                let mut at = 0;
                while at < count {
                    let now = ready.min(count - at);
                    socket.write_all(some(at, now)).await?;
                    tokio::task::yield_now().await;
                    at += now;
                }
            }
            "paced" | "timed" => {
                let began = Instant::now();
                // Streams do not send at the same moment.
                let offset = PACE.mul_f64(number as f64 / STREAMS as f64);
                for at in 0..count {
                    let due = began + offset + PACE * u32::try_from(at)?;
                    if pace == "timed" {
                        tokio::time::sleep_until(due.into()).await;
                    }
                    // Timers have a resolution of a millisecond, which would send a dozen chunks at once.
                    while Instant::now() < due {
                        tokio::task::yield_now().await;
                    }
                    let now = u64::try_from(sent.began.elapsed().as_nanos())?;
                    sent.times[number][at].store(now, Ordering::Relaxed);
                    socket.write_all(some(at, 1)).await?;
                }
            }
            "call" | "prose" => {
                let text = if pace == "call" { CALL } else { PROSE };
                let text = frame(&format!("{{\"content\":\"{text}\"}}"), "null");
                socket.write_all(text.as_bytes()).await?;
            }
            _ => {
                socket.write_all(some(0, 1)).await?;
                // Until the client goes.
                let _ = socket.read(&mut [0; 1]).await?;
                return Ok(());
            }
        }
        socket.write_all(end.as_bytes()).await?;
        socket
            .write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            .await?;
    }
}

/// The head and body of a request.
async fn read_request(socket: &mut TcpStream) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let read = socket.read(&mut buffer).await?;
        if read == 0 {
            return Err("the client has gone".into());
        }
        bytes.extend_from_slice(&buffer[..read]);
        let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= at + 4 + length {
            return Ok(String::from_utf8_lossy(&bytes[at + 4..]).into_owned());
        }
    }
}
