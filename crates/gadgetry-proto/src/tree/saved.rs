//! A tree that was written down is read with the same care as anything from outside.

use serde::Deserialize;

use crate::error::{Classified, Fault};
use crate::tree::cursors::Cursors;
use crate::tree::{CostTree, Node, NodeId, NodeKind};

/// The saved form of a tree.
#[derive(Deserialize)]
pub(super) struct Saved {
    nodes: Vec<Node>,
    cursors: Cursors,
}

/// A saved tree names nodes that it does not have: its author made a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenTree {
    /// The first node is not the run itself.
    #[error("a cost tree begins with the node of the run itself")]
    Root,
    /// A node does not belong to one before it.
    #[error("node {} of the cost tree does not belong to a node before it", .0.0)]
    Parent(NodeId),
    /// A number is that of no node.
    #[error("the cost tree has no node {}", .0.0)]
    Missing(NodeId),
}

impl Classified for BrokenTree {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}

impl TryFrom<Saved> for CostTree {
    type Error = BrokenTree;

    fn try_from(saved: Saved) -> Result<Self, BrokenTree> {
        let Saved { mut nodes, cursors } = saved;
        let root = nodes.first().ok_or(BrokenTree::Root)?;
        if root.parent.is_some() || !matches!(root.kind, NodeKind::Run { .. }) {
            return Err(BrokenTree::Root);
        }
        nodes[0].depth = 0;
        for (index, id) in (1..nodes.len()).zip((1..).map(NodeId)) {
            let parent = nodes[index].parent.filter(|parent| *parent < id);
            let parent = parent.ok_or(BrokenTree::Parent(id))?;
            let above = &mut nodes[parent.index()];
            above.children.push(id);
            let depth = above.depth.saturating_add(1);
            nodes[index].depth = depth;
        }
        let named = cursors.iter().flat_map(|(run, cursor)| {
            let agents = cursor.agents.values().flat_map(|agents| agents.values());
            [run]
                .into_iter()
                .chain(&cursor.model_call)
                .chain(cursor.calls.values())
                .chain(agents)
        });
        match named.max() {
            Some(last) if last.index() >= nodes.len() => Err(BrokenTree::Missing(*last)),
            _ => Ok(Self { nodes, cursors }),
        }
    }
}
