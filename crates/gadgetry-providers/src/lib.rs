//! Language models over HTTP: bytes in, deltas out. The only place that knows URLs, keys and status codes.
//!
//! Users find all of it in `gadgetry`, which re-exports it as `gadgetry::provider`, `gadgetry::model` and `gadgetry::models`. What
//! needs models and no agents, like the gateway, depends on this crate alone.
//!
//! # Modules, in the order in which they depend on each other
//!
//! A module names only modules above it in this list; a test fails otherwise.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@model`] | [`Model`](model::Model): a request in, a stream of deltas out |
//! | [`models`] | [`ModelRegistry`](models::ModelRegistry): prices, context windows and features of known models |
//! | [`adapter`] | any client as a model; needs no feature |
//! | [`json`] | JSON with lone surrogates |
//! | [`secret`] `redact` | keys that print as `***`, and are removed from answers |
//! | [`tls`] [`addresses`] `base_url` | certificates, public addresses, addresses of servers |
//! | `overflow` [`retry_after`] [`error`] | what a provider's refusal means |
//! | [`sse`] `frames` | the event stream, sans-IO |
//! | `request` | an HTTP request as data |
//! | [`wire`] | what a backend is: [`Wire`] writes requests, [`Decode`] reads replies, [`Encode`] writes them |
//! | [`response`] | the bytes of an answer as deltas, sans-IO |
//! | [`http`] | one request, its timeouts, and the deltas of its reply |
//! | [`tools`] | gadgets as the tools of a provider |
//! | `options` | [`ModelOptions`]: the options that all models have in common |
//! | `arguments` `omitted` `conversation` `refusal` `collected` | what the three APIs share |
//! | `wire_model` | [`WireModel`]: a wire and a connection as a model |
//! | `decoded_request` | requests that clients of an API send |
//! | [`anthropic`] | the Messages API: Anthropic, and every server with the same interface |
//! | [`openai`] | Chat Completions: OpenAI, and every server with the same interface; OpenAI's Responses API, and the legacy Completions API |
//! | [`server`] | what serves a base URL, and what it can do |
//! | [`resolve`] | models by their names, with keys and addresses from the environment |
//! | [`variables`] | the environment variables that hold keys |
//!
//! Every failure is a [`Delta::Error`](gadgetry_proto::delta::Delta::Error) with a kind, and the stream ends. No backend
//! retries: the run decides that.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `http` | yes | all but `model`, `models`, `variables` and `adapter`: the network and TLS |
//! | `tokens` | no | `models::count_tokens`: exact counts for OpenAI's vocabularies, with 8 MB of data |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod adapter;
#[cfg(feature = "http")]
pub mod addresses;
#[cfg(feature = "http")]
pub mod anthropic;
#[cfg(feature = "http")]
mod arguments;
#[cfg(feature = "http")]
mod base_url;
#[cfg(feature = "http")]
mod collected;
#[cfg(feature = "http")]
mod conversation;
#[cfg(feature = "http")]
mod decoded_request;
#[cfg(feature = "http")]
pub mod error;
#[cfg(feature = "http")]
mod frames;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub mod json;
pub mod model;
pub mod models;
#[cfg(feature = "http")]
mod omitted;
#[cfg(feature = "http")]
pub mod openai;
#[cfg(feature = "http")]
mod options;
#[cfg(feature = "http")]
mod overflow;
#[cfg(feature = "http")]
mod redact;
#[cfg(feature = "http")]
mod refusal;
#[cfg(feature = "http")]
mod request;
#[cfg(feature = "http")]
pub mod resolve;
#[cfg(feature = "http")]
pub mod response;
#[cfg(feature = "http")]
pub mod retry_after;
#[cfg(feature = "http")]
pub mod secret;
#[cfg(feature = "http")]
pub mod server;
#[cfg(feature = "http")]
pub mod sse;
#[cfg(feature = "http")]
pub mod tls;
#[cfg(feature = "http")]
pub mod tools;
pub mod variables;
#[cfg(feature = "http")]
pub mod wire;
#[cfg(feature = "http")]
mod wire_model;

pub use adapter::Adapter;
#[cfg(feature = "http")]
pub use {
    anthropic::{Anthropic, AnthropicBuilder},
    base_url::BaseUrl,
    decoded_request::{DecodedRequest, RequestError},
    error::ProviderError,
    frames::FrameLimits,
    http::{Http, HttpConfig},
    model::ConstraintField,
    openai::{
        OpenAi, OpenAiBuilder, OpenAiCompletions, OpenAiCompletionsBuilder, OpenAiResponses,
        OpenAiResponsesBuilder,
    },
    options::ModelOptions,
    request::HttpRequest,
    resolve::Resolver,
    response::ResponseDecoder,
    secret::ApiKey,
    server::{ModelFacts, ServerFacts, ServerKind},
    wire::{Decode, Encode, Wire},
    wire_model::{ModelBuilder, WireModel},
};

/// Finds a model by its name: `haiku`, `gpt-4o-mini`, `ollama:llama3:8b`.
///
/// The provider's key and base URL come from the environment; the price, the context window and the supported media from
/// [`ModelRegistry::builtin`](crate::models::ModelRegistry::builtin). No request is sent, so a model that does not exist fails at its
/// first request. An agent asks a server of your own about its model before the first run, as
/// [`Resolver::connect`] does at once. [`Resolver`] has more options, and lists the forms of a name.
///
/// ```no_run
/// # async fn answer() -> Result<(), Box<dyn std::error::Error>> {
/// let model = gadgetry::model("haiku")?;
/// let answer = gadgetry::Agent::builder().model(model).build()?.ask("What is 2+2?").text().await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "http")]
pub fn model(name: &str) -> Result<std::sync::Arc<dyn model::Model>, resolve::ResolveError> {
    Resolver::from_env().resolve(name)
}
