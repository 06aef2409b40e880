//! Inputs and outputs of a run.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::call::{Outcome, amount_or_null};
use crate::delta::Delta;
use crate::error::{Classified, Fault, ModelError, ModelErrorKind};
use crate::event::{Approval, ApprovalAnswer, Event, FinishReason};
use crate::id::{ApprovalId, CallId};
use crate::message::Request;
use crate::run::question::{Decision, Question, QuestionId};
use crate::run::start::Start;
use crate::time::Time;

/// An input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// The model said more.
    Delta(Delta),
    /// The stream of the reply is over.
    ModelClosed(Close),
    /// A gadget is done.
    Done(CallId, Outcome),
    /// A command from outside.
    Command(Command),
    /// The answer to a question. One to a question that no longer matters is ignored.
    Decision(QuestionId, Decision),
    /// A running gadget reports something, or a call that waits for approval.
    Report(CallId, Report),
    /// The request was delayed by a rate limit, in milliseconds.
    RateLimited(u64),
    /// An amount that was spent outside this run, in US dollars. It counts for the budget from now on. If that is the first input, it
    /// was spent before: with nothing left, the first request is called back.
    ExternalSpend(f64),
    /// The process that drove the run has ended, and with it all [`crate::run::PendingWork`]. The first input of a run
    /// that was loaded with work in flight. Each gadget that was running does what its
    /// [`OnInterrupt`](crate::schema::OnInterrupt) says.
    Interrupted,
    /// The time that [`Output::Wait`] named has come.
    Tick,
}

/// The end of the stream of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Close {
    /// The stream ended. If the model had not said why it stopped, the reply was cut off.
    Ended,
    /// The stream failed.
    Failed(#[serde(deserialize_with = "error_or_words")] ModelError),
}

impl Close {
    /// Returns the end of a stream whose connection failed, which the run may retry.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(ModelError::new(ModelErrorKind::Transport, message))
    }
}

/// Logs of earlier versions have the message alone.
fn error_or_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ModelError, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Words(String),
        Error(ModelError),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Words(words) => ModelError::new(ModelErrorKind::Transport, words),
        Written::Error(error) => error,
    })
}

/// A report of a running gadget, or of the one who decides about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Report {
    /// A progress message.
    Progress(String),
    /// A further cost in US dollars. Such costs are a part of the cost in its [`Outcome`]; if it is interrupted, they
    /// are what is known of its cost.
    Cost(#[serde(deserialize_with = "amount_or_null")] f64),
    /// One of its subagents continues, and has cost this many US dollars more than the run knows: the events were lost
    /// with the process. Otherwise as [`Report::Cost`].
    SubagentCost {
        /// The number of the subagent, from 0.
        agent: u32,
        /// The difference in US dollars.
        #[serde(deserialize_with = "amount_or_null")]
        dollars: f64,
    },
    /// A question to the user.
    HumanQuestion {
        /// The number of the question among those of its call, from 0.
        number: u32,
        /// The question.
        question: String,
    },
    /// The user has answered, or is not available.
    HumanAnswer {
        /// The number of the question.
        number: u32,
        /// The answer, if there was one.
        answer: Option<String>,
    },
    /// The call waits for approval, before it starts or while it runs. One that is open is replaced.
    ApprovalRequired(Arc<Approval>),
    /// The approval was answered. If the call has no such approval, nothing happens.
    ApprovalAnswered {
        /// The approval.
        approval: ApprovalId,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// An event of a subagent that it has started.
    Child {
        /// The number of the subagent, from 0.
        agent: u32,
        /// The event.
        event: Box<Event>,
    },
}

/// A command to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    /// Stop: running gadgets are cancelled, every call is answered, no more requests are sent.
    Cancel,
    /// Put this message of the user before the model with the next request. A run that waits for the user's next word
    /// takes it as that.
    Inject(String),
    /// Take back the latest message with this text that was injected and is not before the model yet. Without one, nothing
    /// happens: after the end of an iteration, its successor has the messages.
    Retract(String),
    /// Make the conversation less before the next request, whatever its length; see [`crate::convo::compaction`].
    Compact,
}

/// A task of the driver. A driver must handle all of them, so the list is closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Output {
    /// Ask the model; its reply comes back as [`Input::Delta`]s and one [`Input::ModelClosed`].
    Send(Request),
    /// Close the stream of the current reply; the rest is not read.
    CloseModel,
    /// Start a gadget; [`Input::Done`] follows. A call starts once, and again after each [`Input::Interrupted`] if its
    /// gadget may run again.
    Start(Start),
    /// Cancel a gadget that was started. [`Input::Done`] still follows, soon: what it says is not read, but what it
    /// costs is counted, and a run does not finish before.
    Cancel(CallId),
    /// A question to the hooks; [`Input::Decision`] follows.
    Ask(Question),
    /// An event for the observers.
    Event(Event),
    /// Nothing to do until an input comes, or until this time: then send [`Input::Tick`].
    Wait(Option<Time>),
    /// The run is over. It gives nothing else from now on.
    Finished(Summary),
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// The reason it ended.
    pub reason: FinishReason,
    /// Replies the model gave.
    pub iterations: u32,
    /// Model and gadgets, in US dollars; `None` if the price of a model call is not known.
    pub total_cost: Option<f64>,
    /// The known part of that: the total without the model calls whose price is not known.
    pub known_cost: f64,
    /// The result of the gadget that completed the run, or the visible text of the last reply that has any.
    pub answer: String,
    /// The error of the model call that ended the run; of kind [`ModelErrorKind::ContentFilter`] if the provider refused with a
    /// message. In JSON its fields are those of the summary, and its message is `error`.
    #[serde(flatten)]
    pub error: Option<ModelError>,
}

/// An input that makes no sense: a mistake of the driver, never of a model. The run is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A delta or the end of a reply, but no request is open.
    #[error("no reply is being read, but a part of one was delivered")]
    NoReply,
    /// A result for a call that was never started, or whose result has come before.
    #[error("{0} is not running, but its result was delivered")]
    NotRunning(CallId),
    /// A decision that does not answer its question.
    #[error("question {} does not admit this answer", .0.0)]
    WrongDecision(QuestionId),
}

impl Classified for Misuse {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
