//! Calls as JSON: an object with the name of a gadget and its parameters.

use std::borrow::Cow;

use serde_json::Value;

use crate::dialect::markup::PYTHON_TAG;
use crate::dialect::name::name_at;
use crate::dialect::{Dialect, Finder, Read};
use crate::error::ParseError;
use crate::schema::{Json, RegisteredGadget, Shaped, read_whole, shape_parameters, shaped_json};

const MISTRAL: &str = "[TOOL_CALLS]";
const NAMES: [&str; 7] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "gadget",
    "action",
];
const PARAMETERS: [&str; 7] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "tool_input",
    "action_input",
];
/// Bytes in which the name of an object that cannot be read is looked for.
const PEEKED: usize = 512;

/// A name, and the parameters or what is wrong with them.
pub(super) type Envelope = (String, Result<Shaped, ParseError>);
/// The fields of an object.
type Fields<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

impl Finder<'_> {
    /// The calls in an object, or in an array of objects.
    pub(super) fn envelopes(&self, json: &str) -> Vec<Envelope> {
        if !json.starts_with(['{', '[']) {
            return Vec::new();
        }
        match read_whole(json) {
            Ok(Json::Object(fields)) => self.calls(fields),
            Ok(Json::Array(items)) => self.listed(items),
            Ok(_) => Vec::new(),
            Err(error) => {
                let name = self.peeked(json);
                name.map(|name| (name.to_owned(), Err(error)))
                    .into_iter()
                    .collect()
            }
        }
    }

    /// The calls of an object: those of its list, as `OpenAI` writes them, or the one that it is itself.
    fn calls(&self, mut object: Fields<'_>) -> Vec<Envelope> {
        match take(&mut object, "tool_calls") {
            Some(Json::Array(items)) => self.listed(items),
            _ => self.named(object).into_iter().collect(),
        }
    }

    fn listed(&self, items: Vec<Json<'_>>) -> Vec<Envelope> {
        let calls = items.into_iter().filter_map(|item| {
            let Json::Object(fields) = item else {
                return None;
            };
            self.named(fields)
        });
        calls.collect()
    }

    /// Returns the calls of registered gadgets.
    fn known(&self, json: &str) -> Vec<Envelope> {
        let mut calls = self.envelopes(json);
        calls.retain(|(name, _)| self.gadget(name).is_some());
        calls
    }

    fn named(&self, mut object: Fields<'_>) -> Option<Envelope> {
        let inner = object
            .iter()
            .position(|(key, value)| key == "function" && matches!(value, Json::Object(_)));
        if let Some(at) = inner
            && let Json::Object(inner) = object.swap_remove(at).1
        {
            return self.named(inner);
        }
        let text = |name: &str| {
            let (_, value) = object.iter().find(|(key, _)| key == name)?;
            let Json::String(text) = value else {
                return None;
            };
            Some(text.to_string())
        };
        let name = NAMES.into_iter().find_map(text)?;
        let mut keys = PARAMETERS.into_iter();
        let parameters = keys.find_map(|key| take(&mut object, key));
        let shaped = self.shaped(&name, parameters);
        Some((name, shaped))
    }

    /// Parameters as the gadget's schema wants them.
    fn shaped(&self, name: &str, parameters: Option<Json<'_>>) -> Result<Shaped, ParseError> {
        let schema = self.gadget(name).map(RegisteredGadget::schema);
        match parameters {
            None => Ok(Shaped::empty()),
            Some(object @ Json::Object(_)) => shape_parameters(object, schema, self.limits),
            // Some write JSON in a string.
            Some(Json::String(text)) => {
                let read = shaped_json(&text, schema, self.limits)?;
                Ok(read.unwrap_or_else(|| Value::from(text).into()))
            }
            // The schema refuses everything but objects.
            Some(other) => Ok(other.into_value().into()),
        }
    }

    /// `[TOOL_CALLS]`, then an array, an object, or a name and an object.
    pub(super) fn mistral(&mut self, at: usize) -> Read {
        let text = self.text;
        if !text[at..].starts_with(MISTRAL) {
            return Read::No;
        }
        let mut from = at + MISTRAL.len();
        from += self.white(from);
        let rest = &text[from..];
        if rest.starts_with(['[', '{']) {
            let (end, is_whole) = self.json_end(from);
            let calls = self.envelopes(&text[from..end]);
            if calls.is_empty() {
                return Read::Unread;
            }
            for (name, parameters) in calls {
                self.call(Dialect::Mistral, &name, parameters, at..end, is_whole);
            }
            return Read::To(end);
        }
        let name = name_at(rest);
        let mut json = from + name.len();
        if let Some(ids) = text[json..].strip_prefix("[CALL_ID]") {
            json = text.len() - ids.len() + name_at(ids).len();
        }
        let behind = text[json..].strip_prefix("[ARGS]");
        json = behind.map_or(json, |rest| text.len() - rest.len());
        json += self.white(json);
        if name.is_empty() || !text[json..].starts_with('{') {
            return Read::Unread;
        }
        let (end, is_whole) = self.json_end(json);
        let schema = self.gadget(name).map(RegisteredGadget::schema);
        let read = shaped_json(&text[json..end], schema, self.limits);
        let parameters = read.map(Option::unwrap_or_default);
        self.call(Dialect::Mistral, name, parameters, at..end, is_whole);
        Read::To(end)
    }

    /// An object at `json` that is a call, and others after it; the form begins at `at`.
    pub(super) fn llama(&mut self, at: usize, json: usize) -> Read {
        let text = self.text;
        let rest = &text[json..];
        if !rest.starts_with('{')
            || self
                .peeked(rest)
                .and_then(|name| self.gadget(name))
                .is_none()
        {
            return Read::No;
        }
        let (mut end, mut is_whole) = self.json_end(json);
        let mut calls = self.called(&text[json..end]);
        if calls.is_empty() {
            return Read::Unread;
        }
        // Several calls have a `;` between them.
        while let Some(rest) = text[end..].strip_prefix(';') {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix(PYTHON_TAG).unwrap_or(rest).trim_start();
            if !is_whole || !rest.starts_with('{') {
                break;
            }
            let from = text.len() - rest.len();
            let (behind, closes) = self.json_end(from);
            let more = self.called(&text[from..behind]);
            if more.is_empty() {
                break;
            }
            calls.extend(more);
            (end, is_whole) = (behind, closes);
        }
        for (name, parameters) in calls {
            self.call(Dialect::Llama, &name, parameters, at..end, is_whole);
        }
        Read::To(end)
    }

    /// The calls of an object that has parameters.
    fn called(&self, object: &str) -> Vec<Envelope> {
        if has_parameters(object) {
            self.known(object)
        } else {
            Vec::new()
        }
    }

    /// A code fence at `at`.
    pub(super) fn fence(&mut self, at: usize) -> Read {
        const FENCE: &str = "```";
        let text = self.text;
        let Some(head) = text[at..].strip_prefix(FENCE) else {
            return Read::No;
        };
        let Some((language, body)) = head.split_once('\n') else {
            return Read::No;
        };
        let from = text.len() - body.len();
        if language.trim() == "tool_code" {
            return self.tool_code(at, from);
        }
        if !is_json(language) || !body.trim_start().starts_with(['{', '[']) {
            return Read::No;
        }
        let close = memchr::memmem::find(body.as_bytes(), b"\n```");
        let end = close.map_or(text.len(), |close| from + close);
        let behind = close.map_or(text.len(), |_| end + 1 + FENCE.len());
        let json = self.trimmed(from..end);
        if !has_parameters(json) {
            return Read::No;
        }
        let calls = self.known(json);
        if calls.is_empty() {
            return Read::Unread;
        }
        for (name, parameters) in calls {
            self.call(
                Dialect::FencedJson,
                &name,
                parameters,
                at..behind,
                close.is_some(),
            );
        }
        Read::To(behind)
    }

    /// The name in an object, as far as it is known without reading it whole; one of a gadget if there is one.
    fn peeked<'t>(&self, json: &'t str) -> Option<&'t str> {
        let begin = &json[..json.floor_char_boundary(PEEKED)];
        let names = NAMES.into_iter().filter_map(|key| {
            let (_, rest) = begin.split_once(&format!("\"{key}\""))?;
            let value = rest.trim_start().strip_prefix(':')?.trim_start();
            let (name, _) = value.strip_prefix('"')?.split_once('"')?;
            Some(name)
        });
        let names: Vec<&str> = names.collect();
        let known = names.iter().find(|name| self.gadget(name).is_some());
        known.or(names.first()).copied()
    }

    /// Returns the end of the object or array at `from`, and whether it is complete.
    pub(super) fn json_end(&self, from: usize) -> (usize, bool) {
        let bytes = self.text.as_bytes();
        let (mut depth, mut quoted, mut at) = (0_usize, false, from);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        (self.text.len(), false)
    }
}

/// Returns `true` if a fence of this language may hold a call.
pub(super) fn is_json(language: &str) -> bool {
    let known = [
        "",
        "json",
        "json5",
        "jsonc",
        "tool",
        "tool_call",
        "tool_calls",
        "tool_use",
        "function",
        "function_call",
        "action",
    ];
    known.contains(&language.trim())
}

/// The value of a key, taken out of an object.
fn take<'a>(object: &mut Fields<'a>, key: &str) -> Option<Json<'a>> {
    let at = object.iter().position(|(name, _)| name == key)?;
    Some(object.swap_remove(at).1)
}

/// Returns `true` if the text of an object has a key of parameters near its beginning or its end.
fn has_parameters(json: &str) -> bool {
    let begin = &json[..json.floor_char_boundary(PEEKED)];
    let end = &json[json.ceil_char_boundary(json.len().saturating_sub(PEEKED))..];
    let has = |text: &str, key: &str| text.contains(&format!("\"{key}\""));
    PARAMETERS
        .into_iter()
        .any(|key| has(begin, key) || has(end, key))
}
