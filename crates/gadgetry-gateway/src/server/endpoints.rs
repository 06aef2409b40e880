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
use bytes::Bytes;
use gadgetry::provider::json;
use serde_json::{Value, json};

use super::reply::{self, Job};
use super::{Gateway, admission};
use crate::exchange::{Exchange, Setup};
use crate::settings::Settings;
use crate::{Api, Failure};

/// The service of a gateway.
pub(super) fn router(gateway: Gateway) -> Router {
    let generate = |api: Api| {
        any(move |State(gateway): State<Gateway>, request: Request| generate(gateway, api, request))
    };
    let mut router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics));
    // With and without `/v1`, because clients differ in what their base URL ends with.
    for base in ["/v1", ""] {
        router = router
            .route(&format!("{base}/chat/completions"), generate(Api::Chat))
            .route(&format!("{base}/responses"), generate(Api::Responses))
            .route(&format!("{base}/messages"), generate(Api::Messages))
            .route(&format!("{base}/messages/count_tokens"), any(count_tokens))
            .route(&format!("{base}/models"), get(models))
            .route(&format!("{base}/models/{{*model}}"), get(model));
    }
    router
        .fallback(not_found)
        .layer(map_response_with_state(gateway.clone(), with_id))
        .with_state(gateway)
}

/// Every answer has an id, also one that says no.
async fn with_id(State(gateway): State<Gateway>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if !headers.contains_key("x-request-id") {
        let id = format!("req_{:016x}", gateway.next_exchange());
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert("x-request-id", id.clone());
            headers.insert("request-id", id);
        }
    }
    response
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
    if let Err(failure) = admission::authenticate(&gateway.settings(), &headers) {
        return failed(Api::Chat, &failure);
    }
    let mut response = Response::new(Body::from(gateway.0.metrics.text()));
    let kind =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn not_found(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    failed(api_of(request.headers()), &Failure::NotFound(path))
}

/// The API of a client, by its headers.
fn api_of(headers: &HeaderMap) -> Api {
    if headers.contains_key("anthropic-version") {
        Api::Messages
    } else {
        Api::Chat
    }
}

/// A request for a reply.
async fn generate(gateway: Gateway, api: Api, request: Request) -> Response {
    let began = Instant::now();
    let settings = gateway.settings();
    let ready = match begin(&gateway, &settings, api, request).await {
        Ok(ready) => ready,
        Err(failure) => return failed(api, &failure),
    };
    let (job, warnings) = ready;
    let mut response = reply::answer(gateway, settings, job, began).await;
    let headers = response.headers_mut();
    for warning in warnings {
        if let Ok(value) = HeaderValue::from_str(&warning) {
            headers.append("x-gadgetry-warning", value);
        }
    }
    response
}

/// Checks who sends a request, and reads it.
async fn begin(
    gateway: &Gateway,
    settings: &Arc<Settings>,
    api: Api,
    request: Request,
) -> Result<(Job, Vec<String>), Failure> {
    let key = admission::authenticate(settings, request.headers())?;
    if request.method() != Method::POST {
        return Err(Failure::Method);
    }
    if gateway.is_draining() {
        return Err(Failure::Busy {
            what: "shutting down",
        });
    }
    let permit = gateway.0.admission.admit(settings, key)?;
    let mut body = body(settings, request).await?;
    if api == Api::Responses {
        gateway.0.items.resolve(&mut body);
    }
    let mut client = api.decode(body)?;
    let destination = settings
        .destination(&client.model)
        .ok_or_else(|| Failure::UnknownModel(client.model.clone()))?;
    let warnings = std::mem::take(&mut client.warnings);
    let name = key
        .and_then(|at| settings.keys.get(at))
        .map_or("", |key| &key.name);
    let job = Job {
        api,
        tools: gateway.toolset(&client.tools),
        secrets: gateway.secrets(destination.rules.markers, name),
        request: Arc::new(client),
        destination,
        number: gateway.next_exchange(),
        client: name.to_owned(),
        permit,
    };
    Ok((job, warnings))
}

/// The body of a request.
async fn body(settings: &Settings, request: Request) -> Result<Value, Failure> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    // A web page can send other types to this machine without a preflight request.
    if !kind
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("application/json")
    {
        let message = "the content type must be application/json";
        return Err(crate::Refusal::new("content-type", message).into());
    }
    let limit = settings.limits.body_bytes;
    let timeout = settings.limits.body_timeout;
    let bytes = tokio::time::timeout(timeout, axum::body::to_bytes(request.into_body(), limit));
    let bytes: Bytes = match bytes.await {
        Err(_) => {
            return Err(Failure::Slow {
                seconds: timeout.as_secs(),
            });
        }
        Ok(Err(error)) => {
            return Err(if is_length_limit(&error) {
                Failure::TooLarge { limit }
            } else {
                Failure::NotJson(error.to_string())
            });
        }
        Ok(Ok(bytes)) => bytes,
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| Failure::NotJson(error.to_string()))?;
    json::parse(text).map_err(|error| Failure::NotJson(error.to_string()))
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        source = error.source();
    }
    false
}

/// An estimate of the tokens of a request.
async fn count_tokens(State(gateway): State<Gateway>, request: Request) -> Response {
    let settings = gateway.settings();
    match begin(&gateway, &settings, Api::Messages, request).await {
        Ok((job, _)) => {
            let exchange = Exchange::new(job.setup(&gateway, false));
            let tokens = exchange.map_or(0, |exchange| exchange.prompt_tokens());
            json_response(StatusCode::OK, &json!({"input_tokens": tokens}))
        }
        Err(failure) => failed(Api::Messages, &failure),
    }
}

/// The models, in a form that clients of all APIs read.
async fn models(State(gateway): State<Gateway>, headers: HeaderMap) -> Response {
    let settings = gateway.settings();
    if let Err(failure) = admission::authenticate(&settings, &headers) {
        return failed(api_of(&headers), &failure);
    }
    let names = super::probe::models(&settings).await;
    let data: Vec<Value> = names.iter().map(|name| model_entry(name)).collect();
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
    if let Err(failure) = admission::authenticate(&settings, &headers) {
        return failed(api_of(&headers), &failure);
    }
    let path = request.uri().path();
    let name = path.split_once("/models/").map_or("", |(_, name)| name);
    match settings.destination(name) {
        Some(_) => json_response(StatusCode::OK, &model_entry(name)),
        None => failed(api_of(&headers), &Failure::UnknownModel(name.to_owned())),
    }
}

fn model_entry(name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gadgetry",
        // Of Anthropic's API.
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    })
}

pub(super) fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The answer to a request that has no reply.
pub(super) fn failed(api: Api, failure: &Failure) -> Response {
    let status = StatusCode::from_u16(failure.status(api)).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = json_response(status, &failure.body(api));
    let headers = response.headers_mut();
    if !failure.is_transient() {
        // The SDKs repeat requests after some statuses, and some after all.
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(ms) = failure.retry_after_ms() {
        headers.insert(header::RETRY_AFTER, ms.div_ceil(1000).into());
        headers.insert("retry-after-ms", ms.into());
    }
    response
}

impl Job {
    /// What its exchange is made from.
    pub(super) fn setup(&self, gateway: &Gateway, is_native: bool) -> Setup {
        Setup {
            request: Arc::clone(&self.request),
            tools: Arc::clone(&self.tools),
            rules: Arc::clone(&self.destination.rules),
            is_native,
            secrets: self.secrets.clone(),
            id_prefix: self.api.call_prefix(),
            number: self.number,
            held: Arc::clone(&gateway.0.held),
        }
    }
}
