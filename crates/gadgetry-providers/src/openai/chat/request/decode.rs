//! From the body of Chat Completions to a request.

use gadgetry_proto::message::{
    Content, Media, MediaData, MediaKind, ProviderData, Role, ToolChoice,
};
use serde_json::{Value, json};

use crate::decoded_request::{
    self, Body, DecodedRequest, Messages, RequestError, arguments, media_at, output, part_text,
    text, tool,
};
use crate::openai::chat::reply::kept;
use crate::openai::chat::{API, ChatOptions, MaxTokensField, ReasoningField};
use crate::options::ModelOptions;

/// Reads the body of a request.
///
/// Encoding what was read gives the body again, if the body is in the form that this crate sends. Otherwise it differs in
/// this:
///
/// - system and developer messages come first, as one system message,
/// - adjacent texts of a message are one text, and a message of one text is a string,
/// - messages without content, `detail` of images, `strict` of tools, and tools that are not functions are left out,
/// - calls without results are text,
/// - `stream` is always present.
///
/// # Errors
///
/// If the model or the messages are missing, or a field has the wrong type.
pub fn decode_request(body: Value) -> Result<DecodedRequest<ChatOptions>, RequestError> {
    let mut body = Body::new(body)?;
    let model = body.model()?;
    let mut own = ChatOptions {
        // The client's messages are passed on as they are.
        merges: false,
        ..ChatOptions::default()
    };
    let mut options = ModelOptions::default();
    let tools = body.list("tools")?;
    let tools = tools
        .iter()
        .filter_map(|it| tool(&it["function"], "parameters"));
    options.tools = tools.collect();
    let choice = body.take_if("tool_choice", tool_choice);
    options.streaming = body.flag("stream");
    let usage = json!({"include_usage": true});
    own.include_usage = body
        .take_if("stream_options", |it| (*it == usage).then_some(()))
        .is_some();
    if let Some(tokens) = body.count("max_tokens")? {
        own.max_tokens_field = MaxTokensField::MaxTokens;
        options.max_tokens = Some(tokens);
    }
    options.max_tokens = match body.count("max_completion_tokens")? {
        Some(tokens) => {
            own.max_tokens_field = MaxTokensField::MaxCompletionTokens;
            Some(tokens)
        }
        None => options.max_tokens,
    };
    options.temperature = body.number("temperature")?;
    let word = |value: &Value| value.as_str().map(str::to_owned);
    options.reasoning_effort = body.take_if("reasoning_effort", word);
    if options.reasoning_effort.is_none() {
        let nested = |value: &Value| {
            let fields = value.as_object().filter(|fields| fields.len() == 1)?;
            word(fields.get("effort")?)
        };
        options.reasoning_effort = body.take_if("reasoning", nested);
        own.reasoning_field = ReasoningField::Nested;
    }
    options.stop = body.texts("stop")?;
    own.seed = body.take_if("seed", Value::as_i64);
    let mut messages = Messages::default();
    for message in body.list("messages")? {
        read(&message, &model, &mut messages)?;
    }
    Ok(DecodedRequest::new(
        model, options, own, body, choice, messages,
    ))
}

fn tool_choice(choice: &Value) -> Option<ToolChoice> {
    match choice.as_str() {
        Some("none") => Some(ToolChoice::None),
        Some("auto") => Some(ToolChoice::Auto),
        Some("required") => Some(ToolChoice::Required),
        Some(_) => None,
        None => {
            let name = choice.pointer("/function/name")?.as_str()?;
            Some(ToolChoice::Gadget(name.to_owned()))
        }
    }
}

fn read(message: &Value, model: &str, out: &mut Messages) -> Result<(), RequestError> {
    match message["role"].as_str() {
        Some("system" | "developer") => out.push(Role::System, parts(&message["content"])),
        Some("user") => out.push(Role::User, parts(&message["content"])),
        Some("assistant") => out.push(Role::Assistant, reply(message, model)),
        Some("tool" | "function") => {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let (text, media) = output(&message["content"], part_text, |_| None);
            let result = out.result(id, text, false, media);
            out.push_result(result);
        }
        _ => return Err(RequestError::role("messages")),
    }
    Ok(())
}

fn reply(message: &Value, model: &str) -> Vec<Content> {
    let mut content = Vec::new();
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let (fields, signatures) = kept::in_message(message);
    if !fields.is_empty() || !signatures.is_empty() {
        content.push(Content::ProviderData(ProviderData {
            api: API.to_owned(),
            model: model.to_owned(),
            data: json!({"message": fields, "calls": signatures}),
        }));
    }
    content.extend(parts(&message["content"]));
    content.extend(calls.filter_map(|call| {
        let function = &call["function"];
        Some(Content::ToolUse {
            tool_use_id: call["id"].as_str()?.to_owned(),
            name: function["name"].as_str()?.to_owned(),
            input: arguments(function["arguments"].as_str().unwrap_or_default()),
        })
    }));
    content
}

fn parts(content: &Value) -> Vec<Content> {
    decoded_request::parts(content, |part| match part["type"].as_str() {
        Some("image_url") => {
            let url = part["image_url"]["url"].as_str()?;
            Some(Content::Media(media_at(MediaKind::Image, url, None)))
        }
        Some("input_audio") => audio(&part["input_audio"]),
        _ => text(part["text"].as_str()?),
    })
}

fn audio(audio: &Value) -> Option<Content> {
    let mime = match audio["format"].as_str()? {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    };
    Some(Content::Media(Media {
        kind: MediaKind::Audio,
        mime_type: mime,
        data: MediaData::Base64(audio["data"].as_str()?.to_owned()),
        name: None,
    }))
}
