//! From one reply to the next, and to the end.

use crate::event::{EventKind, FinishReason};
use crate::message::{Message, Role};
use crate::run::Run;
use crate::run::io::{Output, Summary};
use crate::run::question::QuestionKind;
use crate::run::spec::TextOnly;
use crate::run::state::{Cut, Pending, Phase};

/// What follows a reply whose calls are all answered.
enum Verdict {
    Finish(FinishReason),
    GoOn,
    /// The model is to end the run in another way.
    Remind,
    AskUser,
}

impl Run {
    /// Goes on if the reply was read and all its calls are answered.
    pub(super) fn advance(&mut self) {
        match self.state.phase {
            Phase::Working => {}
            Phase::Settling(reason) => return self.finish(reason),
            Phase::Backoff(until) if self.state.now >= until => return self.retry(),
            Phase::Backoff(_)
            | Phase::Reading
            | Phase::Summarising
            | Phase::Asking
            | Phase::Finished => return,
        }
        self.dispatch();
        if self.state.blocked.is_some() || !self.state.scheduler.is_idle() {
            return;
        }
        let called = !self.state.calls.is_empty();
        let noted = !self.state.notes.is_empty();
        self.put_results();
        let iteration = self.state.iteration;
        self.tell(EventKind::IterationEnd { iteration });
        let verdict = self.verdict(called, noted);
        self.state.reminded = noted && !called;
        match verdict {
            Verdict::Finish(reason) => self.finish(reason),
            Verdict::GoOn => self.next_reply(),
            Verdict::Remind => {
                if let TextOnly::Remind(text) = &self.spec.text_only {
                    let message = Message::text(Role::User, text);
                    self.push_message(message);
                }
                self.next_reply();
            }
            Verdict::AskUser => self.ask_user(),
        }
    }

    /// The model has nothing to do, and the user may say what next.
    fn ask_user(&mut self) {
        let text = self.state.answer.clone();
        self.tell(EventKind::HumanInputRequired {
            call: None,
            invocation_id: None,
            question: text.clone(),
        });
        self.state.phase = Phase::Asking;
        self.block(Pending::Input, QuestionKind::Input { text });
    }

    fn verdict(&self, called: bool, noted: bool) -> Verdict {
        // A model that only missed the format is told so, but not for ever.
        let reminder = noted && !self.state.reminded;
        let goes_on = called || reminder || !self.state.injected.is_empty();
        let verdict = match &self.state.cut {
            _ if self.state.completed.is_some() => Verdict::Finish(FinishReason::TaskCompleted),
            _ if let Some(reason) = self.state.stopped => Verdict::Finish(reason),
            _ if goes_on => Verdict::GoOn,
            Some(Cut::Length) => Verdict::Finish(FinishReason::Truncated),
            Some(Cut::Filter) => Verdict::Finish(FinishReason::Withheld),
            Some(Cut::Error | Cut::Disconnect | Cut::Unspecified | Cut::Reason(_)) => {
                Verdict::Finish(FinishReason::ModelError)
            }
            Some(Cut::Cancelled) => Verdict::Finish(FinishReason::Cancelled),
            None if self.state.promised => Verdict::Finish(FinishReason::ModelError),
            None => match &self.spec.text_only {
                TextOnly::Acknowledge => Verdict::GoOn,
                TextOnly::Remind(_) => Verdict::Remind,
                TextOnly::WaitForInput if self.spec.asks.human => Verdict::AskUser,
                TextOnly::WaitForInput | TextOnly::Terminate if self.has_no_answer() => {
                    Verdict::Finish(FinishReason::ModelError)
                }
                TextOnly::WaitForInput | TextOnly::Terminate => {
                    Verdict::Finish(FinishReason::Completed)
                }
            },
        };
        let goes_on = !matches!(verdict, Verdict::Finish(_));
        if goes_on && self.state.iteration >= self.spec.max_iterations {
            return Verdict::Finish(FinishReason::MaxIterations);
        }
        verdict
    }

    /// Somebody stopped the run.
    pub(super) fn cancel(&mut self) {
        if matches!(self.state.phase, Phase::Settling(_)) {
            return;
        }
        let (reading, working) = match self.state.phase {
            Phase::Reading => (true, true),
            Phase::Working => (false, true),
            Phase::Summarising => {
                self.put(Output::CloseModel);
                self.end_summary(Some("the run was cancelled".to_owned()));
                (false, false)
            }
            Phase::Asking | Phase::Backoff(_) | Phase::Settling(_) | Phase::Finished => {
                (false, false)
            }
        };
        let mut asking = self.state.questions.values();
        let held = asking.any(|it| matches!(it.pending, Pending::ModelCall));
        let early = self.state.phase == Phase::Summarising && !self.state.overflowed;
        if held || early {
            // The request never went out.
            self.state.iteration -= 1;
        }
        self.state.cut = Some(Cut::Cancelled);
        self.cancel_calls();
        if reading {
            self.put(Output::CloseModel);
            self.finish_stages();
            self.end_reply();
        }
        if working {
            self.put_results();
            let iteration = self.state.iteration;
            self.tell(EventKind::IterationEnd { iteration });
        }
        self.finish(FinishReason::Cancelled);
    }

    /// Ends the run, once cancelled gadgets have said what they cost.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        if !self.state.cancelled.is_empty() {
            self.state.phase = Phase::Settling(reason);
            return;
        }
        let error = match reason {
            FinishReason::ModelError => self.state.model_error.take().map(|error| error.words),
            FinishReason::Withheld => self.state.refusal.take(),
            FinishReason::Completed
            | FinishReason::TaskCompleted
            | FinishReason::MaxIterations
            | FinishReason::Truncated
            | FinishReason::Cancelled
            | FinishReason::BudgetExceeded
            | FinishReason::GadgetError
            | FinishReason::Stopped => None,
        };
        let summary = Summary {
            reason,
            iterations: self.state.iteration,
            total_cost: (!self.state.unpriced).then_some(self.state.total_cost),
            known_cost: self.state.total_cost,
            answer: self
                .state
                .completed
                .take()
                .unwrap_or_else(|| self.state.answer.clone()),
            error: error.clone(),
        };
        let (iterations, total_cost) = (summary.iterations, summary.total_cost);
        self.tell(EventKind::RunFinished {
            reason,
            iterations,
            total_cost,
            answer: summary.answer.clone(),
            error,
        });
        self.state.phase = Phase::Finished;
        self.state.summary = Some(summary);
    }
}
