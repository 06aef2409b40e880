//! One turn of the model: from the request that is due to a reply that was read.
//!
//! ```text
//! begin ─► (Compacting) ─► (Summarising) ─► (Held) ─► Reading ─► read
//!                                             ▲          │ a reply that nothing has acted on fails
//!                                             └──────────┴─► Backoff, a shorter conversation, or Failed
//! ```

use std::mem;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::convo::compaction;
use crate::delta::{Delta, StopReason};
use crate::error::{ModelError, ModelErrorKind};
use crate::event::{EventKind, FinishReason};
use crate::message::{Purpose, Request};
use crate::run::conversation::hold_to_choice;
use crate::run::ended_reply::EndedReply;
use crate::run::ephemeral::RunStatus;
use crate::run::io::Close;
use crate::run::progress::{CancelledTurn, Parts, Progress, Stage};
use crate::run::question::{CompactionTrigger, Decision, QuestionKind};
use crate::run::questions::Subject;
use crate::run::reply::StreamedReply;
use crate::run::summary::SummaryReply;
use crate::run::truncation::Truncation;
use crate::time::Time;
use crate::usage::Usage;

/// Maximum number of compactions for one reply, because the model found it too long: each takes a third, so a hundredth is left.
const MAX_OVERFLOWS: u32 = 12;

/// A request, and its outcome so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ModelTurn {
    /// The number of the reply in its run, from 1.
    iteration: u32,
    /// Retries so far.
    attempt: u32,
    /// Number of times the conversation was compacted because the model found it too long.
    overflows: u32,
    /// The request of a decision, which a retry sends again.
    replacement_request: Option<Request>,
    stage: Stage,
}

impl ModelTurn {
    /// A turn with this number, from 1.
    pub(super) fn new(iteration: u32) -> Self {
        Self {
            iteration,
            attempt: 0,
            overflows: 0,
            replacement_request: None,
            stage: Stage::New,
        }
    }

    /// Compacts the conversation if it has to be, and sends the request.
    pub(super) fn begin(&mut self, parts: &mut Parts<'_>) -> Progress {
        match parts.conversation.next_compaction(parts.cx.plan) {
            Some((trigger, plan)) => self.before_compaction(trigger, plan, parts),
            None => self.ask_model(parts),
        }
    }

