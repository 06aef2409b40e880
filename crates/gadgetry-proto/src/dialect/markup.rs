//! Calls between tags.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use crate::block::Next;
use crate::dialect::name::name_at;
use crate::dialect::{Dialect, Finder, Read, gemma, has_parameter, template};
use crate::error::ParseError;
use crate::schema::{RegisteredGadget, Shaped, shaped_json};

const HERMES: &str = "<tool_call>";
const HERMES_END: &str = "</tool_call>";
const QWEN: &str = "<function=";
pub(super) const PYTHON_TAG: &str = "<|python_tag|>";
const INVOKE: &str = "invoke name=\"";
/// Bytes of the tag that opens a parameter, at most: many that nothing closes would each be read to the end of the text.
const OPENING: usize = 1 << 10;
/// The prefixes that models write before the names of these tags.
const PREFIXES: [(&str, Dialect); 5] = [
    ("", Dialect::Anthropic),
    ("ant\u{6d}l:", Dialect::Anthropic),
    ("｜DSML｜", Dialect::DeepSeek),
    ("｜DSML｜ ", Dialect::DeepSeek),
    ("|DSML|", Dialect::DeepSeek),
];

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
        if rest.starts_with(template::KIMI) {
            return self.kimi(at);
        }
        if rest.starts_with(template::DEEPSEEK) {
            return self.deepseek(at);
        }
        if rest.starts_with(template::LFM2) {
            return self.lfm2(at);
        }
        if template::HARMONY
            .iter()
            .any(|opener| rest.starts_with(opener))
        {
            return self.harmony(at);
        }
        if let Some(markers) = gemma::GEMMA.into_iter().find(|it| rest.starts_with(it[0])) {
            return self.gemma(at, markers);
        }
        for (prefix, dialect) in PREFIXES {
            let bare = rest[1..].strip_prefix(prefix);
            if bare.is_some_and(|bare| bare.starts_with(INVOKE)) {
                return self.invoke(at, prefix, dialect);
            }
        }
        Read::No
    }

    /// Bytes of whitespace from `at` on.
    pub(super) fn white(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        rest.len() - rest.trim_start().len()
    }

    /// JSON, or the name and tagged arguments of GLM. Qwen3-Coder has the same wrapper around a form of its own.
    fn hermes(&mut self, at: usize) -> Read {
        let text = self.text;
        let from = at + HERMES.len();
        let start = from + self.white(from);
        let inner = &text[start..];
        if inner.starts_with(QWEN) {
            return Read::No;
        }
        if !inner.starts_with(['{', '[']) {
            return self.glm(at, from);
        }
        let (end, mut is_whole) = self.json_end(start);
        let calls = self.envelopes(&text[start..end]);
        if calls.is_empty() {
            return Read::Unread;
        }
        let after = end + self.white(end);
        let closes = text[after..].starts_with(HERMES_END);
        if is_whole && !closes && !HERMES_END.starts_with(&text[after..]) {
            // Slips like a surplus brace end with the tag.
            let Some(tag) = memchr::memmem::find(&text.as_bytes()[after..], HERMES_END.as_bytes())
            else {
                return Read::Unread;
            };
            let calls = self.envelopes(&text[start..after + tag]);
            let behind = after + tag + HERMES_END.len();
            for (name, parameters) in &calls {
                self.call(Dialect::Hermes, name, parameters.clone(), at..behind, true);
            }
            return if calls.is_empty() {
                Read::Unread
            } else {
                Read::To(behind)
            };
        }
        is_whole &= closes;
        let behind = if closes {
            after + HERMES_END.len()
        } else {
            text.len()
        };
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
        let tags = Tags {
            opening: "<parameter=",
            opened: ">",
            closing: "</parameter>",
            end: "</function>",
        };
        let (texts, behind, is_whole) = self.tagged(body, &tags);
        let texts: Vec<_> = texts
            .into_iter()
            .map(|(key, _, text)| (key, text))
            .collect();
        let parameters = self.texts(name, &texts);
        self.call(Dialect::QwenCoder, name, parameters, at..behind, is_whole);
        Read::To(behind)
    }

    /// `<invoke name="…">`, with what `prefix` puts before the names of tags.
    fn invoke(&mut self, at: usize, prefix: &str, dialect: Dialect) -> Read {
        let text = self.text;
        let from = at + 1 + prefix.len() + INVOKE.len();
        let name = name_at(&text[from..]);
        let body = from + name.len() + 2;
        if name.is_empty() || !text[body - 2..].starts_with("\">") {
            return Read::Unread;
        }
        let tags = Tags {
            opening: &format!("<{prefix}parameter name=\""),
            opened: "\"",
            closing: &format!("</{prefix}parameter>"),
            end: &format!("</{prefix}invoke>"),
        };
        let (texts, behind, is_whole) = self.tagged(body, &tags);
        let parameters = if dialect == Dialect::DeepSeek {
            self.typed(name, &text[body..behind], &texts)
        } else {
            let texts: Vec<_> = texts
                .into_iter()
                .map(|(key, _, text)| (key, text))
                .collect();
            self.texts(name, &texts)
        };
        self.call(dialect, name, parameters, at..behind, is_whole);
        Read::To(behind)
    }

    /// Parameters that say whether they are text or JSON; an object in their place is all of them.
    fn typed(
        &self,
        name: &str,
        body: &str,
        texts: &[(&str, &str, &'a str)],
    ) -> Result<Shaped, ParseError> {
        let mut json = "{".to_owned();
        for (key, attributes, text) in texts {
            let is_text = attributes.contains("string=\"true\"");
            let value = if is_text {
                Value::from(*text).to_string()
            } else {
                (*text).to_owned()
            };
            let _ = write!(json, "{}:{value},", Value::from(*key));
        }
        json.push('}');
        if texts.is_empty() && body.trim_start().starts_with('{') {
            let from = self.text.len() - self.text[self.offset(body)..].trim_start().len();
            self.text[from..self.json_end(from).0].clone_into(&mut json);
        }
        let schema = self.gadget(name).map(RegisteredGadget::schema);
        shaped_json(&json, schema, self.limits).map(Option::unwrap_or_default)
    }

    fn offset(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// Names, further attributes and texts of parameters; where the form ends; whether it does. What is between an opening and
    /// a closing tag is data, whatever it contains.
    fn tagged(
        &self,
        from: usize,
        tags: &Tags<'_>,
    ) -> (Vec<(&'a str, &'a str, &'a str)>, usize, bool) {
        let text = self.text;
        let mut found = Vec::new();
        let mut at = from;
        let mut next_end = Next::default();
        loop {
            let rest = &text[at..];
            let end = next_end.from(at, || text[at..].find(tags.end).map(|end| at + end));
            let end = end.map(|end| end - at);
            let opening = rest[..end.unwrap_or(rest.len())].find(tags.opening);
            let Some(opening) = opening else {
                return match end {
                    Some(end) => (found, at + end + tags.end.len(), true),
                    None => (found, text.len(), false),
                };
            };
            let rest = &rest[opening + tags.opening.len()..];
            let near = &rest[..rest.floor_char_boundary(OPENING.min(rest.len()))];
            let key = &near[..near.find(['>', '\n', '"']).unwrap_or(near.len())];
            let opened = near[key.len()..].strip_prefix(tags.opened);
            // The end of the key is that of the tag, or further attributes follow.
            let attributes = opened.and_then(|near| match tags.opened {
                ">" => Some(""),
                _ => near.find('>').map(|end| &near[..=end]),
            });
            let Some(attributes) = attributes else {
                at = text.len() - rest.len();
                continue;
            };
            let value = &rest[key.len() + tags.opened.len() + attributes.len()..];
            let (value, rest) = match value.split_once(tags.closing) {
                Some(parts) => parts,
                // Some leave the last closing tag out.
                None => value
                    .find(tags.end)
                    .map_or((value, ""), |end| value.split_at(end)),
            };
            found.push((key, attributes, trim_break(value)));
            at = text.len() - rest.len();
            if rest.is_empty() {
                return (found, at, false);
            }
        }
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

/// Returns the text after the closing tag of `name`.
fn closed<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.strip_prefix("</")?
        .strip_prefix(name)?
        .strip_prefix('>')
}

/// The tags of parameters.
struct Tags<'t> {
    opening: &'t str,
    /// The text after the name.
    opened: &'t str,
    closing: &'t str,
    /// The text that ends the form.
    end: &'t str,
}

/// Without a line break at either end: models put the tags on lines of their own.
fn trim_break(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
