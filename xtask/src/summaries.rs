//! Doc comments begin with a verb or a noun, as in "Returns the name" or "Maximum number of calls".
//!
//! A comment that begins with "What", "Whether" or "Its" is a part of a sentence, and readers have to guess the rest. A few are right,
//! such as "Whether" at a field that is a flag, so each crate may have a share of them. None is right that has one word, as "Nothing.",
//! or a few without a noun, as "From 1." and "Opens it.": it says less than the name of its item.

use std::fs;
use std::path::{Path, PathBuf};

const WORDS: [&str; 11] = [
    "What", "Whether", "How", "Why", "Where", "Which", "It", "Its", "Those", "Of", "That",
];

/// Words that a summary of two or three words does not begin with.
const FRAGMENTS: [&str; 30] = [
    "All", "Any", "Anything", "As", "At", "By", "For", "From", "In", "Into", "It", "Its", "None",
    "Not", "Nothing", "Of", "On", "Per", "Since", "That", "Their", "These", "They", "This",
    "Those", "To", "Until", "When", "With", "Without",
];

/// Percent of the doc comments of a crate.
const SHARE: usize = 4;

/// Places that a problem names.
const SHOWN: usize = 5;

/// Names the riddles in the files of the crate `name`, and the crate if too many of its doc comments begin with one of [`WORDS`].
pub(crate) fn problems(name: &str, files: &[PathBuf], root: &Path) -> Result<Vec<String>, String> {
    let (mut all, mut places, mut problems) = (0, Vec::new(), Vec::new());
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
        for summary in summaries(&text) {
            all += 1;
            let place = format!("{shown}:{}", summary.line);
            if is_riddle(&summary) {
                problems.push(format!(
                    "{place}: {:?} says less than the name: write a verb and its object, or a noun",
                    summary.text
                ));
            }
            let first = summary.text.split(|c: char| !c.is_alphabetic()).next();
            if first.is_some_and(|first| WORDS.contains(&first)) {
                places.push(place);
            }
        }
    }
    if places.len() * 100 > all * SHARE {
        let count = places.len();
        places.truncate(SHOWN);
        problems.push(format!(
            "{name}: {count} of {all} doc comments begin with {}: at most {SHARE} %, begin with a verb or a noun ({}, …)",
            WORDS.join(", "),
            places.join(", ")
        ));
    }
    Ok(problems)
}

/// Whether a summary is too short to say anything.
///
/// One in lower case describes a parameter to a model, which reads it after the name and pays for each word. The one of a module is its
/// title. Code is exact, however short it is.
fn is_riddle(summary: &Summary) -> bool {
    if summary.is_of_module || summary.text.starts_with(char::is_lowercase) {
        return false;
    }
    let words: Vec<&str> = summary.text.split_whitespace().collect();
    match words.as_slice() {
        [word] => !word.contains(['`', '[']),
        [_, "it." | "one." | "them."] => true,
        [first, _] | [first, _, _] => FRAGMENTS.contains(first),
        _ => false,
    }
}

/// The first paragraph of a doc comment.
#[derive(Debug, PartialEq)]
struct Summary {
    line: usize,
    text: String,
    is_of_module: bool,
}

/// The summaries of the doc comments of a file.
fn summaries(text: &str) -> Vec<Summary> {
    let mut found: Vec<Summary> = Vec::new();
    let (mut is_inside, mut is_first) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(doc) = doc.map(str::trim) else {
            is_inside = false;
            continue;
        };
        if !is_inside {
            found.push(Summary {
                line: at + 1,
                text: doc.to_owned(),
                is_of_module: line.starts_with("//!"),
            });
            is_first = true;
        } else if doc.is_empty() {
            is_first = false;
        } else if is_first && let Some(summary) = found.last_mut() {
            summary.text.push(' ');
            summary.text.push_str(doc);
        }
        is_inside = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{is_riddle, summaries};

    #[test]
    fn first_paragraphs_of_doc_comments() {
        let text = "//! A module.\n//!\n//! More.\n\n/// What it is.\n/// More.\nfn a() {}\n    /// Its own.\n// Why.\n";
        let expected = [
            (1, "A module.", true),
            (5, "What it is. More.", false),
            (8, "Its own.", false),
        ];
        let found = summaries(text);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.line, it.text.as_str(), it.is_of_module))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn summaries_that_say_less_than_a_name_are_found() {
        for (text, expected) in [
            ("/// Nothing.", true),
            ("/// From 1.", true),
            ("/// As text.", true),
            ("/// Its session.", true),
            ("/// All of them.", true),
            ("/// For `sh -c`.", true),
            ("/// None is known.", true),
            ("/// Opens it.", true),
            ("/// Adds one.", true),
            ("/// As text.\n///\n/// More.", true),
            ("/// As text.\n/// It is short.", false),
            ("/// As text that reports show.", false),
            ("/// Adds text.", false),
            ("/// Returns the name.", false),
            ("/// The model.", false),
            ("/// `SGLang`.", false),
            ("/// [`Run`].", false),
            ("/// from 1", false),
            ("//! Connections.", false),
            ("///", false),
            ("// Nothing.", false),
        ] {
            let found = summaries(text).iter().any(is_riddle);
            assert_eq!(found, expected, "{text}");
        }
    }
}
