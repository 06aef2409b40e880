//! Bodies of the three APIs as what the gateway makes of them.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::{Choice, ClientRequest, ToolKind};
use gadgetry_proto::message::{Content, Role, ToolChoice};
use serde_json::{Value, json};

/// The body with what every request of the API has.
fn whole(api: ClientApi, more: Value) -> Value {
    let mut body = match api {
        ClientApi::Chat => json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
        ClientApi::Responses => json!({"model": "m", "input": "Hi"}),
        ClientApi::Messages => {
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]})
        }
    };
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}

fn decode(api: ClientApi, more: Value) -> ClientRequest {
    api.decode(whole(api, more)).expect("a valid request")
}

#[test]
fn tools_of_all_shapes() {
    use ToolKind::{Function, Text};
    let check = |api: ClientApi, tools: Value, names: &[(&str, ToolKind)], warnings: &[&str]| {
        let request = decode(api, json!({"tools": tools}));
        let got: Vec<(String, ToolKind)> = request
            .tools
            .iter()
            .map(|tool| (tool.full_name(), tool.kind))
            .collect();
        let expected: Vec<(String, ToolKind)> = names
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), *kind))
            .collect();
        assert_eq!(
            (
                got,
                request
                    .warnings
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
            ),
            (expected, warnings.to_vec()),
            "{tools}"
        );
    };
    let schema = json!({"type": "object"});
    check(
        ClientApi::Chat,
        json!([
            {"type": "function", "function": {"name": "a", "parameters": schema, "strict": true}},
            {"type": "function", "function": {"name": "b"}},
            {"type": "custom", "custom": {"name": "c", "description": "C"}},
            {"type": "web_search"},
        ]),
        &[("a", Function), ("b", Function), ("c", Text)],
        &["the tool web_search is ignored"],
    );
    check(
        ClientApi::Responses,
        json!([
            {"type": "function", "name": "a", "parameters": schema, "strict": false},
            {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}},
            {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}, {"type": "custom", "name": "note"}]},
            {"type": "local_shell"},
            {"type": "image_generation"},
        ]),
        &[
            ("a", Function),
            ("patch", Text),
            ("crm.find", Function),
            ("crm.note", Text),
            ("local_shell", Function),
        ],
        &["the tool image_generation is ignored"],
    );
    check(
        ClientApi::Messages,
        json!([
            {"name": "a", "input_schema": schema, "cache_control": {"type": "ephemeral"}, "eager_input_streaming": true},
            {"type": "custom", "name": "b", "input_schema": schema},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 9},
            {"type": "computer_20250124", "name": "computer", "display_width_px": 10, "display_height_px": 20},
            {"type": "memory_20250818", "name": "memory"},
            {"type": "web_search_20250305", "name": "web_search"},
        ]),
        &[
            ("a", Function),
            ("b", Function),
            ("bash", Function),
            ("str_replace_based_edit_tool", Function),
            ("computer", Function),
            ("memory", Function),
        ],
        &["the tool web_search_20250305 is ignored: it runs at Anthropic"],
    );
}

