//! What a controller is asked about, and what it may decide.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Message, Request};
use gadgetry_proto::run::{AboutCall, Decision};
use gadgetry_proto::usage::Usage;

/// A reply that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its number, from 1.
    pub iteration: u32,
    /// What was said; `None` if nothing was.
    pub message: Option<Message>,
    /// How it ended.
    pub stop_reason: StopReason,
    /// Tokens.
    pub usage: Usage,
}

/// A model call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// The number of the reply, from 1.
    pub iteration: u32,
    /// What kind of error.
    pub kind: ModelErrorKind,
    /// Its words.
    pub error: String,
}

/// A gadget that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GadgetDone {
    /// The call.
    pub about: AboutCall,
    /// The result text, or the error text.
    pub result: Result<String, String>,
    /// How long it ran.
    pub duration_ms: u64,
}

/// A call whose dependency was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDependency {
    /// The call.
    pub about: AboutCall,
    /// The dependency.
    pub failed_dependency: String,
    /// Why, in words for the model.
    pub error: String,
}

/// What becomes of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BeforeModelCall {
    /// It goes out.
    #[default]
    Proceed,
    /// This one goes out. The conversation stays what it is.
    Replace(Request),
    /// No model is asked: this is its reply, and blocks in it are calls like any other.
    Reply(String),
    /// No model is asked, and the run ends.
    Stop,
}

/// What becomes of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AfterModelCall {
    /// It is kept as it is.
    #[default]
    Proceed,
    /// The conversation keeps something else.
    Modify {
        /// This text instead; `None` for its own. Its calls are what they are.
        text: Option<String>,
        /// Messages that follow the results of its calls.
        append: Vec<Message>,
    },
    /// It is kept, and the run ends when its calls are done.
    Stop,
}

/// What becomes of a run whose model failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnModelError {
    /// It ends with the error.
    #[default]
    Proceed,
    /// It goes on with this reply.
    Reply(String),
}

/// What becomes of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BeforeGadget {
    /// The gadget starts.
    #[default]
    Proceed,
    /// It starts with these parameters, if they are valid.
    Parameters(serde_json::Value),
    /// It does not start; the call succeeds with this.
    Result(String),
    /// It does not start; the call fails in these words.
    Deny(String),
}

/// What becomes of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AfterGadget {
    /// It is what it is.
    #[default]
    Proceed,
    /// The call succeeds with this.
    Result(String),
    /// The call fails in these words.
    Deny(String),
    /// It is what it is, and the run ends when everything under way is done.
    Stop,
}

/// What becomes of a call whose dependency was not met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnDependencySkipped {
    /// It is skipped; or what [`OnUnmet`](gadgetry_proto::run::OnUnmet) of the run says.
    #[default]
    Skip,
    /// It runs without the dependency.
    Execute,
    /// It does not run; this is its result.
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

impl From<AfterModelCall> for Decision {
    fn from(decided: AfterModelCall) -> Self {
        match decided {
            AfterModelCall::Proceed => Self::Proceed,
            AfterModelCall::Modify { text, append } => Self::AfterReply { text, append },
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

impl From<OnDependencySkipped> for Decision {
    fn from(decided: OnDependencySkipped) -> Self {
        match decided {
            OnDependencySkipped::Skip => Self::Proceed,
            OnDependencySkipped::Execute => Self::Execute,
            OnDependencySkipped::Fallback(text) => Self::Result(text),
        }
    }
}
