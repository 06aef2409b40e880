//! The arguments of native calls, in whatever form servers send them.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::json::read_value;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::json::SurrogateJoiner;
use crate::wire::diagnostic;

/// The arguments of a call as they are sent back to a provider: always an object, whatever the model wrote.
///
/// Servers parse the history, and refuse all of it if the arguments of one call are cut, malformed or not an object.
pub(super) fn sent(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => match read_value(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => wrapped(input),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => wrapped(input),
    }
}

fn wrapped(input: &Value) -> Value {
    Value::Object(Map::from_iter([("value".to_owned(), input.clone())]))
}

/// The note that a reply used the id of a call again.
pub(super) fn repeated(id: &str) -> Delta {
    diagnostic(
        DiagnosticCode::RepeatedCall,
        format!(
            "the reply used the call id \"{}\" more than once; only the first call with it was executed",
            plain(id)
        ),
    )
}

/// The note that more than one object was sent as the arguments of a call.
pub(super) fn extra(name: &str) -> Delta {
    diagnostic(
        DiagnosticCode::ExtraArguments,
        format!(
            "the arguments of a call of \"{}\" continued after their JSON object; what followed was not executed, and \
             needs a call of its own",
            plain(name)
        ),
    )
}

/// A name on one line, of readable length and without markers.
fn plain(name: &str) -> String {
    const LONGEST: usize = 60;
    let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let chars = name.chars().take(LONGEST);
    chars.map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// The arguments of one call, as far as they have arrived.
///
/// Some servers send the arguments of a second call after those of the first, so what follows their object is kept apart:
///
/// ```text
/// pieces     {"a":      1}{"b":    2}
/// json       {"a":      1}
/// extra                   {"b":    2}
/// ```
#[derive(Debug, Default)]
pub(super) struct Arguments {
    json: String,
    extra: String,
    object: Object,
    halves: SurrogateJoiner,
}

impl Arguments {
    /// Takes a piece. Gives what it adds to the arguments.
    pub(super) fn write(&mut self, piece: &str) -> Option<String> {
        let piece = self.halves.join(piece);
        let end = if self.object.is_over() {
            0
        } else {
            self.object.read(&piece).unwrap_or(piece.len())
        };
        let (delta, extra) = piece.split_at(end);
        self.json.push_str(delta);
        self.extra.push_str(extra);
        (!delta.is_empty()).then(|| delta.to_owned())
    }

    /// Returns the received part of the object.
    pub(super) fn json(&self) -> &str {
        &self.json
    }

    /// Returns whether nothing is missing. Without any piece the arguments may be empty, or cut off.
    pub(super) fn is_whole(&self) -> bool {
        serde_json::from_str::<IgnoredAny>(&self.json).is_ok()
    }

    /// The note about what followed the object, unless that repeats it.
    pub(super) fn report_extra(&self, name: &str) -> Option<Delta> {
        let rest = self.extra.trim();
        (!rest.is_empty() && rest != self.json.trim()).then(|| extra(name))
    }
}

/// Finds where a JSON object that arrives in pieces ends.
#[derive(Debug, Default)]
pub(super) struct Object {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    form: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// An object, as far as is known.
    #[default]
    Object,
    /// An object that has ended.
    Ended,
    /// Something else, so its end is unknown.
    Other,
}

impl Object {
    /// Returns whether its end has come.
    pub(super) fn is_over(&self) -> bool {
        self.form == Form::Ended
    }

    /// The offset in `piece` just after the object, if it ends in this piece.
    pub(super) fn read(&mut self, piece: &str) -> Option<usize> {
        if self.form == Form::Other {
            return None;
        }
        for (at, byte) in piece.bytes().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' if self.depth > 0 => self.in_string = true,
                b'{' => self.depth += 1,
                b'[' if self.depth > 0 => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.form = Form::Ended;
                        return Some(at + 1);
                    }
                }
                byte if self.depth == 0 && !byte.is_ascii_whitespace() => {
                    self.form = Form::Other;
                    return None;
                }
                _ => {}
            }
        }
        None
    }
}
