//! Data that later requests send back with a reply: reasoning in fields of a server's own, and signatures of calls.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::{Message, ProviderData};
use serde_json::{Map, Value, json};

use crate::conversation::provider_data;
use crate::json;
use crate::openai::chat::API;

/// The text that a model thinks: `DeepSeek`, Kimi, and servers that host them.
const TEXT: &str = "reasoning_content";

/// Lists of pieces of reasoning, encrypted ones included: `OpenRouter`, `LiteLLM`.
const LISTS: [&str; 2] = ["reasoning_details", "thinking_blocks"];

/// Fields of a call that hold its signature: Gemini, `LiteLLM`.
const OF_CALLS: [&str; 2] = ["extra_content", "provider_specific_fields"];

/// Bytes that are kept of a reply; of one with more, nothing is.
const LIMIT: usize = 16 << 20;

/// Data kept of one reply.
#[derive(Debug, Default)]
pub(super) struct ReturnedData {
    model: String,
    fields: Map<String, Value>,
    /// By our id of the call.
    calls: Map<String, Value>,
    size: usize,
}

impl ReturnedData {
    pub(super) fn of(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// Takes what a piece of the reply has for the message as a whole.
    pub(super) fn message(&mut self, said: &Value) {
        if let Some(Value::String(piece)) = said.get(TEXT)
            && self.admits(piece.len())
        {
            match self.fields.get_mut(TEXT) {
                Some(Value::String(text)) => text.push_str(piece),
                _ => _ = self.fields.insert(TEXT.to_owned(), piece.as_str().into()),
            }
        }
        for field in LISTS {
            for piece in said
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if !self.admits(piece.to_string().len()) {
                    continue;
                }
                let list = self.fields.entry(field).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    add(list, piece);
                }
            }
        }
    }

    /// Takes what a piece has for the call `id`.
    pub(super) fn call(&mut self, id: &str, piece: &Value) {
        for field in OF_CALLS {
            let Some(value @ Value::Object(_)) = piece.get(field) else {
                continue;
            };
            if self.admits(value.to_string().len()) {
                self.calls.entry(id).or_insert_with(|| json!({}))[field] = value.clone();
            }
        }
    }

    fn admits(&mut self, bytes: usize) -> bool {
        self.size = self.size.saturating_add(bytes);
        self.size <= LIMIT
    }

    /// Ends the reply, and gives the data that goes into its message.
    pub(super) fn take(&mut self) -> Option<Delta> {
        let fields = std::mem::take(&mut self.fields);
        let calls = std::mem::take(&mut self.calls);
        if !self.admits(0) || (fields.is_empty() && calls.is_empty()) {
            return None;
        }
        let mut data = json!({"message": fields, "calls": calls});
        json::whole_value(&mut data);
        Some(Delta::ProviderData(ProviderData {
            api: API.to_owned(),
            model: std::mem::take(&mut self.model),
            data,
        }))
    }
}

/// Adds a piece to a list. Text that streams comes in pieces of one element, and its signature with the last of them.
fn add(list: &mut Vec<Value>, piece: &Value) {
    let same = |before: &Value| {
        let kind = piece["type"].as_str().unwrap_or_default();
        let streams = ["reasoning.text", "reasoning.summary", "thinking"].contains(&kind);
        // A signature ends an element.
        streams
            && before["type"] == piece["type"]
            && before["index"] == piece["index"]
            && before["signature"].is_null()
    };
    let (Some(before), Some(piece)) = (list.last_mut().filter(|it| same(it)), piece.as_object())
    else {
        list.push(piece.clone());
        return;
    };
    for (field, value) in piece {
        match (&mut before[field], value) {
            (Value::String(text), Value::String(more))
                if ["text", "summary", "thinking"].contains(&field.as_str()) =>
            {
                text.push_str(more);
            }
            (_, Value::Null) => {}
            (before, value) => *before = value.clone(),
        }
    }
}

/// Returns such data of a client's message: fields of the message, and of its calls by their ids.
pub(in crate::openai::chat) fn in_message(
    message: &Value,
) -> (Map<String, Value>, Map<String, Value>) {
    let own = |value: &Value, names: &[&str]| -> Map<String, Value> {
        let fields = names.iter().filter_map(|name| {
            let field = value.get(*name).filter(|field| !field.is_null())?;
            Some(((*name).to_owned(), field.clone()))
        });
        fields.collect()
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.filter_map(|call| {
        let fields = own(call, &OF_CALLS);
        let id = call["id"].as_str()?;
        (!fields.is_empty()).then(|| (id.to_owned(), Value::Object(fields)))
    });
    (own(message, &[TEXT, LISTS[0], LISTS[1]]), calls.collect())
}

/// Returns the data that `model` gets back with a reply: fields of the message, and of its calls by their ids.
pub(in crate::openai::chat) fn of<'m>(
    message: &'m Message,
    model: &str,
) -> Option<(&'m Map<String, Value>, &'m Value)> {
    message.content.iter().find_map(|part| {
        let kept = provider_data(part, API, model)?;
        Some((kept.get("message")?.as_object()?, &kept["calls"]))
    })
}
