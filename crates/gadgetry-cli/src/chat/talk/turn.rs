//! A message of the conversation, to which the user may return.

use gadgetry::journal::RunId;

/// A message of the conversation.
pub(super) struct Turn {
    /// The run about it.
    pub(super) run: RunId,
    /// As it was typed; `None` if an earlier program has sent it.
    pub(super) prompt: Option<String>,
    /// Changes of files before it; `None` likewise.
    pub(super) changes: Option<u64>,
}
