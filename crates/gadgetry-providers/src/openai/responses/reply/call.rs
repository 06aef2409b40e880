//! One function call of a reply.

use std::collections::HashSet;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::json::read_value;
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::json;
use crate::tools::ToolNames;

/// The maximum number of bytes kept of arguments whose call has no name yet. A call with more is cut there.
const HELD: usize = 1 << 20;

/// A call as far as it has arrived.
///
/// It starts once its name is known and ends once its arguments are certain to be whole. Until then it is open, and an open
/// call is never executed.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// Our id: the server's `call_id`, unless it has none or used it before.
    id: String,
    /// Empty until it is known.
    name: String,
    /// Arguments that arrived before the name.
    held: String,
    /// True if some of the arguments were dropped. Nothing is added to them.
    is_cut: bool,
    arguments: Arguments,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    Open,
    /// The server has ended it, but no arguments have arrived: they may be empty, or cut off.
    Doubtful,
    Ended,
    /// Another call has the same id, so it is not executed.
    Repeated,
    /// Some of its arguments were dropped, so it never ends.
    Cut,
}

impl Call {
    /// Takes the item of the call, as it begins or ends. `number` makes an id where the server sends none.
    pub(super) fn describe(
        &mut self,
        item: &Value,
        number: usize,
        names: &ToolNames,
        ids: &mut HashSet<String>,
        out: &mut Vec<Delta>,
    ) {
        let text = |field: &str| {
            let text = item[field].as_str().filter(|text| !text.is_empty());
            text.map(|text| json::whole(text).into_owned())
        };
        let Some(name) = text("name").filter(|_| self.state == State::Waiting) else {
            return;
        };
        let sent = text("call_id").or_else(|| text("id"));
        self.id = sent.clone().unwrap_or_else(|| format!("call_{number}"));
        while !ids.insert(self.id.clone()) {
            if sent.is_some() {
                out.push(arguments::repeated(&self.id));
                self.state = State::Repeated;
                return;
            }
            self.id = format!("{}_{number}", self.id);
        }
        names.meant(&name).clone_into(&mut self.name);
        self.state = State::Open;
        out.push(Delta::ToolCallStart {
            id: self.id.clone(),
            name: self.name.clone(),
        });
        let held = std::mem::take(&mut self.held);
        self.write(&held, out);
        if self.is_cut {
            self.state = State::Cut;
        }
    }

    /// Takes more of the arguments.
    pub(super) fn write(&mut self, piece: &str, out: &mut Vec<Delta>) {
        match self.state {
            State::Waiting => {
                self.is_cut |= self.held.len() + piece.len() > HELD;
                if !self.is_cut {
                    self.held.push_str(piece);
                }
            }
            State::Open => {
                let delta = self.arguments.write(piece);
                let id = || self.id.clone();
                out.extend(delta.map(|delta| Delta::ToolCallDelta { id: id(), delta }));
            }
            State::Doubtful | State::Ended | State::Repeated | State::Cut => {}
        }
    }

    /// The server has ended the arguments. `whole` repeats all of them, and replaces pieces that never came.
    pub(super) fn end(&mut self, whole: &Value, out: &mut Vec<Delta>) {
        if self.state != State::Open {
            return;
        }
        let whole = match whole {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                other.to_string()
            }
        };
        let json = self.arguments.json();
        if json.is_empty() {
            self.write(&whole, out);
        } else if !whole.trim().is_empty() && !is_same(json, json::whole(&whole).trim()) {
            // The pieces and the repetition contradict each other, so neither can be trusted.
            return;
        }
        if self.arguments.json().trim().is_empty() {
            self.state = State::Doubtful;
        } else if self.arguments.is_whole() {
            self.close(out);
        }
    }

    /// The reply is complete, and with it every call that the server has ended.
    pub(super) fn finish(&mut self, out: &mut Vec<Delta>) {
        match self.state {
            State::Doubtful => self.close(out),
            State::Open if self.arguments.is_whole() => self.close(out),
            State::Open | State::Waiting | State::Ended | State::Repeated | State::Cut => {}
        }
    }

    /// Returns whether the run has to answer the call.
    pub(super) fn is_call(&self) -> bool {
        !matches!(self.state, State::Waiting | State::Repeated)
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        self.state = State::Ended;
        out.push(Delta::ToolCallEnd {
            id: self.id.clone(),
            input: None,
        });
        out.extend(self.arguments.report_extra(&self.name));
    }
}

/// Returns whether two texts are the same JSON. The repetition may have different whitespace.
fn is_same(pieces: &str, whole: &str) -> bool {
    let value = |text: &str| read_value(text).ok();
    pieces.trim() == whole || value(pieces).is_some_and(|it| value(whole) == Some(it))
}
