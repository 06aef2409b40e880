//! A reply that was read: what it was, and how it ended.

use serde::{Deserialize, Serialize};

use crate::delta::StopReason;
use crate::error::{ModelError, ModelErrorKind};
use crate::event::FinishReason;
use crate::run::truncation::Truncation;
use crate::usage::Usage;

/// The facts about a reply that the run needs after it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedReply {
    pub(super) truncation: Option<Truncation>,
    /// The error, if it failed.
    pub(super) error: Option<ModelError>,
    pub(super) refusal: Option<String>,
    /// Whether it ended as if it had called something, and had called nothing.
    pub(super) lacks_call: bool,
    /// Whether it is empty, there is no earlier answer, and that counts as a failure.
    pub(super) lacks_answer: bool,
}

impl EndedReply {
    /// The error that ends a run for this reason.
    pub(super) fn error(self, reason: FinishReason) -> Option<ModelError> {
        let refused = |words| ModelError::new(ModelErrorKind::ContentFilter, words);
        match reason {
            FinishReason::ModelError => self.error,
            FinishReason::Withheld => self.refusal.map(refused),
            FinishReason::Completed
            | FinishReason::TaskCompleted
            | FinishReason::MaxIterations
            | FinishReason::Truncated
            | FinishReason::Cancelled
            | FinishReason::BudgetExceeded
            | FinishReason::GadgetError
            | FinishReason::Stopped => None,
        }
    }
}

/// A reply whose message is in the conversation. Its calls may still run.
pub(super) struct ReadReply {
    pub(super) ended: EndedReply,
    /// Whether the conversation has a message of it: whitespace alone is not a message.
    pub(super) has_message: bool,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) usage: Usage,
    /// The failure, for the event.
    pub(super) failure: Option<ModelError>,
}
