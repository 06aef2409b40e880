//! Every example runs to its end, and `docs/spec-counterparts.md` is true of them. The code of the guide is compiled by
//! `src/guide.rs`, that of the readme by `src/readme.rs`; `cargo xtask book` checks links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::programs::programs;

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn docs() -> PathBuf {
    crate_folder().join("../../docs")
}

/// The names of the examples, sorted.
fn examples() -> BTreeSet<String> {
    let folder = fs::read_dir(crate_folder().join("examples")).expect("there are examples");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let stems = sources.map(|path| {
        path.file_stem()
            .expect("a file")
            .to_string_lossy()
            .into_owned()
    });
    stems.collect()
}

#[test]
fn every_example_runs() {
    for (example, program) in programs(&examples()) {
        let output = Command::new(program).output().expect("it starts");
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success(),
            "{example}: {}\n{stdout}\n{stderr}",
            output.status
        );
        assert_ne!(stdout, "", "{example} shows nothing");
        assert_eq!(stderr, "", "{example} complains");
    }
}

/// The lines of the table: the words in backticks of the last cell of each.
fn counterparts() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(docs().join("spec-counterparts.md")).expect("it is there");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    rows.map(|row| {
        let cell = row
            .trim_end_matches([' ', '|'])
            .rsplit('|')
            .next()
            .unwrap_or_default();
        let words = cell.split('`').skip(1).step_by(2).map(str::to_owned);
        (row.to_owned(), words.collect())
    })
    .collect()
}

#[test]
fn the_table_of_counterparts_names_what_is_there() {
    let mut named = BTreeSet::new();
    let rows = counterparts();
    assert_eq!(rows.len(), 36, "the code blocks of the specification");
    for (row, words) in rows {
        let Some((file, items)) = words.split_first() else {
            panic!("no counterpart: {row}");
        };
        let source = fs::read_to_string(crate_folder().join(file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}: {row}"));
        assert!(!items.is_empty(), "no item of {file}: {row}");
        for item in items {
            assert!(
                source.contains(item.as_str()),
                "{file} has no `{item}`: {row}"
            );
        }
        named.insert(file.clone());
    }
    let files = examples()
        .into_iter()
        .map(|example| format!("examples/{example}.rs"));
    let unnamed: Vec<String> = files.filter(|file| !named.contains(file)).collect();
    assert_eq!(unnamed, [""; 0], "examples that the table does not name");
}

/// The pages of the guide with their texts, by name.
fn guide() -> BTreeMap<String, String> {
    let folder = fs::read_dir(docs().join("guide")).expect("there is a guide");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let page = |path: PathBuf| {
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("a page"))
    };
    let pages = paths.filter(|path| path.extension().is_some_and(|it| it == "md"));
    pages.map(page).collect()
}

/// The code between the first `fence` and its end.
fn first_code<'t>(lines: impl Iterator<Item = &'t str>, fence: &str) -> Vec<&'t str> {
    let behind = lines.skip_while(|line| *line != fence).skip(1);
    behind.take_while(|line| *line != "```").collect()
}

#[test]
fn the_program_of_the_readme_is_compiled() {
    let readme = fs::read_to_string(docs().join("../README.md")).expect("there is one");
    let source = fs::read_to_string(crate_folder().join("src/readme.rs")).expect("it is there");
    let docs = source.lines().map(|line| {
        let line = line.strip_prefix("//!").unwrap_or_default();
        line.strip_prefix(' ').unwrap_or(line)
    });
    let compiled = first_code(docs, "```no_run");
    assert!(!compiled.is_empty());
    assert_eq!(first_code(readme.lines(), "```rust"), compiled);
    assert_eq!(
        readme.matches("```rust").count(),
        1,
        "src/readme.rs has one program"
    );
}

/// The program of the tutorial is compiled and tested as `examples/clerk`.
const TUTORIAL: &str = "tutorial.md";

#[test]
fn the_tutorial_is_a_program() {
    let program = fs::read_to_string(docs().join("../examples/clerk/src/main.rs"));
    let program = program.expect("it is there");
    let page = &guide()[TUTORIAL];
    let blocks = page.split("```rust\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 3);
    let missing: Vec<&&str> = blocks
        .iter()
        .filter(|block| !program.contains(**block))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let shown: usize = blocks.iter().map(|block| block.trim().len()).sum();
    let whole = program.trim().len();
    assert!(
        whole - shown < 200,
        "the page shows {shown} of {whole} bytes"
    );
    let replies = fs::read_to_string(docs().join("../examples/clerk/replies.jsonl"));
    assert!(page.contains(&replies.expect("it is there")));
}

#[test]
fn every_page_of_the_guide_is_compiled() {
    let source = |path: &str| {
        let source = fs::read_to_string(crate_folder().join(path));
        source.expect("it is there")
    };
    let own = source("src/guide.rs");
    // Pages about other crates are compiled there.
    let others = ["axum", "gateway", "inspect", "mcp", "otel"]
        .map(|name| source(&format!("../gadgetry-{name}/src/guide.rs")))
        .concat();
    for (page, text) in guide() {
        let has = |fence: &str| text.lines().any(|line| line.starts_with(fence));
        // The tests of the packages run the programs in their languages, on every page.
        let is_of_a_package = !has("```rust") && (has("```python") || has("```ts"));
        if is_of_a_package || page == TUTORIAL {
            continue;
        }
        let is_compiled = own.contains(&format!("= \"{page}\";"))
            || others.contains(&format!("/docs/guide/{page}\")]"));
        assert!(is_compiled, "no src/guide.rs names {page}");
        let code = text
            .lines()
            .filter(|line| line.starts_with("```"))
            .step_by(2);
        for fence in code {
            let known = [
                "```rust",
                "```rust,no_run",
                "```python",
                "```ts",
                // The tests of the command line run them.
                "```sh",
                "```text",
                "```toml",
            ];
            assert!(
                known.contains(&fence),
                "{page}: {fence} is neither compiled nor text"
            );
        }
    }
}

/// What users need is at the root of the crate or in a module of it, so no document sends them to the engine.
#[test]
fn documents_and_examples_never_name_the_engine() {
    fn check(path: &Path, found: &mut Vec<String>) {
        if path.is_dir() {
            let entries = fs::read_dir(path).expect("a folder");
            for entry in entries {
                check(&entry.expect("an entry").path(), found);
            }
        } else if path
            .extension()
            .is_some_and(|it| ["md", "rs", "toml"].contains(&it.to_string_lossy().as_ref()))
        {
            let text = fs::read_to_string(path).expect("a text");
            let lines = text.lines().zip(1..);
            let naming = lines.filter(|(line, _)| line.contains("gadgetry::proto::"));
            found.extend(naming.map(|(_, line)| format!("{}:{line}", path.display())));
        }
    }
    let mut found = Vec::new();
    for path in [
        "../../docs",
        "../../README.md",
        "../../examples",
        "../gadgetry-providers/src",
        "examples",
        "src",
    ] {
        check(&crate_folder().join(path), &mut found);
    }
    assert_eq!(
        found, [""; 0],
        "name items by the root of gadgetry, or by a module of it"
    );
}
