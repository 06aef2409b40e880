//! The agent loop as a state machine: the product's one cycle, in one place.
//!
//! ```text
//! Send ─► Delta… ─► ModelClosed ─► (Start ─► Done)… ─► Send …  until the model calls nothing more
//! ```
//!
//! A driver feeds [`Input`]s with [`Run::handle`] and after each one drains [`Run::poll`] until it says
//! [`Output::Wait`] or [`Output::Finished`]. Gadgets start while the reply still streams. The same inputs at the same
//! times give the same outputs, on any machine and after any [`Run::save`] and [`Run::load`].
//!
//! ```
//! use gadgetry_proto::delta::{Delta, StopReason};
//! use gadgetry_proto::run::{Close, Input, Output, Run, RunConfig};
//! use gadgetry_proto::schema::Registry;
//! use gadgetry_proto::time::Time;
//!
//! let plan = RunConfig::default().plan(Registry::default())?;
//! let mut run = Run::ask(&plan, "Hello");
//! let mut drain = |run: &mut Run| loop {
//!     match run.poll() {
//!         output @ (Output::Wait(_) | Output::Finished(_)) => return output,
//!         _ => {}
//!     }
//! };
//! drain(&mut run);
//! run.handle(Time(5), Input::Delta(Delta::text("Hi there.")))?;
//! run.handle(Time(6), Input::Delta(Delta::MessageEnd { stop_reason: StopReason::Stop, usage: None }))?;
//! run.handle(Time(6), Input::ModelClosed(Close::Ended))?;
//! let Output::Finished(summary) = drain(&mut run) else { unreachable!("the model called nothing") };
//! assert_eq!(summary.answer, "Hi there.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The parts, in order. A part names only parts above it, and its type has one file with its methods, so that a part can
// be read alone. `tests/run_parts.rs` reads this table.
//
// | start question open_question interceptor io pending | what goes in and comes out |
// | retry ephemeral config constraints plan | what a run is made from |
// | outbox money size truncation usage | small facts |
// | questions context native said dialects pipeline | tools of the larger parts |
// | calls conversation summary ended_reply reply progress turn verdict | the cycle |
// | state shared snapshot | all of it together |

mod calls;
mod config;
mod constraints;
mod context;
mod conversation;
mod dialects;
mod ended_reply;
mod ephemeral;
mod interceptor;
mod io;
mod money;
mod native;
mod open_question;
mod outbox;
mod pending;
mod pipeline;
mod plan;
mod progress;
mod question;
mod questions;
mod reply;
mod retry;
mod said;
mod shared;
mod size;
mod snapshot;
mod start;
mod state;
mod summary;
mod truncation;
mod turn;
mod usage;
mod verdict;

use std::mem;
use std::sync::Arc;

use crate::block::Markers;
use crate::call::Outcome;
use crate::convo::OutputStore;
use crate::error::ModelError;
use crate::event::{EventKind, FinishReason};
use crate::id::CallId;
use crate::message::{Message, Role};
use crate::time::Time;

pub use config::{OnTextOnlyReply, RunConfig, Tools, UnmetDependencyPolicy};
pub use ephemeral::{
    EphemeralMessage, HintTiming, MakeEphemeralMessage, RunStatus, iteration_hint, parallel_hint,
};
pub use interceptor::Interceptor;
pub use io::{Close, Command, Input, Misuse, Output, Report, Summary};
pub use open_question::{InvalidQuestionRef, OpenQuestion, OpenQuestionKind, QuestionRef};
pub use pending::PendingWork;
pub use plan::{Code, Plan, PlanError, RunOptions};
pub use question::{Asks, CompactionTrigger, Decision, Question, QuestionId, QuestionKind};
pub use retry::Retry;
pub use snapshot::{LoadError, Snapshot};
pub use start::{AboutCall, AnsweredQuestion, Start};