#[test]
fn choices_of_all_shapes() {
    let check = |api: ClientApi, more: Value, choice: Choice, is_parallel: bool| {
        let request = decode(api, more.clone());
        assert_eq!(
            (request.choice, request.is_parallel),
            (choice, is_parallel),
            "{api:?} {more}"
        );
    };
    let only = |name: &str| Choice::from(ToolChoice::Gadget(name.to_owned()));
    let allowed = |kind: ToolChoice| Choice {
        kind,
        allowed: Some(vec!["a".to_owned()]),
    };
    for api in [ClientApi::Chat, ClientApi::Responses] {
        check(api, json!({}), Choice::default(), true);
        check(
            api,
            json!({"tool_choice": "none"}),
            ToolChoice::None.into(),
            true,
        );
        check(
            api,
            json!({"tool_choice": "required", "parallel_tool_calls": false}),
            ToolChoice::Required.into(),
            false,
        );
    }
    check(
        ClientApi::Chat,
        json!({"tool_choice": {"type": "function", "function": {"name": "a"}}}),
        only("a"),
        true,
    );
    check(
        ClientApi::Chat,
        json!({"tool_choice": {"type": "custom", "custom": {"name": "a"}}}),
        only("a"),
        true,
    );
    let tools = json!([{"type": "function", "function": {"name": "a"}}]);
    let choice =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": tools}});
    check(
        ClientApi::Chat,
        json!({"tool_choice": choice}),
        allowed(ToolChoice::Required),
        true,
    );
    check(
        ClientApi::Responses,
        json!({"tool_choice": {"type": "function", "name": "a"}}),
        only("a"),
        true,
    );
    let choice = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]});
    check(
        ClientApi::Responses,
        json!({"tool_choice": choice}),
        allowed(ToolChoice::Auto),
        true,
    );
    check(
        ClientApi::Responses,
        json!({"tool_choice": {"type": "file_search"}}),
        Choice::default(),
        true,
    );
    check(
        ClientApi::Messages,
        json!({"tool_choice": {"type": "any"}}),
        ToolChoice::Required.into(),
        true,
    );
    check(
        ClientApi::Messages,
        json!({"tool_choice": {"type": "none"}}),
        ToolChoice::None.into(),
        true,
    );
    let choice = json!({"type": "tool", "name": "a", "disable_parallel_tool_use": true});
    check(
        ClientApi::Messages,
        json!({"tool_choice": choice}),
        only("a"),
        false,
    );
}

#[test]
fn what_no_reply_could_honour_is_refused() {
    let check = |api: ClientApi, more: Value, field: &str| {
        let refusal = api
            .decode(whole(api, more.clone()))
            .expect_err("it is refused");
        assert_eq!(
            refusal.field.as_deref(),
            Some(field),
            "{api:?} {more}: {refusal}"
        );
    };
    check(ClientApi::Chat, json!({"n": 2}), "n");
    check(ClientApi::Chat, json!({"functions": []}), "functions");
    check(
        ClientApi::Chat,
        json!({"modalities": ["audio"]}),
        "modalities",
    );
    check(ClientApi::Chat, json!({"tools": {}}), "tools");
    check(
        ClientApi::Chat,
        json!({"tools": [{"type": "function", "function": {}}]}),
        "tools",
    );
    check(
        ClientApi::Chat,
        json!({"tool_choice": "sometimes"}),
        "tool_choice",
    );
    check(
        ClientApi::Chat,
        json!({"parallel_tool_calls": "no"}),
        "parallel_tool_calls",
    );
    check(
        ClientApi::Chat,
        json!({"messages": [{"role": "nobody"}]}),
        "messages",
    );
    check(ClientApi::Chat, json!({"max_tokens": "many"}), "max_tokens");
    check(
        ClientApi::Responses,
        json!({"background": true}),
        "background",
    );
    check(
        ClientApi::Responses,
        json!({"conversation": "c"}),
        "conversation",
    );
    check(
        ClientApi::Messages,
        json!({"tool_choice": {"type": "tool"}}),
        "tool_choice",
    );
    check(ClientApi::Messages, json!({"messages": "Hi"}), "messages");
}

#[test]
fn unknown_fields_are_passed_on_and_known_ones_are_not() {
    let request = decode(
        ClientApi::Chat,
        json!({"top_p": 0.5, "seed": 7, "min_p": 0.1, "user": "u", "store": true, "logprobs": true, "n": 1, "response_format": {"type": "text"}}),
    );
    let fields: Vec<(&str, &Value)> = request
        .options
        .fields
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    assert_eq!(
        fields,
        [
            ("top_p", &json!(0.5)),
            ("min_p", &json!(0.1)),
            ("seed", &json!(7))
        ]
    );
    assert_eq!(request.warnings, ["logprobs is ignored"]);
    assert_eq!(request.response_format, None);
}

#[test]
fn the_form_of_the_answer() {
    let schema = json!({"type": "object"});
    let expected = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let chat = decode(ClientApi::Chat, json!({"response_format": expected}));
    assert_eq!(chat.response_format, Some(expected.clone()));
    let format = json!({"type": "json_schema", "name": "n", "schema": schema});
    let responses = decode(ClientApi::Responses, json!({"text": {"format": format}}));
    assert_eq!(responses.response_format, Some(expected));
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    let messages = decode(ClientApi::Messages, json!({"output_config": format}));
    let expected = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
    assert_eq!(messages.response_format, Some(expected));
}

