//! A text model behind Chat Completions, which answers by what the user asks for: `scenario: NAME` in the last message of the user
//! that has such a line.
//!
//! It knows nothing of tools but what the prompt says, like any text model: the markers of its blocks are those of the prompt.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A running upstream.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

/// What the upstream has seen.
#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<Value>>,
    /// Replies that were dropped before their end.
    dropped: AtomicUsize,
    open: AtomicUsize,
}

/// One answer of the model.
pub(crate) enum Answer {
    /// Text, in pieces of a few characters, with this finish reason. Without one the connection breaks off.
    Text(String, Option<&'static str>),
    /// An error status.
    Status(u16, Value, Option<&'static str>),
    /// A native call.
    Call(&'static str, Value),
    /// Pieces of text for ever, slowly.
    Endless,
}

impl Upstream {
    /// Starts one on a free port.
    pub(crate) async fn start() -> Self {
        let seen = Arc::new(Seen::default());
        let router = Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/v1/models", get(models))
            .with_state(Arc::clone(&seen));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, seen }
    }

    /// The base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.seen.requests.lock().expect("no panic within").clone()
    }

    /// Waits until a reply was dropped before its end.
    pub(crate) async fn until_dropped(&self) {
        while self.seen.dropped.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Replies that are being sent.
    pub(crate) fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }
}

async fn models() -> Json<Value> {
    Json(json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))
}

/// The text of a message.
pub(crate) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What a model sees of a request.
pub(crate) struct Prompt<'r> {
    messages: &'r [Value],
    all: String,
}

