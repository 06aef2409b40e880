//! Every public error type of a library implements `Classified`: whose fault it is, and whether a retry may help.

use std::fs;
use std::path::{Path, PathBuf};

/// Names the public error types of the package in `files` that do not implement `Classified`. A package without a library has none.
pub(crate) fn problems(files: &[PathBuf], root: &Path) -> Result<Vec<String>, String> {
    if !files.iter().any(|file| file.ends_with("src/lib.rs")) {
        return Ok(Vec::new());
    }
    let mut texts = Vec::new();
    for file in files {
        let shown = file
            .strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string();
        let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
        texts.push((shown, text));
    }
    let is_classified = |name: &str| {
        let line = format!("impl Classified for {name} {{");
        texts.iter().any(|(_, text)| text.contains(&line))
    };
    let problem = |(file, name): (&String, &str)| {
        format!(
            "{file}: the error `{name}` must implement `Classified`, so that users know whose fault it is and whether to retry"
        )
    };
    let types = texts.iter().flat_map(|(file, text)| {
        let names = error_types(text).into_iter();
        names.map(move |name| (file, name))
    });
    Ok(types
        .filter(|(_, name)| !is_classified(name))
        .map(problem)
        .collect())
}

/// The public types of a file that derive `Error` or implement it.
fn error_types(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut derives = false;
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    for line in text.lines().filter(is_code) {
        derives |= line.contains("thiserror::Error");
        let Some(name) = type_name(line) else {
            continue;
        };
        let is_public = line.trim_start().starts_with("pub ");
        let implements = || text.contains(&format!("Error for {name} {{"));
        if is_public && (derives || implements()) {
            names.push(name);
        }
        derives = false;
    }
    names
}

/// The name in a line that begins a type.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line
        .split([' ', '<', '(', ';'])
        .filter(|word| !word.is_empty());
    words.find(|word| matches!(*word, "struct" | "enum"))?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::error_types;

    #[test]
    fn public_error_types() {
        let text = "
            #[derive(Debug, thiserror::Error)]
            #[non_exhaustive]
            pub enum Derived {
            }
            pub struct Plain;
            #[derive(Debug, thiserror::Error)]
            enum Private {}
            #[derive(Debug, thiserror::Error)]
            pub(crate) struct Inner(u8);
            pub struct ByHand(Box<str>);
            impl std::error::Error for ByHand {}
            // pub struct Commented, thiserror::Error
            pub struct Generic<T>(T);
        ";
        assert_eq!(error_types(text), ["Derived", "ByHand"]);
    }
}
