//! The end of a reply: what did not come, and what waits in a circle.

use std::collections::BTreeMap;

use crate::id::CallId;
use crate::id::InvocationId;
use crate::sched::cause::Cause;
use crate::sched::fate::Fate;
use crate::sched::graph::Change;
use crate::sched::graph::DependencyTarget;
use crate::sched::graph::Graph;
use crate::sched::graph::cycles;

impl Graph {
    /// No expected id will come, and no cycle will be broken.
    pub(in crate::sched) fn end_reply(&mut self) -> Vec<Change> {
        self.expected.clear();
        let circles = self.circles();
        let circle = |id: CallId| circles.get(&id);
        let mut changes = Vec::new();
        for &id in circles.keys() {
            let Some(node) = self.calls.get_mut(&id) else {
                continue;
            };
            node.dependents
                .retain(|dependent| circle(*dependent) != circle(id));
            let mut lost = Lost::default();
            node.dependencies
                .retain(|dependency| match dependency.target {
                    DependencyTarget::Expected => {
                        let meaning = self.ids.get(&dependency.id);
                        lost.absent(&dependency.id, meaning.map(|meaning| &meaning.fate));
                        false
                    }
                    DependencyTarget::Call(call) if circle(call) == circle(id) => {
                        lost.circular(&dependency.id);
                        false
                    }
                    DependencyTarget::Call(_) => true,
                    DependencyTarget::Settled => false,
                });
            node.open = node.open.saturating_sub(lost.count);
            changes.extend(self.advance(id, lost.cause().as_ref()));
        }
        changes
    }

    /// The calls with open dependencies; two that have the same number wait for each other.
    fn circles(&self) -> BTreeMap<CallId, usize> {
        let blocked = self.calls.iter().filter(|(_, node)| node.open > 0);
        let numbers: BTreeMap<CallId, usize> = blocked
            .clone()
            .enumerate()
            .map(|(number, (id, _))| (*id, number))
            .collect();
        let edges: Vec<Vec<usize>> = blocked
            .map(|(_, node)| {
                let calls =
                    node.dependencies
                        .iter()
                        .filter_map(|dependency| match dependency.target {
                            DependencyTarget::Call(call) => numbers.get(&call).copied(),
                            DependencyTarget::Expected | DependencyTarget::Settled => None,
                        });
                calls.collect()
            })
            .collect();
        let components = cycles::components(&edges);
        numbers.into_keys().zip(components).collect()
    }
}

/// The dependencies of one call that will not be met.
#[derive(Default)]
struct Lost {
    circular: Vec<InvocationId>,
    missing: Vec<InvocationId>,
    /// The first of those that are not circular.
    first: Option<Cause>,
    count: usize,
}

impl Lost {
    fn circular(&mut self, id: &InvocationId) {
        self.count += 1;
        self.circular.push(id.clone());
    }

    /// No call of this reply has the id, and `fate` is that of an earlier one.
    fn absent(&mut self, id: &InvocationId, fate: Option<&Fate>) {
        self.count += 1;
        let cause = fate.and_then(|fate| fate.cause(id));
        if cause.is_none() {
            self.missing.push(id.clone());
        }
        self.first = self
            .first
            .take()
            .or(cause)
            .or_else(|| Some(Cause::Missing(id.clone())));
    }

    fn cause(self) -> Option<Cause> {
        let Some(first) = self.circular.first() else {
            return self.first;
        };
        Some(if self.missing.is_empty() {
            Cause::Circular(first.clone())
        } else {
            Cause::CircularAndMissing {
                circular: self.circular,
                missing: self.missing,
            }
        })
    }
}
