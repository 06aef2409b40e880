//! Chat Completions: OpenAI, and every server with the same interface.

mod reply;
mod request;

use std::sync::Arc;

use gadgetry_proto::message::{Media, MediaData, MediaKind, Request};
use gadgetry_proto::schema::GadgetSpec;

use super::{BASE_URL, post};
use crate::error::ProviderError;
use crate::model::ModelInfo;
use crate::omitted::{NO_FILES, NO_IMAGES, NO_SOUNDS};
use crate::request::HttpRequest;
use crate::wire::{Decode, Wire};
use crate::wire_model::{Common, ModelBuilder, WireModel, mistake};

pub use reply::{Decoder, Encoder};
pub use request::decode_request;

/// The name of the API in [`ProviderData`](gadgetry_proto::message::ProviderData).
const API: &str = "chat_completions";

/// A model of Chat Completions.
///
/// ```
/// use gadgetry::provider::OpenAi;
/// let model = OpenAi::builder("qwen3").base_url("http://127.0.0.1:8080/v1").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
pub type OpenAi = WireModel<ChatCompletions>;

/// The builder of an [`OpenAi`]. Options that are not set are not sent.
pub type OpenAiBuilder = ModelBuilder<ChatOptions>;

impl OpenAi {
    /// A model by its name at the server.
    pub fn builder(model: impl Into<String>) -> OpenAiBuilder {
        ModelBuilder::new(model)
    }
}

/// The options of Chat Completions alone, set by the methods of [`OpenAiBuilder`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChatOptions {
    key_header: Option<String>,
    max_tokens_field: MaxTokensField,
    reasoning_field: ReasoningField,
    no_reasoning_with_tools: bool,
    seed: Option<i64>,
    include_usage: bool,
    merges: bool,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            key_header: None,
            max_tokens_field: MaxTokensField::default(),
            reasoning_field: ReasoningField::default(),
            no_reasoning_with_tools: false,
            seed: None,
            include_usage: true,
            merges: true,
        }
    }
}

impl OpenAiBuilder {
    /// Sets the header that carries the key, such as `api-key`; by default `authorization: Bearer …`.
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.own.key_header = Some(name.into());
        self
    }

    /// Sets the field for the maximum number of tokens. OpenAI requires the new one; other servers know the old one.
    pub fn max_tokens_field(mut self, field: MaxTokensField) -> Self {
        self.own.max_tokens_field = field;
        self
    }

    /// Sets the field for the reasoning effort; by default [`ReasoningField::Effort`].
    pub fn reasoning_field(mut self, field: ReasoningField) -> Self {
        self.own.reasoning_field = field;
        self
    }

    /// Sets whether the model takes tools only if it does not reason, as OpenAI's since GPT-5.4 on Chat Completions.
    ///
    /// A request with tools then has the effort `none`, and another effort is an error. Off by default.
    pub fn no_reasoning_with_tools(mut self, yes: bool) -> Self {
        self.own.no_reasoning_with_tools = yes;
        self
    }

    /// Sets the seed, for providers with repeatable sampling.
    pub fn seed(mut self, seed: i64) -> Self {
        self.own.seed = Some(seed);
        self
    }

    /// Sets whether token counts are requested in the stream. On by default; few servers refuse it.
    pub fn include_usage(mut self, yes: bool) -> Self {
        self.own.include_usage = yes;
        self
    }

    /// Sets whether adjacent messages of one role are merged. On by default: the chat templates of many local models
    /// require alternating roles.
    pub fn merge_adjacent(mut self, yes: bool) -> Self {
        self.own.merges = yes;
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// If an option is invalid, such as the base URL.
    pub fn build(self) -> Result<OpenAi, ProviderError> {
        let (common, own) = self.complete("openai", BASE_URL, ModelInfo::default())?;
        let wire = ChatCompletions {
            common: common.clone(),
            own,
        };
        common.model_over(wire)
    }
}

/// The field that carries the maximum number of tokens in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, which all other servers understand.
    MaxTokens,
}

/// The field that carries the reasoning effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_effort`, OpenAI's.
    #[default]
    Effort,
    /// `reasoning` with `effort` in it, OpenRouter's.
    Nested,
    /// `thinking` with `type`, which is `enabled` or, for the effort `none`, `disabled`: Z.ai's and Moonshot's.
    Switch,
    /// The switch, and `reasoning_effort` if it is on: `DeepSeek`'s.
    SwitchAndEffort,
}

/// Chat Completions as pure functions.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    common: Common,
    own: ChatOptions,
}

impl ChatCompletions {
    /// The reasoning effort, as far as it is sent.
    fn effort(&self) -> Option<&str> {
        let effort = self.common.options.reasoning_effort.as_deref();
        let without = self.own.no_reasoning_with_tools && self.common.is_native();
        effort.or_else(|| without.then_some("none"))
    }

    /// Refuses what the API would refuse.
    fn check(&self) -> Result<(), ProviderError> {
        match self.effort() {
            Some(effort)
                if self.own.no_reasoning_with_tools
                    && self.common.is_native()
                    && effort != "none" =>
            {
                Err(mistake(format!(
                    "{} takes tools through Chat Completions only without reasoning: leave the reasoning effort {effort:?} out, \
                     use the Responses API, or let the model call gadgets in its text",
                    self.common.model
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Wire for ChatCompletions {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check()?;
        let body = request::encode::body(self, request);
        post(
            &self.common,
            "chat/completions",
            &body,
            self.own.key_header.as_deref(),
        )
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let names = Arc::clone(&self.common.tool_names);
        let decoder = Decoder::with_names(names).keeping(self.common.keeps());
        Box::new(if self.common.stops("stop") {
            decoder
        } else {
            decoder.without_stop_sequences()
        })
    }

    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        match (medium.kind, &medium.data) {
            (MediaKind::Image, _) => (!self.common.reads_images()).then_some(NO_IMAGES),
            (MediaKind::Audio, _) if !self.common.reads_audio() => Some(NO_SOUNDS),
            (MediaKind::Audio, MediaData::Base64(_)) => None,
            (MediaKind::Audio, MediaData::Url(_)) => Some("the API takes no links to sounds"),
            (MediaKind::File | _, _) => Some(NO_FILES),
        }
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Self> {
        Some(Self {
            common: self.common.with_tools(gadgets),
            own: self.own.clone(),
        })
    }
}
