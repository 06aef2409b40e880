//! A scripted gadget that records its calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{DynGadget, ExecutionContext, IntoGadget};
use serde_json::{Value, json};

/// A gadget for tests. Clones are the same gadget: one goes to the toolbox while the test keeps another.
///
/// ```
/// use gadgetry_testing::{MockGadget, paused, test_gadget};
/// use serde_json::json;
///
/// let search = MockGadget::builder("Search").returns("3 hits").cost(0.01).build();
/// let outcome = paused(test_gadget(search.clone(), json!({ "query": "tea" })));
/// assert_eq!(outcome.result.as_deref(), Some("3 hits"));
/// assert!(search.was_called_with(&json!({ "query": "tea" })));
/// assert_eq!(search.call_count(), 1);
/// ```
#[derive(Clone)]
pub struct MockGadget {
    shared: Arc<Shared>,
}

struct Shared {
    spec: GadgetSpec,
    behaviour: Behaviour,
    calls: Mutex<Vec<RecordedCall>>,
}

#[derive(Clone)]
struct Behaviour {
    delay: Duration,
    cost: f64,
    end: End,
}

#[derive(Clone)]
enum End {
    Outcome(Outcome),
    By(Arc<Make>),
    Panic(String),
}

type Make = dyn Fn(&Value, &ExecutionContext) -> Outcome + Send + Sync;

/// One call of a [`MockGadget`].
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// The id of the call.
    pub invocation_id: InvocationId,
    /// Parameters, coerced, validated and completed with defaults.
    pub parameters: Value,
}

impl MockGadget {
    /// A gadget of this name that takes any object and returns an empty text.
    pub fn builder(name: impl Into<String>) -> MockGadgetBuilder {
        MockGadgetBuilder {
            spec: GadgetSpec {
                name: name.into(),
                description: "A gadget of a test".to_owned(),
                ..GadgetSpec::default()
            },
            behaviour: Behaviour {
                delay: Duration::ZERO,
                cost: 0.0,
                end: End::Outcome(Outcome::ok("")),
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecordedCall>> {
        self.shared
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls so far, in the order in which they started.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.lock().clone()
    }

    /// Returns the number of calls.
    pub fn call_count(&self) -> usize {
        self.lock().len()
    }

    /// The call that started last.
    pub fn last_call(&self) -> Option<RecordedCall> {
        self.lock().last().cloned()
    }

    /// Returns whether some call had exactly these parameters.
    pub fn was_called_with(&self, parameters: &Value) -> bool {
        self.lock()
            .iter()
            .any(|call| call.parameters == *parameters)
    }
}

impl IntoGadget for MockGadget {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        Arc::new(self)
    }
}

impl DynGadget for MockGadget {
    fn spec(&self) -> &GadgetSpec {
        &self.shared.spec
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        self.lock().push(RecordedCall {
            invocation_id: context.invocation_id().clone(),
            parameters: parameters.clone(),
        });
        let behaviour = self.shared.behaviour.clone();
        Box::pin(async move { behaviour.outcome(&parameters, &context).await })
    }
}

impl Behaviour {
    async fn outcome(self, parameters: &Value, context: &ExecutionContext) -> Outcome {
        // Reported first, so that it counts however the call ends. The builder has checked it.
        let _ = context.report_cost(self.cost);
        if !self.delay.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(self.delay) => {}
                () = context.cancellation().cancelled() => return Outcome::error("cancelled"),
            }
        }
        match self.end {
            End::Outcome(outcome) => outcome,
            End::By(make) => make(parameters, context),
            End::Panic(words) => panic!("{words}"),
        }
    }
}

impl std::fmt::Debug for MockGadget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockGadget")
            .field("name", &self.shared.spec.name)
            .field("calls", &*self.lock())
            .finish_non_exhaustive()
    }
}

/// Describes a [`MockGadget`]. Of the ways to end, the last one set applies.
#[must_use = "a builder does nothing until `build` is called"]
pub struct MockGadgetBuilder {
    spec: GadgetSpec,
    behaviour: Behaviour,
}

impl MockGadgetBuilder {
    /// Sets the description for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = description.into();
        self
    }

    /// The JSON Schema of its parameters.
    pub fn schema(mut self, schema: Value) -> Self {
        self.spec.parameters = schema;
        self
    }

    /// One more parameter that is required, of a JSON Schema type such as `string`.
    pub fn param(mut self, name: &str, kind: &str) -> Self {
        let schema = &mut self.spec.parameters;
        schema["properties"][name] = json!({ "type": kind });
        if let Value::Array(required) = &mut schema["required"] {
            required.push(json!(name));
        } else {
            schema["required"] = json!([name]);
        }
        self
    }

    /// The rest of its description: `change` may set anything, such as examples, limits and exclusiveness.
    pub fn spec(mut self, change: impl FnOnce(&mut GadgetSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// After this time a run cancels it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the duration of a call, on tokio's clock. Cancelled meanwhile, it ends at once with an error.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.behaviour.delay = delay;
        self
    }

    /// Sets the cost of each call in US dollars, however it ends.
    ///
    /// # Panics
    ///
    /// If it is negative or not finite.
    #[track_caller]
    pub fn cost(mut self, dollars: f64) -> Self {
        assert!(
            dollars.is_finite() && dollars >= 0.0,
            "a cost is 0 or more US dollars, and not {dollars}"
        );
        self.behaviour.cost = dollars;
        self
    }

    /// Returns this text.
    pub fn returns(self, result: impl Into<String>) -> Self {
        self.ends(End::Outcome(Outcome::ok(result)))
    }

    /// Fails with this error.
    pub fn fails(self, error: impl Into<String>) -> Self {
        self.ends(End::Outcome(Outcome::error(error)))
    }

    /// Ends like this, which may complete the run.
    pub fn ends_with(self, outcome: Outcome) -> Self {
        self.ends(End::Outcome(outcome))
    }

    /// Returns what `make` makes of its parameters.
    pub fn returns_fn<T: Into<String>>(
        self,
        make: impl Fn(&Value) -> T + Send + Sync + 'static,
    ) -> Self {
        self.ends_fn(move |parameters, _| Outcome::ok(make(parameters)))
    }

    /// Ends as `make` says, which also sees the context of the call: its dependencies, its cancellation.
    pub fn ends_fn(
        self,
        make: impl Fn(&Value, &ExecutionContext) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.ends(End::By(Arc::new(make)))
    }

    /// Panics with this message.
    pub fn panics(self, words: impl Into<String>) -> Self {
        self.ends(End::Panic(words.into()))
    }

    fn ends(mut self, end: End) -> Self {
        self.behaviour.end = end;
        self
    }

    /// The gadget.
    pub fn build(self) -> MockGadget {
        MockGadget {
            shared: Arc::new(Shared {
                spec: self.spec,
                behaviour: self.behaviour,
                calls: Mutex::default(),
            }),
        }
    }
}

impl std::fmt::Debug for MockGadgetBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockGadgetBuilder")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
