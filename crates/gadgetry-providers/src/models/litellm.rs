//! LiteLLM's `model_prices_and_context_window.json`: dollars a token, and flat keys for everything.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use gadgetry_proto::usage::{Price, Tier};
use serde_json::{Map, Value};

use crate::model::Mode;
use crate::models::names;
use crate::models::spec::{Feature, Features, ModelSpec};
use crate::models::table::{Provenance, Table, TableError, bounded};

type Entry = Map<String, Value>;

/// Self-hosted servers.
const LOCAL: [&str; 8] = [
    "docker_model_runner",
    "hosted_vllm",
    "lemonade",
    "llamafile",
    "lm_studio",
    "ollama",
    "vllm",
    "xinference",
];

impl Table {
    /// Reads LiteLLM's format or ours, with gzip around it or not.
    pub(super) fn read(reader: impl Read) -> Result<Self, TableError> {
        let mut bytes = bounded(reader)?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            bytes = bounded(GzDecoder::new(bytes.as_slice()))?;
        }
        let value: Value = serde_json::from_slice(&bytes)?;
        let is_own = value.get("models").is_some_and(Value::is_array);
        let table = match value.as_object() {
            Some(entries) if !is_own => read(entries),
            _ => serde_json::from_value(value)?,
        };
        table.checked()
    }
}

/// The models that write text. Everything else, and invalid entries, are skipped.
fn read(entries: &Entry) -> Table {
    let models = entries.iter().filter_map(|(id, entry)| {
        // A `*` means many regions, which no request can name.
        let listed = !id.contains('*');
        listed.then(|| spec(id, entry.as_object()?)).flatten()
    });
    let provenance = Provenance {
        source: "litellm".to_owned(),
        ..Provenance::default()
    };
    Table::new(provenance, models.collect())
}

fn spec(id: &str, entry: &Entry) -> Option<ModelSpec> {
    let mode = match entry.get("mode")?.as_str()? {
        "chat" => Mode::Chat,
        "responses" => Mode::Responses,
        "completion" => Mode::Completion,
        _ => return None,
    };
    let provider = names::provider(entry.get("litellm_provider")?.as_str()?).into_owned();
    // Ollama sells models in its cloud under the same name.
    let is_local = LOCAL.contains(&provider.as_str()) && !id.ends_with("-cloud");
    let date = entry.get("deprecation_date").and_then(Value::as_str);
    let spec = ModelSpec {
        mode,
        context_window: tokens(entry, "max_input_tokens"),
        max_output_tokens: tokens(entry, "max_output_tokens"),
        price: price(entry),
        batch_price: tiered(entry, "_batches"),
        features: features(entry),
        deprecation_date: date.and_then(|date| date.parse().ok()),
        is_local,
        ..ModelSpec::new(provider, id)
    };
    Some(spec.settled())
}

fn features(entry: &Entry) -> Features {
    let says = |keys: &[&str]| {
        let mut values = keys.iter().map(|key| entry.get(*key));
        values.any(|value| value == Some(&Value::Bool(true)))
    };
    let mut features: Features = [
        (Feature::Tools, ["supports_function_calling"].as_slice()),
        (
            Feature::Vision,
            &["supports_vision", "supports_image_input"],
        ),
        (Feature::Audio, &["supports_audio_input"]),
        (Feature::Reasoning, &["supports_reasoning"]),
        (
            Feature::StructuredOutput,
            &[
                "supports_response_schema",
                "supports_native_structured_output",
            ],
        ),
        (Feature::PromptCaching, &["supports_prompt_caching"]),
    ]
    .into_iter()
    .filter_map(|(feature, keys)| says(keys).then_some(feature))
    .collect();
    // Nearly all do, so the table names those that do not.
    if entry.get("supports_native_streaming") != Some(&Value::Bool(false)) {
        features.insert(Feature::Streaming);
    }
    features
}

fn price(entry: &Entry) -> Option<Price> {
    tiered(entry, "").or_else(|| ranges(entry.get("tiered_pricing")?.as_array()?))
}

