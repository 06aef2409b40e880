//! The cap on the length of one reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::Delta;

/// Bytes that a block costs in addition to its text: its entry in the message and its events.
///
/// Without it, a reply of empty blocks would be free and could still fill the memory.
const BLOCK: usize = 512;

/// Number of bytes of a reply that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplySize {
    bytes: usize,
    is_full: bool,
    /// Whether the last delta was reasoning: each change between text and reasoning begins a block.
    in_reasoning: bool,
}

impl ReplySize {
    /// Returns `true` if the reply has reached its limit. Nothing more of it is read.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Counts a delta. Text beyond the limit is taken off; `None` if nothing is left.
    pub(super) fn admit(&mut self, mut delta: Delta, limit: usize) -> Option<Delta> {
        if self.is_full {
            return None;
        }
        let room = limit.saturating_sub(self.bytes);
        let is_reasoning = matches!(delta, Delta::Reasoning { .. });
        let mut size = size(&delta);
        if is_reasoning != self.in_reasoning && size > 0 {
            self.in_reasoning = is_reasoning;
            size += BLOCK;
        }
        self.bytes = self.bytes.saturating_add(size);
        if size <= room {
            return Some(delta);
        }
        self.is_full = true;
        if let Delta::Text { delta: text, .. } | Delta::Reasoning { delta: text, .. } = &mut delta {
            text.truncate(text.floor_char_boundary(room));
            return Some(delta);
        }
        // Half of anything else would be malformed.
        None
    }

    /// Counts a block that was found in the text. Its text is counted already.
    pub(super) fn add_block(&mut self, limit: usize) {
        self.bytes = self.bytes.saturating_add(BLOCK);
        self.is_full |= self.bytes > limit;
    }
}

/// Bytes that a delta adds to what is kept of a reply.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text { delta, metadata } | Delta::Reasoning { delta, metadata } => {
            delta.len()
                + metadata
                    .as_ref()
                    .map_or(0, |it| BLOCK + json_size(&it.extensions))
        }
        Delta::ToolCallDelta { delta, .. } => delta.len(),
        Delta::CustomBlockDelta(more) => more.delta.len(),
        Delta::ToolCallStart { id, name } => BLOCK + id.len() + name.len(),
        Delta::ToolCall { id, name, input } => BLOCK + id.len() + name.len() + value_size(input),
        Delta::ToolCallEnd { input, .. } => input.as_ref().map_or(0, value_size),
        Delta::Error(error) => {
            let named = [&error.code, &error.request_id].into_iter().flatten();
            BLOCK + error.message.len() + named.map(String::len).sum::<usize>()
        }
        Delta::ContentMetadata { metadata } | Delta::ReasoningMetadata { metadata } => {
            let lists = metadata.citations.iter().chain(&metadata.annotations);
            BLOCK + json_size(&metadata.extensions) + lists.map(value_size).sum::<usize>()
        }
        Delta::ProviderData(it) => BLOCK + value_size(&it.data),
        Delta::CustomBlockStart(start) => start.tag.len(),
        Delta::CustomBlock(block) => block.content.len(),
        Delta::MessageStart { .. }
        | Delta::MessageEnd { .. }
        | Delta::Usage { .. }
        | Delta::Raw { .. }
        | Delta::Diagnostic(_)
        | Delta::CustomBlockEnd(_)
        | Delta::GadgetCallStart(_)
        | Delta::GadgetArgsPartial(_)
        | Delta::GadgetCall(_) => 0,
    }
}

fn json_size(map: &serde_json::Map<String, Value>) -> usize {
    let each = map.iter();
    each.map(|(key, value)| key.len() + value_size(value)).sum()
}

