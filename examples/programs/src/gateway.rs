//! Native tool calls for OpenAI's and Anthropic's clients, in your own server.

use axum::{Router, routing};
use gadgetry_gateway::{Gateway, Settings};

use crate::Error;

/// A server with a route of its own, and the gateway to the model at `upstream`.
pub(crate) fn app(upstream: &str) -> Result<Router, Error> {
    let gateway = Gateway::new(Settings::simple(upstream)?);
    let app = Router::new().route("/", routing::get(|| async { "Hello!" }));
    Ok(app.nest("/llm", gateway.router()))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, app("http://127.0.0.1:8080/v1")?).await?)
}
