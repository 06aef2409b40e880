//! One gadget by itself.

mod surroundings;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::RunInfo;
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::schema::invalid_parameters;
use gadgetry::{
    CancellationToken, DynGadget, ExecutionContext, Human, HumanQuestion, IntoGadget, Invocation,
    Media, Model, Services, Toolbox,
};
use serde_json::Value;

use surroundings::{Surroundings, User};

/// Maximum time for a gadget to tidy up after its timeout, as in a run.
const GRACE: Duration = Duration::from_secs(2);

/// Calls `gadget` once, as a run would: defaults are filled in, the parameters are validated, and it is executed with a
/// context of its own, under its own timeout. For dependencies, cancellation and more see [`GadgetTest`].
///
/// Needs a tokio runtime with time enabled if the gadget has a timeout.
///
/// Cancel safety: dropping the future drops the gadget's own.
///
/// ```
/// use gadgetry_testing::{MockGadget, paused, test_gadget};
/// use serde_json::json;
///
/// let add = MockGadget::builder("Add")
///     .schema(json!({
///         "type": "object",
///         "properties": { "a": { "type": "number" }, "b": { "type": "number", "default": 0 } },
///         "required": ["a"],
///     }))
///     .returns_fn(|p| (p["a"].as_i64().unwrap_or(0) + p["b"].as_i64().unwrap_or(0)).to_string())
///     .build();
/// let outcome = paused(test_gadget(add.clone(), json!({ "a": 5 })));
/// assert_eq!(outcome.result.as_deref(), Some("5"));
/// assert_eq!(outcome.validated_params, Some(json!({ "a": 5, "b": 0 })));
///
/// let outcome = paused(test_gadget(add, json!({ "b": 5 })));
/// assert!(outcome.error.is_some_and(|error| error.starts_with("Error: Invalid parameters for 'Add':")));
/// ```
pub async fn test_gadget(gadget: impl IntoGadget, params: Value) -> TestGadgetResult {
    GadgetTest::new(gadget).run(params).await
}

/// [`test_gadget`] for each of `params`, one after the other.
///
/// Cancel safety: dropping the future stops the running gadget; available results are lost.
pub async fn test_gadget_batch(
    gadget: impl IntoGadget,
    params: impl IntoIterator<Item = Value>,
) -> Vec<TestGadgetResult> {
    let test = GadgetTest::new(gadget);
    let mut results = Vec::new();
    for params in params {
        results.push(test.run(params).await);
    }
    results
}

/// The outcome of a call by [`test_gadget`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TestGadgetResult {
    /// The result, if the gadget gave one.
    pub result: Option<String>,
    /// Error that the model would read instead: invalid parameters, the gadget's own error, its panic, its timeout.
    pub error: Option<String>,
    /// The parameters that the gadget was given, with defaults; absent if they are not valid.
    pub validated_params: Option<Value>,
    /// Reported and returned costs, in US dollars.
    pub cost: f64,
    /// Whether the gadget ends the run.
    pub completes_run: bool,
    /// The question to the user, if the gadget ended with one. If the test answers it, the answer is the
    /// result.
    pub asks_human: Option<String>,
    /// The questions to the user of the test, in order.
    pub questions: Vec<String>,
    /// Media of the result.
    pub media: Vec<Media>,
}

impl TestGadgetResult {
    /// The result.
    ///
    /// # Panics
    ///
    /// If it is absent.
    #[track_caller]
    pub fn expect_result(&self) -> &str {
        match &self.result {
            Some(result) => result,
            None => panic!("the gadget gave no result: {self:#?}"),
        }
    }

    /// The error.
    ///
    /// # Panics
    ///
    /// If it is absent.
    #[track_caller]
    pub fn expect_error(&self) -> &str {
        match &self.error {
            Some(error) => error,
            None => panic!("the gadget did not fail: {self:#?}"),
        }
    }
}

