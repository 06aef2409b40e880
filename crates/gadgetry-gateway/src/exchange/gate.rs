//! Calls in other forms than blocks, found while the text streams.
//!
//! A model that was trained on another form may write `<tool_call>{"name": …}</tool_call>` in place of a block. Its text streams
//! through this gate, which keeps back what may be such a form until it is decided: at its end the engine's
//! [`find`](gadgetry::proto::dialect::find) reads it, and what is not a call of a known tool is text after all.
//!
//! | the text | is kept back until |
//! |---|---|
//! | `<tool_call>`, `<function=`, `<function_calls>`, `<invoke` | its closing tag |
//! | `<\|python_tag\|>`, `[TOOL_CALLS]` | the end of the reply |
//! | `{` at the start of a line, if the first key can be that of a call | the object is closed |
//! | ```` ``` ```` at the start of a line, if what follows is such an object | the fence is closed |
//!
//! So an answer that has JSON in it streams as it comes, but for objects that begin like a call. A form that is in the data of the
//! conversation is text, too: see [`super::quoted`].

use std::sync::Arc;

use gadgetry::proto::dialect::{Dialect, DialectCall, find};
use gadgetry::proto::limits::Limits;
use gadgetry::proto::schema::Registry;

use super::quoted::Quoted;

/// What comes out of the gate, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Call(DialectCall),
}

/// The gate between the text of a reply and its client.
#[derive(Debug)]
pub(crate) struct Gate {
    dialects: Vec<Dialect>,
    registry: Arc<Registry>,
    limits: Limits,
    /// What the model may only repeat.
    quoted: Quoted,
    /// Text from the beginning of a possible form on.
    kept: String,
    /// What ends it; `None` while nothing is kept.
    form: Option<Form>,
    /// The line so far is blank.
    at_line_start: bool,
    /// The character before is a backtick, after which a form is a mention.
    after_backtick: bool,
}

/// A form that has begun.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Not known yet: more text is needed to see which one it is, if any.
    Unknown,
    /// It ends with this text, which does not begin before `from`.
    Until { end: &'static str, from: usize },
    /// It ends with the reply.
    Rest,
    /// A JSON object, read up to a position at this depth.
    Object {
        at: usize,
        depth: usize,
        in_text: bool,
    },
}

/// What is known of text that may begin a form.
enum Recognized {
    /// It does.
    Form(Form),
    /// It does not.
    Text,
    /// More text is needed.
    NotYet,
}

impl Recognized {
    fn text_if(is_text: bool) -> Self {
        if is_text { Self::Text } else { Self::NotYet }
    }

    /// A form whose first key decides, if that is known.
    fn of(is_call: Option<bool>, form: Form) -> Self {
        match is_call {
            Some(true) => Self::Form(form),
            Some(false) => Self::Text,
            None => Self::NotYet,
        }
    }
}

/// Openers, the dialects that they may begin, and what ends them.
const OPENERS: [(&str, &[Dialect], Form); 7] = [
    (
        "<tool_call>",
        &[Dialect::Hermes, Dialect::QwenCoder],
        until("</tool_call>"),
    ),
    ("<function=", &[Dialect::QwenCoder], until("</function>")),
    (
        "<function_calls>",
        &[Dialect::Anthropic],
        until("</function_calls>"),
    ),
    ("<invoke ", &[Dialect::Anthropic], until("</invoke>")),
    ("<|python_tag|>", &[Dialect::Llama], Form::Rest),
    ("[TOOL_CALLS]", &[Dialect::Mistral], Form::Rest),
    ("```", &[Dialect::FencedJson], Form::Unknown),
];

const fn until(end: &'static str) -> Form {
    Form::Until { end, from: 0 }
}

/// First keys of objects that can be calls.
const KEYS: [&str; 16] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "type",
    "id",
    "role",
    "tool_calls",
    "tool_input",
];

/// Wrappers around forms, which are not a part of the text.
const WRAPPERS: [&str; 6] = [
    "<tool_call>",
    "</tool_call>",
    "<function_calls>",
    "</function_calls>",
    "<|eom_id|>",
    "<|eot_id|>",
];

/// Characters in which the first key of an object must be known.
const FIRST_KEY: usize = 128;

/// Bytes of text that are read at once.
const PIECE: usize = 4 << 10;

impl Gate {
    /// A gate for calls of the tools in `registry`. Without dialects or tools, all text passes at once.
    pub(crate) fn new(dialects: Vec<Dialect>, registry: Arc<Registry>, quoted: Quoted) -> Self {
        Self {
            dialects: if registry.is_empty() {
                Vec::new()
            } else {
                dialects
            },
            registry,
            limits: Limits::default(),
            quoted,
            kept: String::new(),
            form: None,
            at_line_start: true,
            after_backtick: false,
        }
    }

