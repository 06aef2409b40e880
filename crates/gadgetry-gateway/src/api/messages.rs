//! The Messages API: the body of a request.

use std::collections::HashSet;

use gadgetry_proto::message::ToolChoice;
use gadgetry_providers::anthropic;
use serde_json::{Value, json};

use crate::exchange::{Choice, ClientRequest, Delivery, Tool};

use super::Refusal;
use super::fields::{Fields, schema, tell_of_missing, text};
use super::known_tools;

/// Fields that change nothing about the text of a reply.
const IGNORED: [&str; 6] = [
    "metadata",
    "service_tier",
    "context_management",
    "speed",
    "inference_geo",
    "diagnostics",
];

/// Fields that are not honoured.
const WARNED: [&str; 2] = ["mcp_servers", "container"];

pub(super) fn decode(body: Value) -> Result<ClientRequest, Refusal> {
    let mut body = Fields::new(body)?;
    if body.get("thread").is_object() {
        // The SDKs send the whole conversation after this answer.
        let mut refusal = Refusal::new(
            "thread",
            "`thread` is not supported: no conversation is stored here",
        );
        let unsupported =
            json!({"error_code": "thread_unsupported_request", "unsupported": ["thread"]});
        refusal.details = Some(Box::new(unsupported));
        return Err(refusal);
    }
    body.ignore(&IGNORED);
    body.warn(&WARNED);
    let found = body
        .get_mut("messages")
        .map(found_tools)
        .unwrap_or_default();
    let mut tools = Vec::new();
    for tool in body.list("tools")? {
        // Deferred tools are omitted until the client's tool search returns them.
        let is_deferred = tool["defer_loading"] == true
            && tool["name"]
                .as_str()
                .is_some_and(|name| !found.contains(name));
        if !is_deferred {
            add(&tool, &mut tools, &mut body.warnings)?;
        }
    }
    let (choice, is_parallel) = choice(&mut body)?;
    let config = body.take("output_config").unwrap_or_default();
    let format = body
        .take("output_format")
        .unwrap_or_else(|| config["format"].clone());
    // `cache_control` is ignored: prompts are deterministic, so upstream caches still hit.
    if let Some(effort) = config["effort"].as_str() {
        body.put("output_config", json!({"effort": effort}));
    }
    if !body.get("messages").is_array() {
        return Err(Refusal::new(
            "messages",
            "`messages` is missing, or not a list",
        ));
    }
    let (body, warnings) = body.rest();
    let mut incoming = anthropic::decode_request(body)?;
    incoming.options.fields.shift_remove("output_config");
    if incoming.request.messages.is_empty() {
        return Err(Refusal::new("messages", "`messages` is empty"));
    }
    let mut messages = std::sync::Arc::unwrap_or_clone(incoming.request.messages);
    tell_of_missing(&tools, &warnings, &mut messages);
    Ok(ClientRequest {
        model: incoming.model,
        messages,
        tools,
        choice,
        is_parallel,
        is_stored: true,
        delivery: Delivery::new(incoming.options.streaming, true),
        options: incoming.options,
        response_format: response_format(&format),
        warnings,
    })
}

/// Returns the names of tools that searches of the client have found. The blocks that name them become texts for the model.
fn found_tools(messages: &mut Value) -> HashSet<String> {
    let mut found = HashSet::new();
    let blocks = |value: &mut Value| match value.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        Some(other) => {
            value["content"] = other;
            Vec::new()
        }
        None => Vec::new(),
    };
    for message in messages.as_array_mut().into_iter().flatten() {
        let mut of_message = blocks(message);
        for block in &mut of_message {
            if block["type"] != "tool_result" {
                continue;
            }
            let mut of_result = blocks(block);
            for part in &mut of_result {
                if part["type"] == "tool_reference"
                    && let Some(name) = part["tool_name"].as_str().map(str::to_owned)
                {
                    *part = json!({"type": "text", "text": format!("The tool {name} is available now.")});
                    found.insert(name);
                }
            }
            if !of_result.is_empty() {
                block["content"] = of_result.into();
            }
        }
        if !of_message.is_empty() {
            message["content"] = of_message.into();
        }
    }
    found
}

fn add(tool: &Value, tools: &mut Vec<Tool>, warnings: &mut Vec<String>) -> Result<(), Refusal> {
    let kind = tool["type"].as_str().unwrap_or("custom");
    if kind == "custom" {
        let name = tool["name"].as_str().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Refusal::new("tools", "a tool has no name"))?;
        let schema = schema(tool, "input_schema");
        // `eager_input_streaming` asks for a call in parts. A call is given when it is whole and valid, without exception.
        tools.push(Tool::function(name, text(tool, "description"), schema));
    } else if let Some(known) = known_tools::of(kind, tool) {
        tools.push(known);
    } else {
        warnings.push(format!("the tool {kind} is ignored: it runs at Anthropic"));
    }
    Ok(())
}

/// Returns the choice, and whether several calls are admitted.
fn choice(body: &mut Fields) -> Result<(Choice, bool), Refusal> {
    let Some(choice) = body.take("tool_choice") else {
        return Ok((Choice::default(), true));
    };
    let unknown = || Refusal::new("tool_choice", format!("unknown tool_choice {choice}"));
    let is_parallel = choice["disable_parallel_tool_use"] != true;
    let kind = match choice["type"].as_str() {
        Some("auto") => ToolChoice::Auto,
        Some("any") => ToolChoice::Required,
        Some("none") => ToolChoice::None,
        Some("tool") => ToolChoice::Gadget(choice["name"].as_str().ok_or_else(unknown)?.to_owned()),
        _ => return Err(unknown()),
    };
    Ok((kind.into(), is_parallel))
}

/// Returns the form of the answer as Chat Completions writes it.
fn response_format(format: &Value) -> Option<Value> {
    let schema = format
        .get("schema")
        .filter(|_| format["type"] == "json_schema")?;
    Some(
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}}),
    )
}
