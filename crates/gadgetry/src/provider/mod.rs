//! Real models over HTTP: bytes in, deltas out. The only place that knows URLs, keys and status codes.
//!
//! | module | what it does |
//! |---|---|
//! | [`adapter`] | any client as a model; needs no feature |
//! | [`anthropic`] | the Messages API: Anthropic, and every server with the same interface |
//! | [`openai`] | Chat Completions: OpenAI, and every server with the same interface; OpenAI's Responses API, and the legacy Completions API |
//! | [`server`] | what serves a base URL, and what it can do |
//! | [`resolve`] | models by their names, with keys and addresses from the environment |
//! | [`http`] | one request, its timeouts, and the deltas of its reply |
//! | [`wire`] | what a backend is: [`Wire`] writes requests, [`Decode`] reads replies, [`Encode`] writes them |
//! | [`answer`] | the bytes of an answer as deltas, sans-IO |
//! | [`sse`] | the event stream, sans-IO |
//! | [`json`] | JSON with lone surrogates |
//! | [`tools`] | gadgets as the tools of a provider |
//! | [`error`] | what a provider's refusal means |
//! | [`secret`] | keys that print as `***` |
//!
//! Every failure is a [`Delta::Error`](crate::proto::delta::Delta::Error) with a kind, and the stream ends. No backend
//! retries: the run decides that.

pub mod adapter;
#[cfg(feature = "providers")]
#[doc(hidden)]
pub mod addresses;
#[cfg(feature = "providers")]
pub mod answer;
#[cfg(feature = "providers")]
pub mod anthropic;

#[cfg(feature = "providers")]
mod arguments;
#[cfg(feature = "providers")]
mod base_url;
#[cfg(feature = "providers")]
mod collected;
#[cfg(feature = "providers")]
mod conversation;
#[cfg(feature = "providers")]
pub mod error;
#[cfg(feature = "providers")]
mod frames;
#[cfg(feature = "providers")]
pub mod http;
#[cfg(feature = "providers")]
mod incoming;
#[cfg(feature = "providers")]
pub mod json;
#[cfg(feature = "providers")]
mod omitted;
#[cfg(feature = "providers")]
pub mod openai;
#[cfg(feature = "providers")]
mod options;
#[cfg(feature = "providers")]
mod overflow;
#[cfg(feature = "providers")]
mod redact;
#[cfg(feature = "providers")]
mod refusal;
#[cfg(feature = "providers")]
mod request;
#[cfg(feature = "providers")]
pub mod resolve;
#[cfg(feature = "providers")]
pub mod retry_after;
#[cfg(feature = "providers")]
pub mod secret;
#[cfg(feature = "providers")]
pub mod server;
#[cfg(feature = "providers")]
pub mod sse;
#[cfg(feature = "providers")]
#[doc(hidden)]
pub mod tls;
#[cfg(feature = "providers")]
pub mod tools;
pub(crate) mod variables;
#[cfg(feature = "providers")]
pub mod wire;
#[cfg(feature = "providers")]
mod wire_model;

pub use adapter::Adapter;
#[cfg(feature = "providers")]
pub use answer::Answer;
#[cfg(feature = "providers")]
pub use anthropic::{Anthropic, AnthropicBuilder};
#[cfg(feature = "providers")]
pub use base_url::BaseUrl;
#[cfg(feature = "providers")]
pub use error::ProviderError;
#[cfg(feature = "providers")]
pub use frames::FrameLimits;
#[cfg(feature = "providers")]
pub use http::{Http, HttpConfig};
#[cfg(feature = "providers")]
pub use incoming::{Incoming, RequestError};
#[cfg(feature = "providers")]
pub use openai::{
    OpenAi, OpenAiBuilder, OpenAiCompletions, OpenAiCompletionsBuilder, OpenAiResponses,
    OpenAiResponsesBuilder,
};
#[cfg(feature = "providers")]
pub use options::ModelOptions;
#[cfg(feature = "providers")]
pub use request::HttpRequest;
#[cfg(feature = "providers")]
pub use resolve::Resolver;
#[cfg(feature = "providers")]
pub use secret::ApiKey;
#[cfg(feature = "providers")]
pub use server::{ConstraintField, ModelFacts, ServerFacts, ServerKind};
#[cfg(feature = "providers")]
pub use wire::{Decode, Encode, Wire};
#[cfg(feature = "providers")]
pub use wire_model::{ModelBuilder, WireModel};

/// Finds a model by its name: `haiku`, `gpt-4o-mini`, `ollama:llama3:8b`.
///
/// The provider's key and base URL come from the environment; the price, the context window and the supported media from
/// [`ModelRegistry::builtin`](crate::ModelRegistry::builtin). No request is sent, so a model that does not exist fails at its
/// first request. [`Resolver`] has more options, and lists the forms of a name.
///
/// ```no_run
/// # async fn answer() -> Result<(), Box<dyn std::error::Error>> {
/// let model = gadgetry::model("haiku")?;
/// let answer = gadgetry::Agent::builder().model(model).build()?.ask("What is 2+2?").text().await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "providers")]
pub fn model(name: &str) -> Result<std::sync::Arc<dyn crate::model::Model>, resolve::ResolveError> {
    Resolver::from_env().resolve(name)
}

/// The catalogue's entry for a model at its provider's own address.
#[cfg(feature = "providers")]
fn listed(provider: &str, model: &str) -> Option<crate::model::ModelInfo> {
    let models = crate::models::ModelRegistry::builtin();
    let spec = models.get(&format!("{provider}:{model}"))?;
    Some(spec.info())
}
