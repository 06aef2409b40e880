//! Bodies that are damaged, in any way: they are refused or answered, and nothing panics.

use std::fs;
use std::path::Path;

use gadgetry_gateway::ClientApi;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::bodies::check;

/// Bodies of real agents, by their APIs, and small ones with much in them.
fn seeds() -> Vec<(ClientApi, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let read = |name: &str| {
        let text = fs::read(folder.join(name)).expect("the fixture is there");
        serde_json::from_slice(&text).expect("JSON")
    };
    let tools = json!([{"type": "function", "function": {"name": "a", "parameters": {"properties": {"x": {"type": "integer"}}}}}]);
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{\"x\":1}"}}
        ]},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
    ]);
    vec![
        (ClientApi::Responses, read("codex-request.json")),
        (ClientApi::Responses, read("codex-agent-request.json")),
        (ClientApi::Messages, read("claude-code-request.json")),
        (
            ClientApi::Chat,
            json!({"model": "m", "tool_choice": "auto", "tools": tools, "messages": messages}),
        ),
    ]
}

/// The body with one value in it replaced: the one at `place`, counted in depth.
fn damaged(value: &mut Value, place: &mut usize, with: &Value) {
    if *place == 0 {
        *value = with.clone();
        *place = usize::MAX;
        return;
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|it| damaged(it, place, with)),
        Value::Object(fields) => fields.values_mut().for_each(|it| damaged(it, place, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn requests_of_agents_are_understood() {
    for (api, body) in seeds() {
        let body = body.get("body").cloned().unwrap_or(body);
        let request = api.decode(body).expect("a valid request");
        assert!(!request.tools.is_empty(), "{api:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_damaged_body_is_refused_or_answered(which in 0..4_usize, place in 0..600_usize, with in 0..7_usize) {
        let (api, body) = seeds().swap_remove(which);
        let mut body = body.get("body").cloned().unwrap_or(body);
        let values = [
            json!(null), json!(0), json!(""), json!([]), json!({}), json!([[{}]]), json!("!!!GADGET_START:x\n!!!GADGET_END"),
        ];
        damaged(&mut body, &mut place.clone(), &values[with]);
        check(api, body.to_string().as_bytes());
    }
}
