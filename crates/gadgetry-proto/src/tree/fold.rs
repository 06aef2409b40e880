//! Events into the tree.

use crate::call::amount;
use crate::delta::StopReason;
use crate::event::{Ancestor, CallAnswer, Event, EventKind};
use crate::id::{CallId, InvocationId};
use crate::time::Time;
use crate::tree::{CostTree, NodeId, NodeKind, Status};

impl CostTree {
    /// Adds the next event.
    ///
    /// The numbers in an event say where it belongs: [`Event::path`](crate::event::Event::path) names the run, and
    /// `call` the call in it. Events whose predecessors are missing are counted, too, so a tree may begin in the middle
    /// of a run; what the missing ones cost is known when the run ends.
    pub fn apply(&mut self, event: &Event) {
        let time = event.time;
        match &event.kind {
            EventKind::ModelCallStart { iteration, purpose } => {
                let run = self.run_of(&event.path, time);
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
                let run = self.run_of(&event.path, time);
                let failed = error.is_some() || *stop_reason == StopReason::Error;
                let call = self.model_call_that_ends(run, time, *iteration, *purpose);
                self.model_call_ends(call, time, *usage, cost.map(amount), failed);
            }
            EventKind::ModelRetry {
                attempt, delay_ms, ..
            } => {
                let run = self.run_of(&event.path, time);
                if let Some(call) = self.cursor(run).model_call.take() {
                    self.set_status(call, Status::Failed);
                    self.end(call, time);
                }
                let due = Time(time.0.saturating_add(*delay_ms));
                self.cursor(run).retry = Some((*attempt, due));
            }
            EventKind::GadgetCall { call, written } => {
                self.gadget(event, *call, &written.invocation_id, &written.gadget_name);
            }
            EventKind::GadgetStart {
                call,
                invocation_id,
                gadget_name,
                ..
            }
            | EventKind::GadgetRestarted {
                call,
                invocation_id,
                gadget_name,
            } => {
                let node = self.gadget(event, *call, invocation_id, gadget_name);
                if self.nodes[node.index()].ended.is_none() {
                    self.set_status(node, Status::Running);
                }
            }
            EventKind::GadgetResult {
                call,
                invocation_id,
                gadget_name,
                answer,
                duration_ms,
                cost,
                ..
            } => {
                let status = match answer {
                    CallAnswer::Result(_) => Status::Succeeded,
                    CallAnswer::Error(_) => Status::Failed,
                };
                let node = self.gadget(event, *call, invocation_id, gadget_name);
                self.gadget_ends(node, time, status, *duration_ms);
                self.gadget_has_cost(node, amount(*cost));
            }
            EventKind::GadgetCost {
                call,
                invocation_id,
                gadget_name,
                cost,
            } => {
                let node = self.gadget(event, *call, invocation_id, gadget_name);
                // A call is answered before its late cost: the answer was not seen, and was an error.
                if self.nodes[node.index()].ended.is_none() {
                    self.gadget_ends(node, time, Status::Failed, 0);
                }
                self.gadget_has_cost(node, amount(*cost));
            }
            EventKind::GadgetSkipped {
                call,
                invocation_id,
                gadget_name,
                ..
            } => {
                let node = self.gadget(event, *call, invocation_id, gadget_name);
                self.gadget_ends(node, time, Status::Skipped, 0);
            }
            EventKind::RunFinished {
                reason, total_cost, ..
            } => {
                let run = self.run_of(&event.path, time);
                self.run_ends(run, time, *reason, total_cost.map(amount));
            }
            EventKind::RunStart(_)
            | EventKind::ReplyWithdrawn { .. }
            | EventKind::RateLimited { .. }
            | EventKind::Compaction(_)
            | EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::ApprovalRequired { .. }
            | EventKind::ApprovalAnswered { .. }
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
        let call = ancestor.call;
        let known = self.cursor(run).calls.get(&call).copied();
        let caller = known.unwrap_or_else(|| {
            let caller = self.add_gadget(run, time, call, &ancestor.invocation_id, "");
            self.set_status(caller, Status::Running);
            caller
        });
        let kind = NodeKind::Run {
            subagent: Some(ancestor.agent),
            reason: None,
            unattributed: Some(0.0),
        };
        let agent = self.add(caller, time, kind);
        let agents = self.cursor(run).agents.entry(call).or_default();
        agents.insert(ancestor.agent, agent);
        agent
    }

    /// The node of the call that an event is about.
    fn gadget(&mut self, event: &Event, call: CallId, id: &InvocationId, name: &str) -> NodeId {
        let run = self.run_of(&event.path, event.time);
        let Some(node) = self.cursor(run).calls.get(&call).copied() else {
            return self.add_gadget(run, event.time, call, id, name);
        };
        // An ancestor of an event has no name.
        if let NodeKind::Gadget { gadget_name, .. } = &mut self.nodes[node.index()].kind
            && gadget_name.is_empty()
        {
            name.clone_into(gadget_name);
        }
        node
    }
}
