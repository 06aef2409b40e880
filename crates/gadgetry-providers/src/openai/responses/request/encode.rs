//! From a request to the body of the Responses API.

use gadgetry_proto::message::{Request, ToolChoice};
use serde_json::{Map, Value, json};

use super::items;
use crate::conversation::Fields;
use crate::openai::responses::Responses;

/// The body. Its fields are always in this order, because a provider's cache compares prefixes.
pub(in crate::openai::responses) fn body(wire: &Responses, request: &Request) -> Value {
    let options = &wire.common.options;
    let (instructions, input) = items::of(wire, request);
    let mut body = Fields::default();
    body.set("model", json!(wire.common.model));
    body.set("instructions", instructions.map(Value::from));
    if wire.common.is_native() {
        let tools = options.tools.iter().map(|gadget| {
            json!({
                "type": "function",
                "name": wire.common.tool_names.sent(&gadget.name),
                "description": gadget.description,
                "parameters": gadget.parameters,
                // Strict schemas must list every property as required, which ours need not.
                "strict": false,
            })
        });
        body.set("tools", tools.collect::<Value>());
        body.set("tool_choice", tool_choice(wire, &request.tool_choice));
    }
    body.set("input", input);
    body.set("stream", json!(options.streaming));
    body.set("store", json!(false));
    // Without storage the reasoning between two calls is lost, unless it travels with the conversation.
    let include = wire.common.is_native();
    body.set(
        "include",
        include.then(|| json!(["reasoning.encrypted_content"])),
    );
    body.set("max_output_tokens", options.max_tokens.map(Value::from));
    body.set("temperature", options.temperature.map(Value::from));
    let mut reasoning = Map::new();
    if let Some(effort) = &options.reasoning_effort {
        reasoning.insert("effort".to_owned(), json!(effort));
    }
    if let Some(summary) = &wire.own.reasoning_summary {
        reasoning.insert("summary".to_owned(), json!(summary));
    }
    body.set(
        "reasoning",
        (!reasoning.is_empty()).then_some(Value::Object(reasoning)),
    );
    body.body(options)
}

fn tool_choice(wire: &Responses, choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Gadget(name) => {
            let name = wire.common.tool_names.sent(name);
            Some(json!({"type": "function", "name": name}))
        }
        ToolChoice::Auto | _ => None,
    }
}
