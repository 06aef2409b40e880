//! The dependency graph of open calls.
//!
//! An edge is added when a call names a dependency that is still open, and closed once, when that dependency settles.
//! So a reply of `n` calls with `m` dependencies costs `O(n + m)` steps, in whatever order calls finish.
//!
//! A dependency may be named before its call arrives, because a model may write calls in any order. It is then an
//! *expected* id, and its edge is redirected when the call comes. Example: the reply `a(b)`, `b`, `c(a, b)`:
//!
//! | input | `expected` | edges (dependent → dependency) | change |
//! |---|---|---|---|
//! | add `a`, which names `b` | `b: [(a, 0)]` | a → b (expected) | |
//! | add `b` | | a → b | `Ready(b)` |
//! | add `c` | | a → b, c → a, c → b | |
//! | finish `b` as done | | c → a | `Ready(a)` |
//! | finish `a` as failed | | | `Unmet(c)` |
//!
//! What remains expected at the end of the reply never comes, and cycles are found then: see `end.rs`.

mod cycles;
mod end;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::InvocationId;
use crate::sched::cause::Cause;
use crate::sched::fate::Fate;
use crate::sched::gate::Seat;

/// Ids, calls and dependencies. Every edge is walked once when it is made and once when it is settled.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Graph {
    reply: u32,
    /// The latest call of every id of the run.
    ids: BTreeMap<InvocationId, Meaning>,
    /// The calls that are not settled.
    calls: BTreeMap<CallId, CallNode>,
    /// Ids that the rest of the reply may bring, with the dependencies (call, index) that wait for them.
    expected: BTreeMap<InvocationId, Vec<(CallId, usize)>>,
    undecided: BTreeSet<CallId>,
}

