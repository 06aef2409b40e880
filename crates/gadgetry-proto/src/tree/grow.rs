//! Nodes begin, end and count.

use crate::event::FinishReason;
use crate::id::InvocationId;
use crate::message::Purpose;
use crate::time::Time;
use crate::tree::fold::Cursor;
use crate::tree::{CostTree, Node, NodeId, NodeKind, Status, Subtotal};
use crate::usage::Usage;

/// The share of what a run has cost that may be missing because sums of floats are rounded.
const ROUNDING: f64 = 1e-9;

impl CostTree {
    pub(super) fn model_call_starts(
        &mut self,
        run: NodeId,
        time: Time,
        iteration: u32,
        purpose: Purpose,
    ) {
        if let Some(call) = self.cursor(run).model_call.take() {
            self.set_status(call, Status::Abandoned);
            self.end(call, time);
        }
        let attempt = self.cursor(run).retry.take().map_or(1, next_attempt);
        let call = self.add_model_call(run, time, iteration, purpose, attempt);
        self.cursor(run).model_call = Some(call);
    }

    /// The model call that is under way, or a new one: its start was not seen, or it is a retry.
    pub(super) fn model_call_that_ends(
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

    pub(super) fn model_call_ends(
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
    pub(super) fn waiting(&mut self, run: NodeId, id: &InvocationId) -> Option<NodeId> {
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
    pub(super) fn gadget_that_ends(
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

    pub(super) fn gadget_ends(
        &mut self,
        run: NodeId,
        node: NodeId,
        time: Time,
        now: Status,
        milliseconds: u64,
    ) {
        if let NodeKind::Gadget {
            invocation_id,
            status,
            duration_ms,
            ..
        } = &mut self.nodes[node.index()].kind
        {
            *duration_ms = milliseconds;
            let ran = *status == Status::Running;
            if ran && now == Status::Failed {
                let id = invocation_id.clone();
                self.cursor(run).late.insert(id, node);
            }
        }
        self.set_status(node, now);
        self.count(node, |subtotal| {
            subtotal.gadget_calls = subtotal.gadget_calls.saturating_add(1);
        });
        self.end(node, time);
        self.abandon_below(node, time);
    }

    /// The call that was answered before its gadget came to its end.
    pub(super) fn gadget_that_was_late(
        &mut self,
        run: NodeId,
        time: Time,
        id: &InvocationId,
        name: &str,
    ) -> NodeId {
        if let Some(node) = self.cursor(run).late.get(id) {
            return *node;
        }
        let node = self.gadget_that_ends(run, time, id, name);
        self.gadget_ends(run, node, time, Status::Failed, 0);
        node
    }

    pub(super) fn gadget_has_cost(&mut self, node: NodeId, dollars: f64) {
        if let NodeKind::Gadget { cost, .. } = &mut self.nodes[node.index()].kind {
            add_dollars(cost, dollars);
        }
        self.count(node, |subtotal| {
            add_dollars(&mut subtotal.total, dollars);
            add_dollars(&mut subtotal.gadgets, dollars);
        });
    }

    pub(super) fn run_ends(&mut self, run: NodeId, time: Time, why: FinishReason, told: f64) {
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

    pub(super) fn add_gadget(
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

    pub(super) fn add(&mut self, parent: NodeId, began: Time, kind: NodeKind) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let above = &mut self.nodes[parent.index()];
        above.children.push(id);
        let depth = above.depth.saturating_add(1);
        self.above(parent, |node| node.open = node.open.saturating_add(1));
        self.nodes.push(Node::new(Some(parent), depth, began, kind));
        id
    }

    pub(super) fn cursor(&mut self, run: NodeId) -> &mut Cursor {
        self.cursors.entry(run).or_default()
    }

    pub(super) fn set_status(&mut self, node: NodeId, now: Status) {
        match &mut self.nodes[node.index()].kind {
            NodeKind::ModelCall { status, .. } | NodeKind::Gadget { status, .. } => *status = now,
            NodeKind::Run { .. } => {}
        }
    }

    pub(super) fn end(&mut self, id: NodeId, time: Time) {
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
