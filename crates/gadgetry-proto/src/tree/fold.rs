//! Events into the tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::amount;
use crate::delta::StopReason;
use crate::event::{Ancestor, Answer, Event, EventKind, FinishReason};
use crate::id::{CallId, InvocationId};
use crate::message::Purpose;
use crate::time::Time;
use crate::tree::{CostTree, Node, NodeId, NodeKind, Status, Subtotal};
use crate::usage::Usage;

/// Where each run of a tree stands.
pub(super) type Cursors = BTreeMap<NodeId, Cursor>;

/// Where one run stands: what its next events may be about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cursor {
    /// The model call that has started and not ended.
    pub(super) model_call: Option<NodeId>,
    /// The retry that was announced, and when it is due.
    pub(super) retry: Option<(u32, Time)>,
    /// The calls as they were written; the index is the number of the call in its run.
    pub(super) calls: Vec<NodeId>,
    /// Calls without an answer, by id, in the order written: a reply may write one id twice.
    pub(super) unanswered: BTreeMap<InvocationId, Vec<NodeId>>,
    /// The runs of subagents, by the call that started them and their number there.
    pub(super) agents: BTreeMap<CallId, BTreeMap<u32, NodeId>>,
}

/// The share of what a run has cost that may be missing because sums of floats are rounded.
const ROUNDING: f64 = 1e-9;

impl CostTree {
    /// Takes the next event in.
    ///
    /// Events that come without those that belong before them are counted all the same, so the tree may begin in the
    /// middle of a run; what is missing then is known when the run says what it has cost.
    pub fn apply(&mut self, event: &Event) {
        let (path, time) = (&event.path, event.time);
        match &event.kind {
            EventKind::ModelCallStart { iteration, purpose } => {
                let run = self.run_of(path, time);
                self.model_call_starts(run, time, *iteration, *purpose);
            }
            EventKind::ModelCallEnd {
                iteration,
                purpose,
                stop_reason,
                usage,
                cost,
                error,
            } => {
                let run = self.run_of(path, time);
                let failed = error.is_some() || *stop_reason == StopReason::Error;
                let call = self.model_call_that_ends(run, time, *iteration, *purpose);
                self.model_call_ends(call, time, *usage, amount(*cost), failed);
            }
            EventKind::ModelRetry {
                attempt, delay_ms, ..
            } => {
                let run = self.run_of(path, time);
                if let Some(call) = self.cursor(run).model_call.take() {
                    self.set_status(call, Status::Failed);
                    self.end(call, time);
                }
                let due = Time(time.0.saturating_add(*delay_ms));
                self.cursor(run).retry = Some((*attempt, due));
            }
            EventKind::GadgetCall(call) => {
                let run = self.run_of(path, time);
                let (id, name) = (&call.invocation_id, &call.gadget_name);
                let node = self.add_gadget(run, time, id, name, Status::Waiting);
                self.cursor(run).calls.push(node);
            }
            EventKind::GadgetStart {
                invocation_id,
                gadget_name,
            } => {
                let run = self.run_of(path, time);
                match self.waiting(run, invocation_id) {
                    Some(node) => self.set_status(node, Status::Running),
                    None => {
                        self.add_gadget(run, time, invocation_id, gadget_name, Status::Running);
                    }
                }
            }
            EventKind::GadgetResult {
                invocation_id,
                gadget_name,
                answer,
                duration_ms,
                cost,
                ..
            } => {
                let run = self.run_of(path, time);
                let status = match answer {
                    Answer::Result(_) => Status::Succeeded,
                    Answer::Error(_) => Status::Failed,
                };
                let node = self.gadget_that_ends(run, time, invocation_id, gadget_name);
                self.gadget_ends(node, time, status, *duration_ms, amount(*cost));
            }
            EventKind::GadgetSkipped {
                invocation_id,
                gadget_name,
                ..
            } => {
                let run = self.run_of(path, time);
                let node = self.gadget_that_ends(run, time, invocation_id, gadget_name);
                self.gadget_ends(node, time, Status::Skipped, 0, 0.0);
            }
            EventKind::RunFinished {
                reason, total_cost, ..
            } => {
                let run = self.run_of(path, time);
                self.run_ends(run, time, *reason, amount(*total_cost));
            }
            EventKind::RateLimited { .. }
            | EventKind::Compaction(_)
            | EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::GadgetProgress { .. }
            | EventKind::HumanInputRequired { .. }
            | EventKind::HumanInputReceived { .. }
            | EventKind::CustomBlockStart { .. }
            | EventKind::CustomBlockDelta { .. }
            | EventKind::CustomBlockEnd { .. }
            | EventKind::CustomBlock(_)
            | EventKind::Diagnostic(_)
            | EventKind::IterationEnd { .. } => {}
        }
    }

    /// The run that an event with this path comes from.
    fn run_of(&mut self, path: &[Ancestor], time: Time) -> NodeId {
        let mut run = NodeId::ROOT;
        for ancestor in path {
            let agents = self.cursor(run).agents.get(&ancestor.call);
            run = match agents.and_then(|agents| agents.get(&ancestor.agent)) {
                Some(agent) => *agent,
                None => self.add_agent(run, time, ancestor),
            };
        }
        run
    }

