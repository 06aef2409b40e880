//! What servers want back with a reply is in the next request, as it came, for the model that it came from.

use gadgetry::{Agent, ToolChoice, from_fn};
use gadgetry_proto::call::Outcome;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::Tools;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::{OpenAi, Wire};
use serde_json::{Value, json};

use super::server::{Server, answer};
use super::show::sse;
use crate::support::turns::{message, next};

fn wire(model: &str, native: bool) -> OpenAi {
    let spec = GadgetSpec {
        name: "f".into(),
        ..GadgetSpec::default()
    };
    let tools = native.then_some(spec);
    OpenAi::builder(model).tools(tools).build().unwrap()
}

/// The reply as a later request sends it, with the results of the calls `ids`.
fn sent(wire: &impl Wire, reply: Message, ids: &[&str]) -> Value {
    next(wire, reply, ids)["messages"][1].clone()
}

/// Holds the reply in the second request against `expected`, streamed in pieces of any size.
#[track_caller]
fn check(name: &str, body: &str, ids: &[&str], expected: &Value) {
    let native = wire("m", true);
    for size in [1, 7, usize::MAX] {
        let reply = message(native.wire(), body, size);
        assert_eq!(&sent(native.wire(), reply, ids), expected, "{name}, {size}");
    }
    // Another model has nothing of it, nor has a conversation in text.
    let foreign = sent(
        wire("n", true).wire(),
        message(native.wire(), body, 99),
        ids,
    );
    let text = wire("m", false);
    let as_text = sent(text.wire(), message(text.wire(), body, 99), ids);
    for other in [foreign, as_text] {
        let other = other.to_string();
        for word in ["reasoning_", "thinking_blocks", "extra_content", "SIG"] {
            assert!(!other.contains(word), "{name}: {word} in {other}");
        }
    }
}

const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

fn call(id: &str, own: Option<(&str, Value)>) -> Value {
    let mut call =
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}});
    if let Some((field, value)) = own {
        call[field] = value;
    }
    call
}

#[test]
fn signatures_of_calls() {
    let signature = || json!({"google": {"thought_signature": "SIG=="}});
    let google = |id| call(id, Some(("extra_content", signature())));
    for (name, frames, ids, calls) in [
        (
            "with the call",
            vec![
                r#"{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            json!([google("a")]),
        ),
        (
            "the first of two calls",
            vec![
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
                STOP,
                "[DONE]",
            ],
            vec!["a", "b"],
            json!([google("a"), call("b", None)]),
        ),
        (
            "a call without an id of the server's",
            vec![
                r#"{"choices":[{"delta":{"tool_calls":[{"extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
                STOP,
                "[DONE]",
            ],
            vec!["call_1"],
            json!([google("call_1")]),
        ),
        (
            "in a later piece, and cut off after it",
            vec![
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"arguments":"1}"}}]}}]}"#,
            ],
            vec!["a"],
            json!([google("a")]),
        ),
        (
            "a proxy's field",
            vec![
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","provider_specific_fields":{"thought_signature":"SIG=="},"function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            json!([call(
                "a",
                Some((
                    "provider_specific_fields",
                    json!({"thought_signature": "SIG=="})
                ))
            )]),
        ),
    ] {
        let expected = json!({"role": "assistant", "content": null, "tool_calls": calls});
        check(name, &sse(&frames), &ids, &expected);
    }
}

#[test]
fn reasoning() {
    const CALL: &str = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#;
    for (name, frames, ids, content, fields) in [
        (
            "a text in pieces, half a character in each",
            vec![
                r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":""}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_content":"hm \ud83d"}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_content":"\ude00 so"}}]}"#,
                r#"{"choices":[{"delta":{"content":"Now."}}]}"#,
                CALL,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            json!("Now."),
            json!({"reasoning_content": "hm 😀 so"}),
        ),
        (
            "the field is there and says nothing",
            vec![
                r#"{"choices":[{"delta":{"reasoning_content":""}}]}"#,
                CALL,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            Value::Null,
            json!({"reasoning_content": ""}),
        ),
        (
            "of a reply without calls",
            vec![
                r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
                r#"{"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            vec![],
            json!("Done."),
            json!({"reasoning_content": "hm"}),
        ),
        (
            "details: text in pieces, its signature, and encrypted ones",
            vec![
                r#"{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"x","signature":null}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"format":"x"}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"format":"x","signature":"SIG1"}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"SIG2","id":"e1","index":1},{"type":"reasoning.encrypted","data":"SIG3","id":"e2","index":2}]}}]}"#,
                CALL,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            Value::Null,
            json!({"reasoning_details": [
                {"type": "reasoning.text", "text": "ab", "index": 0, "format": "x", "signature": "SIG1"},
                {"type": "reasoning.encrypted", "data": "SIG2", "id": "e1", "index": 1},
                {"type": "reasoning.encrypted", "data": "SIG3", "id": "e2", "index": 2},
            ]}),
        ),
        (
            "details of other types and indexes",
            vec![
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"b","index":1}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"c","index":1}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"d","index":1}]}}]}"#,
                CALL,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            Value::Null,
            json!({"reasoning_details": [
                {"type": "reasoning.text", "text": "a", "index": 0},
                {"type": "reasoning.text", "text": "b", "index": 1},
                {"type": "reasoning.summary", "summary": "cd", "index": 1},
            ]}),
        ),
        (
            "two signed texts of one index",
            vec![
                r#"{"choices":[{"delta":{"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"SIG1"},{"type":"thinking","thinking":"b","signature":"SIG2"},{"type":"redacted_thinking","data":"SIG3"}]}}]}"#,
                CALL,
                STOP,
                "[DONE]",
            ],
            vec!["a"],
            Value::Null,
            json!({"thinking_blocks": [
                {"type": "thinking", "thinking": "a", "signature": "SIG1"},
                {"type": "thinking", "thinking": "b", "signature": "SIG2"},
                {"type": "redacted_thinking", "data": "SIG3"},
            ]}),
        ),
        (
            "a whole reply",
            vec![],
            vec!["a"],
            Value::Null,
            json!({"reasoning_content": "hm"}),
        ),
    ] {
        let body = if frames.is_empty() {
            r#"{"choices":[{"message":{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}"#.to_owned()
        } else {
            sse(&frames)
        };
        let mut expected = json!({"role": "assistant", "content": content});
        if !ids.is_empty() {
            expected["tool_calls"] = json!([call("a", None)]);
        }
        for (field, value) in fields.as_object().unwrap() {
            expected[field] = value.clone();
        }
        check(name, &body, &ids, &expected);
    }
}

