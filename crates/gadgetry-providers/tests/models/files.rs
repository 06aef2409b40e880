//! Tables as files: what is written is read again, what is broken is told, and what a new one changes.

use std::fs;
use std::io::Read;

use gadgetry_proto::usage::Tier;
use gadgetry_providers::models::{
    Date, ModelFilter, ModelRegistry, ModelSpec, Provenance, TableError,
};

use super::{day, flat, priced, registry};

fn specs(models: &ModelRegistry) -> Vec<ModelSpec> {
    models.list(&ModelFilter::default()).cloned().collect()
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("models.json.gz");
    let again = folder.path().join("again.json.gz");
    let models = ModelRegistry::builtin();
    models.save(&path).expect("saved");
    let loaded = ModelRegistry::load(&path).expect("loaded");
    assert_eq!(specs(&loaded), specs(&models));
    assert_eq!(loaded.provenance(), models.provenance());
    // The same bytes whenever it is written, and nothing else left beside them.
    loaded.save(&again).expect("saved");
    assert_eq!(fs::read(&path).ok(), fs::read(&again).ok());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    // An old one is replaced.
    registry([priced("acme/a", 1.0, 1.0)])
        .save(&path)
        .expect("saved");
    assert_eq!(ModelRegistry::load(&path).expect("loaded").len(), 1);
}

#[test]
fn the_table_in_the_crate_is_as_it_would_be_written_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("models.json.gz");
    ModelRegistry::builtin().save(&path).expect("saved");
    let embedded = concat!(env!("CARGO_MANIFEST_DIR"), "/data/models.json.gz");
    let unzip = |path: &std::path::Path| {
        let file = fs::File::open(path).expect("a file");
        let mut text = String::new();
        let mut gzip = flate2::read::GzDecoder::new(file);
        gzip.read_to_string(&mut text).expect("text");
        text
    };
    assert!(
        unzip(&path) == unzip(embedded.as_ref()),
        "run `cargo xtask models`"
    );
}

#[test]
fn invalid_model_tables_are_errors() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "EOF while parsing"),
        (b"{", "EOF while parsing"),
        (b"<html>", "expected value"),
        (b"\x1f\x8b\x08", "cannot read the model table: "),
        (b"[]", "malformed model table"),
        (b"{}", "the table contains no model"),
        (
            br#"{"count": 2, "models": [{"id": "a", "provider": "b"}]}"#,
            "truncated model table: 2 models announced, 1 found",
        ),
        (
            br#"{"count": 1, "models": [{"id": 5, "provider": "b"}]}"#,
            "expected a string",
        ),
    ];
    for (bytes, message) in cases {
        let text = String::from_utf8_lossy(bytes);
        let mut models = registry([priced("acme/a", 1.0, 1.0)]);
        let error = models
            .update(bytes, Provenance::default())
            .expect_err(&text);
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(specs(&models), [priced("acme/a", 1.0, 1.0)]);
    }
    let missing = ModelRegistry::load("/no/such/file".as_ref());
    assert!(matches!(missing, Err(TableError::Io(_))));
}

/// 65 MiB of spaces are 64 KiB compressed.
#[test]
fn a_bomb_is_not_unpacked() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::copy(&mut std::io::repeat(b' ').take(65 << 20), &mut gzip).expect("memory");
    let bomb = gzip.finish().expect("memory");
    let read = ModelRegistry::from_json(bomb.as_slice());
    assert!(matches!(read, Err(TableError::TooLarge)));
}

#[test]
fn an_update_lists_its_changes() {
    let batch = ModelSpec {
        batch_price: Some(flat(0.5, 0.5)),
        ..priced("acme/batch", 1.0, 1.0)
    };
    let mut models = registry([
        priced("acme/same", 1.0, 1.0),
        priced("acme/gone", 1.0, 1.0),
        priced("acme/dearer", 1.0, 1.0),
        ModelSpec::new("acme", "acme/longer"),
        batch.clone(),
    ]);
    models.alias("it", "acme/dearer");
    let tier = Tier {
        above: 1_000,
        price: flat(9.0, 9.0),
    };
    let tiered = flat(1.0, 1.0).tiers(vec![tier]);
    let new = registry([
        priced("acme/same", 1.0, 1.0),
        ModelSpec {
            price: Some(tiered),
            ..ModelSpec::new("acme", "acme/dearer")
        },
        ModelSpec {
            context_window: Some(9),
            ..ModelSpec::new("acme", "acme/longer")
        },
        ModelSpec {
            batch_price: None,
            ..batch
        },
        ModelSpec::new("acme", "acme/new"),
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table");
    new.save(&path).expect("saved");
    let told = Provenance {
        source: "https://example.com/prices.json".into(),
        version: String::new(),
        date: Some(day("2026-11-21")),
    };
    let bytes = fs::read(&path).expect("saved");
    let changes = models.update(&bytes, told.clone()).expect("a table");
    assert_eq!(changes.added, ["acme/new"]);
    assert_eq!(changes.removed, ["acme/gone"]);
    assert_eq!(
        changes.changed,
        ["acme/batch", "acme/dearer", "acme/longer"]
    );
    assert_eq!(changes.repriced, ["acme/batch", "acme/dearer"]);
    assert_eq!(changes.to_string(), "1 new, 1 gone, 3 changed (2 prices)");
    assert_eq!(models.provenance(), &told);
    assert_eq!(models.get("it").map(|spec| &*spec.id), Some("acme/dearer"));
    assert!(models.update(&bytes, told).expect("a table").is_empty());
}

#[test]
fn days() {
    let cases = [
        ("2026-11-30", true),
        ("2024-02-29", true),
        ("2000-02-29", true),
        ("2026-02-29", false),
        ("1900-02-29", false),
        ("2026-04-31", false),
        ("2026-00-10", false),
        ("2026-13-10", false),
        ("2026-10-00", false),
        ("2026-1-01", false),
        ("+026-10-10", false),
        ("2026/10/10", false),
        ("2026-10-10T00:00:00Z", false),
        ("date when the model becomes deprecated", false),
        ("２026-1-1", false),
        ("", false),
    ];
    for (text, is_day) in cases {
        let date: Option<Date> = text.parse().ok();
        let written = date.map(|date| date.to_string());
        assert_eq!(written.as_deref(), is_day.then_some(text), "{text}");
    }
    let seconds = [
        (0, "1970-01-01"),
        (86_399, "1970-01-01"),
        (86_400, "1970-01-02"),
        (951_782_400, "2000-02-29"),
        (951_868_800, "2000-03-01"),
        (1_767_225_599, "2025-12-31"),
        (1_767_225_600, "2026-01-01"),
        (u64::MAX, "9999-12-31"),
    ];
    for (seconds, text) in seconds {
        assert_eq!(Date::from_unix_seconds(seconds), day(text), "{seconds}");
    }
    let on = |date| {
        let spec = ModelSpec {
            deprecation_date: Some(day("2026-11-30")),
            ..ModelSpec::default()
        };
        spec.is_deprecated(day(date))
    };
    assert_eq!(
        [on("2026-11-29"), on("2026-11-30"), on("2027-01-01")],
        [false, true, true]
    );
    assert!(!ModelSpec::default().is_deprecated(day("2999-01-01")));
}