    fn add_agent(&mut self, run: NodeId, time: Time, ancestor: &Ancestor) -> NodeId {
        let caller = match self.caller(run, ancestor) {
            Some(caller) => caller,
            None => self.add_gadget(run, time, &ancestor.invocation_id, "", Status::Running),
        };
        let kind = NodeKind::Run {
            subagent: Some(ancestor.agent),
            reason: None,
            unattributed: 0.0,
        };
        let agent = self.add(caller, time, kind);
        let agents = self.cursor(run).agents.entry(ancestor.call).or_default();
        agents.insert(ancestor.agent, agent);
        agent
    }

    /// The call that started a subagent: the one of its siblings, or the one with its number, if that has its id, too
    /// (numbers are not known from the middle of a run on), or the one that goes on under its id.
    fn caller(&mut self, run: NodeId, ancestor: &Ancestor) -> Option<NodeId> {
        let Cursor {
            agents,
            calls,
            unanswered,
            ..
        } = self.cursors.get(&run)?;
        let siblings = agents.get(&ancestor.call);
        if let Some((_, sibling)) = siblings.and_then(BTreeMap::first_key_value) {
            return self.nodes[sibling.index()].parent;
        }
        let numbered = calls.get(ancestor.call.0 as usize).copied();
        numbered
            .filter(|call| match &self.nodes[call.index()].kind {
                NodeKind::Gadget { invocation_id, .. } => *invocation_id == ancestor.invocation_id,
                NodeKind::Run { .. } | NodeKind::ModelCall { .. } => false,
            })
            .or_else(|| unanswered.get(&ancestor.invocation_id)?.last().copied())
    }

    fn model_call_starts(&mut self, run: NodeId, time: Time, iteration: u32, purpose: Purpose) {
        if let Some(call) = self.cursor(run).model_call.take() {
            self.set_status(call, Status::Abandoned);
            self.end(call, time);
        }
        let attempt = self.cursor(run).retry.take().map_or(1, next_attempt);
        let call = self.add_model_call(run, time, iteration, purpose, attempt);
        self.cursor(run).model_call = Some(call);
    }

    /// The model call that is under way, or a new one: its start was not seen, or it is a retry.
    fn model_call_that_ends(
        &mut self,
        run: NodeId,
        time: Time,
        iteration: u32,
        purpose: Purpose,
    ) -> NodeId {
        let started = self.cursor(run).model_call;
        let same = started.filter(|call| match self.nodes[call.index()].kind {
            NodeKind::ModelCall {
                iteration: number,
                purpose: what_for,
                ..
            } => number == iteration && what_for == purpose,
            NodeKind::Run { .. } | NodeKind::Gadget { .. } => false,
        });
        if let Some(call) = same {
            self.cursor(run).model_call = None;
            return call;
        }
        let retry = self.cursor(run).retry.take();
        let began = retry.map_or(time, |(_, due)| due.min(time));
        let attempt = retry.map_or(1, next_attempt);
        self.add_model_call(run, began, iteration, purpose, attempt)
    }

    fn model_call_ends(
        &mut self,
        call: NodeId,
        time: Time,
        counts: Usage,
        dollars: f64,
        failed: bool,
    ) {
        let mut for_summary = false;
        if let NodeKind::ModelCall {
            purpose,
            usage,
            cost,
            ..
        } = &mut self.nodes[call.index()].kind
        {
            *usage = counts;
            *cost = dollars;
            for_summary = *purpose == Purpose::Summary;
        }
        self.set_status(
            call,
            if failed {
                Status::Failed
            } else {
                Status::Succeeded
            },
        );
        self.count(call, |subtotal| {
            add_dollars(&mut subtotal.total, dollars);
            let part = if for_summary {
                &mut subtotal.summaries
            } else {
                &mut subtotal.replies
            };
            add_dollars(part, dollars);
            subtotal.usage = subtotal.usage.plus(counts);
            subtotal.model_calls = subtotal.model_calls.saturating_add(1);
        });
        self.end(call, time);
    }

    /// The latest call of this id that has not started. The earlier ones of a reply with the same id run; this one
    /// comes after them.
    fn waiting(&mut self, run: NodeId, id: &InvocationId) -> Option<NodeId> {
        let calls = self.cursors.get(&run)?.unanswered.get(id)?;
        let mut waiting = calls
            .iter()
            .rev()
            .filter(|call| match self.nodes[call.index()].kind {
                NodeKind::Gadget { status, .. } => status == Status::Waiting,
                NodeKind::Run { .. } | NodeKind::ModelCall { .. } => false,
            });
        waiting.next().copied()
    }