use calls::Calls;
use context::Context;
use pipeline::Pipeline;
use progress::{CancelledTurn, Parts, Progress};
use questions::Subject;
use snapshot::Saved;
use state::{RunPhase, RunState};
use turn::ModelTurn;
use verdict::{Facts, Verdict, verdict};

const REPLY_INTERRUPTED: &str = "the program ended before the model had finished its reply";

/// A run of an agent. See the [module](self).
///
/// Its parts have their own state and do not know each other's. They meet here: a rule that concerns several of them
/// (the budget is spent while a question is open, say) is in this file, or in `ModelTurn` if it is about a model call.
pub struct Run {
    plan: Arc<Plan>,
    pipeline: Pipeline,
    state: RunState,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("plan", &self.plan)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// A run about one message of the user.
    pub fn ask(plan: &Arc<Plan>, prompt: &str) -> Self {
        Self::new(plan, vec![Message::text(Role::User, prompt)])
    }

    /// A run that continues a conversation. Its first request is ready at time 0.
    ///
    /// Markers in the user's texts are made unrecognisable.
    pub fn new(plan: &Arc<Plan>, conversation: Vec<Message>) -> Self {
        let mut run = Self {
            plan: Arc::clone(plan),
            pipeline: Pipeline::new(plan),
            state: RunState::new(plan, conversation),
        };
        if let Some(info) = plan.info() {
            run.state.out.begin(info);
        }
        run.next_turn();
        run
    }

    /// Everything that [`Run::load`] needs to continue, in addition to the [`Plan`]. Possible after any input.
    pub fn save(&self) -> Snapshot {
        Snapshot::new(Saved {
            state: self.state.clone(),
            pipeline: self.pipeline.save(),
        })
    }

    /// Continues where a run of the same `plan` was saved.
    ///
    /// If work was in flight ([`Run::pending`]) that no driver will finish, send [`Input::Interrupted`] first.
    ///
    /// # Errors
    ///
    /// If another version of gadgetry has saved the run.
    pub fn load(plan: &Arc<Plan>, snapshot: Snapshot) -> Result<Self, LoadError> {
        let saved = snapshot.open()?;
        let mut pipeline = Pipeline::new(plan);
        pipeline.load(saved.pipeline);
        Ok(Self {
            plan: Arc::clone(plan),
            pipeline,
            state: saved.state,
        })
    }

    /// Returns the plan that the run is made from.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The same run, whose viewer also finds `outputs`: those of the run that it continues.
    #[must_use]
    pub fn with_outputs(mut self, outputs: OutputStore) -> Self {
        self.state.calls.execution.stored = outputs;
        self
    }

    /// The long results that the viewer can show.
    pub fn outputs(&self) -> &OutputStore {
        &self.state.calls.execution.stored
    }

    /// The markers of the blocks in its conversation.
    pub fn markers(&self) -> &Markers {
        &self.plan.config.markers
    }

    /// The conversation so far, without the reply that is being read.
    pub fn history(&self) -> &[Message] {
        self.state.conversation.messages()
    }

    /// The conversation and the [outputs](Run::outputs), to keep. They are not copied unless a request still holds them.
    pub fn into_history(self) -> (Vec<Message>, OutputStore) {
        let outputs = self.state.calls.execution.stored;
        (self.state.conversation.into_messages(), outputs)
    }

    /// The known cost of the run so far, in US dollars, its subagents included.
    pub fn total_cost(&self) -> f64 {
        self.state.money.known_total()
    }

    /// Replies of the model so far; the one that is being read counts.
    pub fn iterations(&self) -> u32 {
        self.state.iteration
    }

    /// The time of the last input; 0 before the first.
    pub fn now(&self) -> Time {
        self.state.out.now()
    }

