//! The calls of a run: what a reply announces, and what the model reads about it. Each call is answered exactly once.

mod cancelled;
mod deadlines;
mod execution;
mod interrupted;
mod known;
mod ledger;
mod notes;
mod numbers;
mod prepare;
mod record;
mod references;
mod reports;
mod result;
mod room;
mod running;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::delta::Delta;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::event::{Event, EventKind};
use crate::id::{CallId, InvocationId};
use crate::limits::{Limit, LimitExceeded};
use crate::message::Content;
use crate::piece::{ArgsPartial, CallStart};
use crate::run::context::Context;
use crate::run::io::Report;
use crate::run::open_question::OpenQuestion;
use crate::run::plan::Plan;
use crate::run::question::Decision;
use crate::run::truncation::Truncation;
use crate::sched::Scheduler;
use crate::sched::over_limit;

use execution::Execution;
use notes::Notes;
use record::{CallStatus, Record};
use room::Surplus;

/// The calls of the current reply, and what later replies need of earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Calls {
    pub(super) execution: Execution,
    pub(super) notes: Notes,
    /// Number of calls in other dialects so far. They have no ids of their own.
    dialects: u64,
    /// Whether any reply of the run has called a gadget.
    has_called: bool,
}

impl Calls {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut schedule = plan.config.schedule.clone();
        schedule.max_per_reply = Some(calls_per_reply(plan));
        Self {
            execution: Execution::new(Scheduler::new(schedule)),
            notes: Notes::default(),
            dialects: 0,
            has_called: false,
        }
    }

    pub(super) fn begin_reply(&mut self) {
        self.execution.begin_reply();
    }

    /// Returns `true` if the current reply has called nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the number of calls of the current reply.
    pub(super) fn count(&self) -> usize {
        self.execution.ledger.records().len()
    }

    /// Open approvals, and the questions of running gadgets to the user, in call order.
    pub(super) fn open_questions(&self) -> impl Iterator<Item = OpenQuestion> + '_ {
        let records = self.execution.ledger.records().iter();
        records.flat_map(Record::open_questions)
    }

    /// A gadget in flight is lost. What it had reported to have cost is `charged` already.
    pub(super) fn interrupt(&mut self, id: CallId, charged: f64, cx: &mut Context<'_>) {
        interrupted::interrupt(&mut self.execution, id, charged, cx);
    }

    /// Emits what a gadget reports. Returns the event of a subagent with its path, for the caller to charge and to emit.
    #[must_use]
    pub(super) fn report(
        &mut self,
        id: CallId,
        report: Report,
        cx: &mut Context<'_>,
    ) -> Option<Event> {
        reports::report(&mut self.execution, id, report, cx)
    }

    /// Takes the decision of the user about an interrupted gadget.
    pub(super) fn decide_interrupted(
        &mut self,
        id: CallId,
        decision: Decision,
        cx: &mut Context<'_>,
    ) {
        interrupted::decide(&mut self.execution, id, decision, cx);
        self.execution.dispatch(cx);
    }

    /// Returns `true` if any reply of the run has called a gadget.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Returns `true` if there is a result that only the viewer shows whole.
    pub(super) fn has_outputs(&self) -> bool {
        !self.execution.stored.outputs().is_empty()
    }

    /// Calls in the previous reply; `None` before the first.
    pub(super) fn previous(&self) -> Option<u32> {
        self.execution.ledger.previous().map(index)
    }

    /// The ids of the calls of the reply, for the model.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let records = self.execution.ledger.records().iter();
        records.map(|record| record.call.invocation_id.as_str())
    }

    /// A new id for a call that has none.
    pub(super) fn next_dialect_id(&mut self) -> InvocationId {
        self.dialects += 1;
        InvocationId::from(format!("call_{}", self.dialects))
    }

    /// Returns `true` if a delta belongs to a call beyond the cap. Nothing else is kept of it; `at` is the place in the reply.
    pub(super) fn is_surplus(&mut self, delta: &Delta, at: u64, cx: &mut Context<'_>) -> bool {
        let limit = cx.plan.config.limits.calls_per_reply;
        let calls = self.execution.ledger.records().len();
        let surplus = self.execution.room.count_surplus(delta, calls, limit);
        if surplus == Surplus::First {
            let what = Limit::CallsPerReply;
            cx.out
                .emit(limit_exceeded(LimitExceeded { what, limit }, at));
        }
        surplus != Surplus::No
    }

    /// Counts the values of a call; one with too many becomes malformed.
    pub(super) fn count_values(&mut self, call: Arc<Call>, plan: &Plan) -> Arc<Call> {
        self.execution.room.take_call(call, &plan.config.limits)
    }

    /// The header of a call is complete: the call gets its number.
    pub(super) fn announce_start(&mut self, start: CallStart, cx: &mut Context<'_>) {
        let call = self.execution.ledger.announce(&start.invocation_id);
        cx.out.emit(EventKind::GadgetCallStart { call, start });
    }

    /// A piece of an argument.
    pub(super) fn announce_args(&mut self, args: ArgsPartial, cx: &mut Context<'_>) {
        let call = self.execution.ledger.of_piece(&args.invocation_id);
        cx.out.emit(EventKind::GadgetArgsPartial { call, args });
    }

    /// Takes a complete call: it waits for its turn, or is answered at once because it cannot run.
    pub(super) fn announce(
        &mut self,
        call: Arc<Call>,
        end: Option<&Truncation>,
        cx: &mut Context<'_>,
    ) {
        let id = self.execution.ledger.complete(&call.invocation_id);
        cx.out.emit(EventKind::GadgetCall {
            call: id,
            written: Arc::clone(&call),
        });
        let plan = cx.plan;
        let gadget = plan.registry.get(&call.gadget_name);
        let cap = calls_per_reply(plan);
        let is_surplus = self.execution.ledger.records().len() >= cap as usize;
        // The answer to a surplus call is short, whatever else is wrong with it.
        let examined = if is_surplus {
            Ok(None)
        } else {
            prepare::examine(&call, gadget, end, plan)
        };
        if !is_surplus {
            self.note_undeclared_reference(&call, cx);
        }
        let job = gadget.map(|gadget| prepare::job(id, &call, gadget));
        let (parameters, error) = match examined {
            Ok(parameters) => (parameters, None),
            Err(error) => (None, Some(error)),
        };
        let record = Record {
            id,
            call,
            gadget: gadget.map(|gadget| gadget.name().to_owned()),
            parameters: parameters.map(Arc::new),
            status: CallStatus::Waiting,
            approval: None,
        };
        self.has_called = true;
        match (error, job) {
            (Some(error), _) => self.execution.add_failed(record, error, cx),
            (None, Some(job)) => self.execution.add(record, job),
            // Only a surplus call is not examined, so only it can lack a gadget without being an error.
            (None, None) => {
                let unmet = over_limit(id, cap);
                self.execution.add_surplus(record, unmet, cx);
            }
        }
        self.execution.dispatch(cx);
    }

    /// A reference to a call that is not among the dependencies stays text, which is hardly what the model meant.
    fn note_undeclared_reference(&mut self, call: &Call, cx: &mut Context<'_>) {
        let ledger = &self.execution.ledger;
        let is_known = |id: &InvocationId| {
            let mut records = ledger.records().iter();
            ledger.results().contains(id) || records.any(|known| known.call.invocation_id == *id)
        };
        if let Some(id) = references::undeclared(call, is_known) {
            let message = references::undeclared_note(call, &id, cx.plan);
            self.notes.add(&message);
            cx.out.emit(EventKind::Diagnostic(Diagnostic {
                code: DiagnosticCode::UndeclaredReference,
                message,
                span: call.span,
            }));
        }
    }

    /// Returns what the model reads about its calls, in call order, then the notes. The records are dropped.
    pub(super) fn take_results(&mut self, plan: &Plan) -> Vec<Content> {
        let records = self.execution.ledger.take();
        let mut contents = Vec::with_capacity(records.len());
        for record in records {
            let (stored, notes) = (&mut self.execution.stored, &mut self.notes);
            contents.extend(result::content(record, stored, notes, plan));
        }
        contents.extend(self.execution.room.surplus_note(&plan.config.limits));
        contents.extend(self.notes.take());
        contents
    }
}

/// The diagnostic of a limit that the reply exceeds at this offset.
pub(super) fn limit_exceeded(exceeded: LimitExceeded, at: u64) -> EventKind {
    EventKind::Diagnostic(Diagnostic {
        code: DiagnosticCode::LimitExceeded,
        message: exceeded.to_string(),
        span: Span { start: at, end: at },
    })
}

/// No run has more calls than this.
fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The stricter of the run's own limit and the cap.
fn calls_per_reply(plan: &Plan) -> u32 {
    let cap = index(plan.config.limits.calls_per_reply);
    let own = plan
        .config
        .schedule
        .max_per_reply
        .filter(|limit| *limit > 0);
    own.map_or(cap, |own| own.min(cap))
}
