//! What runs beside the driver: gadgets and decisions. Neither their errors nor their panics get out.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Decision, QuestionId, QuestionKind};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::context::{ExecutionContext, Invocation, panic_text};
use crate::control::DynController;
use crate::gadget::DynGadget;

/// How a task ended.
pub(crate) enum Ending {
    /// A gadget is done, since then.
    Done(CallId, Outcome, Instant),
    /// Somebody has decided.
    Decided(QuestionId, Decision),
    /// A controller has panicked, in these words.
    Fault(String),
}

/// Executes a call in a span of its own.
pub(crate) fn execute(
    id: CallId,
    gadget: Option<Arc<dyn DynGadget>>,
    invocation: Invocation,
    context: ExecutionContext,
) -> impl Future<Output = Ending> + Send + 'static {
    let span = tracing::info_span!(
        "gadget",
        run = context.services().map(|services| &*services.family.path),
        call = invocation.invocation_id.as_str(),
        gadget = invocation.gadget_name,
    );
    // What the gadget has started beside itself ends with it, also when the run is dropped.
    let end = context.token().clone().drop_guard();
    let work = async move {
        let _end = end;
        let Some(gadget) = gadget else {
            let error = format!("Gadget '{}' is not available", invocation.gadget_name);
            return Ending::Done(id, Outcome::error(error), Instant::now());
        };
        let account = context.clone();
        let work = invocation.execute(gadget.as_ref(), context);
        // Its end may panic as well, when the future is dropped.
        let whole = AssertUnwindSafe(until_cancelled(work, &account)).catch_unwind();
        let outcome = whole.await;
        let outcome = outcome.unwrap_or_else(|_| cut_short(&account, "panicked at its end"));
        Ending::Done(id, outcome, Instant::now())
    };
    work.instrument(span)
}

/// The outcome of `work`; if it is cancelled and does not end soon, what it has cost.
async fn until_cancelled(
    work: impl Future<Output = Outcome>,
    account: &ExecutionContext,
) -> Outcome {
    let mut work = Box::pin(work);
    let token = account.token();
    if let Some(outcome) = token.run_until_cancelled(work.as_mut()).await {
        return outcome;
    }
    if let Ok(outcome) = timeout(account.grace(), work.as_mut()).await {
        return outcome;
    }
    // What it has asked of models is counted when it is dropped.
    drop(work);
    cut_short(account, "cancelled")
}

/// The outcome of a gadget that did not come to an end of its own: what it has reported counts.
fn cut_short(account: &ExecutionContext, why: &str) -> Outcome {
    Outcome {
        cost: account.close(),
        ..Outcome::error(why)
    }
}

/// Asks a controller.
pub(crate) async fn decide(
    id: QuestionId,
    question: QuestionKind,
    controller: Arc<dyn DynController>,
) -> Ending {
    let decision = AssertUnwindSafe(async { controller.decide(&question).await }).catch_unwind();
    match decision.await {
        Ok(decision) => Ending::Decided(id, decision),
        Err(panic) => Ending::Fault(panic_text("a controller", panic.as_ref())),
    }
}
