//! The seam to a gadget: what a call starts.

mod function;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::spec::GadgetSpec;
use serde_json::Value;

use crate::context::ExecutionContext;

pub use function::{FnGadget, from_fn};

/// Something that a model can call.
pub trait DynGadget: Send + Sync {
    /// What the model is told about it, and what the scheduler obeys.
    fn spec(&self) -> &GadgetSpec;

    /// Does it. `parameters` are coerced and validated against the schema of [`DynGadget::spec`].
    ///
    /// A gadget does not watch its own `timeout_ms`: whoever starts it cancels the token of `context`, waits a short
    /// while, and then drops the future.
    ///
    /// Cancel safety: dropping the future must end the work. A gadget that has to tidy up watches
    /// [`ExecutionContext::cancellation`] and returns soon after.
    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome>;
}

/// What can be added to a [`Toolbox`](crate::Toolbox): a gadget, in whatever way it was defined.
pub trait IntoGadget {
    /// The gadget as a toolbox holds it.
    fn into_gadget(self) -> Arc<dyn DynGadget>;
}

impl IntoGadget for Arc<dyn DynGadget> {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        self
    }
}
