//! Patterns with `*`.

use regex::{Regex, RegexBuilder};

/// Bytes of a pattern. Longer than any command line that a user would approve for good.
const LENGTH_LIMIT: usize = 16 << 10;

/// Bytes of a compiled pattern.
const SIZE_LIMIT: usize = 4 << 20;

/// What `*` matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// `*` any text without `/`, `**` any text.
    Segments,
    /// Any text.
    Anything,
    /// Text that a shell reads as words and nothing else.
    PlainWords,
}

impl Wildcards {
    fn expression(self, double: bool) -> &'static str {
        match (self, double) {
            (Self::Segments, false) => "[^/]*",
            (Self::Segments, true) | (Self::Anything, _) => ".*",
            (Self::PlainWords, _) => r"[^;&|<>$`(){}\\\n\r]*",
        }
    }
}

/// A text with wildcards. Matching takes linear time.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// `None` if it is too long. A `*` after a space at the end also matches nothing, without the space.
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
        while let Some(character) = characters.next() {
            let character = match character {
                '*' => {
                    let double = characters.next_if_eq(&'*').is_some();
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
        regex.ok().map(Self)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// A pattern that matches `text` alone.
    pub(super) fn literal(text: &str) -> String {
        text.replace('\\', r"\\").replace('*', r"\*")
    }
}
