//! Listing, choosing, adding and removing; what a model tells of itself.

use gadgetry_proto::usage::Tier;
use gadgetry_providers::model::ModelInfo;
use gadgetry_providers::models::{Feature, Features, Mode, ModelFilter, ModelRegistry, ModelSpec};

use super::{day, flat, priced, registry, usage};

fn zoo() -> ModelRegistry {
    let local = ModelSpec {
        is_local: true,
        ..ModelSpec::new("ollama", "ollama/tiny")
    };
    let long = ModelSpec {
        context_window: Some(1_000_000),
        max_output_tokens: Some(1_000),
        features: [Feature::Vision, Feature::Tools].into(),
        ..priced("acme/long", 2.0, 2.0)
    };
    let short = ModelSpec {
        context_window: Some(8_000),
        features: [Feature::Vision].into(),
        ..priced("bolt/Short", 1.0, 10.0)
    };
    let old = ModelSpec {
        deprecation_date: Some(day("2026-03-01")),
        mode: Mode::Completion,
        ..priced("bolt/old", 0.5, 0.5)
    };
    registry([
        local,
        long,
        short,
        old,
        ModelSpec::new("acme", "acme/secret"),
    ])
}

#[track_caller]
fn check_list(filter: &ModelFilter, ids: &[&str]) {
    let models = zoo();
    let listed: Vec<&str> = models.list(filter).map(|spec| spec.id.as_str()).collect();
    assert_eq!(listed, ids, "{filter:?}");
}

#[test]
fn filters() {
    let all = ModelFilter::default;
    check_list(
        &all(),
        &[
            "acme/long",
            "acme/secret",
            "bolt/old",
            "bolt/Short",
            "ollama/tiny",
        ],
    );
    check_list(
        &ModelFilter {
            provider: Some("ACME".into()),
            ..all()
        },
        &["acme/long", "acme/secret"],
    );
    check_list(
        &ModelFilter {
            text: Some("SHO".into()),
            ..all()
        },
        &["bolt/Short"],
    );
    check_list(
        &ModelFilter {
            mode: Some(Mode::Completion),
            ..all()
        },
        &["bolt/old"],
    );
    check_list(
        &ModelFilter {
            features: [Feature::Vision].into(),
            ..all()
        },
        &["acme/long", "bolt/Short"],
    );
    let both = [Feature::Vision, Feature::Tools].into();
    check_list(
        &ModelFilter {
            features: both,
            ..all()
        },
        &["acme/long"],
    );
    check_list(
        &ModelFilter {
            min_context_window: Some(8_000),
            ..all()
        },
        &["acme/long", "bolt/Short"],
    );
    check_list(
        &ModelFilter {
            min_context_window: Some(8_001),
            ..all()
        },
        &["acme/long"],
    );
    check_list(
        &ModelFilter {
            is_local: Some(true),
            ..all()
        },
        &["ollama/tiny"],
    );
    check_list(
        &ModelFilter {
            priced: true,
            is_local: Some(false),
            ..all()
        },
        &["acme/long", "bolt/old", "bolt/Short"],
    );
    check_list(
        &ModelFilter {
            current_on: Some(day("2026-02-28")),
            provider: Some("bolt".into()),
            ..all()
        },
        &["bolt/old", "bolt/Short"],
    );
    check_list(
        &ModelFilter {
            current_on: Some(day("2026-03-01")),
            provider: Some("bolt".into()),
            ..all()
        },
        &["bolt/Short"],
    );
    let models = zoo();
    let seeing = models
        .by_feature(Feature::Vision)
        .map(|spec| spec.id.as_str());
    assert_eq!(seeing.collect::<Vec<_>>(), ["acme/long", "bolt/Short"]);
}

