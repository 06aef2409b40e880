//! An answer of a type.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::run::OnTextOnlyReply;
use gadgetry_proto::schema::{GadgetSpec, Problem, invalid_parameters};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agent::inner::Inner;
use crate::agent::{AgentError, AgentRun, Finished, TypedError};
use crate::context::ExecutionContext;
use crate::gadget::{DynGadget, GadgetInfo, NoParams, read};

/// Name of the gadget that the model calls to give its answer.
const NAME: &str = "FinalAnswer";

/// Answer of a run as a value, from [`AgentRun::typed`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The answer.
    pub value: T,
    /// The run: messages, costs, calls. [`Finished::usage`] has its tokens.
    pub finished: Finished,
}

impl AgentRun<'_> {
    /// Returns the answer as a value, with the run that gave it.
    ///
    /// The run gets one more gadget, `FinalAnswer`, whose parameters are those of `T`; if `T` is not an object, it is the only
    /// parameter, `answer`. The doc comments of `T` are the descriptions that the model reads. A call that does not match is
    /// answered with the mistakes, and the model tries again; a reply without a call is answered with a reminder. Each of these
    /// counts as a reply, which [`max_iterations`](crate::AgentBuilder::max_iterations) limits. Where the server of the model
    /// constrains replies ([`constrained`](crate::AgentBuilder::constrained)), a small model must call a gadget each time, a
    /// large one after a reminder, and the last reply is the answer.
    ///
    /// Fails as [`AgentRun::text`] does; if a gadget or a hook has ended the run without an answer; if a gadget of the agent is
    /// called `FinalAnswer`; and if the stream of the run was already read.
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
        let gadget = final_answer::<T>(Arc::clone(&answer));
        self.add_before_start(Arc::new(gadget))?;
        let finished = self.finish().await?;
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        match answer.take() {
            Some(value) => Ok(Typed { value, finished }),
            None => Err(TypedError::NoAnswer(Box::new(finished))),
        }
    }

    /// Like [`AgentRun::typed`], for a type that is known only at run time: requires an answer that matches this JSON Schema. The
    /// run can be consumed in any way.
    ///
    /// `accept` receives the answer, and keeps it. If it returns an error, the model reads that and tries again. The answer is
    /// also the text of the run, as JSON. If the schema is not that of an object, it is that of the only parameter, `answer`.
    ///
    /// # Errors
    ///
    /// [`TypedError::Agent`] if the schema is not usable, or a gadget of the agent is called `FinalAnswer`; [`TypedError::Begun`]
    /// if the stream of the run was already read.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = concat!(
    /// #     r#"{"text": "!!!GADGET_START:FinalAnswer\n!!!ARG:answer\n0\n!!!GADGET_END"}"#, "\n",
    /// #     r#"{"text": "!!!GADGET_START:FinalAnswer\n!!!ARG:answer\n4\n!!!GADGET_END"}"#,
    /// # ).parse()?;
    /// use gadgetry::serde_json::{Value, json};
    /// let accept = |answer: &Value| if answer == 0 { Err("at least 1".to_owned()) } else { Ok(()) };
    /// let agent = gadgetry::Agent::builder().model(model).build()?;
    /// let run = agent.ask("How many?").answering(json!({ "type": "integer" }), accept)?;
    /// assert_eq!(run.text().await?, "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn answering(
        mut self,
        schema: Value,
        accept: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<Self, TypedError> {
        let is_wrapped = schema.get("type").is_none_or(|it| it != "object");
        let accept = move |mut parameters: Value| {
            let answer = if is_wrapped {
                parameters["answer"].take()
            } else {
                parameters
            };
            accept(&answer)?;
            let text = answer.as_str().map(str::to_owned);
            Ok(text.unwrap_or_else(|| answer.to_string()))
        };
        self.add_before_start(Arc::new(FinalAnswer {
            spec: GadgetSpec {
                parameters: if is_wrapped { wrapped(schema) } else { schema },
                ..info().into_spec::<NoParams>()
            },
            accept: Box::new(accept),
        }))?;
        Ok(self)
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
        config.answer_gadget = Some(NAME.to_owned());
        self.with_plan(config, services, Arc::clone(&self.model))
    }
}

/// The gadget for the answer, without its parameters.
fn info() -> GadgetInfo {
    GadgetInfo::new(
        NAME,
        "Gives your answer and ends the task. Call it once, when you are done.",
    )
}

/// Schema of an object whose `answer` has this schema. What it refers to by `#/$defs/…` stays where it is.
fn wrapped(mut schema: Value) -> Value {
    let definitions = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("$defs"));
    let mut object = json!({
        "type": "object",
        "properties": { "answer": schema },
        "required": ["answer"],
        "additionalProperties": false,
    });
    if let Some(definitions) = definitions {
        object["$defs"] = definitions;
    }
    object
}

/// The gadget for an answer of a type, which is kept in `answer`.
fn final_answer<T>(answer: Arc<Mutex<Option<T>>>) -> FinalAnswer
where
    T: DeserializeOwned + JsonSchema + Send + 'static,
{
    let spec = info().into_spec::<T>();
    let is_wrapped = spec.parameters.get("type").is_none_or(|it| it != "object");
    let accept = move |parameters: Value| {
        let text = parameters.to_string();
        let value = if is_wrapped {
            read(parameters).map(|Wrapped { answer }| answer)
        } else {
            read(parameters)
        };
        let value = value.map_err(|problem: Problem| invalid_parameters(NAME, &[problem]))?;
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        // Of several in one reply, the first one.
        answer.get_or_insert(value);
        Ok(text)
    };
    FinalAnswer {
        spec: if is_wrapped {
            info().into_spec::<Wrapped<T>>()
        } else {
            spec
        },
        accept: Box::new(accept),
    }
}

/// Keeps the answer, and ends the run.
struct FinalAnswer {
    spec: GadgetSpec,
    accept: Box<Accept>,
}

/// Returns the text of the answer, or what is wrong with it.
type Accept = dyn Fn(Value) -> Result<String, String> + Send + Sync;

/// Parameters are an object, whatever the answer is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wrapped<T> {
    answer: T,
}

impl DynGadget for FinalAnswer {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let outcome = match (self.accept)(parameters) {
            Ok(text) => Outcome {
                completes_run: true,
                ..Outcome::ok(text)
            },
            Err(problem) => Outcome::error(problem),
        };
        Box::pin(ready(outcome))
    }
}
