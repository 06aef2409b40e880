//! One call of the current reply, from its block to its answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, Outcome, Parameters};
use crate::event::{Approval, ApprovalAnswer, EventKind};
use crate::id::{CallId, InvocationId};
use crate::media::Media;
use crate::run::calls::running::{Prepared, Running};
use crate::run::open_question::OpenQuestion;
use crate::run::start::AboutCall;
use crate::sched::Unmet;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: CallId,
    pub(super) call: Arc<Call>,
    /// The name as registered, if it is.
    pub(super) gadget: Option<String>,
    /// Completed and valid, until the call is prepared to start, which takes them; then as they went to the gadget, if
    /// `Plan::shows_calls`.
    pub(super) parameters: Option<Arc<Value>>,
    pub(super) status: CallStatus,
    /// The approval that it waits for, while it is held or runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<Arc<Approval>>,
}

/// The state of a call: what it waits for, or its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum CallStatus {
    /// Waits for its dependencies and for room among the running ones.
    Waiting,
    /// Waits for a decision about a dependency that is not met.
    Undecided(Unmet),
    /// Waits for a decision whether and how it starts.
    Held(Box<Prepared>),
    /// Waits for its gadget.
    Running(Running),
    /// Waits for a decision whether its interrupted gadget runs again.
    Interrupted(Box<Running>),
    /// Waits for human input that completes the outcome.
    Asking(Box<EndedGadget>),
    /// Waits for a decision about the outcome.
    Ended(Box<EndedGadget>),
    Answered {
        answer: Result<Arc<str>, Arc<str>>,
        media: Vec<Media>,
        /// The text that the model reads instead of the answer.
        told: Option<Arc<str>>,
    },
}

/// A gadget that has returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndedGadget {
    pub(super) outcome: Outcome,
    pub(super) duration_ms: u64,
    /// The cost, which is already charged.
    pub(super) cost: f64,
}

/// The names of a call that was answered before its gadget returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    pub(super) invocation_id: InvocationId,
    /// The name as written.
    pub(super) gadget_name: String,
}

impl Record {
    pub(super) fn names(&self) -> Names {
        Names {
            invocation_id: self.call.invocation_id.clone(),
            gadget_name: self.call.gadget_name.clone(),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.status, CallStatus::Running(_))
    }

    /// Its approval, and the questions of its running gadget to the user.
    pub(super) fn open_questions(&self) -> impl Iterator<Item = OpenQuestion> + '_ {
        let running = if let CallStatus::Running(running) = &self.status {
            Some(running)
        } else {
            None
        };
        let gadget = self.gadget.as_deref();
        let questions = running.map(|running| running.open_questions(self.id, gadget));
        let approval = self.approval.as_ref().map(OpenQuestion::of_approval);
        approval.into_iter().chain(questions.into_iter().flatten())
    }

    /// Takes the answer to the open approval. Returns the event.
    pub(super) fn close_approval(&mut self, answer: ApprovalAnswer) -> Option<EventKind> {
        let approval = self.approval.take()?;
        Some(EventKind::ApprovalAnswered {
            call: self.id,
            invocation_id: self.call.invocation_id.clone(),
            approval: approval.id,
            answer,
        })
    }

    /// The call as a question shows it.
    pub(super) fn about(&self) -> AboutCall {
        AboutCall {
            id: self.id,
            invocation_id: self.call.invocation_id.clone(),
            gadget_name: self.gadget.clone().unwrap_or_default(),
            parameters: self.known_parameters(),
        }
    }

    /// The parameters as far as they are known: completed ones, else as written, else `null`.
    pub(super) fn known_parameters(&self) -> Value {
        match (&self.parameters, &self.call.parameters) {
            (Some(parameters), _) => parameters.as_ref().clone(),
            (None, Parameters::Parsed(parameters)) => parameters.clone(),
            (None, Parameters::Malformed(_)) => Value::Null,
        }
    }
}
