//! One reply of the upstream, with its calls that cannot be sent to the client.

use std::collections::{HashMap, VecDeque};

use gadgetry_proto::call::Digits;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::json::read_value;
use serde_json::Value;

use super::request::Input;
use crate::memory::most_values;

/// The problem of a call that the end of the reply has cut off.
pub(super) const CUT: &str = "the reply ended inside the call; write it again, whole";

/// A call that cannot be sent to the client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RejectedCall {
    /// The model's id of the call.
    pub(super) id: String,
    /// The tool as written.
    pub(super) name: String,
    /// The problem, for the model.
    pub(super) problem: String,
}

/// A call that was sent or waits for others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AcceptedCall {
    /// The model's id of the call.
    pub(super) id: String,
    /// The tool as written.
    pub(super) name: String,
}

/// A call of the upstream's own interface.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NativeCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments, or their text if it is not JSON.
    pub(super) input: Result<Input, String>,
}

/// A native call whose arguments are still arriving.
#[derive(Debug)]
struct OpenCall {
    name: String,
    json: String,
}

/// A defect of a reply that the model may correct.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Defect {
    /// Calls are invalid.
    InvalidCalls,
    /// The client demands a call, and the reply has no call.
    NoCall,
    /// Text looked like a call, and was not one.
    NearMiss(String),
}

/// The state of one reply of the upstream.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The defect that the reply corrects; `None` for the first reply.
    corrects: Option<Defect>,
    pub(super) rejected: Vec<RejectedCall>,
    pub(super) accepted: Vec<AcceptedCall>,
    /// The calls of the upstream's own interface, for the conversation of a repair turn.
    pub(super) native: Vec<NativeCall>,
    /// By their ids, which may be repeated: deltas are for the oldest call with the id.
    open: HashMap<String, VecDeque<OpenCall>>,
    /// Text that looked like a call and was not one.
    near_miss: Option<String>,
    /// `true` if the reply was ended in a block that repeats itself.
    pub(super) repeats: bool,
}

impl Turn {
    /// Makes the turn of a reply that corrects the one before.
    pub(super) fn correcting(defect: Defect) -> Self {
        Self {
            corrects: Some(defect),
            ..Self::default()
        }
    }

    pub(super) fn is_repair(&self) -> bool {
        self.corrects.is_some()
    }

    /// Returns `true` if the reply corrects text that looked like a call. That text was shown, so an answer without a call adds
    /// nothing.
    pub(super) fn corrects_near_miss(&self) -> bool {
        matches!(self.corrects, Some(Defect::NearMiss(_)))
    }

    /// Notes a call that is sent or waits for others.
    pub(super) fn accept(&mut self, id: &str, name: &str) {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.accepted.push(AcceptedCall { id, name });
    }

    /// Notes text that looked like a call. The first one counts.
    pub(super) fn note_near_miss(&mut self, problem: impl FnOnce() -> String) {
        self.near_miss.get_or_insert_with(problem);
    }

    /// Returns the defect of the reply, if it has one. A near miss does not count if the client has calls.
    pub(super) fn defect(&self, is_forced: bool, has_calls: bool) -> Option<Defect> {
        if !self.rejected.is_empty() {
            return Some(Defect::InvalidCalls);
        }
        if has_calls {
            return None;
        }
        if is_forced {
            return Some(Defect::NoCall);
        }
        self.near_miss.clone().map(Defect::NearMiss)
    }

    /// Takes a delta of a native call, and returns the call if it is complete.
    pub(super) fn native(&mut self, delta: Delta) -> Option<NativeCall> {
        let call = match delta {
            Delta::ToolCallStart { id, name } => {
                let json = String::new();
                let open = self.open.entry(id).or_default();
                open.push_back(OpenCall { name, json });
                return None;
            }
            Delta::ToolCallDelta { id, delta } => {
                let open = self.open.get_mut(&id);
                if let Some(open) = open.and_then(VecDeque::front_mut) {
                    open.json.push_str(&delta);
                }
                return None;
            }
            Delta::ToolCallEnd { id, input } => {
                let OpenCall { name, json } = self.open.get_mut(&id)?.pop_front()?;
                let whole = input.map(|input| (input, Digits::default()));
                let input = whole.map_or_else(|| read(&json), Ok);
                NativeCall { id, name, input }
            }
            Delta::ToolCall { id, name, input } => NativeCall {
                id,
                name,
                input: Ok((input, Digits::default())),
            },
            _ => return None,
        };
        self.native.push(call.clone());
        Some(call)
    }
}

/// Maximum number of JSON values in the arguments of a call.
const VALUES: usize = 1_000_000;

/// Reads arguments as JSON. An empty text is a call without arguments.
fn read(json: &str) -> Result<Input, String> {
    if json.trim().is_empty() {
        return Ok((Value::Object(serde_json::Map::new()), Digits::default()));
    }
    let not_json = || json.to_owned();
    if most_values(json) > VALUES {
        return Err(not_json());
    }
    let mut value = read_value(json).map_err(|_| not_json())?;
    // Some models write JSON in a string.
    if let Value::String(inner) = value {
        value = read_value(&inner).map_err(|_| not_json())?;
    }
    let digits = Digits::of(json, &value).map_err(|_| not_json())?;
    Ok((value, digits))
}