/// [`test_gadget`] with a configured context.
///
/// Without a model, human input and a budget, the context has no run. With any of them it belongs to a run, in
/// which [`ExecutionContext::model`] is always present: without a model in the test, calling it returns an error.
///
/// ```
/// use gadgetry::proto::call::Outcome;
/// use gadgetry_testing::{GadgetTest, MockGadget, paused};
/// use serde_json::json;
///
/// let shout = MockGadget::builder("Shout")
///     .ends_fn(|_, context| Outcome::ok(context.dependency("quiet").unwrap_or("?").to_uppercase()))
///     .build();
/// let test = GadgetTest::new(shout).invocation_id("loud").dependency("quiet", "psst");
/// assert_eq!(paused(test.run(json!({}))).expect_result(), "PSST");
/// ```
///
/// A gadget that asks the user and a model:
///
/// ```
/// use gadgetry::proto::schema::GadgetSpec;
/// use gadgetry::{GadgetError, from_fn};
/// use gadgetry_testing::{GadgetTest, MockModel, paused, reply};
/// use serde_json::json;
///
/// let spec = GadgetSpec { name: "Greet".into(), ..GadgetSpec::default() };
/// let greet = from_fn(spec, |_, context| async move {
///     let name = context.ask_human("Who are you?").await?;
///     let model = context.model().ok_or_else(|| GadgetError::new("there is no model"))?;
///     Ok(model.complete(format!("Greet {name}"), ()).await?)
/// });
/// let test = GadgetTest::new(greet)
///     .model(MockModel::in_order([reply().text("Hi, you!")]))
///     .answers(["Ada"])
///     .budget(0.5);
/// let outcome = paused(test.run(json!({})));
/// assert_eq!(outcome.expect_result(), "Hi, you!");
/// assert_eq!(outcome.questions, ["Who are you?"]);
/// ```
#[derive(Clone)]
pub struct GadgetTest {
    gadget: Arc<dyn DynGadget>,
    invocation_id: InvocationId,
    dependencies: BTreeMap<InvocationId, Arc<str>>,
    cancellation: CancellationToken,
    skip_validation: bool,
    surroundings: Surroundings,
}

impl GadgetTest {
    /// Tests `gadget`.
    pub fn new(gadget: impl IntoGadget) -> Self {
        Self {
            gadget: gadget.into_gadget(),
            invocation_id: InvocationId::from("test"),
            dependencies: BTreeMap::new(),
            cancellation: CancellationToken::new(),
            skip_validation: false,
            surroundings: Surroundings::default(),
        }
    }

    /// The id of the call; `test` by default.
    #[must_use]
    pub fn invocation_id(mut self, id: impl Into<String>) -> Self {
        self.invocation_id = InvocationId::from(id.into());
        self
    }

    /// One more call that this one depends on, and its result.
    #[must_use]
    pub fn dependency(mut self, id: impl Into<String>, result: impl Into<Arc<str>>) -> Self {
        let id = InvocationId::from(id.into());
        self.dependencies.insert(id, result.into());
        self
    }

