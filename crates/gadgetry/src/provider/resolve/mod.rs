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

mod error;
mod local;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::model::{Model, ModelInfo};
use crate::provider::anthropic::Anthropic;
use crate::provider::http::HttpConfig;
use crate::provider::openai::{MaxTokensField, OpenAi};
use crate::provider::secret::ApiKey;

pub use error::ResolveError;
pub use local::LocalServer;
use table::{Api, FAMILIES, PROVIDERS, Provider, SHORTCUTS};

/// Says what is known about a model, by its name as `provider:model`.
pub type InfoOf = Arc<dyn Fn(&str) -> Option<ModelInfo> + Send + Sync>;

/// Finds models by their names. See the [module](self) for what a name may be.
///
/// ```
/// use gadgetry::provider::Resolver;
/// let resolver = Resolver::new([("ANTHROPIC_API_KEY", "sk-ant-0123456789")]);
/// let model = resolver.resolve("claude-haiku-4-5")?;
/// assert_eq!(model.name(), "anthropic:claude-haiku-4-5");
///
/// let error = resolver.resolve("gpt-4o").err().ok_or("there is no key for it")?;
/// assert_eq!(
///     error.to_string(),
///     "no key for openai: set OPENAI_API_KEY. Configured: anthropic (ANTHROPIC_API_KEY). \
///      On this machine: ollama, lmstudio, llamacpp, vllm"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Resolver {
    variables: BTreeMap<String, String>,
    base_url: Option<String>,
    api_key: Option<ApiKey>,
    http: HttpConfig,
    info: Option<InfoOf>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    reasoning_effort: Option<String>,
}

/// A provider, and how it can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The name in front of the colon.
    pub provider: &'static str,
    /// Where it is.
    pub base_url: String,
    /// The variable that holds the key; `None` where there is none.
    pub key: Option<&'static str>,
    /// Whether it runs on this machine, so that no key is needed.
    pub is_local: bool,
}

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The provider; `None` for an address that was given with the name of its model alone.
    pub provider: Option<&'static str>,
    /// The model, by the name that the provider knows.
    pub model: String,
    /// Where the provider is.
    pub base_url: String,
}

impl Resolver {
    /// With the variables of this process. What is no Unicode is left out.
    pub fn from_env() -> Self {
        let variables = std::env::vars_os();
        let text = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::new(text)
    }

