//! Gadgets whose parameters are a type.

use std::any::Any;
use std::future::ready;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::{Example, GadgetSpec, OnInterrupt, Unterminated, invalid_parameters};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::context::ExecutionContext;
use crate::gadget::{
    CallPreview, DynGadget, FromModel, GadgetError, GadgetOutput, IntoGadget, IntoOutcome as _,
    InvalidParams, Permission, params, schema,
};
use crate::run_context::Need;

/// A gadget whose parameters are a type: for gadgets with state, and wherever the compiler should check the form of a call.
///
/// The JSON Schema of `Params` is what the model reads and what validates a call: its doc comments are the descriptions, and an
/// `Option` or a `#[serde(default)]` is optional. After the check, serde reads the parameters; if it still refuses them, the
/// model reads the reason and the position. No further crate is needed:
///
/// ```
/// use std::time::Duration;
///
/// use gadgetry::schemars::JsonSchema;
/// use gadgetry::serde::Deserialize;
/// use gadgetry::{ExecutionContext, Gadget, GadgetError, GadgetInfo, Toolbox};
///
/// struct Weather {
///     service: String,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "gadgetry::serde")]
/// #[schemars(crate = "gadgetry::schemars")]
/// struct Place {
///     /// City name
///     #[schemars(length(min = 1))]
///     city: String,
///     /// How many days ahead
///     #[serde(default)]
///     days: u8,
/// }
///
/// impl Gadget for Weather {
///     type Params = Place;
///     type Output = String;
///
///     fn info(&self) -> GadgetInfo {
///         GadgetInfo::new("Weather", "Get weather for a city").timeout(Duration::from_secs(10))
///     }
///
///     async fn execute(&self, place: Place, _context: ExecutionContext) -> Result<String, GadgetError> {
///         Ok(format!("{} says: sun in {}", self.service, place.city))
///     }
/// }
///
/// let mut toolbox = Toolbox::default();
/// toolbox.add(Weather { service: "The almanac".to_owned() })?;
/// # Ok::<(), gadgetry::toolbox::ToolboxError>(())
/// ```
pub trait Gadget: Send + Sync + 'static {
    /// Parameters of a call. A struct with named fields, an enum whose variants are objects, or a map; [`NoParams`] for no
    /// parameters.
    type Params: FromModel + Send;
    /// Result of a call: anything `Serialize`, or a [`GadgetOutput`].
    type Output: Into<GadgetOutput> + Send;

    /// Returns the description for the model, and the rules for the scheduler. Called once, when the gadget is added.
    fn info(&self) -> GadgetInfo;

    /// Executes a call.
    ///
    /// Cancel safety: dropping the future must end the work. A gadget that has to clean up watches
    /// [`ExecutionContext::cancellation`] and returns soon after.
    fn execute(
        &self,
        params: Self::Params,
        context: ExecutionContext,
    ) -> impl Future<Output = Result<Self::Output, GadgetError>> + Send;

    /// Returns the decision about calls that no rule of [`approval`](crate::approval) matches: [`Permission::Allow`] by default.
    fn permission(&self) -> Permission {
        Permission::Allow
    }

    /// Returns the effects that a call would have, for rules and for the user who approves it. Changes nothing.
    ///
    /// # Errors
    ///
    /// The call cannot be executed, for a reason that the model reads.
    fn preview(
        &self,
        params: Self::Params,
    ) -> impl Future<Output = Result<CallPreview, GadgetError>> + Send {
        let _ = params;
        ready(Ok(CallPreview::default()))
    }
}

/// Forwards to the gadget, of which the program keeps a handle.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use gadgetry::{Agent, ExecutionContext, Gadget, GadgetError, GadgetInfo, NoParams};
///
/// #[derive(Default)]
/// struct Counter(AtomicU32);
///
/// impl Gadget for Counter {
///     type Params = NoParams;
///     type Output = u32;
///
///     fn info(&self) -> GadgetInfo {
///         GadgetInfo::new("Count", "Counts up by one")
///     }
///
///     async fn execute(&self, _: NoParams, _: ExecutionContext) -> Result<u32, GadgetError> {
///         Ok(self.0.fetch_add(1, Ordering::Relaxed) + 1)
///     }
/// }
///
/// let counter = Arc::new(Counter::default());
/// let agent = Agent::builder().gadget(Arc::clone(&counter));
/// # let _ = agent;
/// assert_eq!(counter.0.load(Ordering::Relaxed), 0);
/// ```
impl<G: Gadget> Gadget for Arc<G> {
    type Params = G::Params;
    type Output = G::Output;

    fn info(&self) -> GadgetInfo {
        (**self).info()
    }

    fn execute(
        &self,
        params: Self::Params,
        context: ExecutionContext,
    ) -> impl Future<Output = Result<Self::Output, GadgetError>> + Send {
        (**self).execute(params, context)
    }

    fn permission(&self) -> Permission {
        (**self).permission()
    }

    fn preview(
        &self,
        params: Self::Params,
    ) -> impl Future<Output = Result<CallPreview, GadgetError>> + Send {
        (**self).preview(params)
    }
}

