//! Real models over HTTP: bytes in, deltas out. The only place that knows URLs, keys and status codes.
//!
//! | module | what it does |
//! |---|---|
//! | [`openai`] | Chat Completions: OpenAI, and every server that speaks like it |
//! | [`http`] | one request, its timeouts, and the deltas of its reply |
//! | [`wire`] | what a backend is: [`Wire`] writes requests, [`Decode`] reads frames |
//! | [`answer`] | the bytes of an answer as deltas, sans-IO |
//! | [`sse`] | the event stream, sans-IO |
//! | [`json`] | JSON with halves of characters |
//! | [`error`] | what a provider's refusal means |
//! | [`retry_after`] | how long a provider asks us to wait |
//! | [`tools`] | names of gadgets as tools |
//! | [`secret`] | keys that print as `***` |
//!
//! Whatever goes wrong is a [`Delta::Error`](crate::proto::delta::Delta::Error) with a kind, and the stream ends. No
//! backend retries: the run decides that.

pub mod answer;
pub mod error;
pub mod http;
pub mod json;
pub mod openai;
pub mod retry_after;
pub mod secret;
pub mod sse;
mod tls;
pub mod tools;
pub mod wire;

pub use answer::Answer;
pub use error::ProviderError;
pub use http::{Http, HttpConfig, HttpRequest};
pub use openai::{OpenAi, OpenAiBuilder};
pub use secret::ApiKey;
pub use wire::{Decode, Wire};