impl<'r> Prompt<'r> {
    pub(crate) fn of(request: &'r Value) -> Self {
        let messages = request["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let all = messages.iter().map(text_of).collect::<Vec<_>>().join("\n");
        Self { messages, all }
    }

    /// The markers, as the prompt has them: start, argument, end.
    pub(crate) fn markers(&self) -> Option<(String, String, String)> {
        let at = self.all.find("\n!!!GADGET_START")? + 1;
        let start: String = self.all[at..].split_inclusive(':').next()?.to_owned();
        let arg = start.replace("GADGET_START", "ARG");
        let end = start.replace("GADGET_START", "GADGET_END");
        Some((start, arg, end.trim_end_matches(':').to_owned()))
    }

    /// The scenario, and what of it comes after the word.
    fn scenario(&self) -> (String, usize) {
        let place = self.messages.iter().rposition(|message| {
            message["role"] == "user" && text_of(message).contains("scenario: ")
        });
        let Some(place) = place else {
            return ("text".to_owned(), 0);
        };
        let text = text_of(&self.messages[place]);
        let line = text.rsplit("scenario: ").next().unwrap_or_default();
        let name = line.lines().next().unwrap_or_default().trim().to_owned();
        let replies = self.messages[place..]
            .iter()
            .filter(|it| it["role"] == "assistant");
        // Results whose calls are gone follow the question in its own message.
        let has_results = line.contains("<<<RESULT ");
        (name, replies.count() + usize::from(has_results))
    }

    /// The results in the last message.
    fn results(&self) -> Vec<String> {
        let last = self.messages.last().map(text_of).unwrap_or_default();
        let mut results = Vec::new();
        let mut rest = last.as_str();
        while let Some(at) = rest.find("<<<RESULT ") {
            let Some((_, body)) = rest[at..].split_once('\n') else {
                break;
            };
            let Some((result, after)) = body.split_once("\n<<<END ") else {
                break;
            };
            results.push(result.to_owned());
            rest = after;
        }
        results
    }

    /// What the model says.
    pub(crate) fn answer(&self) -> Answer {
        let (name, replies) = self.scenario();
        let (start, arg, end) = self.markers().unwrap_or_default();
        let call = |tool: &str, id: &str, args: &[(&str, &str)]| {
            let args = args
                .iter()
                .map(|(name, value)| [&arg, *name, "\n", *value, "\n"].concat());
            let args: String = args.collect::<Vec<_>>().concat();
            format!("{start}{tool}:{id}\n{args}{end}\n")
        };
        let weather = |id: &str, city: &str| call("get_weather", id, &[("city", city)]);
        let last = self.messages.last().map(text_of).unwrap_or_default();
        let text = match (name.as_str(), replies) {
            ("one", 0) => format!("Let me look.\n{}", weather("w1", "Paris")),
            ("parallel", 0) => format!("Both:\n{}{}", weather("w1", "Paris"), weather("w2", "Rome")),
            ("noargs", 0) => call("ping", "p", &[]),
            ("nested", 0) => call(
                "create",
                "n",
                &[
                    ("user/name", "Ada \"the first\"\nLovelace"),
                    ("user/age", "36"),
                    ("tags/0", "a"),
                    ("tags/1", "true"),
                    ("ratio", "0.5"),
                    ("ok", "true"),
                ],
            ),
            ("around", 0) => format!("Before.\n{}After.", weather("w1", "Paris")),
            ("chain", 0) => weather("w1", "Paris"),
            ("chain", 1) => format!("And Rome.\n{}", weather("w1", "Rome")),
            ("think", _) => "<think>Hm, well.</think>\nForty-two.".to_owned(),
            ("repair", 0) | ("broken", _) => call("get_weather", "w1", &[("town", "Paris")]),
            ("repair", 1) => format!("Sorry.\n{}", weather("w1", "Paris")),
            ("near-miss", _) => "!!!GADGET_CALL:get_weather\ncity: Paris\n".to_owned(),
            ("unknown", _) => "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>".to_owned(),
            ("hermes", 0) => "Sure.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>".to_owned(),
            ("depends", 0) => format!(
                "{}{start}create:c:w1\n{arg}user/name\n${{w1}}\n{arg}user/age\n3\n{end}\n",
                weather("w1", "Paris")
            ),
            ("depends", 1) => {
                // It writes the block that it is offered.
                let at = last.find(&format!("{start}create")).unwrap_or_default();
                last[at..].to_owned()
            }
            ("patch", 0) => call("apply_patch", "p1", &[("input", "*** Begin Patch\n+ \"line\"\n*** End Patch")]),
            ("crm", 0) => call("crm.find", "f1", &[("id", "7")]),
            ("stubborn", _) => "I will not call anything.".to_owned(),
            ("obedient", 0) => match last.find("Call the tool ") {
                Some(at) => {
                    let name = last[at + 14..].split_whitespace().next().unwrap_or_default();
                    call(name, "o", &[("city", "Oslo")])
                }
                None if last.contains(" now: your reply must have a call") => weather("o", "Oslo"),
                None => "Nothing was demanded.".to_owned(),
            },
            ("image", _) => {
                let has_image = self.messages.iter().any(|message| {
                    let parts = message["content"].as_array().into_iter().flatten();
                    parts.into_iter().any(|part| part["type"] == "image_url")
                });
                if has_image { "I see an image." } else { "I see nothing." }.to_owned()
            }
            ("echo", _) => last,
            ("prompt", _) => self.all.clone(),
            ("length", _) => return Answer::Text("Half a sent".to_owned(), Some("length")),
            ("length-call", _) => {
                return Answer::Text(format!("{}{start}get_weather:w2\n{arg}ci", weather("w1", "Paris")), Some("length"));
            }
            ("cut", _) => return Answer::Text(format!("Let me look.\n{start}get_weather:w1\n{arg}city\nPa"), None),
            ("rate-limit", _) => {
                let body = json!({"error": {"message": "slow down", "type": "rate_limit_error"}});
                return Answer::Status(429, body, Some("7"));
            }
            ("overloaded", _) => return Answer::Status(503, json!({"error": {"message": "busy"}}), None),
            ("too-long", _) => {
                let message = "This model's maximum context length is 10 tokens";
                let body = json!({"error": {"message": message, "code": "context_length_exceeded"}});
                return Answer::Status(400, body, None);
            }
            ("endless", _) => return Answer::Endless,
            ("text", _) => "Hello there.".to_owned(),
            _ => match self.results().as_slice() {
                [] => "Nothing to do.".to_owned(),
                results => format!("The results: {}.", results.join(", ")),
            },
        };
        Answer::Text(text, Some("stop"))
    }
}

/// What a model that calls natively does with tools that it knows.
fn native_call(request: &Value) -> Option<Answer> {
    let name = request["tools"][0]["function"]["name"].as_str();
    match (request["model"].as_str(), name) {
        (Some("native-model"), Some("report_word")) => {
            let input = json!({"word": "ready", "times": 3});
            Some(Answer::Call("report_word", input))
        }
        (Some("native-model"), Some("get_weather")) => {
            Some(Answer::Call("get_weather", json!({"city": "Oslo"})))
        }
        _ => None,
    }
}

async fn chat(State(seen): State<Arc<Seen>>, Json(request): Json<Value>) -> Response {
    let answer = native_call(&request).unwrap_or_else(|| Prompt::of(&request).answer());
    seen.requests.lock().expect("no panic within").push(request);
    match answer {
        Answer::Status(status, body, retry_after) => {
            let mut response = Response::new(Body::from(body.to_string()));
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            if let Some(seconds) = retry_after {
                response
                    .headers_mut()
                    .insert("retry-after", HeaderValue::from_static(seconds));
            }
            response
        }
        Answer::Text(text, reason) => streamed(seen, frames(&text, 4, reason), reason.is_none()),
        Answer::Call(name, input) => {
            let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": input.to_string()}});
            let chunk = |delta: Value, reason: Option<&str>| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
                let chunk = json!({"object": "chat.completion.chunk", "choices": [choice]});
                format!("data: {chunk}\n\n")
            };
            let frames = vec![
                chunk(json!({"tool_calls": [call]}), None),
                chunk(json!({}), Some("tool_calls")),
                "data: [DONE]\n\n".to_owned(),
            ];
            streamed(seen, frames, false)
        }
        Answer::Endless => endless(seen),
    }
}

