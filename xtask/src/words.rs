//! The word list: what users read is plain professional English.
//!
//! [`WORDS`] pairs each pattern with what to write instead. Comments and string literals of the crates, the examples and
//! every Markdown page are read; identifiers, inline code and test modules are not.

use std::fs;
use std::path::{Path, PathBuf};

/// Patterns and their replacements. A pattern is a sequence of words; `a|b` admits either word.
const WORDS: &[(&str, &str)] = &[
    ("told|tells|telling", "reports, emits, sends, informs"),
    ("stands|stood|standing", "is, appears, means"),
    (
        "somebody|nobody|whoever|anybody",
        "the user, the caller, no one",
    ),
    ("person|people", "user, human"),
    ("is|are|was|were|be none", "invalid, absent, not one"),
    ("is|are|was|were no", "is not a …"),
    ("is|are|was|be|being asked", "call, send a request, prompt"),
    ("asked again", "retried, repeated"),
    ("so many|much", "N, this many, the maximum"),
    ("as it should", "correct, expected"),
    ("what becomes|became of", "result, policy, outcome"),
    ("behind", "after"),
    ("beside|besides", "next to, also, in addition"),
    ("anew", "again"),
    ("nevertheless", "still, anyway"),
    ("wish|wishes", "options, requests"),
    ("go|goes|went|gone|going on", "continue"),
    ("come|comes|came|coming to", "total, reach"),
    ("under way", "in progress, in flight"),
    ("hold|holds|held|holding back", "buffer, withhold"),
    ("hold|holds|held|holding against", "compare with, check"),
    ("in front of", "before"),
    ("in words", "as text, formatted"),
    ("in its|their|one's|our words", "as text, by name"),
    ("hand|hands|handed|handing out|on", "give, pass, forward"),
    ("made less", "reduced, shortened"),
    ("hear|hears|heard", "receive, learn"),
    ("for ever", "forever"),
    ("in step", "at the same time"),
    (
        "neutralise|neutralised|neutralises|neutralising",
        "escape markers",
    ),
    ("unless told|set otherwise", "by default"),
    ("white space", "whitespace"),
    ("whomever", "anyone, any role"),
    ("mend|mends|mended", "fix, repair"),
    ("nothing of", "none of, no part of"),
    ("of one's own", "custom, your own"),
];

/// Phrases that are fine although a pattern matches in them.
const FINE: &[&str] = &[
    "there is|are|was|were no",
    "is|are|was|were no longer|one|more",
    "behind a|the feature|gateway|proxy",
    "behind nginx",
    "behind features|gateways|proxies",
    "questions are asked",
    "see or hear",
    "standing instructions",
];

/// Wording that is fixed elsewhere: file, phrase, reason.
const FIXED: &[(&str, &str, &str)] = &[];

/// One match of a pattern.
#[derive(Debug, PartialEq)]
struct Hit {
    line: usize,
    /// The index of its first word.
    start: usize,
    /// The words as written, in lower case.
    found: String,
    better: &'static str,
}

/// Every match in the texts that users read, below `root`.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for file in texts(root)? {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        let text = fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
        problems.extend(file_problems(&name, &text));
    }
    Ok(problems)
}

fn file_problems(name: &str, text: &str) -> Vec<String> {
    let prose = if Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "rs")
    {
        prose_of_rust(text)
    } else {
        text.to_owned()
    };
    let fixed = |found: &str| {
        FIXED
            .iter()
            .any(|(file, phrase, _)| *file == name && *phrase == found)
    };
    hits(&prose)
        .into_iter()
        .filter(|hit| !fixed(&hit.found))
        .map(|hit| format!("{name}:{}: `{}`: write {}", hit.line, hit.found, hit.better))
        .collect()
}

/// The matches of all patterns in a text.
fn hits(prose: &str) -> Vec<Hit> {
    let words = words(prose);
    let mut fine = vec![false; words.len()];
    for phrase in FINE {
        for (start, length) in matches(&words, phrase) {
            fine[start..start + length].fill(true);
        }
    }
    let mut hits = Vec::new();
    for (pattern, better) in WORDS {
        for (start, length) in matches(&words, pattern) {
            if fine[start..start + length].iter().all(|fine| *fine) {
                continue;
            }
            let found: Vec<&str> = words[start..start + length]
                .iter()
                .map(|word| word.text.as_str())
                .collect();
            hits.push(Hit {
                line: words[start].line,
                start,
                found: found.join(" "),
                better,
            });
        }
    }
    hits.sort_by_key(|hit| hit.start);
    hits
}

