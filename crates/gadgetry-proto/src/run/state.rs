//! The state of a run: its parts, and where in the cycle it is.

use serde::{Deserialize, Serialize};

use crate::convo::results_message;
use crate::error::ModelError;
use crate::event::{EventKind, FinishReason};
use crate::id::CallId;
use crate::message::Message;
use crate::run::calls::Calls;
use crate::run::conversation::RunConversation;
use crate::run::ended_reply::EndedReply;
use crate::run::io::{Input, Misuse, Output, Summary};
use crate::run::money::Money;
use crate::run::outbox::Outbox;
use crate::run::pending::PendingWork;
use crate::run::plan::Plan;
use crate::run::question::{QuestionId, QuestionKind};
use crate::run::questions::{Questions, Subject};
use crate::run::turn::ModelTurn;
use crate::time::Time;

/// All of a run but its configuration and its pipeline.
///
/// What needs no configuration, or only reads it, is here; what moves a run from one phase to the next is in [`Run`](crate::run::Run).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunState {
    pub(super) out: Outbox,
    pub(super) money: Money,
    pub(super) questions: Questions,
    pub(super) calls: Calls,
    pub(super) conversation: RunConversation,
    pub(super) phase: RunPhase,
    /// The number of the last turn.
    pub(super) iteration: u32,
    /// Whether any input has come.
    pub(super) has_begun: bool,
    /// Whether the last reply had notes but no calls.
    pub(super) was_corrected: bool,
}

/// The phase of the cycle that a run is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum RunPhase {
    /// The model has its turn.
    Turn(Box<ModelTurn>),
    /// The reply was read; not all of its calls are answered.
    Working(Box<EndedReply>),
    /// The user may say what comes next.
    AskingUser,
    /// The end is decided. Only the costs of cancelled gadgets are not known yet.
    Settling {
        reason: FinishReason,
        #[serde(flatten)]
        error: Option<ModelError>,
    },
    Finished(Box<Summary>),
}

impl RunState {
    pub(super) fn new(plan: &Plan, conversation: Vec<Message>) -> Self {
        Self {
            out: Outbox::default(),
            money: Money::default(),
            questions: Questions::default(),
            calls: Calls::new(plan),
            conversation: RunConversation::new(plan, conversation),
            phase: RunPhase::AskingUser,
            iteration: 0,
            has_begun: false,
            was_corrected: false,
        }
    }

    /// Checks that an input makes sense now.
    pub(super) fn check(&self, input: &Input) -> Result<(), Misuse> {
        match input {
            Input::Delta(_) | Input::ModelClosed(_) => match &self.phase {
                RunPhase::Turn(turn) if turn.is_reading() => Ok(()),
                RunPhase::Turn(_)
                | RunPhase::Working(_)
                | RunPhase::AskingUser
                | RunPhase::Settling { .. }
                | RunPhase::Finished(_) => Err(Misuse::NoReply),
            },
            Input::Done(id, _) if !self.calls.execution.is_in_flight(*id) => {
                Err(Misuse::NotRunning(*id))
            }
            Input::Decision(id, decision) if !self.questions.admits(*id, decision) => {
                Err(Misuse::WrongDecision(*id))
            }
            Input::Done(..)
            | Input::Decision(..)
            | Input::Command(_)
            | Input::Report(..)
            | Input::RateLimited(_)
            | Input::ExternalSpend(_)
            | Input::Interrupted
            | Input::Tick => Ok(()),
        }
    }

    /// When something happens if no input comes before.
    pub(super) fn alarm(&self) -> Option<Time> {
        let deadline = self.calls.execution.next_deadline();
        let retry = if let RunPhase::Turn(turn) = &self.phase {
            turn.retry_time()
        } else {
            None
        };
        [deadline, retry].into_iter().flatten().min()
    }

    /// The work in flight: what the driver has been given and has not ended.
    pub(super) fn pending(&self) -> PendingWork {
        let RunState {
            out,
            questions,
            calls,
            phase,
            ..
        } = self;
        let is_sent = matches!(phase, RunPhase::Turn(turn) if turn.is_reading());
        let is_started = |id: &CallId| {
            !out.holds(|output| matches!(output, Output::Start(start) if start.id == *id))
        };
        let is_asked = |id: &QuestionId| {
            !out.holds(|output| matches!(output, Output::Ask(question) if question.id == *id))
        };
        PendingWork {
            reply: is_sent && !out.holds(|output| matches!(output, Output::Send(_))),
            gadgets: calls.execution.in_flight().filter(is_started).collect(),
            questions: questions.ids().filter(is_asked).collect(),
        }
    }

    /// Adds the results of the calls to the conversation.
    pub(super) fn end_iteration(&mut self, plan: &Plan) {
        let RunState {
            out,
            calls,
            conversation,
            iteration,
            ..
        } = self;
        let results = calls.take_results(plan);
        if !results.is_empty() {
            conversation.push(results_message(results));
        }
        conversation.push_appended();
        out.emit(EventKind::IterationEnd {
            iteration: *iteration,
        });
    }

    /// Asks the user what comes next.
    pub(super) fn ask_user(&mut self) {
        self.phase = RunPhase::AskingUser;
        let text = self.conversation.answer().to_owned();
        self.out.emit(EventKind::HumanInputRequired {
            call: None,
            invocation_id: None,
            question: text.clone(),
        });
        let question = QuestionKind::Input { text };
        self.questions
            .block(Subject::Input, question, &mut self.out);
    }

    /// Finishes a run whose end is decided, once cancelled gadgets have reported their costs.
    pub(super) fn finish_settling(&mut self) {
        let RunState {
            out,
            money,
            calls,
            conversation,
            phase,
            iteration,
            ..
        } = self;
        if calls.execution.has_cancelled() {
            return;
        }
        let RunPhase::Settling { reason, error } = phase else {
            return;
        };
        let completed = calls.execution.completed.take();
        let summary = Summary {
            reason: *reason,
            iterations: *iteration,
            total_cost: money.total(),
            known_cost: money.known_total(),
            answer: completed.unwrap_or_else(|| conversation.answer().to_owned()),
            error: error.take(),
        };
        out.emit(EventKind::RunFinished {
            reason: summary.reason,
            iterations: summary.iterations,
            total_cost: summary.total_cost,
            answer: summary.answer.clone(),
            error: summary.error.clone(),
        });
        *phase = RunPhase::Finished(Box::new(summary));
    }
}
