//! From a request to the body of the Messages API.

use gadgetry_proto::message::{Request, ToolChoice};
use serde_json::{Value, json};

use super::messages::Conversation;
use crate::anthropic::{Messages, PromptCache};
use crate::conversation::Fields;

/// The body. Its fields are always in this order, because the provider's cache compares prefixes.
pub(in crate::anthropic) fn body(wire: &Messages, request: &Request) -> Value {
    let conversation = Conversation::of(wire, request);
    let options = &wire.common.options;
    let thinking = wire.own.thinking.as_ref();
    let thinking = thinking.filter(|thinking| conversation.admits(thinking));
    let mut body = Fields::default();
    body.set("model", json!(wire.common.model));
    body.set("max_tokens", json!(wire.max_tokens()));
    if wire.common.is_native() {
        let tools = options.tools.iter().map(|gadget| {
            json!({
                "name": wire.common.tool_names.sent(&gadget.name),
                "description": gadget.description,
                "input_schema": schema(&gadget.parameters),
            })
        });
        body.set("tools", tools.collect::<Value>());
        body.set("tool_choice", tool_choice(wire, &request.tool_choice));
    }
    let (system, messages) = conversation.finish(cache_control(wire.own.cache));
    body.set("system", system);
    body.set("messages", messages);
    body.set("stream", json!(options.streaming));
    if let Some(thinking) = thinking {
        let (thinking, effort) = thinking.fields();
        body.set("thinking", thinking);
        body.set("output_config", effort);
    } else {
        body.set("temperature", options.temperature.map(Value::from));
    }
    let stop = (!options.stop.is_empty()).then(|| json!(options.stop));
    body.set("stop_sequences", stop);
    body.body(options)
}

fn tool_choice(wire: &Messages, choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Gadget(name) => {
            Some(json!({"type": "tool", "name": wire.common.tool_names.sent(name)}))
        }
        ToolChoice::Auto | _ => None,
    }
}

fn cache_control(cache: PromptCache) -> Option<Value> {
    match cache {
        PromptCache::Off => None,
        PromptCache::Minutes => Some(json!({"type": "ephemeral"})),
        PromptCache::Hour => Some(json!({"type": "ephemeral", "ttl": "1h"})),
    }
}

/// The API wants the type to be there.
fn schema(parameters: &Value) -> Value {
    let mut schema = parameters.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| json!("object"));
    Value::Object(schema)
}
