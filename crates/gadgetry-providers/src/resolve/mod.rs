//! Models by their names, with keys and addresses from the environment.
//!
//! A name is one of these:
//!
//! | name | means |
//! |---|---|
//! | `provider:model` | one of [`Resolver::providers`]: `openai:gpt-4o`, `ollama:llama3:8b` |
//! | a shortcut | one of [`Resolver::shortcuts`]: `haiku`, `flash` |
//! | `gpt-…`, `o3…`, `claude-…`, `gemini-…` | a model of that family, at the provider who makes it |
//! | anything else | a model at the address that [`Resolver::base_url`] or `OPENAI_BASE_URL` gives |
//! | `responses:NAME`, `chat:NAME`, `completions:NAME` | the same model through OpenAI's Responses API, Chat Completions, or the legacy Completions |
//!
//! Without such a prefix the catalogue decides: a model that it lists for the Responses API or the legacy Completions only is served
//! through it at the provider's own address. At the user's own server, a model without a chat template is served through Completions once it is recognised:
//! by [`Resolver::connect`], or before the first run of an agent. See [`server`] for those that say so.

mod address;
mod build;
mod error;
mod find;
mod names;
mod place;
mod recognisable;
mod servers;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gadgetry_proto::usage::Price;
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::http::{Http, HttpConfig};
use crate::model::{Model, ModelInfo};
use crate::models::{ModelRegistry, ModelSpec};
use crate::options::ModelOptions;
use crate::secret::ApiKey;
use crate::server::{self, ServerFacts};

pub use error::ResolveError;
pub use place::Place;
use recognisable::Recognisable;
pub use servers::FoundServer;
pub use table::Api;
use table::{Home, PROVIDERS, Provider, SHORTCUTS};

/// Looks up what is known about a model named `provider:model`.
type InfoOf = Arc<dyn Fn(&str) -> Option<ModelInfo> + Send + Sync>;

/// Finds models by their names. See the [module](self) for what a name may be.
///
/// ```
/// use gadgetry::provider::Resolver;
/// let resolver = Resolver::new([("ANTHROPIC_API_KEY", "sk-ant-0123456789")]);
/// let model = resolver.resolve("claude-haiku-4-5")?;
/// assert_eq!(model.name(), "anthropic:claude-haiku-4-5");
///
/// let error = resolver.resolve("gpt-4o").err().ok_or("there is no key for it")?;
/// assert!(error.to_string().starts_with(
///     "no key for openai: set OPENAI_API_KEY. Configured: anthropic (ANTHROPIC_API_KEY). Servers on this machine need no key, if one runs: ollama"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Resolver {
    variables: BTreeMap<String, String>,
    key_variable: Option<String>,
    info: Option<InfoOf>,
    registry: Option<ModelRegistry>,
    /// The options of all models.
    options: ModelOptions,
}

/// A provider, and how it can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Configured {
    /// The provider's name, as before the colon.
    pub provider: &'static str,
    /// The base URL of its API.
    pub base_url: BaseUrl,
    /// The variable that holds this address; `None` for the provider's own address.
    pub base_url_from: Option<&'static str>,
    /// The variable that holds the key; `None` without a key.
    pub key: Option<&'static str>,
    /// True if the provider runs on this machine, so that no key is needed.
    pub is_local: bool,
}

impl Resolver {
    /// A resolver with the environment of this process. Values that are not Unicode are ignored.
    pub fn from_env() -> Self {
        let variables = std::env::vars_os();
        let text = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::new(text)
    }

