//! The nodes of a tree of costs.

use serde::{Deserialize, Serialize};

use crate::event::FinishReason;
use crate::id::{CallId, InvocationId};
use crate::message::Purpose;
use crate::time::Time;
use crate::usage::Usage;

/// A node of a [`CostTree`](crate::tree::CostTree): a number in the order of appearance. The run itself is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The run itself.
    pub const ROOT: Self = Self(0);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A run, a model call or a gadget call, with its costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Node {
    /// Model calls and gadgets belong to a run, subagents to a gadget; the run itself to nothing.
    pub parent: Option<NodeId>,
    /// The depth below the run itself: 0 for the run, 1 for its calls, 2 for the subagents of those.
    pub depth: u32,
    /// The time of its first event.
    pub began: Time,
    /// When it ended; `None` before.
    pub ended: Option<Time>,
    /// The kind of the node, with its own cost.
    pub kind: NodeKind,
    /// The costs of the node and of everything below.
    pub subtotal: Subtotal,
    /// Nodes that have not ended, from here down.
    pub(super) open: u32,
    #[serde(skip)]
    pub(super) children: Vec<NodeId>,
}

/// The kind of a [`Node`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum NodeKind {
    /// The run itself, or that of a subagent.
    Run {
        /// The number of the subagent in its call, from 0; `None` for the run itself.
        subagent: Option<u32>,
        /// The reason it ended; `None` before its end, and if the tree has not seen its end.
        reason: Option<FinishReason>,
        /// The total beyond the costs in its events, in US dollars: the cost of what happened before the first event
        /// that the tree has seen. `None` if that includes a model call without a price.
        unattributed: Option<f64>,
    },
    /// One request to the model and its reply.
    ModelCall {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// 1 for the first try, 2 for the first retry.
        attempt: u32,
        /// The purpose of the reply. Compaction requests summaries.
        purpose: Purpose,
        /// The token counts.
        usage: Usage,
        /// US dollars; `None` if the price is not known.
        cost: Option<f64>,
        /// The state or result.
        status: Status,
    },
    /// One call of a gadget.
    Gadget {
        /// The number of the call in its run.
        call: CallId,
        /// The id of the call for the model. A later reply may use it again; that is another node.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// US dollars, without its subagents.
        cost: f64,
        /// The state or result.
        status: Status,
        /// The duration of the gadget; 0 for a call that was not executed.
        duration_ms: u64,
    },
}

/// The state or result of a model call or gadget call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Status {
    /// The call is written; its gadget has not started.
    Waiting,
    /// The work is in progress.
    Running,
    /// The work succeeded.
    Succeeded,
    /// The work failed; this includes calls that were cancelled, too late or refused.
    Failed,
    /// The call was not executed because of a dependency or a limit.
    Skipped,
    /// The run or call around it has ended without an event about its result.
    Abandoned,
}

/// Costs and counts of a node and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Subtotal {
    /// Costs that are not known: model calls without a price, and runs whose [`NodeKind::Run::unattributed`] is `None`.
    pub unpriced: u32,
    /// US dollars, as far as they are known: the sum of the four that follow.
    pub known: f64,
    /// US dollars for replies, as far as they are known.
    pub replies: f64,
    /// US dollars for the summaries of compaction, as far as they are known.
    pub summaries: f64,
    /// US dollars for gadgets, without the replies and summaries of their subagents.
    pub gadgets: f64,
    /// US dollars of [`NodeKind::Run::unattributed`], as far as they are known.
    pub unattributed: f64,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Model calls that have ended.
    pub model_calls: u32,
    /// Gadget calls that are answered.
    pub gadget_calls: u32,
}

impl Subtotal {
    /// All costs in US dollars; `None` if one of them is not known.
    pub fn total(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.known)
    }

    /// The costs of model calls in US dollars, replies and summaries; `None` if one of them is not known.
    pub fn model(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.replies + self.summaries)
    }
}

impl Node {
    pub(super) fn new(parent: Option<NodeId>, depth: u32, began: Time, kind: NodeKind) -> Self {
        Self {
            parent,
            depth,
            began,
            ended: None,
            kind,
            subtotal: Subtotal::default(),
            open: 1,
            children: Vec::new(),
        }
    }

    /// Returns the node's own share of [`Subtotal::total`], in US dollars; `None` if it is not known.
    pub fn own_cost(&self) -> Option<f64> {
        match self.kind {
            NodeKind::Run { unattributed, .. } => unattributed,
            NodeKind::ModelCall { cost, .. } => cost,
            NodeKind::Gadget { cost, .. } => Some(cost),
        }
    }

    /// Returns the duration in milliseconds; `None` before the end.
    pub fn duration_ms(&self) -> Option<u64> {
        let ended = self.ended?;
        Some(match self.kind {
            NodeKind::Gadget { duration_ms, .. } => duration_ms,
            NodeKind::Run { .. } | NodeKind::ModelCall { .. } => ended.since(self.began),
        })
    }
}
