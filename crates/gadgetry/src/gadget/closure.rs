//! Gadgets made of a closure whose parameters are a type.

use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::{GadgetSpec, invalid_parameters};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::ExecutionContext;
use crate::gadget::{
    DynGadget, FromModel, GadgetInfo, IntoGadget, IntoOutcome, InvalidParams, params,
};

/// Makes a gadget of a closure whose parameters are a type: the closure captures its state, and the schema comes from the type.
///
/// The closure returns a `Result` with anything `Serialize`, or an [`Outcome`]; see [`IntoOutcome`].
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
/// use gadgetry::schemars::JsonSchema;
/// use gadgetry::serde::Deserialize;
/// use gadgetry::{Agent, GadgetInfo, typed};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "gadgetry::serde", deny_unknown_fields)]
/// #[schemars(crate = "gadgetry::schemars")]
/// struct Find {
///     /// Exactly as in the book
///     name: String,
/// }
///
/// let book = Arc::new(HashMap::from([("Ada", "555-0100")]));
/// let find = typed(GadgetInfo::new("Find", "Finds a telephone number"), move |find: Find, _| {
///     let book = Arc::clone(&book);
///     async move { Ok(*book.get(find.name.as_str()).ok_or("there is no such entry")?) }
/// });
/// let agent = Agent::builder().gadget(find);
/// # let _ = agent;
/// ```
pub fn typed<P, F, R>(info: GadgetInfo, function: F) -> TypedFn<P, F>
where
    P: FromModel,
    F: Fn(P, ExecutionContext) -> R + Send + Sync,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    TypedFn {
        spec: info.into_spec::<P>(),
        function,
        params: PhantomData,
    }
}

/// Gadget that [`typed`] makes.
#[derive(Clone, Debug)]
pub struct TypedFn<P, F> {
    spec: GadgetSpec,
    function: F,
    params: PhantomData<fn(P)>,
}

impl<P, F, R> DynGadget for TypedFn<P, F>
where
    P: DeserializeOwned,
    F: Fn(P, ExecutionContext) -> R + Send + Sync,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        match params::read(parameters) {
            Ok(params) => {
                let work = (self.function)(params, context);
                Box::pin(async move { work.await.into_outcome() })
            }
            Err(problem) => {
                let error = invalid_parameters(&self.spec.name, &[problem]);
                Box::pin(ready(Outcome::error(error)))
            }
        }
    }

    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        params::checked_as::<P>(&self.spec, parameters)
    }
}

impl<P, F> IntoGadget for TypedFn<P, F>
where
    Self: DynGadget + 'static,
{
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        Arc::new(self)
    }
}
