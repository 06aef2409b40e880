//! `@copilotkit/aimock` as the crate `genai` asks it: OpenAI Responses and Gemini.

use std::sync::Arc;
use std::time::Duration;

use gadgetry::Model;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::ModelErrorKind as Kind;
use gadgetry::proto::event::FinishReason;
use gadgetry::provider::genai::Genai;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::agents::{KEY, agent, ask, deltas, error, text};
use super::aimock::{PATIENCE, SIZES, counts, requests, start, usage};
use super::server::Server;

/// The model's name, and where the API of that provider begins.
const APIS: [(&str, &str); 2] = [
    ("openai_resp::gpt-4o", "/v1/"),
    ("gemini::gemini-2.5-flash", "/v1beta/"),
];

fn model(name: &str, base: String) -> Arc<dyn Model> {
    let model = Genai::builder(name).base_url(base).api_key(KEY);
    Arc::new(model.timeout(PATIENCE).build().expect("it is well formed"))
}

fn models(server: &Server) -> [(&'static str, Arc<dyn Model>); 2] {
    APIS.map(|(name, base)| (name, model(name, server.url(base))))
}

#[tokio::test]
async fn replies() {
    const SAID: &str = "Žluťoučký ☂ & \"quoted\" \\ back\nsecond line\t漢字 !!! <a>";
    let fixtures = SIZES.map(|size| {
        json!({
            "match": { "userMessage": format!("in pieces of {size}.") },
            "response": { "content": SAID, "usage": counts(11, 5) },
            "chunkSize": size,
        })
    });
    let Some((server, _folder)) = start(fixtures.to_vec()).await else {
        return;
    };
    for (api, model) in models(&server) {
        for size in SIZES {
            let deltas = deltas(&model, &format!("Say it in pieces of {size}.")).await;
            assert_eq!(text(&deltas), SAID, "{api}, {size}");
            let end = Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: Some(usage(11, 5)),
            };
            assert_eq!(deltas.last(), Some(&end), "{api}, {size}");
        }
    }
}

/// With pieces of one UTF-16 unit the server cuts a crab into `\ud83e` and `\udd80`. `OpenAi` and `Anthropic` put the
/// halves together; genai 0.7.2 cannot read them: its Gemini adapter fails at the first, its Responses adapter logs both
/// and goes on without them, which our guard does not let pass. So it is an error, never a text with a hole.
#[tokio::test]
async fn half_a_character_is_an_error() {
    let fixture = json!({
        "match": { "userMessage": "crab" },
        "response": { "content": "A 🦀." },
        "chunkSize": 1,
    });
    let Some((server, _folder)) = start(vec![fixture]).await else {
        return;
    };
    for (api, model) in models(&server) {
        let deltas = deltas(&model, "crab").await;
        assert_eq!(text(&deltas), "A ", "{api}");
        assert_eq!(error(&deltas), Some(Kind::Transport), "{api}: {deltas:?}");
    }
}

/// Three replies: two calls of which one waits for the other, one that is wrong, and the answer.
#[tokio::test]
async fn a_loop_of_several_turns() {
    let fixtures = SIZES.iter().flat_map(|size| {
        let turn = |turn: u32, said: &str, reply: &str| {
            json!({
                "match": {
                    "systemMessage": ["!!!GADGET_START:", format!("Pieces of {size}.")],
                    "turnIndex": turn,
                    "userMessage": said,
                },
                "response": { "content": reply, "usage": counts(100, 10) },
                "chunkSize": size,
            })
        };
        [
            turn(
                0,
                "How many users are there?",
                "I look. ☂\n!!!GADGET_START:Fetch:users\n!!!ARG:url\n/api/users\n!!!GADGET_END\n\
                 !!!GADGET_START:Count:number:users\n!!!ARG:list\n${users}\n!!!GADGET_END\n",
            ),
            turn(
                1,
                "3 entries",
                "!!!GADGET_START:Fetch:wrong\n!!!ARG:uri\nx\n!!!GADGET_END\n",
            ),
            turn(2, "url", "There are 3 users."),
        ]
    });
    let Some((server, _folder)) = start(fixtures.collect()).await else {
        return;
    };
    for (api, model) in models(&server) {
        for size in SIZES {
            let agent = agent(Arc::clone(&model)).system(format!("Pieces of {size}."));
            let told = ask(agent, "How many users are there?").await;
            assert_eq!(told.answer(), "There are 3 users.", "{api}, {size}");
            let begins = told.text.starts_with("I look. ☂");
            assert!(begins, "{api}, {size}: {}", told.text);
            assert_eq!(told.gadgets[..2], ["Fetch", "Count"], "{api}, {size}");
            assert_eq!(told.usage, usage(300, 30), "{api}, {size}");
            assert_eq!(told.retries, [], "{api}, {size}");
        }
    }
}

