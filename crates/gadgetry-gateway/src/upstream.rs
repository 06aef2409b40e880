//! Destinations of requests: servers, and the models at them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::grammar::ModelSize;
use gadgetry_providers::model::Model;
use gadgetry_providers::model::{Mode, ModelInfo};
use gadgetry_providers::openai::MaxTokensField;
use gadgetry_providers::resolve::Api;
use gadgetry_providers::server::recognise;
use gadgetry_providers::{
    Anthropic, ApiKey, BaseUrl, Http, HttpConfig, ModelOptions, OpenAi, OpenAiCompletions,
    OpenAiResponses, ProviderError, Resolver, ServerFacts,
};
use serde_json::{Map, Value, json};

use crate::api::ClientApi;
use crate::exchange::{ClientRequest, Constrain, ModelRules, ToolMode};
use crate::faults::Addresses;

/// Failures in a row after which an upstream is left out for [`COOLDOWN`].
const FAILURES: u32 = 3;

/// Time for which a failing upstream is left out, if there is another one.
const COOLDOWN: Duration = Duration::from_secs(10);

/// Maximum age of facts that a server states about itself. Models come and go.
const FRESH: Duration = Duration::from_mins(1);

/// Maximum age of facts for a request, which would have to wait for new ones.
const SETTLED: Duration = Duration::from_mins(10);

/// Fields of sampling that servers of all APIs may know.
const SAMPLING: [&str; 8] = [
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
];

/// A server, or one model of a provider.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    target: Target,
    addresses: Addresses,
    client: Http,
    /// Failures in a row.
    failures: AtomicU32,
    /// End of the time for which it is left out, in milliseconds since `since`.
    out_until: AtomicU64,
    since: Instant,
    /// Facts that the server states about itself, with the time of the request. The lock is held during the requests, so that
    /// they are sent once.
    facts: tokio::sync::Mutex<Option<(Instant, Arc<ServerFacts>)>>,
}

/// Kind of an upstream.
#[derive(Clone, Debug)]
pub enum Target {
    /// A server with any models.
    Server {
        /// The base URL, up to `/v1`.
        url: BaseUrl,
        /// The API of the server.
        api: Api,
        /// Key of the server.
        key: Option<ApiKey>,
    },
    /// One model, by its name as in `provider:model`.
    Model {
        /// The name.
        name: String,
        /// Key of the model, in place of the one from `resolver`.
        key: Option<ApiKey>,
        /// Source of other keys and addresses.
        resolver: Box<Resolver>,
    },
}

/// Returns `true` if the client's requests have the same form as the upstream's.
fn is_same(api: Api, client: ClientApi) -> bool {
    matches!(
        (api, client),
        (Api::Chat, ClientApi::Chat)
            | (Api::Responses, ClientApi::Responses)
            | (Api::Messages, ClientApi::Messages)
    )
}

/// Treatment of a model of an upstream, with the facts that its server states about it.
#[derive(Debug)]
pub(crate) struct SettledRules {
    pub(crate) rules: Arc<ModelRules>,
    pub(crate) size: ModelSize,
    /// `true` if the model only completes text.
    completes: bool,
}

