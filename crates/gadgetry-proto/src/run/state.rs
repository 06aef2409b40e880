//! Where a run stands.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accumulate::Accumulator;
use crate::call::{Call, Outcome, Parameters};
use crate::convo::History;
use crate::convo::OutputStore;
use crate::convo::TokenEstimate;
use crate::convo::compaction::Summarise;
use crate::delta::StopReason;
use crate::error::ModelErrorKind;
use crate::event::FinishReason;
use crate::id::{CallId, InvocationId};
use crate::media::Media;
use crate::message::{Message, Request};
use crate::reply::ScannerState;
use crate::run::caps::Used;
use crate::run::io::{Output, Start, Summary};
use crate::run::numbers::CallNumbers;
use crate::run::question::{QuestionId, QuestionKind};
use crate::sched::Scheduler;
use crate::sched::Unmet;
use crate::time::Time;

/// Everything that a saved run needs besides its [`crate::run::RunSpec`]. Opaque; made to be serialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub(super) state: State,
    pub(super) scanner: ScannerState,
    pub(super) transforms: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may be true beside any other"
)]
pub(super) struct State {
    pub(super) now: Time,
    /// Whether the run was told anything.
    #[serde(default)]
    pub(super) begun: bool,
    /// Of the next event.
    pub(super) seq: u64,
    /// Of the current reply, from 1.
    pub(super) iteration: u32,
    pub(super) phase: Phase,
    pub(super) history: History,
    pub(super) accumulator: Accumulator,
    /// The current reply as written.
    pub(super) raw: String,
    pub(super) model_error: Option<ModelError>,
    /// Retries of the current request.
    pub(super) attempt: u32,
    /// What somebody has put in the place of the current request.
    pub(super) instead: Option<Request>,
    /// Whether a model was asked for the current reply.
    pub(super) sent: bool,
    /// Whether something may have acted on the current reply, so that it cannot be withdrawn.
    pub(super) acted_on: bool,
    /// What has come of the current reply.
    #[serde(default)]
    pub(super) seen: Seen,
    /// The words with which the provider refused to complete the current reply.
    #[serde(default)]
    pub(super) refusal: Option<String>,
    /// How the current reply was cut off.
    pub(super) cut: Option<Cut>,
    pub(super) scheduler: Scheduler,
    /// The numbers of the calls.
    pub(super) numbers: CallNumbers,
    /// Calls of the current reply, in the order written.
    pub(super) calls: Vec<Record>,
    pub(super) deadlines: BTreeSet<(Time, CallId)>,
    /// Calls whose gadgets were cancelled and have not come back. What they cost is still counted.
    pub(super) cancelled: BTreeMap<CallId, Late>,
    /// The result of the latest call of each id, if it has one.
    pub(super) results: BTreeMap<InvocationId, Known>,
    /// How long the conversation is.
    pub(super) tokens: TokenEstimate,
    /// What the summary that is being read is for.
    pub(super) summary_plan: Option<Summarise>,
    pub(super) summary_error: Option<String>,
    /// Whether the conversation was made less because the model found it too long for this reply.
    pub(super) overflowed: bool,
    /// Somebody wants the conversation made less.
    pub(super) compact_now: bool,
    /// Results that were too long for the conversation.
    pub(super) stored: OutputStore,
    /// What the model should know about its current reply.
    pub(super) notes: Vec<String>,
    /// Calls in other dialects so far; they have no ids of their own.
    #[serde(default)]
    pub(super) dialect_calls: u64,
    /// Whether the model ended the current reply as if it had called something, and had called nothing.
    #[serde(default)]
    pub(super) promised: bool,
    /// Whether the last reply had notes but no calls.
    pub(super) reminded: bool,
    /// Whether a reply of the run has called a gadget.
    #[serde(default)]
    pub(super) has_called: bool,
    /// Messages of the user that the next request carries.
    pub(super) injected: Vec<String>,
    /// The result of the gadget that completed the run.
    pub(super) completed: Option<String>,
    /// The run is to end when everything under way is done.
    pub(super) stopped: Option<FinishReason>,
    /// Calls in the reply before.
    pub(super) calls_before: Option<u32>,
    /// Messages that follow the results of the current reply.
    pub(super) appended: Vec<Message>,
    /// Questions that are open, with what depends on them.
    pub(super) questions: BTreeMap<QuestionId, Open>,
    pub(super) next_question: u64,
    /// The loop waits for the answer to this one.
    pub(super) blocked: Option<QuestionId>,
    pub(super) total_cost: f64,
    /// What is used of the caps on sums.
    #[serde(default)]
    pub(super) used: Used,
    /// Whether a model call has cost what nobody knows, which is not in the total.
    #[serde(default)]
    pub(super) unpriced: bool,
    /// What was spent outside this run.
    pub(super) elsewhere: f64,
    /// The visible text of the last reply that had any.
    pub(super) answer: String,
    pub(super) outputs: VecDeque<Output>,
    pub(super) summary: Option<Summary>,
}

