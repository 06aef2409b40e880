//! Agents as an OpenAI-compatible endpoint.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use futures_util::stream;
use gadgetry::Agent;
use gadgetry_gateway::api::ReplyEncoder;
use gadgetry_gateway::exchange::ClientRequest;
use gadgetry_gateway::server::{event_stream, failed, json_document, json_response};
use gadgetry_gateway::{ClientApi, Failure, Refusal};
use gadgetry_providers::sse;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::chat::split;
use crate::reply::{AgentReply, Part};
use crate::runs::is_json;
use crate::sse::{KEEP_ALIVE, SILENCE};

/// Maximum time for a body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);
/// Serves agents as the models of an OpenAI-compatible API: `POST /v1/chat/completions`, streaming or not, and `GET /v1/models`.
///
/// A client sends a conversation, and reads what the agent says; the calls of the agent are its own, and are not shown. Requests with
/// `tools` are refused. Of the messages, the text of users and assistants counts; system messages and parameters such as
/// `temperature` have no effect, because the agent has its own instructions and settings: the header `x-gadgetry-warning` says so.
/// Calls that need approval are denied, unless an approver or a rule of the agent decides. A client that leaves ends the run.
///
/// The routes check no keys; add a layer, as to any router.
///
/// ```
/// use gadgetry::{Agent, ScriptedModel};
/// use gadgetry_axum::OpenAi;
///
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let agent = Agent::builder().model(model).build()?;
/// let router: axum::Router = OpenAi::new().agent("calculator", agent).router();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenAi {
    agents: BTreeMap<String, Agent>,
    body_bytes: usize,
}

impl Default for OpenAi {
    fn default() -> Self {
        Self {
            agents: BTreeMap::new(),
            body_bytes: 4 << 20,
        }
    }
}

impl OpenAi {
    /// An endpoint without agents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent, which clients name as `model`. One of the same name is replaced.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>, agent: Agent) -> Self {
        self.agents.insert(name.into(), agent);
        self
    }

    /// Sets the maximum size of a request's body in bytes; 4 MiB by default.
    #[must_use]
    pub fn body_bytes(mut self, limit: usize) -> Self {
        self.body_bytes = limit;
        self
    }

    /// The service, to be mounted into another one. Routes are with and without `/v1`, because clients differ in what their base URL
    /// ends with.
    pub fn router(self) -> Router {
        let mut router = Router::new();
        for base in ["/v1", ""] {
            router = router
                .route(&format!("{base}/chat/completions"), any(complete))
                .route(&format!("{base}/models"), get(models))
                .route(&format!("{base}/models/{{*model}}"), get(model));
        }
        let created = now();
        router.with_state(Arc::new(Endpoint {
            settings: self,
            created,
            replies: AtomicU64::new(0),
        }))
    }
}

struct Endpoint {
    settings: OpenAi,
    created: u64,
    /// Number of replies so far.
    replies: AtomicU64,
}

impl Endpoint {
    fn model(&self, name: &str) -> Value {
        json!({"id": name, "object": "model", "created": self.created, "owned_by": "gadgetry"})
    }
}

async fn models(State(endpoint): State<Arc<Endpoint>>) -> Response {
    let names = endpoint.settings.agents.keys();
    let models: Vec<Value> = names.map(|name| endpoint.model(name)).collect();
    json_response(StatusCode::OK, &json!({"object": "list", "data": models}))
}

async fn model(State(endpoint): State<Arc<Endpoint>>, Path(name): Path<String>) -> Response {
    if endpoint.settings.agents.contains_key(&name) {
        return json_response(StatusCode::OK, &endpoint.model(&name));
    }
    failed(ClientApi::Chat, &Failure::UnknownModel(name))
}

async fn complete(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let begun = async {
        let body = read(&endpoint, request).await?;
        let request = ClientApi::Chat.decode(body)?;
        let reply = begin(&endpoint, &request)?;
        Ok((request, reply))
    };
    match begun.await {
        Ok((request, reply)) => answer(&endpoint, &request, reply).await,
        Err(failure) => failed(ClientApi::Chat, &failure),
    }
}

