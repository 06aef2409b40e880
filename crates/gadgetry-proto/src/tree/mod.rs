//! The costs of a run as a tree: its model calls and gadgets, the subagents of a gadget, and theirs.
//!
//! The tree is folded from [`Event`](crate::event::Event)s alone, so every observer can build one, also from their JSON.
//! An event with a cost adds it to its node and to all nodes above, in the order of the events. So a total is read, not
//! computed, and equals the sum that the run itself makes.

mod cursors;
mod fold;
mod grow;
mod node;
mod render;
mod saved;

use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::usage::Usage;

pub use node::{Node, NodeId, NodeKind, Status, Subtotal};
pub use saved::BrokenTree;

use cursors::Cursors;

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
///     usage: Usage::default().input_tokens(20).output_tokens(5),
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

    /// Returns `true` if a node and everything below has ended. `false` for a node of another tree.
    pub fn is_complete(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| node.open == 0)
    }
}
