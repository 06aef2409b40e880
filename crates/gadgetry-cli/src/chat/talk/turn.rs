//! A message of the conversation, to which the user may return, or which the user may send again.

use gadgetry::journal::RunId;
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::message::Role;
use gadgetry::{Conversation, Finished};

/// A message of the conversation.
pub(super) struct Turn {
    /// The run about it.
    pub(super) run: RunId,
    /// As it was typed; `None` if an earlier program has sent it.
    pub(super) prompt: Option<String>,
    /// Changes of files before it; `None` likewise.
    pub(super) changes: Option<u64>,
}

/// A message that has no reply. Sent again, it takes its own place.
pub(super) struct Unanswered {
    pub(super) typed: String,
    /// Notes for the model before it.
    pub(super) notes: String,
    /// The conversation before it.
    pub(super) before: Conversation,
}

impl Unanswered {
    /// Returns whether the run about it has failed before any reply.
    pub(super) fn is_left_by(&self, finished: &Finished) -> bool {
        let replies = |conversation: &Conversation| {
            let messages = conversation.messages().iter();
            messages.filter(|it| it.role == Role::Assistant).count()
        };
        finished.summary.reason == FinishReason::ModelError
            && replies(&Conversation::from(finished)) == replies(&self.before)
    }
}
