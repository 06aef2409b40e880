//! Requests: `encode(decode(body)) == body`, and `decode(encode(conversation)) == conversation`.

use gadgetry::ToolChoice;
use gadgetry::{Model as _, ModelInfo};
use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::anthropic::{self, PromptCache, Thinking};
use gadgetry_providers::openai::{MaxTokensField, OpenAiResponses, chat, responses};
use gadgetry_providers::{Anthropic, HttpRequest, ModelOptions, OpenAi, Wire};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A text that every API takes as it is: not blank, and without blanks at its end.
pub(crate) fn text() -> impl Strategy<Value = String> {
    "[a-z \n{}\"\\\\<>!é漢🦀]{0,10}[a-z.]"
}

fn image() -> impl Strategy<Value = Media> {
    let data = prop_oneof![
        "[A-Za-z0-9]{4,8}".prop_map(MediaData::Base64),
        "[a-z]{1,6}".prop_map(|path| MediaData::Url(format!("https://h.example/{path}.png"))),
    ];
    data.prop_map(|data| Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data,
        name: None,
    })
}

/// A question: a text, an image, or one after the other.
fn question() -> impl Strategy<Value = Message> {
    let parts = prop_oneof![
        text().prop_map(|text| vec![Content::Text { text }]),
        image().prop_map(|image| vec![Content::Media(image)]),
        (text(), image())
            .prop_map(|(text, image)| vec![Content::Text { text }, Content::Media(image)]),
        (image(), text())
            .prop_map(|(image, text)| vec![Content::Media(image), Content::Text { text }]),
    ];
    parts.prop_map(|content| Message::new(Role::User, content))
}

/// A reply with or without text, its calls, and their results, some of them errors.
fn round() -> impl Strategy<Value = (Option<String>, Vec<(Value, String, bool)>)> {
    let input = proptest::collection::btree_map("[a-z]{1,3}", text(), 0..3);
    let input = input.prop_map(|fields| json!(fields));
    let call = (input, text(), any::<bool>());
    (
        proptest::option::of(text()),
        proptest::collection::vec(call, 1..3),
    )
}

/// A conversation with tools: questions, rounds of calls, answers. It ends with the user's turn.
fn conversation(errors: bool) -> impl Strategy<Value = Vec<Message>> {
    let turn = (question(), proptest::collection::vec(round(), 0..3), text());
    let turns = proptest::collection::vec(turn, 0..3);
    let last = (question(), proptest::collection::vec(round(), 0..2));
    (proptest::option::of(text()), turns, last).prop_map(move |(system, turns, last)| {
        let mut messages = Vec::new();
        messages.extend(system.map(|text| Message::text(Role::System, text)));
        let mut calls = 0;
        let mut rounds = |rounds: Vec<(Option<String>, Vec<_>)>, out: &mut Vec<Message>| {
            for (said, made) in rounds {
                let (mut reply, mut results) = (Vec::new(), Vec::new());
                reply.extend(said.map(|text| Content::Text { text }));
                for (input, result, is_error) in made {
                    calls += 1;
                    let id = format!("call-{calls}");
                    results.push(Content::GadgetResult {
                        invocation_id: id.as_str().into(),
                        gadget_name: "f".to_owned(),
                        text: result,
                        is_error: errors && is_error,
                        sticky: false,
                        media: Vec::new(),
                    });
                    reply.push(Content::ToolUse {
                        tool_use_id: id,
                        name: "f".to_owned(),
                        input,
                    });
                }
                for (role, content) in [(Role::Assistant, reply), (Role::User, results)] {
                    out.push(Message::new(role, content));
                }
            }
        };
        for (question, made, answer) in turns {
            messages.push(question);
            rounds(made, &mut messages);
            messages.push(Message::text(Role::Assistant, answer));
        }
        messages.push(last.0);
        rounds(last.1, &mut messages);
        messages
    })
}

fn tool_choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        Just(ToolChoice::Gadget("f".to_owned())),
    ]
}

fn request(errors: bool) -> impl Strategy<Value = Request> {
    (conversation(errors), tool_choice()).prop_map(|(messages, tool_choice)| {
        Request::default()
            .messages(messages)
            .tool_choice(tool_choice)
    })
}

