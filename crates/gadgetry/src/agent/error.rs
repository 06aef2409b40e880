//! Errors of an agent's configuration, and of runs without an answer.

use std::fmt;

use gadgetry_proto::block::WriteError;
use gadgetry_proto::error::{Classified, Fault, ModelError};
use gadgetry_proto::event::FinishReason;
use gadgetry_proto::run::PlanError;

use crate::agent::conversation::Conversation;
use crate::agent::finished::Finished;
use crate::limiter::RateLimitsError;
use crate::toolbox::ToolboxError;

/// An invalid configuration of an agent, found by
/// [`AgentBuilder::build`](crate::AgentBuilder::build) before any request is sent.
///
/// ```
/// use gadgetry::{Agent, AgentError};
/// assert!(matches!(Agent::builder().build(), Err(AgentError::NoModel)));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model is missing.
    #[error("the agent has no model; add one with `.model(…)`")]
    NoModel,
    /// The model has no interface for tools.
    #[error(
        "the model {model:?} does not support native tool calls; let it write blocks: `.tools(Tools::Text)`"
    )]
    NoNativeTools {
        /// The model.
        model: String,
    },
    /// Two models have one name.
    #[error("two models are named {0:?}; names must be unique")]
    DuplicateModel(String),
    /// A gadget cannot be registered.
    #[error(transparent)]
    Gadget(#[from] ToolboxError),
    /// Ambiguous tags, a gadget with the name of the output viewer, or a tool choice that names no gadget
    /// of the agent.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A custom block has the key or the tag of one that the model brings.
    #[error(
        "the custom block {block} of the agent is in the way of {other}, which the model {model:?} brings; leave one of \
         them out, or give yours another key and tag"
    )]
    CustomBlockOfModel {
        /// Key and tag of the agent's block.
        block: String,
        /// The model.
        model: String,
        /// Key and tag of the model's block.
        other: String,
    },
    /// The maximum number of replies is 0.
    #[error("`.max_iterations(0)` allows no reply; allow at least 1")]
    NoIterations,
    /// The budget is not an amount.
    #[error("a budget must be a finite amount of US dollars above 0, got {0}")]
    Budget(f64),
    /// A budget without a known price: the spending could not be counted.
    #[error(
        "the price of the model {model:?} is not known, so a budget cannot be enforced; give the model a price in its \
         `ModelInfo`, or omit `.budget(…)`"
    )]
    NoPrice {
        /// The model.
        model: String,
    },
    /// A percentage is out of range.
    #[error("{option} must be above 0 and at most 100 percent, got {percent}")]
    Percent {
        /// Option with the value.
        option: &'static str,
        /// Value of the option.
        percent: f64,
    },
    /// The rate limits are invalid.
    #[error(transparent)]
    RateLimits(#[from] RateLimitsError),
    /// A synthetic call names a gadget that the agent does not have.
    #[error("the synthetic call {id:?}: {problem}")]
    SyntheticGadget {
        /// The id of the call.
        id: String,
        /// The error that the model would read for such a call.
        problem: String,
    },
    /// A synthetic call cannot be written as a block.
    #[error("the synthetic call {id:?} cannot be written: {error}")]
    SyntheticCall {
        /// The id of the call.
        id: String,
        /// Reason that the call cannot be written.
        error: WriteError,
    },
    /// Gadgets need approval, and there are no approvals.
    #[error(
        "there are no approvals for the calls of {}, which need approval; add `.approvals(…)`, or `.without_approvals()` if whatever the model \
         writes may run", gadgets.join(", ")
    )]
    NoApprovals {
        /// The gadgets whose permission is to ask, or to deny.
        gadgets: Vec<String>,
    },
    /// A rule of the approvals misspells the name of a gadget: a misspelt `deny` protects from nothing.
    #[error("the rule `{rule}` is about no gadget of the agent; did you mean {near}?")]
    RuleWithoutGadget {
        /// The rule.
        rule: String,
        /// The gadget that it probably means.
        near: String,
    },
    /// The run is to wait for human input, but no user is available.
    #[error("`OnTextOnlyReply::WaitForInput` needs human input; add `.on_human_input(…)`")]
    NobodyToAsk,
    /// The context of a gadget was given as the parent, but it has no run.
    #[error(
        "this context has no run, so no subagent can be started from it; in a test, build the agent \
         without `.parent(…)`"
    )]
    NoParent,
    /// Too many levels of subagents.
    #[error(
        "a subagent at depth {depth} is not allowed; the limit is {max_depth}, see `.max_depth(…)`"
    )]
    TooDeep {
        /// Depth of the subagent.
        depth: u32,
        /// Maximum depth.
        max_depth: u32,
    },
}

/// Error for a run without an answer. It contains the messages until then.
///
/// | reason | what to do |
/// |---|---|
/// | [`FinishReason::MaxIterations`] | allow more iterations, or request less |
/// | [`FinishReason::Truncated`] | raise the token limit of replies |
/// | [`FinishReason::Withheld`] | the provider refused; its message, if it gave any, is [`RunError::model_error`] |
/// | [`FinishReason::ModelError`] | see [`RunError::model_error`] |
/// | [`FinishReason::BudgetExceeded`] | raise the budget |
/// | [`FinishReason::GadgetError`] | a gadget failed, and the run was set to stop then |
/// | [`FinishReason::Cancelled`] | it was cancelled |
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use gadgetry::{Agent, FinishReason, ScriptedModel};
/// let model: ScriptedModel = r#"{"text": "Once upon a", "finish": "length"}"#.parse()?;
/// let error = Agent::builder().model(model).ask("Tell me a story")?.text().await.unwrap_err();
/// assert_eq!(error.reason(), FinishReason::Truncated);
/// assert_eq!(error.finished().summary.answer, "Once upon a");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunError(Box<Finished>);

