//! What is sent for a request.

use gadgetry::{Model as _, ModelInfo, ToolChoice};
use gadgetry_proto::message::{Media, MediaData, MediaKind, Message, Request, Role};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::{OpenAiResponses, OpenAiResponsesBuilder, Wire as _};
use serde_json::{Value, json};

fn model() -> OpenAiResponsesBuilder {
    OpenAiResponses::builder("m")
}

fn native() -> OpenAiResponsesBuilder {
    let spec = GadgetSpec {
        name: "look.up".to_owned(),
        description: "Looks up".to_owned(),
        ..GadgetSpec::default()
    };
    model().tools([spec])
}

fn body(model: OpenAiResponsesBuilder, messages: Value, choice: ToolChoice) -> Value {
    let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
    let request = Request::default().messages(messages).tool_choice(choice);
    let sent = model.build().unwrap().wire().request(&request).unwrap();
    assert_eq!(sent.url(), "https://api.openai.com/v1/responses");
    serde_json::from_slice(sent.body()).unwrap()
}

fn said(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

#[test]
fn options() {
    let hi = || json!([message("user", "Hi!")]);
    let input = json!([said("user", "input_text", "Hi!")]);
    let plain = json!({"model": "m", "input": input, "stream": true, "store": false});
    let with = |more: Value| {
        let mut body = plain.clone();
        for (field, value) in more.as_object().unwrap() {
            body[field] = value.clone();
        }
        body
    };
    let tools = json!([{"type": "function", "name": "look_up", "description": "Looks up", "parameters": {"type": "object"}, "strict": false}]);
    let include = json!(["reasoning.encrypted_content"]);
    let of_tools = with(json!({"tools": tools, "include": include}));
    let choice = |value: Value| {
        let mut body = of_tools.clone();
        body["tool_choice"] = value;
        body
    };
    let cases = [
        (model(), ToolChoice::Auto, plain.clone()),
        (
            model().streaming(false),
            ToolChoice::Auto,
            with(json!({"stream": false})),
        ),
        (
            model().max_tokens(9),
            ToolChoice::Auto,
            with(json!({"max_output_tokens": 9})),
        ),
        (
            model().temperature(0.5),
            ToolChoice::Auto,
            with(json!({"temperature": 0.5})),
        ),
        (
            model().reasoning_effort("high"),
            ToolChoice::Auto,
            with(json!({"reasoning": {"effort": "high"}})),
        ),
        (
            model().reasoning_effort("low").reasoning_summary("auto"),
            ToolChoice::Auto,
            with(json!({"reasoning": {"effort": "low", "summary": "auto"}})),
        ),
        (
            model().option("store", Value::Null).option("top_p", 0.5),
            ToolChoice::Auto,
            {
                let mut body = with(json!({"top_p": 0.5}));
                body.as_object_mut().unwrap().remove("store");
                body
            },
        ),
        // Without tools nothing can be chosen.
        (model(), ToolChoice::Required, plain.clone()),
        (native(), ToolChoice::Auto, of_tools.clone()),
        (native(), ToolChoice::None, choice(json!("none"))),
        (native(), ToolChoice::Required, choice(json!("required"))),
        (
            native(),
            ToolChoice::Gadget("look.up".to_owned()),
            choice(json!({"type": "function", "name": "look_up"})),
        ),
    ];
    for (at, (model, tool_choice, expected)) in cases.into_iter().enumerate() {
        assert_eq!(body(model, hi(), tool_choice), expected, "{at}");
    }
}

#[test]
fn conversations() {
    let call = |id: &str| json!({"type": "tool_use", "toolUseId": id, "name": "look.up", "input": {"x": 1}});
    let result = |id: &str| json!({"type": "gadget_result", "invocationId": id, "gadgetName": "look.up", "text": "r", "isError": false});
    let messages = json!([
        message("system", "Be brief."),
        message("system", "Be kind."),
        message("user", "Hi!"),
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call("a"), call("b")]},
        {"role": "user", "content": [result("a"), {"type": "text", "text": "And?"}]},
        message("system", "Hurry."),
        message("assistant", "Done."),
    ]);
    let sent = body(native(), messages.clone(), ToolChoice::Auto);
    assert_eq!(sent["instructions"], "Be brief.\n\nBe kind.");
    let expected = json!([
        said("user", "input_text", "Hi!"),
        // The call without a result is text, because the API refuses it otherwise.
        said("assistant", "output_text", "I look."),
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": "{\"x\":1}"},
        said("assistant", "output_text", "!!!GADGET_START:look.up:b\n!!!ARG:x\n1\n!!!GADGET_END\n"),
        {"type": "function_call_output", "call_id": "a", "output": "r"},
        said("user", "input_text", "And?"),
        said("developer", "input_text", "Hurry."),
        said("assistant", "output_text", "Done."),
    ]);
    assert_eq!(sent["input"], expected, "{:#}", sent["input"]);
    // Without tools of the provider everything is text.
    let sent = body(model(), messages, ToolChoice::Auto);
    let kinds = sent["input"].as_array().unwrap().iter();
    assert!(
        kinds.clone().all(|item| item["type"] == "message"),
        "{sent}"
    );
    assert!(
        sent["input"][1]
            .to_string()
            .contains("!!!GADGET_START:look.up:a"),
        "{sent}"
    );
}

