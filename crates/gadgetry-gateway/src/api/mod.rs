//! The three APIs: pure translations between their JSON and the types of an [exchange](crate::exchange).

pub(crate) mod budget;
mod chat;
mod error;
mod fields;
mod kind;
mod known_tools;
mod messages;
mod responses;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_providers::sse::SseEvent;
use gadgetry_providers::{Encode, anthropic, openai};
use serde_json::Value;

use crate::exchange::{ClientRequest, Delivery, ToolKind};
use gadgetry_providers::tools::ToolForms;

pub use error::{Failure, Refusal};
pub use kind::ClientApi;

impl ClientApi {
    /// Reads the body of a request.
    ///
    /// Unknown fields are accepted. A known field that cannot be honoured is a [`Refusal`], or a warning if the request makes
    /// sense without it.
    ///
    /// ```
    /// use gadgetry_gateway::ClientApi;
    /// let body = serde_json::json!({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]});
    /// assert_eq!(ClientApi::Messages.decode(body)?.options.max_tokens, Some(100));
    /// # Ok::<(), gadgetry_gateway::Refusal>(())
    /// ```
    pub fn decode(self, body: Value) -> Result<ClientRequest, Refusal> {
        let request = match self {
            Self::Chat => chat::decode(body),
            Self::Responses => responses::decode(body),
            Self::Messages => messages::decode(body),
        }?;
        budget::check(&request)?;
        Ok(request)
    }

    /// Returns the prefix of the ids of calls.
    pub fn call_prefix(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "call_",
            Self::Messages => "toolu_",
        }
    }

    /// Makes the encoder of the reply to a request. `id` has no prefix; `created` is in seconds since 1970.
    pub fn encoder(self, request: &ClientRequest, id: &str, created: u64) -> ReplyEncoder {
        let forms = forms(request);
        let inner = match self {
            Self::Chat => {
                let mut encoder = openai::chat::Encoder::new(format!("chatcmpl-{id}"), created);
                if request.is_streaming() {
                    encoder = encoder.only_frames();
                }
                ApiEncoder::Chat(Box::new(encoder.tool_forms(forms)))
            }
            Self::Responses => {
                let encoder = openai::responses::Encoder::new(id, created);
                ApiEncoder::Responses(Box::new(encoder.tool_forms(forms)))
            }
            Self::Messages => {
                let mut encoder = anthropic::Encoder::new(format!("msg_{id}"));
                if request.is_streaming() {
                    encoder = encoder.only_frames();
                }
                ApiEncoder::Messages(Box::new(encoder))
            }
        };
        ReplyEncoder {
            inner,
            hides_usage: request.delivery
                == Delivery::Stream {
                    reports_usage: false,
                },
            has_call: false,
        }
    }
}

/// Returns the forms in which calls name the tools of a request.
fn forms(request: &ClientRequest) -> ToolForms {
    let mut forms = ToolForms::default();
    for tool in &request.tools {
        let is_text = tool.kind == ToolKind::Text;
        if is_text || tool.namespace.is_some() {
            forms.add(
                tool.full_name(),
                &tool.name,
                tool.namespace.as_deref(),
                is_text,
            );
        }
    }
    forms
}

/// The encoder of an API.
enum ApiEncoder {
    Chat(Box<openai::chat::Encoder>),
    Responses(Box<openai::responses::Encoder>),
    Messages(Box<anthropic::Encoder>),
}

/// Writes the reply to one request.
pub struct ReplyEncoder {
    inner: ApiEncoder,
    hides_usage: bool,
    has_call: bool,
}

impl ReplyEncoder {
    /// Takes a delta and adds its frames.
    pub fn delta(&mut self, mut delta: Delta, out: &mut Vec<SseEvent>) {
        self.has_call |= matches!(delta, Delta::ToolCall { .. } | Delta::ToolCallEnd { .. });
        if let Delta::MessageEnd { stop_reason, usage } = &mut delta {
            if self.hides_usage {
                *usage = None;
            }
            // Clients of Messages execute calls only after this reason, and each call that was sent is whole.
            if self.has_call && matches!(self.inner, ApiEncoder::Messages(_)) {
                *stop_reason = StopReason::ToolUse;
            }
        }
        match &mut self.inner {
            ApiEncoder::Responses(encoder) => encoder.delta(&delta, out),
            // An error within a stream has the form that it has before one.
            ApiEncoder::Chat(_) if matches!(delta, Delta::Error(_)) => {
                let body = Failure::from(delta).body(ClientApi::Chat);
                out.push(SseEvent::data(body.to_string()));
            }
            ApiEncoder::Messages(_) if matches!(delta, Delta::Error(_)) => {
                let body = Failure::from(delta).body(ClientApi::Messages);
                out.push(SseEvent::named("error", body.to_string()));
            }
            ApiEncoder::Chat(encoder) => encoder.delta(&delta, out),
            ApiEncoder::Messages(encoder) => encoder.delta(&delta, out),
        }
    }

    /// Sets the stop sequence that ends the reply, for the API that names it.
    pub fn set_stop_sequence(&mut self, sequence: &str) {
        if let ApiEncoder::Messages(encoder) = &mut self.inner {
            encoder.set_stop_sequence(sequence);
        }
    }

    /// Returns the reply as one JSON document. Its numbers have the digits that the model wrote.
    pub fn json(&self) -> String {
        match &self.inner {
            ApiEncoder::Chat(encoder) => encoder.json(),
            ApiEncoder::Responses(encoder) => encoder.json(),
            ApiEncoder::Messages(encoder) => encoder.json(),
        }
    }

    /// Returns the reply as one document.
    pub fn document(&self) -> Value {
        match &self.inner {
            ApiEncoder::Chat(encoder) => encoder.document(),
            ApiEncoder::Responses(encoder) => encoder.document(),
            ApiEncoder::Messages(encoder) => encoder.document(),
        }
    }
}
