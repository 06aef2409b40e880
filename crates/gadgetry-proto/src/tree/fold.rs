//! Events into the tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::amount;
use crate::delta::StopReason;
use crate::event::{Ancestor, Answer, Event, EventKind};
use crate::id::{CallId, InvocationId};
use crate::time::Time;
use crate::tree::{CostTree, NodeId, NodeKind, Status};

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
    /// By id, the latest call that was answered with an error while its gadget ran: it may still run.
    pub(super) late: BTreeMap<InvocationId, NodeId>,
    /// The runs of subagents, by the call that started them and their number there.
    pub(super) agents: BTreeMap<CallId, BTreeMap<u32, NodeId>>,
}

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
                self.model_call_ends(call, time, *usage, amount(cost.unwrap_or_default()), failed);
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
            EventKind::GadgetCall { written: call, .. } => {
                let run = self.run_of(path, time);
                let (id, name) = (&call.invocation_id, &call.gadget_name);
                let node = self.add_gadget(run, time, id, name, Status::Waiting);
                self.cursor(run).calls.push(node);
            }
            EventKind::GadgetStart {
                invocation_id,
                gadget_name,
                ..
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
                self.gadget_ends(run, node, time, status, *duration_ms);
                self.gadget_has_cost(node, amount(*cost));
            }
            EventKind::GadgetCost {
                invocation_id,
                gadget_name,
                cost,
                ..
            } => {
                let run = self.run_of(path, time);
                let node = self.gadget_that_was_late(run, time, invocation_id, gadget_name);
                self.gadget_has_cost(node, amount(*cost));
            }
            EventKind::GadgetSkipped {
                invocation_id,
                gadget_name,
                ..
            } => {
                let run = self.run_of(path, time);
                let node = self.gadget_that_ends(run, time, invocation_id, gadget_name);
                self.gadget_ends(run, node, time, Status::Skipped, 0);
            }
            EventKind::RunFinished {
                reason, total_cost, ..
            } => {
                let run = self.run_of(path, time);
                self.run_ends(run, time, *reason, amount(total_cost.unwrap_or_default()));
            }
            EventKind::ReplyWithdrawn { .. }
            | EventKind::RateLimited { .. }
            | EventKind::Compaction(_)
            | EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::GadgetProgress { .. }
            | EventKind::HumanInputRequired { .. }
            | EventKind::HumanInputReceived { .. }
            | EventKind::CustomBlockStart(_)
            | EventKind::CustomBlockDelta(_)
            | EventKind::CustomBlockEnd(_)
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
            late,
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
            .or_else(|| late.get(&ancestor.invocation_id).copied())
    }
}
