//! The Messages API: Anthropic, and every server that speaks like it.

mod block;
mod decode;
mod messages;
mod request;
mod thinking;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Media, MediaKind, Request, ToolChoice};
use gadgetry_proto::spec::GadgetSpec;
use serde_json::{Map, Value};

use crate::model::{Model, ModelInfo};
use crate::provider::error::ProviderError;
use crate::provider::http::{BaseUrl, Http, HttpConfig, HttpRequest};
use crate::provider::listed;
use crate::provider::omitted::{NO_IMAGES, omitted};
use crate::provider::secret::ApiKey;
use crate::provider::tools::ToolNames;
use crate::provider::wire::{Decode, Wire};

pub use decode::Decoder;
pub use thinking::Thinking;

/// Where Anthropic itself is.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The API, as [`ProviderData`](gadgetry_proto::message::ProviderData) names it.
const API: &str = "anthropic_messages";

/// The version of the API that requests name.
const VERSION: &str = "2023-06-01";

/// A model behind the Messages API.
///
/// ```
/// use gadgetry::provider::Anthropic;
/// let model = Anthropic::builder("claude-haiku-4-5").api_key("sk-ant-…").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
///
/// What it sends is text: calls and results of gadgets as the text that they are. With [`AnthropicBuilder::tools`]
/// they go through the provider's own interface instead.
///
/// What the API insists on is seen to: speakers take turns and the user begins, parts without text are left out, and a
/// conversation that the model had the last word in ends with `Continue.` of the user, because newer models do not
/// go on with a message of their own. System messages behind the first turn stand in their place as words of the
/// user, so that the beginning, which the cache knows, does not change.
#[derive(Clone, Debug)]
pub struct Anthropic {
    wire: Arc<Messages>,
    http: Http,
    name: String,
    info: ModelInfo,
}

impl Anthropic {
    /// A model by the name that the server knows it by.
    pub fn builder(model: impl Into<String>) -> AnthropicBuilder {
        AnthropicBuilder {
            name: None,
            info: None,
            http: HttpConfig::new(),
            wire: Messages {
                model: model.into(),
                base_url: BaseUrl(BASE_URL.to_owned()),
                api_key: None,
                auth_token: None,
                betas: Vec::new(),
                max_tokens: None,
                temperature: None,
                thinking: None,
                stop: Vec::new(),
                cache: PromptCache::default(),
                streams: true,
                reads_images: true,
                markers: Markers::default(),
                anchoring: Anchoring::default(),
                xml_names: BTreeMap::new(),
                tools: Vec::new(),
                tool_names: Arc::default(),
                extra: Map::new(),
            },
            effort: None,
        }
    }

    /// The backend apart from the network: what is sent and how the answer is read.
    pub fn wire(&self) -> &impl Wire {
        &*self.wire
    }
}

impl Model for Anthropic {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        match self.wire.request(&request) {
            Ok(sent) => {
                let omitted = omitted(&request, |medium| self.wire.leaves_out(medium));
                let reply = self.http.stream(sent, self.wire.decoder());
                stream::iter(omitted).chain(reply).boxed()
            }
            Err(error) => stream::iter([Delta::from(error)]).boxed(),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
        let mut model = self.clone();
        let wire = Arc::make_mut(&mut model.wire);
        wire.tools = gadgets.to_vec();
        wire.tool_names = Arc::new(ToolNames::of(&wire.tools));
        Some(Arc::new(model))
    }
}

/// Everything about an [`Anthropic`] that can be set.
#[derive(Clone, Debug)]
#[must_use = "`build` makes a model of it"]
pub struct AnthropicBuilder {
    wire: Messages,
    http: HttpConfig,
    name: Option<String>,
    info: Option<ModelInfo>,
    effort: Option<String>,
}

