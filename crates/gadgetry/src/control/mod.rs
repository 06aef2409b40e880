//! Decisions about a run: before and after model calls and gadgets, on errors.
//!
//! A [`Controller`] is one type with a method for each kind of decision. [`closures`] makes one of a single closure, and
//! [`Controllers`] combines several.
//!
//! | when | method | may |
//! |---|---|---|
//! | a request is about to be sent | [`Controller::before_model_call`] | replace it, reply instead of the model, end the run |
//! | a reply was read | [`Controller::after_model_call`] | change what the conversation keeps of it, add messages, end the run |
//! | a model call failed and is not retried | [`Controller::on_model_error`] | reply instead |
//! | a gadget is about to start | [`Controller::before_gadget`] | change its parameters, answer instead, deny |
//! | a gadget is done | [`Controller::after_gadget`] | change its result, end the run |
//! | a dependency was not met | [`Controller::on_dependency_skipped`] | execute the call anyway, or answer for it |

pub mod closures;
mod decision;
mod several;

use futures_core::future::BoxFuture;
use gadgetry_proto::message::Request;

pub use crate::run_context::RunContext;

#[doc(no_inline)]
pub use gadgetry_proto::run::{Asks, Decision, QuestionKind, Start};

pub use decision::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, GadgetDone, ModelFailure,
    OnDependencySkipped, OnModelError, Reply, UnmetDependency,
};
pub use several::Controllers;

/// Decides about a run. Every method proceeds by default; an implementation has those that it needs, as `async fn`s.
///
/// Other gadgets keep running while a decision is pending. A controller that panics stops its run, as a
/// [`Command::Cancel`](gadgetry_proto::run::Command::Cancel) would, because what it might have denied must not happen; [`RunResult::fault`](crate::driver::RunResult::fault) has the message.
///
/// Cancel safety: the future of a method is dropped if the run ends before it has decided.
///
/// ```
/// use gadgetry::control::{Asks, BeforeGadget, Controller, Start};
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
    /// Returns the questions that it answers. The others proceed without a call of it.
    fn asks(&self) -> Asks {
        Asks::controller()
    }

    /// Decides about a request before it is sent.
    fn before_model_call(&self, request: &Request) -> impl Future<Output = BeforeModelCall> + Send {
        let _ = request;
        async { BeforeModelCall::Proceed }
    }

    /// Decides about a complete reply. Its gadgets may be running already.
    fn after_model_call(&self, reply: &Reply) -> impl Future<Output = AfterModelCall> + Send {
        let _ = reply;
        async { AfterModelCall::Proceed }
    }

    /// Decides about a model call that failed and is not retried.
    fn on_model_error(&self, failure: &ModelFailure) -> impl Future<Output = OnModelError> + Send {
        let _ = failure;
        async { OnModelError::Proceed }
    }

    /// Decides about a call before its gadget starts.
    fn before_gadget(&self, start: &Start) -> impl Future<Output = BeforeGadget> + Send {
        let _ = start;
        async { BeforeGadget::Proceed }
    }

    /// Decides about the result of a gadget.
    fn after_gadget(&self, done: &GadgetDone) -> impl Future<Output = AfterGadget> + Send {
        let _ = done;
        async { AfterGadget::Proceed }
    }

    /// Decides about a call whose dependency was not met.
    fn on_dependency_skipped(
        &self,
        unmet: &UnmetDependency,
    ) -> impl Future<Output = OnDependencySkipped> + Send {
        let _ = unmet;
        async { OnDependencySkipped::Skip }
    }
}

/// A [`Controller`] of any type, as a run holds it.
pub trait DynController: Send + Sync {
    /// Returns the questions that it answers.
    fn questions(&self) -> Asks;

    /// Answers one of them about `run`, and any other with [`Decision::Proceed`]. A decision that does not fit the question stops the run
    /// like a panic.
    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision>;
}

impl<C: Controller> DynController for C {
    fn questions(&self) -> Asks {
        self.asks()
    }

    fn decide<'a>(
        &'a self,
        _: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
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
                QuestionKind::ModelError { iteration, error } => {
                    let failure = ModelFailure {
                        iteration: *iteration,
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
                QuestionKind::Human { .. }
                | QuestionKind::Interrupted { .. }
                | QuestionKind::Input { .. } => Decision::Proceed,
            }
        })
    }
}