#[test]
fn the_cheapest_that_can_do_it() {
    let models = zoo();
    let current = ModelFilter {
        current_on: Some(day("2026-06-01")),
        ..ModelFilter::default()
    };
    let local = ModelFilter {
        is_local: Some(true),
        ..ModelFilter::default()
    };
    let anything = ModelFilter::default();
    let cases = [
        (1_000, 0, &anything, Some(("bolt/old", 0.0005))),
        (1_000, 0, &current, Some(("bolt/Short", 0.001))),
        (1_000, 1_000, &current, Some(("acme/long", 0.004))), // the output decides
        (9_000, 0, &current, Some(("acme/long", 0.018))),     // too much for the short one
        (1_000, 1_001, &current, Some(("bolt/Short", 0.01101))), // too much for the long one
        (9_000, 1_001, &current, None),
        (1_000, 0, &local, Some(("ollama/tiny", 0.0))),
    ];
    for (input, output, filter, expected) in cases {
        let found = models.cheapest(input, output, filter);
        let found = found.map(|(spec, dollars)| (spec.id.as_str(), (dollars * 1e9).round() / 1e9));
        assert_eq!(found, expected, "{input} {output}");
    }
    // Prices of longer requests count, and of the same prices the first.
    let tier = Tier {
        above: 100,
        price: flat(9.0, 9.0),
    };
    let tiered = flat(1.0, 1.0).tiers(vec![tier]);
    let tiered = ModelSpec {
        price: Some(tiered),
        ..ModelSpec::new("a", "a")
    };
    let models = registry([tiered, priced("c", 2.0, 2.0), priced("b", 2.0, 2.0)]);
    let cheapest = |input| {
        models
            .cheapest(input, 0, &anything)
            .map(|(spec, _)| &*spec.id)
    };
    assert_eq!((cheapest(100), cheapest(101)), (Some("a"), Some("b")));
}

#[test]
fn what_is_registered_replaces_and_is_taken_out() {
    let shared = ModelRegistry::builtin();
    let mut models = shared.clone();
    let mine = priced("GPT-4o", 1.0, 1.0);
    let replaced = models.register(mine.clone()).expect("the one in the table");
    assert_eq!(replaced.id, "gpt-4o");
    assert_eq!(models.get("gpt-4o"), Some(&mine));
    assert_eq!(models.register(priced("acme/new", 1.0, 1.0)), None);
    assert_eq!(models.len(), shared.len() + 1);
    assert_eq!(models.unregister(" gpt-4O"), Some(mine));
    assert_eq!(models.unregister("gpt-4o"), None);
    // Others do not notice.
    assert_eq!(shared.price("gpt-4o").map(|price| price.input), Some(2.5));
    assert!(ModelRegistry::empty().is_empty());
}

#[test]
fn a_price_of_nothing_is_unknown() {
    let free = priced("acme/free", 0.0, 0.0);
    let local = ModelSpec {
        is_local: true,
        ..free.clone()
    };
    let silent = ModelSpec {
        is_local: true,
        ..ModelSpec::new("acme", "acme/free")
    };
    let wrong = priced("acme/free", f64::NAN, -1.0);
    let cases = [
        (free, None),
        (local, Some(0.0)),
        (silent, Some(0.0)),
        (wrong, None),
    ];
    for (spec, dollars) in cases {
        let models = registry([spec]);
        assert_eq!(models.estimate("acme/free", &usage(10, 10)), dollars);
    }
}

#[test]
fn a_specification_converts_to_model_info() {
    let spec = ModelSpec {
        context_window: Some(8_000),
        features: [Feature::Vision].into(),
        ..priced("acme/large", 1.0, 2.0)
    };
    let info = ModelInfo::default()
        .context_window(8_000)
        .price(flat(1.0, 2.0))
        .is_local(false)
        .reads_images(true)
        .reads_audio(false)
        .mode(Mode::Chat);
    assert_eq!(spec.info(), info);
    let local = ModelSpec {
        is_local: true,
        features: [Feature::Audio].into(),
        ..ModelSpec::new("ollama", "ears")
    };
    let info = ModelInfo::default().is_local(true).reads_audio(true);
    assert_eq!(local.info(), info);
}

#[test]
fn features_are_a_set_with_names() {
    for feature in Feature::ALL {
        assert_eq!(Feature::from_name(feature.name()), Some(feature));
        let only = Features::from([feature, feature]);
        assert_eq!(only.iter().collect::<Vec<_>>(), [feature]);
        let text = serde_json::to_string(&only).expect("names");
        assert_eq!(text, format!("[\"{feature}\"]"));
    }
    let all: Features = Feature::ALL.into_iter().collect();
    assert!(all.contains_all(Features::default()) && !Features::default().contains_all(all));
    // Of a newer table.
    let read: Features = serde_json::from_str(r#"["telepathy", "tools"]"#).expect("names");
    assert_eq!(read, [Feature::Tools].into());
}