    /// Takes more text.
    pub(crate) fn push(&mut self, text: String, out: &mut Vec<Piece>) {
        if self.dialects.is_empty() || text.is_empty() {
            push_text(out, text);
            return;
        }
        // Each form that ends copies what follows it, so a long text is read piece by piece.
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
            rest = after;
            self.kept.push_str(piece);
            while self.step(out) {}
        }
    }

    /// The reply is over, or something else than text follows: decides about what is kept.
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        if !self.kept.is_empty() {
            let end = self.kept.len();
            self.read(end, out);
        }
        self.form = None;
        self.at_line_start = true;
        self.after_backtick = false;
    }

    /// Decides about the beginning of what is kept. `false` if it needs more text.
    fn step(&mut self, out: &mut Vec<Piece>) -> bool {
        match self.form {
            None => {
                let Some(at) = self.suspect() else {
                    let text = std::mem::take(&mut self.kept);
                    self.release(text, out);
                    return false;
                };
                let rest = self.kept.split_off(at);
                let text = std::mem::replace(&mut self.kept, rest);
                self.release(text, out);
                self.form = Some(Form::Unknown);
                true
            }
            Some(Form::Unknown) => match self.recognized() {
                Recognized::Form(form) => {
                    self.form = Some(form);
                    true
                }
                Recognized::Text => self.release_first(out),
                Recognized::NotYet => false,
            },
            Some(Form::Until { end, from }) => {
                if let Some(at) = self.kept[from..].find(end) {
                    self.read(from + at + end.len(), out);
                    return true;
                }
                let seen = (self.kept.len() + 1).saturating_sub(end.len());
                let from = self.kept.floor_char_boundary(seen);
                self.form = Some(Form::Until { end, from });
                self.overflows(out)
            }
            Some(Form::Rest) => self.overflows(out),
            Some(Form::Object { at, depth, in_text }) => match self.object(at, depth, in_text) {
                Some(end) => {
                    self.read(end, out);
                    true
                }
                None => self.overflows(out),
            },
        }
    }

    /// Releases what is kept if it is longer than a block may be.
    fn overflows(&mut self, out: &mut Vec<Piece>) -> bool {
        self.kept.len() > self.limits.block && self.release_first(out)
    }

    /// Where the first possible form begins.
    fn suspect(&self) -> Option<usize> {
        let mut at_line_start = self.at_line_start;
        let mut after_backtick = self.after_backtick;
        for (at, c) in self.kept.char_indices() {
            let may_begin = match c {
                '<' | '[' => !after_backtick,
                '{' | '`' => at_line_start,
                _ => false,
            };
            if may_begin && self.may_open(&self.kept[at..]) {
                return Some(at);
            }
            at_line_start = c == '\n' || at_line_start && (c == ' ' || c == '\t');
            after_backtick = c == '`';
        }
        None
    }

    /// Whether text begins with an opener of a dialect that is on, or with the beginning of one.
    fn may_open(&self, text: &str) -> bool {
        text.starts_with('{') && self.has(&[Dialect::Llama])
            || OPENERS.iter().any(|(opener, dialects, _)| {
                (text.starts_with(opener) || opener.starts_with(text)) && self.has(dialects)
            })
    }

    fn has(&self, any: &[Dialect]) -> bool {
        any.iter().any(|dialect| self.dialects.contains(dialect))
    }

    /// Which form begins the kept text.
    fn recognized(&self) -> Recognized {
        let text = self.kept.as_str();
        if text.starts_with('{') {
            return Recognized::of(first_key(text), OBJECT);
        }
        if let Some(head) = text.strip_prefix("```") {
            let Some((language, body)) = head.split_once('\n') else {
                return Recognized::text_if(head.len() > FIRST_KEY || head.contains('`'));
            };
            let body = body.trim_start();
            let object = body.strip_prefix('[').map_or(body, str::trim_start);
            if language.contains('`') || !(object.is_empty() || object.starts_with('{')) {
                return Recognized::Text;
            }
            if object.is_empty() {
                return Recognized::text_if(head.len() > FIRST_KEY);
            }
            return Recognized::of(first_key(object), until("\n```"));
        }
        let mut may_be = false;
        for (opener, dialects, form) in OPENERS {
            if !self.has(dialects) {
                continue;
            }
            if text.starts_with(opener) {
                return Recognized::Form(form);
            }
            may_be |= opener.starts_with(text);
        }
        Recognized::text_if(!may_be)
    }

    /// The end of the object, or `None` with the position kept for the next piece.
    fn object(&mut self, from: usize, mut depth: usize, mut in_text: bool) -> Option<usize> {
        let bytes = self.kept.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match (in_text, byte) {
                // What is escaped may not be there yet.
                (true, b'\\') if at + 1 >= bytes.len() => break,
                (true, b'\\') => at += 1,
                (_, b'"') => in_text = !in_text,
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.form = Some(Form::Object { at, depth, in_text });
        None
    }

    /// Reads what is kept up to `end`: calls and the text between them.
    fn read(&mut self, end: usize, out: &mut Vec<Piece>) {
        let rest = self.kept.split_off(end);
        let text = std::mem::replace(&mut self.kept, rest);
        self.form = None;
        let calls = find(&text, &self.registry, &self.limits);
        let is_meant = |call: &DialectCall| {
            call.is_whole
                && self.dialects.contains(&call.dialect)
                && self.registry.get(&call.gadget_name).is_some()
        };
        let mut calls: Vec<DialectCall> = calls.into_iter().filter(is_meant).collect();
        // Several calls of one form are all of them quoted, or none.
        let mut last = (0..0, false);
        calls.retain(|call| {
            if last.0 != call.range {
                last = (
                    call.range.clone(),
                    self.quoted.has(&text[call.range.clone()]),
                );
            }
            !last.1
        });
        if calls.is_empty() {
            self.release(text, out);
            return;
        }
        let mut done = 0;
        for call in calls {
            let range = call.range.clone();
            // Several calls may be in one form.
            if range.start >= done {
                self.release(unwrapped(&text[done..range.start]), out);
                done = range.end;
            }
            out.push(Piece::Call(call));
        }
        self.release(unwrapped(&text[done..]), out);
    }

    /// Gives text out, and remembers how its last line begins.
    fn release(&mut self, text: String, out: &mut Vec<Piece>) {
        if let Some(last) = text.chars().next_back() {
            let line = text.rsplit('\n').next().unwrap_or_default();
            let is_blank = line.chars().all(|c| c == ' ' || c == '\t');
            self.at_line_start = is_blank && (text.contains('\n') || self.at_line_start);
            self.after_backtick = last == '`';
        }
        push_text(out, text);
    }

    /// Gives the first character out: no form begins there.
    fn release_first(&mut self, out: &mut Vec<Piece>) -> bool {
        self.form = None;
        let fence = self.kept.bytes().take_while(|it| *it == b'`').count();
        let first = self.kept.chars().next().map_or(0, char::len_utf8);
        let rest = self.kept.split_off(first.max(fence));
        let text = std::mem::replace(&mut self.kept, rest);
        self.release(text, out);
        !self.kept.is_empty()
    }
}

