//! Items of recent responses, for clients that refer to them: the Responses API stores them unless `store` is false.
//!
//! It is a short memory of this process, and no promise: a reference to an item that is not there is an error, and then
//! clients have to send whole items.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Bytes of all items.
const BYTES: usize = 64 << 20;

/// Items of responses by their ids.
#[derive(Debug, Default)]
pub(super) struct Items(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    items: HashMap<String, (usize, Value)>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Items {
    /// Keeps the items of a response; the oldest go first. Other documents have none.
    pub(super) fn remember(&self, response: &Value) {
        let items = response["output"].as_array().into_iter().flatten();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for item in items {
            let Some(id) = item["id"].as_str() else {
                continue;
            };
            let size = item.to_string().len();
            if size > BYTES / 16 || kept.items.contains_key(id) {
                continue;
            }
            kept.items.insert(id.to_owned(), (size, item.clone()));
            kept.order.push_back(id.to_owned());
            kept.bytes += size;
        }
        while kept.bytes > BYTES {
            let Some(oldest) = kept.order.pop_front() else {
                return;
            };
            if let Some((size, _)) = kept.items.remove(&oldest) {
                kept.bytes -= size;
            }
        }
    }

    /// Puts items in the place of references to them, as far as they are there.
    pub(super) fn resolve(&self, body: &mut Value) {
        let Some(input) = body.get_mut("input").and_then(Value::as_array_mut) else {
            return;
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for item in input {
            if item["type"] == "item_reference"
                && let Some((_, known)) = item["id"].as_str().and_then(|id| kept.items.get(id))
            {
                *item = known.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Items;

    #[test]
    fn references_become_items() {
        let items = Items::default();
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant"});
        items.remember(&json!({"output": [message]}));
        let mut body = json!({"input": [
            {"type": "item_reference", "id": "msg_1"},
            {"type": "item_reference", "id": "msg_2"},
        ]});
        items.resolve(&mut body);
        assert_eq!(body["input"][0], message);
        assert_eq!(body["input"][1]["type"], "item_reference");
    }

    #[test]
    fn the_oldest_go_first() {
        let items = Items::default();
        for number in 0..40 {
            let text = "x".repeat(2 << 20);
            items.remember(&json!({"output": [{"id": format!("msg_{number}"), "text": text}]}));
        }
        let mut body = json!({"input": [
            {"type": "item_reference", "id": "msg_0"},
            {"type": "item_reference", "id": "msg_39"},
        ]});
        items.resolve(&mut body);
        assert_eq!(body["input"][0]["type"], "item_reference");
        assert!(body["input"][1]["text"].is_string());
    }
}