/// The consequence of a change.
#[derive(Debug)]
pub(super) enum Change {
    Ready(CallId, Seat),
    Unmet(CallId, Cause),
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Meaning {
    reply: u32,
    fate: Fate,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct CallNode {
    invocation_id: InvocationId,
    seat: Seat,
    phase: CallPhase,
    /// The dependencies that were open when the call was added.
    dependencies: Vec<Dependency>,
    /// Number of dependencies that are still open.
    open: usize,
    dependents: Vec<CallId>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    id: InvocationId,
    target: DependencyTarget,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum DependencyTarget {
    /// A call that the rest of the reply may bring.
    Expected,
    Call(CallId),
    /// A call that came and never runs.
    Settled,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum CallPhase {
    /// Waits for its dependencies.
    Waiting,
    /// Waits for a decision, because a dependency is not met.
    Undecided,
    /// Waits for the rest of its dependencies, however they end.
    Forced,
    /// Ready or running.
    Ready,
}

impl Graph {
    pub(super) fn begin_reply(&mut self) {
        self.reply = self.reply.saturating_add(1);
    }

    /// Returns `true` if a call of this reply has the id.
    pub(super) fn is_taken(&self, id: &InvocationId) -> bool {
        self.ids
            .get(id)
            .is_some_and(|meaning| meaning.reply == self.reply)
    }

    /// Adds a call whose id is not taken.
    pub(super) fn add(
        &mut self,
        id: CallId,
        own: InvocationId,
        written: Vec<InvocationId>,
        seat: Seat,
    ) -> Option<Change> {
        let only_itself =
            !written.is_empty() && written.iter().all(|dependency| *dependency == own);
        let mut cause = only_itself.then_some(Cause::OnlyItself);
        let mut dependencies = Vec::new();
        let mut seen = BTreeSet::new();
        for dependency in written {
            if dependency == own || !seen.insert(dependency.clone()) {
                continue;
            }
            // A settled dependency needs no edge: it is either met or the cause why this call cannot run.
            match self.look_up(&dependency) {
                Some(Fate::Done) => {}
                Some(fate @ (Fate::Failed(_) | Fate::Skipped)) => {
                    cause = cause.or_else(|| fate.cause(&dependency));
                }
                Some(Fate::Open(call)) => {
                    if let Some(node) = self.calls.get_mut(&call) {
                        node.dependents.push(id);
                    }
                    dependencies.push(Dependency {
                        id: dependency,
                        target: DependencyTarget::Call(call),
                    });
                }
                None => {
                    let place = (id, dependencies.len());
                    self.expected
                        .entry(dependency.clone())
                        .or_default()
                        .push(place);
                    dependencies.push(Dependency {
                        id: dependency,
                        target: DependencyTarget::Expected,
                    });
                }
            }
        }
        // Calls before this one may already wait for its id; their edges now lead here.
        let node = CallNode {
            dependents: self.meet_expectations(&own, DependencyTarget::Call(id)),
            invocation_id: own.clone(),
            seat,
            phase: CallPhase::Waiting,
            open: dependencies.len(),
            dependencies,
        };
        self.calls.insert(id, node);
        self.name(own, Fate::Open(id));
        self.advance(id, cause.as_ref())
    }

    /// Adds a call that never runs. If the id is taken, it keeps its meaning.
    pub(super) fn add_settled(&mut self, own: InvocationId, fate: Fate) -> Vec<Change> {
        if self.is_taken(&own) {
            return Vec::new();
        }
        let dependents = self.meet_expectations(&own, DependencyTarget::Settled);
        let changes = self.close_edges(dependents.into_iter(), fate.cause(&own).as_ref());
        self.name(own, fate);
        changes
    }

    /// Removes a call that has its fate, and closes the edges to those that depend on it.
    pub(super) fn finish(&mut self, id: CallId, fate: &Fate) -> Vec<Change> {
        let Some(node) = self.calls.remove(&id) else {
            return Vec::new();
        };
        self.record(&node.invocation_id, id, fate);
        let cause = fate.cause(&node.invocation_id);
        self.close_edges(node.dependents.into_iter(), cause.as_ref())
    }

    /// A call runs although a dependency is not met.
    pub(super) fn force(&mut self, id: CallId) -> Option<Change> {
        if let Some(node) = self.calls.get_mut(&id) {
            node.phase = CallPhase::Forced;
        }
        self.advance(id, None)
    }

    /// Takes the calls out. Those that depend on them must be among them.
    pub(super) fn forget(&mut self, calls: &[CallId]) {
        for id in calls {
            if let Some(node) = self.calls.remove(id) {
                self.record(&node.invocation_id, *id, &Fate::Skipped);
            }
        }
        self.expected.clear();
        self.undecided.clear();
    }

    /// The id of a call that waits for a decision.
    pub(super) fn undecided(&self, id: CallId) -> Option<&InvocationId> {
        let node = self.calls.get(&id)?;
        (node.phase == CallPhase::Undecided).then_some(&node.invocation_id)
    }

    /// A decision arrives. Returns whether the call waits for one.
    pub(super) fn take_undecided(&mut self, id: CallId) -> bool {
        self.undecided.remove(&id)
    }

    pub(super) fn first_undecided(&self) -> Option<CallId> {
        self.undecided.first().copied()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.keys().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns what an id means to a call that is added now; `None` if that is not yet known.
    fn look_up(&self, id: &InvocationId) -> Option<Fate> {
        let meaning = self.ids.get(id)?;
        // A model often repeats a failed call under the same id. Until that call arrives, the id is open again, so
        // that a dependent waits for the new call instead of failing because of the old one.
        let may_be_retried =
            meaning.reply != self.reply && matches!(meaning.fate, Fate::Failed(_) | Fate::Skipped);
        (!may_be_retried).then(|| meaning.fate.clone())
    }

    fn name(&mut self, id: InvocationId, fate: Fate) {
        let reply = self.reply;
        self.ids.insert(id, Meaning { reply, fate });
    }

    /// Notes the fate of a call, unless its id means a later call by now.
    fn record(&mut self, own: &InvocationId, id: CallId, fate: &Fate) {
        // An id may be used again in a later reply, while the earlier call still runs.
        if let Some(meaning) = self.ids.get_mut(own)
            && meaning.fate == Fate::Open(id)
        {
            meaning.fate = fate.clone();
        }
    }

    /// The expected call is here. Returns those that depend on it.
    fn meet_expectations(&mut self, own: &InvocationId, target: DependencyTarget) -> Vec<CallId> {
        let places = self.expected.remove(own).unwrap_or_default();
        for (call, index) in &places {
            if let Some(node) = self.calls.get_mut(call)
                && let Some(dependency) = node.dependencies.get_mut(*index)
            {
                dependency.target = target;
            }
        }
        places.into_iter().map(|(call, _)| call).collect()
    }

    /// One dependency of each of the calls is settled.
    fn close_edges(
        &mut self,
        dependents: impl Iterator<Item = CallId>,
        cause: Option<&Cause>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for id in dependents {
            if let Some(node) = self.calls.get_mut(&id) {
                node.open = node.open.saturating_sub(1);
                changes.extend(self.advance(id, cause));
            }
        }
        changes
    }

    /// Moves a call on, after its dependencies changed.
    fn advance(&mut self, id: CallId, cause: Option<&Cause>) -> Option<Change> {
        let node = self.calls.get_mut(&id)?;
        match (node.phase, cause) {
            // The first failure decides at once; the call does not wait for its other dependencies.
            (CallPhase::Waiting, Some(cause)) => {
                node.phase = CallPhase::Undecided;
                self.undecided.insert(id);
                Some(Change::Unmet(id, cause.clone()))
            }
            (CallPhase::Waiting | CallPhase::Forced, _) if node.open == 0 => {
                node.phase = CallPhase::Ready;
                // Edges are only walked for waiting calls, so a snapshot need not keep them.
                node.dependencies = Vec::new();
                Some(Change::Ready(id, node.seat))
            }
            _ => None,
        }
    }
}
