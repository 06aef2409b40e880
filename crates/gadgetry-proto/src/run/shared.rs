//! The long texts of a snapshot, each kept once.
//!
//! What a model has written is in the state of a run many times: in the reply, in the body of a block, in the parameters
//! of a call, in those of its gadget. In memory most of these are shared; in JSON each would be a copy. So the long texts
//! of a snapshot are in a table, and a text that occurs in another one is a reference into it.
//!
//! With the table `["!!!GADGET_START:Write\n!!!ARG:text\nabc…\n!!!GADGET_END"]`, the parameters
//! `{"text": "abc…"}` are written as `{"text": "\u{1}0:34:1034"}`: the bytes 34 to 1034 of text 0. A short text that
//! begins with U+0001 itself is in the table, too, so every other one means a reference.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::mem;

use crate::json::{literal_text, replace_strings};

/// The first character of a reference.
const MARK: char = '\u{1}';

/// The beginning of a reference as JSON writes it.
const WRITTEN_MARK: &str = "\"\\u0001";

/// Bytes of a text that are looked up at once.
const BLOCK: usize = 64;

/// The shortest text that is looked for in others. Wherever it occurs, it covers one whole block of the other text.
const LONG: usize = 2 * BLOCK;

/// Takes the long texts out of a JSON text, which then has references in their places.
pub(super) fn take_texts(json: &str) -> (Cow<'_, str>, Vec<String>) {
    let mut taken = Vec::new();
    let Ok(numbered) = replace_strings::<Infallible>(json, |literal| {
        Ok(long_text(literal).map(|text| {
            taken.push(text);
            format!("{WRITTEN_MARK}{}\"", taken.len() - 1)
        }))
    });
    if taken.is_empty() {
        return (numbered, Vec::new());
    }
    let (places, kept) = arrange(&taken);
    let Ok(packed) = replace_strings::<Infallible>(&numbered, |literal| {
        let place = number(literal).and_then(|at| places.get(at));
        Ok(place
            .map(|TextRange { text, start, end }| format!("{WRITTEN_MARK}{text}:{start}:{end}\"")))
    });
    let packed = packed.into_owned();
    let kept = kept
        .into_iter()
        .map(|at| mem::take(&mut taken[at]).into_owned());
    (Cow::Owned(packed), kept.collect())
}

fn number(literal: &str) -> Option<usize> {
    let number = literal.strip_prefix(WRITTEN_MARK)?;
    number.strip_suffix('"')?.parse().ok()
}

/// The text of a literal that is to be in the table.
fn long_text(literal: &str) -> Option<Cow<'_, str>> {
    // With its quotes and escapes it is longer than its text.
    if literal.len() < LONG && !literal.starts_with(WRITTEN_MARK) {
        return None;
    }
    let text = literal_text(literal)?;
    (text.len() >= LONG || text.starts_with(MARK)).then_some(text)
}

/// Puts the texts back. `None` if a reference has no text: the snapshot is damaged.
pub(super) fn put_texts<'j>(json: &'j str, texts: &[String]) -> Option<Cow<'j, str>> {
    let whole = replace_strings(json, |literal| {
        let Some(reference) = literal.strip_prefix(WRITTEN_MARK) else {
            return Ok(None);
        };
        let text = resolve(reference, texts).ok_or(())?;
        serde_json::to_string(text).map(Some).map_err(|_| ())
    });
    whole.ok()
}

/// The text that a reference means: `0:34:1034"`.
fn resolve<'t>(reference: &str, texts: &'t [String]) -> Option<&'t str> {
    let mut numbers = reference.strip_suffix('"')?.split(':');
    let mut next = || numbers.next()?.parse::<usize>().ok();
    let (text, start, end) = (next()?, next()?, next()?);
    texts.get(text)?.get(start..end)
}

/// The place of a text in the table.
#[derive(Clone, Copy, Default)]
struct TextRange {
    text: usize,
    start: usize,
    end: usize,
}

