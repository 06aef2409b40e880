//! Calls as Python writes them.

use std::fmt::Write as _;

use crate::dialect::name::name_at;
use crate::dialect::{Dialect, Finder, Read, has_parameter};
use crate::schema::{RegisteredGadget, Shaped, shaped_json};

/// The name and the parameters of a call.
pub(super) type PythonCall<'a> = (&'a str, Shaped);

impl<'a> Finder<'a> {
    /// `Name(key=value)` from `at` to the end of its line, or several of them in brackets. Only with keyword arguments that
    /// are literals, and only with parameters that the gadget has.
    pub(super) fn python(&mut self, at: usize) -> Read {
        let text = self.text;
        let head = &text[at + usize::from(text[at..].starts_with('['))..];
        let name = name_at(head);
        // Nearly all lines of prose end here, so the search for the gadget comes last.
        if !head[name.len()..].starts_with('(') || self.gadget(name).is_none() {
            return Read::No;
        }
        let Some((calls, end)) = self.python_calls(at) else {
            return Read::Unread;
        };
        let line = text[end..].split('\n').next().unwrap_or_default();
        if !line.trim().is_empty() {
            return Read::Unread;
        }
        for (name, parameters) in calls {
            self.call(Dialect::Python, name, Ok(parameters), at..end, true);
        }
        Read::To(end)
    }

    /// One call, or several of them in brackets, and where they end.
    pub(super) fn python_calls(&self, at: usize) -> Option<(Vec<PythonCall<'a>>, usize)> {
        let text = self.text;
        let is_list = text[at..].starts_with('[');
        let mut place = at + usize::from(is_list);
        let mut calls = Vec::new();
        loop {
            let name = name_at(&text[place..]);
            let (end, json) = self.arguments(name, place + name.len())?;
            let schema = self.gadget(name).map(RegisteredGadget::schema);
            let parameters = shaped_json(&json, schema, self.limits).ok()??;
            calls.push((name, parameters));
            place = end;
            match text[place..].strip_prefix(',') {
                Some(rest) if is_list => place = text.len() - rest.trim_start().len(),
                Some(_) | None => break,
            }
        }
        if is_list {
            place += self.white(place);
            place = text.len() - text[place..].strip_prefix(']')?.len();
        }
        Some((calls, place))
    }

    /// The arguments that begin with the `(` at `at`, as the text of a JSON object, and where they end.
    fn arguments(&self, name: &str, at: usize) -> Option<(usize, String)> {
        let gadget = self.gadget(name)?;
        let mut rest = self.text[at..].strip_prefix('(')?.trim_start();
        let mut json = "{".to_owned();
        loop {
            if let Some(behind) = rest.strip_prefix(')') {
                json.push('}');
                return Some((self.text.len() - behind.len(), json));
            }
            let key = name_at(rest);
            if !has_parameter(gadget, key) {
                return None;
            }
            let value = rest[key.len()..]
                .trim_start()
                .strip_prefix('=')?
                .trim_start();
            let end = literal_end(value)?;
            // A trailing comma is one of the slips that are read.
            let _ = write!(json, "\"{key}\":{},", &value[..end]);
            rest = value[end..].trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
    }
}

/// Returns the end of a literal: before a `,` or `)` outside quotes and brackets.
fn literal_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut at) = (0_usize, None, 0);
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b',' | b')') if depth == 0 => return Some(at),
            (None, b'[' | b'{' | b'(') => depth += 1,
            (None, b']' | b'}' | b')') => depth = depth.checked_sub(1)?,
            (Some(_) | None, _) => {}
        }
        at += 1;
    }
    None
}

/// Returns `true` if text ends inside the brackets or quotes that it begins with.
pub(super) fn is_open(text: &str) -> bool {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for byte in text.bytes() {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'[' | b'{' | b'(') => depth += 1,
            (None, b']' | b'}' | b')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return false;
                }
            }
            (Some(_) | None, _) => {}
        }
    }
    true
}
