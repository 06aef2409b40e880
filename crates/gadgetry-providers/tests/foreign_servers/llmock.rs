//! `llmock`: it breaks replies on purpose, and then judges what its client did about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt as _, once};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind as Kind;
use gadgetry_proto::message::Request;
use gadgetry_providers::model::Model;
use serde_json::{Value, json};

use super::agents::{APIS, Api, agent, ask, deltas, error, model};
use super::server::Server;

/// A timeout that no reply reaches, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(5);

/// The timeout that a silent server is meant to reach; far longer than the pauses between its chunks.
const SILENCE: Duration = Duration::from_secs(5);

/// Long enough that a fault falls into the middle.
const SAID: &str = "It is as you say, my friend, and has always been.";

fn base(server: &Server, api: Api) -> String {
    match api {
        Api::Chat | Api::Responses => server.url("/v1"),
        Api::Messages => server.url("/anthropic"),
    }
}

/// What the next requests meet.
async fn next(server: &Server, behaviors: Value) {
    let scenario = json!({ "behaviors": behaviors });
    let queued = server.control("POST", "/_llmock/scenario", &scenario).await;
    assert_eq!(
        queued["pending"],
        scenario["behaviors"].as_array().map_or(0, Vec::len),
        "{queued}"
    );
}

/// Sends each request when the server has recorded the ones before it.
///
/// It takes a retry for a new question if it has not yet seen that the connection of the failed attempt is closed.
struct Orderly {
    server: Arc<Server>,
    /// Requests to the server so far.
    sent: Arc<AtomicUsize>,
    /// Meets the fault.
    first: Arc<dyn Model>,
    /// Makes the retries.
    rest: Arc<dyn Model>,
    has_begun: AtomicBool,
}

impl Model for Orderly {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let before = self.sent.fetch_add(1, Ordering::Relaxed);
        let model = if self.has_begun.swap(true, Ordering::Relaxed) {
            &self.rest
        } else {
            &self.first
        };
        let (server, model) = (Arc::clone(&self.server), Arc::clone(model));
        let stream = async move {
            recorded(&server, before).await;
            model.stream(request)
        };
        once(stream).flatten().boxed()
    }

    fn name(&self) -> &str {
        self.first.name()
    }
}

/// Waits until the server has recorded this many requests.
async fn recorded(server: &Server, requests: usize) {
    // Each answer waits for the requests in flight, up to two seconds.
    for _ in 0..150 {
        let journal = server
            .control("GET", "/_llmock/requests", &Value::Null)
            .await;
        if journal["count"].as_u64() >= Some(requests as u64) {
            return;
        }
    }
    panic!("it has not recorded {requests} requests");
}

#[tokio::test]
async fn its_verdict_on_chat_completions_is_clean() {
    be_judged(Api::Chat).await;
}

#[tokio::test]
async fn its_verdict_on_messages_is_clean() {
    be_judged(Api::Messages).await;
}

#[tokio::test]
async fn its_verdict_on_responses_is_clean() {
    be_judged(Api::Responses).await;
}

