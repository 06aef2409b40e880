//! `@copilotkit/aimock`: every reply is scripted, in pieces of any size, cut and refused as we like.

use std::time::Duration;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::ModelErrorKind as Kind;
use gadgetry_proto::event::FinishReason;
use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agents::{APIS, Api, agent, ask, deltas, error, model, text};
use super::server::Server;

/// Sizes of pieces, in UTF-16 units: with 1 the server cuts emoji into halves.
pub(crate) const SIZES: [u32; 3] = [1, 7, 1000];

pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The server with these fixtures. The folder must outlive it.
pub(crate) async fn start(fixtures: Vec<Value>) -> Option<(Server, TempDir)> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fixtures.json");
    let fixtures = json!({ "fixtures": fixtures });
    std::fs::write(file, fixtures.to_string()).expect("it is ours");
    let path = folder.path().to_str().expect("it is text");
    let server = Server::start("aimock", &["-p", "0", "-f", path, "--validate-on-load"]).await?;
    Some((server, folder))
}

fn base(server: &Server) -> String {
    server.url("/v1")
}

/// Token counts of a fixture.
pub(crate) fn counts(input: u64, output: u64) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage::default()
        .input_tokens(input_tokens)
        .output_tokens(output_tokens)
        .total_tokens(input_tokens + output_tokens)
}

/// How many requests the server has had.
pub(crate) async fn requests(server: &Server) -> usize {
    let journal = server
        .control("GET", "/__aimock/journal", &Value::Null)
        .await;
    journal.as_array().expect("a list of requests").len()
}

#[tokio::test]
async fn replies() {
    const SAID: &str = "Žluťoučký 🦀 & 👩‍👩‍👧: \"quoted\" \\ back\nsecond line\t漢字 !!! <a>";
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
    for api in APIS {
        let model = model(api, base(&server), PATIENCE);
        for size in SIZES {
            let deltas = deltas(&model, &format!("Say it in pieces of {size}.")).await;
            assert_eq!(text(&deltas), SAID, "{api:?}, {size}");
            let end = Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: Some(usage(11, 5)),
            };
            assert_eq!(deltas.last(), Some(&end), "{api:?}, {size}");
        }
    }
}

#[tokio::test]
async fn native_calls_and_thoughts() {
    let calls = json!([
        { "id": "call_a", "name": "Fetch", "arguments": { "url": "/🦀", "deep": [1, { "x": null }] } },
        { "id": "call_b", "name": "Count", "arguments": {} },
    ]);
    let fixtures = SIZES.map(|size| {
        json!({
            "match": { "userMessage": format!("in pieces of {size}.") },
            "response": { "content": "Let me look.", "reasoning": "Hm, 🤔.", "toolCalls": calls },
            "chunkSize": size,
        })
    });
    let Some((server, _folder)) = start(fixtures.to_vec()).await else {
        return;
    };
    for api in APIS {
        let model = model(api, base(&server), PATIENCE);
        for size in SIZES {
            let deltas = deltas(&model, &format!("Call in pieces of {size}.")).await;
            assert_eq!(text(&deltas), "Let me look.", "{api:?}, {size}");
            let thought: String = deltas.iter().filter_map(thought).collect();
            assert_eq!(thought, "Hm, 🤔.", "{api:?}, {size}");
            let expected = [
                (
                    "Fetch".to_owned(),
                    json!({ "url": "/🦀", "deep": [1, { "x": null }] }),
                ),
                ("Count".to_owned(), json!({})),
            ];
            assert_eq!(native_calls(&deltas), expected, "{api:?}, {size}");
            let is_end = |delta: &Delta| {
                matches!(
                    delta,
                    Delta::MessageEnd {
                        stop_reason: StopReason::ToolUse,
                        ..
                    }
                )
            };
            assert!(deltas.last().is_some_and(is_end), "{api:?}, {size}");
        }
    }
}

fn thought(delta: &Delta) -> Option<&str> {
    match delta {
        Delta::Reasoning { delta, .. } => Some(delta),
        _ => None,
    }
}

/// Name and input of the calls that are complete.
fn native_calls(deltas: &[Delta]) -> Vec<(String, Value)> {
    let mut calls: Vec<(&str, &str, String)> = Vec::new();
    let mut complete = Vec::new();
    for delta in deltas {
        match delta {
            Delta::ToolCallStart { id, name } => calls.push((id, name, String::new())),
            Delta::ToolCallDelta { id, delta } => {
                let call = calls.iter_mut().find(|call| call.0 == id);
                call.expect("it has begun").2 += delta;
            }
            Delta::ToolCallEnd { id, input } => {
                let call = calls
                    .iter()
                    .find(|call| call.0 == id)
                    .expect("it has begun");
                let joined = || serde_json::from_str(&call.2).expect("it is JSON");
                complete.push((call.1.to_owned(), input.clone().unwrap_or_else(joined)));
            }
            _ => {}
        }
    }
    complete
}

