//! Tokens and what they cost.

use serde::{Deserialize, Serialize};

/// Token counts of one model call, as the provider reports them. Absent fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: u64,
    /// What the provider calls the total.
    pub total_tokens: u64,
    /// Part of `output_tokens` that was reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Part of `input_tokens` that was read from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Part of `input_tokens` that was written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Field by field the sum of both: the tokens of several model calls.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            total_tokens: self.total_tokens.saturating_add(other.total_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            cached_input_tokens: self
                .cached_input_tokens
                .saturating_add(other.cached_input_tokens),
            cache_creation_tokens: self
                .cache_creation_tokens
                .saturating_add(other.cache_creation_tokens),
        }
    }

    /// Field by field the larger of both: providers repeat a growing count within one reply.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            total_tokens: self.total_tokens.max(other.total_tokens),
            reasoning_tokens: self.reasoning_tokens.max(other.reasoning_tokens),
            cached_input_tokens: self.cached_input_tokens.max(other.cached_input_tokens),
            cache_creation_tokens: self.cache_creation_tokens.max(other.cache_creation_tokens),
        }
    }
}

/// What a model charges, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Input tokens that no cache knows.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from a cache; `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Input tokens written to a cache; `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<f64>,
    /// Output tokens that were reasoning; `output` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_output: Option<f64>,
}

impl Price {
    /// Dollars for `usage`. A provider's counts that contradict each other never make a part negative.
    ///
    /// The sum of, in tokens and dollars a million: `(input − cached − written) × input`, `cached × cached_input`,
    /// `written × cache_write_input`, `(output − reasoning) × output` and `reasoning × reasoning_output`. Cache reads and
    /// writes are parts of the input, reasoning is part of the output. Source: vectors K02 and K04 of the corpus.
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_input_tokens;
        let written = usage.cache_creation_tokens;
        let fresh = usage
            .input_tokens
            .saturating_sub(cached.saturating_add(written));
        let reasoning = usage.reasoning_tokens;
        let visible = usage.output_tokens.saturating_sub(reasoning);
        let dollars = fresh as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + written as f64 * self.cache_write_input.unwrap_or(self.input)
            + visible as f64 * self.output
            + reasoning as f64 * self.reasoning_output.unwrap_or(self.output);
        dollars / 1e6
    }
}
