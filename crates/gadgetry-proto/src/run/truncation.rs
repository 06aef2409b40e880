//! Effects on the run of a reply that ended before the model was done.

use serde::{Deserialize, Serialize};

use crate::delta::{Delta, StopReason};
use crate::error::{ModelErrorKind, Overflow};

pub(super) use crate::reply::Truncation;

/// The error of a model call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelError {
    pub(super) kind: ModelErrorKind,
    pub(super) words: String,
    pub(super) retry_after_ms: Option<u64>,
    /// The provider's numbers about the window, if the conversation was too long for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) overflow: Option<Overflow>,
}

impl ModelError {
    pub(super) fn new(kind: ModelErrorKind, words: impl Into<String>) -> Self {
        Self {
            kind,
            words: words.into(),
            retry_after_ms: None,
            overflow: None,
        }
    }

    /// The error that a delta reports.
    pub(super) fn of(delta: &Delta) -> Option<Self> {
        let Delta::Error {
            error,
            kind,
            retry_after_ms,
            overflow,
            ..
        } = delta
        else {
            return None;
        };
        Some(Self {
            kind: *kind,
            words: error.clone(),
            retry_after_ms: *retry_after_ms,
            overflow: *overflow,
        })
    }
}

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
