//! A run while it is in progress.

use std::time::Duration;

/// The run that is in progress.
#[derive(Debug)]
pub(super) struct Run {
    /// What the model does.
    pub(super) activity: Activity,
    /// When it began.
    pub(super) since: Duration,
    /// Whether the gadgets in flight were cancelled, and none has started since.
    pub(super) has_cancelled_gadgets: bool,
    /// Whether the run was cancelled.
    pub(super) is_cancelled: bool,
}

/// What the model does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// A request was sent.
    Calling,
    /// It reasons.
    Thinking,
    /// It writes.
    Writing,
    /// It has written its reply.
    Working,
    /// A request failed and is sent again later.
    Retrying(String),
}
