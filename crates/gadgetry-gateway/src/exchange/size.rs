//! Sizes of deltas, which the limit of a reply counts.

use gadgetry_proto::delta::{ContentMetadata, Delta};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use serde_json::Value;

use crate::memory::weight;

/// The code of the error that a reply without end becomes.
pub(crate) const TOO_LARGE: &str = "reply_too_large";

/// Bytes that a delta counts as in addition to its texts.
const DELTA: usize = 8;

/// Returns the bytes that a delta counts as, so that both long deltas and many empty ones reach the limit.
pub(super) fn size(delta: &Delta) -> usize {
    let json = |value: &Option<Value>| value.as_ref().map_or(0, weight);
    DELTA
        + match delta {
            Delta::Text { delta, metadata } | Delta::Reasoning { delta, metadata } => {
                delta.len() + metadata.as_ref().map_or(0, about)
            }
            Delta::ContentMetadata { metadata } | Delta::ReasoningMetadata { metadata } => {
                about(metadata)
            }
            Delta::ToolCallStart { id, name } => id.len() + name.len(),
            Delta::ToolCallDelta { id, delta } => id.len() + delta.len(),
            Delta::ToolCallEnd { id, input } => id.len() + json(input),
            Delta::ToolCall { id, name, input } => id.len() + name.len() + weight(input),
            Delta::Diagnostic(said) => said.message.len(),
            Delta::Raw { data } => weight(data),
            Delta::ProviderData(kept) => weight(&kept.data),
            _ => 0,
        }
}

fn about(metadata: &ContentMetadata) -> usize {
    let all = metadata.citations.iter().chain(&metadata.annotations);
    all.chain(metadata.extensions.values()).map(weight).sum()
}

/// Returns the bytes of text and reasoning.
pub(super) fn written(delta: &Delta) -> u64 {
    match delta {
        Delta::Text { delta, .. } | Delta::Reasoning { delta, .. } => delta.len() as u64,
        _ => 0,
    }
}

/// Returns the error of a reply with more than `limit` bytes.
pub(super) fn too_large(limit: usize) -> Delta {
    Delta::Error(ModelError::new(ModelErrorKind::Other, format!(
            "the upstream's reply is larger than the gateway's limit of {limit} bytes: ask for a shorter one, or raise \
             `reply-bytes`"
        )).with_code(TOO_LARGE))
}

/// Returns the error of a reply with more than `limit` native calls.
pub(super) fn too_many_calls(limit: usize) -> Delta {
    let words = format!("the upstream's reply has more than {limit} calls");
    Delta::Error(ModelError::new(ModelErrorKind::Other, words).with_code(TOO_LARGE))
}
