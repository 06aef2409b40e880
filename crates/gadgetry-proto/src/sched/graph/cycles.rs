//! Strongly connected components: which calls wait for each other in a cycle.

/// The number of the component of every node, where `edges[node]` are the nodes that it leads to. Two nodes have the
/// same number exactly if each can be reached from the other.
///
/// Tarjan's algorithm with an explicit stack, because a chain may be as long as a reply has calls.
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut search = Search {
        edges,
        nodes: vec![VisitedNode::default(); edges.len()],
        stack: Vec::new(),
        visited: 0,
        components: 0,
    };
    for root in 0..edges.len() {
        search.visit(root);
    }
    search
        .nodes
        .into_iter()
        .map(|node| node.component.unwrap_or_default())
        .collect()
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    nodes: Vec<VisitedNode>,
    /// Visited nodes without a component.
    stack: Vec<usize>,
    visited: usize,
    components: usize,
}

#[derive(Clone, Default)]
struct VisitedNode {
    /// When it was visited, from 1; 0 is never.
    visit: usize,
    /// The earliest visit that can be reached from it.
    low: usize,
    next_edge: usize,
    component: Option<usize>,
}

impl Search<'_> {
    fn visit(&mut self, root: usize) {
        if self.nodes[root].visit > 0 {
            return;
        }
        let mut path = vec![root];
        self.open(root);
        while let Some(&node) = path.last() {
            let edge = self.nodes[node].next_edge;
            self.nodes[node].next_edge += 1;
            if let Some(&target) = self.edges[node].get(edge) {
                if self.nodes[target].visit == 0 {
                    self.open(target);
                    path.push(target);
                } else if self.nodes[target].component.is_none() {
                    self.lower(node, self.nodes[target].visit);
                }
            } else {
                path.pop();
                self.close(node);
                if let Some(&parent) = path.last() {
                    self.lower(parent, self.nodes[node].low);
                }
            }
        }
    }

    fn open(&mut self, node: usize) {
        self.visited += 1;
        self.nodes[node].visit = self.visited;
        self.nodes[node].low = self.visited;
        self.stack.push(node);
    }

    fn lower(&mut self, node: usize, low: usize) {
        self.nodes[node].low = self.nodes[node].low.min(low);
    }

    /// All edges of a node are walked. If nothing before it can be reached, it and all after it on the stack are a component.
    fn close(&mut self, node: usize) {
        if self.nodes[node].low < self.nodes[node].visit {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.nodes[member].component = Some(self.components);
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn only_nodes_that_reach_each_other_share_a_component() {
        // 0 -> 1 <-> 2 -> 3 -> 4 -> 5 -> 3, and 6 alone
        let edges = [
            vec![1],
            vec![2],
            vec![1, 3],
            vec![4],
            vec![5],
            vec![3],
            vec![],
        ];
        let found = components(&edges);
        for (a, b, same) in [
            (0, 1, false),
            (1, 2, true),
            (2, 3, false),
            (3, 5, true),
            (4, 5, true),
            (5, 6, false),
        ] {
            assert_eq!(found[a] == found[b], same, "{a} and {b}");
        }
    }

    #[test]
    fn a_long_chain_needs_no_call_stack() {
        let edges: Vec<Vec<usize>> = (0..200_000_usize)
            .map(|node| node.checked_sub(1).into_iter().collect())
            .collect();
        assert_eq!(components(&edges).len(), 200_000);
    }
}
