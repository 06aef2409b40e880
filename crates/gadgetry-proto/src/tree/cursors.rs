//! The positions of a tree of costs: the nodes that the next events may be about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::time::Time;
use crate::tree::node::NodeId;

/// The state of each run of a tree.
pub(super) type Cursors = BTreeMap<NodeId, Cursor>;

/// The state of one run: the nodes that its next events may be about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cursor {
    /// The model call that has started and not ended.
    pub(super) model_call: Option<NodeId>,
    /// The retry that was announced, and when it is due.
    pub(super) retry: Option<(u32, Time)>,
    /// Nodes of the calls, by number.
    pub(super) calls: BTreeMap<CallId, NodeId>,
    /// The runs of subagents, by the call that started them and their number there.
    pub(super) agents: BTreeMap<CallId, BTreeMap<u32, NodeId>>,
}