/// The frames of a reply, with `size` characters in each.
pub(crate) fn frames(text: &str, size: usize, reason: Option<&str>) -> Vec<String> {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({
            "id": "chatcmpl-up",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        })
        .to_string()
    };
    let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size.max(1)) {
        let piece: String = piece.iter().collect();
        frames.push(chunk(json!({"content": piece}), None));
    }
    if let Some(reason) = reason {
        frames.push(chunk(json!({}), Some(reason)));
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
        frames.push(json!({"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [], "usage": usage}).to_string());
        frames.push("[DONE]".to_owned());
    }
    frames
        .into_iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

/// Counts a reply as open, and as dropped if it is.
struct Open(Arc<Seen>, bool);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn streamed(seen: Arc<Seen>, frames: Vec<String>, is_cut: bool) -> Response {
    seen.open.fetch_add(1, Ordering::SeqCst);
    let open = Open(seen, false);
    let frames = frames
        .into_iter()
        .map(Ok)
        .chain(is_cut.then_some(Err("the connection breaks off")));
    let frames: Vec<_> = frames.collect();
    let body = stream::unfold(
        (frames.into_iter(), open),
        |(mut frames, mut open)| async move {
            let frame = frames.next();
            open.1 |= !matches!(frame, Some(Ok(_)));
            // What was sent before the connection breaks off is on its way first.
            tokio::task::yield_now().await;
            let frame = frame?.map(Bytes::from).map_err(std::io::Error::other);
            Some((frame, (frames, open)))
        },
    );
    event_stream(Body::from_stream(body))
}

fn endless(seen: Arc<Seen>) -> Response {
    seen.open.fetch_add(1, Ordering::SeqCst);
    let open = Open(seen, false);
    let body = stream::unfold((0, open), |(number, open)| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let frame = frames("tick ", 5, None).swap_remove(usize::from(number > 0));
        Some((Ok::<_, Infallible>(Bytes::from(frame)), (number + 1, open)))
    });
    event_stream(Body::from_stream(body))
}

fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert("content-type", kind);
    response
}
