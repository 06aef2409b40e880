//! The tasks of a run: gadgets and questions, each on its own.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Either, abortable, select};
use gadgetry_proto::call::Outcome;
use gadgetry_proto::event::RunInfo;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Decision, QuestionId};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::approval::Binding;
use crate::context::ExecutionContext;
use crate::gadget::{DynGadget, call};
use crate::panics::panic_text;
use crate::runtime::{Runtime, Step, StepKind};

/// End of a task.
pub(super) enum Ending {
    /// A gadget was done at this time.
    Done(CallId, Outcome, Instant),
    /// A question was answered.
    Decided(QuestionId, Decision),
    /// A hook panicked, with this message.
    Fault(String),
}

/// A running task. Dropping it ends the task.
pub(super) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts tasks and waits for their ends.
pub(super) struct Tasks {
    runtime: Arc<dyn Runtime>,
    /// The path of the run, for steps.
    run: Arc<str>,
    /// The identity of the run, for spans.
    info: Arc<RunInfo>,
    sender: mpsc::UnboundedSender<Ending>,
    endings: mpsc::UnboundedReceiver<Ending>,
}

impl Tasks {
    pub(super) fn new(runtime: Arc<dyn Runtime>, run: Arc<str>, info: Arc<RunInfo>) -> Self {
        let (sender, endings) = mpsc::unbounded_channel();
        Self {
            runtime,
            run,
            info,
            sender,
            endings,
        }
    }

    pub(super) fn step(&self, kind: StepKind) -> Step {
        Step {
            run: Arc::clone(&self.run),
            kind,
        }
    }

    /// Waits for the next task to end.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn next(&mut self) -> Ending {
        match self.endings.recv().await {
            Some(ending) => ending,
            // Never: `self` has a sender.
            None => std::future::pending().await,
        }
    }

    /// Executes a call in its own span. Without a gadget, it fails with this text.
    pub(super) fn gadget(
        &self,
        id: CallId,
        gadget: Result<Arc<dyn DynGadget>, String>,
        parameters: Value,
        context: ExecutionContext,
        binding: Option<Binding>,
    ) -> Task {
        let span = tracing::info_span!(
            "gadget",
            run = &*self.info.id,
            agent = self.info.agent.as_deref(),
            call = context.invocation_id().as_str(),
            gadget = context.gadget_name(),
        );
        // Work that the gadget has spawned ends with it, also when the run is dropped and the task with it.
        let end = context.token().clone().drop_guard();
        let runtime = Arc::clone(&self.runtime);
        let account = context.clone();
        let work = {
            let runtime = Arc::clone(&runtime);
            async move {
                let gadget = match gadget {
                    Ok(gadget) => gadget,
                    Err(reason) => return Outcome::error(reason),
                };
                // In a box, because it is large, and each future around it would copy it.
                let work: BoxFuture<'_, Outcome> = match binding {
                    Some(binding) => Box::pin(binding.call(&*gadget, parameters, context.clone())),
                    None => Box::pin(call(&*gadget, parameters, context.clone())),
                };
                until_cancelled(work, &context, &*runtime).await
            }
        };
        let work = runtime.gadget(&self.step(StepKind::Gadget(id)), Box::pin(work));
        let task = async move {
            let _end = end;
            // `call` catches panics of the gadget's work. This one is from dropping its future, or from the runtime.
            let outcome = AssertUnwindSafe(work).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| cut_short(&account, "panicked at its end"));
            // Taken here and not when the driver reads it: a gadget that was done in time is done in time, even if the
            // driver is polled only after the timeout.
            Ending::Done(id, outcome, runtime.now())
        };
        self.spawn(task.instrument(span))
    }

    /// Answers a question with the result of `work`. A panic of it, or of the runtime, is an [`Ending::Fault`] of `who`.
    pub(super) fn question(
        &self,
        id: QuestionId,
        who: &'static str,
        work: BoxFuture<'static, Decision>,
    ) -> Task {
        let step = self.step(StepKind::Question(id));
        let work = self.runtime.question(&step, work);
        self.spawn(async move {
            match AssertUnwindSafe(work).catch_unwind().await {
                Ok(decision) => Ending::Decided(id, decision),
                Err(panic) => Ending::Fault(panic_text(who, panic.as_ref())),
            }
        })
    }

    fn spawn(&self, task: impl Future<Output = Ending> + Send + 'static) -> Task {
        let sender = self.sender.clone();
        let (task, handle) = abortable(async move {
            // It fails when the run is over.
            let _ = sender.send(task.await);
        });
        self.runtime.spawn(Box::pin(task.map(|_| ())));
        Task(handle)
    }
}

/// Returns the outcome of `work`; if it is cancelled and does not end within its grace period, only its cost.
async fn until_cancelled(
    mut work: BoxFuture<'_, Outcome>,
    context: &ExecutionContext,
    runtime: &dyn Runtime,
) -> Outcome {
    let token = context.token();
    if let Some(outcome) = token.run_until_cancelled(work.as_mut()).await {
        return outcome;
    }
    let grace = runtime.sleep_until(runtime.now() + context.grace());
    if let Either::Left((outcome, _)) = select(work.as_mut(), grace).await {
        return outcome;
    }
    // With it, its model calls are dropped, which report their cost. Only then is the cost final.
    drop(work);
    cut_short(context, "cancelled")
}

/// Returns the outcome of a gadget that was stopped: its reported costs count.
fn cut_short(context: &ExecutionContext, why: &str) -> Outcome {
    Outcome {
        cost: context.close(),
        ..Outcome::error(why)
    }
}