/// Returns where a pattern matches: index of the first word, number of words.
fn matches(words: &[Word], pattern: &str) -> Vec<(usize, usize)> {
    let pattern: Vec<Vec<&str>> = pattern
        .split(' ')
        .map(|word| word.split('|').collect())
        .collect();
    words
        .windows(pattern.len())
        .enumerate()
        .filter(|(_, window)| {
            window
                .iter()
                .zip(&pattern)
                .all(|(word, any)| any.contains(&word.text.as_str()))
                && window[1..].iter().all(|word| word.follows)
        })
        .map(|(start, window)| (start, window.len()))
        .collect()
}

/// A word of prose, in lower case.
struct Word {
    line: usize,
    text: String,
    /// Only white space is between this word and the one before.
    follows: bool,
}

/// The words of a text, without inline code. A blank line and punctuation separate phrases.
fn words(prose: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut line = 1;
    let mut follows = false;
    let mut rest = prose;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        if character.is_alphanumeric() || character == '_' {
            length = word_length(rest);
            words.push(Word {
                line,
                text: rest[..length].to_lowercase(),
                follows,
            });
            follows = true;
        } else if character == '`' {
            length = code_length(rest);
            follows = false;
        } else if character == '{' {
            length = placeholder_length(rest);
            follows = false;
        } else if !character.is_whitespace() || rest.starts_with("\n\n") {
            follows = false;
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    words
}

/// The length of the word at the start: `-` and `'` belong to it between letters.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let inner =
            |next: Option<&(usize, char)>| next.is_some_and(|(_, next)| next.is_alphanumeric());
        let belongs = character.is_alphanumeric()
            || character == '_'
            || (matches!(character, '-' | '\'' | '’') && inner(characters.peek()));
        if !belongs {
            break;
        }
        length = at + character.len_utf8();
    }
    length
}

/// The length of the code span at the start, or of its backticks: a fence's content is read as prose.
fn code_length(text: &str) -> usize {
    let ticks = text
        .chars()
        .take_while(|character| *character == '`')
        .count();
    let inside = &text[ticks..];
    let paragraph = &inside[..inside.find("\n\n").unwrap_or(inside.len())];
    match paragraph.find('`') {
        Some(end) if ticks == 1 => ticks + end + 1,
        _ => ticks,
    }
}

/// The length of a placeholder of a format string at the start, or of its brace.
fn placeholder_length(text: &str) -> usize {
    let placeholder = text.find(|c: char| c == '}' || c.is_whitespace());
    placeholder
        .filter(|end| text[*end..].starts_with('}'))
        .map_or(1, |end| end + 1)
}

/// The comments and string literals of a Rust file, line for line; a test module at the end is left out.
///
/// Code becomes `;`, which no phrase spans. The markers of a comment become spaces, so that a phrase may run over lines.
fn prose_of_rust(source: &str) -> String {
    let product = source
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(source);
    let mut prose = String::with_capacity(product.len());
    let mut rest = product;
    while let Some(character) = rest.chars().next() {
        let length;
        if rest.starts_with("//") {
            length = rest.find('\n').unwrap_or(rest.len());
            prose.push_str(rest[..length].trim_start_matches(['/', '!']));
        } else if let Some((start, end)) = string_bounds(rest) {
            length = end;
            let content = &rest[start..end];
            let raw = character == 'r';
            prose.push(';');
            prose.push_str(&if raw {
                content.to_owned()
            } else {
                unescaped(content)
            });
            prose.push(';');
        } else {
            // A quotation mark as a character opens no string.
            length = ["'\"'", "'\\\"'"]
                .iter()
                .find(|literal| rest.starts_with(**literal))
                .map_or(character.len_utf8(), |literal| literal.len());
            prose.push(if character.is_whitespace() {
                character
            } else {
                ';'
            });
        }
        rest = &rest[length..];
    }
    prose
}

/// Returns where the content of the string literal at the start begins, and where the literal ends.
fn string_bounds(text: &str) -> Option<(usize, usize)> {
    let hashes = text
        .strip_prefix('r')
        .map(|raw| raw.len() - raw.trim_start_matches('#').len());
    if let Some(hashes) = hashes {
        let start = hashes + 2;
        let content = text
            .get(start..)
            .filter(|_| text[hashes + 1..].starts_with('"'))?;
        let close = format!("\"{}", "#".repeat(hashes));
        return Some((start, start + content.find(&close)? + close.len()));
    }
    let content = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = content.find(|character| {
        let closes = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        closes
    })?;
    Some((1, end + 2))
}

