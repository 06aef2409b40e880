//! The Responses API: OpenAI's models that reason while they call tools, and those that no other API serves.
//!
//! Nothing is stored at the provider (`store: false`): each request carries the whole conversation. With native tools the
//! model's encrypted reasoning is kept with the reply and sent back, so that it continues between calls.

mod reply;
mod request;
mod wire;

use super::BASE_URL;
use crate::error::ProviderError;
use crate::model::ModelInfo;
use crate::wire_model::{Common, ModelBuilder, WireModel, mistake};

pub use reply::{Decoder, Encoder};
pub use request::decode_request;

/// The name of the API in [`ProviderData`](gadgetry_proto::message::ProviderData).
const API: &str = "openai_responses";

/// A model of the Responses API.
///
/// ```
/// use gadgetry::provider::OpenAiResponses;
/// let model = OpenAiResponses::builder("gpt-5.3-codex").api_key("sk-…").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
pub type OpenAiResponses = WireModel<Responses>;

/// The builder of an [`OpenAiResponses`]. The API has no stop sequences: [`stop`](ModelBuilder::stop) is an error.
pub type OpenAiResponsesBuilder = ModelBuilder<ResponsesOptions>;

impl OpenAiResponses {
    /// A model by its name at the server.
    pub fn builder(model: impl Into<String>) -> OpenAiResponsesBuilder {
        ModelBuilder::new(model)
    }
}

/// The options of the Responses API alone, set by the methods of [`OpenAiResponsesBuilder`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponsesOptions {
    key_header: Option<String>,
    reasoning_summary: Option<String>,
}

impl OpenAiResponsesBuilder {
    /// Sets the header that carries the key, such as `api-key`; by default `authorization: Bearer …`.
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.own.key_header = Some(name.into());
        self
    }

    /// Requests summaries of the reasoning: `auto`, `concise` or `detailed`. Not requested by default, because OpenAI
    /// refuses them to organisations that it has not verified.
    pub fn reasoning_summary(mut self, word: impl Into<String>) -> Self {
        self.own.reasoning_summary = Some(word.into());
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// If an option is invalid, such as the base URL, or if there are stop sequences.
    pub fn build(self) -> Result<OpenAiResponses, ProviderError> {
        let (common, own) = self.complete("openai", BASE_URL, ModelInfo::default())?;
        let wire = Responses {
            common: common.clone(),
            own,
        };
        wire.check()?;
        common.model_over(wire)
    }
}

/// The Responses API as pure functions.
#[derive(Clone, Debug)]
pub struct Responses {
    common: Common,
    own: ResponsesOptions,
}

impl Responses {
    /// Refuses options that the API does not have.
    fn check(&self) -> Result<(), ProviderError> {
        if self.common.options.stop.is_empty() {
            return Ok(());
        }
        Err(mistake("the Responses API has no stop sequences"))
    }
}