impl AnthropicBuilder {
    /// The key, sent as `x-api-key`. Local servers want none.
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.wire.api_key = Some(key.into());
        self
    }

    /// A token, sent as `authorization: Bearer …`, as gateways want it.
    pub fn auth_token(mut self, token: impl Into<ApiKey>) -> Self {
        self.wire.auth_token = Some(token.into());
        self
    }

    /// Where the server is, with or without `/v1`. [`BASE_URL`] unless set.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.wire.base_url = BaseUrl(url.into());
        self
    }

    /// How requests are sent: timeouts, headers, proxy, raw frames.
    pub fn http(mut self, config: HttpConfig) -> Self {
        self.http = config;
        self
    }

    /// The name for people; the model's unless set.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What is known about the model. By default, what the catalogue has about it if the base URL is the provider's own.
    /// Unless it says that the model reads images, a line of text stands for each.
    /// Sounds always are such a line.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = Some(info);
        self
    }

    /// One more word for `anthropic-beta`.
    pub fn beta(mut self, beta: impl Into<String>) -> Self {
        self.wire.betas.push(beta.into());
        self
    }

    /// Tokens that a reply may have, thoughts included. The API wants to know; unless set it is 32,000 for Claude 4
    /// and later, which all can, otherwise 4,096, and with a thinking budget at least 4,096 more than that.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.wire.max_tokens = Some(tokens);
        self
    }

    /// How freely words are chosen, from 0 to 1. An error with thinking, which allows only 1.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.wire.temperature = Some(temperature);
        self
    }

    /// How hard to think: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Claude 4.6 and later are told
    /// the word ([`Thinking::Adaptive`]); all others get a budget ([`Thinking::Budget`]) of 1,024, 2,048, 8,192,
    /// 16,384, 24,576 or 32,768 tokens.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.effort = Some(effort.into());
        self
    }

    /// The same, as it is sent.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.wire.thinking = Some(thinking);
        self
    }

    /// Texts at which the model stops.
    pub fn stop(mut self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wire.stop = sequences.into_iter().map(Into::into).collect();
        self
    }

    /// Whether the provider keeps the beginning of the conversation. On unless set, for minutes: an agent asks again
    /// soon, and what is read from the cache costs a tenth.
    pub fn prompt_cache(mut self, cache: PromptCache) -> Self {
        self.wire.cache = cache;
        self
    }

    /// Whether the reply streams. On unless set; without it the same deltas come at once.
    pub fn streaming(mut self, yes: bool) -> Self {
        self.wire.streams = yes;
        self
    }

    /// How calls that have no raw text are written, and the XML names of custom blocks by their keys.
    pub fn text_form(
        mut self,
        markers: Markers,
        anchoring: Anchoring,
        xml_names: BTreeMap<String, String>,
    ) -> Self {
        self.wire.markers = markers;
        self.wire.anchoring = anchoring;
        self.wire.xml_names = xml_names;
        self
    }

    /// Offers gadgets as the provider's own tools, and sends calls and results through that interface.
    ///
    /// The model's thoughts before a call go back with it, as the API wants it. Where a conversation does not have them
    /// (another model made the call), a request with its results does not think on a budget.
    pub fn tools(mut self, gadgets: impl IntoIterator<Item = GadgetSpec>) -> Self {
        self.wire.tools = gadgets.into_iter().collect();
        self.wire.tool_names = Arc::new(ToolNames::of(&self.wire.tools));
        self
    }

    /// One more field of the request's body. It takes the place of a field of ours; `null` takes ours away.
    pub fn option(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.wire.extra.insert(field.into(), value.into());
        self
    }

    /// The model. An error is a mistake in what was set, such as a thinking budget that is no part of the reply.
    pub fn build(mut self) -> Result<Anthropic, ProviderError> {
        if self.wire.model.is_empty() {
            return Err(mistake("the model has no name"));
        }
        if let Some(effort) = &self.effort {
            self.wire.thinking = thinking::of(effort, &self.wire.model)?;
        }
        self.wire.check()?;
        // A server elsewhere may have another model of the same name.
        let is_anthropic = self.wire.base_url.0 == BASE_URL;
        let info = self.info.take();
        let info = info.or_else(|| is_anthropic.then(|| listed("anthropic", &self.wire.model))?);
        // All models of Anthropic that are still served do.
        let info = info.unwrap_or_else(|| ModelInfo {
            reads_images: true,
            ..ModelInfo::default()
        });
        self.wire.reads_images = info.reads_images;
        self.wire.request(&Request::default())?;
        Ok(Anthropic {
            name: self.name.unwrap_or_else(|| self.wire.model.clone()),
            http: Http::new(self.http)?,
            info,
            wire: Arc::new(self.wire),
        })
    }
}

