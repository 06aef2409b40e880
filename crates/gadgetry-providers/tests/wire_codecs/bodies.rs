//! Bodies of clients with what the generated conversations lack.

use gadgetry_providers::openai::{chat, responses};
use gadgetry_providers::{Wire as _, anthropic};
use serde_json::{Map, Value, json};

use super::replies::Api;
use super::requests::body;

/// What is sent for a body that a client has sent, all of whose fields are understood.
fn again(api: Api, sent: Value) -> Value {
    macro_rules! again {
        ($decode:path) => {{
            let read = $decode(sent).unwrap();
            assert_eq!(read.options.fields, Map::new());
            let model = read.builder().build().unwrap();
            body(&model.wire().request(&read.request).unwrap())
        }};
    }
    match api {
        Api::Chat => again!(chat::decode_request),
        Api::Messages => again!(anthropic::decode_request),
        Api::Responses => again!(responses::decode_request),
    }
}

/// A body with these messages, fields and one tool.
fn of(api: Api, messages: &Value, more: &Value) -> Value {
    let schema = json!({"type": "object"});
    let mut body = match api {
        Api::Chat => json!({
            "model": "m", "stream": true, "messages": messages,
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}],
        }),
        Api::Messages => json!({
            "model": "m", "stream": true, "max_tokens": 9000, "messages": messages,
            "tools": [{"name": "f", "description": "d", "input_schema": schema}],
        }),
        Api::Responses => json!({
            "model": "m", "stream": true, "store": false, "input": messages, "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "function", "name": "f", "description": "d", "parameters": schema, "strict": false}],
        }),
    };
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

#[test]
fn what_comes_again_as_it_was() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str, own: Value| {
        let mut call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}});
        call.as_object_mut()
            .unwrap()
            .extend(own.as_object().unwrap().clone());
        call
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "r"});
    let asks = json!({"role": "user", "content": "a"});
    let sound = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}});
    let flac = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "flac"}});
    let signed = json!({"extra_content": {"google": {"thought_signature": "SIG"}}});
    let bytes = |mime: &str| json!({"type": "base64", "media_type": mime, "data": "AAAA"});
    let used = json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}});
    let answered = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [text("r")]}]});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "SIG"});
    let hidden = json!({"type": "redacted_thinking", "data": "SIG"});
    let cases = [
        (
            "messages of one role",
            Api::Chat,
            json!([asks, asks]),
            none(),
        ),
        (
            "sounds",
            Api::Chat,
            json!([{"role": "user", "content": [text("a"), sound, flac]}]),
            none(),
        ),
        (
            "reasoning and signatures",
            Api::Chat,
            json!([
                asks,
                {"role": "assistant", "content": "b", "reasoning_content": "hm", "tool_calls": [call("a", signed.clone()), call("b", none())]},
                result("a"),
                result("b"),
            ]),
            none(),
        ),
        (
            "reasoning alone",
            Api::Chat,
            json!([asks, {"role": "assistant", "content": "b", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, asks]),
            none(),
        ),
        (
            "signatures alone",
            Api::Chat,
            json!([asks, {"role": "assistant", "content": null, "tool_calls": [call("a", signed)]}, result("a")]),
            none(),
        ),
        (
            "thoughts and calls",
            Api::Messages,
            json!([{"role": "user", "content": [text("a")]}, {"role": "assistant", "content": [thought, hidden, text("b"), used]}, answered]),
            json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ),
        (
            "media",
            Api::Messages,
            json!([{"role": "user", "content": [
                text("a"),
                {"type": "image", "source": bytes("image/png")},
                {"type": "document", "source": bytes("application/pdf")},
                {"type": "image", "source": {"type": "url", "url": "https://h/x.png"}},
            ]}]),
            none(),
        ),
        (
            "reasoning between calls",
            Api::Responses,
            json!([
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SECRET"},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"x\":1}"},
                {"type": "function_call_output", "call_id": "a", "output": [
                    {"type": "input_text", "text": "r"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
                    {"type": "input_file", "filename": "n.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                ]},
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "b"}]},
            ]),
            none(),
        ),
    ];
    for (name, api, messages, more) in cases {
        let sent = of(api, &messages, &more);
        assert_eq!(again(api, sent.clone()), sent, "{name}, {api:?}");
    }
}

#[test]
fn what_comes_again_in_another_form() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let asks = |words: &str| json!({"role": "user", "content": [text(words)]});
    let asks_all = |words: &[&str]| json!([asks(&(words.join("\n") + "\n"))]);
    let used = json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}});
    let says = |role: &str, kind: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]});
    let cases = [
        (
            "fields that are null",
            Api::Chat,
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": null, "tool_calls": null}]),
            none(),
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
        ),
        (
            "instructions in their place, and the choice that is the default",
            Api::Messages,
            json!([asks("a"), {"role": "system", "content": "b"}]),
            json!({"tool_choice": {"type": "auto"}}),
            json!([{"role": "user", "content": [text("a"), text("b")]}]),
        ),
        (
            "documents of text",
            Api::Messages,
            json!([{"role": "user", "content": [
                {"type": "document", "title": "t", "context": "c", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
                {"type": "document", "source": {"type": "content", "content": [text("b"), text("c")]}},
                {"type": "search_result", "title": "t", "source": "u", "content": [text("d")]},
            ]}]),
            none(),
            asks_all(&["[t | c]\na", "[document]\nb\n\nc", "[t | u]\nd"]),
        ),
        (
            "documents of text in results",
            Api::Messages,
            json!([asks("a"), {"role": "assistant", "content": [used]}, {"role": "user", "content": [{
            "type": "tool_result", "tool_use_id": "a", "content": [
                text("r"),
                {"type": "search_result", "title": "t", "source": "u", "content": [text("d")]},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "e"}},
            ]}]}]),
            none(),
            json!([asks("a"), {"role": "assistant", "content": [used]}, {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "a", "content": [text("r\n\n[t | u]\nd\n\n[document]\ne")]}]}]),
        ),
        (
            "an item without type, and a refusal",
            Api::Responses,
            json!([{"role": "user", "content": "a"}, {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]),
            json!({"tool_choice": "auto"}),
            json!([
                says("user", "input_text", "a"),
                says("assistant", "output_text", "no")
            ]),
        ),
    ];
    for (name, api, messages, more, expected) in cases {
        let sent = again(api, of(api, &messages, &more));
        assert_eq!(sent, of(api, &expected, &none()), "{name}, {api:?}");
    }
}

fn none() -> Value {
    json!({})
}

/// Of reasoning with other fields nothing is read, so that all of it is passed on.
#[test]
fn the_effort_of_chat_completions() {
    let budget = json!({"effort": "low", "max_tokens": 5});
    for (reasoning, effort, passed_on) in [
        (json!({"effort": "low"}), Some("low"), None),
        (json!({}), None, Some(json!({}))),
        (budget.clone(), None, Some(budget)),
    ] {
        let body = json!({"model": "m", "reasoning": reasoning});
        let read = chat::decode_request(body).unwrap().options;
        assert_eq!(read.reasoning_effort.as_deref(), effort, "{reasoning}");
        assert_eq!(read.fields.get("reasoning"), passed_on.as_ref());
    }
}
