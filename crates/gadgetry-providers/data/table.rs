//! Makes the table of models that is a part of the crate. `cargo xtask models` runs it:
//! `TABLE SOURCE VERSION DATE`, the first a file, the others what its head is to tell.
#![expect(clippy::print_stdout, reason = "it prints what it changed")]

use std::path::Path;

use gadgetry_providers::models::{ModelRegistry, Provenance};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, source, version, date] = args.as_slice() else {
        return Err("expected TABLE SOURCE VERSION DATE".into());
    };
    let provenance = Provenance {
        source: source.clone(),
        version: version.clone(),
        date: Some(date.parse()?),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models.json.gz");
    let old = ModelRegistry::load(&path).unwrap_or_default();
    let mut new = old.clone();
    let changes = new.update(&std::fs::read(table)?, provenance)?;
    let named = [
        ("new", &changes.added),
        ("gone", &changes.removed),
        ("price", &changes.repriced),
    ];
    for (what, ids) in named {
        for id in ids {
            println!("{what:<6} {id}");
        }
    }
    println!("{changes}; {} models", new.len());
    if changes.is_empty() && old.provenance().version == *version {
        println!("the table stays as it is");
    } else {
        new.save(&path)?;
    }
    Ok(())
}
