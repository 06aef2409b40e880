//! Connections of HTTP servers: how many there are at once, how long a request's head may take, how they end, and whether a
//! request names this machine or is from the page of another.
//!
//! The gateway and the MCP server accept connections in the same way. What they answer is their [`Router`].

mod host;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

pub use host::{is_from_another_page, names_this_machine};

/// Bytes of a request's head, and of what is read of its body at once.
const BUFFER: usize = 64 << 10;

/// Before another attempt after an error such as too many open files. Other connections are closed meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits of the connections of a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once. More wait in the queue of the system.
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
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let slot = tokio::select! {
            biased;
            () = &mut stop => break,
            // It fails only if the semaphore is closed, which nothing does.
            Ok(slot) = Arc::clone(&slots).acquire_owned() => slot,
        };
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
        // Without it each small answer waits for the acknowledgement of the one before. It fails for a closed socket.
        let _ = stream.set_nodelay(true);
        serve(stream, &http, service.clone(), &graceful, slot);
    }
    OpenConnections(graceful)
}

/// Serves a connection in a task. Not a part of [`accept`], which is compiled again for every `stop`.
fn serve(
    stream: TcpStream,
    http: &http1::Builder,
    service: TowerToHyperService<Router>,
    graceful: &GracefulShutdown,
    slot: OwnedSemaphorePermit,
) {
    let connection = http.serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection has ended: {error}");
        }
        drop(slot);
    });
}

/// The connections of a server that accepts no more.
#[must_use = "connections are ended by `drain`"]
pub struct OpenConnections(GracefulShutdown);

impl OpenConnections {
    /// Closes the connections without a request in flight at once, and the others after it. Returns whether all of them
    /// have ended within `limit`.
    ///
    /// Cancel safety: dropping the future leaves the connections open that have a request in flight.
    pub async fn drain(self, limit: Duration) -> bool {
        timeout(limit, self.0.shutdown()).await.is_ok()
    }
}

impl std::fmt::Debug for OpenConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenConnections")
            .field("count", &self.0.count())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn modules_are_in_order() {
        gadgetry_order::Order::of(env!("CARGO_MANIFEST_DIR")).check();
    }
}
