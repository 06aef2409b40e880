//! Reports of gadgets as events.

use crate::event::{Ancestor, Event, EventKind};
use crate::id::CallId;
use crate::run::calls::record::Names;
use crate::run::io::Report;

/// A report as an event, for the caller to emit.
pub(super) enum Reported {
    /// An event of the run itself.
    Own(EventKind),
    /// An event of a subagent, with its path. It may have a cost.
    Child(Event),
    Nothing,
}

/// Converts a report into an event. After a call is answered, only the events of its subagents matter: they still cost money.
pub(super) fn reported(id: CallId, report: Report, names: Names, is_running: bool) -> Reported {
    let Names {
        invocation_id,
        gadget_name,
    } = names;
    match report {
        Report::Child { agent, mut event } => {
            event
                .path
                .insert(0, Ancestor::new(id, invocation_id, agent));
            Reported::Child(*event)
        }
        Report::Progress(message) if is_running => Reported::Own(EventKind::GadgetProgress {
            call: id,
            invocation_id,
            gadget_name,
            message,
        }),
        Report::HumanQuestion { question, .. } if is_running => {
            Reported::Own(EventKind::HumanInputRequired {
                call: Some(id),
                invocation_id: Some(invocation_id),
                question,
            })
        }
        Report::HumanAnswer { answer, .. } if is_running => {
            Reported::Own(EventKind::HumanInputReceived {
                call: Some(id),
                invocation_id: Some(invocation_id),
                answered: answer.is_some(),
            })
        }
        Report::Cost(_)
        | Report::SubagentCost { .. }
        | Report::Progress(_)
        | Report::HumanQuestion { .. }
        | Report::HumanAnswer { .. } => Reported::Nothing,
    }
}
