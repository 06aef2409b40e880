//! A model for a gadget's own questions.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::usage::Usage;

use crate::ask::{Admitted, Asked, admitted, ask};
use crate::context::ExecutionContext;
use crate::model::{Model, ModelInfo};
use crate::provider::adapter::intercepted;
use crate::services::Models;

/// A model that a gadget may ask, from [`ExecutionContext::model`].
///
/// What a call costs, by the [price](ModelInfo::price) of the model, is added to the cost of the gadget's call, also when
/// it fails or nobody reads it to its end. The rate limits of the run hold, and the cancellation of the gadget ends it.
///
/// ```
/// use gadgetry::model_client::ModelOptions;
/// use gadgetry::{ExecutionContext, GadgetError};
///
/// async fn summarise(text: &str, context: &ExecutionContext) -> Result<String, GadgetError> {
///     let Some(model) = context.model() else { return Ok(text.to_owned()) };
///     let options = ModelOptions::default().system("One sentence.");
///     Ok(model.complete(format!("Summarise: {text}"), options).await?)
/// }
/// ```
#[derive(Clone)]
pub struct ModelClient {
    context: ExecutionContext,
    model: Arc<dyn Model>,
    models: Models,
}

/// How a question is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The name of another of [`ModelClient::models`].
    pub model: Option<String>,
    /// Instructions.
    pub system: Option<String>,
}

impl ModelOptions {
    /// Asks another of [`ModelClient::models`].
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Gives instructions.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }
}

