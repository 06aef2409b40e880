//! What running gadgets tell.

use crate::event::{Ancestor, Event, EventKind};
use crate::id::{CallId, InvocationId};
use crate::run::Run;
use crate::run::io::{Output, Report};
use crate::run::state::Status;

impl Run {
    /// A gadget tells something. Of a call that is over, only what its subagents cost is of interest.
    pub(super) fn report(&mut self, id: CallId, report: Report) {
        let Some((invocation_id, gadget_name)) = self.caller(id) else {
            return;
        };
        let status = self.record(id).map(|record| &record.status);
        let runs = matches!(status, Some(Status::Running { .. }));
        if !runs && !matches!(report, Report::Child { .. }) {
            return;
        }
        match report {
            Report::Progress(message) => self.tell(EventKind::GadgetProgress {
                call: id,
                invocation_id,
                gadget_name,
                message,
            }),
            Report::HumanQuestion(question) => self.tell(EventKind::HumanInputRequired {
                call: Some(id),
                invocation_id: Some(invocation_id),
                question,
            }),
            Report::HumanAnswer { answered } => self.tell(EventKind::HumanInputReceived {
                call: Some(id),
                invocation_id: Some(invocation_id),
                answered,
            }),
            Report::Child { agent, mut event } => {
                let ancestor = Ancestor {
                    call: id,
                    invocation_id,
                    agent,
                };
                event.path.insert(0, ancestor);
                match event.kind.own_cost() {
                    Some(dollars) => _ = self.charge(dollars),
                    None => self.state.unpriced = true,
                }
                self.pass_event(*event);
            }
        }
    }

    /// The event of a subagent, in this run's order and time.
    fn pass_event(&mut self, mut event: Event) {
        event.seq = self.state.seq;
        event.time = self.state.now;
        self.state.seq += 1;
        self.put(Output::Event(event));
    }

    fn caller(&mut self, id: CallId) -> Option<(InvocationId, String)> {
        if let Some(late) = self.state.cancelled.get(&id) {
            return Some((late.invocation_id.clone(), late.gadget_name.clone()));
        }
        let call = &self.record(id)?.call;
        Some((call.invocation_id.clone(), call.gadget_name.clone()))
    }
}
