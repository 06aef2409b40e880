//! Tool calls from the pieces that servers send, whatever fields they leave out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::json::read_value;
use serde_json::Value;

use crate::arguments::{self, Object};
use crate::json::SurrogateJoiner;
use crate::tools::ToolNames;

/// Maximum number of bytes kept of one reply that belong to no call, or to none that has started.
const KEPT: usize = 4 << 20;

/// The calls of one reply.
///
/// A piece should have the index of its call, and the first one its id and name. Servers leave each of these out, repeat
/// them, or give two calls the same. A call is complete once its JSON object is closed, so that it can start while the
/// reply continues. A call that is sent again is dropped: one with a used id, and one with the name and arguments of an
/// earlier call.
///
/// Arguments are kept until the name of their call is known. Those of a call that has more of them than [`KEPT`] are cut
/// there and stay incomplete, so that the call is malformed.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In the order in which they began.
    begun: Vec<Call>,
    /// The first call of each id that was sent.
    by_id: HashMap<String, usize>,
    /// The last call of each index.
    by_index: HashMap<u64, usize>,
    /// All ids given out.
    ids: HashSet<String>,
    /// Name and arguments of the complete calls.
    complete: HashSet<(String, String)>,
    /// Bytes that are kept.
    kept: usize,
    names: Arc<ToolNames>,
}

#[derive(Debug, Default)]
struct Call {
    /// Our id: the provider's, if it is unique.
    id: String,
    sent_id: Option<String>,
    index: Option<u64>,
    /// Empty until it is known. Nothing is emitted before.
    name: String,
    /// Arguments before the name, or all arguments of a call that may be a repetition.
    held: String,
    /// The arguments as emitted.
    json: String,
    /// Text after the arguments.
    extra: String,
    halves: SurrogateJoiner,
    object: Object,
    origin: Origin,
    /// True if some of the arguments were dropped. Nothing is added to them.
    is_cut: bool,
    is_over: bool,
}

/// Relation of a call to those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    /// A new call.
    #[default]
    New,
    /// A possible repetition of an earlier call; the arguments decide.
    Doubtful,
    /// A call with the id of an earlier one, which is not executed.
    SameId,
}

/// Call that a piece belongs to.
enum Target {
    Known(usize),
    Begins(Origin),
}

impl Calls {
    pub(super) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Takes one element of `tool_calls`, or a `function_call` put like one. Gives the id of its call.
    pub(super) fn piece(&mut self, piece: &Value, out: &mut Vec<Delta>) -> &str {
        let function = piece.get("function").unwrap_or(piece);
        let text = |value: &Value, field: &str| {
            let text = value.get(field).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let id = text(piece, "id");
        let name = text(function, "name");
        // Also as text.
        let number = |index: &Value| index.as_u64().or_else(|| index.as_str()?.parse().ok());
        let index = piece.get("index").and_then(number);
        let at = match self.find(id.as_deref(), index, name.as_deref()) {
            Target::Known(at) => at,
            Target::Begins(origin) => self.begin(id, index, origin, out),
        };
        let call = &mut self.begun[at];
        if let (true, Some(name)) = (call.name.is_empty(), name) {
            self.names.meant(&name).clone_into(&mut call.name);
            if call.origin == Origin::New && call.start(&mut self.kept, out) {
                self.end(at, out);
            }
        }
        match function
            .get("arguments")
            .or_else(|| function.get("parameters"))
        {
            None | Some(Value::Null) => {}
            Some(Value::String(json)) => self.write(at, json, out),
            Some(value) => self.write(at, &value.to_string(), out),
        }
        &self.begun[at].id
    }

    fn write(&mut self, at: usize, json: &str, out: &mut Vec<Delta>) {
        let call = &mut self.begun[at];
        if !call.is_cut && call.write(json, &mut self.kept, out) {
            self.end(at, out);
        }
    }

    /// The arguments of a call are complete.
    fn end(&mut self, at: usize, out: &mut Vec<Delta>) {
        let call = &mut self.begun[at];
        if call.is_over || call.name.is_empty() {
            return;
        }
        match call.origin {
            Origin::SameId => call.is_over = true,
            Origin::Doubtful if call.adds_nothing(&self.complete) => call.is_over = true,
            Origin::Doubtful | Origin::New => {
                if call.origin == Origin::Doubtful {
                    call.origin = Origin::New;
                    call.object = Object::default();
                    call.start(&mut self.kept, out);
                }
                call.is_over = true;
                self.complete.insert(call.said(&call.json));
                out.push(Delta::ToolCallEnd {
                    id: call.id.clone(),
                    input: None,
                });
            }
        }
    }

    /// The reply is complete, and with it all calls.
    pub(super) fn finish(&mut self, out: &mut Vec<Delta>) {
        for at in 0..self.begun.len() {
            self.end(at, out);
        }
    }

    /// Reports what was sent after the arguments of a call, unless it repeats a call.
    pub(super) fn report_extra(&self, out: &mut Vec<Delta>) {
        for call in &self.begun {
            let says = call.origin == Origin::New && !call.extra.trim().is_empty();
            if says && !self.complete.contains(&call.said(&call.extra)) {
                out.push(arguments::extra(&call.name));
            }
        }
    }

    /// The call that a piece belongs to, or begins.
    fn find(&self, id: Option<&str>, index: Option<u64>, name: Option<&str>) -> Target {
        // After `{index: 0, id: "a", name: "Add"}`, with all arguments complete:
        //
        //     next piece                         is
        //     index 0                            more of a
        //     index 1, id "b", name "Add"        another call
        //     id "a", index 0                    more of a, by a server that repeats the id
        //     id "a", index 1, or another name   a call with a used id, which is not executed
        //     index 0, id "c", no name           more of a, by a server that makes up an id for each piece
        //     index 0, name "Add"                a again, or another call: the arguments decide
        let last = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.begun.len().checked_sub(1),
        };
        let other = |call: &Call| name.is_some_and(|name| !call.is_called(name, &self.names));
        if let Some(id) = id {
            let has_id = |at: &usize| self.begun[*at].sent_id.as_deref() == Some(id);
            if let Some(first) = self.by_id.get(id).copied() {
                let same = last.filter(has_id).unwrap_or(first);
                let call = &self.begun[same];
                let is_meant = (index.is_none() || call.index == index) && !other(call);
                return if is_meant {
                    Target::Known(same)
                } else {
                    Target::Begins(Origin::SameId)
                };
            }
            // A new id without a name belongs to the open call: some servers make up an id for each piece.
            if name.is_some() {
                let waits = |at: &usize| {
                    let call = &self.begun[*at];
                    call.index == index && call.sent_id.is_none() && call.name.is_empty()
                };
                let begins = Target::Begins(self.origin(index));
                return last.filter(waits).map_or(begins, Target::Known);
            }
        }
        let Some(found) = last else {
            return Target::Begins(Origin::New);
        };
        let call = &self.begun[found];
        if name.is_none() || !(other(call) || (call.is_over && id.is_none())) {
            return Target::Known(found);
        }
        // A second call under one index may be the first one, sent again.
        if !other(call) && index.is_some() {
            return Target::Begins(Origin::Doubtful);
        }
        Target::Begins(self.origin(index))
    }

