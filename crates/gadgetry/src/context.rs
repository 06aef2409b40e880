//! What a running gadget is given beside its parameters.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use gadgetry_proto::call::{Outcome, amount};
use gadgetry_proto::id::InvocationId;
use serde_json::Value;

pub use tokio_util::sync::CancellationToken;

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
        outcome.cost = (amount(outcome.cost) + context.reported_cost()).min(f64::MAX);
        outcome
    }
}

fn panic_text(gadget: &str, panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match words {
        Some(words) => format!("{gadget} panicked: {words}"),
        None => format!("{gadget} panicked"),
    }
}

/// What a gadget is given beside its parameters. Clones share one cancellation and one account of costs.
#[derive(Clone, Debug)]
pub struct ExecutionContext {
    invocation_id: InvocationId,
    cancellation: CancellationToken,
    dependencies: Arc<BTreeMap<InvocationId, Arc<str>>>,
    cost: Arc<Mutex<f64>>,
}

impl ExecutionContext {
    /// The context of `invocation`, which ends when `cancellation` is cancelled.
    pub fn new(invocation: &Invocation, cancellation: CancellationToken) -> Self {
        Self {
            invocation_id: invocation.invocation_id.clone(),
            cancellation,
            dependencies: Arc::new(invocation.dependencies.clone()),
            cost: Arc::default(),
        }
    }

    /// The id of the call.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.invocation_id
    }

    /// Cancelled when the run is, and when the gadget's time is up.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// The result of a call that this one declared as a dependency; `None` for any other.
    pub fn dependency(&self, invocation_id: &str) -> Option<&str> {
        self.dependencies.get(invocation_id).map(AsRef::as_ref)
    }

    /// Adds `dollars` to the cost of the call. It counts however the call ends.
    pub fn report_cost(&self, dollars: f64) -> Result<(), InvalidCost> {
        if !dollars.is_finite() || dollars < 0.0 {
            return Err(InvalidCost(dollars));
        }
        let mut cost = self.cost.lock().unwrap_or_else(PoisonError::into_inner);
        *cost = (*cost + dollars).min(f64::MAX);
        Ok(())
    }

    /// What was reported so far, in US dollars.
    pub fn reported_cost(&self) -> f64 {
        *self.cost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gadget reported a cost that is none: a mistake in the gadget.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a cost must be a finite amount of US dollars, 0 or more, and not {0}")]
pub struct InvalidCost(pub f64);