impl PartialEq for State {
    /// By the saved form: what is not saved is not state.
    fn eq(&self, other: &Self) -> bool {
        serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
    }
}

/// What has come of a reply.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may be true together with any other"
)]
pub(super) struct Seen {
    /// Anything that an event has shown.
    pub(super) shown: bool,
    pub(super) text: bool,
    pub(super) reasoning: bool,
    /// It has ended cleanly, and holds neither text nor a block nor a call.
    pub(super) empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// A reply is being read.
    Reading,
    /// A summary is being read.
    Summarising,
    /// The reply was read; its calls are not all answered.
    Working,
    /// The next request, or the end, waits for a decision.
    Asking,
    /// The request is sent again at this time.
    Backoff(Time),
    /// Everything is decided; only what cancelled gadgets have cost is not known yet.
    Settling(FinishReason),
    Finished,
}

/// A question without an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Open {
    /// As asked, to be asked again if the run is interrupted.
    pub(super) kind: QuestionKind,
    pub(super) pending: Pending,
}

/// What depends on the answer to a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Pending {
    ModelCall,
    /// Whether the conversation has a message of the reply.
    AfterReply {
        said: bool,
    },
    ModelError,
    Input,
    Start(Box<Prepared>),
    Unmet(Unmet),
    /// The outcome, its cost already counted.
    Outcome(CallId, Outcome),
    Human(CallId, Outcome),
}

/// A call that was answered before its gadget came to an end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Late {
    pub(super) invocation_id: InvocationId,
    pub(super) gadget_name: String,
}

/// A call that can start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Prepared {
    pub(super) start: Start,
    pub(super) timeout_ms: Option<u64>,
}

/// What a model, its provider or the way there did not do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ModelError {
    pub(super) kind: ModelErrorKind,
    pub(super) words: String,
    pub(super) retry_after_ms: Option<u64>,
}

/// How a reply ended before the model was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cut {
    Length,
    Filter,
    Error,
    Disconnect,
    Cancelled,
    /// The reply ended without a reason.
    Unspecified,
    /// The reply ended with a reason that does not say that it is whole.
    Reason(StopReason),
}

impl Cut {
    /// How the reply ended, as a clause.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Length => "the reply was cut off by the token limit".to_owned(),
            Self::Filter => "the reply was cut off by the provider's content filter".to_owned(),
            Self::Error => "the reply was cut off by an error of the model".to_owned(),
            Self::Disconnect => "the reply was cut off because the connection ended".to_owned(),
            Self::Cancelled => "the reply was cut off because the run was cancelled".to_owned(),
            Self::Unspecified => "the reply ended without a stop reason".to_owned(),
            Self::Reason(reason) => format!("the reply ended with the reason \"{reason}\""),
        }
    }
}

/// One call of the current reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: CallId,
    pub(super) call: Arc<Call>,
    /// The name as registered, if it is.
    pub(super) gadget: Option<String>,
    /// Completed and valid. Whoever makes the call ready to start takes them; then, as they went to the gadget.
    pub(super) parameters: Option<Arc<Value>>,
    pub(super) status: Status,
    /// What the model reads in place of the answer.
    #[serde(default)]
    pub(super) told: Option<Arc<str>>,
}

/// The parameters of a call as far as they are known: completed ones, else as written.
pub(super) fn known(completed: Option<&Arc<Value>>, call: &Call) -> Value {
    match (completed, &call.parameters) {
        (Some(parameters), _) => parameters.as_ref().clone(),
        (None, Parameters::Parsed(parameters)) => parameters.clone(),
        (None, Parameters::Malformed(_)) => Value::Null,
    }
}

/// A result that later calls may ask for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) call: CallId,
    pub(super) text: Arc<str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Status {
    Waiting,
    /// Somebody decides whether and how it starts.
    Held,
    Running {
        since: Time,
        deadline: Option<Time>,
    },
    /// The gadget is done; somebody decides what that means, or a person is asked.
    Ended {
        duration_ms: u64,
        cost: f64,
    },
    Answered {
        answer: Result<Arc<str>, Arc<str>>,
        media: Vec<Media>,
    },
}