#[test]
fn media() {
    let media = |kind, mime: &str, data| Media {
        kind,
        mime_type: mime.to_owned(),
        data,
        name: Some("it".to_owned()),
    };
    let bytes = || MediaData::Base64("AAAA".to_owned());
    let image = media(MediaKind::Image, "image/png", bytes());
    let linked = media(
        MediaKind::Image,
        "image/png",
        MediaData::Url("https://h/x".to_owned()),
    );
    let pdf = media(MediaKind::File, "application/pdf", bytes());
    let sound = media(MediaKind::Audio, "audio/wav", bytes());
    let seen = ModelInfo::default().reads_images(true);
    let cases = [
        (
            &image,
            json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
        ),
        (
            &linked,
            json!({"type": "input_image", "image_url": "https://h/x"}),
        ),
        (
            &pdf,
            json!({"type": "input_file", "filename": "it", "file_data": "data:application/pdf;base64,AAAA"}),
        ),
        (
            &sound,
            json!({"type": "input_text", "text": "[audio: it (audio/wav)]"}),
        ),
    ];
    for (medium, expected) in cases {
        let content = serde_json::to_value(medium).unwrap();
        let mut part = json!({"type": "media"});
        part.as_object_mut()
            .unwrap()
            .extend(content.as_object().unwrap().clone());
        let messages = json!([{"role": "user", "content": [part]}]);
        let sent = body(
            model().info(seen.clone()),
            messages.clone(),
            ToolChoice::Auto,
        );
        assert_eq!(sent["input"][0]["content"], json!([expected]));
        // A model that is not known to see has a caption.
        let sent = body(model(), messages, ToolChoice::Auto);
        assert_eq!(sent["input"][0]["content"][0]["text"], medium.caption());
    }
    let result = json!({"type": "gadget_result", "invocationId": "a", "gadgetName": "look.up", "text": "r", "isError": false, "media": [image]});
    let messages = json!([
        message("user", "Hi!"),
        {"role": "assistant", "content": [{"type": "tool_use", "toolUseId": "a", "name": "look.up", "input": {}}]},
        {"role": "user", "content": [result]},
    ]);
    let sent = body(native().info(seen), messages.clone(), ToolChoice::Auto);
    let expected = json!([{"type": "input_text", "text": "r"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]);
    assert_eq!(sent["input"][2]["output"], expected);
    let sent = body(native(), messages, ToolChoice::Auto);
    assert_eq!(sent["input"][2]["output"], "r\n[image: it (image/png)]");
    assert_eq!(Role::User, Message::text(Role::User, "").role);
}

#[test]
fn what_cannot_be_built() {
    let error = model().stop(["x"]).build().err().unwrap().to_string();
    assert_eq!(error, "the Responses API has no stop sequences");
    let own = model().base_url("http://127.0.0.1:1/v1").build().unwrap();
    assert_eq!((own.name(), own.info()), ("m", ModelInfo::default()));
    let keyed = model()
        .api_key("k-0123456789")
        .key_header("api-key")
        .build()
        .unwrap();
    let sent = keyed.wire().request(&Request::default()).unwrap();
    assert_eq!(
        (
            sent.header_value("authorization"),
            sent.header_value("api-key")
        ),
        (None, None)
    );
    assert!(!format!("{keyed:?} {sent:?}").contains("k-0123456789"));
}
