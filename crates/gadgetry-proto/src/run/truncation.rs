//! How a reply ended before the model was done.

use serde::{Deserialize, Serialize};

use crate::delta::StopReason;
use crate::error::ModelErrorKind;

/// How a reply was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Truncation {
    /// By a token limit, or by the cap on the length of a reply.
    Length,
    Filter,
    Error,
    Disconnect,
    Cancelled,
    /// The reply ended without a stop reason.
    Unspecified,
    /// The reply ended with a reason that does not say that it is whole.
    Reason(StopReason),
}

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelError {
    pub(super) kind: ModelErrorKind,
    pub(super) words: String,
    pub(super) retry_after_ms: Option<u64>,
}

impl ModelError {
    pub(super) fn new(kind: ModelErrorKind, words: impl Into<String>) -> Self {
        Self {
            kind,
            words: words.into(),
            retry_after_ms: None,
        }
    }
}

impl Truncation {
    /// What a stop reason says about its reply; `None` if the reply is whole. No reason at all means that the connection
    /// ended.
    pub(super) fn of(stop_reason: Option<&StopReason>) -> Option<Self> {
        match stop_reason {
            None => Some(Self::Disconnect),
            Some(StopReason::MaxTokens) => Some(Self::Length),
            Some(StopReason::ContentFilter) => Some(Self::Filter),
            Some(StopReason::Error) => Some(Self::Error),
            Some(StopReason::Unspecified) => Some(Self::Unspecified),
            Some(reason @ StopReason::Other(_)) => Some(Self::Reason(reason.clone())),
            Some(StopReason::Stop | StopReason::StopSequence | StopReason::ToolUse) => None,
        }
    }

    /// How the reply ended, as a clause.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Length => "the reply was cut off by the token limit".to_owned(),
            Self::Filter => "the reply was cut off by the provider's content filter".to_owned(),
            Self::Error => "the reply was cut off by an error of the model".to_owned(),
            Self::Disconnect => "the reply was cut off because the connection ended".to_owned(),
            Self::Cancelled => "the reply was cut off because the run was cancelled".to_owned(),
            Self::Unspecified => "the reply ended without a stop reason".to_owned(),
            Self::Reason(reason) => format!("the reply ended with the reason \"{reason}\""),
        }
    }

    /// The error to report, if the model or the connection is at fault.
    pub(super) fn failure(&self) -> Option<ModelError> {
        let incomplete = || format!("{} and may be incomplete", self.words());
        let (kind, words) = match self {
            Self::Disconnect => (
                ModelErrorKind::Truncated,
                "the connection ended before the model had finished its reply".to_owned(),
            ),
            Self::Error => (
                ModelErrorKind::Other,
                "the model stopped with an error".to_owned(),
            ),
            Self::Reason(StopReason::Other(word)) if is_interruption(word) => {
                (ModelErrorKind::Truncated, incomplete())
            }
            // A server that never gives a reason gives none after a retry either, so these are not retryable.
            Self::Unspecified | Self::Reason(_) => (ModelErrorKind::Other, incomplete()),
            Self::Length | Self::Filter | Self::Cancelled => return None,
        };
        Some(ModelError::new(kind, words))
    }
}

/// Whether a stop reason of this name is a failure of the server that may pass. The words are those of providers, of
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
