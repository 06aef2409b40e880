//! Reports of gadgets as events.

use std::sync::Arc;

use crate::event::{Ancestor, ApprovalAnswer, Event, EventKind};
use crate::id::CallId;
use crate::run::calls::execution::Execution;
use crate::run::calls::record::{CallStatus, Names, Record};
use crate::run::context::Context;
use crate::run::io::Report;

/// Emits what a gadget reports, and returns the event of a subagent with its path, for the caller to charge and to emit.
#[must_use]
pub(super) fn report(
    execution: &mut Execution,
    id: CallId,
    report: Report,
    cx: &mut Context<'_>,
) -> Option<Event> {
    if let Report::ApprovalRequired(_) | Report::ApprovalAnswered { .. } = report {
        approval(execution, id, report, cx);
        return None;
    }
    execution.cancelled.note(id, &report);
    let mut record = execution.ledger.get_mut(id);
    let status = record.as_mut().map(|record| &mut record.status);
    let is_running = if let Some(CallStatus::Running(running)) = status {
        running.note(&report);
        true
    } else {
        false
    };
    let names = match execution.cancelled.names(id) {
        Some(names) => names.clone(),
        None => record?.names(),
    };
    match reported(id, report, names, is_running) {
        Reported::Child(event) => return Some(event),
        Reported::Own(kind) => cx.out.emit(kind),
        Reported::Nothing => {}
    }
    None
}

/// Opens or closes the approval of a call that is held or runs. For any other call it is too late.
fn approval(execution: &mut Execution, id: CallId, report: Report, cx: &mut Context<'_>) {
    let Some(record) = execution.ledger.get_mut(id) else {
        return;
    };
    let is_open = |record: &Record, id| record.approval.as_ref().is_some_and(|it| it.id == id);
    match report {
        Report::ApprovalRequired(approval)
            if matches!(record.status, CallStatus::Held(_) | CallStatus::Running(_))
                && approval.id.call == id =>
        {
            if !is_open(record, approval.id)
                && let Some(withdrawn) = record.close_approval(ApprovalAnswer::Withdrawn)
            {
                cx.out.emit(withdrawn);
            }
            record.approval = Some(Arc::clone(&approval));
            cx.out.emit(EventKind::ApprovalRequired {
                call: id,
                invocation_id: record.call.invocation_id.clone(),
                approval,
            });
        }
        Report::ApprovalAnswered { approval, answer } if is_open(record, approval) => {
            if let Some(answered) = record.close_approval(answer) {
                cx.out.emit(answered);
            }
        }
        Report::ApprovalRequired(_)
        | Report::ApprovalAnswered { .. }
        | Report::Progress(_)
        | Report::Cost(_)
        | Report::SubagentCost { .. }
        | Report::HumanQuestion { .. }
        | Report::HumanAnswer { .. }
        | Report::Child { .. } => {}
    }
}

/// A report as an event, for the caller to emit.
enum Reported {
    /// An event of the run itself.
    Own(EventKind),
    /// An event of a subagent, with its path. It may have a cost.
    Child(Event),
    Nothing,
}

/// Converts a report into an event. After a call is answered, only the events of its subagents matter: they still cost money.
fn reported(id: CallId, report: Report, names: Names, is_running: bool) -> Reported {
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
        | Report::HumanAnswer { .. }
        | Report::ApprovalRequired(_)
        | Report::ApprovalAnswered { .. } => Reported::Nothing,
    }
}