/// Whatever it does to us, we do nothing that it would blame.
async fn be_judged(api: Api) {
    // It knows that we have stopped reading only while it still writes.
    let arguments = ["serve", "-p", "0", "--stream-chunk-delay-ms", "20"];
    let Some(server) = Server::start("llmock", &arguments).await else {
        return;
    };
    let (server, sent) = (Arc::new(server), Arc::new(AtomicUsize::new(0)));
    let orderly = |idle| Orderly {
        server: Arc::clone(&server),
        sent: Arc::clone(&sent),
        first: model(api, base(&server, api), idle),
        rest: model(api, base(&server, api), PATIENCE),
        has_begun: AtomicBool::new(false),
    };
    let fault = |kind: &str, after: u32| json!({ "type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": 600 });
    // What it does, and how many retries that takes.
    let rows = [
        (
            "429",
            json!({ "type": "fail", "status": 429, "retry_after": 1 }),
            1,
        ),
        (
            "503 with Retry-After",
            json!({ "type": "fail", "status": 503, "retry_after": 0.5 }),
            1,
        ),
        (
            "500, three times",
            json!({ "type": "fail", "status": 500, "times": 3 }),
            3,
        ),
        ("529", json!({ "type": "fail", "status": 529 }), 1),
        ("cut at once", fault("truncate", 1), 1),
        ("cut later", fault("truncate", 4), 1),
        ("dropped at once", fault("disconnect", 1), 1),
        ("dropped later", fault("disconnect", 4), 1),
        ("malformed at once", fault("malformed", 1), 1),
        ("malformed later", fault("malformed", 4), 1),
        ("silent at once", fault("stall", 1), 1),
        ("silent later", fault("stall", 4), 1),
        (
            "slow",
            json!({ "type": "slow_first_token", "seconds": 0.5 }),
            0,
        ),
    ];
    let mut calls = 0;
    for (name, behavior, retries) in &rows {
        let said = json!({ "type": "reply", "text": SAID, "times": 1 + retries });
        next(&server, json!([behavior, said])).await;
        let idle = if name.starts_with("silent") {
            SILENCE
        } else {
            PATIENCE
        };
        let question = format!("Is it {api:?}, {name}?");
        let told = ask(agent(Arc::new(orderly(idle))), &question).await;
        assert_eq!(told.answer(), SAID, "{api:?}, {name}");
        assert_eq!(
            told.retries.len(),
            *retries,
            "{api:?}, {name}: {:?}",
            told.retries
        );
        server
            .control("DELETE", "/_llmock/scenario", &Value::Null)
            .await;
        calls += 1;
    }
    for status in [400, 401, 403, 404, 422] {
        next(&server, json!([{ "type": "fail", "status": status }])).await;
        let told = ask(
            agent(Arc::new(orderly(PATIENCE))),
            &format!("{api:?}, {status}?"),
        )
        .await;
        assert!(
            told.finished.is_err() && told.retries.is_empty(),
            "{api:?}, {status}"
        );
        calls += 1;
    }
    recorded(&server, sent.load(Ordering::Relaxed)).await;
    let verdict = server
        .control("GET", "/_llmock/verdict", &Value::Null)
        .await;
    assert_eq!(verdict["calls"], calls, "{verdict:#}");
    // A slow one is no fault.
    assert_eq!(verdict["faults_injected"], 12 + 2 + 5, "{verdict:#}");
    let (is_clean, words) = server
        .run(&["report", "--strict", "--url", &server.url("")])
        .await;
    assert!(is_clean, "{words}");
    assert!(words.contains("PASS"), "{words}");
}

#[tokio::test]
async fn a_loop_of_several_turns() {
    let Some(server) = Server::start("llmock", &["serve", "-p", "0", "--tool-mode", "off"]).await
    else {
        return;
    };
    for api in APIS {
        let replies = [
            "I look.\n!!!GADGET_START:Fetch:users\n!!!ARG:url\n/api/users\n!!!GADGET_END\n",
            "!!!GADGET_START:Count:number\n!!!ARG:list\n17, 23, 42\n!!!GADGET_END\n",
            "There are three.",
        ];
        next(
            &server,
            replies
                .map(|text| json!({ "type": "reply", "text": text }))
                .into(),
        )
        .await;
        let told = ask(
            agent(model(api, base(&server, api), PATIENCE)),
            "How many users are there?",
        )
        .await;
        assert_eq!(told.answer(), "There are three.", "{api:?}");
        assert_eq!(told.gadgets, ["Fetch", "Count"], "{api:?}");
        let usage = told.usage;
        assert!(
            usage.input_tokens > 0 && usage.output_tokens > 0,
            "{api:?}: {usage:?}"
        );
        assert_eq!(
            usage.total_tokens,
            usage.input_tokens + usage.output_tokens,
            "{api:?}"
        );
    }
    let requests = server
        .control("GET", "/_llmock/requests", &Value::Null)
        .await;
    let requests = requests
        .as_array()
        .or_else(|| requests["requests"].as_array());
    // Three replies from each API.
    assert_eq!(requests.expect("a list of requests").len(), 3 * APIS.len());
}

#[tokio::test]
async fn a_window_that_is_too_small() {
    let arguments = ["serve", "-p", "0", "--context-window", "50"];
    let Some(server) = Server::start("llmock", &arguments).await else {
        return;
    };
    for api in APIS {
        let model = model(api, base(&server, api), PATIENCE);
        let deltas = deltas(&model, &"a long story ".repeat(100)).await;
        assert_eq!(
            error(&deltas),
            Some(Kind::ContextOverflow),
            "{api:?}: {deltas:?}"
        );
    }
}