    /// Returns `true` if deltas are expected.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self.stage, Stage::Reading(_) | Stage::Summarising(_))
    }

    /// When the request is sent again.
    pub(super) fn retry_time(&self) -> Option<Time> {
        if let Stage::Backoff(until) = self.stage {
            Some(until)
        } else {
            None
        }
    }

    /// Sends the request again if its time has come.
    pub(super) fn tick(&mut self, parts: &mut Parts<'_>) -> Progress {
        match self.stage {
            Stage::Backoff(until) if parts.cx.out.now() >= until => self.retry(parts),
            Stage::Backoff(_)
            | Stage::New
            | Stage::Summarising(_)
            | Stage::Compacting(_)
            | Stage::Held
            | Stage::Reading(_)
            | Stage::Failed(_)
            | Stage::Over => Progress::Waits,
        }
    }

    fn end(&mut self, reason: FinishReason, is_unsent: bool) -> Progress {
        self.stage = Stage::Over;
        Progress::Ends { reason, is_unsent }
    }

    /// Carries out a plan of compaction, unless a decision about it is due first.
    fn before_compaction(
        &mut self,
        trigger: CompactionTrigger,
        plan: compaction::CompactionPlan,
        parts: &mut Parts<'_>,
    ) -> Progress {
        if !parts.cx.plan.config.asks.before_compaction {
            return self.compact(plan, parts);
        }
        self.stage = Stage::Compacting(Box::new(plan));
        let tokens = parts.conversation.tokens();
        let question = QuestionKind::BeforeCompaction { trigger, tokens };
        let (questions, out) = (&mut parts.cx.questions, &mut parts.cx.out);
        questions.block(Subject::Compaction, question, out);
        Progress::Waits
    }

    /// Carries out a plan of compaction, then sends the request. A summary has to be read first.
    fn compact(&mut self, plan: compaction::CompactionPlan, parts: &mut Parts<'_>) -> Progress {
        match plan {
            compaction::CompactionPlan::Slide(slide) => {
                let compacted = parts.conversation.slide(slide);
                parts.cx.out.emit(EventKind::Compaction(compacted));
                self.ask_model(parts)
            }
            compaction::CompactionPlan::Summarise(plan) => {
                let purpose = Purpose::Summary;
                let request = Request {
                    messages: plan.messages(),
                    iteration: self.iteration,
                    purpose,
                    ..Request::default()
                };
                self.stage = Stage::Summarising(Box::new(SummaryReply::new(plan)));
                self.emit_start(purpose, parts);
                parts.cx.out.send(request);
                Progress::Waits
            }
        }
    }

    /// Sends the request, unless a decision about it is due first.
    fn ask_model(&mut self, parts: &mut Parts<'_>) -> Progress {
        if parts.is_spent() {
            return self.end(FinishReason::BudgetExceeded, true);
        }
        let request = self.request(parts);
        if parts.cx.plan.config.asks.before_model_call {
            self.stage = Stage::Held;
            let question = QuestionKind::BeforeModelCall { request };
            parts
                .cx
                .questions
                .block(Subject::ModelCall, question, parts.cx.out);
        } else {
            self.transmit(request, parts);
        }
        Progress::Waits
    }

    fn request(&self, parts: &Parts<'_>) -> Request {
        let (status, plan) = (self.status(parts), parts.cx.plan);
        parts.conversation.request(&status, parts.calls, plan)
    }

    fn status(&self, parts: &Parts<'_>) -> RunStatus {
        let config = &parts.cx.plan.config;
        RunStatus {
            iteration: self.iteration,
            max_iterations: config.max_iterations,
            spent: parts.money.spent(),
            budget: config.budget,
            calls_before: parts.calls.previous(),
        }
    }

    fn transmit(&mut self, mut request: Request, parts: &mut Parts<'_>) {
        request.iteration = self.iteration;
        self.begin_reading(StreamedReply::of_model(), parts);
        parts.cx.out.send(request);
    }

    fn retry(&mut self, parts: &mut Parts<'_>) -> Progress {
        if parts.is_spent() {
            return self.end(FinishReason::BudgetExceeded, false);
        }
        let replacement = self.replacement_request.clone();
        let request = replacement.unwrap_or_else(|| self.request(parts));
        self.transmit(request, parts);
        Progress::Waits
    }

    /// Takes the decision about the request, or about a model call that failed.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a decision that its question does not admit never gets here; the rest is to proceed"
    )]
    pub(super) fn decide(&mut self, decision: Decision, parts: &mut Parts<'_>) -> Progress {
        if matches!(self.stage, Stage::Compacting(_))
            && let Stage::Compacting(plan) = mem::replace(&mut self.stage, Stage::New)
        {
            if parts.is_spent() {
                return self.end(FinishReason::BudgetExceeded, self.overflows == 0);
            }
            return match decision {
                // The same request would be refused again.
                Decision::Deny(_) if self.overflows == 0 => self.ask_model(parts),
                _ => self.compact(*plan, parts),
            };
        }
        if let Stage::Failed(error) = &mut self.stage {
            if let Decision::Reply(text) = decision {
                return self.reply_with(&text, parts);
            }
            let error = error.clone();
            self.stage = Stage::Over;
            return Progress::Read(EndedReply {
                truncation: Some(Truncation::Error),
                error: Some(error),
                ..EndedReply::default()
            });
        }
        self.replacement_request = None;
        // The budget may have been spent elsewhere while the question was open.
        let sends = matches!(decision, Decision::Proceed | Decision::Request(_));
        if sends && parts.is_spent() {
            return self.end(FinishReason::BudgetExceeded, true);
        }
        match decision {
            Decision::Request(mut request) => {
                let (status, plan) = (self.status(parts), parts.cx.plan);
                hold_to_choice(&mut request, &status, parts.calls, plan);
                self.replacement_request = Some(request.clone());
                self.transmit(request, parts);
            }
            Decision::Reply(text) => return self.reply_with(&text, parts),
            Decision::Stop => return self.end(FinishReason::Stopped, true),
            _ => {
                let request = self.request(parts);
                self.transmit(request, parts);
            }
        }
        Progress::Waits
    }

    /// Takes a text as the reply. No model is called.
    fn reply_with(&mut self, text: &str, parts: &mut Parts<'_>) -> Progress {
        self.begin_reading(StreamedReply::of_decision(), parts);
        let progress = self.read(Delta::text(text), parts);
        // A text beyond the cap has ended the reply already.
        if !self.is_reading() {
            return progress;
        }
        let end = Delta::MessageEnd {
            stop_reason: StopReason::Stop,
            usage: None,
        };
        match self.read(end, parts) {
            Progress::Waits => self.close(Close::Ended, parts),
            progress @ (Progress::Read(_) | Progress::Ends { .. }) => progress,
        }
    }

    fn begin_reading(&mut self, reply: StreamedReply, parts: &mut Parts<'_>) {
        self.stage = Stage::Reading(Box::new(reply));
        parts.calls.begin_reply();
        self.emit_start(Purpose::Reply, parts);
    }

    fn emit_start(&self, purpose: Purpose, parts: &mut Parts<'_>) {
        parts.cx.out.emit(EventKind::ModelCallStart {
            iteration: self.iteration,
            purpose,
        });
    }

    /// Takes a delta of the reply or of the summary.
    pub(super) fn read(&mut self, delta: Delta, parts: &mut Parts<'_>) -> Progress {
        match &mut self.stage {
            Stage::Reading(reply) => {
                let said = &*parts.conversation;
                reply.read(delta, parts.pipeline, parts.calls, said, &mut parts.cx);
                if reply.is_full() {
                    parts.cx.out.close_model();
                    reply.end_full(&mut parts.cx);
                    return self.close(Close::Ended, parts);
                }
                if reply.is_stopped() {
                    parts.cx.out.close_model();
                    reply.end_stopped();
                    return self.close(Close::Ended, parts);
                }
            }
            Stage::Summarising(summary) => {
                if !summary.read(delta, parts.cx.plan) {
                    parts.cx.out.close_model();
                    let error = ModelError::new(ModelErrorKind::Other, "the summary was too long");
                    return self.close(Close::Failed(error), parts);
                }
            }
            Stage::New
            | Stage::Compacting(_)
            | Stage::Held
            | Stage::Backoff(_)
            | Stage::Failed(_)
            | Stage::Over => {}
        }
        Progress::Waits
    }

    /// The stream of the reply or of the summary is over.
    pub(super) fn close(&mut self, close: Close, parts: &mut Parts<'_>) -> Progress {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Reading(reply) => self.close_reply(reply, close, parts),
            Stage::Summarising(summary) => {
                let tokens = parts.conversation.tokens();
                let ended = summary.close(close, tokens, parts.cx.plan);
                let overflow = ended
                    .error
                    .as_ref()
                    .and_then(|it| it.overflow.as_deref().copied());
                let (stop_reason, usage) = (ended.stop_reason, ended.usage);
                self.end_call(Purpose::Summary, stop_reason, usage, ended.error, parts);
                // Without a summary, what it was to replace is left out.
                let compacted = match ended.text {
                    Some(text) => parts
                        .conversation
                        .summarise(ended.plan, &text, parts.cx.plan),
                    None => parts.conversation.slide(ended.plan.fallback()),
                };
                parts.cx.out.emit(EventKind::Compaction(compacted));
                if let Some(overflow) = overflow {
                    parts.conversation.learn_window(overflow);
                }
                // A summary may be long, and the window smaller than it was thought to be. A second summary would not help.
                if let Some((_, plan)) = parts.conversation.next_compaction(parts.cx.plan) {
                    let slide = match plan {
                        compaction::CompactionPlan::Slide(slide) => slide,
                        compaction::CompactionPlan::Summarise(plan) => plan.fallback(),
                    };
                    return self.compact(compaction::CompactionPlan::Slide(slide), parts);
                }
                self.ask_model(parts)
            }
            stage @ (Stage::New
            | Stage::Compacting(_)
            | Stage::Held
            | Stage::Backoff(_)
            | Stage::Failed(_)
            | Stage::Over) => {
                self.stage = stage;
                Progress::Waits
            }
        }
    }

    fn close_reply(
        &mut self,
        mut reply: Box<StreamedReply>,
        close: Close,
        parts: &mut Parts<'_>,
    ) -> Progress {
        reply.close(close);
        // What has acted on a reply cannot be undone.
        if !reply.is_acted_on() {
            match self.recover(reply, parts) {
                Ok(progress) => return progress,
                Err(kept) => reply = kept,
            }
        }
        self.replacement_request = None;
        Progress::Read(self.finish_reply(*reply, parts))
    }

    /// Withdraws a reply that failed, if there is another way: a retry, a shorter conversation, or a decision. Otherwise
    /// returns the reply, which is kept.
    fn recover(
        &mut self,
        mut reply: Box<StreamedReply>,
        parts: &mut Parts<'_>,
    ) -> Result<Progress, Box<StreamedReply>> {
        let plan = parts.cx.plan;
        let emptiness = reply.emptiness(plan);
        let is_empty = emptiness.is_some();
        let on_empty = plan
            .config
            .retry
            .as_ref()
            .is_some_and(|retry| retry.on_empty);
        let Some(mut failure) = reply.failure().or(emptiness.filter(|_| on_empty)) else {
            return Err(reply);
        };
        let (iteration, attempt) = (self.iteration, self.attempt + 1);
        if (is_empty || failure.kind.is_retryable())
            && let Some(retry) = &plan.config.retry
            && let Some(delay_ms) = retry.delay_ms(iteration, attempt, failure.retry_after_ms)
        {
            self.withdraw(*reply, &failure, parts);
            self.attempt = attempt;
            self.stage = Stage::Backoff(parts.cx.out.now() + Duration::from_millis(delay_ms));
            parts.cx.out.emit(EventKind::ModelRetry {
                iteration,
                attempt,
                left: retry.retries - attempt,
                delay_ms,
                error: failure,
            });
            return Ok(Progress::Waits);
        }
        if failure.kind == ModelErrorKind::ContextOverflow {
            parts
                .conversation
                .learn(failure.overflow.as_deref().copied());
            if self.overflows < MAX_OVERFLOWS
                && let Some(compaction) = parts.conversation.overflow_compaction(plan)
            {
                self.withdraw(*reply, &failure, parts);
                self.overflows += 1;
                let trigger = CompactionTrigger::Auto;
                return Ok(self.before_compaction(trigger, compaction, parts));
            }
            reply.explain(&parts.conversation.overflow_advice(plan));
            failure = reply.failure().unwrap_or(failure);
        }
        // What was shown is kept where nothing else replaces it.
        if plan.config.asks.model_error && !is_empty && !reply.is_shown() {
            self.withdraw(*reply, &failure, parts);
            let question = QuestionKind::ModelError {
                iteration,
                error: failure.clone(),
            };
            self.stage = Stage::Failed(failure);
            parts
                .cx
                .questions
                .block(Subject::ModelError, question, parts.cx.out);
            return Ok(Progress::Waits);
        }
        Err(reply)
    }

    /// Withdraws a reply. Only its cost remains.
    fn withdraw(&mut self, reply: StreamedReply, failure: &ModelError, parts: &mut Parts<'_>) {
        let (stop_reason, usage) = reply.withdraw(
            self.iteration,
            parts.pipeline,
            parts.calls,
            parts.conversation,
            &mut parts.cx,
        );
        let error = Some(failure.clone());
        self.end_call(Purpose::Reply, stop_reason, usage, error, parts);
    }

    /// Makes a message of the reply. Its calls may still run.
    fn finish_reply(&mut self, reply: StreamedReply, parts: &mut Parts<'_>) -> EndedReply {
        let read = reply.finish(
            parts.pipeline,
            parts.calls,
            parts.conversation,
            &mut parts.cx,
        );
        let stop_reason = read.stop_reason.clone();
        self.end_call(Purpose::Reply, stop_reason, read.usage, read.failure, parts);
        let is_cancelled = read.ended.truncation == Some(Truncation::Cancelled);
        if parts.cx.plan.config.asks.after_model_call && !is_cancelled {
            let has_message = read.has_message;
            let message = parts.conversation.messages().last();
            let question = QuestionKind::AfterModelCall {
                iteration: self.iteration,
                message: message.filter(|_| has_message).cloned(),
                stop_reason: read.stop_reason.unwrap_or(StopReason::Error),
                usage: read.usage,
                calls: u32::try_from(parts.calls.count()).unwrap_or(u32::MAX),
            };
            let subject = Subject::AfterReply { has_message };
            parts.cx.questions.block(subject, question, parts.cx.out);
        }
        read.ended
    }

    /// Charges a model call and emits its end.
    fn end_call(
        &self,
        purpose: Purpose,
        stop_reason: Option<StopReason>,
        usage: Usage,
        error: Option<ModelError>,
        parts: &mut Parts<'_>,
    ) {
        let price = parts.cx.plan.config.price.as_ref();
        let cost = parts.money.charge_model_call(&usage, price);
        parts.cx.out.emit(EventKind::ModelCallEnd {
            iteration: self.iteration,
            purpose,
            stop_reason: stop_reason.unwrap_or(StopReason::Error),
            usage,
            cost,
            error,
        });
    }

    /// The run is cancelled: ends what is in flight, and answers all calls.
    pub(super) fn cancel(&mut self, parts: &mut Parts<'_>) -> CancelledTurn {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Reading(mut reply) => {
                parts.calls.execution.cancel_all(&mut parts.cx);
                parts.cx.out.close_model();
                reply.cancel();
                _ = self.finish_reply(*reply, parts);
                CancelledTurn::Read
            }
            Stage::Summarising(summary) => {
                parts.cx.out.close_model();
                let error = ModelError::new(ModelErrorKind::Other, "the run was cancelled");
                let close = Close::Failed(error);
                let tokens = parts.conversation.tokens();
                let ended = summary.close(close, tokens, parts.cx.plan);
                let (stop_reason, usage) = (ended.stop_reason, ended.usage);
                self.end_call(Purpose::Summary, stop_reason, usage, ended.error, parts);
                // A summary after an overflow follows a request that did go out.
                if self.overflows > 0 {
                    CancelledTurn::Sent
                } else {
                    CancelledTurn::Unsent
                }
            }
            Stage::Compacting(_) if self.overflows > 0 => CancelledTurn::Sent,
            Stage::New | Stage::Compacting(_) | Stage::Held => CancelledTurn::Unsent,
            Stage::Backoff(_) | Stage::Failed(_) | Stage::Over => CancelledTurn::Sent,
        }
    }

    /// Calls the first request back if the whole budget was spent before the run began.
    pub(super) fn call_back(&mut self, parts: &mut Parts<'_>) -> Progress {
        let purpose = match self.stage {
            Stage::Reading(_) => Purpose::Reply,
            Stage::Summarising(_) => Purpose::Summary,
            Stage::New
            | Stage::Compacting(_)
            | Stage::Held
            | Stage::Backoff(_)
            | Stage::Failed(_)
            | Stage::Over => {
                return Progress::Waits;
            }
        };
        if !parts.is_spent() {
            return Progress::Waits;
        }
        self.take_back(purpose, "the budget was spent before", parts);
        self.end(FinishReason::BudgetExceeded, true)
    }

    /// Calls the first request back if the conversation is to be compacted before it, and something can go.
    pub(super) fn compact_first(&mut self, parts: &mut Parts<'_>) -> Progress {
        if !matches!(self.stage, Stage::Reading(_)) {
            return Progress::Waits;
        }
        let Some((trigger, plan)) = parts.conversation.next_compaction(parts.cx.plan) else {
            return Progress::Waits;
        };
        self.take_back(Purpose::Reply, "the conversation is compacted first", parts);
        self.before_compaction(trigger, plan, parts)
    }

    /// Takes a request back of which nothing was read.
    fn take_back(&self, purpose: Purpose, why: &str, parts: &mut Parts<'_>) {
        parts.cx.out.close_model();
        let error = ModelError::new(ModelErrorKind::Other, why);
        self.end_call(purpose, None, Usage::default(), Some(error), parts);
        parts.calls.execution.end_reply();
    }

    /// The model call is lost. A reply of which nothing was used is requested again, and that does not count as an attempt of the retry
    /// policy: neither the model nor the network has failed. Any other reply counts as cut off.
    pub(super) fn interrupt(&mut self, words: &str, parts: &mut Parts<'_>) -> Progress {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Reading(reply) if !reply.is_acted_on() => {
                let failure = ModelError::new(ModelErrorKind::Transport, words);
                self.withdraw(*reply, &failure, parts);
                self.retry(parts)
            }
            stage @ (Stage::New
            | Stage::Summarising(_)
            | Stage::Compacting(_)
            | Stage::Held
            | Stage::Reading(_)
            | Stage::Backoff(_)
            | Stage::Failed(_)
            | Stage::Over) => {
                self.stage = stage;
                self.close(Close::failed(words), parts)
            }
        }
    }
}