impl Upstream {
    /// Makes an upstream. `name` is for logs and metrics.
    ///
    /// # Errors
    ///
    /// If the HTTP configuration is invalid, or the name of a model is unknown.
    pub fn new(
        name: impl Into<String>,
        target: Target,
        http: HttpConfig,
    ) -> Result<Self, ProviderError> {
        let addresses = match &target {
            Target::Server { url, .. } => Addresses::of(url),
            // A model that cannot be located is refused below.
            Target::Model { name, resolver, .. } => resolver
                .locate(name)
                .map_or_else(|_| Addresses::default(), |it| Addresses::of(&it.base_url)),
        };
        let upstream = Self {
            name: name.into(),
            addresses,
            client: Http::new(http)?,
            target,
            failures: AtomicU32::new(0),
            out_until: AtomicU64::new(0),
            since: Instant::now(),
            facts: tokio::sync::Mutex::default(),
        };
        upstream.model("check", ModelOptions::default())?;
        Ok(upstream)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the addresses, which only the owner of the upstream may read.
    pub(crate) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Returns the URL without secrets, or the name of the model.
    pub fn place(&self) -> String {
        match &self.target {
            Target::Server { url, .. } => url.shown(),
            Target::Model { name, .. } => name.clone(),
        }
    }

    /// Returns the API of its requests.
    pub fn api(&self) -> Api {
        match &self.target {
            Target::Server { api, .. } => *api,
            Target::Model { name, resolver, .. } => located(resolver, name),
        }
    }

    /// Returns the model of every request; `None` for a server, where requests name it.
    pub fn fixed_model(&self) -> Option<&str> {
        match &self.target {
            Target::Server { .. } => None,
            Target::Model { name, .. } => Some(name),
        }
    }

    /// Returns the server's name of a model that a request names.
    pub(crate) fn served<'a>(&self, model: &'a str) -> Cow<'a, str> {
        match &self.target {
            Target::Server { .. } => Cow::Borrowed(model),
            Target::Model { name, resolver, .. } => resolver
                .locate(name)
                .map_or(Cow::Borrowed(model), |place| Cow::Owned(place.model)),
        }
    }

    /// Returns a model of this upstream, with the options of one request.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, or there is no key.
    pub fn model(
        &self,
        model: &str,
        options: ModelOptions,
    ) -> Result<Arc<dyn Model>, ProviderError> {
        let (Target::Server { key, .. } | Target::Model { key, .. }) = &self.target;
        let options = ModelOptions {
            client: Some(self.client.clone()),
            api_key: key.clone(),
            ..options
        };
        match &self.target {
            Target::Server { url, api, .. } => {
                let options = ModelOptions {
                    base_url: Some(url.clone()),
                    ..options
                };
                let api = match api {
                    Api::Chat if completes(&options) => Api::Completions,
                    api => *api,
                };
                Ok(match api {
                    Api::Completions => {
                        Arc::new(OpenAiCompletions::builder(model).options(options).build()?)
                    }
                    Api::Chat => Arc::new(
                        OpenAi::builder(model)
                            .options(options)
                            .max_tokens_field(MaxTokensField::MaxTokens)
                            .build()?,
                    ),
                    Api::Responses => {
                        Arc::new(OpenAiResponses::builder(model).options(options).build()?)
                    }
                    Api::Messages => Arc::new(Anthropic::builder(model).options(options).build()?),
                })
            }
            Target::Model { name, resolver, .. } => {
                let resolver = knowing(resolver, name, options.info.as_ref());
                let resolver = resolver.options(options);
                let resolved = resolver.resolve(name);
                resolved
                    .map_err(|error| ProviderError::new(ModelErrorKind::Other, error.to_string()))
            }
        }
    }

    /// Returns the names of its models, as far as it lists them.
    pub(crate) async fn models(&self) -> Vec<String> {
        match &self.target {
            Target::Server { url, key, .. } => self
                .client
                .models(url, key.as_ref())
                .await
                .unwrap_or_default(),
            Target::Model { name, .. } => vec![name.clone()],
        }
    }

    /// Returns the facts that its server states about itself, at most a minute old.
    ///
    /// Cancel safety: dropping the future closes the connections; the next call begins again.
    pub async fn facts(&self) -> Arc<ServerFacts> {
        self.facts_within(FRESH).await
    }

    /// Returns the facts, not older than this.
    async fn facts_within(&self, age: Duration) -> Arc<ServerFacts> {
        let mut known = self.facts.lock().await;
        if let Some((_, facts)) = known.as_ref().filter(|(since, _)| since.elapsed() < age) {
            return Arc::clone(facts);
        }
        let facts = match &self.target {
            Target::Server { url, key, .. } => {
                recognise(&self.client, url, key.as_ref(), None).await
            }
            Target::Model {
                name,
                resolver,
                key,
            } => {
                let mut resolver = (**resolver).clone();
                if let Some(key) = key {
                    resolver = resolver.api_key(key.clone());
                }
                resolver.recognise(name).await
            }
        };
        let facts = Arc::new(facts);
        *known = Some((Instant::now(), Arc::clone(&facts)));
        facts
    }

    /// Returns the rules for one of its models, with facts from its server that are at most ten minutes old.
    pub(crate) async fn settled(&self, rules: &Arc<ModelRules>, model: &str) -> SettledRules {
        let api = self.api();
        let is_open = rules.constrain == Constrain::Auto || rules.examples.is_none();
        let may_complete = matches!(api, Api::Chat | Api::Completions);
        let is_native = rules.mode == ToolMode::Native && api != Api::Completions;
        if is_native || !is_open && !may_complete {
            return SettledRules {
                rules: Arc::clone(rules),
                size: ModelInfo::default().size(rules.worked_turns()),
                completes: false,
            };
        }
        let facts = self.facts_within(SETTLED).await;
        let name = match &self.target {
            Target::Server { .. } => model.to_owned(),
            Target::Model { name, resolver, .. } => {
                let place = resolver.locate(name).ok();
                place.map_or_else(|| model.to_owned(), |place| place.model)
            }
        };
        let mut info = None;
        facts.complete(&name, &mut info);
        let mut info = info.unwrap_or_default();
        let completes = match &self.target {
            Target::Server { .. } => {
                api == Api::Completions || api == Api::Chat && info.mode == Mode::Completion
            }
            Target::Model { name, resolver, .. } => {
                let resolver = knowing(resolver, name, Some(&info));
                located(&resolver, name) == Api::Completions
            }
        };
        info.mode = if completes {
            Mode::Completion
        } else {
            Mode::Chat
        };
        let rules = rules.settled(&info);
        SettledRules {
            size: info.size(rules.worked_turns()),
            rules: Arc::new(rules),
            completes,
        }
    }

    /// Returns the context window of one of its models in tokens, from its server or else from the catalogue.
    pub(crate) async fn window(&self, model: &str) -> Option<u64> {
        let facts = self.facts().await;
        match &self.target {
            Target::Server { .. } => facts.window(model),
            Target::Model { name, resolver, .. } => {
                let place = resolver.locate(name).ok()?;
                let known = || resolver.describe(name).ok()??.context_window;
                facts.window(&place.model).or_else(known)
            }
        }
    }

    /// Returns `true` if it has recently failed several times in a row.
    pub fn is_out(&self) -> bool {
        self.millis() < self.out_until.load(Ordering::Relaxed)
    }

    /// Notes the end of a request.
    pub(crate) fn note(&self, is_reachable: bool) {
        if is_reachable {
            self.failures.store(0, Ordering::Relaxed);
            self.out_until.store(0, Ordering::Relaxed);
        } else if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES {
            let until = self.millis() + u64::try_from(COOLDOWN.as_millis()).unwrap_or(u64::MAX);
            self.out_until.store(until, Ordering::Relaxed);
        }
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the options of a request to this upstream. If blocks are read, stop sequences and the form of the answer are not
    /// sent, because they could end or forbid a block.
    pub(crate) fn options(
        &self,
        from: ClientApi,
        request: &ClientRequest,
        settled: &SettledRules,
        reads_blocks: bool,
    ) -> ModelOptions {
        let own = &request.options;
        let rules = &settled.rules;
        let api = if settled.completes {
            Api::Completions
        } else {
            self.api()
        };
        let mut fields = Map::new();
        for (field, value) in &own.fields {
            if is_same(api, from) || SAMPLING.contains(&field.as_str()) {
                fields.insert(field.clone(), value.clone());
            }
        }
        if matches!(api, Api::Responses | Api::Messages) {
            fields.retain(|field, _| {
                is_same(api, from) || matches!(field.as_str(), "top_p" | "top_k")
            });
        }
        if api == Api::Responses {
            fields.shift_remove("top_k");
        }
        if let Some(format) = request.response_format.as_ref().filter(|_| !reads_blocks) {
            put_format(api, format, &mut fields);
        }
        ModelOptions {
            max_tokens: own.max_tokens,
            temperature: own.temperature,
            reasoning_effort: own.reasoning_effort.clone(),
            stop: if reads_blocks {
                Vec::new()
            } else {
                own.stop.clone()
            },
            streaming: true,
            info: Some(
                ModelInfo::default()
                    .reads_images(rules.images)
                    .reads_audio(true)
                    .constraint(rules.constraint())
                    .mode(if settled.completes {
                        Mode::Completion
                    } else {
                        Mode::Chat
                    }),
            ),
            fields,
            ..ModelOptions::default()
        }
    }
}

