//! One call, and what becomes of it.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gadgetry_proto::call::{Outcome, amount};
use gadgetry_proto::id::InvocationId;
use serde_json::Value;

use crate::context::ExecutionContext;
use crate::gadget::DynGadget;

/// One call that may start now.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The gadget.
    pub gadget_name: String,
    /// The call.
    pub invocation_id: InvocationId,
    /// Its parameters, coerced and validated.
    pub parameters: Value,
    /// The results of the calls it declared as dependencies.
    pub dependencies: BTreeMap<InvocationId, Arc<str>>,
}

impl Invocation {
    /// Executes it on `gadget`. A panic of the gadget is its error, and reported costs are added to those returned.
    ///
    /// `context` is [`ExecutionContext::new`] of this invocation. Whoever may drop the future keeps a clone of it and
    /// asks that for the [`ExecutionContext::reported_cost`].
    ///
    /// Cancel safety: dropping the future drops the gadget's own.
    pub async fn execute(self, gadget: &dyn DynGadget, context: ExecutionContext) -> Outcome {
        let parameters = self.parameters;
        // The call itself may panic as well as the future that it returns.
        let work = async { gadget.execute(parameters, context.clone()).await };
        let mut outcome = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(panic) => Outcome::error(panic_text(&self.gadget_name, panic.as_ref())),
        };
        outcome.cost = (amount(outcome.cost) + context.close()).min(f64::MAX);
        outcome
    }
}

/// `who` panicked, and its words if there are any.
pub(crate) fn panic_text(who: &str, panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match words {
        Some(words) => format!("{who} panicked: {words}"),
        None => format!("{who} panicked"),
    }
}
