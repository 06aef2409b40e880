//! Native tool calls for any client, on any text model.
//!
//! A gateway is an HTTP service that clients of OpenAI's and Anthropic's APIs use unchanged. It writes the tools of a request
//! into the prompt of a text model, reads the blocks that the model writes, and sends them to the client as the tool calls of
//! its API. It never executes anything.
//!
//! | module | what it does |
//! |---|---|
//! | `memory`, `faults` | values kept between requests, by owner and in bytes; errors of upstreams without addresses |
//! | [`exchange`] | one request from its prompt to its reply: a state machine without I/O |
//! | [`api`] | the three APIs as pure functions: read requests, write replies and errors |
//! | [`upstream`] | destinations of requests |
//! | [`settings`] | routes, keys, limits |
//! | [`config`] | settings from a file |
//! | [`trace`] | traces of requests, and their content, for a backend that the program chooses |
//! | [`server`] | the service, which does the I/O |
//! | `guide` | a document whose code is compiled |
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use gadgetry_gateway::{Gateway, Settings};
//!
//! let gateway = Gateway::new(Settings::simple("http://127.0.0.1:8080/v1")?);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
//! gadgetry_gateway::server::serve(listener, gateway, std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what the clients' APIs have no form for is left out"
)]

pub mod api;
pub mod config;
pub mod exchange;
mod faults;
#[cfg(doctest)]
mod guide;
mod memory;
pub mod server;
pub mod settings;
pub mod trace;
pub mod upstream;

pub use api::{ClientApi, Failure, Refusal};
pub use memory::Owner;
pub use server::Gateway;
pub use settings::Settings;