/// Four replies: two calls of which one waits for the other, one more, one that is wrong, and the answer. A fixture
/// answers only to the results of the turn before it.
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
                "I look. 🔎\n!!!GADGET_START:Fetch:users\n!!!ARG:url\n/api/users\n!!!GADGET_END\n\
                 !!!GADGET_START:Count:number:users\n!!!ARG:list\n${users}\n!!!GADGET_END\n",
            ),
            turn(
                1,
                "3 entries",
                "And the others.\n!!!GADGET_START:Fetch:others\n!!!ARG:url\n/api/others\n!!!GADGET_END\n",
            ),
            turn(
                2,
                "[17, 23, 42] from /api/others",
                "!!!GADGET_START:Fetch:wrong\n!!!ARG:uri\nx\n!!!GADGET_END\n",
            ),
            turn(3, "url", "There are 3 users. 🎉"),
        ]
    });
    let Some((server, _folder)) = start(fixtures.collect()).await else {
        return;
    };
    for api in APIS {
        for size in SIZES {
            let agent = agent(model(api, base(&server), PATIENCE));
            let agent = agent.system(format!("Pieces of {size}."));
            let told = ask(agent, "How many users are there?").await;
            assert_eq!(told.answer(), "There are 3 users. 🎉", "{api:?}, {size}");
            assert!(
                told.text.starts_with("I look. 🔎"),
                "{api:?}, {size}: {}",
                told.text
            );
            assert_eq!(
                told.gadgets[..3],
                ["Fetch", "Count", "Fetch"],
                "{api:?}, {size}"
            );
            assert_eq!(told.usage, usage(400, 40), "{api:?}, {size}");
            assert_eq!(told.retries, [], "{api:?}, {size}");
        }
    }
}

/// The first answer to each question is a refusal or a broken one before any text; the second is good.
#[tokio::test]
async fn a_failure_before_any_text_is_tried_again() {
    let refused = |status: u16, kind: &str| json!({ "response": { "error": { "message": "not now", "type": kind }, "status": status } });
    let limit = json!({
        "response": {
            "error": { "message": "slow down", "type": "rate_limit_error" },
            "status": 429,
            "retryAfter": 1,
        },
    });
    let cut =
        json!({ "response": { "content": "Never seen." }, "latency": 5, "truncateAfterChunks": 1 });
    let dropped = json!({ "response": { "content": "Never seen." }, "latency": 200, "disconnectAfterMs": 50 });
    let malformed =
        json!({ "response": { "content": "Never seen." }, "chaos": { "malformedRate": 1.0 } });
    let disconnected =
        json!({ "response": { "content": "Never seen." }, "chaos": { "disconnectRate": 1.0 } });
    let rows = [
        ("limit", limit, &[Kind::RateLimit][..]),
        ("500", refused(500, "server_error"), &[Kind::Overloaded]),
        ("529", refused(529, "overloaded_error"), &[Kind::Overloaded]),
        // Whether headers came before depends on the server's clock.
        ("cut", cut, &[Kind::Truncated, Kind::Transport]),
        ("dropped", dropped, &[Kind::Truncated, Kind::Transport]),
        ("malformed", malformed, &[Kind::Transport]),
        (
            "disconnected",
            disconnected,
            &[Kind::Truncated, Kind::Transport],
        ),
    ];
    let mut fixtures = Vec::new();
    for api in APIS {
        for (name, bad, _) in &rows {
            let mut bad = bad.clone();
            let said = format!("{api:?} {name}.");
            bad["match"] = json!({ "userMessage": said, "sequenceIndex": 0 });
            fixtures.push(bad);
            fixtures.push(
                json!({ "match": { "userMessage": said }, "response": { "content": "Fine. 👍" } }),
            );
        }
    }
    let Some((server, _folder)) = start(fixtures).await else {
        return;
    };
    for api in APIS {
        for (name, _, kinds) in &rows {
            let before = requests(&server).await;
            let agent = agent(model(api, base(&server), PATIENCE));
            let told = ask(agent, &format!("{api:?} {name}.")).await;
            assert_eq!(told.answer(), "Fine. 👍", "{api:?}, {name}");
            assert_eq!(told.text, "Fine. 👍", "{api:?}, {name}");
            assert_eq!(requests(&server).await - before, 2, "{api:?}, {name}");
            // A connection that closes before any header is no retry of the run: the request is sent again at once.
            if told.retries.is_empty() && kinds.contains(&Kind::Transport) {
                continue;
            }
            let [(kind, delay_ms)] = told.retries[..] else {
                panic!("{api:?}, {name}: {:?}", told.retries)
            };
            assert!(kinds.contains(&kind), "{api:?}, {name}: {kind:?}");
            if *name == "limit" {
                // Up to a quarter of the first delay comes on top.
                assert!((1000..=1025).contains(&delay_ms), "{api:?}: {delay_ms}");
                assert!(
                    told.took >= Duration::from_secs(1),
                    "{api:?}: {:?}",
                    told.took
                );
            }
        }
    }
}

