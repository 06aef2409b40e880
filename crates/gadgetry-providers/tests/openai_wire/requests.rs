//! What is sent for a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::message::{
    Content, Media, MediaData, MediaKind, Message, Request, Role, ToolChoice,
};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::model::ModelInfo;
use gadgetry_providers::openai::{MaxTokensField, OpenAiBuilder};
use gadgetry_providers::{OpenAi, Wire as _};
use serde_json::{Value, json};

fn model() -> OpenAiBuilder {
    OpenAi::builder("m")
}

fn body(builder: OpenAiBuilder, messages: Vec<Message>) -> Value {
    let messages = Arc::new(messages);
    let request = Request::default().messages(messages);
    let request = builder.build().unwrap().wire().request(&request).unwrap();
    serde_json::from_slice(request.body()).unwrap()
}

/// Holds the messages that are sent against `expected`.
#[track_caller]
fn sends(builder: OpenAiBuilder, messages: Vec<Message>, expected: Value) {
    assert_eq!(body(builder, messages)["messages"], expected);
}

fn system(text: &str) -> Message {
    Message::text(Role::System, text)
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn message(role: Role, content: Vec<Content>) -> Message {
    Message::new(role, content)
}

fn text(text: &str) -> Content {
    Content::Text { text: text.into() }
}

fn result(id: &str, text: &str, media: Vec<Media>) -> Content {
    let part = json!({"type": "gadget_result", "invocationId": id, "gadgetName": "f", "text": text, "isError": false});
    let mut part: Content = serde_json::from_value(part).unwrap();
    if let Content::GadgetResult { media: own, .. } = &mut part {
        *own = media;
    }
    part
}

fn tool_use(id: &str, name: &str, input: Value) -> Content {
    Content::ToolUse {
        tool_use_id: id.into(),
        name: name.into(),
        input,
    }
}

fn medium(kind: MediaKind, mime_type: &str, data: MediaData) -> Media {
    Media {
        kind,
        mime_type: mime_type.into(),
        data,
        name: Some("n".into()),
    }
}

fn image() -> Media {
    medium(
        MediaKind::Image,
        "image/png",
        MediaData::Base64("AAAA".into()),
    )
}

#[test]
fn messages() {
    sends(
        model(),
        vec![system("s"), user("u"), assistant("a"), user("v")],
        json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "v"},
        ]),
    );
    let raw = assistant("a").raw("as <b>written</b>".to_owned());
    sends(
        model(),
        vec![
            user("u"),
            raw,
            message(Role::User, vec![result("x", "r", vec![])]),
        ],
        json!([
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "as <b>written</b>"},
            {"role": "user", "content": "Result (x): r"},
        ]),
    );
}

#[test]
fn the_system_comes_first_and_once() {
    sends(
        model(),
        vec![system("s"), user("u"), system("t")],
        json!([
            {"role": "system", "content": "s\n\nt"},
            {"role": "user", "content": "u"},
        ]),
    );
}

#[test]
fn adjacent_messages_of_one_role_are_merged_by_default() {
    let messages = vec![user("u"), user("v"), assistant(""), user("w")];
    sends(
        model(),
        messages.clone(),
        json!([{"role": "user", "content": "u\n\nv\n\nw"}]),
    );
    sends(
        model().merge_adjacent(false),
        messages,
        json!([
            {"role": "user", "content": "u"},
            {"role": "user", "content": "v"},
            {"role": "user", "content": "w"},
        ]),
    );
}

/// Reasoning belongs to one reply: two with reasoning stay two, and text joins the one that has it.
#[test]
fn replies_with_reasoning_are_merged_with_care() {
    let kept = |words: &str| {
        let data = json!({"message": {"reasoning_content": words}, "calls": {}});
        let part =
            json!({"type": "provider_data", "api": "chat_completions", "model": "m", "data": data});
        let part: Content = serde_json::from_value(part).unwrap();
        message(Role::Assistant, vec![part, text(words)])
    };
    let says = |said: &str, reasoning: &str| json!({"role": "assistant", "content": said, "reasoning_content": reasoning});
    for (replies, expected) in [
        (
            vec![kept("a"), assistant("b")],
            json!([says("a\n\nb", "a")]),
        ),
        (
            vec![assistant("b"), kept("a")],
            json!([says("b\n\na", "a")]),
        ),
        (
            vec![kept("a"), kept("b")],
            json!([says("a", "a"), says("b", "b")]),
        ),
    ] {
        sends(native(), replies, expected);
    }
}

#[test]
fn trailing_messages_are_sent() {
    let request = Request::default()
        .messages(vec![user("u")])
        .trailing(vec![assistant("t")]);
    let request = model().build().unwrap().wire().request(&request).unwrap();
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(
        body["messages"][1],
        json!({"role": "assistant", "content": "t"})
    );
}

