//! Chat Completions: OpenAI, and every server that speaks like it.

mod calls;
mod chunk;
mod decode;
mod kept;
mod messages;
mod quick;
mod request;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Media, MediaData, MediaKind, Request};
use gadgetry_proto::spec::GadgetSpec;
use serde_json::{Map, Value};

use crate::model::{Model, ModelInfo};
use crate::provider::error::ProviderError;
use crate::provider::http::{BaseUrl, Http, HttpConfig, HttpRequest};
use crate::provider::listed;
use crate::provider::omitted::{NO_FILES, NO_IMAGES, NO_SOUNDS, omitted};
use crate::provider::secret::ApiKey;
use crate::provider::tools::ToolNames;
use crate::provider::wire::{Decode, Wire};

pub use decode::Decoder;

/// Where OpenAI itself is.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// A model behind Chat Completions.
///
/// ```
/// use gadgetry::provider::OpenAi;
/// let model = OpenAi::builder("qwen3").base_url("http://127.0.0.1:8080/v1").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
///
/// What it sends is text: calls and results of gadgets as the text that they are. With [`OpenAiBuilder::tools`] they
/// go through the provider's own interface instead.
#[derive(Clone, Debug)]
pub struct OpenAi {
    wire: Arc<ChatCompletions>,
    http: Http,
    name: String,
    info: ModelInfo,
}

impl OpenAi {
    /// A model by the name that the server knows it by.
    pub fn builder(model: impl Into<String>) -> OpenAiBuilder {
        let model = model.into();
        OpenAiBuilder {
            name: None,
            info: None,
            http: HttpConfig::new(),
            wire: ChatCompletions {
                model,
                base_url: BaseUrl(BASE_URL.to_owned()),
                api_key: None,
                key_header: None,
                max_tokens: None,
                max_tokens_field: MaxTokensField::default(),
                temperature: None,
                reasoning_effort: None,
                reasoning_field: ReasoningField::default(),
                no_reasoning_with_tools: false,
                stop: Vec::new(),
                seed: None,
                include_usage: true,
                streams: true,
                merges: true,
                reads_images: false,
                reads_audio: false,
                markers: Markers::default(),
                anchoring: Anchoring::default(),
                xml_names: BTreeMap::new(),
                tools: Vec::new(),
                tool_names: Arc::default(),
                extra: Map::new(),
            },
        }
    }

    /// The backend apart from the network: what is sent and how the answer is read.
    pub fn wire(&self) -> &impl Wire {
        &*self.wire
    }
}

impl Model for OpenAi {
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

/// Everything about an [`OpenAi`] that can be set. What is not set is not sent.
#[derive(Clone, Debug)]
pub struct OpenAiBuilder {
    wire: ChatCompletions,
    http: HttpConfig,
    name: Option<String>,
    info: Option<ModelInfo>,
}

impl OpenAiBuilder {
    /// The key. Local servers want none.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.wire.api_key = Some(key.into());
        self
    }

