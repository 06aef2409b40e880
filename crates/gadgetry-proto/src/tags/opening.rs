//! The machine that reads an opening tag after its name.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Attributes;
use crate::tags::names::is_space;

/// A place in an opening tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OpeningState {
    /// Directly after the name of the tag.
    #[default]
    TagName,
    /// An attribute may begin.
    Space,
    Name,
    AfterName,
    BeforeValue,
    Unquoted,
    Quoted(u8),
    /// The place after a quoted value.
    AfterValue,
    Slash,
}

/// The result of one more byte of an opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteStep {
    On(OpeningState),
    /// The byte was the closing `>`.
    Open {
        self_closing: bool,
    },
    /// This is not a tag.
    Fail,
}

impl OpeningState {
    pub(crate) fn step(self, byte: u8) -> ByteStep {
        use OpeningState::{
            AfterName, AfterValue, BeforeValue, Name, Quoted, Slash, Space, TagName, Unquoted,
        };
        match (self, byte) {
            (Quoted(quote), byte) if byte == quote => ByteStep::On(AfterValue),
            (Quoted(_), _) => ByteStep::On(self),
            (Slash, b'>') => ByteStep::Open { self_closing: true },
            (Slash, b'/') => ByteStep::On(Slash),
            (Slash, byte) if is_space(byte) => ByteStep::On(Slash),
            (Slash, _) | (Unquoted, b'<') => ByteStep::Fail,
            (BeforeValue, b'"' | b'\'') => ByteStep::On(Quoted(byte)),
            (_, b'>') => ByteStep::Open {
                self_closing: false,
            },
            (BeforeValue, byte) if is_space(byte) => ByteStep::On(BeforeValue),
            (BeforeValue, b'<') => ByteStep::Fail,
            (BeforeValue, _) => ByteStep::On(Unquoted),
            (Unquoted, byte) if !is_space(byte) => ByteStep::On(Unquoted),
            (_, b'/') => ByteStep::On(Slash),
            (Name, byte) if is_attribute_part(byte) => ByteStep::On(Name),
            (Name | AfterName, b'=') => ByteStep::On(BeforeValue),
            (Name | AfterName, byte) if is_space(byte) => ByteStep::On(AfterName),
            (_, byte) if is_space(byte) => ByteStep::On(Space),
            (Space | AfterName | AfterValue, byte) if is_attribute_start(byte) => {
                ByteStep::On(Name)
            }
            (TagName | Space | Name | AfterName | AfterValue | Unquoted, _) => ByteStep::Fail,
        }
    }
}

/// The attributes in `text`, which is what is between the name and the `>` of a tag that [`OpeningState`] took.
pub(crate) fn attributes(text: &str) -> Attributes {
    let mut attributes = Attributes::new();
    let mut rest = text.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let end = rest
            .bytes()
            .position(|byte| !is_attribute_part(byte))
            .unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        let value = tail.trim_start_matches(is_white).strip_prefix('=');
        let (value, tail) = value.map_or((Cow::Borrowed(""), tail), take_value);
        attributes.insert(name.to_owned(), Value::String(value.into_owned()));
        let next = tail.trim_start_matches(is_separator);
        // A tag that the machine took always has more; this guards against a loop if the two ever disagree.
        rest = if next.len() < rest.len() { next } else { "" };
    }
    attributes
}

fn take_value(text: &str) -> (Cow<'_, str>, &str) {
    let text = text.trim_start_matches(is_white);
    if let Some(quote) = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))
    {
        let (value, tail) = text[1..].split_once(quote).unwrap_or((&text[1..], ""));
        return (decode_entities(value), tail);
    }
    let end = text.find(is_white).unwrap_or(text.len());
    (decode_entities(&text[..end]), &text[end..])
}

const ENTITIES: [(&str, char); 5] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&apos;", '\''),
];

/// Decodes the five entities of XML; anything else that begins with `&` stays.
fn decode_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (len, character) =
            entity.map_or((1, '&'), |(entity, character)| (entity.len(), *character));
        decoded.push(character);
        rest = &rest[len..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn is_white(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn is_separator(character: char) -> bool {
    is_white(character) || character == '/'
}

fn is_attribute_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':')
}

fn is_attribute_part(byte: u8) -> bool {
    is_attribute_start(byte) || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
}

#[cfg(test)]
mod tests;
