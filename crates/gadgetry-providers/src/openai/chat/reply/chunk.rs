//! The fields of one chunk, or of one whole reply.

use gadgetry_proto::delta::StopReason;
use serde_json::Value;

use crate::wire::stop_reason as reason;

/// The first choice; the only one, as we ask for one.
pub(super) fn choice(body: &Value) -> Option<&Value> {
    let choices = body.get("choices")?;
    let first = |choices: &'_ [Value]| {
        let zero = choices
            .iter()
            .position(|choice| choice.get("index").and_then(Value::as_u64) == Some(0));
        zero.unwrap_or(0)
    };
    match choices {
        Value::Array(choices) => choices.get(first(choices)),
        choice @ Value::Object(_) => Some(choice),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Text of the reply, and what the model thought, in order.
pub(super) fn prose<'v>(said: &'v Value, mut take: impl FnMut(Prose, &'v str)) {
    if let Some(thought) = thought(said) {
        for text in thought {
            take(Prose::Reasoning, text);
        }
    }
    match said.get("content") {
        Some(Value::String(text)) => take(Prose::Text, text),
        Some(Value::Array(parts)) => {
            for part in parts {
                let (what, said) = match part.get("thinking") {
                    Some(thinking) => (Prose::Reasoning, thinking),
                    None => (Prose::Text, part),
                };
                for text in texts(said) {
                    take(what, text);
                }
            }
        }
        _ => {}
    }
    if let Some(text) = said.get("refusal").and_then(Value::as_str) {
        take(Prose::Refusal, text);
    }
}

/// Kind of a piece of prose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prose {
    Text,
    Reasoning,
    /// Said in place of the reply.
    Refusal,
}

/// The fields are alternatives: some servers send the same text in two of them.
fn thought(said: &Value) -> Option<Vec<&str>> {
    let named = ["reasoning_content", "reasoning", "thinking"];
    let named = named.iter().filter_map(|field| said.get(*field)).map(texts);
    let details = || {
        let details = said.get("reasoning_details")?.as_array()?;
        Some(details.iter().flat_map(texts).collect())
    };
    named
        .into_iter()
        .find(|texts| texts.iter().any(|text| !text.is_empty()))
        .or_else(details)
}

/// The texts in a string, a part of content, or an array of such.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(part) => ["text", "summary", "content"]
            .iter()
            .find_map(|field| part.get(*field)?.as_str())
            .into_iter()
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Returns the stop reason of a choice, if it has one.
pub(super) fn stop_reason(choice: &Value) -> Option<StopReason> {
    let fields = ["finish_reason", "finishReason", "stop_reason"];
    fields.iter().find_map(|field| reason(choice.get(*field)?))
}
