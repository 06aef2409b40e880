//! Cuts long texts, and leaves out images and files.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Content, Media, Message};

/// Texts of the same kind are cut to the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
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
    /// Whether images and files are left out, too.
    pub(super) media: bool,
}

/// The default cuts nothing.
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

pub(super) fn lengths_of(message: &Message, kind: TextKind, lengths: &mut Vec<usize>) {
    if let Some(raw) = &message.raw {
        if kind == TextKind::Other {
            lengths.push(raw.len());
        }
        return;
    }
    for part in &message.content {
        match part {
            Content::Text { text } | Content::Summary { text, .. } if kind == TextKind::Other => {
                lengths.push(text.len());
            }
            Content::GadgetResult { text, sticky, .. } if kind == TextKind::of_result(*sticky) => {
                lengths.push(text.len());
            }
            Content::ToolUse { input, .. } if kind == TextKind::Other => strings(input, lengths),
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

impl TextKind {
    fn of_result(sticky: bool) -> Self {
        if sticky {
            Self::StickyResult
        } else {
            Self::Result
        }
    }
}

impl Cut {
    pub(super) fn of(&mut self, kind: TextKind) -> &mut usize {
        match kind {
            TextKind::Result => &mut self.results,
            TextKind::StickyResult => &mut self.sticky,
            TextKind::Other => &mut self.others,
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
                    count += shorten(text, *self.of(TextKind::of_result(*sticky)));
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

/// Returns the text in place of an image or a file.
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