/// A reply that is cut after some text is requested again, and the run does not take what came for an answer.
#[tokio::test]
async fn a_reply_cut_after_some_text_is_no_answer() {
    const SAID: &str = "This will be cut short, for sure.";
    let said = |name: &str| json!({ "userMessage": format!("{name}.") });
    let fixtures = vec![
        json!({
            "match": said("cut"),
            "response": { "content": SAID },
            "chunkSize": 4,
            "latency": 5,
            // The Responses API sends four frames before the first text.
            "truncateAfterChunks": 7,
        }),
        json!({
            "match": said("dropped"),
            "response": { "content": SAID },
            "chunkSize": 1,
            "latency": 20,
            "disconnectAfterMs": 200,
        }),
    ];
    let Some((server, _folder)) = start(fixtures).await else {
        return;
    };
    for api in APIS {
        for name in ["cut", "dropped"] {
            let model = model(api, base(&server), PATIENCE);
            let deltas = deltas(&model, &format!("{name}.")).await;
            assert_eq!(error(&deltas), Some(Kind::Truncated), "{api:?}, {name}");
            assert!(SAID.starts_with(&text(&deltas)), "{api:?}, {name}");
            let before = requests(&server).await;
            let told = ask(agent(model), &format!("{name}.")).await;
            let error = told.finished.expect_err("the reply was cut off");
            assert_eq!(error.reason(), FinishReason::ModelError, "{api:?}, {name}");
            assert!(!told.text.is_empty(), "{api:?}, {name}");
            let kinds: Vec<Kind> = told.retries.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, [Kind::Truncated; 3], "{api:?}, {name}");
            assert_eq!(requests(&server).await - before, 4, "{api:?}, {name}");
        }
    }
}

#[tokio::test]
async fn permanent_errors_are_reported_without_a_retry() {
    let refused = |name: &str, status: u16, kind: &str, message: &str| {
        json!({
            "match": { "userMessage": format!("{name}.") },
            "response": { "error": { "message": message, "type": kind }, "status": status },
        })
    };
    let rows = [
        (
            "key",
            refused("key", 401, "authentication_error", "wrong key"),
            Kind::Authentication,
        ),
        (
            "bad",
            refused("bad", 400, "invalid_request_error", "no"),
            Kind::BadRequest,
        ),
        (
            "long",
            refused(
                "long",
                400,
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
            ),
            Kind::ContextOverflow,
        ),
        // No fixture: 404.
        ("unknown", Value::Null, Kind::BadRequest),
    ];
    let fixtures = rows.iter().map(|(_, fixture, _)| fixture.clone());
    let fixtures = fixtures.filter(|fixture| !fixture.is_null()).collect();
    let Some((server, _folder)) = start(fixtures).await else {
        return;
    };
    for api in APIS {
        for (name, _, kind) in &rows {
            let model = model(api, base(&server), PATIENCE);
            let deltas = deltas(&model, &format!("{name}.")).await;
            assert_eq!(error(&deltas), Some(*kind), "{api:?}, {name}");
            let before = requests(&server).await;
            let told = ask(agent(model).without_compaction(), &format!("{name}.")).await;
            let error = told.finished.expect_err("it was refused");
            assert_eq!(error.reason(), FinishReason::ModelError, "{api:?}, {name}");
            assert!(!error.to_string().contains("0123456789"), "{error}");
            assert_eq!(requests(&server).await - before, 1, "{api:?}, {name}");
        }
    }
}

/// The same agent asks one API with a conversation that the other has begun.
#[tokio::test]
async fn a_conversation_moves_from_one_api_to_the_other() {
    let turn = |turn: u32, said: &str, reply: &str| {
        json!({
            "match": { "turnIndex": turn, "userMessage": said },
            "response": { "content": reply },
            "chunkSize": 7,
        })
    };
    let fixtures = vec![
        turn(
            0,
            "Who",
            "!!!GADGET_START:Fetch:users\n!!!ARG:url\n/u\n!!!GADGET_END\n",
        ),
        turn(1, "[17, 23, 42] from /u", "Three."),
        turn(2, "Sure?", "Yes."),
    ];
    let Some((server, _folder)) = start(fixtures).await else {
        return;
    };
    let pairs = [
        (Api::Chat, Api::Messages),
        (Api::Messages, Api::Responses),
        (Api::Responses, Api::Chat),
    ];
    for (first, second) in pairs {
        let told = ask(
            agent(model(first, base(&server), PATIENCE)),
            "Who is there?",
        )
        .await;
        assert_eq!(told.answer(), "Three.", "{first:?}");
        let finished = told.finished.expect("it has an answer");
        let agent = agent(model(second, base(&server), PATIENCE)).continue_from(&finished);
        let told = ask(agent, "Sure?").await;
        assert_eq!(told.answer(), "Yes.", "{second:?}");
    }
}