/// Options of every API, without those that `stops` and `efforts` exclude.
fn options(stops: bool, efforts: bool) -> impl Strategy<Value = ModelOptions> {
    let stop = proptest::collection::vec(text(), 0..3);
    let effort = proptest::option::of("[a-z]{3,6}");
    let numbers = (
        proptest::option::of(1_u64..100_000),
        proptest::option::of((0_u32..200).prop_map(|hundredth| f64::from(hundredth) / 100.0)),
    );
    let top_p = proptest::option::of(Just(0.5));
    (numbers, effort, stop, any::<bool>(), top_p).prop_map(
        move |((max_tokens, temperature), effort, stop, streaming, top_p)| ModelOptions {
            max_tokens,
            temperature,
            reasoning_effort: effort.filter(|_| efforts),
            stop: if stops { stop } else { Vec::new() },
            streaming,
            tools: vec![GadgetSpec {
                name: "f".to_owned(),
                description: "Does it".to_owned(),
                parameters: json!({"type": "object", "properties": {"x": {"type": "string"}}}),
                ..GadgetSpec::default()
            }],
            info: Some(ModelInfo::default().reads_images(true).reads_audio(true)),
            fields: top_p
                .into_iter()
                .map(|top_p: f64| ("top_p".to_owned(), json!(top_p)))
                .collect(),
            ..ModelOptions::default()
        },
    )
}

pub(crate) fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(request.body()).unwrap()
}

/// What a request of a client is read as, apart from what only this side knows.
fn read(options: &ModelOptions) -> ModelOptions {
    ModelOptions {
        info: None,
        ..options.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chat_completions(options in options(true, true), request in request(false), old in any::<bool>(), usage in any::<bool>()) {
        let field = if old { MaxTokensField::MaxTokens } else { MaxTokensField::MaxCompletionTokens };
        let model = OpenAi::builder("m").options(options.clone());
        let model = model.max_tokens_field(field).include_usage(usage).merge_adjacent(false).build().unwrap();
        let sent = body(&model.wire().request(&request).unwrap());
        let read_again = chat::decode_request(sent.clone()).unwrap();
        prop_assert_eq!(&read_again.request, &request);
        prop_assert_eq!(&read_again.options, &read(&options));
        let again = read_again.builder().build().unwrap();
        prop_assert_eq!(body(&again.wire().request(&read_again.request).unwrap()), sent);
        prop_assert_eq!(again.name(), "m");
    }

    #[test]
    fn messages(
        mut options in options(true, false),
        mut request in request(true),
        cache in prop_oneof![Just(PromptCache::Off), Just(PromptCache::Minutes), Just(PromptCache::Hour)],
        effort in proptest::option::of(proptest::option::of("[a-z]{3,6}")),
    ) {
        options.max_tokens.get_or_insert(1000);
        let mut model = Anthropic::builder("m").prompt_cache(cache);
        if let Some(effort) = effort {
            // A model that thinks has no temperature, and cannot be forced to call.
            options.temperature = None;
            request.tool_choice = ToolChoice::Auto;
            model = model.thinking(Thinking::Adaptive { effort });
        }
        let model = model.options(options.clone()).build().unwrap();
        let sent = body(&model.wire().request(&request).unwrap());
        let read_again = anthropic::decode_request(sent.clone()).unwrap();
        prop_assert_eq!(&read_again.request, &request);
        prop_assert_eq!(&read_again.options, &read(&options));
        let again = read_again.builder().build().unwrap();
        prop_assert_eq!(body(&again.wire().request(&read_again.request).unwrap()), sent);
    }

    #[test]
    fn responses_api(options in options(false, true), request in request(false), summary in any::<bool>()) {
        let mut model = OpenAiResponses::builder("m").options(options.clone());
        if summary {
            model = model.reasoning_summary("auto");
        }
        let model = model.build().unwrap();
        let sent = body(&model.wire().request(&request).unwrap());
        let read_again = responses::decode_request(sent.clone()).unwrap();
        prop_assert_eq!(&read_again.request, &request);
        prop_assert_eq!(&read_again.options, &read(&options));
        let again = read_again.builder().build().unwrap();
        prop_assert_eq!(body(&again.wire().request(&read_again.request).unwrap()), sent);
    }
}
