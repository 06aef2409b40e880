//! From a request to the body of Chat Completions.

use gadgetry_proto::message::{Request, ToolChoice};
use serde_json::{Value, json};

use super::messages;
use crate::conversation::Fields;
use crate::openai::chat::{ChatCompletions, MaxTokensField, ReasoningField};

/// The body. Its fields are always in this order, because a provider's cache compares prefixes.
pub(in crate::openai::chat) fn body(wire: &ChatCompletions, request: &Request) -> Value {
    let options = &wire.common.options;
    let mut body = Fields::default();
    body.set("model", json!(wire.common.model));
    if wire.common.is_native() {
        let tools = options.tools.iter().map(|gadget| {
            json!({
                "type": "function",
                "function": {
                    "name": wire.common.tool_names.sent(&gadget.name),
                    "description": gadget.description,
                    "parameters": gadget.parameters,
                },
            })
        });
        body.set("tools", tools.collect::<Value>());
        body.set("tool_choice", tool_choice(wire, &request.tool_choice));
    }
    body.set("messages", messages::of(wire, request));
    body.set("stream", json!(options.streaming));
    let counts = options.streaming && wire.own.include_usage;
    body.set(
        "stream_options",
        counts.then(|| json!({"include_usage": true})),
    );
    let field = match wire.own.max_tokens_field {
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensField::MaxTokens => "max_tokens",
    };
    body.set(field, options.max_tokens.map(Value::from));
    body.set("temperature", options.temperature.map(Value::from));
    if let Some(effort) = wire.effort() {
        let switch = || json!({"type": if effort == "none" { "disabled" } else { "enabled" }});
        match wire.own.reasoning_field {
            ReasoningField::Effort => body.set("reasoning_effort", json!(effort)),
            ReasoningField::Nested => body.set("reasoning", json!({"effort": effort})),
            ReasoningField::Switch => body.set("thinking", switch()),
            ReasoningField::SwitchAndEffort => {
                body.set("thinking", switch());
                let is_on = effort != "none";
                body.set("reasoning_effort", is_on.then(|| json!(effort)));
            }
        }
    }
    let stop = (!options.stop.is_empty()).then(|| json!(options.stop));
    body.set("stop", stop);
    body.set("seed", wire.own.seed.map(Value::from));
    body.constrain(options, request);
    body.body(options)
}

fn tool_choice(wire: &ChatCompletions, choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Gadget(name) => {
            let name = wire.common.tool_names.sent(name);
            Some(json!({"type": "function", "function": {"name": name}}))
        }
        ToolChoice::Auto | _ => None,
    }
}
