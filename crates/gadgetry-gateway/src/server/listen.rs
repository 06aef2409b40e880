//! Connections.

use std::future::Future;

use gadgetry_http::{ConnectionLimits, accept};
use tokio::net::TcpListener;

use super::Gateway;

/// Serves a gateway until `stop`. After that, no more requests are admitted, and those in flight have the time in
/// [`ServerLimits::drain`](crate::settings::ServerLimits::drain) to end.
///
/// Cancel safety: dropping the future stops accepting; connections that are open continue.
pub async fn serve(listener: TcpListener, gateway: Gateway, stop: impl Future<Output = ()>) {
    let limits = gateway.settings().limits;
    let connections = ConnectionLimits {
        connections: limits.connections,
        header_timeout: limits.header_timeout,
    };
    let open = accept(listener, gateway.router(), connections, stop).await;
    gateway.drain();
    tracing::info!(in_flight = gateway.0.admission.in_flight(), "draining");
    if !open.drain(limits.drain).await {
        let in_flight = gateway.0.admission.in_flight();
        tracing::warn!(in_flight, "not all requests have ended in time");
    }
}
