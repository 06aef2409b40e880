//! LiteLLM's format: one entry in, one model out.

use gadgetry_proto::usage::{Price, Tier};
use gadgetry_providers::models::{Feature, Mode, ModelFilter, ModelRegistry, ModelSpec};
use serde_json::{Value, json};

use super::{day, flat};

/// The model that an entry becomes, beside one that makes sure that there is a table at all.
fn read(id: &str, entry: &Value) -> Option<ModelSpec> {
    let table = json!({
        id: entry,
        "control": {"mode": "chat", "litellm_provider": "acme"},
    });
    let models = ModelRegistry::from_json(table.to_string().as_bytes()).expect("a table");
    let all = ModelFilter::default();
    let mut found = models.list(&all).filter(|spec| spec.id != "control");
    found.next().cloned()
}

/// A chat model of `acme` with these fields, too.
fn entry(fields: &Value) -> Value {
    let mut entry = json!({"mode": "chat", "litellm_provider": "acme"});
    for (key, value) in fields.as_object().expect("fields") {
        entry[key] = value.clone();
    }
    entry
}

#[track_caller]
fn check(fields: &Value, change: impl FnOnce(&mut ModelSpec)) {
    let mut expected = ModelSpec {
        features: [Feature::Streaming].into(),
        ..ModelSpec::new("acme", "model")
    };
    change(&mut expected);
    assert_eq!(read("model", &entry(fields)), Some(expected), "{fields}");
}

#[track_caller]
fn check_price(fields: &Value, price: Option<Price>) {
    check(fields, |spec| spec.price = price);
}

#[test]
fn numbers_and_dates() {
    check(&json!({}), |_| {});
    let said = json!({"max_input_tokens": 200_000, "max_output_tokens": 8e3, "deprecation_date": "2026-11-30"});
    check(&said, |spec| {
        spec.context_window = Some(200_000);
        spec.max_output_tokens = Some(8_000);
        spec.deprecation_date = Some(day("2026-11-30"));
    });
    check(&json!({"max_input_tokens": "4096"}), |spec| {
        spec.context_window = Some(4_096);
    });
    // None of these is a number of tokens or a day.
    for wrong in [
        json!(0),
        json!(-1),
        json!(0.5),
        json!("many"),
        json!(1e300),
        json!(null),
        json!([1]),
    ] {
        check(
            &json!({"max_input_tokens": wrong, "deprecation_date": wrong}),
            |_| {},
        );
    }
    check(&json!({"deprecation_date": "2026-02-30"}), |_| {});
}

#[test]
fn features() {
    let cases = [
        (
            json!({"supports_function_calling": true}),
            vec![Feature::Tools],
        ),
        (json!({"supports_vision": true}), vec![Feature::Vision]),
        (json!({"supports_image_input": true}), vec![Feature::Vision]),
        (json!({"supports_audio_input": true}), vec![Feature::Audio]),
        (
            json!({"supports_reasoning": true}),
            vec![Feature::Reasoning],
        ),
        (
            json!({"supports_response_schema": true}),
            vec![Feature::StructuredOutput],
        ),
        (
            json!({"supports_native_structured_output": true}),
            vec![Feature::StructuredOutput],
        ),
        (
            json!({"supports_prompt_caching": true}),
            vec![Feature::PromptCaching],
        ),
        (
            json!({"supports_vision": false, "supports_audio_output": true}),
            vec![],
        ),
        (json!({"supports_native_streaming": true}), vec![]),
    ];
    for (fields, features) in cases {
        let features = features.into_iter().chain([Feature::Streaming]).collect();
        check(&fields, |spec| spec.features = features);
    }
    let whole = json!({"supports_native_streaming": false});
    check(&whole, |spec| spec.features = [].into());
}

