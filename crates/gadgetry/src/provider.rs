//! Real models over HTTP: bytes in, deltas out. Only this module knows URLs, keys and status codes.
//!
//! | module | what it does |
//! |---|---|
//! | [`adapter`] | any client as a model; needs no feature |
//! | [`anthropic`] | the Messages API: Anthropic, and every server with the same interface |
//! | [`openai`] | Chat Completions: OpenAI, and every server with the same interface; OpenAI's Responses API, and the legacy Completions API |
//! | [`server`] | recognises the server at a base URL, and its abilities |
//! | [`resolve`] | models by their names, with keys and addresses from the environment |
//! | [`http`] | one request, its timeouts, and the deltas of its reply |
//! | [`wire`] | the traits of a backend: [`Wire`] writes requests, [`Decode`] reads replies, [`Encode`] writes them |
//! | [`response`] | the bytes of an answer as deltas, sans-IO |
//! | [`sse`] | the event stream, sans-IO |
//! | [`tools`] | gadgets as the tools of a provider |
//! | [`error`] | the meaning of a provider's errors |
//! | [`secret`] | keys that print as `***` |
//!
//! Every failure is a [`Delta::Error`](crate::Delta::Error) with a kind, and the stream ends. Backends do not retry: the run
//! decides that.

#[doc(inline)]
pub use gadgetry_providers::adapter::{self, Adapter};
#[cfg(feature = "providers")]
#[doc(inline)]
pub use gadgetry_providers::{
    Anthropic, AnthropicBuilder, ApiKey, BaseUrl, ConstraintField, Decode, DecodedRequest, Encode,
    FrameLimits, Http, HttpConfig, HttpRequest, ModelBuilder, ModelFacts, ModelOptions, OpenAi,
    OpenAiBuilder, OpenAiCompletions, OpenAiCompletionsBuilder, OpenAiResponses,
    OpenAiResponsesBuilder, ProviderError, RequestError, Resolver, ResponseDecoder, ServerFacts,
    ServerKind, Wire, WireModel, anthropic, error, http, model, openai, resolve, response,
    retry_after, secret, server, sse, tools, wire,
};