    /// The header that carries the key, such as `api-key`; `authorization: Bearer …` unless set.
    #[must_use]
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.wire.key_header = Some(name.into());
        self
    }

    /// Where the server is, up to `/v1`. A query stays; [`BASE_URL`] unless set.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.wire.base_url = BaseUrl(url.into());
        self
    }

    /// How requests are sent: timeouts, headers, proxy, raw frames.
    #[must_use]
    pub fn http(mut self, config: HttpConfig) -> Self {
        self.http = config;
        self
    }

    /// The name for people; the model's unless set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What is known about the model. By default, what the catalogue has about it if the base URL is the provider's own.
    /// Pictures and sounds are sent if it says that the model can take them; otherwise
    /// a line of text stands for each.
    #[must_use]
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = Some(info);
        self
    }

    /// Tokens that a reply may have, reasoning included.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.wire.max_tokens = Some(tokens);
        self
    }

    /// The field that carries it. OpenAI knows the new one; servers that do not want the old one.
    #[must_use]
    pub fn max_tokens_field(mut self, field: MaxTokensField) -> Self {
        self.wire.max_tokens_field = field;
        self
    }

    /// How freely words are chosen, mostly from 0 to 2.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.wire.temperature = Some(temperature);
        self
    }

    /// How hard to think, in the provider's word: `minimal`, `low`, `medium`, `high` at OpenAI.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.wire.reasoning_effort = Some(effort.into());
        self
    }

    /// The field that carries the effort; [`ReasoningField::Effort`] unless set.
    #[must_use]
    pub fn reasoning_field(mut self, field: ReasoningField) -> Self {
        self.wire.reasoning_field = field;
        self
    }

    /// Whether the model takes tools only if it does not think, as OpenAI's do since GPT-5.4 on Chat Completions. With tools it
    /// is then sent the effort `none`, and another effort is an error. Off unless set.
    #[must_use]
    pub fn no_reasoning_with_tools(mut self, yes: bool) -> Self {
        self.wire.no_reasoning_with_tools = yes;
        self
    }

    /// Texts at which the model stops. OpenAI takes four.
    #[must_use]
    pub fn stop(mut self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wire.stop = sequences.into_iter().map(Into::into).collect();
        self
    }

    /// The seed, for providers that can repeat themselves.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.wire.seed = Some(seed);
        self
    }

    /// Whether to ask for token counts in the stream. On unless set: few servers mind.
    #[must_use]
    pub fn include_usage(mut self, yes: bool) -> Self {
        self.wire.include_usage = yes;
        self
    }

    /// Whether the reply streams. On unless set; without it the same deltas come at once.
    #[must_use]
    pub fn streaming(mut self, yes: bool) -> Self {
        self.wire.streams = yes;
        self
    }

    /// Whether adjacent messages of one speaker are sent as one. On unless set: chat templates of many local models
    /// want speakers to take turns.
    #[must_use]
    pub fn merge_adjacent(mut self, yes: bool) -> Self {
        self.wire.merges = yes;
        self
    }

    /// How calls that have no raw text are written, and the XML names of custom blocks by their keys.
    #[must_use]
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
    #[must_use]
    pub fn tools(mut self, gadgets: impl IntoIterator<Item = GadgetSpec>) -> Self {
        self.wire.tools = gadgets.into_iter().collect();
        self.wire.tool_names = Arc::new(ToolNames::of(&self.wire.tools));
        self
    }

    /// One more field of the request's body. It takes the place of a field of ours; `null` takes ours away.
    #[must_use]
    pub fn option(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.wire.extra.insert(field.into(), value.into());
        self
    }

    /// The model. An error is a mistake in what was set, such as a base URL that is none.
    pub fn build(mut self) -> Result<OpenAi, ProviderError> {
        if self.wire.model.is_empty() {
            let message = "the model has no name";
            return Err(ProviderError::new(ModelErrorKind::BadRequest, message));
        }
        // A server elsewhere may have another model of the same name.
        let is_openai = self.wire.base_url.0 == BASE_URL;
        let info = self.info.take();
        let info = info.or_else(|| is_openai.then(|| listed("openai", &self.wire.model))?);
        let info = info.unwrap_or_default();
        self.wire.reads_images = info.reads_images;
        self.wire.reads_audio = info.reads_audio;
        self.wire.request(&Request::default())?;
        Ok(OpenAi {
            name: self.name.unwrap_or_else(|| self.wire.model.clone()),
            http: Http::new(self.http)?,
            info,
            wire: Arc::new(self.wire),
        })
    }
}

/// The field that carries the limit of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, which everything else understands.
    MaxTokens,
}

/// The field that carries how hard the model thinks.
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

/// The API as pure functions.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent switches of the API"
)]
struct ChatCompletions {
    model: String,
    base_url: BaseUrl,
    api_key: Option<ApiKey>,
    key_header: Option<String>,
    max_tokens: Option<u64>,
    max_tokens_field: MaxTokensField,
    temperature: Option<f64>,
    reasoning_effort: Option<String>,
    reasoning_field: ReasoningField,
    no_reasoning_with_tools: bool,
    stop: Vec<String>,
    seed: Option<i64>,
    include_usage: bool,
    streams: bool,
    merges: bool,
    reads_images: bool,
    reads_audio: bool,
    markers: Markers,
    anchoring: Anchoring,
    xml_names: BTreeMap<String, String>,
    /// Empty: calls and results are text.
    tools: Vec<GadgetSpec>,
    tool_names: Arc<ToolNames>,
    extra: Map<String, Value>,
}

impl ChatCompletions {
    /// How hard the model is to think, as far as that is sent.
    fn effort(&self) -> Option<&str> {
        let without = self.no_reasoning_with_tools && !self.tools.is_empty();
        self.reasoning_effort
            .as_deref()
            .or_else(|| without.then_some("none"))
    }

    /// What the API would refuse.
    fn check(&self) -> Result<(), ProviderError> {
        match self.effort() {
            Some(effort)
                if self.no_reasoning_with_tools && !self.tools.is_empty() && effort != "none" =>
            {
                let message = format!(
                    "{} takes tools through Chat Completions only without reasoning: leave the reasoning effort {effort:?} out, \
                     or let the model call gadgets in its text",
                    self.model
                );
                Err(ProviderError::new(ModelErrorKind::BadRequest, message))
            }
            _ => Ok(()),
        }
    }
}

impl ChatCompletions {
    /// Why a medium is not sent, if it is not.
    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        match (medium.kind, &medium.data) {
            (MediaKind::Image, _) => (!self.reads_images).then_some(NO_IMAGES),
            (MediaKind::Audio, _) if !self.reads_audio => Some(NO_SOUNDS),
            (MediaKind::Audio, MediaData::Base64(_)) => None,
            (MediaKind::Audio, MediaData::Url(_)) => Some("the API takes no links to sounds"),
            (MediaKind::File | _, _) => Some(NO_FILES),
        }
    }
}

impl Wire for ChatCompletions {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check()?;
        let body = request::body(self, request);
        let request = HttpRequest::post(&self.base_url.0, "chat/completions", &body)?;
        match (
            self.api_key.as_ref().filter(|key| !key.is_empty()),
            &self.key_header,
        ) {
            (Some(key), Some(header)) => request.secret(header, key),
            (Some(key), None) => request.bearer(key),
            (None, _) => Ok(request),
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