const OBJECT: Form = Form::Object {
    at: 0,
    depth: 0,
    in_text: false,
};

/// Whether the first key of an object can be that of a call; `None` if it is not there yet.
fn first_key(object: &str) -> Option<bool> {
    let body = object[1..].trim_start();
    if body.is_empty() {
        return (object.len() > FIRST_KEY).then_some(false);
    }
    let Some(key) = body.strip_prefix('"') else {
        return Some(false);
    };
    match key.split_once('"') {
        Some((key, _)) => Some(KEYS.contains(&key)),
        None => (key.len() > FIRST_KEY).then_some(false),
    }
}

/// Text between calls; none if it is wrappers alone.
fn unwrapped(text: &str) -> String {
    let mut rest = text.to_owned();
    for wrapper in WRAPPERS {
        rest = rest.replace(wrapper, "");
    }
    if rest.trim().is_empty() {
        String::new()
    } else {
        rest
    }
}

fn push_text(out: &mut Vec<Piece>, text: String) {
    if text.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(Piece::Text(before)) => before.push_str(&text),
        _ => out.push(Piece::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gadgetry::proto::call::Parameters;
    use gadgetry::proto::dialect::Dialect;
    use gadgetry::proto::schema::{GadgetSpec, Registry};
    use serde_json::{Value, json};

    use super::{Gate, Piece, Quoted};

    /// The text that comes out of pieces of every size, with `«call»` for calls.
    fn through(text: &str, dialects: &[Dialect]) -> String {
        let chars: Vec<char> = text.chars().collect();
        let mut seen: Option<String> = None;
        for size in 1..=chars.len() {
            let calc = GadgetSpec::new("Calc", "");
            let registry = Arc::new(Registry::new([calc]).expect("the name is valid"));
            let mut gate = Gate::new(dialects.to_vec(), registry, Quoted::default());
            let mut out = Vec::new();
            for piece in chars.chunks(size) {
                gate.push(piece.iter().collect(), &mut out);
            }
            gate.finish(&mut out);
            let shown: String = out.into_iter().map(shown).collect();
            if let Some(seen) = &seen {
                assert_eq!(*seen, shown, "in pieces of {size}");
            }
            seen = Some(shown);
        }
        seen.unwrap_or_default()
    }

    fn shown(piece: Piece) -> String {
        match piece {
            Piece::Text(text) => text,
            Piece::Call(call) => match call.parameters {
                Parameters::Parsed(parameters) => format!("«{parameters}»"),
                Parameters::Malformed(problem) => format!("«{problem}»"),
            },
        }
    }

    #[test]
    fn forms_become_calls_and_text_stays() {
        let check = |text: &str, expected: &str| {
            assert_eq!(through(text, &Dialect::ALL[..6]), expected, "{text}");
        };
        let one = json!({"a": 1});
        let call = |arguments: &str| json!({"name": "Calc", arguments: one}).to_string();
        let json = call("arguments");
        check("plain <b>text</b> [x] {y}\n", "plain <b>text</b> [x] {y}\n");
        check(
            &format!("Yes.\n<tool_call>\n{json}\n</tool_call>"),
            "Yes.\n«{\"a\":1}»",
        );
        check(
            &format!("<tool_call>{json}</tool_call>\n<tool_call>{json}</tool_call> after"),
            "«{\"a\":1}»\n«{\"a\":1}» after",
        );
        check(
            &format!("`<tool_call>{json}</tool_call>`"),
            &format!("`<tool_call>{json}</tool_call>`"),
        );
        check(
            "<tool_call>\n<function=Calc>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            "«{\"a\":1}»",
        );
        check(&format!("[TOOL_CALLS][{json}]"), "«{\"a\":1}»");
        check(&call("parameters"), "«{\"a\":1}»");
        check(
            &format!("<|python_tag|>{}", call("parameters")),
            "«{\"a\":1}»",
        );
        check(
            &format!("Look:\n```json\n{json}\n```\nDone."),
            "Look:\n«{\"a\":1}»\nDone.",
        );
        let function = |arguments: Value| json!({"id": "c", "type": "function", "function": {"name": "Calc", "arguments": arguments}});
        let list =
            json!({"tool_calls": [function("{\"a\": 1}".into()), function(json!({"a": 2}))]});
        let both = "«{\"a\":1}»«{\"a\":2}»";
        check(&list.to_string(), both);
        check(&format!("```json\n{list:#}\n```"), both);
        check(&format!("<tool_call>{list}</tool_call>"), both);
        let answer = json!({"role": "assistant", "tool_calls": list["tool_calls"]});
        check(&answer.to_string(), both);
        let empty = "{\"tool_calls\": []}";
        check(empty, empty);
        check("```json\n{\"x\": 1}\n```\n", "```json\n{\"x\": 1}\n```\n");
        check(
            "```rust\nfn main() {}\n```\n",
            "```rust\nfn main() {}\n```\n",
        );
        check(
            "{\"name\": \"Ada\"}\nis a person",
            "{\"name\": \"Ada\"}\nis a person",
        );
        check(
            "<tool_call>{\"name\": \"Calc\", \"arg",
            "<tool_call>{\"name\": \"Calc\", \"arg",
        );
        check("a < b and b <", "a < b and b <");
        check(
            "{\"name\": \"Calc\", \"parameters\": {\"t\": \"} \\\" {\"}} x",
            "«{\"t\":\"} \\\" {\"}» x",
        );
    }

    #[test]
    fn dialects_that_are_off_stay_text() {
        let text = json!({"name": "Calc", "parameters": Value::Null}).to_string();
        assert_eq!(through(&text, &[Dialect::Hermes]), text);
        assert_eq!(through(&text, &[]), text);
    }

    #[test]
    fn text_that_cannot_be_a_call_is_not_kept_back() {
        let registry = Registry::new([GadgetSpec::new("Calc", "")]).expect("the name is valid");
        let mut gate = Gate::new(Dialect::ALL.to_vec(), Arc::new(registry), Quoted::default());
        let mut out = Vec::new();
        for text in [
            "{\"temperature\": ",
            "```json\n{\"temperature\": ",
            "a < b, ",
            "<b>bold",
        ] {
            gate.push(text.to_owned(), &mut out);
            assert_eq!(out, [Piece::Text(text.to_owned())], "{text}");
            gate.finish(&mut out);
            out.clear();
        }
    }
}