/// What a conversation has: the role and kind of each part.
fn shape(request: &ClientRequest) -> Vec<(Role, String)> {
    let mut shape = Vec::new();
    for message in &request.messages {
        for part in &message.content {
            let part = match part {
                Content::Text { text } => text.clone(),
                Content::ToolUse {
                    tool_use_id,
                    name,
                    input,
                } => format!("{name}#{tool_use_id} {input}"),
                Content::GadgetResult {
                    invocation_id,
                    text,
                    is_error,
                    media,
                    ..
                } => {
                    format!(
                        "={} {text} {is_error} {}",
                        invocation_id.as_str(),
                        media.len()
                    )
                }
                Content::Media(medium) => medium.mime_type.clone(),
                _ => "opaque".to_owned(),
            };
            shape.push((message.role, part));
        }
    }
    shape
}

#[test]
fn conversations_of_all_shapes() {
    use Role::{Assistant, System, User};
    let check = |api: ClientApi, more: Value, expected: &[(Role, &str)]| {
        let got = shape(&decode(api, more.clone()));
        let expected: Vec<(Role, String)> = expected
            .iter()
            .map(|(role, part)| (*role, (*part).to_owned()))
            .collect();
        assert_eq!(got, expected, "{api:?} {more}");
    };
    let image = "data:image/png;base64,aGk=";
    check(
        ClientApi::Chat,
        json!({"messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": image}}]},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{\"x\":1}"}},
                {"id": "2", "type": "custom", "custom": {"name": "p", "input": "text"}},
            ]},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "one"}]},
            {"role": "tool", "tool_call_id": "2", "content": "two"},
        ]}),
        &[
            (System, "Be brief."),
            (User, "Look"),
            (User, "image/png"),
            (Assistant, "opaque"),
            (Assistant, "a#1 {\"x\":1}"),
            (Assistant, "p#2 {\"input\":\"text\"}"),
            (User, "=1 one false 0"),
            (User, "=2 two false 0"),
        ],
    );
    check(
        ClientApi::Responses,
        json!({"instructions": "Be brief.", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": image}]},
            {"type": "reasoning", "id": "rs", "encrypted_content": "…", "summary": []},
            {"type": "function_call", "call_id": "1", "name": "find", "namespace": "crm", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "2", "name": "p", "input": "text"},
            {"type": "function_call_output", "call_id": "1", "output": "one"},
            {"type": "custom_tool_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}]},
        ]}),
        &[
            (System, "Be brief."),
            (User, "Look"),
            (User, "image/png"),
            (Assistant, "opaque"),
            (Assistant, "crm.find#1 {}"),
            (Assistant, "p#2 {\"input\":\"text\"}"),
            (User, "=1 one false 0"),
            (User, "=2 two false 0"),
        ],
    );
    check(
        ClientApi::Messages,
        json!({"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": [
                    {"type": "text", "text": "one"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                ]},
                {"type": "text", "text": "Go on"},
            ]},
        ]}),
        &[
            (System, "Be brief."),
            (User, "Look"),
            (User, "image/png"),
            (Assistant, "opaque"),
            (Assistant, "a#1 {\"x\":1}"),
            (User, "=1 one true 1"),
            (User, "Go on"),
        ],
    );
    // Codex probes a server with nothing.
    check(
        ClientApi::Responses,
        json!({"input": [], "max_output_tokens": 1}),
        &[(User, ".")],
    );
    // Tools that are carried by an item.
    let carried =
        json!({"type": "additional_tools", "tools": [{"type": "function", "name": "late"}]});
    let request = decode(
        ClientApi::Responses,
        json!({"input": [carried, {"role": "user", "content": "Hi"}]}),
    );
    assert_eq!(
        (request.tools[0].name.as_str(), shape(&request).len()),
        ("late", 1)
    );
}