impl RunError {
    pub(super) fn new(finished: Finished) -> Self {
        Self(Box::new(finished))
    }

    /// Returns the reason for which the run ended.
    pub fn reason(&self) -> FinishReason {
        self.0.summary.reason
    }

    /// Returns the result until then: messages, costs, the conversation to continue from.
    pub fn finished(&self) -> &Finished {
        &self.0
    }

    /// Returns the error of the model call that ended the run; `None` if it ended for another reason. If the provider refused with a
    /// message, the kind is [`ModelErrorKind::ContentFilter`](crate::ModelErrorKind::ContentFilter).
    ///
    /// ```
    /// use gadgetry::{ModelErrorKind, RunError};
    ///
    /// /// The status for the client of a server, with the seconds of `Retry-After`.
    /// fn status(error: &RunError) -> (u16, Option<u64>) {
    ///     let Some(error) = error.model_error() else { return (500, None) };
    ///     let status = match error.kind {
    ///         ModelErrorKind::RateLimit => 429,
    ///         ModelErrorKind::ContextOverflow => 413,
    ///         ModelErrorKind::Authentication | ModelErrorKind::BadRequest => 500,
    ///         _ => 502,
    ///     };
    ///     (status, error.retry_after().map(|wait| wait.as_secs()))
    /// }
    /// ```
    pub fn model_error(&self) -> Option<&ModelError> {
        self.0.summary.error.as_ref()
    }

    /// Returns the result until then, and consumes the error.
    pub fn into_finished(self) -> Finished {
        *self.0
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.0.summary;
        match summary.reason {
            FinishReason::MaxIterations => {
                let replies = summary.iterations;
                let plural = if replies == 1 { "reply" } else { "replies" };
                write!(
                    f,
                    "the model was not done after {replies} {plural}, which is the limit"
                )
            }
            FinishReason::Truncated => f.write_str("the last reply was cut off at the token limit"),
            FinishReason::Withheld => f.write_str("the provider withheld the last reply"),
            FinishReason::ModelError => f.write_str("model call failed"),
            FinishReason::Cancelled => f.write_str("the run was cancelled"),
            FinishReason::BudgetExceeded => f.write_str("the budget is spent"),
            FinishReason::GadgetError => f.write_str("a gadget failed"),
            // These are not errors, and others are not known yet.
            reason @ (FinishReason::Completed
            | FinishReason::TaskCompleted
            | FinishReason::Stopped
            | _) => write!(f, "the run ended: {reason:?}"),
        }?;
        let message = summary.error.as_ref().map(|error| &error.message);
        match message.or(self.0.fault.as_ref()) {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RunError {}

impl Finished {
    /// Returns the result if the run has an answer: the model was done, or a gadget or a hook has ended the run. Otherwise,
    /// returns an error that contains the result.
    pub fn into_result(self) -> Result<Self, RunError> {
        match self.summary.reason {
            FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
                Ok(self)
            }
            FinishReason::MaxIterations
            | FinishReason::Truncated
            | FinishReason::Withheld
            | FinishReason::ModelError
            | FinishReason::Cancelled
            | FinishReason::BudgetExceeded
            | FinishReason::GadgetError
            | _ => Err(RunError::new(self)),
        }
    }
}

impl Classified for RunError {
    /// The fault of the model error, if one ended the run. Limits and gadgets are the program's; a cancelled run is the caller's,
    /// unless a hook has panicked.
    fn fault(&self) -> Fault {
        if let Some(error) = self.model_error() {
            return error.fault();
        }
        let reason = self.reason();
        if reason == FinishReason::Cancelled && self.0.fault.is_none() {
            Fault::Caller
        } else if matches!(reason, FinishReason::ModelError | FinishReason::Withheld) {
            Fault::Model
        } else {
            Fault::Program
        }
    }

    fn is_retryable(&self) -> bool {
        self.model_error().is_some_and(ModelError::is_retryable)
    }
}

impl Classified for AgentError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// A run that has not ended, so there is no conversation to continue from yet.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the run has not ended; read its stream to the end first")]
pub struct Unfinished {
    before: Box<Conversation>,
}

impl Unfinished {
    pub(super) fn new(before: Conversation) -> Self {
        let before = Box::new(before);
        Self { before }
    }

    /// Returns the conversation as it was before the question.
    pub fn into_conversation(self) -> Conversation {
        *self.before
    }
}

impl Classified for Unfinished {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// Error for a run without an answer of the type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// The run ended without any answer.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The gadget for the answer cannot be added: another one has its name, or the type has no usable schema.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A gadget or a hook has ended the run before the model gave its answer.
    #[error("the run was ended before the model called `FinalAnswer`; its answer is {:?}", .0.summary.answer)]
    NoAnswer(Box<Finished>),
    /// The stream of the run was already read, so the model does not know the gadget.
    #[error("the run has begun; call `.typed()` before its events are read")]
    Begun,
}

impl TypedError {
    /// Returns the error of the model call that ended the run, as [`RunError::model_error`].
    pub fn model_error(&self) -> Option<&ModelError> {
        match self {
            Self::Run(error) => error.model_error(),
            Self::Agent(_) | Self::NoAnswer(_) | Self::Begun => None,
        }
    }
}

impl Classified for TypedError {
    fn fault(&self) -> Fault {
        match self {
            Self::Run(error) => error.fault(),
            Self::Agent(_) | Self::NoAnswer(_) | Self::Begun => Fault::Program,
        }
    }

    fn is_retryable(&self) -> bool {
        self.model_error().is_some_and(ModelError::is_retryable)
    }
}
