//! From the body of the Messages API to a request.

use std::borrow::Cow;

use gadgetry_proto::message::{
    Content, Media, MediaData, MediaKind, ProviderData, Role, ToolChoice,
};
use serde_json::Value;

use crate::anthropic::{API, MessagesOptions, PromptCache, Thinking};
use crate::decoded_request::{
    self, Body, DecodedRequest, Messages, RequestError, arguments, media_at, output, part_text,
    text, tool,
};
use crate::options::ModelOptions;

/// Reads the body of a request.
///
/// Encoding what was read gives the body again, if the body is in the form that this crate sends. Otherwise it differs in
/// this:
///
/// - contents are lists of blocks, adjacent text blocks of the user are one, and blank ones are left out,
/// - documents of text and search results are text,
/// - results come before everything else in a message,
/// - cache marks are on the last system block and the last block of the user,
/// - the ids of calls are of letters, digits, `-` and `_`, each used once,
/// - calls without results are text, and tools without a schema are left out,
/// - `stream` is always present.
///
/// # Errors
///
/// If the model or the messages are missing, or a field has the wrong type.
pub fn decode_request(body: Value) -> Result<DecodedRequest<MessagesOptions>, RequestError> {
    let cache = cache(&body);
    let mut body = Body::new(body)?;
    let model = body.model()?;
    let mut own = MessagesOptions {
        cache,
        ..MessagesOptions::default()
    };
    let mut options = ModelOptions {
        max_tokens: body.count("max_tokens")?,
        temperature: body.number("temperature")?,
        stop: body.texts("stop_sequences")?,
        streaming: body.flag("stream"),
        ..ModelOptions::default()
    };
    let tools = body.list("tools")?;
    options.tools = tools
        .iter()
        .filter_map(|it| tool(it, "input_schema"))
        .collect();
    let choice = body.take_if("tool_choice", tool_choice);
    own.thinking = body.take_if("thinking", thinking);
    if let Some(Thinking::Adaptive { effort }) = &mut own.thinking {
        *effort = body.take_if("output_config", |config| {
            let fields = config.as_object().filter(|fields| fields.len() == 1)?;
            Some(fields.get("effort")?.as_str()?.to_owned())
        });
    }
    let mut messages = Messages::default();
    if let Some(system) = body.take("system") {
        for part in parts(&system, &model, &messages) {
            messages.push(Role::System, vec![part]);
        }
    }
    for message in body.list("messages")? {
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => return Err(RequestError::role("messages")),
        };
        let parts = parts(&message["content"], &model, &messages);
        messages.push(role, parts);
    }
    Ok(DecodedRequest::new(
        model, options, own, body, choice, messages,
    ))
}

fn tool_choice(choice: &Value) -> Option<ToolChoice> {
    match choice["type"].as_str()? {
        "none" => Some(ToolChoice::None),
        "auto" => Some(ToolChoice::Auto),
        "any" => Some(ToolChoice::Required),
        "tool" => Some(ToolChoice::Gadget(choice["name"].as_str()?.to_owned())),
        _ => None,
    }
}

fn thinking(thinking: &Value) -> Option<Thinking> {
    match thinking["type"].as_str()? {
        "enabled" => Some(Thinking::Budget(thinking["budget_tokens"].as_u64()?)),
        "adaptive" => Some(Thinking::Adaptive { effort: None }),
        _ => None,
    }
}

/// Returns the caching time that the marks of a request ask for.
fn cache(body: &Value) -> PromptCache {
    let blocks = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of_messages = blocks(&body["messages"]);
    let of_messages = of_messages.iter().flat_map(|it| blocks(&it["content"]));
    let marks = blocks(&body["system"]).into_iter().chain(of_messages);
    let marks = marks.filter_map(|block| block.get("cache_control").cloned());
    let mut kinds = marks.map(|mark| {
        if mark["ttl"] == "1h" {
            PromptCache::Hour
        } else {
            PromptCache::Minutes
        }
    });
    kinds.next_back().unwrap_or(PromptCache::Off)
}

fn parts(content: &Value, model: &str, before: &Messages) -> Vec<Content> {
    decoded_request::parts(content, |block| match block["type"].as_str()? {
        "text" => text(block["text"].as_str()?),
        // Signed thinking is opaque, and must go back as it came.
        "thinking" | "redacted_thinking" => Some(Content::ProviderData(ProviderData {
            api: API.to_owned(),
            model: model.to_owned(),
            data: block.clone(),
        })),
        "tool_use" => Some(Content::ToolUse {
            tool_use_id: block["id"].as_str()?.to_owned(),
            name: block["name"].as_str()?.to_owned(),
            input: match block["input"].as_str() {
                Some(json) => arguments(json),
                None => block["input"].clone(),
            },
        }),
        "tool_result" => {
            let (said, media) = output(
                &block["content"],
                |part| part_text(part).or_else(|| written(part).map(Cow::Owned)),
                media,
            );
            let is_error = block["is_error"].as_bool().unwrap_or(false);
            Some(before.result(block["tool_use_id"].as_str()?, said, is_error, media))
        }
        _ => match written(block) {
            Some(written) => text(&(written + "\n")),
            None => media(block).map(Content::Media),
        },
    })
}

/// Returns the text of a document that is text, or of a search result.
fn written(block: &Value) -> Option<String> {
    let source = &block["source"];
    let texts = |content: &Value| output(content, part_text, |_| None).0;
    let body = match (block["type"].as_str()?, source["type"].as_str()) {
        ("document", Some("text")) => source["data"].as_str()?.to_owned(),
        ("document", Some("content")) => texts(&source["content"]),
        ("search_result", None) => texts(&block["content"]),
        _ => return None,
    };
    let head = [&block["title"], source, &block["context"]];
    let head: Vec<&str> = head.iter().filter_map(|it| it.as_str()).collect();
    let head = if head.is_empty() {
        vec!["document"]
    } else {
        head
    };
    Some(format!("[{}]\n{body}", head.join(" | ")))
}

fn media(block: &Value) -> Option<Media> {
    let kind = match block["type"].as_str()? {
        "image" => MediaKind::Image,
        "document" => MediaKind::File,
        _ => return None,
    };
    let source = &block["source"];
    if let Some(url) = source["url"].as_str() {
        return Some(media_at(kind, url, None));
    }
    Some(Media {
        kind,
        mime_type: source["media_type"].as_str()?.to_owned(),
        data: MediaData::Base64(source["data"].as_str()?.to_owned()),
        name: None,
    })
}
