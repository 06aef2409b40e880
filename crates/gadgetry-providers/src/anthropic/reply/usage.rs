//! Token counts of the Messages API.

use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};

/// Token counts reported so far. Each count is cumulative, and some frames leave some out or say 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Without what a cache has read or written.
    fresh: u64,
    read: u64,
    written: u64,
    /// The part of it that is kept for an hour.
    written_1h: u64,
    output: u64,
    reasoning: u64,
}

impl Counts {
    /// Takes in what a frame says.
    pub(super) fn add(&mut self, usage: &Value) {
        let count = |pointer: &str| usage.pointer(pointer).and_then(number).unwrap_or(0);
        self.fresh = self.fresh.max(count("/input_tokens"));
        self.read = self.read.max(count("/cache_read_input_tokens"));
        let minutes = count("/cache_creation/ephemeral_5m_input_tokens");
        let hour = count("/cache_creation/ephemeral_1h_input_tokens");
        let written = count("/cache_creation_input_tokens");
        self.written = self.written.max(written.max(minutes.saturating_add(hour)));
        self.written_1h = self.written_1h.max(hour);
        self.output = self.output.max(count("/output_tokens"));
        let thought = count("/output_tokens_details/thinking_tokens");
        let thought = thought.max(count("/output_tokens_details/reasoning_tokens"));
        self.reasoning = self.reasoning.max(thought);
    }

    pub(super) fn is_known(self) -> bool {
        self != Self::default()
    }

    pub(super) fn usage(self) -> Usage {
        let input = self.fresh.saturating_add(self.read);
        let input = input.saturating_add(self.written);
        // Anthropic leaves cached tokens out of the input; here they are a part of it.
        Usage::default()
            .input_tokens(input)
            .output_tokens(self.output)
            .total_tokens(input.saturating_add(self.output))
            .reasoning_tokens(self.reasoning)
            .cached_input_tokens(self.read)
            .cache_creation_tokens(self.written)
            .cache_creation_1h_tokens(self.written_1h)
    }
}

/// Counts as the API writes them: its input does not include cached tokens.
pub(super) fn of(usage: &Usage) -> Value {
    let usage = usage.plus(Usage::default());
    let (read, written) = (usage.cached_input_tokens, usage.cache_creation_tokens);
    let hour = usage.cache_creation_1h_tokens;
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(read).saturating_sub(written),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written.saturating_sub(hour),
            "ephemeral_1h_input_tokens": hour,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    })
}

/// A count, also as text. Negative and malformed ones are ignored.
fn number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}