#[test]
fn media_are_sent_only_to_models_that_accept_them() {
    let sees = ModelInfo::default().reads_images(true);
    let hears = ModelInfo::default().reads_audio(true);
    let linked = medium(
        MediaKind::Image,
        "image/png",
        MediaData::Url("https://example.com/x".into()),
    );
    let sound = |mime: &str| medium(MediaKind::Audio, mime, MediaData::Base64("BBBB".into()));
    let file = medium(
        MediaKind::File,
        "text/csv",
        MediaData::Base64("CCCC".into()),
    );
    let png = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let says = |text: &str| json!({"type": "text", "text": text});
    let content = |media: Vec<Media>| {
        let media = media.into_iter().map(Content::Media);
        vec![message(
            Role::User,
            [text("look")]
                .into_iter()
                .chain(media)
                .chain([text("well?")])
                .collect(),
        )]
    };
    let sent = |content: Value| json!([{"role": "user", "content": content}]);
    sends(
        model(),
        content(vec![image()]),
        sent(json!("look\n\n[image: n (image/png)]\n\nwell?")),
    );
    sends(
        model().info(sees.clone()),
        content(vec![image()]),
        sent(json!([says("look"), png, says("well?")])),
    );
    sends(
        model().info(sees.clone()),
        content(vec![linked]),
        sent(json!([
            says("look"), {"type": "image_url", "image_url": {"url": "https://example.com/x"}}, says("well?"),
        ])),
    );
    sends(
        model().info(sees.clone()),
        content(vec![sound("audio/wav"), file]),
        sent(json!(
            "look\n\n[audio: n (audio/wav)]\n\n[file: n (text/csv)]\n\nwell?"
        )),
    );
    for (mime, format) in [
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/mpeg", "mp3"),
        ("audio/flac", "flac"),
    ] {
        sends(
            model().info(hears.clone()),
            content(vec![sound(mime)]),
            sent(json!([
                says("look"), {"type": "input_audio", "input_audio": {"data": "BBBB", "format": format}}, says("well?"),
            ])),
        );
    }
    let results = message(
        Role::User,
        vec![result("a", "r", vec![image()]), result("b", "s", vec![])],
    );
    sends(
        model().info(sees.clone()),
        vec![results],
        sent(json!([
            says("Result (a): r\n[image: n (image/png)]"),
            png,
            says("Result (b): s"),
        ])),
    );
}

#[test]
fn options() {
    let expected = json!({"model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true}});
    assert_eq!(body(model(), vec![]), expected);
    let all = model()
        .max_tokens(9)
        .temperature(0.5)
        .reasoning_effort("low")
        .stop(["x", "y"])
        .seed(-3)
        .option("top_p", 0.1)
        .option("provider", json!({"order": ["a"]}));
    assert_eq!(
        body(all, vec![]),
        json!({
            "model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true},
            "max_completion_tokens": 9, "temperature": 0.5, "reasoning_effort": "low", "stop": ["x", "y"], "seed": -3,
            "top_p": 0.1, "provider": {"order": ["a"]},
        })
    );
    let bare = model()
        .max_tokens(9)
        .max_tokens_field(MaxTokensField::MaxTokens)
        .streaming(false);
    assert_eq!(
        body(bare, vec![]),
        json!({"model": "m", "messages": [], "stream": false, "max_tokens": 9})
    );
    let own = model()
        .include_usage(false)
        .option("stream", Value::Null)
        .option("model", "other");
    assert_eq!(body(own, vec![]), json!({"model": "other", "messages": []}));
}

#[test]
fn base_urls() {
    for (base, expected) in [
        (
            "http://127.0.0.1:4719/v1",
            "http://127.0.0.1:4719/v1/chat/completions",
        ),
        (
            "http://127.0.0.1:4719/v1/",
            "http://127.0.0.1:4719/v1/chat/completions",
        ),
        (" https://host ", "https://host/chat/completions"),
        (
            "https://host/openai/deployments/x?api-version=1",
            "https://host/openai/deployments/x/chat/completions?api-version=1",
        ),
        (
            "https://host/v1/chat/completions",
            "https://host/v1/chat/completions",
        ),
        (
            "https://host/v1/chat/completions/",
            "https://host/v1/chat/completions",
        ),
        ("https://host/v1#x", "https://host/v1/chat/completions"),
        (
            "https://host/xchat/completions",
            "https://host/xchat/completions/chat/completions",
        ),
    ] {
        let model = model().base_url(base).build().unwrap();
        assert_eq!(
            model.wire().request(&Request::default()).unwrap().url(),
            expected
        );
    }
}

fn native() -> OpenAiBuilder {
    let spec = |name: &str| GadgetSpec {
        name: name.into(),
        description: "d".into(),
        ..GadgetSpec::default()
    };
    model().tools([spec("f"), spec("math.add"), spec("math add")])
}

#[test]
fn tools() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "description": "d", "parameters": {"type": "object"}}});
    let tools = json!([tool("f"), tool("math_add"), tool("math_add_2")]);
    assert_eq!(body(native(), vec![])["tools"], tools);
}

