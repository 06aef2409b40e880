//! Effects on the run of a reply that ended before the model was done.

use crate::delta::StopReason;
use crate::error::{ModelError, ModelErrorKind};

pub(super) use crate::reply::Truncation;

/// The error to report of a truncated reply, if the model or the connection is at fault.
pub(super) fn failure(truncation: &Truncation) -> Option<ModelError> {
    let incomplete = || format!("{} and may be incomplete", truncation.words());
    let (kind, words) = match truncation {
        Truncation::Disconnect => (
            ModelErrorKind::Truncated,
            "the connection ended before the model had finished its reply".to_owned(),
        ),
        Truncation::Error => (
            ModelErrorKind::Other,
            "the model stopped with an error".to_owned(),
        ),
        Truncation::Reason(StopReason::Other(word)) if is_interruption(word) => {
            (ModelErrorKind::Truncated, incomplete())
        }
        // A server that never gives a reason gives none after a retry either, so these are not retryable.
        Truncation::Unspecified | Truncation::Reason(_) => (ModelErrorKind::Other, incomplete()),
        Truncation::Length | Truncation::Filter | Truncation::Cancelled | Truncation::NextTurn => {
            return None;
        }
    };
    Some(ModelError::new(kind, words))
}

/// Returns `true` if a stop reason of this name is a failure of the server that may pass. The words are those of providers, of
/// servers for local models and of gateways.
fn is_interruption(word: &str) -> bool {
    const WORDS: [&str; 13] = [
        "abort",
        "aborted",
        "cancelled",
        "engine_overloaded",
        "insufficient_system_resource",
        "interrupted",
        "load",
        "malformed_function_call",
        "network_error",
        "out_of_memory",
        "preempted",
        "time_limit",
        "timeout",
    ];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}
