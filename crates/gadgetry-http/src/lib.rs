//! Connections of HTTP servers: how many there are at once, how long a request's head may take, how they end, and whether a
//! request names this machine or is from the page of another.
//!
//! The gateway, the MCP server and the inspector accept connections in the same way. What they answer is their [`Router`].
//!
//! | module | purpose |
//! |---|---|
//! | `host` | the host and the page that a request names |
//! | `places` | connections that wait for a request, and give up their places to new ones |

mod host;
mod places;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

pub use host::{is_from_another_page, names_this_machine};
use places::{Connection, Marked, Places};

/// Bytes of a request's head, and of what is read of its body at once.
const BUFFER: usize = 64 << 10;

/// Before another attempt after an error such as too many open files, and to find a place for a connection. Other connections are
/// closed meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits of the connections of a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once. A new one takes the place of that which has waited longest for a request; if all of them have one, it waits.
    pub connections: usize,
    /// Maximum time for the head of a request. A connection without a request is closed after this time, too.
    pub header_timeout: Duration,
}

/// Accepts connections, and serves each in a task of its own, until `stop`. Then it closes the listener.
///
/// Cancel safety: dropping the future closes the listener; connections that are open continue.
///
/// ```
/// use std::time::Duration;
/// use axum::{Router, routing::get};
/// use gadgetry_http::{ConnectionLimits, accept};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// let router = Router::new().route("/", get(async || "hello"));
/// let limits = ConnectionLimits { connections: 100, header_timeout: Duration::from_secs(30) };
/// let stop = std::future::ready(());
/// let open = accept(listener, router, limits, stop).await;
/// assert!(open.drain(Duration::from_secs(10)).await);
/// # Ok(())
/// # }
/// ```
pub async fn accept(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) -> OpenConnections {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(BUFFER);
    let slots = Arc::new(Semaphore::new(limits.connections.max(1)));
    let places = Arc::default();
    let open = OpenConnections(watch::Sender::new(()));
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("a connection cannot be accepted: {error}");
                sleep(PAUSE).await;
                continue;
            }
        };
        let slot = tokio::select! {
            biased;
            () = &mut stop => break,
            slot = slot(&slots, &places) => slot,
        };
        // Without it each small answer waits for the acknowledgement of the one before. It fails for a closed socket.
        let _ = stream.set_nodelay(true);
        serve(stream, &http, service.clone(), &open, (&places, slot));
    }
    open
}

/// Waits for a slot. If all are taken, connections that wait for a request end, until one has made room.
async fn slot(slots: &Arc<Semaphore>, places: &Places) -> OwnedSemaphorePermit {
    loop {
        let slot = Arc::clone(slots);
        // It fails only if the semaphore is closed, which nothing does.
        if let Ok(slot) = slot.try_acquire_owned() {
            return slot;
        }
        places.end_oldest();
        if let Ok(Ok(slot)) = timeout(PAUSE, Arc::clone(slots).acquire_owned()).await {
            return slot;
        }
    }
}

/// Serves a connection in a task. Not a part of [`accept`], which is compiled again for every `stop`.
fn serve(
    stream: TcpStream,
    http: &http1::Builder,
    service: TowerToHyperService<Router>,
    open: &OpenConnections,
    (places, slot): (&Arc<Places>, OwnedSemaphorePermit),
) {
    let connection = Connection::new(places);
    let marked = Marked {
        service,
        connection: Arc::clone(&connection),
    };
    let served = http.serve_connection(TokioIo::new(stream), marked);
    let mut stop = open.0.subscribe();
    tokio::spawn(async move {
        let mut served = pin!(served);
        let end = async {
            tokio::select! {
                // It fails if the server was dropped: then the connection continues.
                Ok(()) = stop.changed() => {}
                () = connection.ended() => {}
            }
        };
        let result = tokio::select! {
            result = served.as_mut() => result,
            () = end => {
                served.as_mut().graceful_shutdown();
                finish(served, &connection).await
            }
        };
        if let Err(error) = result {
            tracing::debug!("a connection has ended: {error}");
        }
        drop((stop, slot));
    });
}

/// Lets a connection finish the request that it has. What it has of a head it may complete for a moment.
async fn finish<E>(
    mut served: Pin<&mut impl Future<Output = Result<(), E>>>,
    connection: &Connection,
) -> Result<(), E> {
    loop {
        match timeout(PAUSE, served.as_mut()).await {
            Ok(result) => return result,
            Err(_) if connection.is_busy() => {}
            Err(_) => return Ok(()),
        }
    }
}

/// The connections of a server that accepts no more.
#[must_use = "connections are ended by `drain`"]
pub struct OpenConnections(watch::Sender<()>);

impl OpenConnections {
    /// Closes the connections without a request in flight at once, and the others after it. Returns whether all of them
    /// have ended within `limit`.
    ///
    /// Cancel safety: dropping the future leaves the connections open that have a request in flight.
    pub async fn drain(self, limit: Duration) -> bool {
        let _ = self.0.send(());
        timeout(limit, self.0.closed()).await.is_ok()
    }
}

impl std::fmt::Debug for OpenConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenConnections")
            .field("count", &self.0.receiver_count())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    use super::*;

    #[test]
    fn modules_are_in_order() {
        gadgetry_order::Order::of(env!("CARGO_MANIFEST_DIR")).check();
    }

    const HEAD: &str = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

    /// A server with two places, whose path `/slow` is answered after the notice.
    async fn start(notice: Arc<Notify>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let slow = async move || {
            notice.notified().await;
            "slow"
        };
        let router = Router::new()
            .route("/", get(async || "hello"))
            .route("/slow", get(slow));
        let limits = ConnectionLimits {
            connections: 2,
            header_timeout: Duration::from_hours(1),
        };
        tokio::spawn(accept(listener, router, limits, std::future::pending()));
        address
    }

    async fn open(address: SocketAddr, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(sent.as_bytes()).await.expect("it is open");
        stream
    }

    /// Reads an answer up to this text.
    async fn read(stream: &mut TcpStream, end: &str) {
        let mut answer = Vec::new();
        while !answer.ends_with(end.as_bytes()) {
            let byte = stream.read_u8().await.expect("more of the answer");
            answer.push(byte);
        }
    }

    /// Whatever the first connections have sent, others are answered, although there are only two places.
    #[tokio::test]
    async fn connections_without_a_request_give_up_their_places() {
        for sent in ["", "GET / HT", HEAD] {
            let address = start(Arc::default()).await;
            let mut idle = Vec::new();
            for _ in 0..6 {
                let mut stream = open(address, sent).await;
                if sent == HEAD {
                    read(&mut stream, "hello").await;
                }
                idle.push(stream);
            }
            let mut new = open(address, HEAD).await;
            read(&mut new, "hello").await;
            let mut rest = Vec::new();
            let ended = idle[0].read_to_end(&mut rest).await;
            assert!(ended.is_err() || rest.is_empty(), "{sent:?}");
        }
    }

    #[tokio::test]
    async fn a_request_keeps_its_place() {
        let notice = Arc::new(Notify::new());
        let address = start(Arc::clone(&notice)).await;
        let slow = HEAD.replacen("/ ", "/slow ", 1);
        let mut first = open(address, &slow).await;
        for _ in 0..4 {
            let mut other = open(address, HEAD).await;
            read(&mut other, "hello").await;
        }
        notice.notify_one();
        read(&mut first, "slow").await;
    }
}
