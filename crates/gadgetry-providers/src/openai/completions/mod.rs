//! The legacy Completions API: a text in, its continuation out. What serves models that only complete text.
//!
//! The conversation is written as one text by a plain template, and the reply ends where the model begins the next turn:
//!
//! ```text
//! the system's text
//!
//! ### User
//! what the user says, or results
//!
//! ### Assistant
//! what the model continues, up to `### User`
//! ```
//!
//! Nothing in a message is a line of the template: such a line is written with U+200B in it.

mod reply;
mod template;

use gadgetry_proto::message::{Media, MediaKind, Request, Sampling};
use serde_json::{Value, json};

use super::{BASE_URL, post};
use crate::conversation::Fields;
use crate::error::ProviderError;
use crate::model::{Mode, ModelInfo};
use crate::omitted::{NO_FILES, NO_IMAGES, NO_SOUNDS};
use crate::request::HttpRequest;
use crate::wire::{Decode, Wire};
use crate::wire_model::{Common, ModelBuilder, WireModel};

pub use reply::Decoder;

/// The tokens of a reply where no limit is set: the API's own default is 16, and models that only complete text have no end.
const MAX_TOKENS: u64 = 1024;

/// The part of a context window that such a reply takes at most.
const WINDOW_PART: u64 = 4;

/// A model of the legacy Completions API, which only continues text.
///
/// Calls are in its text: it has no tools, and [`Model::with_tools`](crate::model::Model::with_tools) gives none.
///
/// ```
/// use gadgetry::provider::OpenAiCompletions;
/// let model = OpenAiCompletions::builder("gemma-3-270m").base_url("http://127.0.0.1:8080/v1").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
pub type OpenAiCompletions = WireModel<Completions>;

/// The builder of an [`OpenAiCompletions`]. Options that are not set are not sent, but for the maximum number of tokens.
pub type OpenAiCompletionsBuilder = ModelBuilder<CompletionsOptions>;

impl OpenAiCompletions {
    /// A model by its name at the server.
    pub fn builder(model: impl Into<String>) -> OpenAiCompletionsBuilder {
        ModelBuilder::new(model)
    }
}

/// The options of the Completions API alone, set by the methods of [`OpenAiCompletionsBuilder`].
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionsOptions {
    key_header: Option<String>,
    include_usage: bool,
}

impl Default for CompletionsOptions {
    fn default() -> Self {
        Self {
            key_header: None,
            include_usage: true,
        }
    }
}

impl OpenAiCompletionsBuilder {
    /// Sets the header that carries the key, such as `api-key`; by default `authorization: Bearer …`.
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.own.key_header = Some(name.into());
        self
    }

    /// Sets whether token counts are requested in the stream. On by default; few servers refuse it.
    pub fn include_usage(mut self, yes: bool) -> Self {
        self.own.include_usage = yes;
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// If an option is invalid, such as the base URL.
    pub fn build(self) -> Result<OpenAiCompletions, ProviderError> {
        let (mut common, own) = self.complete("openai", BASE_URL, ModelInfo::default())?;
        // Whatever the catalogue says: it is used as one.
        common.options.info.get_or_insert_default().mode = Mode::Completion;
        let wire = Completions {
            common: common.clone(),
            own,
        };
        common.model_over(wire)
    }
}

/// The Completions API as pure functions.
#[derive(Clone, Debug)]
pub struct Completions {
    common: Common,
    own: CompletionsOptions,
}

impl Completions {
    /// The body. Its fields are always in this order, because a server's cache compares prefixes.
    fn body(&self, request: &Request) -> Value {
        let options = &self.common.options;
        let mut body = Fields::default();
        body.set("model", json!(self.common.model));
        body.set("prompt", json!(template::prompt(options, request)));
        body.set("stream", json!(options.streaming));
        let counts = options.streaming && self.own.include_usage;
        body.set(
            "stream_options",
            counts.then(|| json!({"include_usage": true})),
        );
        body.set("max_tokens", json!(self.max_tokens()));
        body.set("temperature", options.temperature.map(Value::from));
        let stops = template::STOPS.iter().copied();
        let stops: Vec<&str> = stops
            .chain(options.stop.iter().map(String::as_str))
            .collect();
        body.set("stop", json!(stops));
        let request =
            Request::default().constraint(request.constraint.as_ref().map(template::constraint));
        body.constrain(options, &request);
        body.body(options)
    }

    fn max_tokens(&self) -> u64 {
        let options = &self.common.options;
        let window = options.info.as_ref().and_then(|info| info.context_window);
        let usual = window.map_or(MAX_TOKENS, |it| (it / WINDOW_PART).clamp(1, MAX_TOKENS));
        options.max_tokens.unwrap_or(usual)
    }
}

impl Wire for Completions {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        let header = self.own.key_header.as_deref();
        post(&self.common, "completions", &self.body(request), header)
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new())
    }

    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        Some(match medium.kind {
            MediaKind::Image => NO_IMAGES,
            MediaKind::Audio => NO_SOUNDS,
            MediaKind::File | _ => NO_FILES,
        })
    }

    fn with_sampling(&self, sampling: &Sampling) -> Option<Self> {
        Some(Self {
            common: self.common.with_sampling(sampling),
            own: self.own.clone(),
        })
    }
}