async fn read(endpoint: &Endpoint, request: Request) -> Result<Value, Failure> {
    if request.method() != axum::http::Method::POST {
        return Err(Failure::Method);
    }
    if !is_json(&request) {
        let message = "the content type must be application/json";
        return Err(Refusal::new("content-type", message).into());
    }
    let limit = endpoint.settings.body_bytes;
    let reading = to_bytes(request.into_body(), limit);
    let bytes = match timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(Failure::TooLarge { limit }),
        Err(_) => {
            let seconds = BODY_TIMEOUT.as_secs();
            return Err(Failure::Slow { seconds });
        }
    };
    json_document(&bytes)
}

/// Begins the run that a request asks for.
fn begin(endpoint: &Endpoint, request: &ClientRequest) -> Result<AgentReply, Failure> {
    let name = &request.model;
    let agent = endpoint.settings.agents.get(name);
    let agent = agent.ok_or_else(|| Failure::UnknownModel(name.clone()))?;
    if !request.tools.is_empty() {
        let message =
            "this model is an agent with tools of its own: send the request without `tools`";
        return Err(Refusal::new("tools", message).into());
    }
    if request.response_format.is_some() {
        let message = "this model is an agent, which answers in text: send the request without `response_format`";
        return Err(Refusal::new("response_format", message).into());
    }
    let (before, question) = split(&request.messages).ok_or_else(|| {
        let message = "the last message must be one of the user, with a text";
        Refusal::new("messages", message)
    })?;
    let run = agent.ask_owned(before.into(), question);
    Ok(AgentReply::new(run, name.clone()))
}

/// Answers with the reply. An error before its first part has an HTTP status.
async fn answer(endpoint: &Endpoint, request: &ClientRequest, mut reply: AgentReply) -> Response {
    let number = endpoint.replies.fetch_add(1, Ordering::Relaxed);
    let id = format!("{:x}-{number}", endpoint.created);
    let mut encoder = ClientApi::Chat.encoder(request, &id, now());
    let mut frames = Vec::new();
    let is_streaming = request.is_streaming();
    while !(is_streaming && reply.has_begun()) {
        let Some(parts) = reply.next().await else {
            break;
        };
        if let Err(failure) = encode(parts, &mut encoder, &mut frames) {
            return failed(ClientApi::Chat, &failure);
        }
    }
    let mut response = if is_streaming {
        streamed(reply, encoder, frames)
    } else {
        json_response(StatusCode::OK, &encoder.document())
    };
    warn(request, response.headers_mut());
    response
}

/// Encodes the parts, up to a failure.
fn encode(
    parts: Vec<Part>,
    encoder: &mut ReplyEncoder,
    frames: &mut Vec<sse::SseEvent>,
) -> Result<(), Failure> {
    for part in parts {
        match part {
            Part::Delta(delta) => encoder.delta(delta, frames),
            Part::Failed(failure) => return Err(failure),
        }
    }
    Ok(())
}

fn streamed(reply: AgentReply, encoder: ReplyEncoder, frames: Vec<sse::SseEvent>) -> Response {
    let state = Box::new((reply, encoder, frames));
    let parts = stream::unfold(state, |mut state| async move {
        let (reply, encoder, frames) = &mut *state;
        while frames.is_empty() {
            let parts = match timeout(SILENCE, reply.next()).await {
                Ok(parts) => parts?,
                Err(_) => return Some((KEEP_ALIVE, state)),
            };
            if let Err(failure) = encode(parts, encoder, frames) {
                frames.push(sse::SseEvent::data(
                    failure.body(ClientApi::Chat).to_string(),
                ));
            }
        }
        let mut text = String::new();
        for frame in frames.drain(..) {
            frame.encode(&mut text);
        }
        Some((Bytes::from(text), state))
    });
    event_stream(HeaderMap::new(), parts)
}

/// Says what of the request had no effect.
fn warn(request: &ClientRequest, headers: &mut HeaderMap) {
    let is_system = |role| !matches!(role, gadgetry::Role::User | gadgetry::Role::Assistant);
    if request
        .messages
        .iter()
        .any(|message| is_system(message.role))
    {
        let warning = "system and tool messages have no effect: the model is an agent";
        headers.append("x-gadgetry-warning", HeaderValue::from_static(warning));
    }
    if request.options != default_options(request) {
        let warning = "sampling and limits have no effect: the model is an agent";
        headers.append("x-gadgetry-warning", HeaderValue::from_static(warning));
    }
}

/// The options of a request that sets none.
fn default_options(request: &ClientRequest) -> gadgetry_providers::ModelOptions {
    gadgetry_providers::ModelOptions {
        streaming: request.options.streaming,
        ..gadgetry_providers::ModelOptions::default()
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}
