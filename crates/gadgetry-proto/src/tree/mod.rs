//! The costs of a run as a tree: its model calls and gadgets, the subagents of a gadget, and theirs.
//!
//! The tree is folded from [`Event`](crate::event::Event)s alone, so every observer can build one, also from their JSON.
//! An event with a cost adds it to its node and to all nodes above, in the order of the events. So a total is read, not
//! computed, and equals the sum that the run itself makes.

mod fold;
mod grow;
mod render;
mod saved;

use serde::{Deserialize, Serialize};

use crate::event::FinishReason;
use crate::id::{CallId, InvocationId};
use crate::message::Purpose;
use crate::time::Time;
use crate::usage::Usage;

pub use saved::BrokenTree;

use fold::Cursors;

/// The costs of a run by model call, gadget and subagent. See the [module](self).
///
/// It grows by one node a model call, gadget call and subagent, and is never pruned.
///
/// ```
/// use gadgetry_proto::event::{Event, EventKind};
/// use gadgetry_proto::delta::StopReason;
/// use gadgetry_proto::message::Purpose;
/// use gadgetry_proto::time::Time;
/// use gadgetry_proto::tree::CostTree;
/// use gadgetry_proto::usage::Usage;
///
/// let mut tree = CostTree::default();
/// let end = EventKind::ModelCallEnd {
///     iteration: 1,
///     purpose: Purpose::Reply,
///     stop_reason: StopReason::Stop,
///     usage: Usage { input_tokens: 20, output_tokens: 5, ..Usage::default() },
///     cost: Some(0.25),
///     error: None,
/// };
/// tree.apply(&Event::new(1, Time(700), end));
/// assert_eq!(tree.total(), Some(0.25));
/// assert_eq!(tree.tokens().input_tokens, 20);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::Saved")]
pub struct CostTree {
    nodes: Vec<Node>,
    /// The state of each run of the tree.
    cursors: Cursors,
}

/// A node of a [`CostTree`]: a number in the order of appearance. The run itself is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The run itself.
    pub const ROOT: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something that costs.
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
    /// What it is, with its own cost.
    pub kind: NodeKind,
    /// Its costs with those of everything below.
    pub subtotal: Subtotal,
    /// Nodes that have not ended, from here down.
    open: u32,
    #[serde(skip)]
    children: Vec<NodeId>,
}

/// What a [`Node`] is.
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
        /// Which of the subagents of its call, from 0; `None` for the run itself.
        subagent: Option<u32>,
        /// Why it ended; `None` before its end, and if the tree has not seen its end.
        reason: Option<FinishReason>,
        /// Its total beyond the costs in its events, in US dollars: the cost of what happened before the first event
        /// that the tree has seen. `None` if that includes a model call without a price.
        unattributed: Option<f64>,
    },
    /// One request to the model and its reply.
    ModelCall {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// 1 for the first try, 2 for the first retry.
        attempt: u32,
        /// What for. Compaction asks for summaries.
        purpose: Purpose,
        /// Tokens.
        usage: Usage,
        /// US dollars; `None` if the price is not known.
        cost: Option<f64>,
        /// Its state or result.
        status: Status,
    },
    /// One call of a gadget.
    Gadget {
        /// Its number in its run.
        call: CallId,
        /// Its id for the model. A later reply may use it again; that is another node.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// US dollars, without its subagents.
        cost: f64,
        /// Its state or result.
        status: Status,
        /// How long the gadget ran; 0 for a call that was not executed.
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
    /// It is in progress.
    Running,
    /// It worked.
    Succeeded,
    /// It failed; this includes calls that were cancelled, too late or refused.
    Failed,
    /// The call was not executed because of a dependency or a limit.
    Skipped,
    /// What it was part of has ended without an event about its result.
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

impl Default for CostTree {
    /// The tree of a run without events.
    fn default() -> Self {
        let root = NodeKind::Run {
            subagent: None,
            reason: None,
            unattributed: Some(0.0),
        };
        Self {
            nodes: vec![Node::new(None, 0, Time::default(), root)],
            cursors: Cursors::new(),
        }
    }
}

impl Node {
    fn new(parent: Option<NodeId>, depth: u32, began: Time, kind: NodeKind) -> Self {
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

    /// Its own share of [`Subtotal::total`], in US dollars; `None` if it is not known.
    pub fn own_cost(&self) -> Option<f64> {
        match self.kind {
            NodeKind::Run { unattributed, .. } => unattributed,
            NodeKind::ModelCall { cost, .. } => cost,
            NodeKind::Gadget { cost, .. } => Some(cost),
        }
    }

    /// Its duration in milliseconds; `None` before its end.
    pub fn duration_ms(&self) -> Option<u64> {
        let ended = self.ended?;
        Some(match self.kind {
            NodeKind::Gadget { duration_ms, .. } => duration_ms,
            NodeKind::Run { .. } | NodeKind::ModelCall { .. } => ended.since(self.began),
        })
    }
}

impl CostTree {
    /// All costs in US dollars; `None` if one of them is not known. After the end of the run, this is its `total_cost`.
    pub fn total(&self) -> Option<f64> {
        self.subtree_total(NodeId::ROOT)
    }

    /// The costs of a node and everything below, as in [`CostTree::total`]; 0 for a node of another tree.
    pub fn subtree_total(&self, node: NodeId) -> Option<f64> {
        self.subtotal(node).total()
    }

    /// Costs and counts of a node and everything below; empty for a node of another tree.
    pub fn subtotal(&self, node: NodeId) -> Subtotal {
        self.node(node)
            .map_or_else(Subtotal::default, |node| node.subtotal)
    }

    /// Tokens of all model calls, those of subagents and compaction included.
    pub fn tokens(&self) -> Usage {
        self.subtotal(NodeId::ROOT).usage
    }

    /// The node with this number, if there is one.
    pub fn node(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(node.index())
    }

    /// All nodes with their numbers; a node comes after the one above it.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// The nodes right below one, in the order of appearance; empty for a node of another tree.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        self.node(node).map_or(&[], |node| &node.children)
    }

    /// Whether a node and everything below has ended. `false` for a node of another tree.
    pub fn is_complete(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| node.open == 0)
    }
}
