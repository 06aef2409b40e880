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
    /// Text that a shell reads as words and nothing else. If the pattern continues after it, the shell also reads what follows as if
    /// the text were not there: no quotation stays open, and no comment begins.
    PlainWords,
}

/// Characters that a shell reads as more than parts of words. Of control characters all but the tab, and all other separators of
/// lines: some shells and terminals obey them.
const SEPARATORS: &str = r";&|<>$`(){}\\\x00-\x08\x0a-\x1f\x7f\x{80}-\x{9f}\x{2028}\x{2029}";

impl Wildcards {
    /// Returns the expression of a `*`, or of a `**`. `before` is the state before it, if anything comes after it.
    fn expression(self, double: bool, before: Option<Quotes>) -> String {
        match (self, double, before) {
            (Self::Segments, false, _) => "[^/]*".to_owned(),
            (Self::Segments, true, _) | (Self::Anything, ..) => ".*".to_owned(),
            (Self::PlainWords, _, None) => format!("[^{SEPARATORS}]*"),
            (Self::PlainWords, _, Some(before)) => before.words(),
        }
    }
}

/// The state of a shell within a command line.
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    /// The quotation mark of the open quotation.
    open: Option<char>,
    /// True after a backslash.
    is_escaped: bool,
}

impl Quotes {
    fn read(&mut self, c: char) {
        let is_escaped = std::mem::take(&mut self.is_escaped);
        match (self.open, c) {
            _ if is_escaped => {}
            (None | Some('"'), '\\') => self.is_escaped = true,
            (None, '\'' | '"') => self.open = Some(c),
            (Some(open), c) if open == c => self.open = None,
            _ => {}
        }
    }

    /// Returns the expression of a text after which the state is the same, and in which no comment begins.
    fn words(self) -> String {
        match self.open {
            _ if self.is_escaped => format!(r##"[^'"#{SEPARATORS}]+"##),
            Some(open) => format!("[^{open}{SEPARATORS}]*"),
            // A `#` begins a comment where a word begins: not after a visible character of ASCII, or a quotation.
            None => format!(
                r##"(?:(?:[!-~--['"#{SEPARATORS}]]|'[^'{SEPARATORS}]*'|"[^"{SEPARATORS}]*")#*|[^!-~{SEPARATORS}])*"##
            ),
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
        let mut quotes = Quotes::default();
        while let Some(character) = characters.next() {
            is_open = false;
            let character = match character {
                '*' => {
                    let double = characters.next_if_eq(&'*').is_some();
                    is_open = double || wildcards == Wildcards::Anything;
                    let goes_on = arguments || characters.peek().is_some();
                    let before = goes_on.then_some(quotes);
                    expression.push_str(&wildcards.expression(double, before));
                    quotes.is_escaped = false;
                    continue;
                }
                '\\' => characters.next().unwrap_or('\\'),
                other => other,
            };
            quotes.read(character);
            expression.push_str(&regex::escape(character.encode_utf8(&mut literal)));
        }
        if arguments {
            expression.extend(["(?: ", &wildcards.expression(true, None), ")?"]);
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