/// The parameters of a gadget that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// The metadata of a gadget except its parameters.
///
/// ```
/// use gadgetry::{Example, GadgetInfo};
/// use serde_json::json;
///
/// let info = GadgetInfo::new("Sum", "Adds numbers")
///     .max_concurrent(2)
///     .example(Example::new(json!({ "numbers": [1, 2] })).output("3"));
/// assert_eq!(info.name, "Sum");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GadgetInfo {
    /// Name in blocks. Lookup ignores case.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// Calls that show how to use it. They are checked against the schema when the gadget is added.
    pub examples: Vec<Example>,
    /// Time after which a call is cancelled and answered with an error; `None` uses the run's default. The next request waits
    /// until the gadget has cleaned up, see [`AgentBuilder::grace`](crate::AgentBuilder::grace).
    pub timeout: Option<Duration>,
    /// Maximum number of its calls that run at once.
    pub max_concurrent: Option<u32>,
    /// True if no other gadget may run at the same time.
    pub exclusive: bool,
    /// True if compaction keeps its results.
    pub sticky_result: bool,
    /// Policy for a block that only the end of the reply completes; `None` uses the run's policy.
    pub unterminated: Option<Unterminated>,
    /// Policy for a call that was running when the program ended.
    pub on_interrupt: OnInterrupt,
    /// Types of the values that its calls take from the run.
    pub needs: Vec<Need>,
}

impl GadgetInfo {
    /// Makes the metadata of a gadget with this name and description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Adds a call that shows how to use it.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// Sets the time after which a call is cancelled. It is rounded up to whole milliseconds, at least one. Zero means no
    /// timeout, whatever the run's default is. The next request waits until the gadget has cleaned up, see
    /// [`AgentBuilder::grace`](crate::AgentBuilder::grace).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the maximum number of its calls that run at once: 1 or more.
    #[must_use]
    pub fn max_concurrent(mut self, calls: u32) -> Self {
        self.max_concurrent = Some(calls);
        self
    }

    /// Prevents other gadgets from running at the same time.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Makes compaction keep its results.
    #[must_use]
    pub fn sticky_result(mut self) -> Self {
        self.sticky_result = true;
        self
    }

    /// Sets the policy for a block that only the end of the reply completes, whatever the run's own policy. A gadget that writes,
    /// sends or runs something should be [`Unterminated::Confirm`]: the last value of such a block may be cut off.
    #[must_use]
    pub fn unterminated(mut self, policy: Unterminated) -> Self {
        self.unterminated = Some(policy);
        self
    }

    /// Sets the policy, once the run is continued, for a call that was running when the program ended: [`OnInterrupt::Fail`] by
    /// default. A gadget that only reads should be [`OnInterrupt::Rerun`].
    #[must_use]
    pub fn on_interrupt(mut self, policy: OnInterrupt) -> Self {
        self.on_interrupt = policy;
        self
    }

    /// Adds a type of value that its calls take from the run; see [`ExecutionContext::get`]. A run without such a value fails
    /// before its first request.
    #[must_use]
    pub fn needs<T: Any + Send + Sync>(mut self) -> Self {
        self.needs.push(Need::of::<T>());
        self
    }

    /// The specification of a gadget with parameters of this type.
    pub(crate) fn into_spec<P: JsonSchema>(self) -> GadgetSpec {
        let milliseconds = |timeout: Duration| u64::try_from(timeout.as_millis());
        GadgetSpec {
            name: self.name,
            description: self.description,
            parameters: schema::schema_of::<P>(),
            examples: self.examples,
            timeout_ms: self.timeout.map(|timeout| {
                let shortest = u64::from(!timeout.is_zero());
                milliseconds(timeout).unwrap_or(u64::MAX).max(shortest)
            }),
            max_concurrent: self.max_concurrent,
            exclusive: self.exclusive,
            sticky_result: self.sticky_result,
            unterminated: self.unterminated,
            on_interrupt: self.on_interrupt,
        }
    }
}

// Without it, the compiler reports that a function lacks `Gadget`, not that its gadget has another name.
#[diagnostic::do_not_recommend]
impl<G: Gadget> IntoGadget for G {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        let mut info = self.info();
        let needs = mem::take(&mut info.needs);
        Arc::new(Typed {
            gadget: Arc::new(self),
            spec: info.into_spec::<G::Params>(),
            needs,
        })
    }
}

/// A typed gadget with its types erased.
struct Typed<G> {
    gadget: Arc<G>,
    spec: GadgetSpec,
    needs: Vec<Need>,
}

impl<G: Gadget> DynGadget for Typed<G> {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let params = match params::read(parameters) {
            Ok(params) => params,
            Err(problem) => {
                let error = invalid_parameters(&self.spec.name, &[problem]);
                return Box::pin(ready(Outcome::error(error)));
            }
        };
        let gadget = Arc::clone(&self.gadget);
        Box::pin(async move {
            let result = gadget.execute(params, context).await;
            result.into_outcome()
        })
    }

    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        params::checked_as::<G::Params>(&self.spec, parameters)
    }

    fn needs(&self) -> &[Need] {
        &self.needs
    }

    fn permission(&self) -> Permission {
        self.gadget.permission()
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        Box::pin(async move {
            let params = params::read(parameters.clone())
                .map_err(|problem| invalid_parameters(&self.spec.name, &[problem]))?;
            let preview = self.gadget.preview(params).await;
            preview.map_err(|error| error.to_string())
        })
    }
}
