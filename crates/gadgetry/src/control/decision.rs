//! Subjects of hooks, and their decisions.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelError;
use gadgetry_proto::message::{Message, Request};
use gadgetry_proto::run::{AboutCall, CompactionTrigger, Decision};
use gadgetry_proto::usage::Usage;

/// A complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The number of the reply, from 1.
    pub iteration: u32,
    /// The message; `None` if the reply is empty.
    pub message: Option<Message>,
    /// Reason for which the model stopped.
    pub stop_reason: StopReason,
    /// The tokens used.
    pub usage: Usage,
    /// The number of its calls.
    pub calls: u32,
}

/// A model call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// The number of the reply, from 1.
    pub iteration: u32,
    /// The error.
    pub error: ModelError,
}

/// The result of a gadget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GadgetDone {
    /// The call.
    pub about: AboutCall,
    /// The result text, or the error text.
    pub result: Result<String, String>,
    /// The run time in milliseconds.
    pub duration_ms: u64,
}

/// A call whose dependency was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDependency {
    /// The call.
    pub about: AboutCall,
    /// The dependency.
    pub failed_dependency: String,
    /// The reason, as the model reads it.
    pub error: String,
}

/// Decision about a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BeforeModelCall {
    /// Sends the request.
    #[default]
    Proceed,
    /// Sends this request instead. The conversation is unchanged.
    Replace(Request),
    /// Sends nothing, and uses this text as the reply. Blocks in it are calls.
    Reply(String),
    /// Sends nothing, and ends the run.
    Stop,
}

/// A compaction that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionDue {
    /// The reason.
    pub trigger: CompactionTrigger,
    /// The estimated length of the conversation, in tokens.
    pub tokens: u64,
}

/// Decision about a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BeforeCompaction {
    /// Compacts the conversation.
    #[default]
    Proceed,
    /// Leaves the conversation unchanged for the next request, unless the model has refused it because of its length.
    Skip,
}

/// Decision about a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AfterModelCall {
    /// Keeps the reply unchanged.
    #[default]
    Proceed,
    /// Changes the part that the conversation keeps.
    Modify {
        /// The new text; `None` keeps the reply's own. Its calls are unchanged.
        text: Option<String>,
        /// Messages that are added after the results of its calls.
        append: Vec<Message>,
    },
    /// Keeps it, and continues with this message of the user, even if the reply would have ended the run. If a hook always
    /// decides this, the run ends only at the limit of iterations.
    Continue(String),
    /// Keeps it, and ends the run when its calls are done.
    Stop,
}

/// Decision about a failed model call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnModelError {
    /// Ends the run with the error.
    #[default]
    Proceed,
    /// Continues with this reply.
    Reply(String),
}

/// Decision about a call before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BeforeGadget {
    /// Starts the gadget.
    #[default]
    Proceed,
    /// Starts it with these parameters, if they are valid.
    Parameters(serde_json::Value),
    /// Does not start it; the call succeeds with this result.
    Result(String),
    /// Does not start it; the call fails with this message.
    Deny(String),
}

/// Decision about a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AfterGadget {
    /// Keeps the result unchanged.
    #[default]
    Proceed,
    /// Replaces it: the call succeeds with this result.
    Result(String),
    /// Replaces it: the call fails with this message.
    Deny(String),
    /// Keeps it, and ends the run when all work in progress is done.
    Stop,
}

/// Continuation of a run after a gadget has failed; see
/// [`AgentBuilder::on_gadget_error`](crate::AgentBuilder::on_gadget_error).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use gadgetry::{Agent, OnGadgetError, ScriptedModel};
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let agent = Agent::builder().model(model).on_gadget_error(async |failed| {
///     match failed.about.gadget_name.as_str() {
///         "Cache" => OnGadgetError::Recover("(empty)".to_owned()),
///         _ => OnGadgetError::Continue,
///     }
/// });
/// # agent.ask("2+2")?.text().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnGadgetError {
    /// The model reads the error and continues.
    #[default]
    Continue,
    /// The call succeeds with this result.
    Recover(String),
    /// The run ends as soon as all work in progress is done.
    Stop,
}

/// Decision about a call whose dependency was not met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnDependencySkipped {
    /// Applies the run's [`UnmetDependencyPolicy`](gadgetry_proto::run::UnmetDependencyPolicy); by default the call is skipped.
    #[default]
    Skip,
    /// Runs the call without the dependency.
    Execute,
    /// Does not run the call; it has this result.
    Fallback(String),
}

impl From<BeforeModelCall> for Decision {
    fn from(decided: BeforeModelCall) -> Self {
        match decided {
            BeforeModelCall::Proceed => Self::Proceed,
            BeforeModelCall::Replace(request) => Self::Request(request),
            BeforeModelCall::Reply(text) => Self::Reply(text),
            BeforeModelCall::Stop => Self::Stop,
        }
    }
}

impl From<BeforeCompaction> for Decision {
    fn from(decided: BeforeCompaction) -> Self {
        match decided {
            BeforeCompaction::Proceed => Self::Proceed,
            BeforeCompaction::Skip => Self::Deny(String::new()),
        }
    }
}

impl From<AfterModelCall> for Decision {
    fn from(decided: AfterModelCall) -> Self {
        match decided {
            AfterModelCall::Proceed => Self::Proceed,
            AfterModelCall::Modify { text, append } => Self::AfterReply {
                text,
                append,
                next: None,
            },
            AfterModelCall::Continue(next) => Self::AfterReply {
                text: None,
                append: Vec::new(),
                next: Some(next),
            },
            AfterModelCall::Stop => Self::Stop,
        }
    }
}

impl From<OnModelError> for Decision {
    fn from(decided: OnModelError) -> Self {
        match decided {
            OnModelError::Proceed => Self::Proceed,
            OnModelError::Reply(text) => Self::Reply(text),
        }
    }
}

impl From<BeforeGadget> for Decision {
    fn from(decided: BeforeGadget) -> Self {
        match decided {
            BeforeGadget::Proceed => Self::Proceed,
            BeforeGadget::Parameters(parameters) => Self::Parameters(parameters),
            BeforeGadget::Result(text) => Self::Result(text),
            BeforeGadget::Deny(reason) => Self::Deny(reason),
        }
    }
}

impl From<AfterGadget> for Decision {
    fn from(decided: AfterGadget) -> Self {
        match decided {
            AfterGadget::Proceed => Self::Proceed,
            AfterGadget::Result(text) => Self::Result(text),
            AfterGadget::Deny(reason) => Self::Deny(reason),
            AfterGadget::Stop => Self::Stop,
        }
    }
}

impl From<OnGadgetError> for Decision {
    fn from(decided: OnGadgetError) -> Self {
        match decided {
            OnGadgetError::Continue => Self::Proceed,
            OnGadgetError::Recover(result) => Self::Result(result),
            OnGadgetError::Stop => Self::Stop,
        }
    }
}

impl From<OnDependencySkipped> for Decision {
    fn from(decided: OnDependencySkipped) -> Self {
        match decided {
            OnDependencySkipped::Skip => Self::Proceed,
            OnDependencySkipped::Execute => Self::Execute,
            OnDependencySkipped::Fallback(text) => Self::Result(text),
        }
    }
}
