//! What is not in normal form: each row says what an API makes of it.

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::error::{Diagnostic, DiagnosticCode, ModelError, ModelErrorKind, Span};
use gadgetry_proto::usage::Usage;
use gadgetry_providers::openai::{chat, responses};
use gadgetry_providers::{RequestError, Wire as _, anthropic};
use serde_json::{Value, json};

use super::replies::{APIS, Api, read, stream};
use super::requests::body;

fn end(stop_reason: StopReason) -> Delta {
    let usage = None;
    Delta::MessageEnd { stop_reason, usage }
}

/// What is left of deltas that an API has no form for, without the start.
fn check(name: &str, deltas: &[Delta], expected: [&[Delta]; 3]) {
    for (api, expected) in APIS.into_iter().zip(expected) {
        let start = [Delta::MessageStart {
            model: Some("m".to_owned()),
        }];
        let stream = stream(api, &[&start, deltas].concat());
        let read = read(api, &stream, usize::MAX);
        assert_eq!(&read[1..], expected, "{name}, {api:?}: {stream}");
    }
}

#[test]
fn deltas_that_an_api_has_no_form_for() {
    let hi = || Delta::text("hi");
    let call = |input: Option<Value>| {
        let id = "a".to_owned();
        let start = Delta::ToolCallStart {
            id: id.clone(),
            name: "f".to_owned(),
        };
        vec![start, Delta::ToolCallEnd { id, input }]
    };
    let whole = |delta: &str| {
        let id = "a".to_owned();
        let mut call = call(None);
        let delta = delta.to_owned();
        call.insert(1, Delta::ToolCallDelta { id, delta });
        call.push(end(StopReason::ToolUse));
        call
    };
    let stop = [hi(), end(StopReason::Stop)];
    check(
        "a stop sequence",
        &[hi(), end(StopReason::StopSequence)],
        [&stop, &[hi(), end(StopReason::StopSequence)], &stop],
    );
    // Clients check the reason against the words of the API.
    let cut_off = [hi(), end(StopReason::MaxTokens)];
    for reason in [StopReason::Error, StopReason::Other("galactic".to_owned())] {
        check(
            "a reason that no API has",
            &[hi(), end(reason)],
            [&cut_off; 3],
        );
    }
    let tool_use = [hi(), end(StopReason::ToolUse)];
    check(
        "a call as the reason, and no call",
        &tool_use,
        [&tool_use, &tool_use, &stop],
    );
    let after = |last: StopReason, calls: Vec<Delta>| [calls, vec![end(last)]].concat();
    check(
        "a call without arguments",
        &after(StopReason::ToolUse, call(None)),
        [&whole("{}"), &whole("{}"), &whole("{}")],
    );
    check(
        "a call whose input comes with its end",
        &after(StopReason::ToolUse, call(Some(json!({"x": 1})))),
        [
            &whole(r#"{"x":1}"#),
            &whole(r#"{"x":1}"#),
            &whole(r#"{"x":1}"#),
        ],
    );
    let at_once = Delta::ToolCall {
        id: "a".to_owned(),
        name: "f".to_owned(),
        input: json!({"x": 1}),
    };
    check(
        "a call at once",
        &after(StopReason::ToolUse, vec![at_once]),
        [
            &whole(r#"{"x":1}"#),
            &whole(r#"{"x":1}"#),
            &whole(r#"{"x":1}"#),
        ],
    );
    // A call that was cut stays open, and is not executed.
    let cut = after(StopReason::MaxTokens, whole("{\"x\"")[..2].to_vec());
    check("a call that was cut", &cut, [&cut, &cut, &cut]);
    let refusal = || {
        Delta::Diagnostic(Diagnostic {
            code: DiagnosticCode::Refusal,
            message: "the provider refused: no".to_owned(),
            span: Span::default(),
        })
    };
    let refused = [refusal(), end(StopReason::ContentFilter)];
    let in_words = [Delta::text("no"), end(StopReason::ContentFilter)];
    check("a refusal", &refused, [&refused, &in_words, &refused]);
    let note = Delta::ContentMetadata {
        metadata: ContentMetadata {
            language: Some("en".to_owned()),
            ..ContentMetadata::default()
        },
    };
    let raw = Delta::Raw { data: json!(1) };
    check(
        "languages and raw frames",
        &[hi(), note, raw, end(StopReason::Stop)],
        [&stop, &stop, &stop],
    );
    let usage = Usage::default()
        .input_tokens(3)
        .output_tokens(2)
        .total_tokens(5)
        .cache_creation_tokens(2)
        .cache_creation_1h_tokens(1)
        .cost(0.5);
    let with = |usage| Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: Some(usage),
    };
    let no_hour = with(usage.cache_creation_1h_tokens(0));
    let no_cost = with(usage.cost(None));
    check(
        "the cost, and a cache for an hour",
        &[with(usage)],
        [
            std::slice::from_ref(&no_hour),
            std::slice::from_ref(&no_cost),
            std::slice::from_ref(&no_hour),
        ],
    );
    let error = |retry_after_ms| {
        Delta::Error(
            ModelError::new(ModelErrorKind::RateLimit, "slow down")
                .with_code("rate_limit_error")
                .with_retry_after_ms(retry_after_ms),
        )
    };
    let failed = [error(None)];
    check("a wait", &[error(Some(7))], [&failed, &failed, &failed]);
}

/// A body that a client may send, and what this crate sends in its place.
#[test]
fn requests_in_other_forms() {
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object"}}}]);
    let cases = [
        (
            "developer, parts and detail",
            json!({"model": "m", "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": "https://h/x.png", "detail": "low"}}]},
                {"role": "assistant", "content": null},
            ]}),
            json!({"model": "m", "stream": false, "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "ab"}, {"type": "image_url", "image_url": {"url": "https://h/x.png"}}]},
            ]}),
        ),
        (
            "a call without a result",
            json!({"model": "m", "stream": true, "tools": tools, "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            ]}),
            json!({"model": "m", "stream": true, "tools": tools, "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b\n!!!GADGET_START:f:x\n!!!GADGET_END\n"},
            ]}),
        ),
        (
            "fields that are passed on",
            json!({"model": "m", "stream": true, "stop": "x", "messages": [{"role": "user", "content": "a"}], "logprobs": true, "tool_choice": {"type": "allowed_tools"}}),
            json!({"model": "m", "stream": true, "stop": ["x"], "messages": [{"role": "user", "content": "a"}], "logprobs": true, "tool_choice": {"type": "allowed_tools"}}),
        ),
    ];
    for (name, sent, expected) in cases {
        let read = chat::decode_request(sent).unwrap();
        let model = read.builder().build().unwrap();
        let again = body(&model.wire().request(&read.request).unwrap());
        assert_eq!(again, expected, "{name}");
    }
    let sent = json!({"model": "m", "max_tokens": 5, "stream": true, "system": "Be brief.", "messages": [
        {"role": "user", "content": "a"},
    ]});
    let read = anthropic::decode_request(sent).unwrap();
    let model = read.builder().build().unwrap();
    let again = body(&model.wire().request(&read.request).unwrap());
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let expected = json!({"model": "m", "max_tokens": 5, "stream": true, "system": text("Be brief."), "messages": [
        {"role": "user", "content": text("a")},
    ]});
    assert_eq!(again, expected);

    let sent = json!({"model": "m", "input": "a", "store": true, "reasoning": {"effort": "low", "future": 1}});
    let read = responses::decode_request(sent).unwrap();
    let model = read.builder().build().unwrap();
    let again = body(&model.wire().request(&read.request).unwrap());
    let expected = json!({"model": "m", "stream": false, "store": false, "reasoning": {"effort": "low", "future": 1}, "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
    ]});
    assert_eq!(again, expected);
}

#[test]
fn bodies_that_are_not_requests() {
    let no_model = "invalid request: `model` is missing, or not a string";
    let cases = [
        (json!([]), "invalid request: `body` is not a JSON object"),
        (json!({}), no_model),
        (json!({"model": 1}), no_model),
        (
            json!({"model": "m", "temperature": "hot"}),
            "invalid request: `temperature` is not a number",
        ),
        (
            json!({"model": "m", "tools": {}}),
            "invalid request: `tools` is not a list",
        ),
    ];
    for (body, expected) in cases {
        let errors: [Option<RequestError>; 3] = [
            chat::decode_request(body.clone()).err(),
            anthropic::decode_request(body.clone()).err(),
            responses::decode_request(body.clone()).err(),
        ];
        for error in errors {
            assert_eq!(error.unwrap().to_string(), expected, "{body}");
        }
    }
    let role = json!({"model": "m", "messages": [{"role": "king"}]});
    let error = chat::decode_request(role).err().unwrap();
    assert_eq!(
        error.to_string(),
        "invalid request: `messages` has a message of an unknown role"
    );
    assert_eq!(Api::Chat, APIS[0]);
}
