//! The endpoints.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::map_response_with_state;
use axum::response::Response;
use axum::routing::{any, get};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::trace::TraceContext;
use serde_json::{Value, json};

use super::admission::{self, Permit};
use super::answer::answer;
use super::job::Job;
use super::response::{failed, json_response, put_id};
use super::watch::Watch;
use super::{Gateway, body};
use crate::api::{ClientApi, Failure};
use crate::exchange::{Exchange, PreparedRequest, Setup, ToolMode};
use crate::memory::Owner;
use crate::settings::{ClientKey, Settings};
use crate::trace::{RequestTrace, TracedRequest, Watched};

/// Maximum number of separate warnings for a client.
const WARNINGS: usize = 16;

/// Maximum bytes of a warning.
const WARNING: usize = 256;

impl Gateway {
    /// Returns the service, to be mounted into another one.
    pub fn router(&self) -> Router {
        router(self.clone())
    }
}

fn router(gateway: Gateway) -> Router {
    let generate = |api: ClientApi| {
        any(move |State(gateway): State<Gateway>, request: Request| generate(gateway, api, request))
    };
    let mut router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics));
    // With and without `/v1`, because clients differ in what their base URL ends with.
    for base in ["/v1", ""] {
        router = router
            .route(&format!("{base}/messages/count_tokens"), any(count_tokens))
            .route(&format!("{base}/models"), get(models))
            .route(&format!("{base}/models/{{*model}}"), get(model));
        for api in ClientApi::ALL {
            router = router.route(&format!("{base}{}", api.route()), generate(api));
        }
    }
    router
        .fallback(not_found)
        .layer(map_response_with_state(gateway.clone(), with_id))
        .with_state(gateway)
}

/// Adds an id to every answer, including refusals.
async fn with_id(State(gateway): State<Gateway>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if !headers.contains_key("x-request-id") {
        put_id(headers, &request_id(&gateway));
    }
    response
}

/// Returns an id for logs, which is independent of the ids in the answer.
fn request_id(gateway: &Gateway) -> String {
    format!("req_{:032x}", gateway.id())
}

async fn health(State(gateway): State<Gateway>) -> Response {
    if gateway.is_draining() {
        return json_response(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({"status": "draining"}),
        );
    }
    json_response(StatusCode::OK, &json!({"status": "ok"}))
}

