//! Items of recent responses, for clients that refer to them: the Responses API stores them unless `store` is false.
//!
//! This is a short-lived memory of the process, without a guarantee: a reference to a missing item is an error, and then clients
//! have to send whole items. For everyone but its owner, an item does not exist.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::memory::{Memory, Owner, weight};

/// Bytes of all items.
const BYTES: usize = 64 << 20;

/// Items of responses by their ids.
#[derive(Debug)]
pub(super) struct Items(Mutex<Memory<String, Value>>);

impl Default for Items {
    fn default() -> Self {
        Self(Mutex::new(Memory::new(BYTES)))
    }
}

impl Items {
    /// Keeps the items of a response for its owner. Other documents have none.
    pub(super) fn remember(&self, owner: Owner, response: &Value) {
        let items = response["output"].as_array().into_iter().flatten();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for item in items {
            if let Some(id) = item["id"].as_str() {
                kept.keep(owner, id.to_owned(), item.clone(), weight(item));
            }
        }
    }

    /// Replaces references by their items, as far as the items are still kept.
    pub(super) fn resolve(&self, owner: Owner, body: &mut Value) {
        let Some(input) = body.get_mut("input").and_then(Value::as_array_mut) else {
            return;
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The body has a limit, and what its references become has the same, or each of them could be the largest item.
        let mut left = BYTES / 2;
        for item in input {
            if item["type"] == "item_reference"
                && let Some(id) = item["id"].as_str()
                && let Some(known) = kept.get(owner, id.to_owned())
            {
                let size = weight(known);
                if size <= left {
                    left -= size;
                    *item = known.clone();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Items, Owner};

    /// The types of what references to these ids become.
    fn resolved(items: &Items, owner: Owner, ids: &[&str]) -> Vec<Value> {
        let references = ids
            .iter()
            .map(|id| json!({"type": "item_reference", "id": id}));
        let mut body = json!({"input": references.collect::<Vec<_>>()});
        items.resolve(owner, &mut body);
        let input = body["input"].as_array().cloned().unwrap_or_default();
        input.iter().map(|item| item["type"].clone()).collect()
    }

    #[test]
    fn references_become_items_for_their_owner() {
        let items = Items::default();
        let (one, other) = (Owner::of("key", b"1"), Owner::of("key", b"2"));
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant"});
        items.remember(one, &json!({"output": [message]}));
        let check = |owner, expected: [&str; 2]| {
            assert_eq!(resolved(&items, owner, &["msg_1", "msg_2"]), expected);
        };
        check(one, ["message", "item_reference"]);
        check(other, ["item_reference", "item_reference"]);
    }

    #[test]
    fn references_have_a_limit_together() {
        let items = Items::default();
        let owner = Owner::of("key", b"1");
        let text = "x".repeat(3 << 20);
        items.remember(
            owner,
            &json!({"output": [{"id": "msg_1", "type": "message", "text": text}]}),
        );
        let kinds = resolved(&items, owner, &["msg_1"; 20]);
        assert_eq!(kinds.iter().filter(|it| **it == "message").count(), 10);
    }
}
