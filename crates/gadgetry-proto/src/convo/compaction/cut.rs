//! What is done where leaving out turns is not enough: long texts are cut, then all goes that can.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::convo::compaction::plan::Slide;
use crate::convo::compaction::turns::Outline;
use crate::convo::tokens::total_size;
use crate::message::{Content, Media, Message};

/// Bytes that a text keeps at least; the note takes some of them.
const LEAST: usize = 240;

/// Texts of the same kind are cut to the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Result,
    StickyResult,
    /// Replies, messages of the user, summaries.
    Other,
}

/// The number of bytes that texts may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cut {
    results: usize,
    sticky: usize,
    others: usize,
    /// Whether images and files go.
    media: bool,
}

/// Nothing is cut.
impl Default for Cut {
    fn default() -> Self {
        let (results, sticky, others) = (usize::MAX, usize::MAX, usize::MAX);
        Self {
            results,
            sticky,
            others,
            media: false,
        }
    }
}

/// What is done next, if the conversation is too long by this many bytes.
type Step<'a> = &'a dyn Fn(&mut Slide, u64);

/// Adds to `slide` what makes the conversation `most` bytes; if nothing does, as much as can be done. `None` if nothing can
/// be done at all.
pub(super) fn fit(
    mut slide: Slide,
    outline: &Outline,
    messages: &[Message],
    most: u64,
) -> Option<Slide> {
    let size = |slide: &Slide| {
        let mut left = messages.to_vec();
        slide.clone().apply(&mut left);
        total_size(&left)
    };
    let mut left = size(&slide);
    let steps: [Step<'_>; 6] = [
        &|slide, excess| slide.cut_texts(Kind::Result, excess, messages),
        &|slide, excess| slide.cut_texts(Kind::StickyResult, excess, messages),
        &|slide, _| slide.cut.media = true,
        &|slide, excess| slide.cut_texts(Kind::Other, excess, messages),
        &|slide, _| slide.remove_all(outline, 1),
        &|slide, _| slide.remove_all(outline, 0),
    ];
    for step in steps {
        if left <= most {
            break;
        }
        step(&mut slide, left - most);
        left = size(&slide);
    }
    (left < outline.size).then_some(slide)
}

impl Slide {
    /// Cuts the longest texts of a kind, so that the conversation loses `excess` bytes.
    fn cut_texts(&mut self, kind: Kind, excess: u64, messages: &[Message]) {
        let mut lengths = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            if self.may_cut(index, message) {
                lengths_of(message, kind, &mut lengths);
            }
        }
        *self.cut.of(kind) = level(lengths, excess);
    }
}

/// The length at which texts of these lengths, each cut to it, lose `excess` bytes together.
fn level(mut lengths: Vec<usize>, excess: u64) -> usize {
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    for (count, length) in (1_u64..).zip(&lengths) {
        sum += *length as u64;
        let shorter = lengths.get(usize::try_from(count).unwrap_or(usize::MAX));
        let level = sum.saturating_sub(excess) / count;
        if sum > excess && shorter.is_none_or(|shorter| *shorter as u64 <= level) {
            return usize::try_from(level).unwrap_or(usize::MAX).max(LEAST);
        }
    }
    LEAST
}

fn lengths_of(message: &Message, kind: Kind, lengths: &mut Vec<usize>) {
    if let Some(raw) = &message.raw {
        if kind == Kind::Other {
            lengths.push(raw.len());
        }
        return;
    }
    for part in &message.content {
        match part {
            Content::Text { text } | Content::Summary { text, .. } if kind == Kind::Other => {
                lengths.push(text.len());
            }
            Content::GadgetResult { text, sticky, .. } if kind == Kind::of_result(*sticky) => {
                lengths.push(text.len());
            }
            Content::ToolUse { input, .. } if kind == Kind::Other => strings(input, lengths),
            Content::Text { .. }
            | Content::Summary { .. }
            | Content::GadgetResult { .. }
            | Content::ToolUse { .. }
            | Content::Reasoning { .. }
            | Content::Custom(_)
            | Content::ProviderData(_)
            | Content::GadgetCall(_)
            | Content::Media(_)
            | Content::Omission { .. } => {}
        }
    }
}

