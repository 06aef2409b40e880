//! Calls of Gemma: Python in a fence, and two forms with tokens of their own.

use crate::dialect::name::name_at;
use crate::dialect::{Dialect, Finder, Read};
use crate::schema::{RegisteredGadget, Shaped, shaped_json};

/// The markers of a form: before a call, after it, and around a text.
pub(super) const GEMMA: [[&str; 3]; 2] = [
    ["<start_function_call>", "<end_function_call>", "<escape>"],
    ["<|tool_call>", "<tool_call|>", "<|\"|>"],
];

impl Finder<'_> {
    /// `call:NAME{key:value}` between markers.
    pub(super) fn gemma(&mut self, at: usize, markers: [&str; 3]) -> Read {
        let [before, after, quote] = markers;
        let text = self.text;
        let from = at + before.len();
        let from = from + self.white(from);
        let Some(rest) = text[from..].strip_prefix("call:") else {
            return Read::Unread;
        };
        let name = name_at(rest);
        let object = text.len() - rest.len() + name.len();
        let object = object + self.white(object);
        if name.is_empty() {
            return Read::Unread;
        }
        if object == text.len() {
            let cut = Ok(Shaped::empty());
            self.call(Dialect::Gemma, name, cut, at..object, false);
            return Read::To(object);
        }
        if !text[object..].starts_with('{') {
            return Read::Unread;
        }
        let (json, mut end, mut is_whole) = self.bare_object(object, quote);
        let schema = self.gadget(name).map(RegisteredGadget::schema);
        let read = shaped_json(&json, schema, self.limits);
        let behind = end + self.white(end);
        if text[behind..].starts_with(after) {
            end = behind + after.len();
        } else if is_whole && !after.starts_with(&text[behind..]) {
            return Read::Unread;
        } else {
            (end, is_whole) = (text.len(), false);
        }
        let parameters = read.map(Option::unwrap_or_default);
        self.call(Dialect::Gemma, name, parameters, at..end, is_whole);
        Read::To(end)
    }

    /// A fence of calls as Python writes them, one a line, whose code is at `from`.
    pub(super) fn tool_code(&mut self, at: usize, from: usize) -> Read {
        let text = self.text;
        let mut calls = Vec::new();
        let mut place = from;
        loop {
            place += self.white(place);
            let rest = &text[place..];
            let closes = rest.strip_prefix("```");
            if let Some(behind) = closes.or_else(|| "``".starts_with(rest).then_some("")) {
                if calls.is_empty() {
                    return Read::Unread;
                }
                let end = text.len() - behind.len();
                for (name, parameters) in calls {
                    self.call(
                        Dialect::Gemma,
                        name,
                        Ok(parameters),
                        at..end,
                        closes.is_some(),
                    );
                }
                return Read::To(end);
            }
            let printed = rest.strip_prefix("print(");
            let code = printed.unwrap_or(rest);
            let code = code.strip_prefix("default_api.").unwrap_or(code);
            let start = text.len() - code.len();
            let Some((found, end)) = self.python_calls(start) else {
                return self.cut_code(at, code);
            };
            place = end;
            if printed.is_some() {
                match text[place..].strip_prefix(')') {
                    Some(rest) => place = text.len() - rest.len(),
                    None => return self.cut_code(at, code),
                }
            }
            calls.extend(found);
        }
    }

    /// Code that ends with the reply, or something else.
    fn cut_code(&mut self, at: usize, code: &str) -> Read {
        let text = self.text;
        let name = name_at(code.strip_prefix('[').unwrap_or(code));
        let is_cut = memchr::memmem::find(code.as_bytes(), b"\n```").is_none();
        if !is_cut || self.gadget(name).is_none() {
            return Read::Unread;
        }
        let cut = Ok(Shaped::empty());
        self.call(Dialect::Gemma, name, cut, at..text.len(), false);
        Read::To(text.len())
    }
}
