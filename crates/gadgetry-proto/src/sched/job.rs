//! Inputs and outputs of a scheduler.

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::InvocationId;

/// The limits of a run. In all of them, `None` and 0 mean "no limit".
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Calls that may run at the same time.
    pub max_concurrent: Option<u32>,
    /// One call at a time, in call order. Only a dependency on a later call changes the order.
    pub sequential: bool,
    /// Calls that one reply may make; further ones are [`Action::OverLimit`].
    pub max_per_reply: Option<u32>,
}

/// A call that may run.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The number of the call.
    pub id: CallId,
    /// The id of the call for the model.
    pub invocation_id: InvocationId,
    /// The gadget's name in the registry, not as the model wrote it: calls of one gadget share a limit.
    pub gadget: String,
    /// The calls that must be done first.
    pub dependencies: Vec<InvocationId>,
    /// Calls of this gadget that may run at the same time; `None` and 0 mean "no limit". Should calls of one gadget
    /// disagree, the one added last is right.
    pub max_concurrent: Option<u32>,
    /// Whether it runs alone in the whole run. Once it is ready, later calls wait for it.
    pub exclusive: bool,
}

impl Job {
    /// A call without dependencies and limits.
    pub fn new(
        id: CallId,
        invocation_id: impl Into<InvocationId>,
        gadget: impl Into<String>,
    ) -> Self {
        Self {
            id,
            invocation_id: invocation_id.into(),
            gadget: gadget.into(),
            dependencies: Vec::new(),
            max_concurrent: None,
            exclusive: false,
        }
    }

    /// The same call after these.
    #[must_use]
    pub fn after<I: Into<InvocationId>>(
        mut self,
        dependencies: impl IntoIterator<Item = I>,
    ) -> Self {
        self.dependencies
            .extend(dependencies.into_iter().map(Into::into));
        self
    }
}

/// An action that a scheduler requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The call starts now; [`crate::sched::Scheduler::finish`] must follow.
    Start(CallId),
    /// A dependency will not be met. It is proposed to skip the call; [`crate::sched::Scheduler::decide`] must follow.
    Unmet(Unmet),
    /// The call has the id of an earlier call of its reply. It never runs, and the id keeps its meaning.
    Reject {
        /// The number of the call.
        id: CallId,
        /// The error, as text for the model.
        error: String,
    },
    /// The call is one too many in its reply. It is skipped, and so are those that depend on it.
    OverLimit(Unmet),
}

/// A call that cannot run, and the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unmet {
    /// The number of the call.
    pub id: CallId,
    /// The dependency, or the name of the limit.
    pub failed_dependency: String,
    /// The cause: the error of the dependency itself, if it failed.
    pub error: String,
    /// The text for the model: that the call did not run, and because of which dependency.
    pub told: String,
}

/// Policy for a call with an unmet dependency.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum SkipDecision {
    /// The call is skipped, and those that depend on it are proposed next.
    Skip,
    /// The call still runs, once its other dependencies are settled, however they end.
    Execute,
    /// The caller answers in its place; for those that depend on it, it has succeeded.
    Fallback,
}

/// A limit as configured, 0 being none.
pub(super) fn cap(limit: Option<u32>) -> Option<u32> {
    limit.filter(|limit| *limit > 0)
}
