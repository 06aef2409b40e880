//! Calls between markers that name the gadget and its parameters: Kimi, `DeepSeek`, GLM, LFM2, Harmony, and those that a
//! configuration defines.

use std::fmt::Write as _;

use serde_json::Value;

use crate::dialect::custom::{Arguments, CustomDialect};
use crate::dialect::name::name_at;
use crate::dialect::python::is_open;
use crate::dialect::{Dialect, Finder, Read};
use crate::schema::{RegisteredGadget, Shaped, shaped_json};

pub(super) const HARMONY: [&str; 2] = ["<|channel|>", "<|start|>"];
pub(super) const HARMONY_MESSAGE: &str = "<|message|>";
/// The ends of a message of Harmony. Servers often withhold the last two, which stop the model.
pub(super) const HARMONY_ENDS: [&str; 3] = ["<|end|>", "<|call|>", "<|return|>"];
pub(super) const KIMI: &str = "<|tool_call_begin|>";
pub(super) const KIMI_END: &str = "<|tool_call_end|>";
const KIMI_ARGUMENTS: &str = "<|tool_call_argument_begin|>";
pub(super) const DEEPSEEK: &str = "<｜tool▁call▁begin｜>";
pub(super) const DEEPSEEK_END: &str = "<｜tool▁call▁end｜>";
const DEEPSEEK_SEPARATOR: &str = "<｜tool▁sep｜>";
pub(super) const LFM2: &str = "<|tool_call_start|>";
pub(super) const LFM2_END: &str = "<|tool_call_end|>";

/// The header of a message of Harmony.
pub(super) struct Header<'t> {
    pub(super) channel: &'t str,
    /// The name of the function that the message is for.
    pub(super) function: Option<&'t str>,
}

impl<'t> Header<'t> {
    /// Reads what is between an opener and [`HARMONY_MESSAGE`], opener included.
    pub(super) fn of(text: &'t str) -> Self {
        let behind = text.split_once("<|channel|>").map(|(_, behind)| behind);
        let recipient = text.split_once("to=").map(|(_, behind)| name_at(behind));
        Self {
            channel: behind.map_or("", |behind| name_at(behind.trim_start())),
            function: recipient.map(|name| name.strip_prefix("functions.").unwrap_or(name)),
        }
    }

    pub(super) fn is_reasoning(&self) -> bool {
        self.channel == "analysis"
    }
}

