//! The Responses API: the body of a request.

use gadgetry_proto::message::{Message, Role, ToolChoice};
use gadgetry_providers::openai::responses;
use serde_json::{Value, json};

use crate::exchange::{Choice, ClientRequest, Delivery, TEXT_PARAMETER, Tool, full_name};

use super::Refusal;
use super::fields::{Fields, allowed, schema, tell_of_missing, text, with_grammar};

/// Fields that change nothing about the text of a reply.
const IGNORED: [&str; 12] = [
    "include",
    "metadata",
    "client_metadata",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "user",
    "truncation",
    "stream_options",
    "max_tool_calls",
    "context_management",
];

/// Items that are read; reasoning is read, too, but not replayed.
const KNOWN_ITEMS: [&str; 4] = [
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
];

/// Fields that are not honoured.
const WARNED: [&str; 1] = ["top_logprobs"];

pub(super) fn decode(body: Value) -> Result<ClientRequest, Refusal> {
    let mut body = Fields::new(body)?;
    refuse(&body)?;
    body.ignore(&IGNORED);
    body.ignore(&[
        "background",
        "conversation",
        "prompt",
        "previous_response_id",
    ]);
    body.warn(&WARNED);
    let mut carried_warnings = Vec::new();
    let mut tools = Vec::new();
    for tool in body.list("tools")? {
        add(&tool, None, &mut tools, &mut body.warnings);
    }
    if let Some(Value::Array(items)) = body.get_mut("input") {
        let mut carried = Vec::new();
        items.retain(|item| {
            let carries = item["type"] == "additional_tools";
            if carries {
                carried.push(item["tools"].clone());
            }
            !carries
        });
        if let Some(missing) = items.iter().find(|item| item["type"] == "item_reference") {
            let message = format!(
                "the item {} is not stored here: send whole items, with `store: false`",
                missing["id"]
            );
            let mut refusal = Refusal::new("input", message);
            refusal.code = Some("item_not_found");
            return Err(refusal);
        }
        items.iter_mut().for_each(plain_item);
        for kind in items.iter().filter_map(|item| item["type"].as_str()) {
            if !KNOWN_ITEMS.contains(&kind) {
                carried_warnings.push(format!("the item {kind} is ignored"));
            }
        }
        for tool in carried.iter().filter_map(Value::as_array).flatten() {
            add(tool, None, &mut tools, &mut body.warnings);
        }
    }
    body.warnings.append(&mut carried_warnings);
    let choice = choice(&mut body)?;
    let is_parallel = body.flag("parallel_tool_calls", true)?;
    let is_stored = body.flag("store", true)?;
    let response_format = body.take("text").and_then(|it| format(&it["format"]));
    let (body, warnings) = body.rest();
    let incoming = responses::decode_request(body)?;
    let mut messages = std::sync::Arc::unwrap_or_clone(incoming.request.messages);
    tell_of_missing(&tools, &warnings, &mut messages);
    if messages.iter().all(|it| it.role == Role::System) {
        // Codex probes a server with an empty input; templates need a message of the user.
        messages.push(Message::text(Role::User, "."));
    }
    Ok(ClientRequest {
        model: incoming.model,
        messages,
        tools,
        choice,
        is_parallel,
        is_stored,
        delivery: Delivery::new(incoming.options.streaming, true),
        options: incoming.options,
        response_format,
        warnings,
    })
}

/// Refuses options that need stored responses: each request has to contain its whole conversation.
fn refuse(body: &Fields) -> Result<(), Refusal> {
    if !body.get("previous_response_id").is_null() {
        let message = "no response is stored here: send the whole conversation in `input`, without `previous_response_id`";
        let mut refusal = Refusal::new("previous_response_id", message);
        refusal.code = Some("previous_response_not_found");
        return Err(refusal);
    }
    for field in ["conversation", "prompt"] {
        if !body.get(field).is_null() {
            let message = format!("`{field}` is not supported: nothing is stored here");
            return Err(Refusal::new(field, message));
        }
    }
    if *body.get("background") == true {
        return Err(Refusal::new("background", "`background` is not supported"));
    }
    Ok(())
}

