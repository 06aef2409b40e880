//! The models that can be used now: by keys of the environment, and by servers that answer: on this machine, or at an address of the environment.

use std::env;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gadgetry::models::{Date, ModelSpec};
use gadgetry::provider::resolve::FoundServer;
use gadgetry::provider::{ApiKey, BaseUrl, Http, HttpConfig, Resolver};
use serde::Serialize;
use tokio::runtime::Builder;

use crate::error::Error;
use crate::lines::one_line;
use crate::run_agent::until_interrupted;

/// Maximum time for servers to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Models of servers in a message.
const EXAMPLES: usize = 3;

/// What can be used.
pub(crate) struct Usable {
    keys: Vec<KeyOf>,
    servers: Vec<FoundServer>,
    /// The models of the server that `--base-url` names, which are the only ones then; empty without one that lists them.
    #[cfg(feature = "chat")]
    served: Vec<String>,
}

/// A provider whose key is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyOf {
    /// The provider's name, as before the colon.
    pub(crate) provider: &'static str,
    /// The variable with the key.
    pub(crate) variable: &'static str,
    /// A model of it with a short name.
    pub(crate) shortcut: Option<&'static str>,
}

/// A model of a server that answers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerModel {
    /// The name for `--model`.
    pub(crate) name: String,
    pub(crate) provider: &'static str,
    pub(crate) base_url: String,
}

impl Usable {
    /// Looks for keys alone. Nothing is sent.
    #[cfg(feature = "chat")]
    pub(crate) fn by_keys() -> Self {
        Self {
            keys: keys(&Resolver::from_env()),
            servers: Vec::new(),
            served: Vec::new(),
        }
    }

    /// Adds the models of the server that `--base-url` names.
    #[cfg(feature = "chat")]
    pub(crate) fn serving(mut self, models: Vec<String>) -> Self {
        self.served = models;
        self
    }

    /// The models of the server that `--base-url` names.
    #[cfg(feature = "chat")]
    pub(crate) fn served(&self) -> &[String] {
        &self.served
    }

    /// Looks for keys, and for servers that answer within a second. An interrupt is the end of it.
    pub(crate) async fn find() -> Result<Self, Error> {
        let found = until_interrupted(Self::look(), || true).await?;
        found.ok_or_else(|| Error::Failed("cancelled".to_owned()))
    }

    /// The same where an interrupt ends the program, as questions to the user need it.
    pub(crate) async fn look() -> Self {
        let resolver = Resolver::from_env();
        let servers = resolver.find_servers_within(PATIENCE).await;
        Self {
            keys: keys(&resolver),
            servers,
            #[cfg(feature = "chat")]
            served: Vec::new(),
        }
    }

    /// The same for callers that do not await: blocks for a second at most.
    pub(crate) fn look_now() -> Result<Self, Error> {
        now(Self::look())
    }

    /// The providers whose keys are set.
    pub(crate) fn keys(&self) -> &[KeyOf] {
        &self.keys
    }

    /// Returns whether a model of the catalogue with this name can be used: the key of its provider is set, and it is not gone.
    pub(crate) fn has(&self, name: &str, spec: &ModelSpec) -> bool {
        let provider = name.split_once(':').map(|(provider, _)| provider);
        let has_key = self.keys.iter().any(|it| Some(it.provider) == provider);
        has_key && !today().is_some_and(|today| spec.is_deprecated(today))
    }

    /// The models of servers that answer.
    pub(crate) fn of_servers(&self) -> impl Iterator<Item = ServerModel> {
        self.servers.iter().flat_map(|server| {
            let models = server.models.iter();
            models.map(|model| ServerModel {
                name: format!("{}:{model}", server.provider),
                provider: server.provider,
                base_url: server.base_url.shown(),
            })
        })
    }

    /// Returns whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.of_servers().next().is_none()
    }
}

/// Returns the models that the server at an address lists, with the key in this variable. Blocks for ten seconds at most.
pub(crate) fn models_at(url: &str, variable: Option<&str>) -> Result<Vec<String>, Error> {
    let key = variable.map(key_in).transpose()?;
    let http = Http::new(HttpConfig::new().proxy_from_environment(true)).map_err(Error::input)?;
    let url = BaseUrl::new(url);
    let models = now(async { http.models(&url, key.as_ref()).await })?;
    models.map_err(|error| Error::Failed(format!("{}: {error}", url.shown())))
}

/// Returns the key in a variable that an option names.
pub(crate) fn key_in(variable: &str) -> Result<ApiKey, Error> {
    match env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(ApiKey::new(key)),
        _ => Err(Error::input(format_args!(
            "no key: the environment variable {variable} is not set"
        ))),
    }
}

/// Waits for a future where nothing else runs.
fn now<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::machine(&error))?;
    // A thread that has a runtime cannot wait for another one.
    let found = thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
    runtime.shutdown_background();
    Ok(found.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// The date of today.
pub(crate) fn today() -> Option<Date> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(Date::from_unix_seconds(now.as_secs()))
}

/// The words for a user who can use no model.
pub(crate) const NONE: &str = "no model can be used: no key is set, and no server answers";

/// The providers whose keys are set.
fn keys(resolver: &Resolver) -> Vec<KeyOf> {
    let configured = resolver.configured().into_iter();
    let keys = configured.filter_map(|it| {
        Some(KeyOf {
            provider: it.provider,
            variable: it.key?,
            shortcut: shortcuts_of(it.provider).next(),
        })
    });
    keys.collect()
}

/// The short names of a provider's models.
pub(crate) fn shortcuts_of(provider: &str) -> impl Iterator<Item = &'static str> {
    Resolver::shortcuts().filter_map(move |(short, full)| {
        let (of, _) = full.split_once(':')?;
        (of == provider).then_some(short)
    })
}

/// What to do about a model that was not chosen, in one line. Looks for servers on this machine, too.
pub(crate) fn how_to_choose() -> Result<String, Error> {
    let mut words =
        "no model is chosen: say --model NAME, set GADGETRY_MODEL, or write model = \"NAME\" into the configuration".to_owned();
    let usable = Usable::look_now()?;
    let by_keys = usable.keys().iter().map(|it| match it.shortcut {
        Some(short) => format!("{short} ({} is set)", it.variable),
        None => format!("{}:NAME ({} is set)", it.provider, it.variable),
    });
    let local = usable.of_servers().take(EXAMPLES);
    let local = local.map(|it| format!("{} (at {})", one_line(&it.name), one_line(&it.base_url)));
    let examples: Vec<String> = by_keys.chain(local).collect();
    // Writing to a string cannot fail.
    let _ = if examples.is_empty() {
        write!(
            words,
            "; no key is set: set ANTHROPIC_API_KEY for haiku, OPENAI_API_KEY for gpt5 or GEMINI_API_KEY for flash, or start a local server"
        )
    } else {
        write!(words, "; for example {}", examples.join(", "))
    };
    words.push_str(
        "; `gadgetry models` lists what you can use, `gadgetry doctor` looks for keys and servers",
    );
    Ok(words)
}
