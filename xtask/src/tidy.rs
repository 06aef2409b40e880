//! Rules about the repository that no compiler knows. Every problem is named, not only the first.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::read;
use crate::{causes, errors, summaries, titles, versions, words};

const MAX_LINES: usize = 600;

/// Holds the repository at `root` against all rules.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut problems = Vec::new();
    let root_clippy = read(&root.join("clippy.toml"))?;
    for package in packages(root)? {
        let manifest = package.join("Cargo.toml");
        problems.extend(manifest_problems(
            &relative(root, &manifest),
            &read(&manifest)?,
        ));
        let clippy = package.join("clippy.toml");
        if clippy.is_file() {
            let name = relative(root, &clippy);
            problems.extend(clippy_problems(&name, &root_clippy, &read(&clippy)?));
        }
    }
    for package in packages(root)? {
        problems.extend(test_problems(root, &package.join("tests"))?);
        let sources = rust_files(&package.join("src"))?;
        problems.extend(errors::problems(&sources, root)?);
        problems.extend(causes::problems(&sources, root)?);
        problems.extend(summaries::problems(
            &relative(root, &package),
            &sources,
            root,
        )?);
    }
    let mut sources = rust_files(&root.join("crates"))?;
    for package in ["shared", "python", "node", "wasm", "wasm/pack"] {
        let package = root.join("bindings").join(package);
        let binding = rust_files(&package.join("src"))?;
        problems.extend(summaries::problems(
            &relative(root, &package),
            &binding,
            root,
        )?);
        sources.extend(binding);
    }
    for file in sources {
        problems.extend(length_problem(&relative(root, &file), &read(&file)?));
    }
    for lock in [
        "Cargo.lock",
        "fuzz/Cargo.lock",
        "bindings/Cargo.lock",
        "xtask/book/Cargo.lock",
    ] {
        problems.extend(lock_problems(lock, &read(&root.join(lock))?));
    }
    problems.extend(licence_problems(root)?);
    problems.extend(versions::problems(root)?);
    problems.extend(words::problems(root)?);
    problems.extend(titles::problems(root));
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} problem(s):\n  {}",
        problems.len(),
        problems.join("\n  ")
    ))
}

/// A manifest takes lints and every dependency from the workspace.
fn manifest_problems(file: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut has_lints = false;
    for (section, entries) in sections(text) {
        if section == "lints" {
            has_lints = entries.iter().any(|entry| entry == "workspace = true");
        }
        let Some(place) = dependency_place(&section) else {
            continue;
        };
        // A circle of tests: a path alone is left out of a package.
        let is_circle =
            |entry: &String| section == "dev-dependencies" && entry.contains("path = \"../");
        let from_workspace =
            |entry: &String| entry.contains("workspace = true") || is_circle(entry);
        let strangers: Vec<&str> = match place {
            Place::Table => entries
                .iter()
                .filter(|entry| !from_workspace(entry))
                .map(|entry| entry.split([' ', '.', '=']).next().unwrap_or(entry))
                .collect(),
            Place::One(_) if entries.iter().any(from_workspace) => Vec::new(),
            Place::One(name) => vec![name],
        };
        problems.extend(strangers.iter().map(|name| {
            format!(
                "{file}: `{name}` must say `workspace = true`; versions stand in the root's Cargo.toml"
            )
        }));
    }
    if !has_lints {
        problems.push(format!("{file}: lacks `[lints]` with `workspace = true`"));
    }
    problems
}

/// Packages outside of the workspace, and examples.
const OTHER_PACKAGES: [&str; 10] = [
    "bindings/node",
    "bindings/python",
    "bindings/shared",
    "bindings/wasm",
    "bindings/wasm/pack",
    "examples/clerk",
    "examples/programs",
    "fuzz",
    "xtask/book",
    "xtask/peers/dialects",
];

/// Every manifest of a package names its licence, by the identifier of SPDX or that of its workspace.
fn licence_problems(root: &Path) -> Result<Vec<String>, String> {
    let others = OTHER_PACKAGES.map(|name| root.join(name));
    let mut problems = Vec::new();
    for package in packages(root)?.into_iter().chain(others) {
        let manifest = package.join("Cargo.toml");
        let text = read(&manifest)?;
        let has = |line: &str| {
            line == "license.workspace = true" || line == "license = \"MIT OR Apache-2.0\""
        };
        if !text.lines().any(has) {
            let name = relative(root, &manifest);
            problems.push(format!("{name}: lacks `license`"));
        }
    }
    Ok(problems)
}

enum Place<'a> {
    /// `[dependencies]`: an entry is a dependency.
    Table,
    /// `[dependencies.name]`: the section is one dependency.
    One(&'a str),
}

fn dependency_place(section: &str) -> Option<Place<'_>> {
    let (before, last) = section.rsplit_once('.').unwrap_or(("", section));
    if last.ends_with("dependencies") {
        Some(Place::Table)
    } else if before.ends_with("dependencies") {
        Some(Place::One(last))
    } else {
        None
    }
}

/// The sections of a TOML file, an entry a line: a value that spans lines is joined. Enough of TOML for a manifest.
fn sections(text: &str) -> Vec<(String, Vec<String>)> {
    let mut sections = vec![(String::new(), Vec::new())];
    let mut entry = String::new();
    for line in text.lines().map(without_comment) {
        if entry.is_empty()
            && let Some(header) = line.strip_prefix('[')
        {
            let name = header.trim_end_matches(']').trim();
            sections.push((name.to_owned(), Vec::new()));
            continue;
        }
        entry.push_str(line);
        let opened = entry.matches(['[', '{']).count();
        let closed = entry.matches([']', '}']).count();
        if opened <= closed && !entry.is_empty() {
            let whole = std::mem::take(&mut entry);
            if let Some((_, entries)) = sections.last_mut() {
                entries.push(whole);
            }
        }
    }
    sections
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(code, _)| code).trim()
}