impl Finder<'_> {
    /// A message of Harmony: a call, or reasoning, which has none.
    pub(super) fn harmony(&mut self, at: usize) -> Read {
        let text = self.text;
        let Some(head) = text[at..].find(HARMONY_MESSAGE) else {
            return Read::Unread;
        };
        let body = at + head + HARMONY_MESSAGE.len();
        let header = Header::of(&text[at..at + head]);
        let is_meant = header.channel.is_empty() || !header.channel.contains('\n');
        match header.function {
            Some(name) if is_meant && !name.is_empty() => {
                let json = body + self.white(body);
                self.json_call(Dialect::Harmony, name, at, json, &[])
            }
            _ if header.is_reasoning() => {
                let mut tokens = memchr::memmem::find_iter(&text.as_bytes()[body..], b"<|");
                let ends = HARMONY_ENDS.iter().chain(&HARMONY);
                let end =
                    tokens.find(|at| ends.clone().any(|end| text[body + at..].starts_with(*end)));
                Read::To(end.map_or(text.len(), |end| body + end))
            }
            _ => Read::To(body),
        }
    }

    /// A call whose parameters are the JSON object at `json`, then one of `ends`; without `ends`, the object ends it.
    fn json_call(
        &mut self,
        dialect: Dialect,
        name: &str,
        at: usize,
        json: usize,
        ends: &[&str],
    ) -> Read {
        let text = self.text;
        let Some(rest) = text.get(json..) else {
            return Read::Unread;
        };
        if rest.is_empty() {
            let cut = Ok(Shaped::empty());
            self.call(dialect, name, cut, at..text.len(), false);
            return Read::To(text.len());
        }
        if !rest.starts_with('{') {
            return Read::Unread;
        }
        let (mut end, mut is_whole) = self.json_end(json);
        let schema = self.gadget(name).map(RegisteredGadget::schema);
        let read = shaped_json(&text[json..end], schema, self.limits);
        let parameters = read.map(Option::unwrap_or_default);
        if is_whole && !ends.is_empty() {
            let behind = end + self.white(end);
            let found = ends.iter().find(|it| text[behind..].starts_with(**it));
            match found {
                Some(found) => end = behind + found.len(),
                // Something else follows, which no template writes.
                None if !is_prefix_of(&text[behind..], ends) => return Read::Unread,
                None => (end, is_whole) = (text.len(), false),
            }
        }
        if ends.is_empty() && is_whole {
            let behind = end + self.white(end);
            let token = HARMONY_ENDS
                .iter()
                .find(|it| text[behind..].starts_with(**it));
            end = token.map_or(end, |token| behind + token.len());
        }
        self.call(dialect, name, parameters, at..end, is_whole);
        Read::To(end)
    }

    /// `functions.NAME:0`, then the arguments.
    pub(super) fn kimi(&mut self, at: usize) -> Read {
        let text = self.text;
        let from = at + KIMI.len();
        let Some(length) = text[from..].find(KIMI_ARGUMENTS) else {
            return Read::Unread;
        };
        let id = text[from..from + length].trim();
        let name = id.strip_prefix("functions.").unwrap_or(id);
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        if name.is_empty() || name_at(name) != name {
            return Read::Unread;
        }
        let json = from + length + KIMI_ARGUMENTS.len();
        let json = json + self.white(json);
        self.json_call(Dialect::Kimi, name, at, json, &[KIMI_END])
    }

    /// `NAME`, a separator and an object, or the word `function`, a separator, `NAME` and an object in a fence.
    pub(super) fn deepseek(&mut self, at: usize) -> Read {
        let text = self.text;
        let from = at + DEEPSEEK.len();
        let Some(length) = text[from..].find(DEEPSEEK_SEPARATOR) else {
            return Read::Unread;
        };
        let before = text[from..from + length].trim();
        let behind = from + length + DEEPSEEK_SEPARATOR.len();
        let behind = behind + self.white(behind);
        if text[behind..].starts_with('{') || behind == text.len() && before != "function" {
            if name_at(before) != before || before.is_empty() {
                return Read::Unread;
            }
            return self.json_call(Dialect::DeepSeek, before, at, behind, &[DEEPSEEK_END]);
        }
        let name = name_at(&text[behind..]);
        let mut json = behind + name.len();
        json += self.white(json);
        let fenced = text[json..].strip_prefix("```json");
        json = fenced.map_or(json, |rest| text.len() - rest.len());
        json += self.white(json);
        if name.is_empty() {
            return Read::Unread;
        }
        let ends = [
            "```<｜tool▁call▁end｜>",
            "```\n<｜tool▁call▁end｜>",
            DEEPSEEK_END,
        ];
        self.json_call(Dialect::DeepSeek, name, at, json, &ends)
    }

    /// A list of calls as Python writes them, or JSON.
    pub(super) fn lfm2(&mut self, at: usize) -> Read {
        let text = self.text;
        let from = at + LFM2.len();
        let start = from + self.white(from);
        let rest = &text[start..];
        if rest.starts_with('{') || rest.starts_with("[{") {
            let (end, is_whole) = self.json_end(start);
            let calls = self.envelopes(&text[start..end]);
            if calls.is_empty() {
                return Read::Unread;
            }
            let behind = end + self.white(end);
            let closes = text[behind..].starts_with(LFM2_END);
            let end = if closes { behind + LFM2_END.len() } else { end };
            for (name, parameters) in calls {
                self.call(
                    Dialect::Lfm2,
                    &name,
                    parameters,
                    at..end,
                    is_whole && closes,
                );
            }
            return Read::To(end);
        }
        let Some((calls, end)) = self.python_calls(start) else {
            return self.cut_list(at, start);
        };
        let behind = end + self.white(end);
        if !text[behind..].starts_with(LFM2_END) {
            if !LFM2_END.starts_with(&text[behind..]) {
                return Read::Unread;
            }
            for (name, parameters) in calls {
                self.call(Dialect::Lfm2, name, Ok(parameters), at..text.len(), false);
            }
            return Read::To(text.len());
        }
        let end = behind + LFM2_END.len();
        for (name, parameters) in calls {
            self.call(Dialect::Lfm2, name, Ok(parameters), at..end, true);
        }
        Read::To(end)
    }

    /// A list of calls without its end, or something else.
    fn cut_list(&mut self, at: usize, start: usize) -> Read {
        let text = self.text;
        let rest = &text[start..];
        let name = name_at(rest.strip_prefix('[').unwrap_or(rest));
        if self.gadget(name).is_none() || !is_open(rest) {
            return Read::Unread;
        }
        let cut = Ok(Shaped::empty());
        self.call(Dialect::Lfm2, name, cut, at..text.len(), false);
        Read::To(text.len())
    }

    /// `NAME`, then keys and values between tags.
    pub(super) fn glm(&mut self, at: usize, from: usize) -> Read {
        let pairs = Pairs {
            key: ["<arg_key>", "</arg_key>"],
            value: ["<arg_value>", "</arg_value>"],
            after: "</tool_call>",
        };
        let text = self.text;
        let start = from + self.white(from);
        let name = name_at(&text[start..]);
        let behind = start + name.len();
        let next = text[behind..].trim_start();
        let begins = next.starts_with("<arg_key>") || next.starts_with("</tool_call>");
        let is_begun = next.is_empty() && self.gadget(name).is_some();
        if name.is_empty() || !(begins || is_begun) {
            return Read::Unread;
        }
        self.pairs(Dialect::Glm, name, at, behind, &pairs)
    }

    fn pairs(
        &mut self,
        dialect: Dialect,
        name: &str,
        at: usize,
        mut place: usize,
        form: &Pairs<'_>,
    ) -> Read {
        let text = self.text;
        let mut texts = Vec::new();
        let (end, is_whole) = loop {
            place += self.white(place);
            let rest = &text[place..];
            if rest.is_empty() {
                break (place, false);
            }
            if rest.starts_with(form.after) {
                break (place + form.after.len(), true);
            }
            let Some(key) = rest.strip_prefix(form.key[0]) else {
                if form.after.starts_with(rest) || form.key[0].starts_with(rest) {
                    break (text.len(), false);
                }
                return Read::Unread;
            };
            let Some((key, behind)) = key.split_once(form.key[1]) else {
                break (text.len(), false);
            };
            let Some(value) = behind.trim_start().strip_prefix(form.value[0]) else {
                if form.value[0].starts_with(behind.trim_start()) {
                    break (text.len(), false);
                }
                return Read::Unread;
            };
            let Some((value, behind)) = value.split_once(form.value[1]) else {
                break (text.len(), false);
            };
            texts.push((key.trim(), value));
            place = text.len() - behind.len();
        };
        let parameters = self.texts(name, &texts);
        self.call(dialect, name, parameters, at..end, is_whole);
        Read::To(end)
    }

    /// A call in the form that a configuration defines.
    pub(super) fn custom(&mut self, at: usize, form: &CustomDialect) -> Read {
        let text = self.text;
        let from = at + form.before.len();
        let start = from + self.white(from);
        let ends = [form.after.as_str()];
        let Some(name_before) = &form.name_before else {
            let (json, mut is_whole) = self.json_end(start);
            let calls = self.envelopes(&text[start..json]);
            if calls.is_empty() {
                return Read::Unread;
            }
            let behind = json + self.white(json);
            let mut end = json;
            if text[behind..].starts_with(&form.after) {
                end = behind + form.after.len();
            } else if is_whole && !is_prefix_of(&text[behind..], &ends) {
                return Read::Unread;
            } else {
                is_whole = false;
            }
            for (name, parameters) in calls {
                self.call(Dialect::Custom, &name, parameters, at..end, is_whole);
            }
            return Read::To(end);
        };
        let Some(rest) = text[start..].strip_prefix(name_before.as_str()) else {
            return Read::Unread;
        };
        let place = text.len() - rest.len();
        let name = name_at(rest);
        let behind = place + name.len();
        let Some(rest) = text[behind..].strip_prefix(form.name_after.as_str()) else {
            return Read::Unread;
        };
        let behind = text.len() - rest.len();
        if name.is_empty() {
            return Read::Unread;
        }
        match &form.arguments {
            Arguments::Json => {
                let json = behind + self.white(behind);
                self.json_call(Dialect::Custom, name, at, json, &ends)
            }
            Arguments::Pairs {
                key_before,
                key_after,
                value_before,
                value_after,
            } => {
                let form = Pairs {
                    key: [key_before, key_after],
                    value: [value_before, value_after],
                    after: &form.after,
                };
                self.pairs(Dialect::Custom, name, at, behind, &form)
            }
        }
    }

    /// An object of bare keys, whose texts are between two `quote`, as JSON; where it ends; whether it does.
    pub(super) fn bare_object(&self, from: usize, quote: &str) -> (String, usize, bool) {
        let text = self.text;
        let mut json = String::new();
        let mut open: Vec<u8> = Vec::new();
        let mut is_key = true;
        let mut at = from;
        while at < text.len() {
            let rest = &text[at..];
            if let Some(behind) = rest.strip_prefix(quote) {
                let Some((value, behind)) = behind.split_once(quote) else {
                    return (json, text.len(), false);
                };
                json.push_str(&Value::from(value).to_string());
                at = text.len() - behind.len();
                continue;
            }
            let byte = rest.as_bytes()[0];
            match byte {
                b'{' | b'[' => {
                    open.push(byte);
                    is_key = byte == b'{';
                }
                b'}' | b']' => {
                    open.pop();
                    is_key = false;
                }
                b':' => is_key = false,
                b',' => is_key = open.last() == Some(&b'{'),
                b' ' | b'\n' | b'\t' | b'\r' => {}
                // Some write JSON here.
                b'"' => {
                    let end = literal_end(rest);
                    json.push_str(&rest[..end]);
                    at += end;
                    continue;
                }
                _ => {
                    let stops: &[char] = if is_key { &[':'] } else { &[',', '}', ']'] };
                    let end = rest.find(stops).unwrap_or(rest.len());
                    let word = rest[..end].trim_end();
                    let is_json = !is_key && serde_json::from_str::<Value>(word).is_ok();
                    let quoted = Value::from(word).to_string();
                    let _ = write!(json, "{}", if is_json { word } else { &quoted });
                    at += end;
                    continue;
                }
            }
            json.push(char::from(byte));
            at += 1;
            if open.is_empty() {
                return (json, at, true);
            }
        }
        (json, text.len(), false)
    }
}

/// The texts around the keys and values of a form.
struct Pairs<'t> {
    key: [&'t str; 2],
    value: [&'t str; 2],
    after: &'t str,
}

/// Returns the end of the JSON string that a text begins with.
fn literal_end(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Returns `true` if a text that has arrived so far may become one of `ends`.
fn is_prefix_of(text: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| end.starts_with(text))
}
