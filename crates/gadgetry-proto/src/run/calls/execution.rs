//! Calls from the moment they are announced to their answers.
//!
//! ```text
//! Waiting ─► (Undecided) ─► (Held) ─► Running ─► (Asking) ─► (Ended) ─► Answered
//!                                      ▲   ▼
//!                                  (Interrupted)
//! ```
//!
//! The states in brackets are for calls about which a question is open. A call can be answered from any state: by an
//! error before it starts, by its timeout while its gadget still runs, or because the run is cancelled.
//!
//! # Orders that matter
//!
//! - The run charges a cost before [`Execution::done`], because what follows may ask whether budget is left.
//! - A result that has arrived is taken before [`Execution::expire`], so a busy driver does not turn it into a timeout.
//!   Before any other input, `expire` comes first: a report of a late gadget is no longer shown.
//! - A call is answered in the ledger, then finished in the scheduler, then [`Execution::dispatch`] starts what depends on
//!   it: a start reads the results of its dependencies in the ledger.
//! - A timeout answers the call but does not finish it in the scheduler: its gadget may still be at work, and one that
//!   must run alone would start next to it. [`Execution::done_late`] finishes it.
//!
//! For example, `b` depends on `a` and refers to `${a}`:
//!
//! ```text
//! Done(a)  charge, deadline of a, ledger.answer(a), scheduler.finish(a), dispatch ─► Start(b) with the text of a
//! timeout  ledger.answer(a), cancel a                                             ─► b waits
//! Done(a)  cost of a, scheduler.finish(a) as failed, dispatch                     ─► b is unmet
//! ```

use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Outcome;
use crate::convo::OutputStore;
use crate::convo::viewer;
use crate::event::{EventKind, FinishReason};
use crate::id::CallId;
use crate::prompt::search;
use crate::run::calls::cancelled::{CANCELLED, CancelledGadgets};
use crate::run::calls::deadlines::Deadlines;
use crate::run::calls::ledger::{Answering, Ledger};
use crate::run::calls::prepare;
use crate::run::calls::record::{CallStatus, EndedGadget, Names, Record};
use crate::run::calls::result;
use crate::run::calls::room::Room;
use crate::run::calls::running::{Prepared, Running};
use crate::run::config::UnmetDependencyPolicy;
use crate::run::context::Context;
use crate::run::plan::Plan;
use crate::run::question::{Decision, QuestionKind};
use crate::run::questions::Subject;
use crate::sched::Action;
use crate::sched::Job;
use crate::sched::Scheduler;
use crate::sched::SkipDecision;
use crate::sched::Unmet;
use crate::schema::OnInterrupt;
use crate::time::Time;

/// Runs the calls of a reply. Everything in it concerns calls that are announced already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::run) struct Execution {
    scheduler: Scheduler,
    pub(super) ledger: Ledger,
    pub(super) deadlines: Deadlines,
    pub(super) cancelled: CancelledGadgets,
    pub(super) room: Room,
    /// Results that were too long for the conversation.
    pub(in crate::run) stored: OutputStore,
    /// The result of the gadget that completed the run.
    pub(in crate::run) completed: Option<String>,
    /// The reason for which the run ends once all calls are answered.
    pub(in crate::run) stopped: Option<FinishReason>,
}

