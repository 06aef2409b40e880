//! Texts without what a quotation may change, for [`Quotations`](super::Quotations).
//!
//! What stays are the letters, digits and signs of a text. Whitespace, quotes, backslashes and invisible characters go; the escapes of
//! JSON, HTML and URLs, also nested ones, are decoded; letters are lower case, and numbers have one notation:
//!
//! ```text
//! {\"name\": \"rm\", &quot;n&quot;: 1.50}     {name:rm,n:1.5}
//! ```

use crate::escapes::unescaped;
use crate::visible::is_invisible;

/// Elements of HTML that pages put into a line of text. They are not shown.
const INLINE: [&str; 20] = [
    "a", "b", "bdi", "bdo", "br", "code", "em", "font", "i", "kbd", "mark", "samp", "small",
    "span", "strong", "tt", "u", "var", "wbr", "pre",
];

/// Maximum bytes of a tag or a comment of HTML.
const TAG: usize = 256;

/// Maximum digits of a line number.
const LINE_NUMBER: usize = 7;

/// Tags of HTML in a text. Where one ends depends on what follows it, which may not be in a quotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tags {
    /// Tags are text.
    #[default]
    Kept,
    /// Comments, and tags within a line, are left out: a page does not show them.
    Removed,
}

impl Tags {
    /// Both ways to read a text.
    pub(super) const ALL: [Self; 2] = [Self::Kept, Self::Removed];
}

/// The significant characters of one or more texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Significant {
    tags: Tags,
    text: String,
    /// For each byte, whether whitespace precedes it in the text.
    after_blank: Vec<bool>,
}

impl Significant {
    /// Returns a text without characters.
    pub(super) fn new(tags: Tags) -> Self {
        Self {
            tags,
            ..Self::default()
        }
    }

    /// Returns the significant characters of a text.
    pub(super) fn of(text: &str, tags: Tags) -> Self {
        let mut all = Self::new(tags);
        all.add(&unescaped(text));
        all
    }

    /// Returns how tags are read.
    pub(super) fn tags(&self) -> Tags {
        self.tags
    }

    /// Returns the characters.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if these bytes begin a word, and no whitespace parts them.
    pub(super) fn is_word(&self, from: usize, to: usize) -> bool {
        let is_parted = |bytes: Option<&[bool]>| bytes.is_some_and(|it| it.contains(&true));
        let is_after_blank = is_parted(self.after_blank.get(from..=from));
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
        (is_after_blank || !self.text[..from].ends_with(is_in_word))
            && !is_parted(self.after_blank.get(from + 1..to))
    }

    /// Appends a text that is [`unescaped`]. It may be the rest of a text before it.
    pub(super) fn add(&mut self, text: &str) {
        let mut rest = text;
        let mut after_blank = false;
        while let Some(first) = rest.chars().next() {
            if first == '<'
                && self.tags == Tags::Removed
                && let Some(length) = tag(rest)
            {
                rest = &rest[length..];
                continue;
            }
            let length = match first {
                '0'..='9' if !self.is_within_word() => {
                    let (length, number) = number(rest);
                    self.push(&number, after_blank);
                    length
                }
                c if is_significant(c) => {
                    for c in c.to_lowercase() {
                        self.push(c.encode_utf8(&mut [0; 4]), after_blank);
                    }
                    c.len_utf8()
                }
                c => c.len_utf8(),
            };
            after_blank = first.is_whitespace() || after_blank && !is_significant(first);
            rest = &rest[length..];
        }
    }

    fn is_within_word(&self) -> bool {
        self.text
            .ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
    }

    fn push(&mut self, text: &str, after_blank: bool) {
        self.text.push_str(text);
        let first = self.after_blank.len();
        self.after_blank.resize(self.text.len(), false);
        if let Some(first) = self.after_blank.get_mut(first) {
            *first = after_blank;
        }
    }
}

/// Returns `false` for what a quotation may add or leave out.
fn is_significant(c: char) -> bool {
    match c {
        // Quotes; and variants of signs, which are put into markers and names, and models leave them out.
        '"' | '\'' | '\\' | '\u{2018}'..='\u{201f}' | '\u{fe00}'..='\u{fe0f}' => false,
        ' '..='~' => c != ' ',
        c => !c.is_whitespace() && !c.is_control() && !is_invisible(c, None),
    }
}

/// Returns the length of a comment of HTML, or of a tag within a line.
fn tag(text: &str) -> Option<usize> {
    let near = &text[..text.floor_char_boundary(TAG.min(text.len()))];
    if near.starts_with("<!--") {
        let end = near.find("-->")?;
        return Some(end + "-->".len());
    }
    let end = near.find('>')?;
    let inner = near[1..end].trim_matches('/');
    let name = inner.split(char::is_whitespace).next()?;
    let is_inline = INLINE.iter().any(|it| it.eq_ignore_ascii_case(name));
    is_inline.then_some(end + 1)
}

/// Returns the length of a number, and its one notation, up to the precision of a float.
fn number(text: &str) -> (usize, String) {
    /// Digits that a float has room for.
    const EXACT: usize = 15;
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|it| it.is_ascii_digit()).count()
    };
    let whole = digits(0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let written = &text[..end];
    let bare = written.trim_start_matches('0');
    if end == whole && bare.len() <= EXACT {
        return (end, if bare.is_empty() { "0" } else { bare }.to_owned());
    }
    let value: f64 = written.parse().unwrap_or(f64::INFINITY);
    let is_whole = value.fract() == 0.0 && value < 1e15;
    let shown = if is_whole {
        format!("{value:.0}")
    } else {
        format!("{value:e}")
    };
    (end, shown)
}

/// Removes what programs show before a line: a line number, also two of them, or the name of a file and a line number.
fn unnumbered(line: &str) -> &str {
    let mut rest = line;
    // As `grep -n` does: `src/main.rs:12:`.
    if let Some((file, after)) = rest.split_once(':')
        && !file.contains(char::is_whitespace)
        && let Some((number, after)) = after.split_once([':', '-'])
        && is_line_number(number)
    {
        rest = after;
    }
    for _ in 0..2 {
        let open = rest.trim_start();
        let open = open.trim_start_matches(['[', '(', '#', 'L', 'l']);
        let after = open.trim_start_matches(|c: char| c.is_ascii_digit());
        if !is_line_number(&open[..open.len() - after.len()]) {
            break;
        }
        rest = after.trim_start_matches([']', ')', ':', '|', '.', '>', '\u{2192}', '\u{2502}']);
    }
    rest
}

fn is_line_number(text: &str) -> bool {
    (1..=LINE_NUMBER).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

/// Returns a text without the numbers before its lines; `None` if it has none.
pub(super) fn without_numbers(text: &str) -> Option<String> {
    let mut has_numbers = false;
    let bare = text.lines().map(|line| {
        let rest = unnumbered(line);
        has_numbers |= rest.len() < line.len();
        rest
    });
    let bare: Vec<&str> = bare.collect();
    has_numbers.then(|| bare.join("\n"))
}