/// The price under the keys that end like this, and those for longer requests, like `input_cost_per_token_above_200k_tokens`.
fn tiered(entry: &Entry, suffix: &str) -> Option<Price> {
    let mut price = rates(entry, "", suffix)?;
    if let Some(standard) = rates(entry, "", "") {
        // Not reads: a batch finds less in a cache, and some providers take nothing off then.
        fill_in_writes(&mut price, &standard);
    }
    let thousands = entry.keys().filter_map(|key| {
        let rest = key.strip_prefix("input_cost_per_token_above_")?;
        let number = rest.strip_suffix(suffix)?.strip_suffix("k_tokens")?;
        number.parse::<u32>().ok()
    });
    let thousands: BTreeSet<u32> = thousands.collect();
    let tiers = thousands.into_iter().filter_map(|thousands| {
        let mut tier = rates(entry, &format!("_above_{thousands}k_tokens"), suffix)?;
        fill_in_writes(&mut tier, &price);
        let read = share(price.cached_input, &price, tier.input);
        tier.cached_input = tier.cached_input.or(read);
        Some(Tier {
            above: u64::from(thousands) * 1_000,
            price: tier,
        })
    });
    price.tiers = tiers.collect();
    Some(price)
}

/// Alibaba's form: the whole price for each range of input tokens.
fn ranges(ranges: &[Value]) -> Option<Price> {
    let mut tiers: Vec<Tier> = Vec::new();
    for range in ranges {
        let entry = range.as_object()?;
        let above = whole(entry.get("range")?.get(0)?)?;
        let price = rates(entry, "", "")?;
        tiers.push(Tier { above, price });
    }
    tiers.sort_by_key(|tier| tier.above);
    let mut tiers = tiers.into_iter();
    let price = tiers.next().filter(|tier| tier.above == 0)?.price;
    let tiers = tiers.collect();
    Some(price.tiers(tiers))
}

/// The rates under keys with these endings. Without both input and output the price is unknown; a rate of 0 is unknown, too.
fn rates(entry: &Entry, above: &str, suffix: &str) -> Option<Price> {
    let rate = |key: &str| rate(entry.get(&format!("{key}{above}{suffix}"))?);
    let price = Price::default()
        .input(rate("input_cost_per_token")?)
        .output(rate("output_cost_per_token")?)
        .cached_input(rate("cache_read_input_token_cost"))
        .cache_write_input(rate("cache_creation_input_token_cost"))
        .cache_write_1h_input(rate("cache_creation_input_token_cost_above_1hr"))
        .reasoning_output(rate("output_cost_per_reasoning_token"))
        .tiers(Vec::new());
    let is_output = |rate: &f64| rate.total_cmp(&price.output).is_eq();
    let reasoning_output = price.reasoning_output.filter(|rate| !is_output(rate));
    Some(price.reasoning_output(reasoning_output))
}

/// Gives a rate for cache writes that the table does not tell the share of the input rate that it has elsewhere: that is
/// how providers set it.
fn fill_in_writes(price: &mut Price, like: &Price) {
    price.cache_write_input = price
        .cache_write_input
        .or_else(|| share(like.cache_write_input, like, price.input));
    price.cache_write_1h_input = price
        .cache_write_1h_input
        .or_else(|| share(like.cache_write_1h_input, like, price.input));
}

/// Scales `rate` from its own input rate to another input rate.
fn share(rate: Option<f64>, own: &Price, input: f64) -> Option<f64> {
    rate.map(|rate| (rate * input / own.input * 1e9).round() / 1e9)
}

/// Dollars a million tokens, from dollars a token, by moving the decimal point.
fn rate(per_token: &Value) -> Option<f64> {
    let per_token = match per_token {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    if !per_token.is_finite() || per_token <= 0.0 {
        return None;
    }
    let scientific = format!("{per_token:e}");
    let (digits, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    format!("{digits}e{}", exponent + 6).parse().ok()
}

fn tokens(entry: &Entry, key: &str) -> Option<u64> {
    whole(entry.get(key)?).filter(|tokens| *tokens > 0)
}

/// A count, which the table writes as `200000`, `2e5` or `"200000"`.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| exact(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number below 2^53"
)]
fn exact(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    fits.then_some(number as u64)
}
