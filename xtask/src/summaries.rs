//! Doc comments begin with a verb or a noun, as in "Returns the name" or "Maximum number of calls".
//!
//! A comment that begins with "What", "Whether" or "Its" is a part of a sentence, and readers have to guess the rest. A few are right,
//! such as "Whether" at a field that is a flag, so each crate may have a share of them.

use std::fs;
use std::path::{Path, PathBuf};

const WORDS: [&str; 11] = [
    "What", "Whether", "How", "Why", "Where", "Which", "It", "Its", "Those", "Of", "That",
];

/// Percent of the doc comments of a crate.
const SHARE: usize = 4;

/// Places that a problem names.
const SHOWN: usize = 5;

/// The crate `name` if too many doc comments of its files begin so.
pub(crate) fn problem(
    name: &str,
    files: &[PathBuf],
    root: &Path,
) -> Result<Option<String>, String> {
    let (mut all, mut places) = (0, Vec::new());
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
        for (line, summary) in summaries(&text) {
            all += 1;
            let first = summary.split(|c: char| !c.is_alphabetic()).next();
            if first.is_some_and(|first| WORDS.contains(&first)) {
                places.push(format!("{shown}:{line}"));
            }
        }
    }
    let is_fine = places.len() * 100 <= all * SHARE;
    Ok((!is_fine).then(|| {
        let count = places.len();
        places.truncate(SHOWN);
        format!(
            "{name}: {count} of {all} doc comments begin with {}: at most {SHARE} %, begin with a verb or a noun ({}, …)",
            WORDS.join(", "),
            places.join(", ")
        )
    }))
}

/// The first lines of doc comments, with their numbers.
fn summaries(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        if let Some(doc) = doc
            && !is_inside
        {
            found.push((at + 1, doc.trim_start()));
        }
        is_inside = doc.is_some();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::summaries;

    #[test]
    fn first_lines_of_doc_comments() {
        let text = "//! A module.\n//!\n//! More.\n\n/// What it is.\n/// More.\nfn a() {}\n    /// Its own.\n// Why.\n";
        let expected = [(1, "A module."), (5, "What it is."), (8, "Its own.")];
        assert_eq!(summaries(text), expected);
    }
}
