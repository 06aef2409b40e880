//! A model over a wire, and its builder.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Request, Sampling};
use gadgetry_proto::schema::GadgetSpec;
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::error::ProviderError;
use crate::http::{Http, HttpConfig};
use crate::model::{Model, ModelInfo};
use crate::models::listed;
use crate::omitted::omitted;
use crate::options::ModelOptions;
use crate::secret::ApiKey;
use crate::tools::ToolNames;
use crate::wire::Wire;

/// A model called through the API of a [`Wire`].
///
/// What it sends is text: calls and results of gadgets are written as blocks. With [`ModelBuilder::tools`] they go
/// through the provider's own interface instead.
///
/// ```
/// use gadgetry::Model as _;
/// use gadgetry::provider::OpenAi;
/// let model = OpenAi::builder("qwen3").base_url("http://127.0.0.1:8080/v1").build()?;
/// assert_eq!(model.name(), "qwen3");
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct WireModel<W> {
    wire: Arc<W>,
    http: Http,
    name: String,
    info: ModelInfo,
}

impl<W: Wire> WireModel<W> {
    /// A model over a wire. `name` is shown to users.
    ///
    /// # Errors
    ///
    /// If a header or the proxy in `http` is invalid.
    pub fn new(
        wire: W,
        http: HttpConfig,
        name: impl Into<String>,
        info: ModelInfo,
    ) -> Result<Self, ProviderError> {
        Ok(Self::over(wire, Http::new(http)?, name.into(), info))
    }

    fn over(wire: W, http: Http, name: String, info: ModelInfo) -> Self {
        Self {
            wire: Arc::new(wire),
            http,
            name,
            info,
        }
    }

    /// The API without the network.
    pub fn wire(&self) -> &W {
        &self.wire
    }
}

impl<W: Wire> Model for WireModel<W> {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let sampling = &request.sampling;
        let other = (!sampling.is_default()).then(|| self.wire.with_sampling(sampling));
        let other = other.flatten();
        let wire = other.as_ref().unwrap_or(&self.wire);
        let sent = wire.request(&request);
        let sent = match &request.trace {
            Some(trace) => sent.and_then(|sent| sent.trace(trace)),
            None => sent,
        };
        match sent {
            Ok(sent) => {
                let omitted = omitted(&request, |medium| wire.leaves_out(medium));
                let reply = self.http.stream(sent, wire.decoder());
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
        Some(Arc::new(Self {
            wire: Arc::new(self.wire.with_tools(gadgets)?),
            ..self.clone()
        }))
    }
}

/// The builder of a [`WireModel`]: options of every model, and `O`, those of its API alone.
#[derive(Clone, Debug)]
#[must_use = "`build` makes a model of it"]
pub struct ModelBuilder<O> {
    pub(super) model: String,
    pub(super) options: ModelOptions,
    pub(super) own: O,
}

impl<O: Default> ModelBuilder<O> {
    pub(super) fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            options: ModelOptions::default(),
            own: O::default(),
        }
    }
}

impl<O> ModelBuilder<O> {
    /// Sets all common options together.
    pub fn options(mut self, options: ModelOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the key. Local servers need none.
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.options.api_key = Some(key.into());
        self
    }

