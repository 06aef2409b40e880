//! Gadgets made of a description and a closure.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::GadgetSpec;
use serde_json::Value;

use crate::context::ExecutionContext;
use crate::gadget::{DynGadget, IntoGadget, IntoOutcome};

/// Makes a gadget of a specification and a closure. The closure returns a `Result` with anything `Serialize`, or an [`Outcome`];
/// see [`IntoOutcome`].
///
/// ```
/// use gadgetry::GadgetSpec;
/// # use serde_json::json;
/// let spec = GadgetSpec::new("Greet", "Greets by name")
///     .parameters(json!({ "type": "object", "properties": { "name": { "type": "string" } } }));
/// let greet = gadgetry::from_fn(spec, |parameters, context| async move {
///     context.report_cost(0.001)?;
///     Ok(format!("Hello, {}", parameters["name"].as_str().unwrap_or("you")))
/// });
/// ```
pub fn from_fn<F, R>(spec: GadgetSpec, function: F) -> FnGadget<F>
where
    F: Fn(Value, ExecutionContext) -> R + Send + Sync,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    FnGadget { spec, function }
}

/// Gadget that [`from_fn`] makes.
#[derive(Clone, Debug)]
pub struct FnGadget<F> {
    spec: GadgetSpec,
    function: F,
}

impl<F, R> DynGadget for FnGadget<F>
where
    F: Fn(Value, ExecutionContext) -> R + Send + Sync,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let work = (self.function)(parameters, context);
        Box::pin(async move { work.await.into_outcome() })
    }
}

impl<F> IntoGadget for FnGadget<F>
where
    Self: DynGadget + 'static,
{
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        Arc::new(self)
    }
}