#[tokio::test]
async fn a_limit_is_waited_for() {
    let fixtures = APIS.iter().flat_map(|(api, _)| {
        let said = format!("{api} limit.");
        let refusal = json!({
            "match": { "userMessage": said, "sequenceIndex": 0 },
            "response": {
                "error": { "message": "slow down", "type": "rate_limit_error" },
                "status": 429,
                "retryAfter": 1,
            },
        });
        [
            refusal,
            json!({ "match": { "userMessage": said }, "response": { "content": "Fine." } }),
        ]
    });
    let Some((server, _folder)) = start(fixtures.collect()).await else {
        return;
    };
    for (api, model) in models(&server) {
        let before = requests(&server).await;
        let told = ask(agent(model), &format!("{api} limit.")).await;
        assert_eq!(told.answer(), "Fine.", "{api}");
        let [(kind, delay_ms)] = told.retries[..] else {
            panic!("{api}: {:?}", told.retries)
        };
        // Up to a quarter of the first delay comes on top.
        assert!((1000..=1025).contains(&delay_ms), "{api}: {delay_ms}");
        assert_eq!(kind, Kind::RateLimit, "{api}");
        assert!(
            told.took >= Duration::from_secs(1),
            "{api}: {:?}",
            told.took
        );
        assert_eq!(requests(&server).await - before, 2, "{api}");
    }
}

/// What was said before the cut stays, and the run does not take it for an answer.
#[tokio::test]
async fn a_failure_behind_some_text_is_told() {
    const SAID: &str = "This will be cut short, for sure.";
    let cut = json!({
        "match": { "userMessage": "cut." },
        "response": { "content": SAID },
        "chunkSize": 4,
        "latency": 5,
        // The Responses API says four things before the first text.
        "truncateAfterChunks": 7,
    });
    let dropped = json!({
        "match": { "userMessage": "dropped." },
        "response": { "content": SAID },
        "chunkSize": 1,
        "latency": 20,
        "disconnectAfterMs": 300,
    });
    let Some((server, _folder)) = start(vec![cut, dropped]).await else {
        return;
    };
    for (api, model) in models(&server) {
        for name in ["cut", "dropped"] {
            let deltas = deltas(&model, &format!("{name}.")).await;
            assert_eq!(
                error(&deltas),
                Some(Kind::Truncated),
                "{api}, {name}: {deltas:?}"
            );
            let said = text(&deltas);
            assert!(
                SAID.starts_with(&said) && !said.is_empty(),
                "{api}, {name}: {said}"
            );
            let told = ask(agent(Arc::clone(&model)), &format!("{name}.")).await;
            let error = told.finished.expect_err("it was cut");
            assert_eq!(error.reason(), FinishReason::ModelError, "{api}, {name}");
        }
    }
}

/// Where the connection is closed in good order, genai makes an end up; aimock always breaks it, so this is ours.
#[tokio::test]
async fn an_end_that_was_not_sent_is_no_end() {
    let text_of = |api: &str| -> Value {
        if api.starts_with("gemini") {
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "hi" }] }, "index": 0 }] })
        } else {
            json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi" })
        }
    };
    for (api, path) in APIS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let answer = format!("{head}data: {}\n\n", text_of(api));
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("it is asked");
            let mut request = Vec::new();
            while !request.windows(3).any(|it| it == b"Hi!") {
                let mut buffer = [0; 4096];
                let length = stream.read(&mut buffer).await.expect("it is asked");
                request.extend_from_slice(&buffer[..length]);
            }
            stream.write_all(answer.as_bytes()).await.expect("it reads");
        });
        let model = model(api, format!("http://{address}{path}"));
        let deltas = deltas(&model, "Hi!").await;
        server.await.expect("it has answered");
        assert_eq!(text(&deltas), "hi", "{api}");
        assert_eq!(error(&deltas), Some(Kind::Truncated), "{api}: {deltas:?}");
    }
}
