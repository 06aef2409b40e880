//! The registry of models: the table in the crate, names, filters, LiteLLM's format, files.

mod builtin;
mod files;
mod litellm;
mod names;
mod registry;
#[cfg(feature = "tokens")]
mod tokens;

use gadgetry_proto::usage::{Price, Usage};
use gadgetry_providers::models::{Date, ModelRegistry, ModelSpec};

fn flat(input: f64, output: f64) -> Price {
    Price::default().input(input).output(output)
}

/// `provider/name` with a price.
fn priced(id: &str, input: f64, output: f64) -> ModelSpec {
    let provider = id.split('/').next().unwrap_or(id);
    ModelSpec {
        price: Some(flat(input, output)),
        ..ModelSpec::new(provider, id)
    }
}

fn registry(specs: impl IntoIterator<Item = ModelSpec>) -> ModelRegistry {
    let mut models = ModelRegistry::empty();
    for spec in specs {
        models.register(spec);
    }
    models
}

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage::default()
        .input_tokens(input_tokens)
        .output_tokens(output_tokens)
}

fn day(text: &str) -> Date {
    text.parse().expect("a day")
}