#[test]
fn nothing_is_kept_of_a_reply_with_too_much() {
    let data = "x".repeat(6 << 20);
    let details = json!([{"type": "reasoning.encrypted", "data": data}]);
    for (field, piece) in [
        ("reasoning_content", json!(data)),
        ("reasoning_details", details),
    ] {
        let piece = json!({"choices": [{"delta": {field: piece}}]}).to_string();
        let mut frames = vec![piece.as_str(); 3];
        frames.extend([r#"{"choices":[{"delta":{"content":"Done."}}]}"#, "[DONE]"]);
        let native = wire("m", true);
        let reply = message(native.wire(), &sse(&frames), usize::MAX);
        let expected = json!({"role": "assistant", "content": "Done."});
        assert_eq!(sent(native.wire(), reply, &[]), expected, "{field}");
    }
}

#[tokio::test]
async fn an_agent_gives_back_what_it_was_given() {
    let frames = [
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"name":"f","arguments":"{}"}}]}}]}"#,
        STOP,
        "[DONE]",
    ];
    let headers = [("content-type", "text/event-stream")];
    let server = Server::start(vec![answer("200 OK", &headers, &sse(&frames))]).await;
    let model = OpenAi::builder("m").base_url(server.base_url());
    let spec = GadgetSpec {
        name: "f".into(),
        ..GadgetSpec::default()
    };
    // It ends because of its limit of two replies.
    _ = Agent::builder()
        .model(model.build().unwrap())
        .gadget(from_fn(spec, |_, _| async { Outcome::ok("done") }))
        .tools(Tools::Native)
        .max_iterations(2)
        .ask("Begin.")
        .unwrap()
        .finish()
        .await;
    let requests = server.requests();
    let (_, body) = requests[1].split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let reply = &body["messages"][1];
    assert_eq!(reply["reasoning_content"], "hm", "{reply}");
    let call = &reply["tool_calls"][0];
    assert_eq!(
        call["extra_content"]["google"]["thought_signature"],
        "SIG=="
    );
}

#[tokio::test]
async fn an_agent_is_forced_to_call_only_until_it_has_called() {
    let frames = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look_up","arguments":"{}"}}]}}]}"#,
        STOP,
        "[DONE]",
    ];
    let headers = [("content-type", "text/event-stream")];
    let server = Server::start(vec![answer("200 OK", &headers, &sse(&frames))]).await;
    let spec = GadgetSpec {
        name: "look.up".into(),
        ..GadgetSpec::default()
    };
    let agent = Agent::builder()
        .model(
            OpenAi::builder("m")
                .base_url(server.base_url())
                .build()
                .unwrap(),
        )
        .gadget(from_fn(spec, |_, _| async { Outcome::ok("done") }))
        .tool_choice(ToolChoice::Gadget("look.up".into()))
        .max_iterations(2);
    let function = json!({"type": "function", "function": {"name": "look_up"}});
    let choices = |server: &Server| -> Vec<Value> {
        let requests = server.requests().into_iter().map(|request| {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            body["tool_choice"].clone()
        });
        requests.collect()
    };
    // It ends because of its limit of two replies; the next ask begins again.
    let native = agent.clone().tools(Tools::Native).build().unwrap();
    for _ in 0..2 {
        _ = native.ask("Begin.").finish().await;
    }
    let expected = [function.clone(), Value::Null, function, Value::Null];
    assert_eq!(choices(&server), expected);
    // A model that writes blocks cannot be forced.
    _ = agent.ask("Begin.").unwrap().finish().await;
    assert_eq!(choices(&server)[4], Value::Null);
}
