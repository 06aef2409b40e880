//! Token counts, as the many servers write them.

use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};

/// The counts of a chunk or reply, if it has any. `{}` and `null` have none.
///
/// They are in `usage`; Groq's are in `x_groq.usage`, Moonshot's in the choice.
pub(super) fn of(body: &Value) -> Option<Usage> {
    let groq = || body.get("x_groq")?.get("usage");
    let moonshot = || body.get("choices")?.get(0)?.get("usage");
    let places = [body.get("usage"), groq(), moonshot()];
    places.into_iter().flatten().find_map(counts)
}

/// Counts as Chat Completions writes them.
pub(super) fn chat(usage: &Usage) -> Value {
    let usage = whole(usage);
    let mut counts = json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    });
    if let Some(cost) = usage.cost {
        counts["cost"] = cost.into();
    }
    counts
}

/// Counts as the Responses API writes them.
pub(super) fn responses(usage: &Usage) -> Value {
    let usage = whole(usage);
    let mut counts = json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    });
    if let Some(cost) = usage.cost {
        counts["cost"] = cost.into();
    }
    counts
}

/// Counts with the reasoning as a part of the output.
fn whole(usage: &Usage) -> Usage {
    usage.plus(Usage::default())
}

fn counts(usage: &Value) -> Option<Usage> {
    usage.as_object()?;
    let input = first(usage, &["/prompt_tokens", "/input_tokens"]);
    let output = first(usage, &["/completion_tokens", "/output_tokens"]);
    let total = first(usage, &["/total_tokens"]);
    let reasoning = first(
        usage,
        &[
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ],
    );
    let cached = first(
        usage,
        &[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ],
    );
    let written = first(
        usage,
        &[
            "/prompt_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_creation_tokens",
            "/input_tokens_details/cache_write_tokens",
            "/cache_creation_input_tokens",
        ],
    );
    // Some servers do not include reasoning in the output, as their total shows: with 10 tokens in, 20 out and 5 of
    // reasoning the total is 30 if it is included, and 35 if not. Ours always includes it.
    let is_separate =
        reasoning > output || total == input.saturating_add(output).saturating_add(reasoning);
    let output = if is_separate {
        output.saturating_add(reasoning)
    } else {
        output
    };
    let usage = Usage::default()
        .input_tokens(input)
        .output_tokens(output)
        .total_tokens(if total == 0 {
            input.saturating_add(output)
        } else {
            total
        })
        .reasoning_tokens(reasoning)
        .cached_input_tokens(cached)
        .cache_creation_tokens(written)
        .cost(
            ["/cost", "/cost/total_cost"]
                .iter()
                .find_map(|place| dollars(usage.pointer(place)?)),
        );
    (usage != Usage::default()).then_some(usage)
}

/// Returns the cost of the request, as OpenRouter and Perplexity report it. Invalid amounts are ignored.
fn dollars(value: &Value) -> Option<f64> {
    let amount = value.as_f64();
    amount.filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// The first place that has a count.
fn first(usage: &Value, places: &[&str]) -> u64 {
    let mut counts = places.iter().filter_map(|place| usage.pointer(place));
    counts.find_map(count).unwrap_or(0)
}

/// A count, also as a float or as text. Negative ones are ignored.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates"
)]
fn count(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|count| *count >= 0.0);
    value
        .as_u64()
        .or_else(|| float().map(|count| count as u64))
        .or_else(|| value.as_str()?.parse().ok())
}
