//! Texts without what a quotation may change, for [`Quotations`](super::Quotations).
//!
//! What stays are the letters, digits and signs of a text. Whitespace, quotes, backslashes, plus signs, colours and invisible characters
//! go; the escapes of JSON, HTML and URLs, also nested ones, are decoded; letters are lower case, and numbers have one notation, as has
//! `null`:
//!
//! ```text
//! {\"name\": \"rm\", &quot;n&quot;: 1.50, x: None}     {name:rm,n:1.5,x:null}
//! ```

use std::ops::Range;

use crate::dialect::heads::{head_length, uncolored};
use crate::escapes::unescaped;
use crate::visible::is_invisible;

/// Elements of HTML that pages put into a line of text. They are not shown.
const INLINE: [&str; 20] = [
    "a", "b", "bdi", "bdo", "br", "code", "em", "font", "i", "kbd", "mark", "samp", "small",
    "span", "strong", "tt", "u", "var", "wbr", "pre",
];

/// Words of notations for `null`.
const NOTHING: [&str; 4] = ["None", "null", "nil", "undefined"];

/// Maximum bytes of a quoted attribute of a tag.
const ATTRIBUTE: usize = 256;

/// Tags of HTML in a text. Where one ends depends on what follows it, which may not be in a quotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tags {
    /// Tags are text.
    #[default]
    Kept,
    /// Comments, and known tags within a line, are left out: a page does not show them.
    Inline,
    /// Comments and all tags are left out.
    Removed,
}

impl Tags {
    /// All ways to read a text.
    pub(super) const ALL: [Self; 3] = [Self::Kept, Self::Inline, Self::Removed];
}

/// The significant characters of one or more texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Significant {
    tags: Tags,
    text: String,
    /// For each byte of the text.
    marks: Vec<Mark>,
    /// The heads of lines, in their order. Those with nothing between them are one: a text may consist of them, so that no search may walk
    /// through one.
    heads: Vec<Range<usize>>,
}

/// What is known about a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    /// Whether whitespace precedes it.
    is_after_blank: bool,
    /// Whether it is the first of a text, or a character precedes it that is not significant.
    is_apart: bool,
    /// Whether it is in the head of a line, which a program may have put there.
    is_head: bool,
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

    /// Returns `true` if a line has a head.
    pub(super) fn has_heads(&self) -> bool {
        !self.heads.is_empty()
    }

    /// Returns the characters without those in the heads of lines.
    pub(super) fn bare(&self) -> String {
        let all = self.text.char_indices();
        let kept = all.filter(|(at, _)| !self.is_head(*at));
        kept.map(|(_, c)| c).collect()
    }

    /// Returns `true` if these bytes begin a word, and no whitespace parts them. Before them may be a letter of a script without blanks
    /// between words, such as Chinese, or a sign of emphasis.
    pub(super) fn is_word(&self, from: usize, to: usize) -> bool {
        let is_apart = |at: usize| self.marks.get(at).is_some_and(|mark| mark.is_apart);
        let before = self.text[..from].trim_end_matches('_');
        let follows = before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let is_apart = is_apart(from) || is_apart(before.len());
        let begins = is_apart || self.before_head(from) < from || !follows;
        let inner = self.marks.get(from + 1..to).unwrap_or_default();
        begins && !inner.iter().any(|mark| mark.is_after_blank)
    }

    /// Returns `true` if whitespace precedes a byte.
    pub(super) fn is_after_blank(&self, at: usize) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.is_after_blank)
    }

    /// Returns `true` if a byte is in the head of a line.
    pub(super) fn is_head(&self, at: usize) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.is_head)
    }

    /// Returns the end of the head of a line, if a place is in one.
    pub(super) fn after_head(&self, at: usize) -> usize {
        self.head(at).map_or(at, |head| head.end)
    }

    /// Returns the start of the head of a line, if a place is after one.
    pub(super) fn before_head(&self, at: usize) -> usize {
        let head = at.checked_sub(1).and_then(|before| self.head(before));
        head.map_or(at, |head| head.start)
    }

    fn head(&self, at: usize) -> Option<&Range<usize>> {
        let next = self.heads.partition_point(|head| head.end <= at);
        self.heads.get(next).filter(|head| head.contains(&at))
    }

    /// Appends a text that is [`unescaped`]. It may be the rest of a text before it.
    pub(super) fn add(&mut self, text: &str) {
        let text = uncolored(text);
        let mut rest = &*text;
        let mut mark = Mark {
            is_apart: true,
            ..Mark::default()
        };
        let mut is_line_start = true;
        // The bytes of the text after the head of the line.
        let mut after_head = 0;
        // Quoted attributes may hide where a tag ends, so that it is looked for again at each `<`.
        let mut spare = text.len().saturating_mul(8);
        let mut has_comments = self.tags != Tags::Kept;
        while let Some(first) = rest.chars().next() {
            if first == '<' && self.tags != Tags::Kept {
                let length = if has_comments && rest.starts_with("<!--") {
                    let end = rest.find("-->").map(|end| end + "-->".len());
                    has_comments = end.is_some();
                    end
                } else {
                    tag(rest, self.tags, &mut spare)
                };
                if let Some(length) = length {
                    rest = &rest[length..];
                    continue;
                }
            }
            if is_line_start {
                after_head = rest.len() - head_length(rest);
            }
            mark.is_head = rest.len() > after_head;
            let length = match first {
                '0'..='9' if !self.is_within_word() => {
                    let (length, number) = number(rest);
                    self.push(&number, mark);
                    length
                }
                '.' if !self.is_within_word() && begins_fraction(rest) => {
                    let (length, number) = number(rest);
                    self.push(&number, mark);
                    length
                }
                'N' | 'n' | 'u' if !self.is_within_word() && nothing(rest).is_some() => {
                    self.push("null", mark);
                    nothing(rest).unwrap_or_default()
                }
                c if is_significant(c) => {
                    for c in c.to_lowercase() {
                        self.push(c.encode_utf8(&mut [0; 4]), mark);
                    }
                    c.len_utf8()
                }
                c => c.len_utf8(),
            };
            is_line_start = matches!(first, '\n' | '\r' | '\u{2028}' | '\u{2029}');
            let is_blank = first.is_whitespace() || first == '+';
            mark.is_after_blank = is_blank || mark.is_after_blank && !is_significant(first);
            mark.is_apart = !is_significant(first);
            rest = &rest[length..];
        }
    }

    fn is_within_word(&self) -> bool {
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        self.text.ends_with(is_in_word) && !self.marks.last().is_some_and(|mark| mark.is_head)
    }

    fn push(&mut self, text: &str, mark: Mark) {
        self.text.push_str(text);
        let first = self.marks.len();
        let other = Mark {
            is_after_blank: false,
            is_apart: false,
            is_head: mark.is_head,
        };
        self.marks.resize(self.text.len(), other);
        if let Some(first) = self.marks.get_mut(first) {
            *first = mark;
        }
        let end = self.text.len();
        match self.heads.last_mut() {
            Some(last) if mark.is_head && last.end == first => last.end = end,
            _ if mark.is_head => self.heads.push(first..end),
            _ => {}
        }
    }
}