#[test]
fn flat_prices() {
    let cases = [
        (
            json!({"input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5}),
            Some(flat(2.5, 10.0)),
        ),
        // The decimal point is moved: multiplied by a million it would be 0.27999999999999997.
        (
            json!({"input_cost_per_token": 2.8e-7, "output_cost_per_token": "4.2e-7"}),
            Some(flat(0.28, 0.42)),
        ),
        (
            json!({"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}),
            None,
        ),
        (
            json!({"input_cost_per_token": 0.0, "output_cost_per_token": 1e-6}),
            None,
        ),
        (json!({"input_cost_per_token": 1e-6}), None),
        (
            json!({"input_cost_per_token": -1e-6, "output_cost_per_token": 1e-6}),
            None,
        ),
        (
            json!({"input_cost_per_token": "dear", "output_cost_per_token": 1e-6}),
            None,
        ),
    ];
    for (fields, price) in cases {
        check_price(&fields, price);
    }
    let all = json!({
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.3e-6,
        "cache_creation_input_token_cost": 3.75e-6,
        "cache_creation_input_token_cost_above_1hr": 6e-6,
        "output_cost_per_reasoning_token": 20e-6,
    });
    let price = flat(3.0, 15.0)
        .cached_input(0.3)
        .cache_write_input(3.75)
        .cache_write_1h_input(6.0)
        .reasoning_output(20.0);
    check_price(&all, Some(price));
    // Nothing new, and nothing at all.
    let same = json!({
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "output_cost_per_reasoning_token": 15e-6,
        "cache_creation_input_token_cost": 0.0,
    });
    check_price(&same, Some(flat(3.0, 15.0)));
}

#[test]
fn prices_of_longer_requests() {
    let tiered = json!({
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.3e-6,
        "cache_creation_input_token_cost_above_1hr": 6e-6,
        "input_cost_per_token_above_200k_tokens": 6e-6,
        "output_cost_per_token_above_200k_tokens": 22.5e-6,
        "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 11e-6,
        "input_cost_per_token_above_128k_tokens": 4e-6,
        "output_cost_per_token_above_128k_tokens": 16e-6,
        "input_cost_per_token_above_512k_tokens": 9e-6, // without an output price it is none
        "input_cost_per_token_above_200k_tokens_priority": 99e-6,
    });
    let tier = |above, price| Tier { above, price };
    // What is not told is the same share of the input as below.
    let price = flat(3.0, 15.0)
        .cached_input(0.3)
        .cache_write_1h_input(6.0)
        .tiers(vec![
            tier(
                128_000,
                flat(4.0, 16.0).cached_input(0.4).cache_write_1h_input(8.0),
            ),
            tier(
                200_000,
                flat(6.0, 22.5).cached_input(0.6).cache_write_1h_input(11.0),
            ),
        ]);
    check_price(&tiered, Some(price));
}

#[test]
fn ranges_of_prices() {
    let range = |from: f64, to: f64, input: f64| json!({"range": [from, to], "input_cost_per_token": input, "output_cost_per_token": 1e-5});
    let ranges = json!({"tiered_pricing": [range(32e3, 64e3, 2e-6), range(0.0, 32e3, 1e-6)]});
    let tiers = vec![Tier {
        above: 32_000,
        price: flat(2.0, 10.0),
    }];
    check_price(&ranges, Some(flat(1.0, 10.0).tiers(tiers)));
    // Without a beginning, or without an output price, nobody knows.
    check_price(&json!({"tiered_pricing": [range(32e3, 64e3, 2e-6)]}), None);
    check_price(
        &json!({"tiered_pricing": [{"range": [0, 1], "input_cost_per_token": 1e-6}]}),
        None,
    );
    check_price(&json!({"tiered_pricing": []}), None);
}

#[test]
fn prices_of_batches() {
    let batches = json!({
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.3e-6,
        "cache_creation_input_token_cost_above_1hr": 6e-6,
        "input_cost_per_token_batches": 1.5e-6,
        "output_cost_per_token_batches": 7.5e-6,
        "input_cost_per_token_above_200k_tokens_batches": 3e-6,
        "output_cost_per_token_above_200k_tokens_batches": 11.25e-6,
    });
    check(&batches, |spec| {
        let written = |price: Price| price.cache_write_1h_input(6.0);
        spec.price = Some(written(flat(3.0, 15.0)).cached_input(0.3));
        spec.batch_price = Some(flat(1.5, 7.5).cache_write_1h_input(3.0).tiers(vec![Tier {
            above: 200_000,
            price: written(flat(3.0, 11.25)),
        }]));
    });
}

#[test]
fn who_serves_it() {
    let cases = [
        ("openai", "openai", false),
        ("text-completion-openai", "openai", false),
        ("bedrock_converse", "bedrock", false),
        ("vertex_ai-language-models", "vertex_ai", false),
        ("vertex_ai-anthropic_models", "vertex_ai", false),
        ("cohere_chat", "cohere", false),
        ("ollama", "ollama", true),
        ("lm_studio", "lm_studio", true),
    ];
    for (theirs, ours, local) in cases {
        let spec = read(
            "model",
            &json!({"mode": "chat", "litellm_provider": theirs}),
        )
        .expect("a model");
        assert_eq!((&*spec.provider, spec.is_local), (ours, local), "{theirs}");
    }
}

#[test]
fn only_what_writes_text_is_kept() {
    let cases = [
        ("chat", Some(Mode::Chat)),
        ("responses", Some(Mode::Responses)),
        ("completion", Some(Mode::Completion)),
        ("embedding", None),
        ("one of: chat, embedding", None),
    ];
    for (mode, kept) in cases {
        let spec = read("model", &json!({"mode": mode, "litellm_provider": "acme"}));
        assert_eq!(spec.map(|spec| spec.mode), kept, "{mode}");
    }
    let left_out = [
        ("model", json!({"mode": "chat"})),
        ("model", json!({"litellm_provider": "acme"})),
        ("model", json!("a comment")),
        (
            "bedrock/*/large",
            json!({"mode": "chat", "litellm_provider": "bedrock"}),
        ),
    ];
    for (id, entry) in left_out {
        assert_eq!(read(id, &entry), None, "{entry}");
    }
}
