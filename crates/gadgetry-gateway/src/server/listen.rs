//! Connections.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Gateway;

/// Serves a gateway until `stop`. Then no more requests are admitted, and those in flight have the time in
/// [`ServerLimits::drain`](crate::settings::ServerLimits::drain) to end.
///
/// Cancel safety: dropping the future stops accepting; connections that are open continue.
pub async fn serve(listener: TcpListener, gateway: Gateway, stop: impl Future<Output = ()>) {
    let limits = gateway.settings().limits;
    let service = TowerToHyperService::new(gateway.router());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(64 << 10)
        .half_close(false);
    let connections = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let place = tokio::select! {
            biased;
            () = &mut stop => break,
            // It fails only if the semaphore is closed, which nothing does.
            Ok(place) = Arc::clone(&connections).acquire_owned() => place,
        };
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Such as too many open files: others are closed meanwhile.
                tracing::warn!("a connection cannot be accepted: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Without it each small answer waits for the acknowledgement of the one before. It fails for a closed socket.
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection has ended: {error}");
            }
            drop(place);
        });
    }
    drop(listener);
    gateway.drain();
    tracing::info!(in_flight = gateway.0.admission.in_flight(), "draining");
    if timeout(limits.drain, graceful.shutdown()).await.is_err() {
        let in_flight = gateway.0.admission.in_flight();
        tracing::warn!(in_flight, "not all requests have ended in time");
    }
}
