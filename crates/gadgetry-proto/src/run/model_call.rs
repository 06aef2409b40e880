//! Asking the model: the next request, once more after a failure, or not at all.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::convo::neutralise;
use crate::delta::{Delta, StopReason};
use crate::error::ModelErrorKind;
use crate::event::{EventKind, FinishReason};
use crate::message::{Message, Purpose, Request, Role};
use crate::run::Run;
use crate::run::compact::Compaction;
use crate::run::io::{Close, Output};
use crate::run::question::QuestionKind;
use crate::run::state::{Cut, ModelError, Pending, Phase, Seen};
use crate::run::trailing::Standing;
use crate::usage::Usage;

impl Run {
    /// The next reply is due.
    pub(super) fn next_reply(&mut self) {
        for text in mem::take(&mut self.state.injected) {
            let text = neutralise(&text, &self.spec.markers).into_owned();
            self.push_message(Message::text(Role::User, text));
        }
        if self.is_spent() {
            return self.finish(FinishReason::BudgetExceeded);
        }
        self.state.iteration += 1;
        self.state.attempt = 0;
        self.state.overflowed = false;
        let now = mem::take(&mut self.state.compact_now);
        if self.compact(now) != Compaction::Asked {
            self.ask_model();
        }
    }

    /// Asks whoever decides about the request, then the model.
    pub(super) fn ask_model(&mut self) {
        if self.is_spent() {
            self.state.iteration -= 1;
            return self.finish(FinishReason::BudgetExceeded);
        }
        let request = self.request();
        if self.spec.asks.before_model_call {
            self.state.phase = Phase::Asking;
            self.block(
                Pending::ModelCall,
                QuestionKind::BeforeModelCall { request },
            );
        } else {
            self.transmit(request);
        }
    }

    /// Whether the budget is used up.
    pub(super) fn is_spent(&self) -> bool {
        let spent = self.state.total_cost + self.state.elsewhere;
        self.spec.budget.is_some_and(|budget| spent >= budget)
    }

    /// Everything was spent before the run began: its first request must not go out.
    pub(super) fn call_back(&mut self) {
        let purpose = match self.state.phase {
            Phase::Reading => Purpose::Reply,
            Phase::Summarising => Purpose::Summary,
            Phase::Working
            | Phase::Asking
            | Phase::Backoff(_)
            | Phase::Settling(_)
            | Phase::Finished => return,
        };
        if !self.is_spent() {
            return;
        }
        self.put(Output::CloseModel);
        let words = "the budget was spent before".to_owned();
        self.tell_end_of_call(purpose, None, Usage::default(), Some(words));
        self.state.summary_plan = None;
        self.state.scheduler.end_reply();
        self.state.iteration -= 1;
        self.finish(FinishReason::BudgetExceeded);
    }

    /// What the model is asked next.
    pub(super) fn request(&self) -> Request {
        let mut request = self.state.history.request(self.state.iteration);
        let choice = &self.spec.tool_choice;
        // A model that must call a gadget each time could never answer.
        if !(choice.is_forced() && self.state.has_called) {
            request.tool_choice = choice.clone();
        }
        if !self.spec.trailing.is_empty() {
            let standing = Standing {
                iteration: self.state.iteration,
                max_iterations: self.spec.max_iterations,
                spent: self.state.total_cost + self.state.elsewhere,
                budget: self.spec.budget,
                calls_before: self.state.calls_before,
            };
            let trailing = self.spec.trailing.iter();
            let texts = trailing.filter_map(|it| it.message(&standing));
            request.trailing = texts.map(|text| Message::text(Role::User, text)).collect();
        }
        request
    }

    /// The request goes out.
    pub(super) fn transmit(&mut self, mut request: Request) {
        request.iteration = self.state.iteration;
        self.begin_reading();
        self.state.sent = true;
        self.put(Output::Send(request));
    }

