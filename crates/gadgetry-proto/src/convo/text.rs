//! A message as the text that a text model reads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::block::{Anchoring, Markers, Writer};
use crate::call::Call;
use crate::convo::compaction::placeholder::{omission_text, summary_text};
use crate::convo::envelope::result_envelope;
use crate::convo::neutral::escape_markers;
use crate::message::{Content, CustomContentBlock, Message, Role};
use crate::visible::visible_line;

/// [`TextForm::of`] with the default markers, and with the keys of custom blocks as their tags.
///
/// ```
/// use gadgetry_proto::convo::prompt_text;
/// use gadgetry_proto::message::{Message, Role};
/// assert_eq!(prompt_text(&Message::text(Role::User, "Hello")), "Hello");
/// ```
pub fn prompt_text(message: &Message) -> Cow<'_, str> {
    if let Some(text) = borrowed(message) {
        return Cow::Borrowed(text);
    }
    let form = TextForm {
        markers: &Markers::default(),
        anchoring: Anchoring::default(),
        xml_names: &BTreeMap::new(),
    };
    Cow::Owned(form.write(message))
}

/// The form in which messages become text.
#[derive(Clone, Copy, Debug)]
pub struct TextForm<'a> {
    /// The markers for calls that have no raw text.
    pub markers: &'a Markers,
    /// The places where they count as markers.
    pub anchoring: Anchoring,
    /// Key of a custom block → its XML tag, where they differ.
    pub xml_names: &'a BTreeMap<String, String>,
}

impl TextForm<'_> {
    /// Returns the text that a text provider sends for `message`.
    ///
    /// A message with raw text is that text. Otherwise the parts follow each other as they are, with these
    /// additions: a blank line around results, and between the parts of a system message; a line break around
    /// calls, which are written as blocks. Custom blocks are written as tags. Reasoning is left out.
    pub fn of<'m>(&self, message: &'m Message) -> Cow<'m, str> {
        borrowed(message).map_or_else(|| Cow::Owned(self.write(message)), Cow::Borrowed)
    }

    fn write(&self, message: &Message) -> String {
        let mut out = String::new();
        let mut before = None;
        for part in &message.content {
            let Some((kind, text)) = self.part(part, message.role) else {
                continue;
            };
            if let Some(before) = before {
                separate(&mut out, Spacing::max(before, kind));
            }
            out.push_str(&text);
            before = Some(kind);
        }
        out
    }

    fn part<'m>(&self, part: &'m Content, role: Role) -> Option<(Spacing, Cow<'m, str>)> {
        let kind = if role == Role::System {
            Spacing::Paragraph
        } else {
            Spacing::Inline
        };
        Some(match part {
            Content::Reasoning { .. } | Content::ProviderData(_) => return None,
            Content::Text { text } => (kind, Cow::Borrowed(text.as_str())),
            Content::Custom(block) => (kind, Cow::Owned(self.tag(block))),
            Content::GadgetCall(call) => (Spacing::Lines, Cow::Owned(self.block(call))),
            Content::ToolUse {
                tool_use_id,
                name,
                input,
            } => (
                Spacing::Lines,
                Cow::Owned(self.tool_block(name, tool_use_id, input)),
            ),
            Content::GadgetResult {
                invocation_id,
                text,
                media,
                ..
            } => {
                let id = visible_line(invocation_id.as_str());
                let id = escape_markers(&id, self.markers);
                let mut text = result_envelope(&id, text);
                for medium in media {
                    text.push('\n');
                    text.push_str(&escape_markers(&medium.caption(), self.markers));
                }
                (Spacing::Paragraph, Cow::Owned(text))
            }
            Content::Media(medium) => (Spacing::Paragraph, Cow::Owned(medium.caption())),
            Content::Summary { text, turns } => {
                (Spacing::Paragraph, Cow::Owned(summary_text(text, *turns)))
            }
            Content::Omission { turns } => (Spacing::Paragraph, Cow::Owned(omission_text(*turns))),
        })
    }

    fn tag(&self, block: &CustomContentBlock) -> String {
        let name = self.xml_names.get(&block.tag).unwrap_or(&block.tag);
        let mut out = format!("<{name}");
        for (attribute, value) in &block.attrs {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string().into(), Cow::Borrowed);
            _ = write!(out, " {attribute}=\"{}\"", escape(&value));
        }
        if block.self_closing {
            out.push_str("/>");
        } else {
            _ = write!(out, ">{}</{name}>", block.content);
        }
        out
    }

    fn block(&self, call: &Call) -> String {
        let mut out = format!(
            "{}{}:{}",
            self.markers.start(),
            call.gadget_name,
            call.invocation_id
        );
        let mut separator = ':';
        for dependency in &call.dependencies {
            _ = write!(out, "{separator}{dependency}");
            separator = ',';
        }
        self.close(out, &call.parameters_raw)
    }

    fn tool_block(&self, name: &str, id: &str, input: &Value) -> String {
        let writer = Writer {
            markers: self.markers,
            anchoring: self.anchoring,
        };
        let mut out = String::new();
        match writer.write(&mut out, name, Some(id), &[""; 0], input, None) {
            Ok(()) => out,
            // What no reader would take is shown as it is.
            Err(_) => self.close(
                format!("{}{name}:{id}", self.markers.start()),
                &input.to_string(),
            ),
        }
    }

    fn close(&self, header: String, body: &str) -> String {
        let mut out = header;
        for piece in [body, self.markers.end()] {
            if !piece.starts_with('\n') && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(piece);
        }
        out
    }
}

/// The spacing around a part, the stronger the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spacing {
    Inline,
    Lines,
    Paragraph,
}

fn separate(out: &mut String, kind: Spacing) {
    match kind {
        Spacing::Inline => {}
        Spacing::Lines if out.ends_with('\n') => {}
        Spacing::Lines => out.push('\n'),
        Spacing::Paragraph => out.push_str("\n\n"),
    }
}

/// The text of a message that is just one text.
fn borrowed(message: &Message) -> Option<&str> {
    if let Some(raw) = &message.raw {
        return Some(raw);
    }
    match message.content.as_slice() {
        [Content::Text { text }] => Some(text),
        _ => None,
    }
}

/// `value` for an attribute in double quotes.
fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}