/// No options.
impl From<()> for ModelOptions {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl ModelClient {
    pub(crate) fn new(context: ExecutionContext, model: Arc<dyn Model>, models: Models) -> Self {
        Self {
            context,
            model,
            models,
        }
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// What is known about the model.
    pub fn info(&self) -> ModelInfo {
        self.model.info()
    }

    /// The models that may be asked by name.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The same for another of [`ModelClient::models`]. Fails if none has this name.
    pub fn named(&self, name: &str) -> Result<Self, ModelCallError> {
        let model = self.models.get(name);
        let model = model.ok_or_else(|| ModelCallError::UnknownModel {
            name: name.to_owned(),
            known: self
                .models
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect(),
        })?;
        Ok(Self {
            model: Arc::clone(model),
            ..self.clone()
        })
    }

    /// The text that the model answers to `prompt`. Without options, they are `()`.
    ///
    /// Fails if there is no model of the name in `options`, if the model fails or its reply is cut off, once the budget
    /// is spent, and when the gadget's call is cancelled.
    ///
    /// Cancel safety: dropping the future cancels the reply; what it had cost until then is counted.
    pub async fn complete(
        &self,
        prompt: impl Into<String>,
        options: impl Into<ModelOptions>,
    ) -> Result<String, ModelCallError> {
        let mut pieces = self.stream_text(prompt, options);
        let mut text = String::new();
        while let Some(piece) = pieces.next().await {
            text.push_str(&piece?);
        }
        Ok(text)
    }

    /// The same, piece by piece. After an error nothing follows.
    ///
    /// Cancel safety: dropping the stream cancels the reply; what it had cost until then is counted.
    pub fn stream_text(
        &self,
        prompt: impl Into<String>,
        options: impl Into<ModelOptions>,
    ) -> BoxStream<'static, Result<String, ModelCallError>> {
        let options = options.into();
        let client = match &options.model {
            Some(name) => self.named(name),
            None => Ok(self.clone()),
        };
        let client = match client {
            Ok(client) => client,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let system = options.system.map(|text| Message::text(Role::System, text));
        let prompt = Message::text(Role::User, prompt);
        let deltas = client.stream(Request {
            messages: Arc::new(system.into_iter().chain([prompt]).collect()),
            ..Request::default()
        });
        let cancellation = self.context.token().clone();
        let state = Some((deltas, false));
        let texts = stream::unfold(state, move |state| {
            let cancellation = cancellation.clone();
            async move {
                let (mut deltas, mut ended) = state?;
                while let Some(delta) = deltas.next().await {
                    if let Delta::Text { delta, .. } = delta {
                        return Some((Ok(delta), Some((deltas, ended))));
                    }
                    if let Delta::Error { error, kind, .. } = delta {
                        return Some((Err(ModelCallError::Failed { kind, error }), None));
                    }
                    // Counts may follow.
                    ended |= matches!(&delta, Delta::MessageEnd { stop_reason, .. } if stop_reason.is_clean());
                }
                let error = if cancellation.is_cancelled() {
                    ModelCallError::Cancelled
                } else {
                    ModelCallError::CutOff
                };
                (!ended).then_some((Err(error), None))
            }
        });
        texts.boxed()
    }

    /// The reply to a request as it comes. A call that fails before there is any text or tool call is retried like one of
    /// the run; what the model thought in a failed attempt may come before. The reply ends when the gadget's call is cancelled. Once the budget is spent, it is
    /// an error, and no model is asked.
    ///
    /// Cancel safety: dropping the stream cancels the reply; what it had cost until then is counted.
    pub fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let model = Arc::clone(&self.model);
        let services = self.context.services();
        let limiter = services.and_then(|services| services.limiter.clone());
        let retry = services.and_then(|services| services.retry.clone());
        let context = self.context.clone();
        let cancelled = context.token().clone().cancelled_owned();
        let send = move || {
            let budget = context.clone();
            let is_spent = move || budget.budget_left().is_some_and(|left| left <= 0.0);
            // What is refused does not wait.
            let limiter = limiter.clone().filter(|_| !is_spent());
            let (price, asked) = (model.info().price, Arc::clone(&model));
            // As of then: others may have spent it while this waited.
            let send = move |request| {
                if is_spent() {
                    stream::iter([Delta::error("the budget is spent")]).boxed()
                } else {
                    intercepted(&*asked, request)
                }
            };
            let payer = context.clone();
            let tell = move |usage: Usage| {
                // A price that is no price makes no cost.
                let dollars = usage.dollars(price.as_ref()).unwrap_or_default();
                let _ = payer.report_cost(dollars);
            };
            let steps = admitted(limiter, request.clone(), send, tell);
            let deltas = steps.filter_map(|step| async move {
                match step {
                    Admitted::Delta(delta) => Some(delta),
                    Admitted::After(_) => None,
                }
            });
            deltas.boxed()
        };
        let reply = ask(send, retry).filter_map(|step| async move {
            match step {
                Asked::Delta(delta) => Some(delta),
                Asked::Retry { delay, error, .. } => {
                    tracing::info!("model call of a gadget failed: {error}; retrying in {delay:?}");
                    None
                }
            }
        });
        reply.take_until(cancelled).boxed()
    }
}

impl std::fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelClient")
            .field("model", &self.model.name())
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

/// A question of a gadget to a model that has no answer. A gadget that cannot go on fails with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelCallError {
    /// A mistake of the gadget or of whoever set up the run.
    #[error("no model is registered as {name:?}; {}", what_to_do(known))]
    UnknownModel {
        /// As asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The model failed.
    #[error("{error}")]
    Failed {
        /// How.
        kind: ModelErrorKind,
        /// In its words.
        error: String,
    },
    /// The reply ended before the model had finished it: without a stop reason, or with one that is not
    /// [clean](gadgetry_proto::delta::StopReason::is_clean).
    #[error("the reply of the model was cut off")]
    CutOff,
    /// The gadget's call was cancelled.
    #[error("cancelled before the model had answered")]
    Cancelled,
}

fn what_to_do(known: &[String]) -> String {
    if known.is_empty() {
        "register it with `AgentBuilder::named_model`, or ask the run's own model without a name"
            .to_owned()
    } else {
        format!(
            "gadgets may ask: {}; register others with `AgentBuilder::named_model`",
            known.join(", ")
        )
    }
}
