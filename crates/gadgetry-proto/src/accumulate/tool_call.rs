//! A tool call whose input streams as JSON text.

use serde_json::Value;

use crate::accumulate::Accumulator;
use crate::accumulate::error::StreamError;
use crate::accumulate::open::OpenToolCall;
use crate::json::{bounded, read_value};
use crate::limits::{JSON_VALUES, Limit, LimitExceeded};
use crate::message::Content;
use crate::schema::read_json;
use crate::schema::values;

impl Accumulator {
    pub(super) fn start_tool_call(&mut self, id: &str, name: &str) {
        if self.tool_calls.contains_key(id) {
            return;
        }
        let block_index = self.begin();
        let call = OpenToolCall {
            block_index,
            name: name.to_owned(),
            json: String::new(),
        };
        self.tool_calls.insert(id.to_owned(), call);
    }

    pub(super) fn write_tool_call(&mut self, id: &str, json: &str) {
        if let Some(call) = self.tool_calls.get_mut(id) {
            call.json.push_str(json);
        }
    }

    pub(super) fn end_tool_call(&mut self, id: &str, input: Option<Value>) {
        let Some((call_id, call)) = self.tool_calls.remove_entry(id) else {
            return;
        };
        let OpenToolCall {
            block_index,
            name,
            json,
        } = call;
        let (input, error) = match input {
            Some(input) if !input.is_null() => (bounded(input), None),
            _ => {
                self.json_values = self.json_values.saturating_add(values(&json));
                read_input(&name, json, self.json_values)
            }
        };
        if let Some(error) = error {
            self.errors.push(error);
        }
        self.tool_uses.insert(call_id.clone(), block_index);
        let content = Content::ToolUse {
            tool_use_id: call_id,
            name,
            input,
        };
        self.fill(block_index, content, None);
    }

    /// Ends the tool calls that are still open, in the order in which they began.
    pub(super) fn end_tool_calls(&mut self) {
        let mut open: Vec<(usize, String)> = self
            .tool_calls
            .iter()
            .map(|(id, call)| (call.block_index, id.clone()))
            .collect();
        open.sort_unstable();
        for (_, id) in open {
            self.end_tool_call(&id, None);
        }
    }
}

/// The value of a JSON text in which U+FFFD takes the place of each escaped half of a surrogate pair that is alone.
/// `None` if there is no such half, or if that is not what is wrong.
fn without_lone_halves(json: &str) -> Option<Value> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut repaired = String::with_capacity(json.len());
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = json[at..].find('\\') {
        at += found;
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&json[kept..at]);
                repaired.push('\u{FFFD}');
                at += 6;
                kept = at;
            }
            Some(_) => at += 6,
            // The escaped character may be a backslash, which begins nothing.
            None => at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if kept == 0 {
        return None;
    }
    repaired.push_str(&json[kept..]);
    read_value(&repaired).ok()
}

/// Returns `true` if a number may be read with other digits: it has more than 64 bits hold, a fraction or an exponent.
fn may_lose_digits(json: &str) -> bool {
    const DIGITS: usize = 19;
    let mut run = 0;
    json.bytes().any(|byte| {
        if run > 0 && matches!(byte, b'.' | b'e' | b'E') {
            return true;
        }
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run >= DIGITS
    })
}

/// Reads the input that a model wrote for `tool`. Nothing means no parameters; what is not JSON stays text, and so does
/// what makes `values` in the inputs of the reply too many.
pub(crate) fn read_input(tool: &str, json: String, values: usize) -> (Value, Option<StreamError>) {
    if values > JSON_VALUES {
        let what = Limit::JsonValues;
        let limit = JSON_VALUES;
        let error = StreamError {
            message: LimitExceeded { what, limit }.to_string(),
            code: StreamError::TOOL_INPUT.to_owned(),
        };
        return (Value::String(json), Some(error));
    }
    if json.trim_ascii().is_empty() {
        return (Value::Object(serde_json::Map::new()), None);
    }
    match read_value(&json).map(bounded) {
        // `serde_json` would round an integer of more than 64 bits, and write `0.1000` as `0.1`.
        Ok(input) if !may_lose_digits(&json) => (input, None),
        Ok(input) => (read_json(&json).unwrap_or(input), None),
        Err(error) => {
            if let Some(input) = without_lone_halves(&json) {
                return (input, None);
            }
            let error = StreamError {
                message: format!("The model wrote invalid JSON as the input of {tool}: {error}"),
                code: StreamError::TOOL_INPUT.to_owned(),
            };
            (Value::String(json), Some(error))
        }
    }
}