/// A literal's text with its escapes as separators; a continued line stays one phrase.
fn unescaped(literal: &str) -> String {
    literal
        .replace("\\\n", " \n")
        .replace("\\n", "; ")
        .replace("\\\"", "\"")
}

/// The files that users read: Markdown pages and the sources of crates and examples.
fn texts(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for folder in ["crates", "docs", "examples", "corpus", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    for entry in read_folder(root)? {
        if entry.is_file() {
            files.push(entry);
        }
    }
    // This file quotes the words that it finds.
    let skipped = ["tests", "target", "benches"];
    files.retain(|file| {
        let name = file.strip_prefix(root).unwrap_or(file);
        let of_tests =
            |part: &std::ffi::OsStr| skipped.iter().any(|skip| part == *skip) || part == "tests.rs";
        let kind = file.extension().and_then(|extension| extension.to_str());
        let is_this = name == Path::new("xtask/src/words.rs");
        matches!(kind, Some("rs" | "md")) && !is_this && !name.iter().any(of_tests)
    });
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in read_folder(folder)? {
        if entry.is_dir() {
            collect(&entry, files)?;
        } else {
            files.push(entry);
        }
    }
    Ok(())
}

fn read_folder(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| Ok(entry.map_err(unreadable)?.path()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        hits(text).into_iter().map(|hit| hit.found).collect()
    }

    #[test]
    fn every_pattern_finds_its_words() {
        for (pattern, _) in WORDS {
            for word in pattern
                .split(' ')
                .map(|word| word.split('|').next().unwrap_or(word))
            {
                assert!(!word.is_empty(), "{pattern}");
            }
            let first: Vec<&str> = pattern
                .split(' ')
                .filter_map(|word| word.split('|').next())
                .collect();
            let last: Vec<&str> = pattern
                .split(' ')
                .filter_map(|word| word.split('|').next_back())
                .collect();
            for sentence in [first, last] {
                let sentence = sentence.join(" ");
                assert!(
                    found(&format!("It {sentence} x.")).contains(&sentence),
                    "{pattern}"
                );
            }
        }
    }

    #[test]
    fn sentences() {
        for (text, expected) in [
            ("[1] the model is asked", &["is asked"] as &[&str]),
            ("The model is\n  asked again.", &["is asked", "asked again"]),
            ("calling model; retrying in 0.6 s", &[]),
            ("the base URL is none", &["is none"]),
            ("there is none", &["is none"]),
            ("There is no model X.", &[]),
            ("which is no duration", &["is no"]),
            ("It is no longer sent.", &[]),
            ("It is. No file is read.", &[]),
            ("is\n\nno", &[]),
            ("Nobody tells somebody.", &["nobody", "tells", "somebody"]),
            ("untold, re-told, told_at", &[]),
            ("behind a gateway, behind it", &["behind"]),
            ("`told` and `stands`, but stands", &["stands"]),
            ("one ` then told", &["told"]),
            ("```text\nis asked\n```", &["is asked"]),
            ("it holds\nback text", &["holds back"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn comments_and_strings_are_prose() {
        for (source, expected) in [
            ("let told = stands;", &[] as &[&str]),
            ("/// The model is\n    /// asked.", &["x.rs:1: `is asked`"]),
            ("//! Told.\nfn x() {}", &["x.rs:1: `told`"]),
            ("x(\"a\\\"told\"); told", &["x.rs:1: `told`"]),
            ("x(r#\"a\" told\"#); told", &["x.rs:1: `told`"]),
            (
                "\n#[error(\"{0} is \\\n   no duration\")]",
                &["x.rs:2: `is no`"],
            ),
            ("x(\"it is\", \"no\")", &[]),
            ("x(\"{told:?} {stands\")", &["x.rs:1: `stands`"]),
            ("x(\"it is\\nno\")", &[]),
            (
                "match '\"' { told => '\\\"' } // beside",
                &["x.rs:1: `beside`"],
            ),
            (
                "/// Fine.\n\n#[cfg(test)]\nmod tests {\n    // told\n}",
                &[],
            ),
        ] {
            let found = file_problems("x.rs", source);
            let found: Vec<&str> = found
                .iter()
                .map(|problem| problem.split(": write").next().unwrap_or(problem))
                .collect();
            assert_eq!(found, expected, "{source}");
        }
        assert_eq!(file_problems("x.md", "let told = 1;").len(), 1);
    }

    #[test]
    fn a_fixed_text_has_a_reason() {
        for (file, phrase, reason) in FIXED {
            assert!(
                !hits(phrase).is_empty(),
                "{file}: {phrase} needs no exception"
            );
            assert!(!reason.is_empty(), "{file}: {phrase}");
        }
    }
}