    /// The token that cancels the gadget. A timeout of the gadget cancels only a child of it.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// The model of the run: what [`ExecutionContext::model`] gives.
    #[must_use]
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.surroundings.model = Some(Arc::new(model));
        self
    }

    /// One more model, which the gadget may ask for by this name.
    #[must_use]
    pub fn named_model(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        let models = &mut self.surroundings.models;
        models.insert(name.into(), Arc::new(model));
        self
    }

    /// Human input with these answers, one to each question, and then none. Each call begins with the first.
    #[must_use]
    pub fn answers<A: Into<String>>(mut self, answers: impl IntoIterator<Item = A>) -> Self {
        let answers = answers.into_iter().map(Into::into).collect();
        self.surroundings.user = Some(User::Answers(answers));
        self
    }

    /// Human input, such as an async closure from the question to the answer, or `None`.
    #[must_use]
    pub fn human(mut self, human: impl Human + 'static) -> Self {
        self.surroundings.user = Some(User::Human(Arc::new(human)));
        self
    }

    /// Adds a value that the gadget finds by its type, with [`ExecutionContext::get`].
    #[must_use]
    pub fn with(mut self, value: impl Any + Send + Sync) -> Self {
        self.surroundings.values.insert(value);
        self
    }

    /// Sets the budget of each call, in US dollars: what [`ExecutionContext::budget_left`] begins with.
    #[must_use]
    pub fn budget(mut self, dollars: f64) -> Self {
        self.surroundings.budget = Some(dollars);
        self
    }

    /// Gives the gadget the parameters as they are.
    #[must_use]
    pub fn skip_validation(mut self) -> Self {
        self.skip_validation = true;
        self
    }

    /// Calls the gadget once. It may be called again.
    ///
    /// Cancel safety: dropping the future drops the gadget's own.
    pub async fn run(&self, params: Value) -> TestGadgetResult {
        let mut result = TestGadgetResult::default();
        let parameters = match self.validated(params) {
            Ok(parameters) => parameters,
            Err(error) => {
                result.error = Some(error);
                return result;
            }
        };
        result.validated_params = Some(parameters.clone());
        let around = self.surroundings.services();
        let services = around.as_ref().map(|(services, _)| services.clone());
        let mut outcome = self.execute(parameters, services).await;
        if let Some((services, asked)) = around {
            outcome = answered(outcome, services.human).await;
            result.questions = asked.questions();
        }
        match outcome.result {
            Ok(text) => result.result = Some(text),
            Err(error) => result.error = Some(error),
        }
        result.cost = outcome.cost;
        result.completes_run = outcome.completes_run;
        result.asks_human = outcome.asks_human;
        result.media = outcome.media;
        result
    }

    fn validated(&self, parameters: Value) -> Result<Value, String> {
        if self.skip_validation {
            return Ok(parameters);
        }
        // What keeps a gadget out of a toolbox keeps it out of every run.
        let added = Toolbox::default().add(Arc::clone(&self.gadget));
        added.map_err(|error| error.to_string())?;
        let name = &self.gadget.spec().name;
        let checked = self.gadget.check(parameters);
        checked.map_err(|invalid| invalid_parameters(name, &invalid.problems))
    }

    async fn execute(&self, parameters: Value, services: Option<Services>) -> Outcome {
        let spec = self.gadget.spec();
        let invocation = Invocation {
            gadget_name: spec.name.clone(),
            invocation_id: self.invocation_id.clone(),
            parameters,
            dependencies: self.dependencies.clone(),
        };
        let token = self.cancellation.child_token();
        let context = match services {
            Some(services) => ExecutionContext::with_services(&invocation, token.clone(), services),
            None => ExecutionContext::new(&invocation, token.clone()),
        };
        let account = context.clone();
        let work = invocation.execute(self.gadget.as_ref(), context);
        let Some(allowed) = spec.timeout_ms else {
            return work.await;
        };
        tokio::pin!(work);
        let in_time = tokio::time::timeout(Duration::from_millis(allowed), &mut work);
        if let Ok(outcome) = in_time.await {
            return outcome;
        }
        token.cancel();
        let late = tokio::time::timeout(GRACE, work).await;
        let cost = late.map_or_else(|_| account.reported_cost(), |outcome| outcome.cost);
        let name = &spec.name;
        let error = format!("Gadget '{name}' execution exceeded timeout of {allowed}ms");
        Outcome {
            cost,
            ..Outcome::error(error)
        }
    }
}

/// A gadget that ended with a question has the answer as its result, if there is an answer.
async fn answered(outcome: Outcome, human: Option<Arc<dyn Human>>) -> Outcome {
    let (Some(question), Some(human)) = (&outcome.asks_human, human) else {
        return outcome;
    };
    let run = RunInfo::new("test", "none");
    match human.ask(HumanQuestion::new(question, run)).await {
        Some(answer) => Outcome {
            result: Ok(answer),
            ..outcome
        },
        None => outcome,
    }
}

impl std::fmt::Debug for GadgetTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GadgetTest")
            .field("gadget", &self.gadget.spec().name)
            .field("invocation_id", &self.invocation_id)
            .field("dependencies", &self.dependencies)
            .field("skip_validation", &self.skip_validation)
            .finish_non_exhaustive()
    }
}