    /// Takes an input at `now`. Time never goes backwards: an earlier `now` counts as the latest one.
    ///
    /// Afterwards drain [`Run::poll`]. An error is a mistake of the driver and changes nothing; whatever a model,
    /// a gadget or a user says is never an error. After the run has finished, every input is ignored.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<(), Misuse> {
        if matches!(self.state.phase, RunPhase::Finished(_)) {
            return Ok(());
        }
        self.state.check(&input)?;
        self.state.out.advance_to(now);
        let is_first = !mem::replace(&mut self.state.has_begun, true);
        // A result that has arrived is not late, whatever the clock says.
        if !matches!(input, Input::Done(..)) {
            self.expire();
        }
        match input {
            Input::Delta(delta) => self.turn(|turn, parts| turn.read(delta, parts)),
            Input::ModelClosed(close) => self.turn(|turn, parts| turn.close(close, parts)),
            Input::Done(id, outcome) => {
                self.done(id, outcome);
                self.expire();
            }
            Input::Command(Command::Cancel) => self.cancel(),
            Input::Command(Command::Inject(text)) => self.inject(text),
            Input::Command(Command::Retract(text)) => self.state.conversation.retract(&text),
            Input::Command(Command::Compact) => {
                self.state.conversation.request_compaction();
                if is_first {
                    self.turn(ModelTurn::compact_first);
                }
            }
            Input::Decision(id, decision) => self.decide(id, decision),
            Input::Report(id, report) => {
                let (calls, mut cx) = self.calls();
                if let Some(event) = calls.report(id, report, &mut cx) {
                    self.state.money.charge_event(&event.kind);
                    self.state.out.forward(event);
                }
            }
            Input::RateLimited(delay_ms) => {
                self.state.out.emit(EventKind::RateLimited { delay_ms });
            }
            Input::ExternalSpend(dollars) => {
                self.state.money.set_external_spend(dollars);
                if is_first {
                    self.turn(ModelTurn::call_back);
                }
            }
            Input::Interrupted => self.interrupted(),
            Input::Tick => {}
        }
        self.advance();
        Ok(())
    }

    /// Returns the next task. Drain it until [`Output::Wait`] or [`Output::Finished`].
    pub fn poll(&mut self) -> Output {
        if let Some(output) = self.state.out.pop() {
            return output;
        }
        match &self.state.phase {
            RunPhase::Finished(summary) => Output::Finished(summary.as_ref().clone()),
            RunPhase::Turn(_)
            | RunPhase::Working(_)
            | RunPhase::AskingUser
            | RunPhase::Settling { .. } => Output::Wait(self.state.alarm()),
        }
    }

    /// The work in flight. What is still to come out of [`Run::poll`] is not in flight yet.
    pub fn pending(&self) -> PendingWork {
        self.state.pending()
    }

    /// Returns `true` if the run can be given this decision: the question admits it, or is not open, so that it is ignored.
    pub fn admits(&self, question: QuestionId, decision: &Decision) -> bool {
        self.state.questions.admits(question, decision)
    }

    /// Every question that waits for an answer: those of the run, then approvals and those of running gadgets to the user. A call
    /// that waits for approval is there as that.
    ///
    /// ```
    /// use gadgetry_proto::run::{Run, RunConfig};
    /// use gadgetry_proto::schema::Registry;
    /// let run = Run::ask(&RunConfig::default().plan(Registry::default())?, "Hello");
    /// assert_eq!(run.open_questions(), []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_questions(&self) -> Vec<OpenQuestion> {
        let of_calls: Vec<OpenQuestion> = self.state.calls.open_questions().collect();
        let is_shown = |question: &OpenQuestion| {
            question.kind == OpenQuestionKind::BeforeGadget
                && of_calls
                    .iter()
                    .any(|it| it.approval.is_some() && it.call == question.call)
        };
        let mut questions: Vec<OpenQuestion> = self.state.questions.open().collect();
        questions.retain(|question| !is_shown(question));
        questions.extend(of_calls);
        questions
    }

    // The parts, borrowed one by one.

    fn calls(&mut self) -> (&mut Calls, Context<'_>) {
        let cx = Context {
            plan: &self.plan,
            out: &mut self.state.out,
            questions: &mut self.state.questions,
        };
        (&mut self.state.calls, cx)
    }

    /// Lets the current turn do something, if there is one, and acts on its result.
    fn turn(&mut self, act: impl FnOnce(&mut ModelTurn, &mut Parts<'_>) -> Progress) {
        let RunState {
            out,
            money,
            questions,
            calls,
            conversation,
            phase,
            ..
        } = &mut self.state;
        let RunPhase::Turn(turn) = phase else {
            return;
        };
        let mut parts = Parts {
            money,
            calls,
            conversation,
            pipeline: &mut self.pipeline,
            cx: Context {
                plan: &self.plan,
                out,
                questions,
            },
        };
        match act(turn, &mut parts) {
            Progress::Waits => {}
            Progress::Read(reply) => *phase = RunPhase::Working(Box::new(reply)),
            Progress::Ends { reason, is_unsent } => {
                self.state.iteration -= u32::from(is_unsent);
                self.finish(reason, None);
            }
        }
    }

    // From one turn to the next.

    /// The next turn is due, unless the budget is spent.
    fn next_turn(&mut self) {
        self.state.conversation.push_injected(&self.plan);
        if self.state.money.exhausts(self.plan.config.budget) {
            return self.finish(FinishReason::BudgetExceeded, None);
        }
        self.state.iteration += 1;
        self.state.phase = RunPhase::Turn(Box::new(ModelTurn::new(self.state.iteration)));
        self.turn(ModelTurn::begin);
    }

    /// Continues as far as possible without an input.
    fn advance(&mut self) {
        match &self.state.phase {
            RunPhase::Turn(_) => self.turn(ModelTurn::tick),
            RunPhase::Working(_) => self.work(),
            RunPhase::Settling { .. } => self.state.finish_settling(),
            RunPhase::AskingUser | RunPhase::Finished(_) => {}
        }
    }

    /// Continues if all calls of the reply are answered.
    fn work(&mut self) {
        let (calls, mut cx) = self.calls();
        calls.execution.dispatch(&mut cx);
        if cx.questions.is_blocking() || !calls.execution.is_idle() {
            return;
        }
        let has_called = !calls.is_empty();
        let has_notes = !calls.notes.is_empty();
        self.state.end_iteration(&self.plan);
        let RunPhase::Working(reply) = mem::replace(&mut self.state.phase, RunPhase::AskingUser)
        else {
            return;
        };
        let facts = Facts {
            is_completed: self.state.calls.execution.completed.is_some(),
            stopped: self.state.calls.execution.stopped,
            has_called,
            // A model that only misses the form is corrected, but not without end.
            is_corrected: has_notes && !self.state.was_corrected,
            has_injected: self.state.conversation.has_injected(),
            iteration: self.state.iteration,
        };
        self.state.was_corrected = has_notes && !has_called;
        match verdict(&facts, &reply, &self.plan) {
            Verdict::Finish(reason) => self.finish(reason, reply.error(reason)),
            Verdict::Continue => self.next_turn(),
            Verdict::Remind => {
                if let OnTextOnlyReply::Remind(text) = &self.plan.config.text_only {
                    let reminder = Message::text(Role::User, text);
                    self.state.conversation.push(reminder);
                }
                self.next_turn();
            }
            Verdict::AskUser => self.state.ask_user(),
        }
    }

    // Calls and decisions.

    fn expire(&mut self) {
        let (calls, mut cx) = self.calls();
        calls.execution.expire(&mut cx);
    }

    fn done(&mut self, id: CallId, outcome: Outcome) {
        let cost = self.state.money.charge(outcome.cost);
        let (calls, mut cx) = self.calls();
        calls.execution.done(id, outcome, cost, &mut cx);
    }

    /// Takes a decision. One about a question that is not open is ignored.
    fn decide(&mut self, id: QuestionId, decision: Decision) {
        let Some(subject) = self.state.questions.close(id) else {
            return;
        };
        let decision = if let Decision::StopAfter(decision) = decision {
            self.state.calls.execution.stopped = Some(FinishReason::Stopped);
            *decision
        } else {
            decision
        };
        match subject {
            Subject::Start(id) | Subject::Unmet(id) | Subject::Outcome(id) | Subject::Human(id) => {
                let (calls, mut cx) = self.calls();
                calls.execution.decide(id, decision, &mut cx);
            }
            Subject::Interrupted(id) => {
                let (calls, mut cx) = self.calls();
                calls.decide_interrupted(id, decision, &mut cx);
            }
            Subject::ModelCall | Subject::Compaction | Subject::ModelError => {
                self.turn(|turn, parts| turn.decide(decision, parts));
            }
            Subject::AfterReply { has_message } => {
                if let Decision::AfterReply { text, append, next } = decision {
                    let conversation = &mut self.state.conversation;
                    conversation.append(append);
                    if let Some(next) = next {
                        conversation.inject(next);
                    }
                    match text {
                        Some(text) if has_message => conversation.rewrite_last(text),
                        Some(text) => conversation.push(Message::text(Role::Assistant, text)),
                        None => {}
                    }
                } else if decision == Decision::Stop {
                    self.state.calls.execution.stopped = Some(FinishReason::Stopped);
                }
            }
            Subject::Input => {
                let said = if let Decision::Result(text) = decision {
                    Some(text)
                } else {
                    None
                };
                self.state.out.emit(EventKind::HumanInputReceived {
                    call: None,
                    invocation_id: None,
                    answered: said.is_some(),
                });
                match said {
                    Some(text) => {
                        self.state.conversation.inject(text);
                        self.next_turn();
                    }
                    None => self.finish(FinishReason::Completed, None),
                }
            }
        }
    }

    /// The user says something. If the run waits for just that, it continues.
    fn inject(&mut self, text: String) {
        match self.state.questions.find(&Subject::Input) {
            Some(id) => self.decide(id, Decision::Result(text)),
            None => self.state.conversation.inject(text),
        }
    }

    // The end.

    /// Stops everything: running gadgets are cancelled, and every call is answered.
    fn cancel(&mut self) {
        if matches!(self.state.phase, RunPhase::Settling { .. }) {
            return;
        }
        self.state.questions.clear();
        let is_working = matches!(self.state.phase, RunPhase::Working(_));
        let mut turn = CancelledTurn::Sent;
        self.turn(|it, parts| {
            turn = it.cancel(parts);
            Progress::Waits
        });
        self.state.iteration -= u32::from(matches!(turn, CancelledTurn::Unsent));
        // If a reply was being read, this has happened before its end, so that no call in its rest has started.
        let (calls, mut cx) = self.calls();
        calls.execution.cancel_all(&mut cx);
        if is_working || matches!(turn, CancelledTurn::Read) {
            self.state.end_iteration(&self.plan);
        }
        self.finish(FinishReason::Cancelled, None);
    }

    /// All work in flight is lost. Gadgets do what their declaration says, questions are repeated, and the turn decides about
    /// its reply.
    fn interrupted(&mut self) {
        let lost = self.pending();
        for id in lost.questions {
            self.state.questions.ask_again(id, &mut self.state.out);
        }
        for id in lost.gadgets {
            let reported = self.state.calls.execution.reported_cost(id);
            let cost = self.state.money.charge(reported);
            let (calls, mut cx) = self.calls();
            calls.interrupt(id, cost, &mut cx);
        }
        if lost.reply {
            self.turn(|turn, parts| turn.interrupt(REPLY_INTERRUPTED, parts));
        }
    }

    /// Ends the run, once cancelled gadgets have reported their costs.
    fn finish(&mut self, reason: FinishReason, error: Option<ModelError>) {
        self.state.phase = RunPhase::Settling { reason, error };
        self.state.finish_settling();
    }
}