    /// With these variables. An empty one is none.
    pub fn new<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Self {
            variables: variables
                .filter(|(_, value): &(String, String)| !value.trim().is_empty())
                .collect(),
            base_url: None,
            api_key: None,
            http: HttpConfig::new(),
            info: None,
            max_tokens: None,
            temperature: None,
            reasoning_effort: None,
        }
    }

    /// Another address for every model. A name that has no provider in front of a colon is then a model there, behind
    /// Chat Completions, and no key of the environment is sent: that would hand it to a stranger.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key for every model, in place of those of the environment.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// How requests are sent.
    #[must_use]
    pub fn http(mut self, config: HttpConfig) -> Self {
        self.http = config;
        self
    }

    /// Who knows models: asked for `provider:model`.
    #[must_use]
    pub fn info(mut self, of: impl Fn(&str) -> Option<ModelInfo> + Send + Sync + 'static) -> Self {
        self.info = Some(Arc::new(of));
        self
    }

    /// Tokens that a reply may have.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// How freely words are chosen.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// How hard to think, in the provider's word.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.reasoning_effort = Some(effort.into());
        self
    }

    /// The model of a name. Nobody is asked whether it exists.
    pub fn resolve(&self, name: &str) -> Result<Arc<dyn Model>, ResolveError> {
        let (provider, place) = self.find(name)?;
        let key = self.key(provider, &place)?;
        let full = match place.provider {
            Some(provider) => format!("{provider}:{}", place.model),
            None => place.model.clone(),
        };
        let mut info = self.info.as_ref().and_then(|of| of(&full));
        if provider.is_some_and(Provider::is_local) && local::is_loopback(&place.base_url) {
            info.get_or_insert_default().is_local = true;
        }
        let api = provider.map_or(Api::OpenAi, |provider| provider.api);
        let model: Arc<dyn Model> = match api {
            Api::OpenAi => Arc::new(self.openai(provider, place, key, full, info)?),
            Api::Anthropic => Arc::new(self.anthropic(place, key, full, info)?),
        };
        Ok(model)
    }

    /// Where a name leads, whether or not there is a key.
    pub fn locate(&self, name: &str) -> Result<Place, ResolveError> {
        self.find(name).map(|(_, place)| place)
    }

    /// The providers that have a key, or an address of their own, and those on this machine.
    pub fn configured(&self) -> Vec<Configured> {
        let all = PROVIDERS.iter().map(|provider| Configured {
            provider: provider.name,
            base_url: self.address(provider),
            key: self.key_variable(provider),
            is_local: provider.is_local(),
        });
        let is_set = |it: &Configured| {
            let has_address = PROVIDERS.iter().any(|provider| {
                provider.name == it.provider && self.first(provider.base_urls).is_some()
            });
            it.key.is_some() || it.is_local || has_address
        };
        all.filter(is_set).collect()
    }

    /// The names that may stand in front of a colon.
    pub fn providers() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().map(|provider| provider.name)
    }

    /// The providers that want a key, and the variables that may hold it; the first that is set counts.
    pub fn key_variables() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        let remote = PROVIDERS.iter().filter(|provider| !provider.is_local());
        remote.map(|provider| (provider.name, provider.keys))
    }

    /// Short names, and what they stand for.
    pub fn shortcuts() -> impl Iterator<Item = (&'static str, &'static str)> {
        SHORTCUTS.iter().copied()
    }

    fn find(&self, name: &str) -> Result<(Option<&'static Provider>, Place), ResolveError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(ResolveError::NoName);
        }
        let shortcut = SHORTCUTS
            .iter()
            .find(|(short, _)| name.eq_ignore_ascii_case(short));
        let name = shortcut.map_or(name, |(_, full)| full);
        let provider = name
            .split_once(':')
            .and_then(|(prefix, model)| Some((named(prefix.trim())?, model.trim())));
        let (provider, model) = match (provider, &self.base_url) {
            (Some((_, "")), _) => return Err(ResolveError::NoName),
            (Some((provider, model)), _) => (Some(provider), model),
            (None, Some(_)) => (None, name),
            (None, None) => match self.guess(name) {
                Some(provider) => (Some(provider), name),
                None => return Err(self.unknown(name)),
            },
        };
        let base_url = match (&self.base_url, provider) {
            (Some(url), _) => url.clone(),
            (None, Some(provider)) => self.address(provider),
            (None, None) => return Err(self.unknown(name)),
        };
        let place = Place {
            provider: provider.map(|provider| provider.name),
            model: model.to_owned(),
            base_url,
        };
        Ok((provider, place))
    }

    /// The provider of a name that does not say it.
    fn guess(&self, name: &str) -> Option<&'static Provider> {
        let lower = name.to_ascii_lowercase();
        let is_of = |family: &str| {
            let rest = lower.strip_prefix(family);
            rest.is_some_and(|rest| {
                family.ends_with('-') || rest.is_empty() || rest.starts_with('-')
            })
        };
        // Open weights, which OpenAI itself does not serve.
        let is_open = lower.starts_with("gpt-oss");
        let family = FAMILIES
            .iter()
            .find(|(family, _)| !is_open && is_of(family));
        match family {
            Some((_, provider)) => named(provider),
            None => named("openai").filter(|openai| self.first(openai.base_urls).is_some()),
        }
    }

    /// The key for a place, if one is needed or there is one.
    fn key(&self, provider: Option<&Provider>, place: &Place) -> Result<Option<Key>, ResolveError> {
        if let Some(key) = &self.api_key {
            return Ok(Some(Key::Plain(key.clone())));
        }
        let Some(provider) = provider else {
            return Ok(None);
        };
        if let Some((variable, key)) = self.first(provider.keys) {
            let key = ApiKey::new(key);
            return Ok(Some(if variable.ends_with("_AUTH_TOKEN") {
                Key::Token(key)
            } else {
                Key::Plain(key)
            }));
        }
        // Somebody else's server may want none.
        if provider.is_local() || place.base_url != provider.base_url {
            return Ok(None);
        }
        Err(ResolveError::NoKey {
            provider: provider.name,
            variables: provider.keys,
            configured: self.listed(),
        })
    }

    fn openai(
        &self,
        provider: Option<&Provider>,
        place: Place,
        key: Option<Key>,
        name: String,
        info: Option<ModelInfo>,
    ) -> Result<OpenAi, ResolveError> {
        let is_openai =
            provider.is_some_and(|it| it.name == "openai" && it.base_url == place.base_url);
        let field = if is_openai {
            MaxTokensField::MaxCompletionTokens
        } else {
            MaxTokensField::MaxTokens
        };
        let mut model = OpenAi::builder(place.model)
            .base_url(place.base_url)
            .name(name)
            .http(self.http.clone())
            .info(info.unwrap_or_default())
            .max_tokens_field(field);
        if let Some(Key::Plain(key) | Key::Token(key)) = key {
            model = model.api_key(key);
        }
        if let Some(tokens) = self.max_tokens {
            model = model.max_tokens(tokens);
        }
        if let Some(temperature) = self.temperature {
            model = model.temperature(temperature);
        }
        if let Some(effort) = &self.reasoning_effort {
            model = model.reasoning_effort(effort);
        }
        Ok(model.build()?)
    }

    fn anthropic(
        &self,
        place: Place,
        key: Option<Key>,
        name: String,
        info: Option<ModelInfo>,
    ) -> Result<Anthropic, ResolveError> {
        let mut model = Anthropic::builder(place.model)
            .base_url(place.base_url)
            .name(name)
            .http(self.http.clone());
        if let Some(info) = info {
            model = model.info(info);
        }
        match key {
            Some(Key::Plain(key)) => model = model.api_key(key),
            Some(Key::Token(token)) => model = model.auth_token(token),
            None => {}
        }
        if let Some(tokens) = self.max_tokens {
            model = model.max_tokens(tokens);
        }
        if let Some(temperature) = self.temperature {
            model = model.temperature(temperature);
        }
        if let Some(effort) = &self.reasoning_effort {
            model = model.reasoning_effort(effort);
        }
        Ok(model.build()?)
    }

    fn address(&self, provider: &Provider) -> String {
        match self.first(provider.base_urls) {
            Some(("OLLAMA_HOST", host)) => local::ollama(host),
            Some((_, url)) => url.trim().to_owned(),
            None => provider.base_url.to_owned(),
        }
    }

    /// The first of these variables that is set, and its value.
    fn first<'r>(&'r self, names: &[&'static str]) -> Option<(&'static str, &'r str)> {
        let mut set = names
            .iter()
            .filter_map(|name| Some((*name, self.variables.get(*name)?.as_str())));
        set.next()
    }

    fn key_variable(&self, provider: &Provider) -> Option<&'static str> {
        self.first(provider.keys).map(|(name, _)| name)
    }

    fn unknown(&self, name: &str) -> ResolveError {
        ResolveError::Unknown {
            name: name.to_owned(),
            configured: self.listed(),
        }
    }

    /// What is configured, for people.
    fn listed(&self) -> String {
        let all = self.configured();
        let (local, remote): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.is_local);
        let remote: Vec<String> = remote
            .iter()
            .map(|it| match it.key {
                Some(key) => format!("{} ({key})", it.provider),
                None => format!("{} (without a key)", it.provider),
            })
            .collect();
        let remote = if remote.is_empty() {
            "nothing".to_owned()
        } else {
            remote.join(", ")
        };
        let local: Vec<&str> = local.iter().map(|it| it.provider).collect();
        format!(
            "Configured: {remote}. On this machine: {}",
            local.join(", ")
        )
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

/// How a key is sent.
enum Key {
    Plain(ApiKey),
    /// As a bearer, where keys have a header of their own.
    Token(ApiKey),
}

fn named(name: &str) -> Option<&'static Provider> {
    PROVIDERS
        .iter()
        .find(|provider| provider.name.eq_ignore_ascii_case(name))
}
