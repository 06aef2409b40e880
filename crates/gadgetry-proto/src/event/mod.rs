//! The events of a run: one closed enum, and the only way to observe a run.
//!
//! # As JSON
//!
//! An event is one JSON object: `v`, the version of the format ([`EVENTS_VERSION`]), `seq`, `timeMs`, `path` for the event
//! of a subagent, `run` with the id of a run that has one, `type`, and the fields of its type. [`EVENTS_SCHEMA`] is the JSON Schema of such an object;
//! `gadgetry events --schema` prints it.
//!
//! # Which call, which run
//!
//! Every event about a gadget call has `call`, its [`CallId`]. An `invocationId` is the model's word for it and may be
//! repeated by a later reply; the number may not. `path` names the calls that started the subagent from which the event
//! comes, the outermost first, each with its number in its own run. So `path` and `call` together place every event in
//! the tree of runs and calls, without any other event:
//!
//! ```text
//! {"v":1,"seq":3,"timeMs":5,"type":"gadget_start","call":0,"invocationId":"a",…}            call 0 of the run
//! {"v":1,"seq":7,"timeMs":9,"path":[{"call":0,"invocationId":"a","agent":1}],
//!  "type":"gadget_result","call":2,"invocationId":"x",…}                call 2 of the second subagent of call 0
//! ```
//!
//! [`CostTree`](crate::tree::CostTree) is built so.
//!
//! Several runs may be written to one place. `run` is in every event of a run with an identity ([`RunInfo`]), and the first event of
//! such a run is `run_start`, which has all of it: the name of the agent, the model, the run and the call that started it, the metadata
//! of the caller.

mod approval;
mod info;
mod kind;
mod reason;
#[cfg(test)]
mod schema;
mod version;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InvocationId};
use crate::time::Time;

pub use approval::{Approval, ApprovalAnswer, ApprovalSubject, SubjectKind};
pub use info::{RunInfo, RunParent};
pub use kind::{CallAnswer, EventKind};
pub use reason::{Compacted, CompactionStrategy, FinishReason};
pub use version::EVENTS_VERSION;
use version::Version;

/// The JSON Schema (draft 2020-12) of an [`Event`] in JSON.
///
/// ```
/// let schema: serde_json::Value = serde_json::from_str(gadgetry_proto::event::EVENTS_SCHEMA)?;
/// assert_eq!(schema["properties"]["v"]["const"], gadgetry_proto::event::EVENTS_VERSION);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const EVENTS_SCHEMA: &str = include_str!("schema.json");

/// One event of a run. See the [module](self) for its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Event {
    /// The version of the format.
    #[serde(rename = "v")]
    version: Version,
    /// The number of the event, from 0 without gaps.
    pub seq: u64,
    /// The time since the run began, in milliseconds.
    #[serde(rename = "timeMs")]
    pub time: Time,
    /// The calls that started the subagent from which the event comes, the outermost first. Empty for the run's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Ancestor>,
    /// The id of the run that the event comes from, if it was given an [identity](RunInfo): that of the subagent for an event of a
    /// subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Arc<str>>,
    /// The content of the event.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event of the run itself: `path` is empty.
    pub fn new(seq: u64, time: Time, kind: EventKind) -> Self {
        Self {
            version: Version,
            seq,
            time,
            path: Vec::new(),
            run: None,
            kind,
        }
    }

    /// 0 for the run's own events, 1 for those of its subagents, 2 for those of theirs.
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// The visible text that the run's own model has written; `None` for any other event, and for the text of subagents.
    ///
    /// ```
    /// use gadgetry_proto::event::Event;
    /// let event: Event = serde_json::from_str(r#"{ "v": 1, "seq": 1, "timeMs": 0, "type": "text", "text": "Hi" }"#)?;
    /// assert_eq!(event.own_text(), Some("Hi"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn own_text(&self) -> Option<&str> {
        if let EventKind::Text { text } = &self.kind
            && self.path.is_empty()
        {
            Some(text)
        } else {
            None
        }
    }
}

/// A call that has started a subagent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Ancestor {
    /// The call in its run.
    pub call: CallId,
    /// The id of the call for the model.
    pub invocation_id: InvocationId,
    /// The number of the subagent among those of this call, from 0.
    pub agent: u32,
}

impl Ancestor {
    /// The subagent with this number of a call.
    pub fn new(call: CallId, invocation_id: impl Into<InvocationId>, agent: u32) -> Self {
        Self {
            call,
            invocation_id: invocation_id.into(),
            agent,
        }
    }
}
