//! The listener on this machine to which the browser brings the answer.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::LoginError;

const PATH: &str = "/callback";

/// Bytes of the head of a request, connections at the same time, and the time that one may take.
const HEAD: usize = 16 << 10;
const CONNECTIONS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens until it is dropped.
pub(super) struct Redirect {
    listener: TcpListener,
    url: String,
}

/// What the browser has brought.
pub(super) struct Answer {
    stream: TcpStream,
    url: Url,
}

impl Redirect {
    /// Listens on a free port of 127.0.0.1.
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, url })
    }

    /// Where the browser is sent.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the request that knows the state. Others are answered, and change nothing.
    ///
    /// Cancel safety: dropping the future closes the connections.
    pub(super) async fn answer(&self, state: &str) -> Result<Answer, LoginError> {
        let base = Url::parse(&self.url).map_err(|error| LoginError::Url(error.to_string()))?;
        // A browser opens connections that it does not use, so one must not keep the others waiting.
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if requests.len() < CONNECTIONS => {
                    let (stream, _) = accepted.map_err(LoginError::Listen)?;
                    requests.spawn(async { timeout(PATIENCE, read(stream)).await.ok().flatten() });
                }
                Some(read) = requests.join_next() => {
                    let Some((stream, target)) = read.ok().flatten() else {
                        continue;
                    };
                    // An absolute target would replace the base.
                    let url = base.join(&target).ok().filter(|url| {
                        target.starts_with('/') && url.origin() == base.origin()
                    });
                    match url {
                        Some(url) if url.path() == PATH && of(&url, "state").as_deref() == Some(state) => {
                            return Ok(Answer { stream, url });
                        }
                        _ => respond(stream, "404 Not Found", "This is not the answer to a login.").await,
                    }
                }
            }
        }
    }
}

impl Answer {
    /// All of it.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// What the authorization server says instead of a code.
    pub(super) fn refusal(&self) -> Option<LoginError> {
        let error = of(&self.url, "error")?;
        let words = match of(&self.url, "error_description") {
            Some(description) => format!("{description} ({error})"),
            None => error,
        };
        Some(LoginError::refused(&words))
    }

    /// Says in the browser whether it was enough.
    pub(super) async fn reply(self, is_done: bool) {
        let (status, text) = if is_done {
            ("200 OK", "You are logged in. You can close this page.")
        } else {
            (
                "400 Bad Request",
                "The login has failed; the terminal says why. You can close this page.",
            )
        };
        respond(self.stream, status, text).await;
    }
}

fn of(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.into_owned())
}

/// The target of a GET request.
async fn read(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let target = std::str::from_utf8(line).ok()?.strip_prefix("GET ")?;
    let (target, _) = target.split_once(' ')?;
    let target = target.to_owned();
    Some((stream, target))
}

/// A browser that goes away is its own problem.
async fn respond(mut stream: TcpStream, status: &str, text: &str) {
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    let write = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    };
    let _ = timeout(PATIENCE, write).await;
}
