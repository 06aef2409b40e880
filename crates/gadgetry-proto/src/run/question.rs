//! Decisions from outside: the questions of a run, and their possible answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::StopReason;
use crate::error::ModelError;
use crate::message::{Message, Request};
use crate::run::start::{AboutCall, Start};
use crate::usage::Usage;

/// The questions that a run asks. What it does not ask, it decides as [`Decision::Proceed`] would.
///
/// ```
/// use gadgetry_proto::run::{Asks, RunConfig};
/// let asks = Asks { before_gadget: true, ..Asks::default() };
/// let config = RunConfig { asks, ..RunConfig::default() };
/// assert!(!config.asks.human);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each kind of question"
)]
pub struct Asks {
    /// [`QuestionKind::BeforeModelCall`]
    pub before_model_call: bool,
    /// [`QuestionKind::BeforeCompaction`]
    pub before_compaction: bool,
    /// [`QuestionKind::AfterModelCall`]
    pub after_model_call: bool,
    /// [`QuestionKind::ModelError`]
    pub model_error: bool,
    /// [`QuestionKind::BeforeGadget`]
    pub before_gadget: bool,
    /// [`QuestionKind::AfterGadget`]
    pub after_gadget: bool,
    /// [`QuestionKind::DependencySkipped`]
    pub dependency_skipped: bool,
    /// [`QuestionKind::Human`], [`QuestionKind::Input`] and [`QuestionKind::Interrupted`]
    pub human: bool,
}

impl Asks {
    /// Everything that a hook may decide; no human.
    pub fn hooks() -> Self {
        Self {
            before_model_call: true,
            before_compaction: true,
            after_model_call: true,
            model_error: true,
            before_gadget: true,
            after_gadget: true,
            dependency_skipped: true,
            human: false,
        }
    }
}

/// The number of a question in its run, from 0. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub u64);

/// A question. [`crate::run::Input::Decision`] answers it; meanwhile everything that does not depend on it continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The number that the answer names.
    pub id: QuestionId,
    /// The question.
    pub kind: QuestionKind,
}

/// The question, with its possible decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum QuestionKind {
    /// This request is about to go to the model. [`Decision::Proceed`], [`Decision::Request`], [`Decision::Reply`] or
    /// [`Decision::Stop`].
    BeforeModelCall {
        /// The request.
        request: Request,
    },
    /// The conversation is about to be compacted. [`Decision::Proceed`], or [`Decision::Deny`]: it stays as it is for this request, unless
    /// the model has refused it because of its length.
    BeforeCompaction {
        /// The reason.
        trigger: CompactionTrigger,
        /// The estimated length of the conversation, in tokens.
        tokens: u64,
    },
    /// The reply was read. [`Decision::Proceed`], [`Decision::AfterReply`], [`Decision::Stop`] or both
    /// ([`Decision::StopAfter`]). The calls of the reply run meanwhile.
    AfterModelCall {
        /// The number of the reply, from 1.
        iteration: u32,
        /// The reply; `None` if nothing was said.
        message: Option<Message>,
        /// The reason it ended.
        stop_reason: StopReason,
        /// The token counts.
        usage: Usage,
        /// The number of its calls.
        #[serde(default)]
        calls: u32,
    },
    /// The model failed before any part of its reply was shown, and there will be no retry. [`Decision::Proceed`] ends the run; [`Decision::Reply`] continues it.
    ModelError {
        /// The number of the reply, from 1.
        iteration: u32,
        /// The error.
        #[serde(flatten)]
        error: ModelError,
    },
    /// This gadget is about to start. [`Decision::Proceed`], [`Decision::Parameters`], [`Decision::Result`] (it is not
    /// executed, and succeeds with this) or [`Decision::Deny`] (it is not executed, and fails).
    BeforeGadget {
        /// The call that would be started.
        start: Start,
    },
    /// This gadget is done. [`Decision::Proceed`], [`Decision::Result`], [`Decision::Deny`], [`Decision::Stop`], or a result
    /// and a stop ([`Decision::StopAfter`]).
    AfterGadget {
        /// The call.
        about: AboutCall,
        /// The result text, or the error text.
        result: Result<String, String>,
        /// The duration of the gadget.
        duration_ms: u64,
    },
    /// A dependency of this call was not met. [`Decision::Proceed`] skips it, [`Decision::Execute`] runs it
    /// anyway, [`Decision::Result`] replaces its result.
    DependencySkipped {
        /// The call.
        about: AboutCall,
        /// The id of the dependency.
        failed_dependency: String,
        /// The error, as text for the model.
        error: String,
    },
    /// A gadget needs human input. [`Decision::Result`] is the answer; [`Decision::Proceed`]: no user is
    /// available.
    Human {
        /// The call.
        about: AboutCall,
        /// The question.
        question: String,
    },
    /// The program ended while this gadget was running, and its author leaves it to the user whether it is executed again.
    /// [`Decision::Execute`] executes it again, [`Decision::Result`] is its result, [`Decision::Deny`] fails the call;
    /// [`Decision::Proceed`]: no user is available, and the call fails as interrupted.
    Interrupted {
        /// The call.
        about: AboutCall,
        /// The question.
        question: String,
    },
    /// The model has answered without calling anything, and the run waits for what the user says next.
    /// [`Decision::Result`] is that; [`Decision::Proceed`] ends the run.
    Input {
        /// The visible text of the reply.
        text: String,
    },
}

impl QuestionKind {
    /// The question as the user reads it; `None` if it is for a hook.
    pub fn for_user(&self) -> Option<&str> {
        match self {
            Self::Human { question, .. } | Self::Interrupted { question, .. } => Some(question),
            Self::Input { text } => Some(text),
            Self::BeforeModelCall { .. }
            | Self::BeforeCompaction { .. }
            | Self::AfterModelCall { .. }
            | Self::ModelError { .. }
            | Self::BeforeGadget { .. }
            | Self::AfterGadget { .. }
            | Self::DependencySkipped { .. } => None,
        }
    }
}

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionTrigger {
    /// [`Command::Compact`](crate::run::Command::Compact)
    Manual,
    /// The conversation is too long.
    Auto,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Decision {
    /// The default. An answer to every question.
    Proceed,
    /// Sends this request instead.
    Request(Request),
    /// No request is sent: this is the reply, and blocks in it are calls like any other.
    Reply(String),
    /// The reply is kept with this text in its place, and these messages follow it.
    AfterReply {
        /// The text that the conversation keeps of the reply; its calls are what they are.
        text: Option<String>,
        /// Messages that follow the results of its calls.
        append: Vec<Message>,
        /// A message of the user, about which the model replies, even if this reply would have ended the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    },
    /// These parameters instead. They are validated.
    Parameters(Value),
    /// This is the result.
    Result(String),
    /// The call fails in these words.
    Deny(String),
    /// The call runs: without the dependency, or again after it was interrupted.
    Execute,
    /// The run ends as soon as all work in progress is done.
    Stop,
    /// This rewrite of a reply or a result, and then [`Decision::Stop`].
    StopAfter(Box<Decision>),
}