/// Returns `false` for what a quotation may add or leave out.
fn is_significant(c: char) -> bool {
    match c {
        // Quotes; and variants of signs, which are put into markers and names, and models leave them out; a pattern of Braille without dots.
        // A plus is a blank in a form of a URL, and begins the lines of a diff.
        '"'
        | '\''
        | '\\'
        | '+'
        | '\u{2018}'..='\u{201f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{2800}' => false,
        ' '..='~' => c != ' ',
        c => !c.is_whitespace() && !c.is_control() && !is_invisible(c, None),
    }
}

/// Returns the length of a tag of HTML that is left out.
fn tag(text: &str, tags: Tags, spare: &mut usize) -> Option<usize> {
    let mut end = 1;
    loop {
        let before = end;
        end += text[end..].find(['<', '>', '"', '\''])?;
        *spare = spare.checked_sub(end - before + 1)?;
        let rest = &text[end + 1..];
        match text.as_bytes()[end] {
            b'>' => break,
            b'<' => return None,
            quote => {
                let near = &rest.as_bytes()[..ATTRIBUTE.min(rest.len())];
                let length = memchr::memchr(quote, near);
                *spare = spare.checked_sub(length.unwrap_or(near.len()))?;
                end += 1 + length.map_or(0, |length| length + 1);
            }
        }
    }
    let inner = text[1..end].trim_matches('/');
    let name = inner.split(char::is_whitespace).next()?;
    let is_left_out = match tags {
        Tags::Kept => false,
        Tags::Inline => INLINE.iter().any(|it| it.eq_ignore_ascii_case(name)),
        Tags::Removed => name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!'),
    };
    is_left_out.then_some(end + 1)
}

/// Returns the length of a word for `null` at the beginning of a text.
fn nothing(text: &str) -> Option<usize> {
    let mut words = NOTHING.iter().filter_map(|word| text.strip_prefix(word));
    let rest = words.find(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))?;
    Some(text.len() - rest.len())
}

/// Returns `true` if a text begins with a number as `.5`.
fn begins_fraction(text: &str) -> bool {
    text.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

/// Returns the length of a number, and its one notation, up to the precision of a float.
fn number(text: &str) -> (usize, String) {
    /// Digits that a float has room for.
    const EXACT: usize = 15;
    let bytes = text.as_bytes();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let length = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        if let Ok(value) = u64::from_str_radix(&digits[..length], 16) {
            return (text.len() - digits.len() + length, value.to_string());
        }
    }
    // Python and others part groups of digits, as in `1_000`.
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let is_digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
        let is_part =
            |at: &usize| is_digit(*at) || *at > 0 && rest[*at] == b'_' && is_digit(at + 1);
        (0..rest.len()).take_while(is_part).count()
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
    let written = text[..end].replace('_', "");
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

#[cfg(test)]
mod tests {
    use super::{Significant, Tags};

    /// Compares the places around heads with those that a walk over the text finds.
    #[test]
    fn heads_begin_and_end_where_a_walk_finds_it() {
        for text in [
            "",
            "x",
            "12| x",
            "a:1:\na:2:\n",
            "é\n+ é:7: é\n\n-\n",
            "x\n- \n3\ny",
        ] {
            let mut all = Significant::new(Tags::Kept);
            for text in [text, "rm\n", text] {
                all.add(text);
            }
            for at in 0..=all.text().len() {
                let is_head = |at: &usize| all.is_head(*at);
                let after = at + (at..all.text().len()).take_while(is_head).count();
                let before = at - (0..at).rev().take_while(is_head).count();
                assert_eq!(
                    (all.before_head(at), all.after_head(at)),
                    (before, after),
                    "{text} {at}"
                );
            }
        }
    }
}