    /// Returns the origin of a call. Where the other calls have an index, one without may be a repetition.
    fn origin(&self, index: Option<u64>) -> Origin {
        if index.is_none() && !self.by_index.is_empty() {
            Origin::Doubtful
        } else {
            Origin::New
        }
    }

    fn begin(
        &mut self,
        sent_id: Option<String>,
        index: Option<u64>,
        origin: Origin,
        out: &mut Vec<Delta>,
    ) -> usize {
        let at = self.begun.len();
        let number = at + 1;
        let mut id = sent_id.clone().unwrap_or_else(|| format!("call_{number}"));
        if origin == Origin::SameId {
            out.push(arguments::repeated(&id));
        }
        if self.ids.contains(&id) {
            id = format!("{id}_{number}");
        }
        self.ids.insert(id.clone());
        if let Some(sent) = &sent_id {
            self.by_id.entry(sent.clone()).or_insert(at);
        }
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        self.begun.push(Call {
            id,
            sent_id,
            index,
            origin,
            ..Call::default()
        });
        at
    }
}

impl Call {
    fn is_called(&self, name: &str, names: &ToolNames) -> bool {
        self.name.is_empty() || self.name == names.meant(name)
    }

    /// Returns whether a call that may be a repetition is one.
    fn adds_nothing(&self, complete: &HashSet<(String, String)>) -> bool {
        let is_blank = self.held.trim().is_empty() && self.index.is_some();
        is_blank || complete.contains(&self.said(&self.held))
    }

    /// Emits the start, and what has been held. `true` if that completes the arguments.
    fn start(&mut self, kept: &mut usize, out: &mut Vec<Delta>) -> bool {
        out.push(Delta::ToolCallStart {
            id: self.id.clone(),
            name: self.name.clone(),
        });
        let held = std::mem::take(&mut self.held);
        *kept -= held.len();
        self.write(&held, kept, out)
    }

    /// Takes more arguments in. `true` if their object is complete.
    fn write(&mut self, json: &str, kept: &mut usize, out: &mut Vec<Delta>) -> bool {
        if self.is_over {
            keep(&mut self.extra, json, kept);
            return false;
        }
        if self.name.is_empty() || self.origin != Origin::New {
            self.is_cut = !keep(&mut self.held, json, kept);
            return self.origin != Origin::New && self.object.read(json).is_some();
        }
        let json = self.halves.join(json);
        let end = self.object.read(&json);
        let (json, extra) = json.split_at(end.unwrap_or(json.len()));
        keep(&mut self.extra, extra, kept);
        self.json.push_str(json);
        if !json.is_empty() {
            out.push(Delta::ToolCallDelta {
                id: self.id.clone(),
                delta: json.to_owned(),
            });
        }
        end.is_some()
    }

    /// Name and arguments in a normal form, to compare calls.
    fn said(&self, json: &str) -> (String, String) {
        let json = match read_value(json) {
            Ok(value) => value.to_string(),
            Err(_) if json.trim().is_empty() => "{}".to_owned(),
            Err(_) => json.trim().to_owned(),
        };
        (self.name.clone(), json)
    }
}

/// Adds `piece` to what is kept. `false` if it is cut there.
fn keep(text: &mut String, piece: &str, kept: &mut usize) -> bool {
    let end = piece.floor_char_boundary(KEPT - *kept);
    text.push_str(&piece[..end]);
    *kept += end;
    end == piece.len()
}
