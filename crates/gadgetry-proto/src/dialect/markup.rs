//! Calls between tags.

use std::ops::Range;

use crate::dialect::{Dialect, Finder, Read, has_parameter, name_at};

const HERMES: &str = "<tool_call>";
const QWEN: &str = "<function=";
const PYTHON_TAG: &str = "<|python_tag|>";
const INVOKE: &str = "invoke name=\"";
/// What some models write before the names of these tags.
const PREFIX: &str = "ant\u{6d}l:";

impl<'a> Finder<'a> {
    /// The form that begins with the `<` at `at`.
    pub(super) fn markup(&mut self, at: usize) -> Read {
        let rest = &self.text[at..];
        if rest.starts_with(HERMES) {
            return self.hermes(at);
        }
        if rest.starts_with(QWEN) {
            return self.qwen(at);
        }
        if rest.starts_with(PYTHON_TAG) {
            let json = at + PYTHON_TAG.len();
            return self.llama(at, json + self.white(json));
        }
        let inner = &rest[1..];
        let bare = inner.strip_prefix(PREFIX);
        if bare.unwrap_or(inner).starts_with(INVOKE) {
            return self.invoke(at, bare.is_some());
        }
        Read::No
    }

    /// Bytes of whitespace from `at` on.
    pub(super) fn white(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        rest.len() - rest.trim_start().len()
    }

    fn hermes(&mut self, at: usize) -> Read {
        let from = at + HERMES.len();
        let (end, behind, is_whole) = self.end(0, from);
        let inner = self.text[from..end].trim();
        // Qwen3-Coder has the same wrapper around a form of its own.
        if inner.starts_with(QWEN) {
            return Read::No;
        }
        let calls = self.envelopes(inner);
        if calls.is_empty() {
            return Read::Unread;
        }
        for (name, parameters) in calls {
            self.call(Dialect::Hermes, &name, parameters, at..behind, is_whole);
        }
        Read::To(behind)
    }

    fn qwen(&mut self, at: usize) -> Read {
        let text = self.text;
        let from = at + QWEN.len();
        let name = name_at(&text[from..]);
        let body = from + name.len() + 1;
        if name.is_empty() || !text[body - 1..].starts_with('>') {
            return Read::Unread;
        }
        let (end, behind, is_whole) = self.end(1, body);
        let texts = pairs(&text[body..end], "<parameter=", ">", "</parameter>");
        let parameters = self.texts(name, &texts);
        self.call(Dialect::QwenCoder, name, parameters, at..behind, is_whole);
        Read::To(behind)
    }

    fn invoke(&mut self, at: usize, has_prefix: bool) -> Read {
        let text = self.text;
        let prefix = if has_prefix { PREFIX } else { "" };
        let from = at + 1 + prefix.len() + INVOKE.len();
        let name = name_at(&text[from..]);
        let body = from + name.len() + 2;
        if name.is_empty() || !text[body - 2..].starts_with("\">") {
            return Read::Unread;
        }
        let (end, behind, is_whole) = self.end(2 + usize::from(has_prefix), body);
        let opening = format!("<{prefix}parameter name=\"");
        let closing = format!("</{prefix}parameter>");
        let texts = pairs(&text[body..end], &opening, "\">", &closing);
        let parameters = self.texts(name, &texts);
        self.call(Dialect::Anthropic, name, parameters, at..behind, is_whole);
        Read::To(behind)
    }

    /// The name of a gadget as the tag at `at`, with its parameters as tags and nothing else in it.
    pub(super) fn xml(&mut self, at: usize) -> Read {
        let text = self.text;
        let name = name_at(&text[at + 1..]);
        let Some(gadget) = self.gadget(name) else {
            return Read::No;
        };
        let mut place = at + 1 + name.len();
        if !text[place..].starts_with('>') {
            return Read::No;
        }
        place += 1;
        let mut texts = Vec::new();
        let behind = loop {
            place += self.white(place);
            let rest = &text[place..];
            if let Some(rest) = closed(rest, name) {
                break text.len() - rest.len();
            }
            if rest.is_empty() {
                self.call(
                    Dialect::Xml,
                    name,
                    self.texts(name, &texts),
                    at..place,
                    false,
                );
                return Read::To(place);
            }
            let key = rest.strip_prefix('<').map_or("", name_at);
            let value = rest
                .get(1 + key.len()..)
                .and_then(|rest| rest.strip_prefix('>'));
            let Some(value) = value.filter(|_| has_parameter(gadget, key)) else {
                return Read::Unread;
            };
            let Some(end) = memchr::memmem::find(value.as_bytes(), format!("</{key}>").as_bytes())
            else {
                self.call(
                    Dialect::Xml,
                    name,
                    self.texts(name, &texts),
                    at..text.len(),
                    false,
                );
                return Read::To(text.len());
            };
            texts.push((key, trim_break(&value[..end])));
            place = text.len() - value.len() + end + key.len() + 3;
        };
        self.call(
            Dialect::Xml,
            name,
            self.texts(name, &texts),
            at..behind,
            true,
        );
        Read::To(behind)
    }

    /// A range of the text, without surrounding whitespace.
    pub(super) fn trimmed(&self, range: Range<usize>) -> &'a str {
        self.text[range].trim()
    }
}

/// What follows the closing tag of `name`.
fn closed<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.strip_prefix("</")?
        .strip_prefix(name)?
        .strip_prefix('>')
}

/// Names and texts of parameters, each between an opening and a closing tag. The last one may have no closing tag.
fn pairs<'t>(
    mut text: &'t str,
    opening: &str,
    opened: &str,
    closing: &str,
) -> Vec<(&'t str, &'t str)> {
    let mut pairs = Vec::new();
    while let Some((_, rest)) = text.split_once(opening) {
        let key = &rest[..rest.find(['>', '\n', '"']).unwrap_or(rest.len())];
        let Some(value) = rest[key.len()..].strip_prefix(opened) else {
            text = rest;
            continue;
        };
        let (value, rest) = value.split_once(closing).unwrap_or((value, ""));
        pairs.push((key, trim_break(value)));
        text = rest;
    }
    pairs
}

/// Without a line break at either end: models put the tags on lines of their own.
fn trim_break(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
