//! Messages as the conventions write them: a role, and parts with types.

use gadgetry::proto::call::Parameters;
use gadgetry::proto::message::{Content, Message, Role};
use serde_json::{Value, json};

/// The type of a part with a result.
const RESPONSE: &str = "tool_call_response";

/// The messages of a request that are not the system's, and the parts of those that are, both as JSON. The second is `None` if there is
/// no system message.
pub(crate) fn of_request<'a>(
    messages: impl Iterator<Item = &'a Message>,
) -> (String, Option<String>) {
    let (mut system, mut others) = (Vec::new(), Vec::new());
    for message in messages {
        let parts = message.content.iter().filter_map(part);
        if message.role == Role::System {
            system.extend(parts);
        } else {
            let parts: Vec<_> = parts.collect();
            // To a text model, results are a message of the user; the conventions have a role for them.
            let is_of_tools = !parts.is_empty() && parts.iter().all(|it| it["type"] == RESPONSE);
            let role = if is_of_tools {
                "tool"
            } else {
                message.role.name()
            };
            others.push(json!({ "role": role, "parts": parts }));
        }
    }
    let system = (!system.is_empty()).then(|| Value::from(system).to_string());
    (Value::from(others).to_string(), system)
}

/// A reply of these parts, as JSON.
pub(crate) fn of_reply(parts: &[Value], finish_reason: &str) -> String {
    json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]).to_string()
}

/// A part of text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "content": text })
}

/// A part of reasoning.
pub(crate) fn reasoning(text: &str) -> Value {
    json!({ "type": "reasoning", "content": text })
}

/// A part that calls a tool.
pub(crate) fn call(id: &str, name: &str, arguments: &Parameters, raw: &str) -> Value {
    let arguments = match arguments {
        Parameters::Parsed(arguments) => arguments.clone(),
        Parameters::Malformed(_) => Value::from(raw),
    };
    json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments })
}

fn part(content: &Content) -> Option<Value> {
    Some(match content {
        Content::Text { text: content } | Content::Summary { text: content, .. } => text(content),
        Content::Reasoning { text } => reasoning(text),
        Content::Custom(block) => {
            json!({ "type": "custom_block", "tag": block.tag, "content": block.content })
        }
        Content::GadgetCall(written) => call(
            written.invocation_id.as_str(),
            &written.gadget_name,
            &written.parameters,
            &written.parameters_raw,
        ),
        Content::ToolUse {
            tool_use_id,
            name,
            input,
        } => json!({ "type": "tool_call", "id": tool_use_id, "name": name, "arguments": input }),
        Content::GadgetResult {
            invocation_id,
            text,
            ..
        } => {
            json!({ "type": RESPONSE, "id": invocation_id.as_str(), "response": text })
        }
        Content::Media(media) => json!({ "type": "blob", "mime_type": media.mime_type }),
        // Opaque data, turns that were left out, and what is added later.
        Content::ProviderData(_) | Content::Omission { .. } | _ => return None,
    })
}
