//! Settings of a gateway: upstreams, models, keys, limits. They are checked, and replaced as a whole.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig, ProviderError};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::exchange::{ModelRules, RulesPatch};
use crate::memory::Owner;
use crate::upstream::{Target, Upstream};

/// Everything that can be changed while a gateway runs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Upstreams, in the order in which they are tried for models without a route.
    pub upstreams: Vec<Arc<Upstream>>,
    /// The models that clients can name. Without any, each name is passed to the upstreams unchanged.
    pub routes: Vec<Route>,
    /// The rules of all models, where their route has none of its own.
    pub rules: RulesPatch,
    /// The weakest rules: those of single models, by their name at the upstream, such as the results of a measurement.
    pub models: BTreeMap<String, RulesPatch>,
    /// Keys of the clients. Without any, every client that can reach the gateway can use it.
    pub keys: Vec<ClientKey>,
    /// Limits on connections, requests and their sizes.
    pub limits: ServerLimits,
    /// `true` if prompts and replies are logged, at the level `info`. Otherwise no part of them is logged.
    pub log_prompts: bool,
}

/// Upstreams and rules for the requests of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Route {
    /// The name that clients use; with `*` at its end, all names with that prefix.
    pub name: String,
    /// The upstreams, in the order in which they are tried.
    pub upstreams: Vec<Arc<Upstream>>,
    /// The name at the upstream; by default the client's.
    pub model: Option<String>,
    /// Treatment of the model.
    pub rules: RulesPatch,
}

impl Route {
    /// Makes the route of requests for `name` to these upstreams.
    pub fn new(name: impl Into<String>, upstreams: Vec<Arc<Upstream>>) -> Self {
        Self {
            name: name.into(),
            upstreams,
            model: None,
            rules: RulesPatch::default(),
        }
    }

    gadgetry_proto::setters! {
        /// Sets the name at the upstream.
        model: impl Into<Option<String>>;
        /// Sets the treatment of the model.
        rules: RulesPatch;
    }

    fn is_for(&self, model: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(prefix) => model.starts_with(prefix),
            None => self.name == model,
        }
    }
}

/// Limits of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Maximum bytes of a request's body.
    pub body_bytes: usize,
    /// Maximum bytes that an upstream may write for one request, repair turns included.
    pub reply_bytes: usize,
    /// Maximum time for the body of a request to arrive.
    pub body_timeout: Duration,
    /// Maximum time for the head of a request to arrive.
    pub header_timeout: Duration,
    /// Requests in flight.
    pub requests: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum time that requests in flight continue after a signal to stop.
    pub drain: Duration,
    /// Time after which a silent stream sends a comment.
    pub keep_alive: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            reply_bytes: 16 << 20,
            body_timeout: Duration::from_mins(1),
            header_timeout: Duration::from_secs(30),
            requests: 16_384,
            connections: 20_000,
            drain: Duration::from_secs(30),
            keep_alive: Duration::from_secs(12),
        }
    }
}

/// A key of a client. Only its hash is kept.
#[derive(Clone, Debug)]
pub struct ClientKey {
    /// The name in logs and metrics.
    pub name: String,
    hash: [u8; 32],
    /// Requests in flight.
    pub max_concurrent: Option<usize>,
    /// Maximum number of requests that begin within a minute.
    pub per_minute: Option<u32>,
}

impl ClientKey {
    /// Makes a key without limits.
    pub fn new(name: impl Into<String>, key: &str) -> Self {
        Self::hashed(name, Sha256::digest(key.as_bytes()).into())
    }

    /// Makes a key from its SHA-256 hash.
    pub fn hashed(name: impl Into<String>, hash: [u8; 32]) -> Self {
        Self {
            name: name.into(),
            hash,
            max_concurrent: None,
            per_minute: None,
        }
    }
}

impl ClientKey {
    /// Returns the owner of data that is kept for the client with this key.
    pub(crate) fn owner(&self) -> Owner {
        Owner::of("key", &self.hash)
    }
}

/// Upstreams of a request, and the treatment of its model.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    /// The name at the upstream.
    pub(crate) model: String,
    pub(crate) rules: Arc<ModelRules>,
}

impl Settings {
    gadgetry_proto::setters! {
        /// Sets the upstreams, in the order in which they are tried.
        upstreams: Vec<Arc<Upstream>>;
        /// Sets the models that clients can name.
        routes: Vec<Route>;
        /// Sets the rules of all models, where their route has none of its own.
        rules: RulesPatch;
        /// Sets the weakest rules, those of single models.
        models: BTreeMap<String, RulesPatch>;
        /// Sets the keys of the clients.
        keys: Vec<ClientKey>;
        /// Sets the limits.
        limits: ServerLimits;
        /// Sets whether prompts and replies are logged.
        log_prompts: bool;
    }

    /// Returns the settings of a gateway to one server of Chat Completions without a key, by its base URL.
    ///
    /// # Errors
    ///
    /// If the HTTP client cannot be built, for example without certificates.
    ///
    /// ```
    /// use gadgetry_gateway::{Gateway, Settings};
    /// let gateway = Gateway::new(Settings::simple("http://127.0.0.1:8080/v1")?);
    /// # Ok::<(), gadgetry_providers::ProviderError>(())
    /// ```
    pub fn simple(upstream: impl Into<BaseUrl>) -> Result<Self, ProviderError> {
        let target = Target::Server {
            url: upstream.into(),
            api: Api::Chat,
            key: None,
        };
        let upstream = Upstream::new("upstream", target, HttpConfig::new())?;
        Ok(Self {
            upstreams: vec![Arc::new(upstream)],
            ..Self::default()
        })
    }

    /// Returns the upstreams of models with and without a route; some more than once.
    pub(crate) fn all_upstreams(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        let routes = self.routes.iter().flat_map(|route| &route.upstreams);
        self.upstreams.iter().chain(routes)
    }

    /// Returns the upstreams and rules for a model; `None` if no route matches it.
    pub(crate) fn destination(&self, model: &str) -> Option<Destination> {
        if let Some(route) = self.routes.iter().find(|route| route.is_for(model)) {
            let model = route.model.as_deref().unwrap_or(model);
            return Some(Destination {
                upstreams: route.upstreams.clone(),
                model: model.to_owned(),
                rules: self.rules_of(model, &route.upstreams, &route.rules.over(&self.rules)),
            });
        }
        (self.routes.is_empty() && !self.upstreams.is_empty()).then(|| Destination {
            upstreams: self.upstreams.clone(),
            model: model.to_owned(),
            rules: self.rules_of(model, &self.upstreams, &self.rules),
        })
    }

    fn rules_of(
        &self,
        model: &str,
        upstreams: &[Arc<Upstream>],
        rules: &RulesPatch,
    ) -> Arc<ModelRules> {
        let weakest = ModelRules::default();
        if self.models.is_empty() {
            return Arc::new(rules.applied_to(&weakest));
        }
        let model = upstreams
            .first()
            .map_or(Cow::Borrowed(model), |it| it.served(model));
        let own = self.models.get(&*model);
        Arc::new(own.map_or_else(
            || rules.applied_to(&weakest),
            |own| rules.over(own).applied_to(&weakest),
        ))
    }

    /// Returns the index in `keys` of the key that a client has sent. Every key is compared, so the time reveals nothing.
    pub(crate) fn key(&self, sent: &[u8]) -> Option<usize> {
        let hash: [u8; 32] = Sha256::digest(sent).into();
        let mut found = None;
        for (at, key) in self.keys.iter().enumerate() {
            if bool::from(key.hash.ct_eq(&hash)) {
                found = Some(at);
            }
        }
        found
    }
}
