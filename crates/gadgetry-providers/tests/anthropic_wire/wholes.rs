//! Answers that are one document.

use gadgetry_providers::{Decode as _, anthropic};
use serde_json::{Value, json};

use super::shown;

fn check(body: Value, expected: &[&str]) {
    let mut deltas = Vec::new();
    let why = body.to_string();
    anthropic::Decoder::new().reply(body, &mut deltas);
    assert_eq!(shown(&deltas), expected, "{why}");
}

#[test]
fn a_document_gives_what_a_stream_would() {
    check(
        json!({
            "type": "message",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "größer", "signature": "s"},
                {"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7},
        }),
        &[
            "start m",
            "think größer",
            r#"about {"signature":"s"}"#,
            "text hi",
            "call a f",
            r#"done a {"x":1}"#,
            "end tool_use 15(5+0)>7(0)",
        ],
    );
}

#[test]
fn documents_of_other_forms() {
    check(
        json!({"content": "hi"}),
        &["start -", "text hi", "end unspecified"],
    );
    check(
        json!({"content": [], "stop_reason": "refusal"}),
        &["start -", "end content_filter"],
    );
    check(
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        &["error Overloaded Overloaded"],
    );
    // The caller says that it is no reply.
    check(json!({"object": "list"}), &["no end"]);
    check(json!([1]), &["no end"]);
    check(json!(null), &["no end"]);
}
