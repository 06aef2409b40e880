//! Patterns with `*`.

use regex::{Regex, RegexBuilder};

/// Maximum bytes of a pattern: more than any command line that a user would approve for good.
const LENGTH_LIMIT: usize = 16 << 10;

/// Maximum bytes of a compiled pattern.
const SIZE_LIMIT: usize = 4 << 20;

/// Texts that `*` matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// `*` matches any text without `/`, `**` any text.
    Segments,
    /// Both match any text.
    Anything,
    /// Text that a shell reads as words and nothing else.
    PlainWords,
}

impl Wildcards {
    fn expression(self, double: bool) -> &'static str {
        match (self, double) {
            (Self::Segments, false) => "[^/]*",
            (Self::Segments, true) | (Self::Anything, _) => ".*",
            // Of control characters only the tab, and no other separator of lines: some shells and terminals obey them.
            (Self::PlainWords, _) => {
                r"[^;&|<>$`(){}\\\x00-\x08\x0a-\x1f\x7f\x{80}-\x{9f}\x{2028}\x{2029}]*"
            }
        }
    }
}

/// A text with wildcards. Matching takes linear time.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// True if the pattern ends with `**`, and so matches any continuation of what it matches.
    is_open: bool,
}

impl Pattern {
    /// Compiles a pattern; `None` if it is too long. A `*` after a space at the end also matches no text, without the space.
    pub(super) fn new(text: &str, wildcards: Wildcards) -> Option<Self> {
        if text.len() > LENGTH_LIMIT {
            return None;
        }
        let mut expression = String::from("^");
        let (text, arguments) = match text.strip_suffix(" *") {
            Some(text) if wildcards != Wildcards::Segments => (text, true),
            _ => (text, false),
        };
        let mut characters = text.chars().peekable();
        let mut literal = [0; 4];
        let mut is_open = false;
        while let Some(character) = characters.next() {
            is_open = false;
            let character = match character {
                '*' => {
                    let double = characters.next_if_eq(&'*').is_some();
                    is_open = double || wildcards == Wildcards::Anything;
                    expression.push_str(wildcards.expression(double));
                    continue;
                }
                '\\' => characters.next().unwrap_or('\\'),
                other => other,
            };
            expression.push_str(&regex::escape(character.encode_utf8(&mut literal)));
        }
        if arguments {
            expression.extend(["(?: ", wildcards.expression(true), ")?"]);
        }
        expression.push('$');
        let regex = RegexBuilder::new(&expression)
            .dot_matches_new_line(true)
            .size_limit(SIZE_LIMIT)
            .build();
        let regex = regex.ok()?;
        Some(Self { regex, is_open })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns whether the pattern matches everything in a folder.
    pub(super) fn covers(&self, folder: &str) -> bool {
        self.is_open && self.matches(&inside(folder))
    }

    /// Returns whether the pattern matches a folder, or everything directly in it.
    pub(super) fn touches(&self, folder: &str) -> bool {
        self.matches(folder) || self.matches(&inside(folder))
    }

    /// A pattern that matches `text` alone.
    pub(super) fn literal(text: &str) -> String {
        text.replace('\\', r"\\").replace('*', r"\*")
    }
}

/// Returns the prefix of the paths in a folder.
fn inside(folder: &str) -> String {
    if folder == "." {
        String::new()
    } else {
        format!("{folder}/")
    }
}