/// A package's own clippy.toml replaces the root's, so it repeats it.
fn clippy_problems(file: &str, root: &str, own: &str) -> Vec<String> {
    let own: Vec<&str> = own.lines().map(without_comment).collect();
    root.lines()
        .map(without_comment)
        .filter(|line| !line.is_empty() && !own.contains(line))
        .map(|line| {
            format!("{file}: replaces the root's clippy.toml, so it must repeat its line `{line}`")
        })
        .collect()
}

/// Every file of tests is a module of `tests/main.rs`: cargo looks for no others, so one that is not is never compiled.
fn test_problems(root: &Path, tests: &Path) -> Result<Vec<String>, String> {
    let main = tests.join("main.rs");
    if !main.is_file() {
        return Ok(Vec::new());
    }
    let main = read(&main)?;
    let mut problems = Vec::new();
    for path in entries(tests)? {
        let is_module =
            path.join("mod.rs").is_file() || path.extension().is_some_and(|it| it == "rs");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if is_module && name != "main" && !has_module(&main, &name) {
            let file = relative(root, &path);
            problems.push(format!(
                "{file}: `tests/main.rs` lacks `mod {name};`, so it is never compiled"
            ));
        }
    }
    Ok(problems)
}

fn has_module(source: &str, name: &str) -> bool {
    let declared = source
        .lines()
        .filter_map(|line| line.trim().rsplit_once("mod "));
    declared
        .map(|(_, name)| name)
        .any(|it| it.strip_suffix(';') == Some(name))
}

fn length_problem(file: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| {
        format!("{file}: {lines} lines, at most {MAX_LINES}; cut it where a second subject begins")
    })
}

/// Every foreign package comes from crates.io: no git repository, no other registry.
fn lock_problems(file: &str, text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("source = "))
        .filter(|source| !source.ends_with("/crates.io-index\""))
        .map(|source| format!("{file}: {source} is not crates.io"))
        .collect()
}

/// The folders of all packages of the workspace.
fn packages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut packages = entries(&root.join("crates"))?;
    packages.retain(|package| package.join("Cargo.toml").is_file());
    packages.push(root.join("xtask"));
    Ok(packages)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns what a folder has, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The path as one says it at the root.
fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root)
        .unwrap_or(file)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_manifest(text: &str, expected: &[&str]) {
        assert_eq!(manifest_problems("x", text), expected, "{text}");
    }

    #[test]
    fn a_manifest_takes_everything_from_the_workspace() {
        let lints = "[lints]\nworkspace = true\n";
        let alone =
            "x: `serde` must say `workspace = true`; versions stand in the root's Cargo.toml";
        check_manifest(lints, &[]);
        check_manifest(
            "[package]\nname = \"x\"",
            &["x: lacks `[lints]` with `workspace = true`"],
        );
        for (dependencies, ok) in [
            ("[dependencies]\nserde.workspace = true", true),
            (
                "[dependencies]\nserde = { workspace = true, features = [\n \"rc\",\n] }",
                true,
            ),
            ("[dependencies.serde]\nworkspace = true", true),
            ("[dependencies]\nserde = \"1\" # workspace = true", false),
            ("[dev-dependencies]\nserde = { version = \"1\" }", false),
            ("[dependencies.serde]\nversion = \"1\"", false),
            ("[target.'cfg(unix)'.dependencies]\nserde = \"1\"", false),
            ("[build-dependencies]\nserde.path = \"../serde\"", false),
        ] {
            let expected: &[&str] = if ok { &[] } else { &[alone] };
            check_manifest(&format!("{lints}{dependencies}\n"), expected);
        }
    }

    #[test]
    fn a_clippy_toml_repeats_the_roots() {
        let root = "# why\na = true\nb = [\n  \"c\", # why\n]\n";
        assert!(clippy_problems("x", root, "b = [\n\"c\",\n\"d\",\n]\na = true").is_empty());
        assert_eq!(
            clippy_problems("x", root, "b = [\n]"),
            [
                "x: replaces the root's clippy.toml, so it must repeat its line `a = true`",
                "x: replaces the root's clippy.toml, so it must repeat its line `\"c\",`",
            ]
        );
    }

    #[test]
    fn a_file_of_tests_is_a_module() {
        let main = "mod one;\npub(crate) mod two;\n#[cfg(unix)]\nmod three;\n";
        for (name, there) in [
            ("one", true),
            ("two", true),
            ("three", true),
            ("on", false),
            ("four", false),
        ] {
            assert_eq!(has_module(main, name), there, "{name}");
        }
    }

    #[test]
    fn a_file_has_a_length() {
        assert_eq!(length_problem("x", &"\n".repeat(600)), None);
        assert!(length_problem("x", &"\n".repeat(601)).is_some());
    }

    #[test]
    fn packages_come_from_one_place() {
        let git = "name = \"x\"\nsource = \"git+ssh://somewhere/x#0\"\n";
        let registry = "source = \"registry+somewhere/crates.io-index\"\n";
        assert_eq!(lock_problems("x", git).len(), 1);
        assert!(lock_problems("x", registry).is_empty());
    }
}
