//! Executing one call.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use gadgetry_proto::call::{Outcome, amount};
use serde_json::Value;

use crate::context::{ExecutionContext, Invocation};
use crate::gadget::DynGadget;
use crate::panics::panic_text;

impl Invocation {
    /// Executes the call. A panic of the gadget becomes an error, and reported costs are added to the returned ones.
    ///
    /// `context` is [`ExecutionContext::new`] of this invocation. A caller that may drop the future keeps a clone of the context,
    /// and then reads its [`ExecutionContext::reported_cost`].
    ///
    /// Cancel safety: dropping the future drops the gadget's own.
    pub async fn execute(self, gadget: &dyn DynGadget, context: ExecutionContext) -> Outcome {
        call(gadget, self.parameters, context).await
    }
}

/// Executes the call of `context` with `parameters`; see [`Invocation::execute`].
pub(crate) async fn call(
    gadget: &dyn DynGadget,
    parameters: Value,
    context: ExecutionContext,
) -> Outcome {
    closed(attempt(gadget, parameters, &context).await, &context)
}

/// Executes the gadget. Its account stays open.
pub(crate) async fn attempt(
    gadget: &dyn DynGadget,
    parameters: Value,
    context: &ExecutionContext,
) -> Outcome {
    // Inside an `async` block, because the call itself may panic as well as the future that it returns.
    let work = async { gadget.execute(parameters, context.clone()).await };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => Outcome::error(panic_text(context.gadget_name(), panic.as_ref())),
    }
}

/// Returns the outcome of a call that is over, with its cost.
pub(crate) fn closed(mut outcome: Outcome, context: &ExecutionContext) -> Outcome {
    outcome.cost = (amount(outcome.cost) + context.close()).min(f64::MAX);
    outcome
}