/// Returns `true` if the model is known to be a base model.
fn completes(options: &ModelOptions) -> bool {
    let info = options.info.as_ref();
    info.is_some_and(|info| info.mode == Mode::Completion)
}

/// Returns the API of a model by its name.
fn located(resolver: &Resolver, name: &str) -> Api {
    resolver.locate(name).map_or(Api::Chat, |place| place.api)
}

/// Returns a resolver with the server's facts about its model, in addition to those of the catalogue.
fn knowing(resolver: &Resolver, name: &str, said: Option<&ModelInfo>) -> Resolver {
    let resolver = resolver.clone();
    let Some(said) = said.filter(|it| it.constraint.is_known() || it.mode == Mode::Completion)
    else {
        return resolver;
    };
    let known = resolver.describe(name).ok().flatten();
    let known = known
        .unwrap_or_default()
        .constraint(said.constraint)
        .mode(said.mode);
    resolver.info(move |_| Some(known.clone()))
}

/// Adds the form of the answer, in the form of the upstream's API.
fn put_format(api: Api, format: &Value, fields: &mut Map<String, Value>) {
    let schema = &format["json_schema"];
    match api {
        Api::Chat | Api::Completions => {
            fields.insert("response_format".to_owned(), format.clone());
        }
        Api::Responses => {
            let mut inner = schema.as_object().cloned().unwrap_or_default();
            inner.insert("type".to_owned(), format["type"].clone());
            fields.insert("text".to_owned(), json!({"format": inner}));
        }
        Api::Messages if schema["schema"].is_object() => {
            let inner = json!({"type": "json_schema", "schema": schema["schema"]});
            fields.insert("output_config".to_owned(), json!({"format": inner}));
        }
        Api::Messages => {}
    }
}
