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
mod decision;
mod several;

use futures_core::future::BoxFuture;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Asks, Decision, QuestionKind, Start};

pub use decision::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, GadgetDone, ModelFailure,
    OnDependencySkipped, OnModelError, Reply, UnmetDependency,
};
pub use several::Controllers;

/// Decides. Every method proceeds by default, so an implementation has those that it needs, as `async fn`s.
///
/// Decisions take their time beside everything else: other gadgets run meanwhile. A controller that panics stops its run,
/// as a [`Command::Cancel`](gadgetry_proto::run::Command::Cancel) would, because what it might have refused must not
/// happen; [`RunResult::fault`](crate::driver::RunResult::fault) has its words.
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
