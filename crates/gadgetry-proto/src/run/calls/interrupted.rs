//! Gadgets that were running when the program ended.

use std::mem;
use std::sync::Arc;

use crate::call::Outcome;
use crate::event::EventKind;
use crate::id::CallId;
use crate::run::calls::execution::Execution;
use crate::run::calls::record::{CallStatus, EndedGadget, Names};
use crate::run::calls::running::{Prepared, Running};
use crate::run::context::Context;
use crate::run::question::{Decision, QuestionKind};
use crate::run::questions::Subject;
use crate::schema::OnInterrupt;

/// The answer to a call whose gadget does not run again.
const INTERRUPTED: &str = "interrupted: the program ended while this gadget was running. \
     Whether it took effect is unknown; check before you call it again";

/// A gadget in flight is lost: it does what its declaration says.
///
/// For the scheduler its call runs until it is answered, so nothing that must not run next to it starts meanwhile.
pub(super) fn interrupt(execution: &mut Execution, id: CallId, charged: f64, cx: &mut Context<'_>) {
    // Its call is answered, so whatever it does is of no use any more.
    if let Some(names) = execution.cancelled.remove(id) {
        return execution.done_late(id, names, charged, cx);
    }
    let Some(record) = execution.ledger.get_mut(id) else {
        return;
    };
    if !record.is_running() {
        return;
    }
    let CallStatus::Running(mut running) = mem::replace(&mut record.status, CallStatus::Waiting)
    else {
        return;
    };
    execution.deadlines.end(id, running.deadline);
    // What asked for it is lost with the gadget.
    execution.ledger.withdraw_approval(id, cx.out);
    let Some(record) = execution.ledger.get(id) else {
        return;
    };
    running.interrupt(charged);
    let gadget = cx.plan.registry.get(&record.call.gadget_name);
    match gadget.map(|gadget| gadget.spec().on_interrupt) {
        Some(OnInterrupt::Rerun) => restart(execution, id, running, cx),
        Some(OnInterrupt::Ask) if cx.plan.config.asks.human => ask(execution, id, running, cx),
        Some(OnInterrupt::Ask | OnInterrupt::Fail) | None => {
            end(execution, id, &running, Outcome::error(INTERRUPTED), cx);
        }
    }
}

/// Takes the decision of the user. A call that was answered meanwhile ignores it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a decision that its question does not admit never gets here; the rest is to proceed"
)]
pub(super) fn decide(
    execution: &mut Execution,
    id: CallId,
    decision: Decision,
    cx: &mut Context<'_>,
) {
    let Some(record) = execution.ledger.get_mut(id) else {
        return;
    };
    if !matches!(record.status, CallStatus::Interrupted(_)) {
        return;
    }
    let CallStatus::Interrupted(running) = mem::replace(&mut record.status, CallStatus::Waiting)
    else {
        return;
    };
    let running = *running;
    cx.out.emit(EventKind::HumanInputReceived {
        call: Some(id),
        invocation_id: Some(record.call.invocation_id.clone()),
        answered: decision != Decision::Proceed,
    });
    let outcome = match decision {
        Decision::Execute => return restart(execution, id, running, cx),
        Decision::Result(text) => Outcome::ok(text),
        Decision::Deny(error) => Outcome::error(error),
        _ => Outcome::error(INTERRUPTED),
    };
    end(execution, id, &running, outcome, cx);
}

/// The gadget starts again.
fn restart(execution: &mut Execution, id: CallId, mut running: Running, cx: &mut Context<'_>) {
    let Some(Prepared { start, timeout_ms }) = running.again().cloned() else {
        return end(execution, id, &running, Outcome::error(INTERRUPTED), cx);
    };
    let Some(record) = execution.ledger.get_mut(id) else {
        return;
    };
    running.since = cx.out.now();
    running.deadline = execution.deadlines.begin(id, running.since, timeout_ms);
    record.status = CallStatus::Running(running);
    let Names {
        invocation_id,
        gadget_name,
    } = record.names();
    cx.out.emit(EventKind::GadgetRestarted {
        call: id,
        invocation_id,
        gadget_name,
    });
    cx.out.start(start);
}

/// Asks the user whether the gadget runs again.
fn ask(execution: &mut Execution, id: CallId, running: Running, cx: &mut Context<'_>) {
    let Some(record) = execution.ledger.get_mut(id) else {
        return;
    };
    if let Some(again) = running.again() {
        record.parameters = Some(Arc::clone(&again.start.parameters));
    }
    record.status = CallStatus::Interrupted(Box::new(running));
    let about = record.about();
    let question = format!(
        "Gadget '{}' (call {}) was interrupted: the program ended while it was running, so whether it took effect is \
         unknown. Execute it again? (yes/no)",
        about.gadget_name,
        about.invocation_id.visible(),
    );
    cx.out.emit(EventKind::HumanInputRequired {
        call: Some(id),
        invocation_id: Some(about.invocation_id.clone()),
        question: question.clone(),
    });
    let question = QuestionKind::Interrupted { about, question };
    cx.questions.ask(Subject::Interrupted(id), question, cx.out);
}

/// The gadget does not run again, and this is its outcome. What it has cost is charged already.
fn end(
    execution: &mut Execution,
    id: CallId,
    running: &Running,
    mut outcome: Outcome,
    cx: &mut Context<'_>,
) {
    outcome.result = execution
        .room
        .take_result(outcome.result, &cx.plan.config.limits);
    let ended = EndedGadget {
        outcome,
        duration_ms: cx.out.now().since(running.since),
        cost: running.lost,
    };
    execution.judge(id, ended, cx);
}
