//! Hooks of any type.

use futures_core::future::BoxFuture;
use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Asks, Decision, Input, QuestionKind};
use gadgetry_proto::time::Time;
use gadgetry_proto::trace::TraceContext;

use crate::control::hook::asks_of;
use crate::control::{
    CompactionDue, GadgetDone, Hook, ModelFailure, OnGadgetError, Reply, UnmetDependency,
};
use crate::run_context::RunContext;

/// A [`Hook`] of any type, as a run stores it: one method to watch, one to decide. Implement it for a type whose questions are
/// known only at run time.
pub trait DynHook: Send + Sync {
    /// Returns the questions that it decides. A run asks no others.
    fn questions(&self) -> Asks;

    /// Decides one of them in `run`, and any other with [`Decision::Proceed`]. A decision that does not match the question stops
    /// the run, like a panic.
    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision>;

    /// Watches something that happens in `run`. Does nothing by default.
    fn watch(&self, run: &RunContext, seen: Seen<'_>) {
        let _ = (run, seen);
    }

    /// Returns the trace of the run's requests; see [`Hook::trace_context`]. By default there is no trace.
    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        let _ = (run, call);
        None
    }
}

/// Something that a hook watches.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Seen<'a> {
    /// An event; see [`Hook::event`].
    Event(&'a Event),
    /// An input, with its time; see [`Hook::input`].
    Input(Time, &'a Input),
    /// A request to the model; see [`Hook::request`].
    Request(&'a Request),
}

impl<H: Hook> DynHook for H {
    fn questions(&self) -> Asks {
        asks_of::<H>()
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(decide(self, run, question))
    }

    fn watch(&self, run: &RunContext, seen: Seen<'_>) {
        match seen {
            Seen::Event(event) => self.event(run, event),
            Seen::Input(time, input) => self.input(run, time, input),
            Seen::Request(request) => self.request(run, request),
        }
    }

    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        Hook::trace_context(self, run, call)
    }
}

async fn decide<H: Hook>(hook: &H, run: &RunContext, question: &QuestionKind) -> Decision {
    match question {
        QuestionKind::BeforeModelCall { request } => {
            hook.before_model_call(run, request).await.into()
        }
        QuestionKind::BeforeCompaction { trigger, tokens } => {
            let due = CompactionDue {
                trigger: *trigger,
                tokens: *tokens,
            };
            hook.before_compaction(run, &due).await.into()
        }
        QuestionKind::AfterModelCall {
            iteration,
            message,
            stop_reason,
            usage,
            calls,
        } => {
            let reply = Reply {
                iteration: *iteration,
                message: message.clone(),
                stop_reason: stop_reason.clone(),
                usage: *usage,
                calls: *calls,
            };
            hook.after_model_call(run, &reply).await.into()
        }
        QuestionKind::ModelError { iteration, error } => {
            let failure = ModelFailure {
                iteration: *iteration,
                error: error.clone(),
            };
            hook.on_model_error(run, &failure).await.into()
        }
        QuestionKind::BeforeGadget { start } => hook.before_gadget(run, start).await.into(),
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
            if done.result.is_err() {
                match hook.on_gadget_error(run, &done).await {
                    OnGadgetError::Continue => {}
                    decided @ (OnGadgetError::Recover(_) | OnGadgetError::Stop) => {
                        return decided.into();
                    }
                }
            }
            hook.after_gadget(run, &done).await.into()
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
            hook.on_dependency_skipped(run, &unmet).await.into()
        }
        QuestionKind::Human { .. }
        | QuestionKind::Interrupted { .. }
        | QuestionKind::Input { .. } => Decision::Proceed,
    }
}
