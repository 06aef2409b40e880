//! From the body of the Responses API to a request.

use gadgetry_proto::message::{Content, Media, MediaKind, ProviderData, Role, ToolChoice};
use serde_json::Value;

use crate::decoded_request::{
    self, Body, DecodedRequest, Messages, RequestError, arguments, media_at, output, part_text,
    text, tool,
};
use crate::openai::responses::{API, ResponsesOptions};
use crate::options::ModelOptions;

/// Reads the body of a request.
///
/// Encoding what was read gives the body again, if the body is in the form that this crate sends. Otherwise it differs in
/// this:
///
/// - contents are lists of parts, and adjacent texts of a message are one,
/// - system messages are developer messages, and those at the start are a part of `instructions`,
/// - calls without results are text,
/// - tools without a schema, the status and id of items that are not reasoning, and `detail` of images are left out,
/// - reasoning that no other item of its reply follows is left out,
/// - `stream` and `store` are always present, `store` is `false`, and with tools encrypted reasoning is included.
///
/// # Errors
///
/// If the model is missing, or a field has the wrong type.
pub fn decode_request(body: Value) -> Result<DecodedRequest<ResponsesOptions>, RequestError> {
    let mut body = Body::new(body)?;
    let model = body.model()?;
    let mut own = ResponsesOptions::default();
    let mut options = ModelOptions {
        max_tokens: body.count("max_output_tokens")?,
        temperature: body.number("temperature")?,
        streaming: body.flag("stream"),
        ..ModelOptions::default()
    };
    let tools = body.list("tools")?;
    options.tools = tools
        .iter()
        .filter(|it| it["type"] == "function")
        .filter_map(|it| tool(it, "parameters"))
        .collect();
    let choice = body.take_if("tool_choice", tool_choice);
    if let Some((effort, summary)) = body.take_if("reasoning", reasoning) {
        options.reasoning_effort = effort;
        own.reasoning_summary = summary;
    }
    // Both are the same in every request of this crate.
    body.take("store");
    body.take("include");
    let mut messages = Messages::default();
    if let Some(instructions) = body.take("instructions") {
        let said = instructions.as_str().and_then(text);
        messages.push(Role::System, said.into_iter().collect());
    }
    match body.take("input") {
        Some(Value::String(said)) => messages.push(Role::User, text(&said).into_iter().collect()),
        Some(Value::Array(items)) => {
            for item in &items {
                read(item, &model, &mut messages)?;
            }
        }
        None => {}
        Some(_) => {
            return Err(RequestError::new("input", "is neither a string nor a list"));
        }
    }
    Ok(DecodedRequest::new(
        model, options, own, body, choice, messages,
    ))
}

fn tool_choice(choice: &Value) -> Option<ToolChoice> {
    match (choice.as_str(), choice["type"].as_str()) {
        (Some("none"), _) => Some(ToolChoice::None),
        (Some("auto"), _) => Some(ToolChoice::Auto),
        (Some("required"), _) => Some(ToolChoice::Required),
        (None, Some("function")) => Some(ToolChoice::Gadget(choice["name"].as_str()?.to_owned())),
        _ => None,
    }
}

/// Effort and summary. Of reasoning with other fields nothing is read, so that all of it is passed on.
fn reasoning(reasoning: &Value) -> Option<(Option<String>, Option<String>)> {
    let fields = reasoning.as_object()?;
    let mut read = (None, None);
    for (field, value) in fields {
        let word = value.as_str().map(str::to_owned);
        match field.as_str() {
            "effort" => read.0 = Some(word?),
            "summary" => read.1 = Some(word?),
            _ => return None,
        }
    }
    Some(read)
}

fn read(item: &Value, model: &str, out: &mut Messages) -> Result<(), RequestError> {
    let text_of = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
    // A message may leave out its type.
    match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str() {
            Some("assistant") => parts(&item["content"])
                .into_iter()
                .for_each(|part| out.push_reply(part)),
            Some("user") => out.push(Role::User, parts(&item["content"])),
            Some("system" | "developer") => out.push(Role::System, parts(&item["content"])),
            _ => return Err(RequestError::role("input")),
        },
        // Encrypted reasoning is opaque, and must go back as it came.
        "reasoning" => out.push_reply(Content::ProviderData(ProviderData {
            api: API.to_owned(),
            model: model.to_owned(),
            data: item.clone(),
        })),
        "function_call" => {
            out.push_reply(Content::ToolUse {
                tool_use_id: text_of("call_id"),
                name: text_of("name"),
                input: arguments(&text_of("arguments")),
            });
        }
        "function_call_output" => {
            let (said, media) = output(&item["output"], part_text, media);
            let result = out.result(&text_of("call_id"), said, false, media);
            out.push_result(result);
        }
        // Items of the provider's own tools mean nothing elsewhere.
        _ => {}
    }
    Ok(())
}

fn parts(content: &Value) -> Vec<Content> {
    decoded_request::parts(content, |part| match media(part) {
        Some(medium) => Some(Content::Media(medium)),
        None => text(part["text"].as_str().or_else(|| part["refusal"].as_str())?),
    })
}

fn media(part: &Value) -> Option<Media> {
    match part["type"].as_str()? {
        "input_image" => Some(media_at(
            MediaKind::Image,
            part["image_url"].as_str()?,
            None,
        )),
        "input_file" => {
            let url = part["file_data"].as_str().or(part["file_url"].as_str())?;
            let name = part["filename"].as_str().map(str::to_owned);
            Some(media_at(MediaKind::File, url, name))
        }
        _ => None,
    }
}
