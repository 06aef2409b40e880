//! Interface of a backend, without the network.

use std::fmt::Debug;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{Diagnostic, DiagnosticCode, Span};
use gadgetry_proto::message::{Media, Request, Sampling};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_proto::usage::Usage;
use serde_json::Value;

use crate::error::ProviderError;
use crate::request::HttpRequest;
use crate::{json, sse};

/// An API as pure functions: what is sent for a request, and how the answer is read.
///
/// [`WireModel`](crate::WireModel) makes a model of one. [`Http::stream`](crate::http::Http::stream)
/// sends a single request.
pub trait Wire: Clone + Debug + Send + Sync + 'static {
    /// The request as it is sent.
    ///
    /// # Errors
    ///
    /// If options contradict each other or the request.
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError>;

    /// A decoder for the answer.
    fn decoder(&self) -> Box<dyn Decode>;

    /// Returns the reason for not sending a medium; `None` if it is sent.
    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        let _ = medium;
        None
    }

    /// The same API with these gadgets as its tools; `None` if it has no tools.
    #[must_use]
    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Self> {
        let _ = gadgets;
        None
    }

    /// The same API with these settings in place of its own; `None` if it takes none.
    #[must_use]
    fn with_sampling(&self, sampling: &Sampling) -> Option<Self> {
        let _ = sampling;
        None
    }
}

/// Reads one answer: frames in, deltas out.
///
/// A whole reply ends with [`Delta::MessageEnd`], a failed one with [`Delta::Error`]; what follows is not read.
/// [`ResponseDecoder`](crate::response::ResponseDecoder) drives a decoder, and reports a truncated reply if neither came.
pub trait Decode: Send {
    /// Takes one event of the stream. `false` if its meaning is unknown: the caller then emits it as [`Delta::Raw`].
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool;

    /// Takes a whole reply in place of a stream. The deltas are the same, the last one is the end or an error.
    fn reply(&mut self, body: Value, out: &mut Vec<Delta>);

    /// Returns whether the reply is complete, and only the end of the stream is missing. Then [`Decode::end`] gives
    /// [`Delta::MessageEnd`], and a silent connection is given up sooner than within a reply.
    fn may_end(&self) -> bool {
        false
    }

    /// The stream is over. Adds what is buffered, and [`Delta::MessageEnd`] if the reply is known to be complete.
    fn end(&mut self, out: &mut Vec<Delta>);
}

/// Writes one answer, as a server of the API sends it: deltas in, frames out. The inverse of [`Decode`].
///
/// Each encoder documents the deltas that its API cannot express; decoding gives all others again.
pub trait Encode: Send {
    /// Takes one delta and adds its frames. A stream ends with [`Delta::MessageEnd`] or [`Delta::Error`].
    fn delta(&mut self, delta: &Delta, out: &mut Vec<sse::SseEvent>);

    /// The reply as one document, for clients that do not stream.
    fn document(&self) -> Value;

    /// The document as JSON, in which numbers have the digits that were written.
    fn json(&self) -> String {
        self.document().to_string()
    }
}

/// The end of a reply. One that has calls stopped for them, whatever word the server uses.
pub(super) fn message_end(reason: StopReason, has_call: bool, usage: Option<Usage>) -> Delta {
    let stop_reason = if reason == StopReason::Stop && has_call {
        StopReason::ToolUse
    } else {
        reason
    };
    Delta::MessageEnd { stop_reason, usage }
}

/// Known facts about the stop sequences of the request that is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StopSequences {
    /// The request may have had some.
    #[default]
    Possible,
    /// The request had none: an answer that says it ended at one was cut by something else.
    None,
}

/// The reason of a reply to a request with these stop sequences.
pub(super) fn asked_for(reason: StopReason, stops: StopSequences) -> StopReason {
    if reason == StopReason::StopSequence && stops == StopSequences::None {
        StopReason::Other("stop_sequence, which was not requested".to_owned())
    } else {
        reason
    }
}

/// Adds a stop reason to the one that the reply reported before, if it did.
pub(super) fn add_reason(reported: &mut Option<StopReason>, reason: StopReason) {
    *reported = Some(match reported.take() {
        Some(before) => before.then(reason),
        None => reason,
    });
}

/// A diagnostic about a reply as a whole.
pub(super) fn diagnostic(code: DiagnosticCode, message: String) -> Delta {
    Delta::Diagnostic(Diagnostic {
        code,
        message,
        span: Span::default(),
    })
}

/// Returns whether `deltas` end a reply.
pub fn is_over(deltas: &[Delta]) -> bool {
    matches!(
        deltas.last(),
        Some(Delta::MessageEnd { .. } | Delta::Error(_))
    )
}

/// The stop reason that a provider sends; `None` for null and the empty string.
///
/// Only words that say exactly that a reply is whole become [clean](StopReason::is_clean) reasons. Other types of JSON
/// are unknown reasons.
pub(super) fn stop_reason(sent: &Value) -> Option<StopReason> {
    let word = match sent {
        Value::Null => return None,
        Value::String(word) if word.is_empty() => return None,
        Value::String(word) => word,
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Some(StopReason::Other(
                json::whole(&other.to_string()).into_owned(),
            ));
        }
    };
    Some(match word.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "eos_token" | "complete" | "completed" => StopReason::Stop,
        "stop_sequence" => StopReason::StopSequence,
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => StopReason::ToolUse,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => StopReason::MaxTokens,
        "content_filter" | "content-filter" | "safety" | "sensitive" | "refusal" => {
            StopReason::ContentFilter
        }
        "error" => StopReason::Error,
        _ => StopReason::Other(json::whole(word).into_owned()),
    })
}
