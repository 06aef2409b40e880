//! OpenAI's APIs: Chat Completions, which most servers speak, Responses, and the legacy Completions.
//!
//! | module | API |
//! |---|---|
//! | [`chat`] | `POST /v1/chat/completions` |
//! | [`completions`] | `POST /v1/completions`: models that only complete text |
//! | [`responses`] | `POST /v1/responses`: models that reason while they call tools |

pub mod chat;
pub mod completions;
pub mod responses;
mod usage;

use serde_json::Value;

use crate::error::ProviderError;
use crate::request::HttpRequest;
use crate::wire_model::Common;

pub use chat::{
    ChatCompletions, ChatOptions, Decoder, MaxTokensField, OpenAi, OpenAiBuilder, ReasoningField,
};
pub use completions::{
    Completions, CompletionsOptions, OpenAiCompletions, OpenAiCompletionsBuilder,
};
pub use responses::{OpenAiResponses, OpenAiResponsesBuilder};

/// The base URL of OpenAI itself.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// A request with the key in `key_header`, or as a bearer token.
fn post(
    common: &Common,
    path: &str,
    body: &Value,
    key_header: Option<&str>,
) -> Result<HttpRequest, ProviderError> {
    let request = HttpRequest::post(common.base_url(), path, body)?;
    match (common.key(), key_header) {
        (Some(key), Some(header)) => request.secret(header, key),
        (Some(key), None) => request.bearer(key),
        (None, _) => Ok(request),
    }
}