/// Finds a place for each text, and says which of them the table keeps, in its order.
fn arrange(texts: &[Cow<'_, str>]) -> (Vec<TextRange>, Vec<usize>) {
    let mut places = vec![TextRange::default(); texts.len()];
    let mut kept: Vec<usize> = Vec::new();
    let mut blocks = Blocks::default();
    // Longest first: a text can only occur in one that is at least as long.
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| Reverse(texts[*at].len()));
    for at in order {
        let text = &texts[at];
        let found = blocks.find(text.as_bytes());
        let (number, start) = found.unwrap_or((kept.len(), 0));
        if found.is_none() {
            blocks.add(number, text.as_bytes());
            kept.push(at);
        }
        places[at] = TextRange {
            text: number,
            start,
            end: start + text.len(),
        };
    }
    (places, kept)
}

/// The blocks of the texts that the table keeps: those that begin at a multiple of [`BLOCK`].
#[derive(Default)]
struct Blocks<'t> {
    texts: Vec<&'t [u8]>,
    /// The first place of each block.
    places: BTreeMap<&'t [u8], (usize, usize)>,
}

impl<'t> Blocks<'t> {
    fn add(&mut self, number: usize, text: &'t [u8]) {
        for (at, block) in text.chunks_exact(BLOCK).enumerate() {
            self.places.entry(block).or_insert((number, at * BLOCK));
        }
        self.texts.push(text);
    }

    /// Finds an occurrence of a text.
    ///
    /// An occurrence covers a block of the other text that begins within its first [`BLOCK`] bytes, so as many lookups
    /// find it, unless that block is repeated and its first place is another one. Then the text is kept twice, which
    /// is not wrong, only longer.
    fn find(&self, text: &[u8]) -> Option<(usize, usize)> {
        if text.len() < LONG {
            return None;
        }
        text.windows(BLOCK)
            .take(BLOCK)
            .enumerate()
            .find_map(|(before, block)| {
                let (number, at) = *self.places.get(block)?;
                let start = at.checked_sub(before)?;
                let rest = self.texts.get(number)?.get(start..)?;
                rest.starts_with(text).then_some((number, start))
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Takes the texts of a value, compares the size of the table, and puts them back.
    fn check(value: &Value, table: usize) {
        let json = value.to_string();
        let (packed, texts) = take_texts(&json);
        let size: usize = texts.iter().map(String::len).sum();
        assert_eq!(size, table, "{value:.60}: {packed}");
        assert_eq!(
            put_texts(&packed, &texts).as_deref(),
            Some(&*json),
            "{packed}"
        );
    }

    #[test]
    fn a_text_that_occurs_in_another_is_kept_once() {
        let numbers: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
        let numbers = numbers.join(" ") + " ";
        let inner = &numbers[77..3_001];
        let short = &numbers[..LONG - 1];
        let total = numbers.len();
        check(&json!({ "a": numbers }), total);
        check(&json!([numbers, inner, { "b": [inner, numbers] }]), total);
        check(&json!([inner, short, numbers]), total);
        check(&json!([numbers, &numbers[77..77 + LONG]]), total);
        check(&json!([short, short]), 0);
        let other = format!("{inner}!");
        check(&json!([numbers, other]), total + other.len());
        // The same block everywhere.
        let same = "x".repeat(10_000);
        check(
            &json!([same, format!("<{same}>"), "é".repeat(500)]),
            10_002 + 1_000,
        );
    }

    #[test]
    fn a_text_that_looks_like_a_reference_is_none() {
        check(&json!(["\u{1}", "\u{1}0:0:1", "", 1, null]), 7);
        check(&json!({ "\u{1}0": true }), 2);
    }

    #[test]
    fn a_reference_without_a_text_is_damage() {
        for reference in [
            "\u{1}",
            "\u{1}0",
            "\u{1}0:0:4",
            "\u{1}1:0:0",
            "\u{1}0:2:1",
            "\u{1}0:0:1",
        ] {
            let json = json!([reference]).to_string();
            let texts = ["é1".to_owned()];
            assert_eq!(put_texts(&json, &texts), None, "{reference:?}");
        }
    }
}