#[test]
fn tool_choices() {
    let check = |builder: OpenAiBuilder, tool_choice: ToolChoice, expected: Option<Value>| {
        let request = Request::default().tool_choice(tool_choice);
        let sent = builder.build().unwrap().wire().request(&request).unwrap();
        let sent: Value = serde_json::from_slice(sent.body()).unwrap();
        assert_eq!(sent.get("tool_choice"), expected.as_ref());
    };
    let named = || ToolChoice::Gadget("math add".into());
    let function = json!({"type": "function", "function": {"name": "math_add_2"}});
    check(native(), ToolChoice::Auto, None);
    check(native(), ToolChoice::None, Some(json!("none")));
    check(native(), ToolChoice::Required, Some(json!("required")));
    check(native(), named(), Some(function));
    // Without tools, nothing can be chosen.
    check(model(), ToolChoice::None, None);
    check(model(), ToolChoice::Required, None);
    check(model(), named(), None);
}

#[test]
fn calls_and_results_of_tools() {
    let called = message(
        Role::Assistant,
        vec![
            text("hm"),
            tool_use("a", "math.add", json!({"x": 1})),
            tool_use("b", "f", json!({})),
        ],
    );
    let results = message(
        Role::User,
        vec![
            result("a", "2", vec![]),
            result("b", "ok", vec![]),
            text("go on"),
        ],
    );
    sends(
        native(),
        vec![user("u"), called.clone(), results.clone()],
        json!([
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "hm", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "math_add", "arguments": "{\"x\":1}"}},
                {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "2"},
            {"role": "tool", "tool_call_id": "b", "content": "ok"},
            {"role": "user", "content": "go on"},
        ]),
    );
    // Without tools the same is text.
    sends(
        model(),
        vec![called, results],
        json!([
            {"role": "assistant", "content": "hm\n!!!GADGET_START:math.add:a\n!!!ARG:x\n1\n!!!GADGET_END\n!!!GADGET_START:f:b\n!!!GADGET_END\n"},
            {"role": "user", "content": "Result (a): 2\n\nResult (b): ok\n\ngo on"},
        ]),
    );
}

#[test]
fn every_call_is_answered_and_no_result_is_an_orphan() {
    let called = message(
        Role::Assistant,
        vec![
            tool_use("a", "f", json!({})),
            tool_use("b", "f", json!("cut")),
        ],
    );
    let results = message(
        Role::User,
        vec![result("a", "1", vec![]), result("z", "9", vec![])],
    );
    sends(
        native(),
        vec![called, results],
        json!([
            {"role": "assistant", "content": "!!!GADGET_START:f:b\n\"cut\"\n!!!GADGET_END", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "user", "content": "Result (z): 9"},
        ]),
    );
    // One id twice: the second call and its result stay text.
    let twice = message(
        Role::Assistant,
        vec![tool_use("a", "f", json!({})), tool_use("a", "f", json!({}))],
    );
    let results = message(
        Role::User,
        vec![result("a", "1", vec![]), result("a", "2", vec![])],
    );
    let sent = body(native(), vec![twice, results]);
    assert_eq!(
        sent["messages"][0]["tool_calls"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        sent["messages"][2],
        json!({"role": "user", "content": "Result (a): 2"})
    );
}

/// Servers parse the arguments in the history, and refuse the request if they are not an object.
#[test]
fn arguments_are_always_an_object() {
    for (input, sent) in [
        (json!({"x": 1}), r#"{"x":1}"#),
        (json!(r#"{"x":1}"#), r#"{"x":1}"#),
        (json!(r#"{"x":"#), r#"{"value":"{\"x\":"}"#),
        (json!("{'x': 1}"), r#"{"value":"{'x': 1}"}"#),
        (json!("null"), r#"{"value":"null"}"#),
        (json!(null), "{}"),
        (json!(7), r#"{"value":7}"#),
        (json!([1]), r#"{"value":[1]}"#),
    ] {
        let called = message(Role::Assistant, vec![tool_use("a", "f", input.clone())]);
        let results = message(Role::User, vec![result("a", "1", vec![])]);
        let body = body(native(), vec![called, results]);
        let call = &body["messages"][0]["tool_calls"][0]["function"];
        assert_eq!(call["arguments"], sent, "{input}");
    }
}

#[test]
fn images_of_results_follow_all_results() {
    let sees = ModelInfo::default().reads_images(true);
    let called = message(Role::Assistant, vec![tool_use("a", "f", json!({}))]);
    let results = message(Role::User, vec![result("a", "1", vec![image()])]);
    sends(
        native().info(sees.clone()),
        vec![called, results],
        json!([
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1\n[image: n (image/png)]"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        ]),
    );
}

#[test]
fn calls_are_written_with_the_markers_of_the_run() {
    let markers = Markers::new("<<CALL:", "<<END", "<<ARG:").unwrap();
    let form = model().text_form(markers, Anchoring::default(), BTreeMap::new());
    let called = message(Role::Assistant, vec![tool_use("a", "f", json!({"x": 1}))]);
    sends(
        form,
        vec![called],
        json!([{"role": "assistant", "content": "<<CALL:f:a\n<<ARG:x\n1\n<<END\n"}]),
    );
}
