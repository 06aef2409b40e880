//! The Messages API: Anthropic, and every server with the same interface.

mod reply;
mod request;
mod thinking;
mod wire;

use gadgetry_proto::message::ToolChoice;

use crate::error::ProviderError;
use crate::model::ModelInfo;
use crate::secret::ApiKey;
use crate::wire_model::{Common, ModelBuilder, WireModel, mistake};

pub use reply::{Decoder, Encoder};
pub use request::decode_request;
pub use thinking::Thinking;

/// The base URL of Anthropic itself.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The name of the API in [`ProviderData`](gadgetry_proto::message::ProviderData).
const API: &str = "anthropic_messages";

/// The version of the API that requests name.
const VERSION: &str = "2023-06-01";

/// A model of the Messages API.
///
/// Requests follow the rules of the API: the user begins and roles alternate, parts without text are left out, and a
/// conversation that ends with the model's own message gets a `Continue.` of the user, because newer models do not
/// continue their own text. System messages after the first turn are sent in their position as text of the user, so that the
/// prefix that the cache knows does not change.
///
/// ```
/// use gadgetry::provider::Anthropic;
/// let model = Anthropic::builder("claude-haiku-4-5").api_key("sk-ant-…").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
pub type Anthropic = WireModel<Messages>;

/// The builder of an [`Anthropic`].
///
/// - [`max_tokens`](ModelBuilder::max_tokens) is required by the API. By default it is 32,000 for Claude 4 and later,
///   otherwise 4,096, and with a thinking budget at least 4,096 more than that.
/// - [`temperature`](ModelBuilder::temperature) is from 0 to 1, and an error together with thinking.
/// - [`reasoning_effort`](ModelBuilder::reasoning_effort) is `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or
///   `max`. Claude 4.6 and later receive the word ([`Thinking::Adaptive`]), all others a budget ([`Thinking::Budget`]) of
///   1,024, 2,048, 8,192, 16,384, 24,576 or 32,768 tokens.
/// - [`tools`](ModelBuilder::tools): thinking before a call is sent back with it, as the API requires. Where a
///   conversation lacks it, because another model made the call, a request with its results does not think on a budget.
pub type AnthropicBuilder = ModelBuilder<MessagesOptions>;

impl Anthropic {
    /// A model by its name at the server.
    pub fn builder(model: impl Into<String>) -> AnthropicBuilder {
        ModelBuilder::new(model)
    }
}

/// The options of the Messages API alone, set by the methods of [`AnthropicBuilder`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessagesOptions {
    auth_token: Option<ApiKey>,
    betas: Vec<String>,
    thinking: Option<Thinking>,
    cache: PromptCache,
}

impl AnthropicBuilder {
    /// Sets a token, sent as `authorization: Bearer …`, as gateways require. The key is sent as `x-api-key`.
    pub fn auth_token(mut self, token: impl Into<ApiKey>) -> Self {
        self.own.auth_token = Some(token.into());
        self
    }

    /// Adds a word to `anthropic-beta`.
    pub fn beta(mut self, beta: impl Into<String>) -> Self {
        self.own.betas.push(beta.into());
        self
    }

    /// Sets how the model thinks, in the API's own form. The reasoning effort, if set, has precedence.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.own.thinking = Some(thinking);
        self
    }

    /// Sets how long the provider caches the prefix of the conversation. By default [`PromptCache::Minutes`]: an agent's
    /// next request comes soon, and reading from the cache costs a tenth.
    pub fn prompt_cache(mut self, cache: PromptCache) -> Self {
        self.own.cache = cache;
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// If an option is invalid, such as a thinking budget that exceeds the maximum number of tokens.
    pub fn build(self) -> Result<Anthropic, ProviderError> {
        // All models that Anthropic still serves read images.
        let unlisted = ModelInfo {
            reads_images: true,
            ..ModelInfo::default()
        };
        let (common, mut own) = self.complete("anthropic", BASE_URL, unlisted)?;
        if let Some(effort) = &common.options.reasoning_effort {
            own.thinking = thinking::of(effort, &common.model)?;
        }
        let wire = Messages {
            common: common.clone(),
            own,
        };
        wire.check()?;
        common.model_over(wire)
    }
}

/// Time for which the provider caches the prefix of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptCache {
    /// The provider caches nothing.
    Off,
    /// For five minutes after its last use.
    #[default]
    Minutes,
    /// For an hour; writing costs more.
    Hour,
}

/// The Messages API as pure functions.
#[derive(Clone, Debug)]
pub struct Messages {
    common: Common,
    own: MessagesOptions,
}

impl Messages {
    fn max_tokens(&self) -> u64 {
        let base = if thinking::version(&self.common.model).is_some_and(|(major, _)| major >= 4) {
            32_000
        } else {
            4_096
        };
        let thinking = match &self.own.thinking {
            Some(Thinking::Budget(tokens)) => tokens.saturating_add(4_096),
            Some(Thinking::Adaptive { .. }) | None => 0,
        };
        let max_tokens = self.common.options.max_tokens;
        max_tokens.unwrap_or_else(|| base.max(thinking))
    }

    /// Refuses options that the API would refuse.
    fn check(&self) -> Result<(), ProviderError> {
        if self.common.options.max_tokens == Some(0) {
            return Err(mistake("`max_tokens` must be at least 1"));
        }
        if let Some(Thinking::Budget(budget)) = self.own.thinking {
            if budget < 1_024 {
                let text = format!("a thinking budget must be at least 1024 tokens, got {budget}");
                return Err(mistake(text));
            }
            if budget >= self.max_tokens() {
                let max = self.max_tokens();
                let text = format!(
                    "the thinking budget of {budget} tokens is a part of the reply, and must be less than its \
                     `max_tokens`, which is {max}"
                );
                return Err(mistake(text));
            }
        }
        if let Some(temperature) = self.common.options.temperature
            && self.own.thinking.is_some()
            && temperature.total_cmp(&1.0).is_ne()
        {
            return Err(mistake(
                "a model that thinks has no temperature: leave out the temperature, or the reasoning",
            ));
        }
        Ok(())
    }

    /// Refuses a tool choice that the API would refuse.
    fn check_choice(&self, choice: &ToolChoice) -> Result<(), ProviderError> {
        if self.own.thinking.is_some() && self.common.is_native() && choice.is_forced() {
            return Err(mistake(
                "a model that thinks cannot be forced to call a tool: leave out the reasoning, or the tool choice",
            ));
        }
        Ok(())
    }
}
