//! What a run has cost, as a tree: its model calls and gadgets, the subagents of a gadget, and theirs.
//!
//! The tree is folded from [`Event`](crate::event::Event)s and from nothing else, so whoever sees the events can have
//! one. Every event of costs adds to its node and to all nodes above, in the order of the events: a total is read, not
//! computed, and is the sum that the run itself makes.

mod fold;
mod grow;
mod render;
mod saved;

use serde::{Deserialize, Serialize};

use crate::event::FinishReason;
use crate::id::InvocationId;
use crate::message::Purpose;
use crate::time::Time;
use crate::usage::Usage;

pub use saved::BrokenTree;

use fold::Cursors;

/// What a run has cost, by model call, gadget and subagent. See the [module](self).
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
/// assert_eq!(tree.total(), 0.25);
/// assert_eq!(tree.tokens().input_tokens, 20);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::Saved")]
pub struct CostTree {
    nodes: Vec<Node>,
    /// Where each run of the tree stands.
    cursors: Cursors,
}

/// A node of a [`CostTree`]: a number in the order in which the tree came to know it. The run itself is 0.
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
    /// How far below the run itself: 0 for that, 1 for its calls, 2 for the subagents of those.
    pub depth: u32,
    /// When the tree first heard of it.
    pub began: Time,
    /// When it had ended; `None` while it goes on.
    pub ended: Option<Time>,
    /// What it is, and its own share.
    pub kind: NodeKind,
    /// All of it, with everything below.
    pub subtotal: Subtotal,
    /// Nodes that go on, from here down.
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
        /// Why it ended; `None` while it goes on, and if nobody told.
        reason: Option<FinishReason>,
        /// What the run says it has cost beyond what its events told, in US dollars: what happened before the first
        /// event that the tree saw.
        unattributed: f64,
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
        /// US dollars.
        cost: f64,
        /// How it went.
        status: Status,
    },
    /// One call of a gadget.
    Gadget {
        /// Its id for the model. A later reply may use it again; that is another node.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// US dollars, without its subagents.
        cost: f64,
        /// How it went.
        status: Status,
        /// How long the gadget ran; 0 for a call that was not executed.
        duration_ms: u64,
    },
}

/// How a model call or gadget call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Status {
    /// The call is written; its gadget has not started.
    Waiting,
    /// It goes on.
    Running,
    /// It worked.
    Succeeded,
    /// It did not; calls that were cancelled, too late or refused are among these.
    Failed,
    /// The call was not executed because of a dependency or a limit.
    Skipped,
    /// What it was part of has ended, and nobody told how this went.
    Abandoned,
}

/// What a node and everything below it came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Subtotal {
    /// US dollars, all in all: the sum of the four that follow.
    pub total: f64,
    /// US dollars for replies.
    pub replies: f64,
    /// US dollars for the summaries of compaction.
    pub summaries: f64,
    /// US dollars that gadgets have cost, without the replies and summaries of their subagents.
    pub gadgets: f64,
    /// US dollars of [`NodeKind::Run::unattributed`].
    pub unattributed: f64,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Model calls that have ended.
    pub model_calls: u32,
    /// Gadget calls that are answered.
    pub gadget_calls: u32,
}

impl Subtotal {
    /// US dollars that models were paid: replies and summaries.
    pub fn model(&self) -> f64 {
        self.replies + self.summaries
    }
}

impl Default for CostTree {
    /// A run of which nothing is known yet.
    fn default() -> Self {
        let root = NodeKind::Run {
            subagent: None,
            reason: None,
            unattributed: 0.0,
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

    /// Its own share of [`Subtotal::total`], in US dollars.
    pub fn own_cost(&self) -> f64 {
        match self.kind {
            NodeKind::Run { unattributed, .. } => unattributed,
            NodeKind::ModelCall { cost, .. } | NodeKind::Gadget { cost, .. } => cost,
        }
    }

    /// How long it took, in milliseconds; `None` while it goes on.
    pub fn duration_ms(&self) -> Option<u64> {
        let ended = self.ended?;
        Some(match self.kind {
            NodeKind::Gadget { duration_ms, .. } => duration_ms,
            NodeKind::Run { .. } | NodeKind::ModelCall { .. } => ended.since(self.began),
        })
    }
}

impl CostTree {
    /// US dollars, all in all. Once the run has finished, this is the `total_cost` that it tells.
    pub fn total(&self) -> f64 {
        self.subtree_total(NodeId::ROOT)
    }

    /// US dollars of a node and everything below; 0 for a node of another tree.
    pub fn subtree_total(&self, node: NodeId) -> f64 {
        self.subtotal(node).total
    }

    /// What a node and everything below came to; nothing for a node of another tree.
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

    /// The nodes right below one, in the order in which the tree came to know them; none for a node of another tree.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        self.node(node).map_or(&[], |node| &node.children)
    }

    /// Whether a node and everything below has ended. `false` for a node of another tree.
    pub fn is_complete(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| node.open == 0)
    }
}
