//! A request as the body of the Messages API.

use gadgetry_proto::message::{Request, ToolChoice};
use serde_json::{Map, Value, json};

use super::messages::Conversation;
use super::{Messages, PromptCache};

/// The request body, in a fixed order, so that the provider's cache sees the same beginning.
pub(super) fn body(wire: &Messages, request: &Request) -> Value {
    let conversation = Conversation::of(wire, request);
    let thinking = wire.thinking.as_ref();
    let thinking = thinking.filter(|thinking| conversation.admits(thinking));
    let mut body = Map::new();
    let mut set = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(field.to_owned(), value);
        }
    };
    set("model", Some(json!(wire.model)));
    set("max_tokens", Some(json!(wire.max_tokens())));
    if !wire.tools.is_empty() {
        let tools = wire.tools.iter().map(|gadget| {
            json!({
                "name": wire.tool_names.sent(&gadget.name),
                "description": gadget.description,
                "input_schema": schema(&gadget.parameters),
            })
        });
        set("tools", Some(tools.collect()));
        set("tool_choice", tool_choice(wire, &request.tool_choice));
    }
    let (system, messages) = conversation.finish(cache_control(wire.cache));
    set("system", system);
    set("messages", Some(messages));
    set("stream", Some(json!(wire.streams)));
    if let Some(thinking) = thinking {
        let (thinking, effort) = thinking.fields();
        set("thinking", Some(thinking));
        set("output_config", effort);
    } else {
        set("temperature", wire.temperature.map(Value::from));
    }
    let stop = (!wire.stop.is_empty()).then(|| json!(wire.stop));
    set("stop_sequences", stop);
    for (field, value) in &wire.extra {
        if value.is_null() {
            body.shift_remove(field);
        } else {
            body.insert(field.clone(), value.clone());
        }
    }
    Value::Object(body)
}

fn tool_choice(wire: &Messages, choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Gadget(name) => {
            Some(json!({"type": "tool", "name": wire.tool_names.sent(name)}))
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
