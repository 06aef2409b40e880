//! A run while it is in progress.

use std::time::Duration;

/// The run that is in progress.
#[derive(Debug)]
pub(super) struct Run {
    /// Current activity of the model.
    pub(super) activity: Activity,
    /// Time at which the activity began.
    pub(super) since: Duration,
    /// Whether the gadgets in flight were cancelled, and none has started since.
    pub(super) has_cancelled_gadgets: bool,
    /// Whether the run was cancelled.
    pub(super) is_cancelled: bool,
}

/// A command of the user while it runs.
#[derive(Debug)]
pub(super) struct UserCommand {
    pub(super) line: String,
    pub(super) since: Duration,
    /// The end of its output.
    pub(super) output: String,
}

/// Activity of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// A request was sent.
    Calling,
    /// The model reasons.
    Thinking,
    /// The model writes.
    Writing,
    /// The model has written its reply.
    Working,
    /// A request failed and is sent again later.
    Retrying(String),
}