    /// A resolver with these environment variables. An empty one counts as not set.
    pub fn new<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Self {
            variables: variables
                .filter(|(_, value): &(String, String)| !value.trim().is_empty())
                .collect(),
            key_variable: None,
            info: None,
            registry: None,
            options: ModelOptions::default(),
        }
    }

    /// Sets the options of all models. The provider's requirements and the key of the environment are added.
    #[must_use]
    pub fn options(mut self, options: ModelOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the base URL of every model.
    ///
    /// A name without a provider is then a model at that server, through Chat Completions. No key of the environment is
    /// sent, because the server's owner is unknown: set one with [`api_key`](Self::api_key) or
    /// [`api_key_from`](Self::api_key_from).
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.options.base_url = Some(BaseUrl::new(url));
        self
    }

    /// Sets the key of every model, in place of the environment's.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.options.api_key = Some(key.into());
        self
    }

    /// Sets the variable that holds the key of every model, in place of the provider's own.
    ///
    /// [`resolve`](Self::resolve) fails if it is not set.
    #[must_use]
    pub fn api_key_from(mut self, variable: impl Into<String>) -> Self {
        self.key_variable = Some(variable.into());
        self
    }

    /// Sets how requests are sent.
    #[must_use]
    pub fn http(mut self, config: HttpConfig) -> Self {
        self.options.http = config;
        self
    }

    /// Sets what is known about models, by `provider:model`, in place of the [registry](Self::registry).
    #[must_use]
    pub fn info(mut self, of: impl Fn(&str) -> Option<ModelInfo> + Send + Sync + 'static) -> Self {
        self.info = Some(Arc::new(of));
        self
    }

    /// Sets the registry of models; by default [`ModelRegistry::builtin`].
    #[must_use]
    pub fn registry(mut self, registry: ModelRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Sets the maximum number of tokens in a reply.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.options.max_tokens = Some(tokens);
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.temperature = Some(temperature);
        self
    }

    /// Sets the reasoning effort, in the provider's word; `none` turns reasoning off.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.options.reasoning_effort = Some(effort.into());
        self
    }

    /// Adds a field to every request's body, such as `top_p`. It replaces a field of the same name; `null` removes it.
    #[must_use]
    pub fn option(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.fields.insert(field.into(), value.into());
        self
    }

    /// The value of an environment variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Finds the model of a name. No request is sent, so it need not exist.
    ///
    /// A model of the user's own server is recognised before the first run of an agent: see [`connect`](Self::connect).
    pub fn resolve(&self, name: &str) -> Result<Arc<dyn Model>, ResolveError> {
        let (provider, mut place) = self.find(name)?;
        let info = self.known(provider, &place);
        self.choose(&mut place, provider, info.as_ref());
        let model = self.build(provider, &place, info)?;
        if !place.is_of_user(provider) {
            return Ok(model);
        }
        let (resolver, name) = (self.clone(), name.to_owned());
        Ok(Arc::new(Recognisable::new(model, move || {
            let (resolver, name) = (resolver.clone(), name.clone());
            Box::pin(async move { resolver.recognised(&name).await })
        })))
    }

    /// Finds where the model of a name is served. No key is needed.
    pub fn locate(&self, name: &str) -> Result<Place, ResolveError> {
        let (provider, mut place) = self.find(name)?;
        let info = self.known(provider, &place);
        self.choose(&mut place, provider, info.as_ref());
        Ok(place)
    }

    /// Finds the model of a name, like [`resolve`](Self::resolve), with what the user's own server says: the context window, the size of the
    /// model, and how replies are constrained.
    ///
    /// The catalogue has what a model was made for, a server what it has room for, so the server's word counts more; that of
    /// [`info`](Self::info) counts most. A server that does not answer within four seconds changes nothing; see
    /// [`recognise`](Self::recognise) for the servers that get requests.
    ///
    /// Cancel safety: dropping the future closes the connections.
    pub async fn connect(&self, name: &str) -> Result<Arc<dyn Model>, ResolveError> {
        let model = self.resolve(name)?;
        Ok(model.recognised().await.unwrap_or(model))
    }

    /// Returns the model of a name, as its server describes it; `None` if the server says nothing.
    async fn recognised(&self, name: &str) -> Option<Arc<dyn Model>> {
        let (provider, mut place) = self.find(name).ok()?;
        let mut info = self.known(provider, &place);
        self.choose(&mut place, provider, info.as_ref());
        let facts = self.recognise(name).await;
        if facts == ServerFacts::default() {
            return None;
        }
        let own = info.clone().filter(|_| self.info.is_some());
        facts.complete(&place.model, &mut info);
        if let (Some(info), Some(own)) = (&mut info, own) {
            info.context_window = own.context_window.or(info.context_window);
            info.parameters = own.parameters.or(info.parameters);
        }
        if facts.completes_only(&place.model) {
            place.complete();
        }
        self.build(provider, &place, info).ok()
    }

    /// Returns whether the server of a model is the user's: on this machine, or at an address that they have given.
    pub fn is_of_user(&self, name: &str) -> bool {
        let found = self.find(name);
        found.is_ok_and(|(provider, place)| place.is_of_user(provider))
    }

    /// Recognises the server of a model; see [`server`].
    ///
    /// Sends requests only to servers on this machine, and to those whose base URL the user has given. A provider at its
    /// own address, or an Azure resource, gets none: its facts are the default ones.
    ///
    /// Cancel safety: dropping the future closes the connections.
    pub async fn recognise(&self, name: &str) -> ServerFacts {
        let Ok((provider, place)) = self.find(name) else {
            return ServerFacts::default();
        };
        if !place.is_of_user(provider) {
            return ServerFacts::default();
        }
        let Ok(http) = Http::new(self.http_for(&place.base_url)) else {
            return ServerFacts::default();
        };
        let key = self.plain_key(provider, &place);
        server::recognise(&http, &place.base_url, key.as_ref(), Some(&place.model)).await
    }

    /// Looks up what is known about the model of a name.
    pub fn describe(&self, name: &str) -> Result<Option<ModelInfo>, ResolveError> {
        let (provider, place) = self.find(name)?;
        Ok(self.known(provider, &place))
    }

    /// The providers with a key or an address in the environment, and those on this machine.
    pub fn configured(&self) -> Vec<Configured> {
        let all = PROVIDERS.iter().map(|provider| Configured {
            provider: provider.name,
            base_url: BaseUrl::new(self.address(provider, "")),
            base_url_from: self.variable_of_address(provider).map(|(name, ..)| name),
            key: self.first(provider.keys).map(|(name, _)| name),
            is_local: provider.is_here(),
        });
        all.filter(|it| it.key.is_some() || it.is_local || it.base_url_from.is_some())
            .collect()
    }

    /// The names that may come before a colon.
    pub fn providers() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().map(|provider| provider.name)
    }

    /// The providers and the variables of their keys, of which the first that is set counts.
    ///
    /// Providers on this machine come last, and need none.
    pub fn key_variables() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        let all = PROVIDERS.iter();
        all.map(|provider| (provider.name, provider.keys))
    }

    /// Short names, and the full names that they abbreviate.
    pub fn shortcuts() -> impl Iterator<Item = (&'static str, &'static str)> {
        SHORTCUTS.iter().copied()
    }

    /// The name that resolves to a model of the registry; `None` if no known provider serves it.
    ///
    /// ```
    /// use gadgetry::models::ModelSpec;
    /// use gadgetry::provider::Resolver;
    /// let spec = ModelSpec::new("groq", "groq/openai/gpt-oss-120b");
    /// assert_eq!(Resolver::name_of(&spec).as_deref(), Some("groq:openai/gpt-oss-120b"));
    /// ```
    pub fn name_of(spec: &ModelSpec) -> Option<String> {
        names::of_spec(spec)
    }

    /// Returns the known facts about the model at a place.
    fn known(&self, provider: Option<&Provider>, place: &Place) -> Option<ModelInfo> {
        let is_here = provider.is_some_and(Provider::is_here);
        let is_loopback = place.base_url.is_loopback();
        let is_free = provider.is_some_and(|it| it.home == Home::Local) && is_loopback;
        let name = place.full_name();
        let mut info = match &self.info {
            Some(of) => of(&name),
            None => self.registered(&name).map(|mut info| {
                // The price in the catalogue is that of the provider in the catalogue. A server of the user's own that
                // has a model of the same name charges nothing, or what only the user knows; so does a provider that
                // the catalogue does not list.
                let is_listed = provider.map_or(!is_loopback, |it| !it.catalog.is_empty());
                if is_here || !is_listed {
                    info.price = None;
                }
                info
            }),
        };
        if is_free {
            let info = info.get_or_insert_default();
            info.is_local = true;
            info.price.get_or_insert_with(Price::default);
        } else if let Some(info) = info.as_mut().filter(|_| self.info.is_none()) {
            info.is_local = false;
        }
        if provider.is_some_and(|it| it.quirks.reports_cost) {
            info.get_or_insert_default().reports_cost = true;
        }
        info
    }

    fn registered(&self, name: &str) -> Option<ModelInfo> {
        match &self.registry {
            Some(registry) => registry.get(name).map(ModelSpec::info),
            None => ModelRegistry::builtin().get(name).map(ModelSpec::info),
        }
    }
}

impl fmt::Debug for Resolver {
    // The variables hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let configured: Vec<_> = self.configured().iter().map(|it| it.provider).collect();
        f.debug_struct("Resolver")
            .field("configured", &configured)
            .finish_non_exhaustive()
    }
}
