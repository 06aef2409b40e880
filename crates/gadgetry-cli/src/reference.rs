//! The pages of `docs/reference`, made of the definitions that the program uses: options, keys of files, the schema of events.
//!
//! A test fails when a page is not what would be written; `cargo xtask reference` writes them.

mod cells;
mod events;
mod keys;
mod options;

use std::path::Path;
use std::{env, fs};

/// The folder of the pages.
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");

/// The variable with which the test writes the pages instead of comparing them.
const WRITE: &str = "GADGETRY_WRITE_REFERENCE";

#[test]
fn pages_are_true() {
    let schema = include_str!("../../../docs/events.schema.json");
    let schema = serde_json::from_str(schema).expect("a schema");
    for (name, page) in [
        ("cli.md", options::page()),
        ("configuration.md", keys::page()),
        ("events.md", events::page(&schema)),
    ] {
        let path = Path::new(PAGES).join(name);
        if env::var_os(WRITE).is_some() {
            fs::write(&path, &page).expect("it is written");
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        let lines = written.lines().zip(page.lines());
        let first = lines.enumerate().find(|(_, (old, new))| old != new);
        assert!(
            written == page,
            "docs/reference/{name} is not up to date: `cargo xtask reference` writes it. The first difference: {first:?}"
        );
    }
}
