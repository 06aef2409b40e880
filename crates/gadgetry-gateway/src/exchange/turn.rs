//! One reply of the upstream, and what of it cannot be sent to the client.

use crate::memory::most_values;
use gadgetry_proto::delta::Delta;
use serde_json::Value;

/// A call that was written and cannot be sent to the client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    /// The model's id of the call.
    pub(super) id: String,
    /// The tool as written.
    pub(super) name: String,
    /// What is wrong, for the model.
    pub(super) problem: String,
}

/// A call of the upstream's own interface.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NativeCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments, or their text if it is not JSON.
    pub(super) input: Result<Value, String>,
}

/// What one reply of the upstream has brought so far.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Calls that cannot be sent.
    pub(super) failures: Vec<Failure>,
    /// The model's ids and the tools of calls that were sent or wait for others.
    pub(super) accepted: Vec<(String, String)>,
    /// Text of a repair turn, which the client sees only if nothing else comes.
    pub(super) text: String,
    /// The calls of the upstream's own interface, for the conversation of a repair turn.
    pub(super) native: Vec<NativeCall>,
    /// Native calls whose arguments are still arriving.
    open: Vec<(String, String, String)>,
    /// What looked like a call and was not one.
    pub(super) near_miss: Option<String>,
    /// Whether the last call in another form than blocks is a quotation, so that what closes its form is text.
    pub(super) is_quoting: bool,
    /// Whether it was ended in a block that repeats the same lines.
    pub(super) repeats: bool,
}

impl Turn {
    /// Takes a delta of a native call, and gives the call if it is complete.
    pub(super) fn native(&mut self, delta: Delta) -> Option<NativeCall> {
        let call = match delta {
            Delta::ToolCallStart { id, name } => {
                self.open.push((id, name, String::new()));
                return None;
            }
            Delta::ToolCallDelta { id, delta } => {
                let open = self.open.iter_mut().find(|(open, ..)| *open == id);
                if let Some((_, _, json)) = open {
                    json.push_str(&delta);
                }
                return None;
            }
            Delta::ToolCallEnd { id, input } => {
                let at = self.open.iter().position(|(open, ..)| *open == id)?;
                let (id, name, json) = self.open.remove(at);
                let input = input.map_or_else(|| read(&json), Ok);
                NativeCall { id, name, input }
            }
            Delta::ToolCall { id, name, input } => NativeCall {
                id,
                name,
                input: Ok(input),
            },
            _ => return None,
        };
        self.native.push(call.clone());
        Some(call)
    }
}

/// JSON values in the arguments of a call.
const VALUES: usize = 1_000_000;

/// Arguments as JSON. An empty text is a call without arguments.
fn read(json: &str) -> Result<Value, String> {
    if json.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if most_values(json) > VALUES {
        return Err(json.to_owned());
    }
    match serde_json::from_str(json) {
        // Some models write JSON in a string.
        Ok(Value::String(inner)) => serde_json::from_str(&inner).map_err(|_| json.to_owned()),
        Ok(value) => Ok(value),
        Err(_) => Err(json.to_owned()),
    }
}
