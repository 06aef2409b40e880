//! The cap on the length of one reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::Delta;

/// Bytes that a block costs in addition to its text: its entry in the message and its events.
///
/// Without it, a reply of empty blocks would be free and could still fill the memory.
const BLOCK: usize = 512;

/// How many bytes of a reply were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplySize {
    bytes: usize,
    is_full: bool,
    /// Whether the last delta was reasoning: each change between text and reasoning begins a block.
    in_reasoning: bool,
}

impl ReplySize {
    /// Whether the reply has reached its limit. Nothing more of it is read.
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
        Delta::Error { error, .. } => BLOCK + error.len(),
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