    /// Sets the server, up to `/v1`. A query is kept. By default the provider's own.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.options.base_url = Some(BaseUrl::new(url));
        self
    }

    /// Sets timeouts, headers, proxy and raw frames.
    pub fn http(mut self, config: HttpConfig) -> Self {
        self.options.http = config;
        self
    }

    /// Sets the name shown to users; by default the model's.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Sets what is known about the model. By default what the catalogue says, if the base URL is the provider's own.
    ///
    /// Images and audio that the model is not known to read are sent as their captions.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.options.info = Some(info);
        self
    }

    /// Sets the maximum number of tokens in a reply, reasoning included.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.options.max_tokens = Some(tokens);
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.temperature = Some(temperature);
        self
    }

    /// Sets the reasoning effort, in the provider's word: `minimal`, `low`, `medium`, `high`.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.options.reasoning_effort = Some(effort.into());
        self
    }

    /// Sets the stop sequences. OpenAI takes four.
    pub fn stop(mut self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.stop = sequences.into_iter().map(Into::into).collect();
        self
    }

    /// Sets whether replies stream. On by default; without it the same deltas arrive together.
    pub fn streaming(mut self, yes: bool) -> Self {
        self.options.streaming = yes;
        self
    }

    /// Sets how calls without raw text are written, and the XML names of custom blocks by their keys.
    pub fn text_form(
        mut self,
        markers: Markers,
        anchoring: Anchoring,
        xml_names: BTreeMap<String, String>,
    ) -> Self {
        self.options.markers = markers;
        self.options.anchoring = anchoring;
        self.options.xml_names = xml_names;
        self
    }

    /// Offers gadgets as tools of the provider, and sends calls and results through its own interface.
    pub fn tools(mut self, gadgets: impl IntoIterator<Item = GadgetSpec>) -> Self {
        self.options.tools = gadgets.into_iter().collect();
        self
    }

    /// Adds a field to the request's body. It replaces a field of the same name; `null` removes it.
    pub fn option(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.fields.insert(field.into(), value.into());
        self
    }

    /// Completes the options of a model of `provider`, whose own server is at `base_url`.
    ///
    /// `unlisted` describes a model that is not in the catalogue.
    pub(super) fn complete(
        self,
        provider: &str,
        base_url: &str,
        unlisted: ModelInfo,
    ) -> Result<(Common, O), ProviderError> {
        if self.model.is_empty() {
            return Err(mistake("the model has no name"));
        }
        let mut options = self.options;
        let url = options
            .base_url
            .get_or_insert_with(|| BaseUrl::new(base_url));
        // A server elsewhere may have another model of the same name.
        let is_own = url.expose() == base_url;
        let info = options.info.take();
        let info = info.or_else(|| is_own.then(|| listed(provider, &self.model))?);
        options.info = Some(info.unwrap_or(unlisted));
        Ok((Common::new(self.model, options), self.own))
    }
}

/// Parts of every wire: a model, its options, and the names of its tools.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) model: String,
    pub(super) options: ModelOptions,
    pub(super) tool_names: Arc<ToolNames>,
}

impl Common {
    pub(super) fn new(model: String, options: ModelOptions) -> Self {
        Self {
            tool_names: Arc::new(ToolNames::of(&options.tools)),
            model,
            options,
        }
    }

    /// The same model with these gadgets as tools.
    pub(super) fn with_tools(&self, gadgets: &[GadgetSpec]) -> Self {
        let options = ModelOptions {
            tools: gadgets.to_vec(),
            ..self.options.clone()
        };
        Self::new(self.model.clone(), options)
    }

    /// The same with these settings in place of its own.
    pub(super) fn with_sampling(&self, sampling: &Sampling) -> Self {
        let mut common = self.clone();
        let options = &mut common.options;
        options.temperature = sampling.temperature.or(options.temperature);
        options.max_tokens = sampling.max_tokens.or(options.max_tokens);
        if let Some(stop) = &sampling.stop {
            options.stop.clone_from(stop);
        }
        common
    }

    /// Returns whether calls and results go through the provider's own interface.
    pub(super) fn is_native(&self) -> bool {
        !self.options.tools.is_empty()
    }

    /// The model whose data is kept for later requests; none without native tools.
    pub(super) fn keeps(&self) -> Option<&str> {
        self.is_native().then_some(self.model.as_str())
    }

    /// Returns whether a request has stop sequences in its `field`, which the additional fields may replace or remove.
    pub(super) fn stops(&self, field: &str) -> bool {
        match self.options.fields.get(field) {
            Some(Value::String(stop)) => !stop.is_empty(),
            Some(Value::Array(stops)) => !stops.is_empty(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
            None => !self.options.stop.is_empty(),
        }
    }

    pub(super) fn base_url(&self) -> &str {
        self.options
            .base_url
            .as_ref()
            .map_or("", |url| url.expose())
    }

    /// The key, if there is one that is not empty.
    pub(super) fn key(&self) -> Option<&ApiKey> {
        self.options.api_key.as_ref().filter(|key| !key.is_empty())
    }

    pub(super) fn reads_images(&self) -> bool {
        self.info().is_some_and(|info| info.reads_images)
    }

    pub(super) fn reads_audio(&self) -> bool {
        self.info().is_some_and(|info| info.reads_audio)
    }

    fn info(&self) -> Option<&ModelInfo> {
        self.options.info.as_ref()
    }

    /// The model over `wire`, which must be able to write a request.
    pub(super) fn model_over<W: Wire>(self, wire: W) -> Result<WireModel<W>, ProviderError> {
        wire.request(&Request::default())?;
        let options = self.options;
        let name = options.name.unwrap_or(self.model);
        let http = match options.client {
            Some(client) => client,
            None => Http::new(options.http)?,
        };
        Ok(WireModel::over(
            wire,
            http,
            name,
            options.info.unwrap_or_default(),
        ))
    }
}

/// An error of the caller that set the options.
pub(super) fn mistake(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ModelErrorKind::BadRequest, message)
}
