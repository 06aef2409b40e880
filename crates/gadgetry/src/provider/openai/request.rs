//! A request as the body of Chat Completions.

use gadgetry_proto::message::{Request, ToolChoice};
use serde_json::{Map, Value, json};

use super::{ChatCompletions, MaxTokensField, ReasoningField, messages};

/// The request body, in a fixed order, so that a provider's cache sees the same beginning.
pub(super) fn body(wire: &ChatCompletions, request: &Request) -> Value {
    let mut body = Map::new();
    let mut set = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(field.to_owned(), value);
        }
    };
    set("model", Some(json!(wire.model)));
    if !wire.tools.is_empty() {
        let tools = wire.tools.iter().map(|gadget| {
            json!({
                "type": "function",
                "function": {
                    "name": wire.tool_names.sent(&gadget.name),
                    "description": gadget.description,
                    "parameters": gadget.parameters,
                },
            })
        });
        set("tools", Some(tools.collect()));
        set("tool_choice", tool_choice(wire, &request.tool_choice));
    }
    set("messages", Some(messages::of(wire, request)));
    set("stream", Some(json!(wire.streams)));
    let counts = wire.streams && wire.include_usage;
    set(
        "stream_options",
        counts.then(|| json!({"include_usage": true})),
    );
    let field = match wire.max_tokens_field {
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensField::MaxTokens => "max_tokens",
    };
    set(field, wire.max_tokens.map(Value::from));
    set("temperature", wire.temperature.map(Value::from));
    if let Some(effort) = wire.effort() {
        let switch = || json!({"type": if effort == "none" { "disabled" } else { "enabled" }});
        match wire.reasoning_field {
            ReasoningField::Effort => set("reasoning_effort", Some(json!(effort))),
            ReasoningField::Nested => set("reasoning", Some(json!({"effort": effort}))),
            ReasoningField::Switch => set("thinking", Some(switch())),
            ReasoningField::SwitchAndEffort => {
                set("thinking", Some(switch()));
                let is_on = effort != "none";
                set("reasoning_effort", is_on.then(|| json!(effort)));
            }
        }
    }
    let stop = (!wire.stop.is_empty()).then(|| json!(wire.stop));
    set("stop", stop);
    set("seed", wire.seed.map(Value::from));
    for (field, value) in &wire.extra {
        if value.is_null() {
            body.shift_remove(field);
        } else {
            body.insert(field.clone(), value.clone());
        }
    }
    Value::Object(body)
}

fn tool_choice(wire: &ChatCompletions, choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Gadget(name) => {
            let name = wire.tool_names.sent(name);
            Some(json!({"type": "function", "function": {"name": name}}))
        }
        ToolChoice::Auto | _ => None,
    }
}
