//! An answer of a type.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::run::{OnTextOnlyReply, Plan};
use gadgetry_proto::schema::{GadgetSpec, Problem, invalid_parameters};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::inner::Inner;
use crate::agent::{Agent, AgentError, AgentRun, Finished, TypedError};
use crate::context::ExecutionContext;
use crate::gadget::{DynGadget, GadgetInfo, read};

/// Name of the gadget that the model calls to give its answer.
const NAME: &str = "FinalAnswer";

/// The answer of a run as a value, from [`AgentRun::typed`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The answer.
    pub value: T,
    /// The run: messages, costs, calls. [`Finished::usage`] has its tokens.
    pub finished: Finished,
}

impl AgentRun<'_> {
    /// The answer as a value, with the run that gave it.
    ///
    /// The run gets one more gadget, `FinalAnswer`, whose parameters are those of `T`; a `T` that is not an object is its one
    /// parameter `answer`. The model reads the description of the fields from the doc comments of `T`. A call that does
    /// not fit is answered with what is wrong, and the model tries again; a reply that calls nothing is answered with a
    /// reminder. All of this counts as replies, which
    /// [`max_iterations`](crate::AgentBuilder::max_iterations) limits.
    ///
    /// Fails as [`AgentRun::text`] does; if a gadget or a hook has ended the run without an answer; if a gadget of the
    /// agent is called `FinalAnswer`; and if the stream of the run was read before.
    ///
    /// Cancel safety: dropping the future cancels the run.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = serde_json::json!({
    /// #     "text": "!!!GADGET_START:FinalAnswer\n!!!ARG:stars\n4\n!!!ARG:why\nIt works.\n!!!GADGET_END"
    /// # }).to_string().parse()?;
    /// # use gadgetry::serde_json;
    /// use gadgetry::schemars::JsonSchema;
    /// use gadgetry::serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[serde(crate = "gadgetry::serde")]
    /// #[schemars(crate = "gadgetry::schemars")]
    /// struct Rating {
    ///     /// From 1 to 5
    ///     #[schemars(range(min = 1, max = 5))]
    ///     stars: u8,
    ///     why: String,
    /// }
    ///
    /// let agent = gadgetry::Agent::builder().model(model).build()?;
    /// let rated = agent.ask("Rate this crate").typed::<Rating>().await?;
    /// assert_eq!((rated.value.stars, rated.value.why.as_str()), (4, "It works."));
    /// println!("{} tokens, {:?} dollars", rated.finished.usage().output_tokens, rated.finished.summary.total_cost);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn typed<T>(mut self) -> Result<Typed<T>, TypedError>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let answer = Arc::new(Mutex::new(None));
        let gadget = FinalAnswer::new(Arc::clone(&answer));
        self.add_before_start(Arc::new(gadget))?;
        let finished = self.finish().await?;
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        match answer.take() {
            Some(value) => Ok(Typed { value, finished }),
            None => Err(TypedError::NoAnswer(Box::new(finished))),
        }
    }
}

impl Inner {
    /// The same agent with one more gadget, which it must call to end.
    pub(super) fn ending_with(&self, gadget: Arc<dyn DynGadget>) -> Result<Self, AgentError> {
        let mut services = self.services.clone();
        Arc::make_mut(&mut services.toolbox).add(gadget)?;
        let mut config = self.plan.config().clone();
        let reminder = format!("Give your answer by calling the gadget {NAME}, not as text.");
        config.text_only = OnTextOnlyReply::Remind(reminder);
        let registry = Arc::clone(services.toolbox.registry());
        let plan = Plan::new(config, registry, self.plan.code().clone())?;
        services.model = Agent::model_for(&self.model, &plan)?;
        Ok(Self {
            plan: Arc::new(plan),
            services,
            model: Arc::clone(&self.model),
            opening: self.opening.clone(),
            outputs: self.outputs.clone(),
            name: self.name.clone(),
            cancellation: self.cancellation.clone(),
            parent: self.parent.clone(),
        })
    }
}

/// Keeps the answer, and ends the run.
struct FinalAnswer<T> {
    spec: GadgetSpec,
    is_wrapped: bool,
    answer: Arc<Mutex<Option<T>>>,
}

/// Parameters are an object, whatever the answer is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wrapped<T> {
    answer: T,
}

impl<T: DeserializeOwned + JsonSchema> FinalAnswer<T> {
    fn new(answer: Arc<Mutex<Option<T>>>) -> Self {
        let info = GadgetInfo::new(
            NAME,
            "Gives your answer and ends the task. Call it once, when you are done.",
        );
        let spec = info.clone().into_spec::<T>();
        let is_wrapped = spec.parameters.get("type").is_none_or(|it| it != "object");
        Self {
            spec: if is_wrapped {
                info.into_spec::<Wrapped<T>>()
            } else {
                spec
            },
            is_wrapped,
            answer,
        }
    }

    fn read(&self, parameters: Value) -> Result<T, Problem> {
        if self.is_wrapped {
            read(parameters).map(|Wrapped { answer }| answer)
        } else {
            read(parameters)
        }
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> DynGadget for FinalAnswer<T> {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let text = parameters.to_string();
        let outcome = match self.read(parameters) {
            Ok(value) => {
                let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
                // Of several in one reply, the first one.
                answer.get_or_insert(value);
                Outcome {
                    completes_run: true,
                    ..Outcome::ok(text)
                }
            }
            Err(problem) => Outcome::error(invalid_parameters(NAME, &[problem])),
        };
        Box::pin(ready(outcome))
    }
}
