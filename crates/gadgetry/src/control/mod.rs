//! Who decides what a run leaves open.
//!
//! A [`Controller`] is one type with a method for each kind of decision. [`closures`] makes one of a single closure, and
//! [`Controllers`] puts several in a row.
//!
//! | when | method | may |
//! |---|---|---|
//! | a request is about to go out | [`Controller::before_model_call`] | change it, reply in the model's place, end the run |
//! | a reply was read | [`Controller::after_model_call`] | change what the conversation keeps of it, add messages, end the run |
//! | the model failed for good | [`Controller::on_model_error`] | reply in its place |
//! | a gadget is about to start | [`Controller::before_gadget`] | change its parameters, answer in its place, refuse |
//! | a gadget is done | [`Controller::after_gadget`] | change its result, end the run |
//! | a dependency was not met | [`Controller::on_dependency_skipped`] | execute the call nevertheless, or answer for it |

pub mod closures;
mod several;

use futures_core::future::BoxFuture;
use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Message, Request};
use gadgetry_proto::run::{AboutCall, Asks, Decision, QuestionKind, Start};
use gadgetry_proto::usage::Usage;

pub use several::Controllers;

/// Decides. Every method proceeds by default, so an implementation has those that it needs, as `async fn`s.
///
/// Decisions take their time beside everything else: other gadgets run meanwhile. A controller that panics stops its run,
/// as a [`Command::Cancel`](gadgetry_proto::run::Command::Cancel) would, because what it might have refused must not
/// happen; [`Ended::fault`](crate::driver::Ended::fault) has its words.
///
/// Cancel safety: the future of a method is dropped when the run ends before it has decided.
///
/// ```
/// use gadgetry::control::{BeforeGadget, Controller};
/// use gadgetry::proto::run::{Asks, Start};
///
/// struct Careful;
/// impl Controller for Careful {
///     fn asks(&self) -> Asks {
///         Asks { before_gadget: true, ..Asks::default() }
///     }
///
///     async fn before_gadget(&self, start: &Start) -> BeforeGadget {
///         match start.gadget_name.as_str() {
///             "DeleteFile" => BeforeGadget::Deny("Files are not deleted here".to_owned()),
///             _ => BeforeGadget::Proceed,
///         }
///     }
/// }
/// ```
pub trait Controller: Send + Sync {
    /// Which questions it wants. The others are decided without it, and cost nothing.
    fn asks(&self) -> Asks {
        Asks::controller()
    }

    /// This request is about to go to the model.
    fn before_model_call(&self, request: &Request) -> impl Future<Output = BeforeModelCall> + Send {
        let _ = request;
        async { BeforeModelCall::Proceed }
    }

    /// This reply was read. Its gadgets may be running already.
    fn after_model_call(&self, reply: &Reply) -> impl Future<Output = AfterModelCall> + Send {
        let _ = reply;
        async { AfterModelCall::Proceed }
    }

    /// The model failed, and is not asked again by itself.
    fn on_model_error(&self, failure: &ModelFailure) -> impl Future<Output = OnModelError> + Send {
        let _ = failure;
        async { OnModelError::Proceed }
    }

    /// This gadget is about to start.
    fn before_gadget(&self, start: &Start) -> impl Future<Output = BeforeGadget> + Send {
        let _ = start;
        async { BeforeGadget::Proceed }
    }

    /// This gadget is done.
    fn after_gadget(&self, done: &GadgetDone) -> impl Future<Output = AfterGadget> + Send {
        let _ = done;
        async { AfterGadget::Proceed }
    }

    /// A dependency of this call was not met.
    fn on_dependency_skipped(
        &self,
        unmet: &UnmetDependency,
    ) -> impl Future<Output = OnDependencySkipped> + Send {
        let _ = unmet;
        async { OnDependencySkipped::Skip }
    }
}

/// A [`Controller`] as a run holds it, whatever its type.
pub trait DynController: Send + Sync {
    /// Which questions it wants.
    fn questions(&self) -> Asks;

    /// Decides one of them; [`Decision::Proceed`] for any other. One that does not
    /// answer the question stops the run like a panic.
    fn decide<'a>(&'a self, question: &'a QuestionKind) -> BoxFuture<'a, Decision>;
}

impl<C: Controller> DynController for C {
    fn questions(&self) -> Asks {
        self.asks()
    }

    fn decide<'a>(&'a self, question: &'a QuestionKind) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match question {
                QuestionKind::BeforeModelCall { request } => {
                    self.before_model_call(request).await.into()
                }
                QuestionKind::AfterModelCall {
                    iteration,
                    message,
                    stop_reason,
                    usage,
                } => {
                    let reply = Reply {
                        iteration: *iteration,
                        message: message.clone(),
                        stop_reason: stop_reason.clone(),
                        usage: *usage,
                    };
                    self.after_model_call(&reply).await.into()
                }
                QuestionKind::ModelError {
                    iteration,
                    kind,
                    error,
                } => {
                    let failure = ModelFailure {
                        iteration: *iteration,
                        kind: *kind,
                        error: error.clone(),
                    };
                    self.on_model_error(&failure).await.into()
                }
                QuestionKind::BeforeGadget { start } => self.before_gadget(start).await.into(),
                QuestionKind::AfterGadget {
                    about,
                    result,
                    duration_ms,
                } => {
                    let done = GadgetDone {
                        about: about.clone(),
                        result: result.clone(),
                        duration_ms: *duration_ms,
                    };
                    self.after_gadget(&done).await.into()
                }
                QuestionKind::DependencySkipped {
                    about,
                    failed_dependency,
                    error,
                } => {
                    let unmet = UnmetDependency {
                        about: about.clone(),
                        failed_dependency: failed_dependency.clone(),
                        error: error.clone(),
                    };
                    self.on_dependency_skipped(&unmet).await.into()
                }
                QuestionKind::Human { .. } | QuestionKind::Input { .. } => Decision::Proceed,
            }
        })
    }
}

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
