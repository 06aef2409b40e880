//! JSON as providers send it: with lone surrogates.
//!
//! A server that cuts a reply between UTF-16 units sends `"\ud83d"` in one frame and `"\ude00"` in the next. Neither is
//! a valid Rust string, so [`parse`] replaces a lone surrogate by a private character of plane 16, and `SurrogateJoiner`
//! joins two of them:
//!
//! ```text
//! "Hi \ud83d"   parse   Hi U+10D83D   join   Hi     (the high surrogate waits)
//! "\ude00!"     parse   U+10DE00 !    join   😀!
//! ```
//!
//! The price: characters from U+10D800 to U+10DFFF, which have no meaning, are lost if a reply contains them.

use std::borrow::Cow;

use gadgetry_proto::json::{read_value, read_value_with_texts};
use serde::de::IgnoredAny;
use serde_json::Value;

/// A lone surrogate `u` becomes the private character `OFFSET + u`.
const OFFSET: u32 = 0x10_0000;

/// Reads JSON whose strings may contain lone surrogates.
///
/// The decoders of requests join the surrogates of each string before they use it.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    read_value(&without_lone_halves(text))
}

/// Reads the request of a client, as [`parse`] does. The input of an earlier call stays text where a value would not keep the digits of a number
/// in it.
pub fn parse_request(text: &str) -> serde_json::Result<Value> {
    read_value_with_texts(&without_lone_halves(text), &["input"])
}

/// Reads a frame or a document of a provider, as [`parse`] does. The arguments of a call stay text where a value would not keep the digits of
/// a number in them.
pub(crate) fn parse_reply(text: &str) -> serde_json::Result<Value> {
    const ARGUMENTS: [&str; 4] = ["arguments", "input", "parameters", "partial_json"];
    read_value_with_texts(&without_lone_halves(text), &ARGUMENTS)
}

/// Returns whether `text` is JSON, also if it is nested more deeply than [`parse`] reads.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns whether each character of `text` means itself within a JSON string.
pub(super) fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    text.bytes().all(is_plain)
}

/// Appends `text` as a JSON string.
pub(super) fn push_string(text: &str, out: &mut String) {
    if is_plain(text) {
        out.extend(["\"", text, "\""]);
    } else {
        // Writing a text as JSON does not fail.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

/// Returns whether [`parse`] failed because the JSON has more than 127 nested levels.
pub(super) fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

/// `text` with its surrogates joined, and U+FFFD for each that stays alone.
pub(crate) fn whole(text: &str) -> Cow<'_, str> {
    if !has_half(text) {
        return Cow::Borrowed(text);
    }
    let mut halves = SurrogateJoiner::default();
    let mut joined = halves.join(text).into_owned();
    joined.push_str(halves.finish());
    Cow::Owned(joined)
}

/// [`whole`] for each string in `value`.
pub(crate) fn whole_value(value: &mut Value) {
    each_string(value, &|text| {
        if let Cow::Owned(whole) = whole(text) {
            *text = whole;
        }
    });
}

/// Changes each string in `value`.
pub(super) fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| each_string(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Joins surrogates over the pieces of one text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SurrogateJoiner {
    /// The high surrogate at the end of the last piece.
    high: Option<u32>,
}

impl SurrogateJoiner {
    /// The text of the next piece, without a high surrogate at its end.
    pub(crate) fn join<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        if piece.is_empty() || (self.high.is_none() && !has_half(piece)) {
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len() + 3);
        for c in piece.chars() {
            let half = u32::from(c).wrapping_sub(OFFSET);
            match (self.high.take(), half) {
                (Some(high), 0xDC00..=0xDFFF) => {
                    let code = 0x1_0000 + ((high - 0xD800) << 10) + (half - 0xDC00);
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (before, half) => {
                    if before.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        0xD800..=0xDBFF => self.high = Some(half),
                        0xDC00..=0xDFFF => out.push(char::REPLACEMENT_CHARACTER),
                        _ => out.push(c),
                    }
                }
            }
        }
        Cow::Owned(out)
    }

    /// The rest at the end of the text: U+FFFD for a high surrogate, otherwise nothing.
    pub(crate) fn finish(&mut self) -> &'static str {
        self.high.take().map_or("", |_| "\u{FFFD}")
    }
}

fn is_half(c: char) -> bool {
    matches!(u32::from(c), 0x10_D800..=0x10_DFFF)
}

/// Returns whether `text` has a private character of a lone surrogate.
fn has_half(text: &str) -> bool {
    // The first byte of each of these characters. Few texts have one.
    memchr::memchr(0xF4, text.as_bytes()).is_some() && text.contains(is_half)
}

/// Replaces the escape of each lone surrogate by its private character.
fn without_lone_halves(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        let start = at + found;
        let Some(unit) = unit(text, start) else {
            // The escaped byte may be a backslash, which begins nothing.
            at = (start + 2).min(text.len());
            continue;
        };
        at = start + 6;
        match unit {
            0xD800..=0xDBFF if matches!(self::unit(text, at), Some(0xDC00..=0xDFFF)) => at += 6,
            0xD800..=0xDFFF => {
                out.push_str(&text[kept..start]);
                out.extend(char::from_u32(OFFSET + unit));
                kept = at;
            }
            _ => {}
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`.
fn unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}
