//! A model for a gadget's own calls.

mod error;

use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::{Message, Request, Role};

use crate::ask::{ModelCall, Received};
use crate::context::ExecutionContext;
use gadgetry_providers::adapter::intercepted;
use gadgetry_providers::model::{Model, ModelInfo, Models};

pub use error::ModelCallError;

/// A model that a gadget can call, from [`ExecutionContext::model`].
///
/// The cost of a call, by the [price](ModelInfo::price) of the model, is added to the cost of the gadget's call, also if
/// it fails or is dropped before its end. The rate limits and retries of the run apply, and cancelling the gadget ends it.
///
/// ```
/// use gadgetry::model_client::ModelCallOptions;
/// use gadgetry::{ExecutionContext, GadgetError};
///
/// async fn summarise(text: &str, context: &ExecutionContext) -> Result<String, GadgetError> {
///     let Some(model) = context.model() else { return Ok(text.to_owned()) };
///     let options = ModelCallOptions::default().system("One sentence.");
///     Ok(model.complete(format!("Summarise: {text}"), options).await?)
/// }
/// ```
#[derive(Clone)]
pub struct ModelClient {
    context: ExecutionContext,
    model: Arc<dyn Model>,
    models: Models,
}

/// Options of a call with a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCallOptions {
    /// The name of one of [`ModelClient::models`]; `None` for the model of the client.
    pub model: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
}

impl ModelCallOptions {
    /// Selects another of [`ModelClient::models`].
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }
}

/// No options.
impl From<()> for ModelCallOptions {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl ModelClient {
    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// Returns the known facts about the model.
    pub fn info(&self) -> ModelInfo {
        self.model.info()
    }

    /// Returns the models that can be called by name.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// Returns a client for another of [`ModelClient::models`].
    ///
    /// # Errors
    ///
    /// [`ModelCallError::UnknownModel`] if none has this name.
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

    /// Returns the model's answer to `prompt`. Pass `()` for no options.
    ///
    /// # Errors
    ///
    /// [`ModelCallError`] if there is no model of the name in `options`, if the model fails or its reply is cut off, once
    /// the budget is spent, and when the gadget's call is cancelled.
    ///
    /// Cancel safety: dropping the future cancels the reply; what it had cost by then is counted.
    pub async fn complete(
        &self,
        prompt: impl Into<String>,
        options: impl Into<ModelCallOptions>,
    ) -> Result<String, ModelCallError> {
        let mut pieces = self.stream_text(prompt, options);
        let mut text = String::new();
        while let Some(piece) = pieces.next().await {
            text.push_str(&piece?);
        }
        Ok(text)
    }

    /// Streams the model's answer to `prompt`. An error is the last item; the errors are those of [`ModelClient::complete`].
    ///
    /// Cancel safety: dropping the stream cancels the reply; what it had cost by then is counted.
    fn stream_text(
        &self,
        prompt: impl Into<String>,
        options: impl Into<ModelCallOptions>,
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
        let messages: Vec<Message> = system.into_iter().chain([prompt]).collect();
        let deltas = client.stream(Request::default().messages(messages));
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
                    if let Delta::Error(error) = delta {
                        return Some((Err(error.into()), None));
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

    /// Streams the reply to a request.
    ///
    /// A failed call is retried like one of the run, while there is no text and no tool call; reasoning of the failed
    /// attempt may have been received. The reply ends when the gadget's call is cancelled. Once the budget is spent, no
    /// request is sent, and the reply is an error.
    ///
    /// Cancel safety: dropping the stream cancels the reply; what it had cost by then is counted.
    pub fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let model = Arc::clone(&self.model);
        let call = match self.context.host() {
            Some(host) => host.model_call(model),
            None => ModelCall::new(model),
        };
        let (payer, price) = (self.context.clone(), self.model.info().price);
        let budget = self.context.clone();
        let call = call
            .sender(intercepted)
            .check(move || match budget.budget_left() {
                Some(left) if left <= 0.0 => Err("the budget is spent".to_owned()),
                Some(_) | None => Ok(()),
            })
            .on_usage(move |usage| {
                let dollars = usage.dollars(price.as_ref()).unwrap_or_default();
                // Refused if the price is not a valid amount: then it has cost nothing.
                let _ = payer.report_cost(dollars);
            });
        let reply = call.send(request).filter_map(|received| async move {
            match received {
                Received::Delta(delta) => Some(delta),
                Received::Retry { delay, error, .. } => {
                    tracing::info!("model call of a gadget failed: {error}; retrying in {delay:?}");
                    None
                }
                Received::RateLimited(_) => None,
            }
        });
        let cancelled = self.context.token().clone().cancelled_owned();
        reply.take_until(cancelled).boxed()
    }
}

impl ExecutionContext {
    /// Returns the model of the run, for the gadget's own calls, whose cost is counted; `None` without a run.
    pub fn model(&self) -> Option<ModelClient> {
        let host = self.host()?;
        Some(ModelClient {
            context: self.clone(),
            model: Arc::clone(host.model()?),
            models: host.models(),
        })
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