impl Execution {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            ledger: Ledger::default(),
            deadlines: Deadlines::default(),
            cancelled: CancelledGadgets::default(),
            room: Room::default(),
            stored: OutputStore::default(),
            completed: None,
            stopped: None,
        }
    }

    pub(super) fn begin_reply(&mut self) {
        self.room.begin_reply();
        self.scheduler.begin_reply();
    }

    /// The reply has no more calls.
    pub(in crate::run) fn end_reply(&mut self) {
        self.scheduler.end_reply();
        self.ledger.end_reply();
    }

    /// Returns `true` if no call waits or runs.
    pub(in crate::run) fn is_idle(&self) -> bool {
        self.scheduler.is_idle()
    }

    /// When the first timeout expires.
    pub(in crate::run) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first()
    }

    /// Gadgets that have not returned, cancelled ones last.
    pub(in crate::run) fn in_flight(&self) -> impl Iterator<Item = CallId> + '_ {
        let running = self.ledger.records().iter().filter(|it| it.is_running());
        let running = running.map(|record| record.id);
        running.chain(self.cancelled.ids())
    }

    /// Returns `true` if the gadget of this call has started and not returned.
    pub(in crate::run) fn is_in_flight(&self, id: CallId) -> bool {
        let record = self.ledger.get(id);
        self.cancelled.contains(id) || record.is_some_and(Record::is_running)
    }

    /// Returns `true` if a cancelled gadget has not returned yet.
    pub(in crate::run) fn has_cancelled(&self) -> bool {
        !self.cancelled.is_empty()
    }

    /// Takes a call that can run: it starts once its dependencies and the limits allow it.
    pub(super) fn add(&mut self, record: Record, job: Job) {
        self.ledger.push(record);
        self.scheduler.add(job);
    }

    /// Takes a call that cannot run, and answers it.
    pub(super) fn add_failed(&mut self, record: Record, error: String, cx: &mut Context<'_>) {
        let id = record.id;
        let invocation_id = record.call.invocation_id.clone();
        self.ledger.push(record);
        self.scheduler.add_failed(invocation_id, error.clone());
        self.answer(id, Err(error), cx);
    }

    /// Takes a call beyond the limit, and skips it.
    pub(super) fn add_surplus(&mut self, record: Record, unmet: Unmet, cx: &mut Context<'_>) {
        let invocation_id = record.call.invocation_id.clone();
        self.ledger.push(record);
        self.scheduler
            .add_failed(invocation_id, unmet.error.clone());
        self.ledger.skip(unmet, cx.out);
    }

    /// Does what the scheduler wants, until it wants nothing more.
    pub(in crate::run) fn dispatch(&mut self, cx: &mut Context<'_>) {
        while let Some(action) = self.scheduler.poll() {
            match action {
                Action::Start(id) => self.start(id, cx),
                Action::Unmet(unmet) => self.unmet(unmet, cx),
                Action::OverLimit(unmet) => self.ledger.skip(unmet, cx.out),
                Action::Reject { id, error } => self.answer(id, Err(error), cx),
            }
        }
    }

    fn unmet(&mut self, unmet: Unmet, cx: &mut Context<'_>) {
        let id = unmet.id;
        if cx.plan.config.asks.dependency_skipped
            && let Some(record) = self.ledger.get_mut(id)
        {
            let question = QuestionKind::DependencySkipped {
                about: record.about(),
                failed_dependency: unmet.failed_dependency.clone(),
                error: unmet.error.clone(),
            };
            record.status = CallStatus::Undecided(unmet);
            cx.questions.ask(Subject::Unmet(id), question, cx.out);
            return;
        }
        let decision = match &cx.plan.config.on_unmet {
            UnmetDependencyPolicy::Skip => Decision::Proceed,
            UnmetDependencyPolicy::Execute => Decision::Execute,
            UnmetDependencyPolicy::Fallback(result) => Decision::Result(result.clone()),
        };
        self.resolve(unmet, decision, cx);
    }

    /// The scheduler has room for the call.
    fn start(&mut self, id: CallId, cx: &mut Context<'_>) {
        let plan = cx.plan;
        let Some((record, results)) = self.ledger.with_results(id) else {
            return;
        };
        let Some(gadget) = plan.registry.get(&record.call.gadget_name) else {
            return;
        };
        let prepared = prepare::prepare(id, record, gadget, results, &mut self.room, plan);
        let mut prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.finish_without_gadget(id, Err(error), cx),
        };
        if plan.has_viewer && gadget.name() == viewer::NAME {
            let parameters = prepared.start.parameters;
            self.emit_start(id, Arc::clone(&parameters), cx);
            let shown = result::view(&parameters, &self.stored, plan);
            return self.finish_without_gadget(id, shown, cx);
        }
        if plan.has_search() && gadget.name() == search::NAME {
            let parameters = prepared.start.parameters;
            self.emit_start(id, Arc::clone(&parameters), cx);
            let found = search::find(&parameters, &plan.registry);
            return self.finish_without_gadget(id, found, cx);
        }
        if let Err(error) = self.room.check_result(&plan.config.limits) {
            return self.finish_without_gadget(id, Err(error), cx);
        }
        if !plan.code.interceptors.is_empty()
            && let Some(record) = self.ledger.get(id)
            && let Err(error) = prepare::intercept(record.about(), &mut prepared, plan)
        {
            return self.finish_without_gadget(id, Err(error), cx);
        }
        if plan.config.asks.before_gadget {
            let start = prepared.start.clone();
            if let Some(record) = self.ledger.get_mut(id) {
                record.status = CallStatus::Held(Box::new(prepared));
            }
            let question = QuestionKind::BeforeGadget { start };
            cx.questions.ask(Subject::Start(id), question, cx.out);
        } else {
            self.launch(prepared, cx);
        }
    }

    /// Starts the gadget.
    fn launch(&mut self, prepared: Prepared, cx: &mut Context<'_>) {
        let id = prepared.start.id;
        let gadget = cx.plan.registry.get(&prepared.start.gadget_name);
        let may_rerun = gadget.is_some_and(|it| it.spec().on_interrupt != OnInterrupt::Fail);
        let again = may_rerun.then(|| Box::new(prepared.clone()));
        let since = cx.out.now();
        let deadline = self.deadlines.begin(id, since, prepared.timeout_ms);
        self.ledger.withdraw_approval(id, cx.out);
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        record.status = CallStatus::Running(Running::new(since, deadline, again));
        self.emit_start(id, Arc::clone(&prepared.start.parameters), cx);
        cx.out.start(prepared.start);
    }

    /// Returns the cost that a gadget in flight has reported.
    pub(in crate::run) fn reported_cost(&self, id: CallId) -> f64 {
        let status = self.ledger.get(id).map(|record| &record.status);
        match (self.cancelled.reported(id), status) {
            (Some(reported), _) => reported,
            (None, Some(CallStatus::Running(running))) => running.reported,
            (None, _) => 0.0,
        }
    }

    fn emit_start(&mut self, id: CallId, parameters: Arc<Value>, cx: &mut Context<'_>) {
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        // A gadget that owns its parameters can take them apart without a copy, so the run shares them only where it must.
        if cx.plan.shows_calls() {
            record.parameters = Some(Arc::clone(&parameters));
        }
        let Names {
            invocation_id,
            gadget_name,
        } = record.names();
        cx.out.emit(EventKind::GadgetStart {
            call: id,
            invocation_id,
            gadget_name,
            parameters,
        });
    }

    /// A gadget has returned. Its cost is charged already.
    pub(in crate::run) fn done(
        &mut self,
        id: CallId,
        outcome: Outcome,
        cost: f64,
        cx: &mut Context<'_>,
    ) {
        if let Some(names) = self.cancelled.remove(id) {
            return self.done_late(id, names, cost, cx);
        }
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        let CallStatus::Running(Running {
            since,
            deadline,
            lost,
            ..
        }) = record.status
        else {
            return;
        };
        self.deadlines.end(id, deadline);
        self.ledger.withdraw_approval(id, cx.out);
        let mut outcome = outcome;
        outcome.result = self
            .room
            .take_result(outcome.result, &cx.plan.config.limits);
        let question = outcome.asks_human.take();
        let ended = EndedGadget {
            outcome,
            duration_ms: cx.out.now().since(since),
            cost: (cost + lost).min(f64::MAX),
        };
        match question {
            Some(question) => self.ask_human(id, ended, question, cx),
            None => self.judge(id, ended, cx),
        }
    }

    /// The call was answered earlier. Only now is its gadget's place free.
    pub(super) fn done_late(&mut self, id: CallId, names: Names, cost: f64, cx: &mut Context<'_>) {
        if cost > 0.0 {
            let Names {
                invocation_id,
                gadget_name,
            } = names;
            cx.out.emit(EventKind::GadgetCost {
                call: id,
                invocation_id,
                gadget_name,
                cost,
            });
        }
        if let Some(CallStatus::Answered {
            answer: Err(error), ..
        }) = self.ledger.get_mut(id).map(|record| &record.status)
        {
            let error = error.as_ref().to_owned();
            self.scheduler.finish(id, Err(error));
            self.dispatch(cx);
        }
    }

    /// Asks the user for the result.
    fn ask_human(
        &mut self,
        id: CallId,
        ended: EndedGadget,
        question: String,
        cx: &mut Context<'_>,
    ) {
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        let about = record.about();
        cx.out.emit(EventKind::HumanInputRequired {
            call: Some(id),
            invocation_id: Some(about.invocation_id.clone()),
            question: question.clone(),
        });
        if !cx.plan.config.asks.human {
            return self.human_answered(id, ended, None, cx);
        }
        record.status = CallStatus::Asking(Box::new(ended));
        let question = QuestionKind::Human { about, question };
        cx.questions.ask(Subject::Human(id), question, cx.out);
    }

    /// The user has answered, or is not available: then the gadget's own result counts.
    fn human_answered(
        &mut self,
        id: CallId,
        mut ended: EndedGadget,
        answer: Option<String>,
        cx: &mut Context<'_>,
    ) {
        let record = self.ledger.get(id);
        cx.out.emit(EventKind::HumanInputReceived {
            call: Some(id),
            invocation_id: record.map(|record| record.call.invocation_id.clone()),
            answered: answer.is_some(),
        });
        if let Some(text) = answer {
            ended.outcome.result = Ok(text);
        }
        self.judge(id, ended, cx);
    }

    /// The outcome is complete. A hook may change it.
    pub(super) fn judge(&mut self, id: CallId, ended: EndedGadget, cx: &mut Context<'_>) {
        if !cx.plan.config.asks.after_gadget {
            return self.conclude(id, ended, cx);
        }
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        let question = QuestionKind::AfterGadget {
            about: record.about(),
            result: ended.outcome.result.clone(),
            duration_ms: ended.duration_ms,
        };
        record.status = CallStatus::Ended(Box::new(ended));
        cx.questions.ask(Subject::Outcome(id), question, cx.out);
    }

    /// The outcome is final.
    fn conclude(&mut self, id: CallId, ended: EndedGadget, cx: &mut Context<'_>) {
        let outcome = ended.outcome;
        if outcome.completes_run {
            let (Ok(text) | Err(text)) = &outcome.result;
            self.completed = Some(text.clone());
        }
        if outcome.result.is_err() {
            self.failed(cx.plan);
        }
        let finished = outcome.result.as_ref().map(|_| ()).map_err(Clone::clone);
        let answer = Answering {
            answer: outcome.result,
            media: outcome.media,
            completes_run: outcome.completes_run,
            duration_ms: ended.duration_ms,
            cost: ended.cost,
        };
        self.ledger.answer(id, answer, cx.out);
        self.scheduler.finish(id, finished);
        self.dispatch(cx);
    }

    /// A gadget that ran has failed.
    fn failed(&mut self, plan: &Plan) {
        if plan.config.stop_on_gadget_error {
            self.stopped.get_or_insert(FinishReason::GadgetError);
        }
    }

    /// Takes a decision about a call, which its [`Subject`] admits. A call that was answered meanwhile ignores it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a decision that its question does not admit never gets here; the rest is to proceed"
    )]
    pub(in crate::run) fn decide(&mut self, id: CallId, decision: Decision, cx: &mut Context<'_>) {
        let Some(record) = self.ledger.get_mut(id) else {
            return;
        };
        match (
            mem::replace(&mut record.status, CallStatus::Waiting),
            decision,
        ) {
            (CallStatus::Undecided(unmet), decision) => self.resolve(unmet, decision, cx),
            (CallStatus::Held(mut prepared), Decision::Parameters(parameters)) => {
                prepared.start.parameters = Arc::new(parameters);
                match prepare::validate(&mut prepared, cx.plan) {
                    Ok(()) => self.launch(*prepared, cx),
                    Err(error) => self.finish_without_gadget(id, Err(error), cx),
                }
            }
            (CallStatus::Held(prepared), Decision::Result(text)) => {
                record.parameters = Some(prepared.start.parameters);
                self.finish_without_gadget(id, Ok(text), cx);
            }
            (CallStatus::Held(prepared), Decision::Deny(error)) => {
                record.parameters = Some(prepared.start.parameters);
                self.finish_without_gadget(id, Err(error), cx);
            }
            (CallStatus::Held(prepared), _) => self.launch(*prepared, cx),
            (CallStatus::Asking(ended), Decision::Result(text)) => {
                self.human_answered(id, *ended, Some(text), cx);
            }
            (CallStatus::Asking(ended), _) => self.human_answered(id, *ended, None, cx),
            (CallStatus::Ended(mut ended), decision) => {
                match decision {
                    Decision::Result(text) => ended.outcome.result = Ok(text),
                    Decision::Deny(error) => ended.outcome = Outcome::error(error),
                    Decision::Stop => self.stopped = Some(FinishReason::Stopped),
                    _ => {}
                }
                self.conclude(id, *ended, cx);
            }
            (status, _) => record.status = status,
        }
        self.dispatch(cx);
    }

    /// Decides about a call with an unmet dependency.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a decision that its question does not admit never gets here; the rest is to proceed"
    )]
    fn resolve(&mut self, unmet: Unmet, decision: Decision, cx: &mut Context<'_>) {
        let id = unmet.id;
        match decision {
            Decision::Execute => {
                self.scheduler.decide(id, SkipDecision::Execute);
            }
            Decision::Result(text) => {
                self.scheduler.decide(id, SkipDecision::Fallback);
                self.answer(id, Ok(text), cx);
            }
            _ => {
                self.scheduler.decide(id, SkipDecision::Skip);
                self.ledger.skip(unmet, cx.out);
            }
        }
    }

    /// Answers every running call whose time is over.
    ///
    /// For the scheduler the call runs until its gadget has returned: a gadget that must run alone would otherwise
    /// start while the late one is still at work.
    pub(in crate::run) fn expire(&mut self, cx: &mut Context<'_>) {
        let now = cx.out.now();
        while let Some((deadline, id)) = self.deadlines.take_due(now) {
            let Some(record) = self.ledger.get_mut(id) else {
                continue;
            };
            let CallStatus::Running(Running { since, lost, .. }) = record.status else {
                continue;
            };
            let name = record.gadget.as_deref().unwrap_or_default();
            let allowed = deadline.since(since);
            let error = format!("Gadget '{name}' execution exceeded timeout of {allowed}ms");
            self.cancel_gadget(id, cx);
            self.failed(cx.plan);
            let answer = Answering::after(Err(error), now.since(since), lost);
            self.ledger.answer(id, answer, cx.out);
        }
    }

    /// Cancels what runs and answers what waits. Questions about calls are the caller's to forget.
    pub(in crate::run) fn cancel_all(&mut self, cx: &mut Context<'_>) {
        self.scheduler.cancel_all();
        self.deadlines.clear();
        let now = cx.out.now();
        let ids: Vec<CallId> = self.ledger.records().iter().map(|it| it.id).collect();
        for id in ids {
            let (duration, cost) = match self.ledger.get(id).map(|record| &record.status) {
                None | Some(CallStatus::Answered { .. }) => continue,
                Some(CallStatus::Waiting | CallStatus::Undecided(_) | CallStatus::Held(_)) => {
                    (0, 0.0)
                }
                Some(CallStatus::Running(Running { since, lost, .. })) => {
                    let (since, lost) = (*since, *lost);
                    self.cancel_gadget(id, cx);
                    (now.since(since), lost)
                }
                Some(CallStatus::Interrupted(running)) => (now.since(running.since), running.lost),
                Some(CallStatus::Asking(ended) | CallStatus::Ended(ended)) => {
                    (ended.duration_ms, ended.cost)
                }
            };
            let answer = Answering::after(Err(CANCELLED.to_owned()), duration, cost);
            self.ledger.answer(id, answer, cx.out);
        }
    }

    fn cancel_gadget(&mut self, id: CallId, cx: &mut Context<'_>) {
        let reported = self.reported_cost(id);
        if let Some(record) = self.ledger.get(id) {
            self.cancelled.insert(id, record.names(), reported);
            cx.out.cancel(id);
        }
    }

    /// A call that the scheduler has started ends without its gadget.
    ///
    /// Dispatching what follows is the caller's task, which may be [`Calls::dispatch`] itself: thousands of such calls
    /// must not become as many levels of recursion.
    fn finish_without_gadget(
        &mut self,
        id: CallId,
        result: Result<String, String>,
        cx: &mut Context<'_>,
    ) {
        let finished = result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.answer(id, result, cx);
        self.scheduler.finish(id, finished);
    }

    /// Answers a call whose gadget did not run.
    fn answer(&mut self, id: CallId, answer: Result<String, String>, cx: &mut Context<'_>) {
        let answer = Answering::after(answer, 0, 0.0);
        self.ledger.answer(id, answer, cx.out);
    }
}