/// How long the provider keeps the beginning of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptCache {
    /// Not at all.
    Off,
    /// For five minutes after it was last used.
    #[default]
    Minutes,
    /// For an hour; writing costs more.
    Hour,
}

/// The API as pure functions.
#[derive(Clone, Debug)]
struct Messages {
    model: String,
    base_url: BaseUrl,
    api_key: Option<ApiKey>,
    auth_token: Option<ApiKey>,
    betas: Vec<String>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    thinking: Option<Thinking>,
    stop: Vec<String>,
    cache: PromptCache,
    streams: bool,
    reads_images: bool,
    markers: Markers,
    anchoring: Anchoring,
    xml_names: BTreeMap<String, String>,
    /// Empty: calls and results are text.
    tools: Vec<GadgetSpec>,
    tool_names: Arc<ToolNames>,
    extra: Map<String, Value>,
}

impl Messages {
    /// Why a medium is not sent, if it is not.
    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
        match (medium.kind, medium.mime_type.as_str()) {
            (MediaKind::Audio, _) => Some("the API takes no sounds"),
            (MediaKind::File, mime) if mime != "application/pdf" => {
                Some("of other files the API takes PDF only")
            }
            (MediaKind::Image, mime) if !IMAGES.contains(&mime) => {
                Some("of images the API takes JPEG, PNG, GIF and WebP only")
            }
            (MediaKind::Image | MediaKind::File, _) => (!self.reads_images).then_some(NO_IMAGES),
            (_, _) => Some("the API takes no media of this kind"),
        }
    }

    fn max_tokens(&self) -> u64 {
        let base = if thinking::version(&self.model).is_some_and(|(major, _)| major >= 4) {
            32_000
        } else {
            4_096
        };
        let thoughts = match &self.thinking {
            Some(Thinking::Budget(tokens)) => tokens.saturating_add(4_096),
            Some(Thinking::Adaptive { .. }) | None => 0,
        };
        self.max_tokens.unwrap_or_else(|| base.max(thoughts))
    }

    /// What the API would refuse.
    fn check(&self) -> Result<(), ProviderError> {
        if self.max_tokens == Some(0) {
            return Err(mistake("`max_tokens` must be at least 1"));
        }
        if let Some(Thinking::Budget(budget)) = self.thinking {
            if budget < 1_024 {
                let text = format!("a thinking budget has at least 1024 tokens, and not {budget}");
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
        if let Some(temperature) = self.temperature
            && self.thinking.is_some()
            && temperature.total_cmp(&1.0).is_ne()
        {
            return Err(mistake(
                "a model that thinks chooses words freely: leave out the temperature, or the reasoning",
            ));
        }
        Ok(())
    }

    /// What the API would refuse of this request.
    fn check_choice(&self, choice: &ToolChoice) -> Result<(), ProviderError> {
        if self.thinking.is_some() && !self.tools.is_empty() && choice.is_forced() {
            return Err(mistake(
                "a model that thinks cannot be forced to call a tool: leave out the reasoning, or the tool choice",
            ));
        }
        Ok(())
    }
}

impl Wire for Messages {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check_choice(&request.tool_choice)?;
        let body = request::body(self, request);
        let base = self.base_url.0.trim_end_matches('/');
        let path = if base.ends_with("/v1") {
            "messages"
        } else {
            "v1/messages"
        };
        let mut request =
            HttpRequest::post(base, path, &body)?.header("anthropic-version", VERSION)?;
        if !self.betas.is_empty() {
            request = request.header("anthropic-beta", &self.betas.join(","))?;
        }
        if let Some(key) = self.api_key.as_ref().filter(|key| !key.is_empty()) {
            request = request.secret("x-api-key", key)?;
        }
        match &self.auth_token {
            Some(token) if !token.is_empty() => request.bearer(token),
            _ => Ok(request),
        }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let decoder = Decoder::with_names(Arc::clone(&self.tool_names));
        Box::new(if self.tools.is_empty() {
            decoder
        } else {
            decoder.keeping(&self.model)
        })
    }
}

fn mistake(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ModelErrorKind::BadRequest, message)
}
