//! The state of a call as its dependents see it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::InvocationId;
use crate::sched::cause::Cause;

/// The state of a call, by its id.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fate {
    Open(CallId),
    Done,
    Failed(Arc<str>),
    Skipped,
}

impl Fate {
    pub(super) fn failed(error: String) -> Self {
        Self::Failed(Arc::from(error))
    }

    /// Returns the cause for which calls that depend on a call with this fate cannot run; `None` if they can.
    pub(super) fn cause(&self, id: &InvocationId) -> Option<Cause> {
        match self {
            Self::Open(_) | Self::Done => None,
            Self::Failed(error) => Some(Cause::Failed(id.clone(), Arc::clone(error))),
            Self::Skipped => Some(Cause::Skipped(id.clone())),
        }
    }
}
