//! Serving one client on a pair of streams.

use futures_core::future::BoxFuture;
use gadgetry::CancellationToken;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::Handler;
use super::{GadgetServer, ServeError};

impl GadgetServer {
    /// Serves one client on stdin and stdout, until it closes stdin, or until `stop`. Nothing else may write to stdout.
    ///
    /// # Errors
    ///
    /// [`ServeError::Client`] if the client does not speak the protocol.
    pub async fn serve_stdio(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        self.serve(input, output, stop).await
    }

    /// Serves one client on a pair of streams, as [`GadgetServer::serve_stdio`] does on stdin and stdout.
    ///
    /// # Errors
    ///
    /// [`ServeError::Client`] if the client does not speak the protocol.
    ///
    /// Cancel safety: dropping the future cancels the calls in flight in the background.
    pub async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let ended = CancellationToken::new();
        let handler = Handler::new(self.clone(), ended.clone());
        let ends_calls = ended.drop_guard();
        let served = serve_client(handler, Box::new(input), Box::new(output));
        let result = tokio::select! {
            biased;
            () = stop => Ok(()),
            result = served => result,
        };
        drop(ends_calls);
        self.drain().await;
        result
    }
}

/// Serves one client until it closes `input`.
///
/// The future and the streams are boxed, so that `rmcp` is compiled for them here, and not in every crate that serves.
fn serve_client(
    handler: Handler,
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
) -> BoxFuture<'static, Result<(), ServeError>> {
    let transport = AsyncRwTransport::new_server(input, output);
    Box::pin(async {
        let service = match handler.serve(transport).await {
            Ok(service) => service,
            // A client that has left before it said anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Client(error.to_string())),
        };
        let closed = service.waiting().await;
        closed.map_err(|error| ServeError::Client(error.to_string()))?;
        Ok(())
    })
}
