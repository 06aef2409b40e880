//! The gateway in this process: requests of the official SDKs, without a server and without a port; and exchanges alone.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use gadgetry::Delta;
use gadgetry::provider::http::is_secret_header;
use gadgetry::provider::resolve::Api;
use gadgetry::provider::{ApiKey, HttpConfig};
use gadgetry_gateway::exchange::{
    self, Exchange, ExchangeStep, ModelRules, PreparedRequest, Secrets, Setup, Toolset,
};
use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{ClientApi, Gateway, Settings};
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::Problem;
use crate::fields::Fields;
use crate::format::form;

/// Headers that describe a message of the client to the gateway, not one of the gateway to the server.
const OF_THE_CLIENT: [&str; 7] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
];

/// Makes the options of requests to a server: the headers of a client, and its proxy.
pub fn http(
    headers: Vec<(String, String)>,
    proxy: Option<String>,
    reads_environment: bool,
) -> HttpConfig {
    let mut http = HttpConfig::new().proxy_from_environment(reads_environment);
    if let Some(url) = proxy {
        http = http.proxy(url);
    }
    for (name, value) in headers {
        // The values of others may occur in replies, from which secrets are removed.
        if is_secret_header(&name) {
            http = http.secret_header(name, value);
        } else if !OF_THE_CLIENT
            .iter()
            .any(|it| it.eq_ignore_ascii_case(&name))
        {
            http = http.header(name, value);
        }
    }
    http
}

/// Makes a gateway to one server. The first one reads the certificates of the machine, which takes a while.
pub fn router(
    base_url: String,
    api: &str,
    api_key: Option<String>,
    http: HttpConfig,
) -> Result<Router, Problem> {
    let api = match api {
        "chat" => Api::Chat,
        "responses" => Api::Responses,
        "messages" => Api::Messages,
        "completions" => Api::Completions,
        other => {
            let admitted = "`chat`, `responses`, `messages` or `completions`";
            return Err(Problem::choice("api", other, admitted));
        }
    };
    let target = Target::Server {
        url: base_url.into(),
        api,
        key: api_key.map(ApiKey::from),
    };
    let upstream = Upstream::new("upstream", target, http);
    let upstream = upstream.map_err(|error| Problem::classified("ConfigError", &error))?;
    let mut settings = Settings::default();
    settings.upstreams = vec![Arc::new(upstream)];
    Ok(Gateway::new(settings).router())
}

/// Makes a request.
pub fn request(
    method: &str,
    target: &str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
) -> Result<Request<Body>, Problem> {
    let wrong = |error: &dyn std::fmt::Display| Problem::new("ValueError", error.to_string());
    let method: Method = method.parse().map_err(|error| wrong(&error))?;
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request
        .body(Body::from(body))
        .map_err(|error| wrong(&error))
}

/// Sends a request, and waits for the head of the response.
pub async fn answered(mut router: Router, request: Request<Body>) -> Reply {
    match router.call(request).await {
        Ok(response) => Reply::new(response),
        Err(never) => match never {},
    }
}

type Pieces = Arc<tokio::sync::Mutex<BoxStream<'static, Result<Bytes, axum::Error>>>>;

/// A response, whose body is read piece by piece. Dropping it ends the request.
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, Vec<u8>)>,
    pieces: Mutex<Option<Pieces>>,
}

impl Reply {
    fn new(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        let pieces = body.into_data_stream().boxed();
        Self {
            status: head.status.as_u16(),
            headers: headers.collect(),
            pieces: Mutex::new(Some(Arc::new(tokio::sync::Mutex::new(pieces)))),
        }
    }

    /// Waits for the next piece of the body; `None` at its end.
    pub fn next(
        &self,
    ) -> impl Future<Output = Option<Result<Bytes, axum::Error>>> + Send + 'static {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let pieces = pieces.clone();
        async move { pieces?.lock().await.next().await }
    }

    /// Ends the request.
    pub fn close(&self) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.take();
    }
}

/// Bytes that the model of an exchange may write.
const REPLY_BYTES: usize = 16 << 20;

/// The key from which the secrets of prompts are derived.
static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Begins an exchange with a model that the caller sends the requests to.
///
/// `body` is a request of Chat Completions, `id` a random number, and the options are `form`, `repairs`, `examples`, `reasoning` and
/// `markers` (`nonce` or `plain`).
pub fn exchange(body: Value, id: u128, mut options: Fields) -> Result<Exchange, Problem> {
    let refused = |error: &dyn std::fmt::Display| Problem::config(error.to_string());
    let client = ClientApi::Chat
        .decode(body)
        .map_err(|refusal| refused(&refusal))?;
    let mut rules = ModelRules::default();
    if let Some(word) = options.take::<String>("form")? {
        rules.form = Some(form(&word)?);
    }
    if let Some(repairs) = options.take("repairs")? {
        rules.repairs = repairs;
    }
    rules.examples = options.take("examples")?;
    if let Some(tags) = options.take("reasoning")? {
        rules.reasoning.tags = tags;
    }
    if let Some(word) = options.take::<String>("markers")? {
        rules.markers = match word.as_str() {
            "nonce" => exchange::MarkerStyle::Nonce,
            "plain" => exchange::MarkerStyle::Plain,
            other => return Err(Problem::choice("markers", other, "`nonce` or `plain`")),
        };
    }
    options.end("the middleware")?;
    let beginning = serde_json::to_string(client.beginning()).unwrap_or_default();
    let tools = Toolset::new(client.tools.clone());
    let tools = tools.map_err(|error| Problem::new("SchemaError", error.to_string()))?;
    let request = PreparedRequest {
        tools: Arc::new(tools),
        // The same in all turns of a conversation, so that caches of prompts work.
        secrets: Secrets::new(rules.markers, SECRET.hash_one(beginning)),
        client: Arc::new(client),
        id_prefix: ClientApi::Chat.call_prefix(),
        owner: None,
        held: Arc::default(),
        reply_bytes: REPLY_BYTES,
    };
    let setup = Setup {
        request: Arc::new(request),
        id,
        rules: Arc::new(rules),
        is_native: false,
        constraint: None,
    };
    Exchange::new(setup).map_err(|error| refused(&error))
}

/// Pushes deltas of the model, and returns those of the client and the next step, as JSON: `{"deltas": …, "step": "more" | "done"}`, or
/// `{"deltas": …, "step": "again", "request": …}`.
pub fn push(exchange: &mut Exchange, deltas: Vec<Delta>) -> Value {
    let mut out = Vec::new();
    let mut step = ExchangeStep::More;
    for delta in deltas {
        step = exchange.push(delta, &mut out);
        if step != ExchangeStep::More {
            break;
        }
    }
    match step {
        ExchangeStep::More => json!({ "deltas": out, "step": "more" }),
        ExchangeStep::Done => json!({ "deltas": out, "step": "done" }),
        ExchangeStep::Again(request) => {
            json!({ "deltas": out, "step": "again", "request": request })
        }
    }
}