async fn metrics(State(gateway): State<Gateway>, headers: HeaderMap) -> Response {
    let settings = gateway.settings();
    if let Err(failure) = admission::authenticate(&settings, &headers) {
        return failed(ClientApi::Chat, &failure);
    }
    let mut response = Response::new(Body::from(gateway.0.metrics.text(&settings)));
    let kind =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn not_found(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    failed(api_of(request.headers()), &Failure::NotFound(path))
}

/// Returns the API of a client, by its headers.
fn api_of(headers: &HeaderMap) -> ClientApi {
    if headers.contains_key("anthropic-version") {
        ClientApi::Messages
    } else {
        ClientApi::Chat
    }
}

/// Handles a request for a reply.
async fn generate(gateway: Gateway, api: ClientApi, request: Request) -> Response {
    let began = Instant::now();
    let settings = gateway.settings();
    let Admitted {
        mut job,
        permit,
        warnings,
    } = match begin(&gateway, &settings, api, request).await {
        Ok(admitted) => admitted,
        Err(failure) => return refused(&gateway, api, &failure, began),
    };
    let trace = begin_trace(&gateway, &mut job);
    let job = Arc::new(job);
    let watch = Watch::new(gateway.clone(), Arc::clone(&job), began, permit, trace);
    let mut response = answer(&gateway, &settings, job, watch).await;
    warn(response.headers_mut(), warnings);
    response
}

/// Answers a request that was not admitted, and counts and logs it.
fn refused(gateway: &Gateway, api: ClientApi, failure: &Failure, began: Instant) -> Response {
    let mut response = failed(api, failure);
    let status = response.status().as_u16();
    gateway.0.metrics.refused(api, status);
    let id = request_id(gateway);
    tracing::info!(
        id,
        api = api.name(),
        status,
        seconds = began.elapsed().as_secs_f64(),
        code = failure.code(),
        "request"
    );
    put_id(response.headers_mut(), &id);
    response
}

/// Begins the watch and the trace of a request, if there are a watcher and a tracer. The upstream then receives that trace.
fn begin_trace(gateway: &Gateway, job: &mut Job) -> Option<Box<dyn RequestTrace>> {
    let request = TracedRequest {
        id: &job.id,
        api: job.api,
        model: &job.request.client.model,
        client: job.trace.as_deref(),
    };
    if let Some(watcher) = gateway.0.watcher.0.get() {
        job.watched = Watched::new(watcher.begin(&request));
    }
    let trace = gateway.0.tracer.0.get()?.begin(&request);
    job.trace = trace.context().map(Arc::new);
    Some(trace)
}

/// Adds a header for each warning. Warnings contain text of the client, so they are limited.
fn warn(headers: &mut HeaderMap, mut warnings: Vec<String>) {
    warnings.dedup();
    if warnings.len() > WARNINGS {
        let more = warnings.len() - WARNINGS;
        warnings.truncate(WARNINGS);
        warnings.push(format!("{more} more parts of the request are ignored"));
    }
    for mut warning in warnings {
        warning.truncate(warning.floor_char_boundary(WARNING));
        if let Ok(value) = HeaderValue::from_str(&warning) {
            headers.append("x-gadgetry-warning", value);
        }
    }
}

/// A request that was read, with its slot among those in flight.
struct Admitted {
    job: Job,
    permit: Permit,
    /// Parts of the request that are not honoured.
    warnings: Vec<String>,
}

/// Authenticates the client of a request, and reads the request.
async fn begin(
    gateway: &Gateway,
    settings: &Arc<Settings>,
    api: ClientApi,
    request: Request,
) -> Result<Admitted, Failure> {
    let key = admission::authenticate(settings, request.headers())?;
    if request.method() != Method::POST {
        return Err(Failure::Method);
    }
    if gateway.is_draining() {
        return Err(Failure::Busy {
            what: "shutting down",
        });
    }
    let headers = request.headers();
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let trace = TraceContext::from_headers(header).map(Arc::new);
    // A body that comes slowly takes no place, and a client that has no place need not send one.
    gateway.0.admission.check(settings, key)?;
    let mut body = body::read(gateway, settings, key, request).await?;
    let permit = gateway.0.admission.admit(settings, key)?;
    let key = key.and_then(|at| settings.keys.get(at));
    let owner = key.map_or_else(|| conversation(&body), ClientKey::owner);
    if api == ClientApi::Responses {
        gateway.0.items.resolve(owner, &mut body);
    }
    let mut client = api.decode(body)?;
    let destination = settings
        .destination(&client.model)
        .ok_or_else(|| Failure::UnknownModel(client.model.clone()))?;
    let mut warnings = std::mem::take(&mut client.warnings);
    let fingerprint = super::fingerprint(&client.tools);
    let tools = gateway.toolset(owner, &client.tools, fingerprint)?;
    warnings.extend(tools.unchecked().iter().map(|name| {
        let name = name.escape_default();
        format!(
            "tool {name}: a pattern of its schema cannot be used, so its calls are not checked in full"
        )
    }));
    let job = Job {
        api,
        request: Arc::new(PreparedRequest {
            secrets: gateway.secrets(destination.rules.markers, owner, &client, fingerprint),
            owner: client.is_stored.then_some(owner),
            client: Arc::new(client),
            tools,
            id_prefix: api.call_prefix(),
            held: Arc::clone(&gateway.0.held),
            reply_bytes: settings.limits.reply_bytes,
        }),
        destination,
        owner,
        fingerprint,
        id: request_id(gateway),
        client: key.map_or_else(String::new, |key| key.name.clone()),
        trace,
        watched: Watched::default(),
    };
    Ok(Admitted {
        job,
        permit,
        warnings,
    })
}

/// Returns the owner of data that is kept for a conversation without a key: a hash of its first user message, which all of its
/// requests contain. Positions of caches and other fields of the message may differ between them.
fn conversation(body: &Value) -> Owner {
    let messages = match (&body["messages"], &body["input"]) {
        (Value::Array(messages), _) | (_, Value::Array(messages)) => messages.as_slice(),
        (_, input) => std::slice::from_ref(input),
    };
    let is_users = |message: &&Value| message["role"] == "user" || message.is_string();
    let first = messages.iter().find(is_users).unwrap_or(&Value::Null);
    let content = first.get("content").unwrap_or(first);
    let mut text = String::new();
    for part in content
        .as_array()
        .map_or(std::slice::from_ref(content), Vec::as_slice)
    {
        if let Some(part) = part.as_str().or_else(|| part["text"].as_str()) {
            text.push_str(part);
            continue;
        }
        let fields = part.as_object().into_iter().flatten();
        let fields = fields.filter(|(name, _)| *name != "cache_control");
        fields.for_each(|(_, field)| text.push_str(&field.to_string()));
    }
    Owner::of("conversation", text.as_bytes())
}

/// Estimates the tokens of a request.
async fn count_tokens(State(gateway): State<Gateway>, request: Request) -> Response {
    let settings = gateway.settings();
    match begin(&gateway, &settings, ClientApi::Messages, request).await {
        Ok(Admitted { job, .. }) => {
            let exchange = Exchange::new(Setup {
                request: job.request,
                id: gateway.id(),
                rules: job.destination.rules,
                is_native: false,
                constraint: None,
            });
            let tokens = exchange.map_or(0, |exchange| exchange.prompt_tokens());
            json_response(StatusCode::OK, &json!({"input_tokens": tokens}))
        }
        Err(failure) => failed(ClientApi::Messages, &failure),
    }
}

/// Admits a request without a body.
fn admitted(
    gateway: &Gateway,
    settings: &Settings,
    headers: &HeaderMap,
) -> Result<Permit, Failure> {
    let key = admission::authenticate(settings, headers)?;
    gateway.0.admission.admit(settings, key)
}

/// Returns the models, in a form that clients of all APIs read. Each such request may cause several requests to upstreams.
async fn models(State(gateway): State<Gateway>, headers: HeaderMap) -> Response {
    let settings = gateway.settings();
    let _permit = match admitted(&gateway, &settings, &headers) {
        Ok(permit) => permit,
        Err(failure) => return failed(api_of(&headers), &failure),
    };
    let names = super::probe::models(&settings).await;
    // All servers at once; each entry then finds what its own has said.
    join_all(settings.all_upstreams().map(|it| it.facts())).await;
    let entries = names.iter().map(|name| model_entry(&settings, name));
    let data: Vec<Value> = stream::iter(entries).then(|it| it).collect().await;
    json_response(
        StatusCode::OK,
        &json!({
            "object": "list",
            "data": data,
            // Of Anthropic's API.
            "has_more": false,
            "first_id": names.first(),
            "last_id": names.last(),
            // Of Codex.
            "models": [],
        }),
    )
}

async fn model(State(gateway): State<Gateway>, headers: HeaderMap, request: Request) -> Response {
    let settings = gateway.settings();
    let _permit = match admitted(&gateway, &settings, &headers) {
        Ok(permit) => permit,
        Err(failure) => return failed(api_of(&headers), &failure),
    };
    let path = request.uri().path();
    let name = path.split_once("/models/").map_or("", |(_, name)| name);
    match settings.destination(name) {
        Some(_) => json_response(StatusCode::OK, &model_entry(&settings, name).await),
        None => failed(api_of(&headers), &Failure::UnknownModel(name.to_owned())),
    }
}

/// Returns a model, with its treatment by the gateway and the known facts about it.
async fn model_entry(settings: &Settings, name: &str) -> Value {
    let mut entry = json!({
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gadgetry",
        // Of Anthropic's API.
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    });
    let Some(destination) = settings.destination(name) else {
        return entry;
    };
    let rules = &destination.rules;
    entry["tool_mode"] = match rules.mode {
        ToolMode::Text => "text",
        ToolMode::Native => "native",
        ToolMode::Auto => "auto",
    }
    .into();
    let dialects = rules.dialects.known().iter().map(|it| it.name());
    let own = rules.dialects.custom().iter().map(|it| it.name.as_str());
    entry["dialects"] = dialects.chain(own).collect();
    // A request may go to any of them, so all have to, and the smallest window counts.
    let upstreams = destination.upstreams.iter();
    let settled = join_all(
        upstreams
            .clone()
            .map(|it| it.settled(rules, &destination.model)),
    )
    .await;
    entry["constrained"] = settled
        .iter()
        .all(|it| it.rules.constraint().is_known())
        .into();
    // Upstreams with models of different sizes may have none in common.
    let mut forms = settled.iter().map(|it| it.rules.call_form());
    if let Some(form) = forms.next().filter(|first| forms.all(|it| it == *first)) {
        entry["form"] = form.name().into();
    }
    let windows = join_all(upstreams.map(|it| it.window(&destination.model))).await;
    if let Some(window) = windows.into_iter().flatten().min() {
        entry["context_window"] = window.into();
    }
    entry
}