    /// The latest call of this id that has no answer: where a reply writes an id twice, the second one is refused at
    /// once.
    fn gadget_that_ends(
        &mut self,
        run: NodeId,
        time: Time,
        id: &InvocationId,
        name: &str,
    ) -> NodeId {
        let unanswered = &self.cursor(run).unanswered;
        let latest = unanswered.get(id).and_then(|calls| calls.last().copied());
        let node = latest.unwrap_or_else(|| self.add_gadget(run, time, id, name, Status::Running));
        let unanswered = &mut self.cursor(run).unanswered;
        if let Some(calls) = unanswered.get_mut(id) {
            calls.pop();
            if calls.is_empty() {
                unanswered.remove(id);
            }
        }
        if let NodeKind::Gadget { gadget_name, .. } = &mut self.nodes[node.index()].kind
            && gadget_name.is_empty()
        {
            name.clone_into(gadget_name);
        }
        node
    }

    fn gadget_ends(
        &mut self,
        node: NodeId,
        time: Time,
        status: Status,
        milliseconds: u64,
        dollars: f64,
    ) {
        self.set_status(node, status);
        if let NodeKind::Gadget {
            cost, duration_ms, ..
        } = &mut self.nodes[node.index()].kind
        {
            *cost = dollars;
            *duration_ms = milliseconds;
        }
        self.count(node, |subtotal| {
            add_dollars(&mut subtotal.total, dollars);
            add_dollars(&mut subtotal.gadgets, dollars);
            subtotal.gadget_calls = subtotal.gadget_calls.saturating_add(1);
        });
        self.end(node, time);
        self.abandon_below(node, time);
    }

    fn run_ends(&mut self, run: NodeId, time: Time, why: FinishReason, told: f64) {
        let missing = told - self.subtree_total(run);
        let missing = if missing > told * ROUNDING {
            missing
        } else {
            0.0
        };
        if let NodeKind::Run {
            reason,
            unattributed,
            ..
        } = &mut self.nodes[run.index()].kind
        {
            *reason = Some(why);
            add_dollars(unattributed, missing);
        }
        self.count(run, |subtotal| {
            add_dollars(&mut subtotal.total, missing);
            add_dollars(&mut subtotal.unattributed, missing);
        });
        self.end(run, time);
        self.abandon_below(run, time);
    }

    fn add_model_call(
        &mut self,
        run: NodeId,
        time: Time,
        iteration: u32,
        purpose: Purpose,
        attempt: u32,
    ) -> NodeId {
        let kind = NodeKind::ModelCall {
            iteration,
            attempt,
            purpose,
            usage: Usage::default(),
            cost: 0.0,
            status: Status::Running,
        };
        self.add(run, time, kind)
    }

    fn add_gadget(
        &mut self,
        run: NodeId,
        time: Time,
        id: &InvocationId,
        name: &str,
        status: Status,
    ) -> NodeId {
        let kind = NodeKind::Gadget {
            invocation_id: id.clone(),
            gadget_name: name.to_owned(),
            cost: 0.0,
            status,
            duration_ms: 0,
        };
        let node = self.add(run, time, kind);
        let unanswered = &mut self.cursor(run).unanswered;
        unanswered.entry(id.clone()).or_default().push(node);
        node
    }

    fn add(&mut self, parent: NodeId, began: Time, kind: NodeKind) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let above = &mut self.nodes[parent.index()];
        above.children.push(id);
        let depth = above.depth.saturating_add(1);
        self.above(parent, |node| node.open = node.open.saturating_add(1));
        self.nodes.push(Node::new(Some(parent), depth, began, kind));
        id
    }

    fn cursor(&mut self, run: NodeId) -> &mut Cursor {
        self.cursors.entry(run).or_default()
    }

    fn set_status(&mut self, node: NodeId, now: Status) {
        match &mut self.nodes[node.index()].kind {
            NodeKind::ModelCall { status, .. } | NodeKind::Gadget { status, .. } => *status = now,
            NodeKind::Run { .. } => {}
        }
    }

    fn end(&mut self, id: NodeId, time: Time) {
        if self.nodes[id.index()].ended.replace(time).is_none() {
            self.above(id, |node| node.open = node.open.saturating_sub(1));
        }
    }

    /// Ends everything below a node that has ended. Some of it may be heard of again: a gadget whose time is up is
    /// answered before it has come to its end. What is told then counts.
    fn abandon_below(&mut self, top: NodeId, time: Time) {
        let mut open = vec![top];
        while let Some(id) = open.pop() {
            let node = &self.nodes[id.index()];
            let below = node.children.iter().copied();
            open.extend(below.filter(|child| self.nodes[child.index()].open > 0));
            if node.ended.is_none() {
                self.set_status(id, Status::Abandoned);
                self.end(id, time);
            }
        }
    }

    fn count(&mut self, node: NodeId, mut add: impl FnMut(&mut Subtotal)) {
        self.above(node, |node| add(&mut node.subtotal));
    }

    /// Changes a node and all nodes above it.
    fn above(&mut self, from: NodeId, mut change: impl FnMut(&mut Node)) {
        let mut next = Some(from);
        while let Some(id) = next {
            let node = &mut self.nodes[id.index()];
            change(node);
            next = node.parent;
        }
    }
}

fn next_attempt((retry, _): (u32, Time)) -> u32 {
    retry.saturating_add(1)
}

/// As the run itself adds up what it costs.
fn add_dollars(sum: &mut f64, dollars: f64) {
    *sum = (*sum + dollars).min(f64::MAX);
}
