//! The trait of hooks.

use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Asks, Input, Start};
use gadgetry_proto::time::Time;
use gadgetry_proto::trace::TraceContext;

use crate::control::{
    AfterGadget, AfterModelCall, BeforeCompaction, BeforeGadget, BeforeModelCall, CompactionDue,
    GadgetDone, ModelFailure, OnDependencySkipped, OnGadgetError, OnModelError, Reply,
    UnmetDependency,
};
use crate::run_context::RunContext;

/// Watches a run, and decides about it. Implement the methods that you need; those that decide are `async fn`s.
///
/// Every method receives its run: the identity, and the values of the caller. All runs of an agent call its hooks, possibly at
/// the same time, so the methods take `&self`.
///
/// **Watching** methods are called in order, between two steps of the run; they must not wait. If one panics, it is no longer
/// called in that run, an error is logged, and the run continues.
///
/// **Deciding** methods may wait as long as necessary; other gadgets continue to run. One that panics stops its run, as a
/// [`Command::Cancel`](gadgetry_proto::run::Command::Cancel) would, because what it might have denied must not happen;
/// [`RunResult::fault`](crate::driver::RunResult::fault) has the message. A run waits only where a hook has a method; methods
/// that are not implemented cost nothing.
///
/// Several hooks decide in order. If one rewrites the request, the reply, the parameters or the result, the later ones receive
/// the rewritten form, so it cannot hide anything from them. Any other decision except to proceed ends the chain.
///
/// Cancel safety: the future of a deciding method is dropped if the run ends before it has decided.
///
/// ```
/// use gadgetry::control::{BeforeGadget, Hook, RunContext, Start};
/// use gadgetry::Event;
///
/// struct Careful;
/// impl Hook for Careful {
///     fn event(&self, run: &RunContext, event: &Event) {
///         println!("{} {}", run.info().id, event.seq);
///     }
///
///     async fn before_gadget(&self, run: &RunContext, start: &Start) -> BeforeGadget {
///         match (start.gadget_name.as_str(), run.info().metadata.get("role")) {
///             ("DeleteFile", None) => BeforeGadget::Deny("Only an admin deletes files".to_owned()),
///             _ => BeforeGadget::Proceed,
///         }
///     }
/// }
/// # let _ = gadgetry::Agent::builder().hook(Careful);
/// ```
pub trait Hook: Send + Sync {
    /// Watches an event of the run or of one of its subagents; [`Event::run`] names the run.
    fn event(&self, run: &RunContext, event: &Event) {
        let _ = (run, event);
    }

    /// Watches an input of the run before the run handles it. The inputs with their times are the log from which the
    /// run can be [replayed](crate::log).
    fn input(&self, run: &RunContext, time: Time, input: &Input) {
        let _ = (run, time, input);
    }

    /// Watches a request to the model, in its final form after all decisions, right after its event. Requests of subagents are
    /// not reported here.
    fn request(&self, run: &RunContext, request: &Request) {
        let _ = (run, request);
    }

    /// Returns the trace that a request of the run to its model belongs to or, with `call`, the requests of that call's gadget.
    /// Servers of models and of MCP receive it in `traceparent`. The first hook that has one decides; without any, it is the
    /// [`TraceContext`] that the caller of the run has added ([`AgentRun::with`](crate::AgentRun::with)).
    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        let _ = (run, call);
        None
    }

    /// Decides about a request before it is sent.
    fn before_model_call(
        &self,
        run: &RunContext,
        request: &Request,
    ) -> impl Future<Output = BeforeModelCall> + Send {
        let _ = (run, request);
        undecided()
    }

    /// Decides about a compaction of the conversation before it begins.
    fn before_compaction(
        &self,
        run: &RunContext,
        due: &CompactionDue,
    ) -> impl Future<Output = BeforeCompaction> + Send {
        let _ = (run, due);
        undecided()
    }

    /// Decides about a complete reply. Its gadgets may already be running.
    fn after_model_call(
        &self,
        run: &RunContext,
        reply: &Reply,
    ) -> impl Future<Output = AfterModelCall> + Send {
        let _ = (run, reply);
        undecided()
    }

    /// Decides about a model call that failed and is not retried.
    fn on_model_error(
        &self,
        run: &RunContext,
        failure: &ModelFailure,
    ) -> impl Future<Output = OnModelError> + Send {
        let _ = (run, failure);
        undecided()
    }

    /// Decides about a call before its gadget starts.
    fn before_gadget(
        &self,
        run: &RunContext,
        start: &Start,
    ) -> impl Future<Output = BeforeGadget> + Send {
        let _ = (run, start);
        undecided()
    }

    /// Decides about the result of a gadget, or its error.
    fn after_gadget(
        &self,
        run: &RunContext,
        done: &GadgetDone,
    ) -> impl Future<Output = AfterGadget> + Send {
        let _ = (run, done);
        undecided()
    }

    /// Decides how the run continues when a gadget has failed. [`Hook::after_gadget`] of the same hook is called afterwards, if
    /// this method does not change the error.
    fn on_gadget_error(
        &self,
        run: &RunContext,
        failed: &GadgetDone,
    ) -> impl Future<Output = OnGadgetError> + Send {
        let _ = (run, failed);
        undecided()
    }

    /// Decides about a call whose dependency was not met.
    fn on_dependency_skipped(
        &self,
        run: &RunContext,
        unmet: &UnmetDependency,
    ) -> impl Future<Output = OnDependencySkipped> + Send {
        let _ = (run, unmet);
        undecided()
    }
}

