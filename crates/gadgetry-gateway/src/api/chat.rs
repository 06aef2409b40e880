//! Chat Completions: the body of a request.

use gadgetry_proto::message::ToolChoice;
use gadgetry_providers::openai::chat;
use serde_json::{Value, json};

use crate::exchange::{Choice, ClientRequest, Delivery, TEXT_PARAMETER, Tool};

use super::Refusal;
use super::fields::{Fields, allowed, schema, text, with_grammar};

/// Fields that change nothing about the text of a reply.
const IGNORED: [&str; 7] = [
    "metadata",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "user",
    "verbosity",
];

/// Fields that are not honoured.
const WARNED: [&str; 5] = [
    "logprobs",
    "top_logprobs",
    "prediction",
    "web_search_options",
    "audio",
];

pub(super) fn decode(body: Value) -> Result<ClientRequest, Refusal> {
    let mut body = Fields::new(body)?;
    refuse(&body)?;
    body.ignore(&IGNORED);
    body.ignore(&["n", "modalities", "functions", "function_call"]);
    body.warn(&WARNED);
    let seed = body.take("seed");
    let tools = tools(&mut body)?;
    let choice = choice(&mut body)?;
    let is_parallel = body.flag("parallel_tool_calls", true)?;
    let is_stored = body.flag("store", true)?;
    let options = body.take("stream_options").unwrap_or_default();
    let response_format = body.take("response_format");
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        messages.iter_mut().for_each(text_calls);
    } else {
        return Err(Refusal::new(
            "messages",
            "`messages` is missing, or not a list",
        ));
    }
    let (body, warnings) = body.rest();
    let mut incoming = chat::decode_request(body)?;
    if let Some(seed) = seed {
        incoming.options.fields.insert("seed".to_owned(), seed);
    }
    if incoming.request.messages.is_empty() {
        return Err(Refusal::new("messages", "`messages` is empty"));
    }
    Ok(ClientRequest {
        model: incoming.model,
        messages: std::sync::Arc::unwrap_or_clone(incoming.request.messages),
        tools,
        choice,
        is_parallel,
        is_stored,
        delivery: Delivery::new(incoming.options.streaming, options["include_usage"] == true),
        options: incoming.options,
        response_format: response_format.filter(|it| it["type"] != "text"),
        warnings,
    })
}

/// Refuses options that no reply could honour.
fn refuse(body: &Fields) -> Result<(), Refusal> {
    if !matches!(body.get("n").as_u64(), None | Some(1)) {
        return Err(Refusal::new(
            "n",
            "`n` must be 1: send one request for each choice",
        ));
    }
    for field in ["functions", "function_call"] {
        if !body.get(field).is_null() {
            let message = format!("`{field}` is not supported: use `tools` and `tool_choice`");
            return Err(Refusal::new(field, message));
        }
    }
    let modalities = body.get("modalities").as_array();
    if modalities.is_some_and(|all| all.iter().any(|it| it != "text")) {
        return Err(Refusal::new(
            "modalities",
            "`modalities` must be text alone",
        ));
    }
    Ok(())
}

fn tools(body: &mut Fields) -> Result<Vec<Tool>, Refusal> {
    let mut tools = Vec::new();
    for tool in body.list("tools")? {
        match tool["type"].as_str() {
            Some("function") | None => {
                let function = &tool["function"];
                let name = function["name"].as_str().filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| Refusal::new("tools", "a tool has no name"))?;
                let schema = schema(function, "parameters");
                tools.push(Tool::function(name, text(function, "description"), schema));
            }
            Some("custom") => {
                let custom = &tool["custom"];
                tools.push(Tool::text(text(custom, "name"), with_grammar(custom)));
            }
            Some(other) => body.warnings.push(format!("the tool {other} is ignored")),
        }
    }
    Ok(tools)
}

fn choice(body: &mut Fields) -> Result<Choice, Refusal> {
    let Some(choice) = body.take("tool_choice") else {
        return Ok(Choice::default());
    };
    let unknown = || Refusal::new("tool_choice", format!("unknown tool_choice {choice}"));
    let name_of = |tool: &Value| {
        let of = |kind: &str| Some(tool.get(kind)?.get("name")?.as_str()?.to_owned());
        of("function").or_else(|| of("custom"))
    };
    Ok(match (choice.as_str(), choice["type"].as_str()) {
        (Some("none"), _) => ToolChoice::None.into(),
        (Some("auto"), _) => ToolChoice::Auto.into(),
        (Some("required"), _) => ToolChoice::Required.into(),
        (None, Some("function" | "custom")) => {
            ToolChoice::Gadget(name_of(&choice).ok_or_else(unknown)?).into()
        }
        (None, Some("allowed_tools")) => {
            let inner = &choice["allowed_tools"];
            let tools = inner["tools"].as_array().into_iter().flatten();
            allowed(inner, tools.filter_map(name_of).collect())
        }
        _ => return Err(unknown()),
    })
}

/// Rewrites calls of tools that take text as calls of functions.
fn text_calls(message: &mut Value) {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if call["type"] == "custom" {
            let input = json!({TEXT_PARAMETER: call["custom"]["input"]});
            *call = json!({
                "id": call["id"],
                "type": "function",
                "function": {"name": call["custom"]["name"], "arguments": input.to_string()},
            });
        }
    }
}