/// Roughly the bytes that a value takes.
fn value_size(value: &Value) -> usize {
    16 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_size).sum(),
        Value::Object(map) => json_size(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMIT: usize = 100_000;

    /// The bytes that a delta adds, the first block of reasoning apart.
    #[track_caller]
    fn check(delta: Value, bytes: usize) {
        let delta: Delta = serde_json::from_value(delta).expect("a delta");
        assert_eq!(size(&delta), bytes, "{delta:?}");
        let mut read = ReplySize::default();
        let is_reasoning = matches!(delta, Delta::Reasoning { .. });
        let block = if is_reasoning && bytes > 0 { BLOCK } else { 0 };
        assert_eq!(read.admit(delta.clone(), LIMIT), Some(delta));
        assert_eq!((read.bytes, read.is_full), (bytes + block, false));
    }

    #[test]
    fn every_delta_counts_what_is_kept_of_it() {
        let data = json!({ "key": "value", "list": [1, null, "ab"] });
        // 16 for each value, and the texts.
        let data_size = 16 + (3 + 16 + 5) + (4 + 16 + 16 + 16 + (16 + 2));
        check(json!({ "type": "text", "delta": "caf\u{e9}" }), 5);
        check(json!({ "type": "reasoning", "delta": "hm" }), 2);
        check(json!({ "type": "reasoning", "delta": "" }), 0);
        check(
            json!({ "type": "text", "delta": "abc", "metadata": { "extensions": { "n": "xy" } } }),
            3 + BLOCK + 1 + 16 + 2,
        );
        check(
            json!({ "type": "tool_call_start", "id": "t1", "name": "Bell" }),
            BLOCK + 2 + 4,
        );
        check(
            json!({ "type": "tool_call_delta", "id": "t1", "delta": "{\"a\"" }),
            4,
        );
        check(
            json!({ "type": "tool_call_end", "id": "t1", "input": data }),
            data_size,
        );
        check(json!({ "type": "tool_call_end", "id": "t1" }), 0);
        check(
            json!({ "type": "tool_call", "id": "t1", "name": "Bell", "input": data }),
            BLOCK + 2 + 4 + data_size,
        );
        check(json!({ "type": "error", "error": "broken" }), BLOCK + 6);
        let metadata =
            json!({ "citations": ["abc"], "annotations": [data], "extensions": { "n": 1 } });
        let metadata_size = BLOCK + (1 + 16) + (16 + 3) + data_size;
        check(
            json!({ "type": "content_metadata", "metadata": metadata }),
            metadata_size,
        );
        check(
            json!({ "type": "reasoning_metadata", "metadata": metadata }),
            metadata_size,
        );
        check(
            json!({ "type": "provider_data", "api": "a", "model": "m", "data": data }),
            BLOCK + data_size,
        );
        check(json!({ "type": "usage", "usage": {} }), 0);
    }

    fn text(text: &str) -> Delta {
        Delta::text(text)
    }

    #[test]
    fn text_beyond_the_limit_is_cut_off() {
        for (delta, limit, kept) in [
            ("12345", 5, Some("12345")),
            ("12345", 6, Some("12345")),
            ("12345", 4, Some("1234")),
            ("\u{e9}\u{e9}\u{e9}", 3, Some("\u{e9}")),
            ("1", 0, Some("")),
        ] {
            let mut size = ReplySize::default();
            assert_eq!(
                size.admit(text(delta), limit),
                kept.map(text),
                "{delta} {limit}"
            );
            let is_full = delta.len() > limit;
            assert_eq!(size.is_full(), is_full, "{delta} {limit}");
            let next = size.admit(text("x"), LIMIT);
            assert_eq!(next.is_none(), is_full, "{delta} {limit}");
        }
        let mut size = ReplySize::default();
        let start = Delta::ToolCallStart {
            id: "t1".to_owned(),
            name: "Bell".to_owned(),
        };
        assert_eq!(
            size.admit(start, BLOCK + 5),
            None,
            "half of it would be malformed"
        );
        assert!(size.is_full());
    }

    #[test]
    fn each_change_between_text_and_reasoning_is_a_block() {
        let reasoning = |text: &str| Delta::Reasoning {
            delta: text.to_owned(),
            metadata: None,
        };
        let mut size = ReplySize::default();
        for (delta, bytes) in [
            (text("a"), 1),
            (reasoning(""), 1),
            (reasoning("b"), BLOCK + 2),
            (reasoning("c"), BLOCK + 3),
            (text(""), BLOCK + 3),
            (text("d"), 2 * BLOCK + 4),
        ] {
            size.admit(delta, LIMIT);
            assert_eq!(size.bytes, bytes);
        }
    }

    #[test]
    fn a_block_counts_even_if_it_is_empty() {
        let mut size = ReplySize::default();
        for (limit, is_full) in [(BLOCK, false), (2 * BLOCK - 1, true), (LIMIT, true)] {
            size.add_block(limit);
            assert_eq!(
                size.is_full(),
                is_full,
                "{limit}: a full reply remains full"
            );
        }
    }
}