/// The lengths of the texts in a value.
fn strings(value: &Value, lengths: &mut Vec<usize>) {
    match value {
        Value::String(text) => lengths.push(text.len()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, lengths)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, lengths)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Kind {
    fn of_result(sticky: bool) -> Self {
        if sticky {
            Self::StickyResult
        } else {
            Self::Result
        }
    }
}

impl Cut {
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Result => &mut self.results,
            Kind::StickyResult => &mut self.sticky,
            Kind::Other => &mut self.others,
        }
    }

    /// Cuts the texts of a message. Returns the number of those that were.
    pub(super) fn apply(mut self, message: &mut Message) -> u32 {
        let mut count = 0;
        if let Some(raw) = &mut message.raw {
            count += shorten(raw, self.others);
        }
        let is_written = message.raw.is_some();
        for part in &mut message.content {
            match part {
                Content::Text { text } | Content::Summary { text, .. } if !is_written => {
                    count += shorten(text, self.others);
                }
                Content::GadgetResult {
                    text,
                    sticky,
                    media,
                    ..
                } => {
                    count += shorten(text, *self.of(Kind::of_result(*sticky)));
                    if self.media {
                        for medium in media.drain(..) {
                            _ = write!(text, "\n{}", without(&medium));
                            count += 1;
                        }
                    }
                }
                Content::Media(medium) if self.media => {
                    let text = without(medium);
                    *part = Content::Text { text };
                    count += 1;
                }
                Content::ToolUse { input, .. } => count += shorten_all(input, self.others),
                Content::Text { .. }
                | Content::Summary { .. }
                | Content::Reasoning { .. }
                | Content::Custom(_)
                | Content::ProviderData(_)
                | Content::GadgetCall(_)
                | Content::Media(_)
                | Content::Omission { .. } => {}
            }
        }
        count
    }
}

/// In place of an image or a file.
fn without(medium: &Media) -> String {
    format!(
        "[{} is left out to fit the context window]",
        medium.mime_type
    )
}

fn shorten_all(value: &mut Value, limit: usize) -> u32 {
    match value {
        Value::String(text) => shorten(text, limit),
        Value::Array(items) => items.iter_mut().map(|item| shorten_all(item, limit)).sum(),
        Value::Object(fields) => {
            let fields = fields.values_mut();
            fields.map(|field| shorten_all(field, limit)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Cuts the middle out of a text of more than `limit` bytes, and says so there. Returns 1 if it was cut.
fn shorten(text: &mut String, limit: usize) -> u32 {
    if text.len() <= limit {
        return 0;
    }
    let note =
        |bytes| format!("\n[… {bytes} bytes are left out here to fit the context window …]\n");
    let room = limit.saturating_sub(note(text.len()).len());
    // The beginning says what it is; the end is often the outcome.
    let start = text.floor_char_boundary(room * 2 / 3);
    let end = text.ceil_char_boundary(text.len() - room / 3);
    text.replace_range(start..end, &note(end - start));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_one_length() {
        for (lengths, excess, expected) in [
            (vec![], 5, LEAST),
            (vec![1_000], 100, 900),
            (vec![1_000, 400], 100, 900),
            (vec![1_000, 1_000, 400], 100, 950),
            (vec![1_000, 400], 700, 350),
            (vec![1_000, 900, 800], 300, 800),
            (vec![1_000, 400], 1_390, LEAST),
            (vec![1_000], 5_000, LEAST),
        ] {
            assert_eq!(level(lengths.clone(), excess), expected, "{lengths:?}");
        }
    }

    #[test]
    fn the_middle_goes() {
        for (text, limit, expected) in [
            ("short".to_owned(), 5, "short"),
            (
                format!("{}{}", "a".repeat(500), "é".repeat(500)),
                101,
                "aaaaaaaaaaaaaaaaaaaaaaa\n[… 1467 bytes are left out here to fit the context window …]\nééééé",
            ),
            (
                "a".repeat(500),
                0,
                "\n[… 500 bytes are left out here to fit the context window …]\n",
            ),
        ] {
            let mut found = text.clone();
            shorten(&mut found, limit);
            assert_eq!(found, expected);
            assert!(found.len() <= limit.max(80), "{} bytes", found.len());
        }
    }
}