/// Forwards to the hook, of which the program keeps a handle.
impl<H: Hook> Hook for Arc<H> {
    fn event(&self, run: &RunContext, event: &Event) {
        (**self).event(run, event);
    }

    fn input(&self, run: &RunContext, time: Time, input: &Input) {
        (**self).input(run, time, input);
    }

    fn request(&self, run: &RunContext, request: &Request) {
        (**self).request(run, request);
    }

    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        (**self).trace_context(run, call)
    }

    fn before_model_call(
        &self,
        run: &RunContext,
        request: &Request,
    ) -> impl Future<Output = BeforeModelCall> + Send {
        (**self).before_model_call(run, request)
    }

    fn before_compaction(
        &self,
        run: &RunContext,
        due: &CompactionDue,
    ) -> impl Future<Output = BeforeCompaction> + Send {
        (**self).before_compaction(run, due)
    }

    fn after_model_call(
        &self,
        run: &RunContext,
        reply: &Reply,
    ) -> impl Future<Output = AfterModelCall> + Send {
        (**self).after_model_call(run, reply)
    }

    fn on_model_error(
        &self,
        run: &RunContext,
        failure: &ModelFailure,
    ) -> impl Future<Output = OnModelError> + Send {
        (**self).on_model_error(run, failure)
    }

    fn before_gadget(
        &self,
        run: &RunContext,
        start: &Start,
    ) -> impl Future<Output = BeforeGadget> + Send {
        (**self).before_gadget(run, start)
    }

    fn after_gadget(
        &self,
        run: &RunContext,
        done: &GadgetDone,
    ) -> impl Future<Output = AfterGadget> + Send {
        (**self).after_gadget(run, done)
    }

    fn on_gadget_error(
        &self,
        run: &RunContext,
        failed: &GadgetDone,
    ) -> impl Future<Output = OnGadgetError> + Send {
        (**self).on_gadget_error(run, failed)
    }

    fn on_dependency_skipped(
        &self,
        run: &RunContext,
        unmet: &UnmetDependency,
    ) -> impl Future<Output = OnDependencySkipped> + Send {
        (**self).on_dependency_skipped(run, unmet)
    }
}

/// Future of a deciding method that is not implemented: it proceeds.
///
/// Its type shows a run that it need not ask; see [`asks_of`].
struct Undecided<T>(PhantomData<fn() -> T>);

fn undecided<T: Default>() -> Undecided<T> {
    Undecided(PhantomData)
}

impl<T: Default> Future for Undecided<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(T::default())
    }
}

/// Returns the questions that hooks of this type decide: those whose method the type implements.
pub(super) fn asks_of<H: Hook>() -> Asks {
    Asks {
        before_compaction: is_own(H::before_compaction),
        before_model_call: is_own(H::before_model_call),
        after_model_call: is_own(H::after_model_call),
        model_error: is_own(H::on_model_error),
        before_gadget: is_own(H::before_gadget),
        after_gadget: is_own(H::after_gadget) || is_own(H::on_gadget_error),
        dependency_skipped: is_own(H::on_dependency_skipped),
        human: false,
    }
}

/// Returns whether a method overrides that of the trait, by the type of its future. A method that only forwards to one of the
/// trait, such as that of an `Arc`, has the future of the trait.
///
/// A name does not prove a type, so the size has to be that of `Undecided` as well, which no future with an argument in it has.
/// If equal types are taken for different ones, the run only asks more.
fn is_own<'a, H: 'a, A: 'a, F: Future>(_: impl FnOnce(&'a H, &'a RunContext, &'a A) -> F) -> bool {
    size_of::<F>() != 0 || type_name::<F>() != type_name::<Undecided<F::Output>>()
}