fn add(tool: &Value, namespace: Option<&str>, tools: &mut Vec<Tool>, warnings: &mut Vec<String>) {
    let name = text(tool, "name");
    let mut made = match tool["type"].as_str() {
        Some("function") => {
            let schema = schema(tool, "parameters");
            Tool::function(name, text(tool, "description"), schema)
        }
        Some("custom") => Tool::text(name, with_grammar(tool)),
        Some("local_shell") => {
            let schema = json!({
                "type": "object",
                "properties": {"command": {"type": "array", "items": {"type": "string"}}},
                "required": ["command"],
            });
            Tool::function(
                "local_shell",
                "Runs a command on the user's machine",
                schema,
            )
        }
        Some("namespace") => {
            for inner in tool["tools"].as_array().into_iter().flatten() {
                add(inner, Some(&name), tools, warnings);
            }
            return;
        }
        other => {
            let other = other.unwrap_or("without a type");
            warnings.push(format!("the tool {other} is ignored"));
            return;
        }
    };
    made.namespace = namespace.map(str::to_owned);
    tools.push(made);
}

fn choice(body: &mut Fields) -> Result<Choice, Refusal> {
    let Some(choice) = body.take("tool_choice") else {
        return Ok(Choice::default());
    };
    let name_of = |tool: &Value| {
        let name = tool["name"].as_str()?;
        Some(full_name(tool["namespace"].as_str(), name))
    };
    Ok(match (choice.as_str(), choice["type"].as_str()) {
        (Some("none"), _) => ToolChoice::None.into(),
        (Some("auto"), _) => ToolChoice::Auto.into(),
        (Some("required"), _) => ToolChoice::Required.into(),
        (None, Some("function" | "custom")) => {
            let unknown = || Refusal::new("tool_choice", format!("unknown tool_choice {choice}"));
            ToolChoice::Gadget(name_of(&choice).ok_or_else(unknown)?).into()
        }
        (None, Some("allowed_tools")) => {
            let tools = choice["tools"].as_array().into_iter().flatten();
            allowed(&choice, tools.filter_map(name_of).collect())
        }
        (None, Some(other)) => {
            body.warnings
                .push(format!("the tool_choice {other} is ignored"));
            Choice::default()
        }
        _ => {
            return Err(Refusal::new(
                "tool_choice",
                format!("unknown tool_choice {choice}"),
            ));
        }
    })
}

/// Rewrites calls and results of tools that take text, or are in a namespace, as calls and results of functions.
fn plain_item(item: &mut Value) {
    let name = || Value::from(full_name(item["namespace"].as_str(), &text(item, "name")));
    match item["type"].as_str() {
        Some("custom_tool_call") => {
            let input = json!({TEXT_PARAMETER: item["input"]}).to_string();
            *item = json!({"type": "function_call", "call_id": item["call_id"], "name": name(), "arguments": input});
        }
        Some("custom_tool_call_output") => item["type"] = "function_call_output".into(),
        Some("function_call") if item["namespace"].is_string() => item["name"] = name(),
        Some("local_shell_call") => {
            let command = json!({"command": item["action"]["command"]}).to_string();
            *item = json!({"type": "function_call", "call_id": item["call_id"], "name": "local_shell", "arguments": command});
        }
        // What one agent of Codex says to another. The text that a model wrote comes back as if it were encrypted.
        Some("agent_message") => {
            let parts = item["content"].as_array().into_iter().flatten();
            let texts = parts
                .filter_map(|part| part["text"].as_str().or(part["encrypted_content"].as_str()));
            let text: String = texts.collect();
            *item = json!({"type": "message", "role": "user", "content": text});
        }
        Some("local_shell_call_output") => {
            *item = json!({"type": "function_call_output", "call_id": item["id"], "output": item["output"]});
        }
        _ => {}
    }
}

/// Returns the form of the answer as Chat Completions writes it.
fn format(format: &Value) -> Option<Value> {
    match format["type"].as_str()? {
        "json_schema" => {
            let mut schema = format.clone();
            schema.as_object_mut()?.shift_remove("type");
            Some(json!({"type": "json_schema", "json_schema": schema}))
        }
        "json_object" => Some(json!({"type": "json_object"})),
        _ => None,
    }
}
