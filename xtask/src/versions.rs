//! The one version of the crates and of the packages for other languages: compared by `tidy`, set by `cargo xtask release version`.
//!
//! A wheel has the version of its crate, so `pyproject.toml` has none.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::disk::{read, write};
use crate::shell::{capture, cargo};

/// Workspaces with lock files.
const MANIFESTS: [&str; 4] = [
    "Cargo.toml",
    "bindings/Cargo.toml",
    "fuzz/Cargo.toml",
    "xtask/book/Cargo.toml",
];

/// Names the versions that differ from that of the workspace.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>, String> {
    let expected = current(root)?;
    let mut problems = Vec::new();
    for file in files(root) {
        let text = read(&file)?;
        let name = file.strip_prefix(root).unwrap_or(&file).display();
        for place in places(&text, is_json(&file)) {
            let (line, found) = (text[..place.start].lines().count(), &text[place]);
            if found != expected {
                problems.push(format!(
                    "{name}:{line}: version {found}, and the workspace has {expected}: cargo xtask release version {expected}"
                ));
            }
        }
    }
    Ok(problems)
}

/// Sets the version everywhere, in lock files as well.
pub(crate) fn set(root: &Path, version: &str) -> Result<(), String> {
    for file in files(root) {
        let mut text = read(&file)?;
        for place in places(&text, is_json(&file)).into_iter().rev() {
            text.replace_range(place, version);
        }
        write(&file, &text)?;
    }
    for manifest in MANIFESTS {
        let update = ["update", "--workspace", "--offline", "--manifest-path"];
        capture(cargo(&update).arg(root.join(manifest)))?;
    }
    Ok(())
}

/// The version of the workspace.
pub(crate) fn current(root: &Path) -> Result<String, String> {
    let text = read(&root.join("Cargo.toml"))?;
    let place = places(&text, false).into_iter().next();
    place
        .map(|place| text[place].to_owned())
        .ok_or_else(|| "Cargo.toml has no version".to_owned())
}

/// Files that state it.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = vec![root.join("Cargo.toml"), root.join("bindings/Cargo.toml")];
    let packages = fs::read_dir(root.join("bindings"));
    let packages = packages.into_iter().flatten().flatten();
    files.extend(
        packages.flat_map(|it| ["Cargo.toml", "package.json"].map(|file| it.path().join(file))),
    );
    files.retain(|file| file.is_file());
    files.sort();
    files
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "json")
}

/// Where a text states our version: at the beginning of a line for a package, and next to a dependency on one of ours.
fn places(text: &str, is_json: bool) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins: &[&str] = if is_json {
            &["  \"version\": \"", "    \"gadgetry-"]
        } else {
            &["version = \"", "gadgetry = { version = \"", "gadgetry-"]
        };
        let value = begins.iter().find_map(|begin| {
            let rest = line.strip_prefix(begin)?;
            let after = match *begin {
                "gadgetry-" => rest
                    .find("{ version = \"")
                    .map(|it| it + "{ version = \"".len())?,
                "    \"gadgetry-" => rest.find("\": \"").map(|it| it + "\": \"".len())?,
                _ => 0,
            };
            let start = begin.len() + after;
            let end = start + line[start..].find('"')?;
            Some(at + start..at + end)
        });
        places.extend(value);
        at += line.len();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn versions_of_ours_are_found() {
        let check = |text: &str, is_json: bool, expected: &[&str]| {
            let found: Vec<&str> = places(text, is_json)
                .into_iter()
                .map(|it| &text[it])
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check(
            "[workspace.package]\nversion = \"1.0.0\"\nrust-version = \"1.9\"\n[workspace.dependencies]\n\
             gadgetry = { version = \"2.0.0\", path = \"a\" }\ngadgetry-a = { version = \"3.0.0\" }\n\
             gadgetry-b = { path = \"b\" }\nserde = { version = \"4\" }\n",
            false,
            &["1.0.0", "2.0.0", "3.0.0"],
        );
        check("version.workspace = true\n", false, &[]);
        check(
            "{\n  \"version\": \"1.0.0\",\n  \"optionalDependencies\": {\n    \"gadgetry-a\": \"2.0.0\",\n    \"zod\": \"4\"\n  }\n}\n",
            true,
            &["1.0.0", "2.0.0"],
        );
    }
}
