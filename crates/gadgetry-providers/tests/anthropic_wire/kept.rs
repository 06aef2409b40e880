//! Thoughts and their signatures are in the next request, as they came, for the model that they came from.

use gadgetry_proto::message::Message;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::anthropic::{PromptCache, Thinking};
use gadgetry_providers::{Anthropic, Wire};
use serde_json::{Value, json};

use super::stream;
use crate::support::turns::{self, next};

fn wire(model: &str, native: bool, thinking: Thinking) -> Anthropic {
    let spec = GadgetSpec {
        name: "f".to_owned(),
        ..GadgetSpec::default()
    };
    Anthropic::builder(model)
        .prompt_cache(PromptCache::Off)
        .thinking(thinking)
        .tools(native.then_some(spec))
        .build()
        .unwrap()
}

fn message(wire: &impl Wire, frames: &[&str], size: usize) -> Message {
    turns::message(wire, &stream(frames), size)
}

const BUDGET: Thinking = Thinking::Budget(1024);

/// Holds the reply in the second request against `expected`, streamed in pieces of any size; that request thinks.
#[track_caller]
fn check(name: &str, frames: &[&str], ids: &[&str], expected: &Value) {
    let native = wire("m", true, BUDGET);
    for size in [1, 7, usize::MAX] {
        let reply = message(native.wire(), frames, size);
        let sent = next(native.wire(), reply, ids);
        assert_eq!(&sent["messages"][1]["content"], expected, "{name}, {size}");
        assert_eq!(sent["thinking"]["budget_tokens"], 1024, "{name}");
    }
    let reply = || message(native.wire(), frames, 99);
    let text = wire("m", false, BUDGET);
    for other in [
        next(wire("n", true, BUDGET).wire(), reply(), ids),
        next(text.wire(), message(text.wire(), frames, 99), ids),
    ] {
        let other = other["messages"].to_string();
        assert!(
            !other.contains("SIG") && !other.contains("thinking"),
            "{name}: {other}"
        );
    }
}

#[test]
fn thoughts_and_signatures() {
    const START: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    const HM: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm \ud83d"}}"#;
    const SO: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00 so "}}"#;
    const SIGNED: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG"}}"#;
    const END: &str = r#"{"type":"content_block_stop","index":0}"#;
    const REDACTED: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"SIG2"}}"#;
    const TEXT: &str = r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Now. "}}"#;
    const CALL: &str = r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":1}}}"#;
    const END_1: &str = r#"{"type":"content_block_stop","index":1}"#;
    const END_2: &str = r#"{"type":"content_block_stop","index":2}"#;
    const END_3: &str = r#"{"type":"content_block_stop","index":3}"#;
    const STOP: &str = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    const OVER: &str = r#"{"type":"message_stop"}"#;
    const TURN_OVER: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;

    let thought = json!({"type": "thinking", "thinking": "hm 😀 so ", "signature": "SIG"});
    let redacted = json!({"type": "redacted_thinking", "data": "SIG2"});
    let text = json!({"type": "text", "text": "Now."});
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}});
    let rows: [(&str, Vec<&str>, Vec<&str>, Value); 7] = [
        (
            "in order",
            vec![
                START, HM, SO, SIGNED, END, REDACTED, END_1, TEXT, END_2, CALL, END_3, STOP, OVER,
            ],
            vec!["a"],
            json!([thought, redacted, text, call]),
        ),
        (
            "text between thoughts",
            vec![
                START, HM, SO, SIGNED, END, TEXT, END_2, REDACTED, END_1, CALL, END_3, STOP, OVER,
            ],
            vec!["a"],
            json!([thought, text, redacted, call]),
        ),
        (
            "thought and call alone",
            vec![START, HM, SO, SIGNED, END, CALL, END_3, STOP, OVER],
            vec!["a"],
            json!([thought, call]),
        ),
        (
            "cut off after the call",
            vec![START, HM, SO, SIGNED, END, CALL, END_3],
            vec!["a"],
            json!([thought, call]),
        ),
        (
            "a reply without calls",
            vec![START, HM, SO, SIGNED, END, TEXT, END_2, TURN_OVER, OVER],
            vec![],
            json!([thought, text]),
        ),
        // Thoughts are valid only with something behind them.
        (
            "a text before the thought, without calls",
            vec![TEXT, END_2, START, HM, SO, SIGNED, END, TURN_OVER, OVER],
            vec![],
            json!([thought, text]),
        ),
        (
            "a thought alone",
            vec![START, HM, SO, SIGNED, END, TURN_OVER, OVER],
            vec![],
            Value::Null,
        ),
    ];
    for (name, frames, ids, expected) in rows {
        check(name, &frames, &ids, &expected);
    }
    // A thought that was cut has no signature, and is nothing that the API would take.
    let native = wire("m", true, BUDGET);
    let reply = message(native.wire(), &[TEXT, END_2, START, HM, SO], usize::MAX);
    let sent = next(native.wire(), reply, &[]);
    assert_eq!(sent["messages"][1]["content"], json!([text]));
}

#[test]
fn results_of_calls_that_another_model_made() {
    let reply = |thinking| {
        let other = wire("n", true, thinking);
        message(
            other.wire(),
            &[
                r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            ],
            99,
        )
    };
    let adaptive = || Thinking::Adaptive { effort: None };
    for (thinking, expected) in [(BUDGET, false), (adaptive(), true)] {
        let sent = next(
            wire("m", true, thinking.clone()).wire(),
            reply(thinking),
            &["a"],
        );
        assert_eq!(sent.get("thinking").is_some(), expected);
    }
}
