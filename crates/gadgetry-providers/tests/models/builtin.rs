//! The table in the crate: its head, every line of it, and prices by hand.
//!
//! When `cargo xtask models` brings other prices for the models here, compare them with the providers' pages.

use gadgetry_proto::usage::{Price, Usage};
use gadgetry_providers::models::{Feature, ModelFilter, ModelRegistry, ModelSpec};

use super::{day, usage};

#[test]
fn the_built_in_table_names_its_source() {
    let models = ModelRegistry::builtin();
    let head = models.provenance();
    assert_eq!(head.source, "litellm");
    let numbers: Vec<&str> = head.version.split('.').collect();
    assert!(
        numbers.len() == 3 && numbers.iter().all(|it| it.parse::<u32>().is_ok()),
        "{}",
        head.version
    );
    assert!(head.date >= Some(day("2026-11-21")), "{:?}", head.date);
    // That the count in the head is the number of models is a condition of reading it.
    assert!(models.len() > 3_000, "{}", models.len());
}

/// The built-in table is read piece by piece, and a file whole.
#[test]
fn the_pieces_are_the_whole() {
    let table = include_bytes!("../../data/models.json.gz");
    let (whole, pieces) = (
        ModelRegistry::from_json(&table[..]).expect("a table"),
        ModelRegistry::builtin(),
    );
    let all = ModelFilter::default();
    assert!(whole.list(&all).eq(pieces.list(&all)));
    assert_eq!(whole.provenance(), pieces.provenance());
}

#[test]
fn every_model_is_sound() {
    let models = ModelRegistry::builtin();
    for spec in models.list(&ModelFilter::default()) {
        let id = &spec.id;
        assert!(!id.is_empty() && !id.contains('*'), "{id}");
        assert_eq!(spec.provider, spec.provider.to_lowercase(), "{id}");
        assert_eq!(models.get(id), Some(spec), "{id}");
        assert!(
            spec.context_window != Some(0) && spec.max_output_tokens != Some(0),
            "{id}"
        );
        match &spec.price {
            Some(price) if spec.is_local => assert_eq!(*price, Price::default(), "{id}"),
            Some(price) => check_price(id, price),
            None => assert!(!spec.is_local, "{id}"),
        }
        spec.batch_price
            .iter()
            .for_each(|price| check_price(id, price));
    }
}

fn check_price(id: &str, price: &Price) {
    let further = [
        price.cached_input,
        price.cache_write_input,
        price.cache_write_1h_input,
        price.reasoning_output,
    ];
    for rate in further
        .into_iter()
        .flatten()
        .chain([price.input, price.output])
    {
        // A dollar a token would be a mistake in the table.
        assert!(rate > 0.0 && rate < 1e6, "{id}: {rate}");
    }
    let mut above = 0;
    for tier in &price.tiers {
        assert!(tier.above > above, "{id}: {price:?}");
        assert_eq!(tier.price.tiers, [], "{id}");
        above = tier.above;
        check_price(id, &tier.price);
    }
}

/// Dollars for this usage, and for a batch with it.
#[track_caller]
fn check(id: &str, usage: Usage, dollars: f64, in_batch: f64) {
    let models = ModelRegistry::builtin();
    let spec = models.get(id).expect("a model that is known");
    let cost = spec.estimate(&usage).expect("a price");
    assert!(
        (cost - dollars).abs() < 1e-9,
        "{id}: {cost} and not {dollars}"
    );
    let price = spec.batch_price.as_ref().expect("a price in batches");
    let cost = price.cost(&usage);
    assert!(
        (cost - in_batch).abs() < 1e-9,
        "{id}, batch: {cost} and not {in_batch}"
    );
}

#[test]
fn prices_by_hand() {
    let million = 1_000_000;
    let read = |usage: Usage, tokens| usage.cached_input_tokens(tokens);
    // $2.50 and $10; half of it in batches.
    check("gpt-4o", usage(million, million), 12.5, 6.25);
    check("gpt-4o", read(usage(million, 0), million), 1.25, 1.25);
    // $2.50 and $15, read $0.25; from 272,000 on twice the input and half as much again for the output.
    check("gpt-5.4", usage(272_000, 100_000), 0.68 + 1.5, 0.34 + 0.75);
    check(
        "gpt-5.4",
        usage(272_001, 100_000),
        1.360_005 + 2.25,
        0.680_002_5 + 1.125,
    );
    check(
        "gpt-5.4",
        read(usage(400_000, 0), 300_000),
        0.5 + 0.15,
        0.25 + 0.075,
    );
    // $3 and $15, written $3.75 and $6, read $0.30; half of it in batches.
    let sonnet = usage(200_000, 10_000)
        .cached_input_tokens(100_000)
        .cache_creation_tokens(60_000)
        .cache_creation_1h_tokens(20_000)
        .reasoning_tokens(4_000);
    let dollars = 0.04 * 3.0 + 0.1 * 0.3 + 0.04 * 3.75 + 0.02 * 6.0 + 0.01 * 15.0;
    check("claude-sonnet-4-5", sonnet, dollars, dollars / 2.0);
    // $1.25 and $10, from 200,000 on $2.50 and $15; thoughts are counted beside the output.
    let thoughts = |input| {
        usage(input, 1_000)
            .reasoning_tokens(9_000)
            .reasoning_outside_output(true)
    };
    check(
        "gemini/gemini-2.5-pro",
        thoughts(200_000),
        0.25 + 0.1,
        0.125 + 0.05,
    );
    check(
        "gemini/gemini-2.5-pro",
        thoughts(300_000),
        0.75 + 0.15,
        0.375 + 0.075,
    );
}

#[test]
fn four_ranges_are_three_tiers() {
    let models = ModelRegistry::builtin();
    let cases = [
        (32_000, 0.032),
        (32_001, 0.057_601_8),
        (128_001, 0.384_003),
        (256_001, 1.536_006),
    ];
    for (input, dollars) in cases {
        let cost = models.estimate("dashscope/qwen3-coder-plus", &usage(input, 0));
        let cost = cost.expect("a price");
        assert!((cost - dollars).abs() < 1e-9, "{input}: {cost}");
    }
}

#[test]
fn nothing_is_a_price_on_this_machine_alone() {
    let models = ModelRegistry::builtin();
    let cases = [
        ("ollama/llama3", Some(0.0), true),
        // The same program asks a server for these.
        ("ollama/gpt-oss:120b-cloud", None, false),
        ("github_copilot/gpt-4o", None, false),
        ("claude-sonnet-4-5", Some(3.0), false),
    ];
    for (id, dollars, local) in cases {
        let spec = models.get(id).expect("a model that is known");
        assert_eq!(spec.estimate(&usage(1_000_000, 0)), dollars, "{id}");
        assert_eq!(spec.is_local, local, "{id}");
    }
}

#[test]
fn limits_and_features() {
    let models = ModelRegistry::builtin();
    let limits = models.limits("claude-sonnet-4-5").expect("a known model");
    assert_eq!(limits.context_window, Some(200_000));
    assert_eq!(limits.max_output_tokens, Some(64_000));
    let features = |id| -> Vec<Feature> {
        let spec: &ModelSpec = models.get(id).expect("a known model");
        spec.features.iter().collect()
    };
    assert_eq!(features("gemini/gemini-2.5-pro"), Feature::ALL);
    assert_eq!(features("ollama/llama3"), [Feature::Streaming]);
    // The models that gadgets are made for: a quarter of the table.
    let without = models.len() - models.by_feature(Feature::Tools).count();
    assert!(without > 800, "{without}");
}