    /// This is the reply, and no model is asked.
    pub(super) fn reply_with(&mut self, text: &str) {
        self.begin_reading();
        // There is no model to ask again.
        self.state.acted_on = true;
        self.read(Delta::text(text));
        if self.state.phase == Phase::Reading {
            self.read(Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: None,
            });
            self.close_reply(Close::Ended);
        }
    }

    fn begin_reading(&mut self) {
        let state = &mut self.state;
        state.phase = Phase::Reading;
        state.cut = None;
        state.model_error = None;
        state.sent = false;
        state.acted_on = false;
        state.seen = Seen::default();
        state.refusal = None;
        state.used.begin_reply();
        state.scheduler.begin_reply();
        let iteration = state.iteration;
        self.transforms = None;
        self.tell(EventKind::ModelCallStart {
            iteration,
            purpose: Purpose::Reply,
        });
    }

    /// The time of a retry has come.
    pub(super) fn retry(&mut self) {
        if self.is_spent() {
            return self.finish(FinishReason::BudgetExceeded);
        }
        let instead = self.state.instead.clone();
        let request = instead.unwrap_or_else(|| self.request());
        self.transmit(request);
    }

    /// The stream of the reply is over.
    pub(super) fn close_reply(&mut self, close: Close) {
        if let Close::Failed(words) = close {
            self.state.model_error.get_or_insert(ModelError {
                kind: ModelErrorKind::Transport,
                words,
                retry_after_ms: None,
            });
        }
        self.state.cut = self.how_cut();
        self.state.seen.empty = self.is_empty();
        if self.state.acted_on || !self.recover() {
            self.state.instead = None;
            self.finish_stages();
            self.end_reply();
        }
    }

    /// How the reply was cut off; `None` if its reason says that the model finished it.
    fn how_cut(&self) -> Option<Cut> {
        if self.state.model_error.is_some() {
            return Some(Cut::Error);
        }
        if self.state.used.is_full {
            return Some(Cut::Length);
        }
        match self.state.accumulator.stop_reason() {
            None => Some(Cut::Disconnect),
            Some(StopReason::MaxTokens) => Some(Cut::Length),
            Some(StopReason::ContentFilter) => Some(Cut::Filter),
            Some(StopReason::Error) => Some(Cut::Error),
            Some(StopReason::Unspecified) => Some(Cut::Unspecified),
            Some(reason @ StopReason::Other(_)) => Some(Cut::Reason(reason.clone())),
            Some(StopReason::Stop | StopReason::StopSequence | StopReason::ToolUse) => None,
        }
    }

    /// Whether the reply has ended cleanly, and holds neither text nor a block nor a call.
    fn is_empty(&self) -> bool {
        let state = &self.state;
        // Text may still be held by a transform, or taken away by an interceptor.
        let is_blank = state.raw.trim().is_empty();
        let is_reasoning = state.seen.reasoning && self.spec.transforms.is_empty();
        state.cut.is_none()
            && !state.acted_on
            && !state.seen.text
            && !state.accumulator.has_tool_calls()
            && (is_blank || is_reasoning)
    }

    /// Whether the reply is empty, there is no answer of an earlier one, and that counts as a failure.
    pub(super) fn has_no_answer(&self) -> bool {
        let counts = self.spec.retry.as_ref().is_none_or(|retry| retry.on_empty);
        counts && self.state.seen.empty && self.state.answer.trim().is_empty()
    }

    /// Why an empty reply is no answer.
    pub(super) fn emptiness(&self) -> ModelError {
        let words = if self.state.seen.reasoning {
            "the reply had reasoning, but no answer"
        } else {
            "the reply was empty"
        };
        ModelError {
            kind: ModelErrorKind::Other,
            words: words.to_owned(),
            retry_after_ms: None,
        }
    }

    /// Nothing has acted on the reply. If it is a failure, it may be as if it had never been.
    fn recover(&mut self) -> bool {
        let empty = self.state.seen.empty;
        let failure = match (self.failure(), &self.spec.retry) {
            (Some(failure), _) => failure,
            (None, Some(retry)) if empty && retry.on_empty => self.emptiness(),
            (None, _) => return false,
        };
        if empty || failure.kind.is_retryable() {
            let spec = Arc::clone(&self.spec);
            let (iteration, attempt) = (self.state.iteration, self.state.attempt + 1);
            if let Some(retry) = &spec.retry
                && let Some(delay_ms) = retry.delay_ms(iteration, attempt, failure.retry_after_ms)
            {
                self.abandon_reply(&failure);
                self.state.attempt = attempt;
                self.state.phase = Phase::Backoff(self.state.now + Duration::from_millis(delay_ms));
                self.tell(EventKind::ModelRetry {
                    iteration,
                    attempt,
                    left: retry.retries - attempt,
                    delay_ms,
                    kind: failure.kind,
                    error: failure.words,
                });
                return true;
            }
        }
        if failure.kind == ModelErrorKind::ContextOverflow
            && !self.state.overflowed
            && self.compact_after(&failure)
        {
            return true;
        }
        // What was shown is kept where nothing else takes its place.
        if self.spec.asks.model_error && !empty && !self.state.seen.shown {
            self.abandon_reply(&failure);
            self.state.phase = Phase::Asking;
            let question = QuestionKind::ModelError {
                iteration: self.state.iteration,
                kind: failure.kind,
                error: failure.words.clone(),
            };
            self.state.model_error = Some(failure);
            self.block(Pending::ModelError, question);
            return true;
        }
        false
    }

    /// The conversation is too long for the model. Returns whether it is made less and sent again, once a reply.
    fn compact_after(&mut self, failure: &ModelError) -> bool {
        let Some(plan) = self.plan(true) else {
            return false;
        };
        self.abandon_reply(failure);
        self.state.overflowed = true;
        if self.carry_out(plan) == Compaction::Done {
            self.ask_model();
        }
        true
    }

    /// What went wrong with the reply, if it is the model's or the connection's fault.
    pub(super) fn failure(&self) -> Option<ModelError> {
        let cut = self.state.cut.as_ref()?;
        let (kind, words) = match cut {
            Cut::Disconnect => (
                ModelErrorKind::Truncated,
                "the connection ended before the model had finished its reply".to_owned(),
            ),
            Cut::Error => (
                ModelErrorKind::Other,
                "the model stopped with an error".to_owned(),
            ),
            Cut::Reason(StopReason::Other(word)) if is_interruption(word) => {
                (ModelErrorKind::Truncated, incomplete(cut))
            }
            // A server that never gives a reason gives none after a retry either.
            Cut::Unspecified | Cut::Reason(_) => (ModelErrorKind::Other, incomplete(cut)),
            Cut::Length | Cut::Filter | Cut::Cancelled => return None,
        };
        Some(self.state.model_error.clone().unwrap_or(ModelError {
            kind,
            words,
            retry_after_ms: None,
        }))
    }

    /// As if the reply had never been, but for what it has cost.
    pub(super) fn abandon_reply(&mut self, failure: &ModelError) {
        let mut held = mem::take(&mut self.scanned);
        self.stage.finish(&mut held);
        held.clear();
        self.scanned = held;
        let reply = mem::take(&mut self.state.accumulator).into_output();
        let usage = self.used(reply.usage);
        self.state.raw.clear();
        self.state.notes.clear();
        if self.state.seen.shown {
            let iteration = self.state.iteration;
            self.tell(EventKind::ReplyWithdrawn { iteration });
        }
        self.tell_end_of_call(
            Purpose::Reply,
            reply.stop_reason,
            usage,
            Some(failure.words.clone()),
        );
        self.state.scheduler.end_reply();
    }
}

fn incomplete(cut: &Cut) -> String {
    format!("{} and may be incomplete", cut.words())
}

/// Whether a stop reason of this name is a failure of the server that may pass. The words are those of providers, of
/// servers for local models and of gateways.
fn is_interruption(word: &str) -> bool {
    const WORDS: [&str; 13] = [
        "abort",
        "aborted",
        "cancelled",
        "engine_overloaded",
        "insufficient_system_resource",
        "interrupted",
        "load",
        "malformed_function_call",
        "network_error",
        "out_of_memory",
        "preempted",
        "time_limit",
        "timeout",
    ];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}
