//! What is sent for a request.

use std::sync::Arc;

use gadgetry::{Media, MediaData, MediaKind, ModelInfo};
use gadgetry_proto::call::{Call, Parameters, TerminatedBy};
use gadgetry_proto::error::Span;
use gadgetry_proto::message::{Content, Message, Request, Role, ToolChoice};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::anthropic::{AnthropicBuilder, PromptCache, Thinking};
use gadgetry_providers::{Anthropic, HttpRequest, Wire as _};
use serde_json::{self, Value, json};

fn model() -> AnthropicBuilder {
    Anthropic::builder("claude-haiku-4-5").prompt_cache(PromptCache::Off)
}

fn request(messages: Vec<Message>) -> Request {
    Request::default().messages(messages)
}

fn send(builder: AnthropicBuilder, request: &Request) -> HttpRequest {
    builder.build().unwrap().wire().request(request).unwrap()
}

fn body(builder: AnthropicBuilder, request: &Request) -> Value {
    serde_json::from_slice(send(builder, request).body()).unwrap()
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn system(text: &str) -> Message {
    Message::text(Role::System, text)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn the_smallest_request() {
    let sent = body(model(), &request(vec![user("Hi")]));
    let expected = json!({
        "model": "claude-haiku-4-5",
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "stream": true,
    });
    assert_eq!(sent, expected);
}

#[test]
fn where_it_goes_and_who_asks() {
    let bases = [
        "http://h",
        "http://h/",
        "http://h/v1",
        "http://h/v1/",
        "http://h/v1/messages",
    ];
    for base in bases {
        let sent = send(
            model()
                .base_url(base)
                .beta("one")
                .beta("two")
                .api_key("sk-ant-0123456789"),
            &request(vec![]),
        );
        assert_eq!(sent.url(), "http://h/v1/messages", "{base}");
        assert_eq!(sent.header_value("anthropic-version"), Some("2023-06-01"));
        assert_eq!(sent.header_value("anthropic-beta"), Some("one,two"));
        // It is there, but nobody sees it.
        assert_eq!(sent.header_value("x-api-key"), None);
        let shown = format!("{sent:?} {:?}", model().api_key("sk-ant-0123456789"));
        assert!(
            shown.contains("x-api-key") && !shown.contains("0123456789"),
            "{shown}"
        );
    }
    let sent = send(model(), &request(vec![]));
    assert_eq!(sent.url(), "https://api.anthropic.com/v1/messages");
    assert_eq!(sent.header_value("anthropic-beta"), None);
    assert!(!format!("{sent:?}").contains("x-api-key"));
    for (token, is_sent) in [("t", true), ("", false)] {
        let sent = send(model().auth_token(token), &request(vec![]));
        assert_eq!(format!("{sent:?}").contains("authorization"), is_sent);
    }
}

/// The messages of a request, as role and texts.
fn check_turns(why: &str, messages: Vec<Message>, expected: &Value) {
    let sent = body(model(), &request(messages));
    let turns = sent["messages"].as_array().unwrap().iter().map(|turn| {
        let texts = turn["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["text"].clone());
        json!([turn["role"], texts.collect::<Value>()])
    });
    assert_eq!(&turns.collect::<Value>(), expected, "{why}");
}

#[test]
fn speakers_take_turns() {
    check_turns(
        "adjacent messages are one",
        vec![
            user("a"),
            user("b"),
            assistant("c"),
            assistant("d"),
            user("e"),
        ],
        &json!([
            ["user", ["a", "b"]],
            ["assistant", ["c", "d"]],
            ["user", ["e"]]
        ]),
    );
    check_turns(
        "the user begins",
        vec![assistant("a"), user("b")],
        &json!([
            ["user", ["(The conversation begins here.)"]],
            ["assistant", ["a"]],
            ["user", ["b"]]
        ]),
    );
    check_turns(
        "the user ends",
        vec![user("a"), assistant("b \n")],
        &json!([
            ["user", ["a"]],
            ["assistant", ["b"]],
            ["user", ["Continue."]]
        ]),
    );
    check_turns(
        "what is blank is left out",
        vec![user("a"), assistant(" \n"), user("b"), user("")],
        &json!([["user", ["a", "b"]]]),
    );
    check_turns(
        "a system message behind the first turn keeps its place",
        vec![system("s"), user("a"), system("t")],
        &json!([["user", ["a", "t"]]]),
    );
    let raw = assistant("as").raw("as <x>written</x>".to_owned());
    check_turns(
        "a reply is sent as it was written",
        vec![user("a"), raw, user("b")],
        &json!([
            ["user", ["a"]],
            ["assistant", ["as <x>written</x>"]],
            ["user", ["b"]]
        ]),
    );
}

#[test]
fn system_messages_are_blocks() {
    let sent = body(model(), &request(vec![system("a"), system("b"), user("c")]));
    assert_eq!(sent["system"], json!([text("a"), text("b")]));
    assert_eq!(body(model(), &request(vec![user("c")])).get("system"), None);
}

#[test]
fn the_cache_mark_follows_the_stable_prefix() {
    let request = request(vec![
        system("a"),
        system("b"),
        user("c"),
        assistant("d"),
        user("e"),
    ])
    .trailing(vec![user("hint")]);
    let marked = |cache: PromptCache| body(model().prompt_cache(cache), &request);
    let mark = json!({"type": "ephemeral"});
    let sent = marked(PromptCache::Minutes);
    assert_eq!(sent["system"][0].get("cache_control"), None);
    assert_eq!(sent["system"][1]["cache_control"], mark);
    assert_eq!(sent["messages"][0]["content"][0].get("cache_control"), None);
    // The hint is in the same turn, but the next request does not have it.
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][2]["content"][1], text("hint"));
    let sent = marked(PromptCache::Hour);
    assert_eq!(
        sent["system"][1]["cache_control"],
        json!({"type": "ephemeral", "ttl": "1h"})
    );
    assert!(
        !marked(PromptCache::Off)
            .to_string()
            .contains("cache_control")
    );
    let by_default = Anthropic::builder("m");
    assert!(
        body(by_default, &request)
            .to_string()
            .contains("cache_control")
    );
}

#[test]
fn thinking() {
    let ask = request(vec![user("Hi")]);
    let of = |model: &str, effort: &str| {
        let sent = body(
            Anthropic::builder(model)
                .temperature(1.0)
                .reasoning_effort(effort),
            &ask,
        );
        json!([
            sent["thinking"],
            sent["output_config"],
            sent["temperature"],
            sent["max_tokens"]
        ])
    };
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    assert_eq!(
        of("claude-haiku-4-5", "none"),
        json!([null, null, 1.0, 32_000])
    );
    assert_eq!(
        of("claude-haiku-4-5", "high"),
        json!([budget(16_384), null, null, 32_000])
    );
    assert_eq!(
        of("claude-haiku-4-5", "max"),
        json!([budget(32_768), null, null, 36_864])
    );
    assert_eq!(
        of("kimi-k2", "low"),
        json!([budget(2_048), null, null, 6_144])
    );
    let adaptive = json!({"type": "adaptive"});
    assert_eq!(
        of("claude-sonnet-4-6", "high"),
        json!([adaptive, {"effort": "high"}, null, 32_000])
    );
    assert_eq!(
        of("claude-opus-5", "minimal"),
        json!([adaptive, {"effort": "low"}, null, 32_000])
    );

    let sent = body(
        model().thinking(Thinking::Budget(1_024)).max_tokens(1_025),
        &ask,
    );
    assert_eq!(sent["max_tokens"], 1_025);
}

#[test]
fn mistakes_are_found_when_it_is_built() {
    let check = |builder: AnthropicBuilder, expected: &str| {
        let error = builder.build().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(Anthropic::builder(""), "no name");
    check(model().max_tokens(0), "at least 1");
    check(
        model().thinking(Thinking::Budget(1_000)),
        "at least 1024 tokens, got 1000",
    );
    check(
        model().thinking(Thinking::Budget(2_000)).max_tokens(2_000),
        "must be less than its `max_tokens`, which is 2000",
    );
    check(
        model().reasoning_effort("hard"),
        "invalid reasoning effort \"hard\"",
    );
    check(model().base_url("nowhere"), "base URL");
    check(model().api_key("a\nb"), "x-api-key");
    let cold = model().reasoning_effort("low").temperature(0.5);
    check(cold, "leave out the temperature, or the reasoning");
}

#[test]
fn options() {
    let builder = model().temperature(0.5).stop(["END"]).streaming(false);
    let builder = builder
        .option("top_k", 5)
        .option("stream", Value::Null)
        .option("model", "other");
    let sent = body(builder, &request(vec![user("Hi")]));
    assert_eq!(sent["temperature"], 0.5);
    assert_eq!(sent["stop_sequences"], json!(["END"]));
    assert_eq!(sent["top_k"], 5);
    assert_eq!(sent["model"], "other");
    assert_eq!(sent.get("stream"), None);
}

fn medium(kind: MediaKind, mime_type: &str, data: MediaData) -> Media {
    Media {
        kind,
        mime_type: mime_type.to_owned(),
        data,
        name: Some("n".to_owned()),
    }
}

fn bytes() -> MediaData {
    MediaData::Base64("AAAA".to_owned())
}

#[test]
fn pictures_are_seen_and_sounds_are_named() {
    let check = |medium: Media, expected: Value| {
        let message = Message::new(
            Role::User,
            vec![
                Content::Text {
                    text: "a".to_owned(),
                },
                Content::Media(medium),
            ],
        );
        let sent = body(model(), &request(vec![message]));
        assert_eq!(sent["messages"][0]["content"], expected);
    };
    let base64 = |mime: &str| json!({"type": "base64", "media_type": mime, "data": "AAAA"});
    check(
        medium(MediaKind::Image, "image/png", bytes()),
        json!([text("a"), {"type": "image", "source": base64("image/png")}]),
    );
    check(
        medium(
            MediaKind::Image,
            "image/webp",
            MediaData::Url("https://h/i".to_owned()),
        ),
        json!([text("a"), {"type": "image", "source": {"type": "url", "url": "https://h/i"}}]),
    );
    check(
        medium(MediaKind::File, "application/pdf", bytes()),
        json!([text("a"), {"type": "document", "source": base64("application/pdf")}]),
    );
    check(
        medium(MediaKind::Image, "image/tiff", bytes()),
        json!([text("a\n\n[image: n (image/tiff)]")]),
    );
    check(
        medium(MediaKind::Audio, "audio/wav", bytes()),
        json!([text("a\n\n[audio: n (audio/wav)]")]),
    );
}

/// All models that Anthropic serves do, also those that are newer than our list of models.
#[test]
fn a_model_that_is_not_listed_sees() {
    let picture = medium(MediaKind::Image, "image/png", bytes());
    let message = said(Role::User, vec![Content::Media(picture)]);
    let sent = body(Anthropic::builder("m"), &request(vec![message]));
    assert_eq!(sent["messages"][0]["content"][0]["type"], "image");
}

#[test]
fn a_model_that_sees_nothing_reads_captions() {
    let message = Message::new(
        Role::User,
        vec![Content::Media(medium(
            MediaKind::Image,
            "image/png",
            bytes(),
        ))],
    );
    let sent = body(model().info(ModelInfo::default()), &request(vec![message]));
    assert_eq!(
        sent["messages"][0]["content"],
        json!([text("[image: n (image/png)]")])
    );
}

fn call(id: &str, parameters: Parameters) -> Content {
    Content::GadgetCall(Arc::new(Call {
        gadget_name: "math.add".to_owned(),
        invocation_id: id.into(),
        dependencies: Vec::new(),
        parameters_raw: "!!!ARG:x\n1\n".to_owned(),
        parameters,
        digits: gadgetry_proto::call::Digits::default(),
        terminated_by: TerminatedBy::EndMarker,
        span: Span::default(),
    }))
}

fn result(id: &str, text: &str, is_error: bool, media: Vec<Media>) -> Content {
    Content::GadgetResult {
        invocation_id: id.into(),
        gadget_name: "math.add".to_owned(),
        text: text.to_owned(),
        is_error,
        sticky: false,
        media,
    }
}

fn said(role: Role, content: Vec<Content>) -> Message {
    Message::new(role, content)
}

/// Two replies with calls: of the first one call is malformed and one is not answered.
fn conversation() -> Vec<Message> {
    let good = || Parameters::Parsed(json!({"x": 1}));
    vec![
        user("add"),
        said(
            Role::Assistant,
            vec![
                Content::Text {
                    text: "Now.".to_owned(),
                },
                call("a/1", good()),
                call("b", Parameters::Malformed("no".to_owned())),
                call("c", good()),
                Content::ToolUse {
                    tool_use_id: "t".to_owned(),
                    name: "math.add".to_owned(),
                    input: json!("{broken"),
                },
            ],
        ),
        said(
            Role::User,
            vec![
                Content::Text {
                    text: "Go on.".to_owned(),
                },
                result(
                    "a/1",
                    "2",
                    false,
                    vec![medium(MediaKind::Image, "image/png", bytes())],
                ),
                result("b", "no", true, vec![]),
                result("t", "bad input", true, vec![]),
            ],
        ),
        said(Role::Assistant, vec![call("a/1", good())]),
        said(Role::User, vec![result("a/1", "", false, vec![])]),
    ]
}

#[test]
fn calls_are_text_unless_tools_are_asked_for() {
    let sent = body(model(), &request(conversation()));
    let text = sent["messages"].to_string();
    assert!(
        !text.contains("tool_use\"") && !text.contains("tool_result"),
        "{text}"
    );
    assert!(text.contains("!!!GADGET_START:math.add:a/1"), "{text}");
    assert!(text.contains("\"image\""), "{text}");
}

#[test]
fn tool_choices() {
    let spec = |name: &str| GadgetSpec {
        name: name.to_owned(),
        ..GadgetSpec::default()
    };
    let native = || model().tools([spec("math.add"), spec("math add")]);
    let choosing = |tool_choice: ToolChoice| request(vec![user("Hi")]).tool_choice(tool_choice);
    let check = |builder: AnthropicBuilder, choice: ToolChoice, expected: Option<Value>| {
        let sent = body(builder, &choosing(choice));
        assert_eq!(sent.get("tool_choice"), expected.as_ref());
    };
    let named = || ToolChoice::Gadget("math add".to_owned());
    let tool = json!({"type": "tool", "name": "math_add_2"});
    check(native(), ToolChoice::Auto, None);
    check(native(), ToolChoice::None, Some(json!({"type": "none"})));
    check(native(), ToolChoice::Required, Some(json!({"type": "any"})));
    check(native(), named(), Some(tool));
    // Without tools, nothing can be chosen.
    check(model(), ToolChoice::None, None);
    check(model(), ToolChoice::Required, None);
    check(model(), named(), None);

    // A model that thinks takes no forced choice.
    let thinking = |builder: AnthropicBuilder| builder.reasoning_effort("low");
    check(
        thinking(native()),
        ToolChoice::None,
        Some(json!({"type": "none"})),
    );
    check(thinking(model()), ToolChoice::Required, None);
    for choice in [ToolChoice::Required, named()] {
        let model = thinking(native()).build().unwrap();
        let error = model.wire().request(&choosing(choice)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("cannot be forced to call a tool"),
            "{error}"
        );
    }
}

#[test]
fn calls_and_results_of_tools() {
    let spec = GadgetSpec {
        name: "math.add".to_owned(),
        description: "Adds.".to_owned(),
        parameters: json!({"properties": {"x": {"type": "number"}}}),
        ..GadgetSpec::default()
    };
    let builder = || model().tools([spec.clone()]);
    let sent = body(builder(), &request(conversation()));
    let tool = json!({
        "name": "math_add",
        "description": "Adds.",
        "input_schema": {"properties": {"x": {"type": "number"}}, "type": "object"},
    });
    assert_eq!(sent["tools"], json!([tool]));
    let turns = sent["messages"].as_array().unwrap();
    let parts = turns[1]["content"].as_array().unwrap();
    // What no result answers stays text.
    let words = parts[0]["text"].as_str().unwrap();
    assert!(
        words.starts_with("Now.") && words.contains(":b\n") && words.contains(":c\n"),
        "{words}"
    );
    let used = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "math_add", "input": input});
    assert_eq!(
        parts[1..],
        [
            used("a_1", json!({"x": 1})),
            used("t", json!({"value": "{broken"}))
        ]
    );
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let parts = turns[2]["content"].as_array().unwrap();
    assert_eq!(
        parts[..2],
        [
            json!({"type": "tool_result", "tool_use_id": "a_1", "content": [text("2"), picture]}),
            json!({"type": "tool_result", "tool_use_id": "t", "content": [text("bad input")], "is_error": true}),
        ]
    );
    assert!(
        parts[2]["text"].as_str().unwrap().contains("Go on."),
        "{parts:?}"
    );
    // An id that a later reply uses again is another one for the API.
    assert_eq!(turns[3]["content"], json!([used("a_1_2", json!({"x": 1}))]));
    assert_eq!(
        turns[4]["content"],
        json!([{"type": "tool_result", "tool_use_id": "a_1_2", "content": []}])
    );

    // On a budget, calls without the thoughts before them end the thinking.
    let thinks = |messages| {
        body(builder().reasoning_effort("low"), &request(messages))
            .get("thinking")
            .is_some()
    };
    assert!(thinks(vec![user("add")]));
    assert!(!thinks(conversation()));
}
