//! Adds nodes, ends them, and counts their costs.
//!
//! A tree may begin in the middle of a run, and a process may end in the middle of a call, so any event may be missing:
//!
//! | not seen | seen instead | inferred |
//! |---|---|---|
//! | start of a model call | its end | it began at its end, or when the announced retry was due |
//! | end of a model call | the next start | it is abandoned |
//! | call of a gadget | its start, result or cost | the call itself |
//! | result of a gadget | its late cost | it has failed: only a call that was answered with an error has a late cost |
//! | call around a subagent | an event of the subagent | the call, running and without a name |
//! | costs before the first event | the total of the run | `unattributed`: the total less what was counted |
//! | end of what is below a run or call | its own end | it is abandoned |
//!
//! For example, `ModelCallEnd` with a cost of 0.2 and then `RunFinished` with a total of 0.5, alone, become a run of 0.5, with a
//! reply of 0.2 and 0.3 that is `unattributed`.

use crate::event::FinishReason;
use crate::id::{CallId, InvocationId};
use crate::message::Purpose;
use crate::time::Time;
use crate::tree::cursors::Cursor;
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

    /// The model call in progress, or a new one: its start was not seen, or it is a retry.
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
        price: Option<f64>,
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
            *cost = price;
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
        let dollars = price.unwrap_or_default();
        self.count(call, |subtotal| {
            subtotal.unpriced = subtotal.unpriced.saturating_add(u32::from(price.is_none()));
            add_dollars(&mut subtotal.known, dollars);
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

    pub(super) fn gadget_ends(
        &mut self,
        node: NodeId,
        time: Time,
        status: Status,
        milliseconds: u64,
    ) {
        if let NodeKind::Gadget { duration_ms, .. } = &mut self.nodes[node.index()].kind {
            *duration_ms = milliseconds;
        }
        self.set_status(node, status);
        self.count(node, |subtotal| {
            subtotal.gadget_calls = subtotal.gadget_calls.saturating_add(1);
        });
        self.end(node, time);
        self.abandon_below(node, time);
    }

    pub(super) fn gadget_has_cost(&mut self, node: NodeId, dollars: f64) {
        if let NodeKind::Gadget { cost, .. } = &mut self.nodes[node.index()].kind {
            add_dollars(cost, dollars);
        }
        self.count(node, |subtotal| {
            add_dollars(&mut subtotal.known, dollars);
            add_dollars(&mut subtotal.gadgets, dollars);
        });
    }

    /// A run ends and reports its total: `None` if it knows of a model call without a price.
    pub(super) fn run_ends(
        &mut self,
        run: NodeId,
        time: Time,
        why: FinishReason,
        total: Option<f64>,
    ) {
        let before = self.subtotal(run);
        // What the events did not say happened before the first one that the tree saw.
        let missing = total.map(|total| {
            let missing = total - before.known;
            if missing > total * ROUNDING {
                missing
            } else {
                0.0
            }
        });
        let is_news = missing.is_none() && before.unpriced == 0;
        if let NodeKind::Run {
            reason,
            unattributed,
            ..
        } = &mut self.nodes[run.index()].kind
        {
            *reason = Some(why);
            if is_news {
                *unattributed = None;
            } else if let Some(sum) = unattributed {
                add_dollars(sum, missing.unwrap_or_default());
            }
        }
        let dollars = missing.unwrap_or_default();
        self.count(run, |subtotal| {
            subtotal.unpriced = subtotal.unpriced.saturating_add(u32::from(is_news));
            add_dollars(&mut subtotal.known, dollars);
            add_dollars(&mut subtotal.unattributed, dollars);
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
            cost: Some(0.0),
            status: Status::Running,
        };
        self.add(run, time, kind)
    }

    pub(super) fn add_gadget(
        &mut self,
        run: NodeId,
        time: Time,
        call: CallId,
        id: &InvocationId,
        name: &str,
    ) -> NodeId {
        let kind = NodeKind::Gadget {
            call,
            invocation_id: id.clone(),
            gadget_name: name.to_owned(),
            cost: 0.0,
            status: Status::Waiting,
            duration_ms: 0,
        };
        let node = self.add(run, time, kind);
        self.cursor(run).calls.insert(call, node);
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

    /// Ends everything below a node that has ended. More events of it may follow, and count: a gadget that is out of time
    /// is answered before it ends.
    fn abandon_below(&mut self, top: NodeId, time: Time) {
        if self.nodes[top.index()].open == 0 {
            return;
        }
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

/// Adds as the run itself adds its costs.
fn add_dollars(sum: &mut f64, dollars: f64) {
    *sum = (*sum + dollars).min(f64::MAX);
}
