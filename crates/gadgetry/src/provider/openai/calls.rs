//! Tool calls out of the pieces that servers send, whatever they forget.

use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use serde_json::Value;

use crate::provider::json::Halves;
use crate::provider::tools::ToolNames;

/// The calls of one reply.
///
/// A piece should say the index of its call, and the first one its id and name. Servers leave each of these out,
/// repeat them, or give two calls the same. A call is complete once its JSON object is closed, so that it can start
/// while the reply goes on; what comes for it afterwards is a repetition, and is dropped.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    names: Arc<ToolNames>,
}

#[derive(Debug)]
struct Call {
    /// Ours; the provider's if it has one of its own.
    id: String,
    sent_id: Option<String>,
    index: Option<u64>,
    /// Empty until it is known. Nothing is handed on before.
    name: String,
    /// What came before the name.
    held: String,
    halves: Halves,
    object: Object,
    is_over: bool,
}

impl Calls {
    pub(super) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            calls: Vec::new(),
            names,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
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
            Some(at) => at,
            None => self.begin(id, index),
        };
        let call = &mut self.calls[at];
        if let (true, Some(name)) = (call.name.is_empty(), name) {
            self.names.meant(&name).clone_into(&mut call.name);
            out.push(Delta::ToolCallStart {
                id: call.id.clone(),
                name: call.name.clone(),
            });
            let held = std::mem::take(&mut call.held);
            call.write(&held, out);
        }
        match function
            .get("arguments")
            .or_else(|| function.get("parameters"))
        {
            None | Some(Value::Null) => {}
            Some(Value::String(json)) => call.write(json, out),
            Some(value) => call.write(&value.to_string(), out),
        }
        &call.id
    }

    /// The reply is complete, and with it all calls.
    pub(super) fn finish(&mut self, out: &mut Vec<Delta>) {
        for call in &mut self.calls {
            call.end(out);
        }
    }

    /// The call that a piece belongs to; `None` if it begins one.
    fn find(&self, id: Option<&str>, index: Option<u64>, name: Option<&str>) -> Option<usize> {
        let last = |is: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(is);
        let other = |call: &Call| name.is_some_and(|name| !call.is_called(name, &self.names));
        if let Some(id) = id {
            let same = |call: &Call| call.sent_id.as_deref() == Some(id);
            let found = last(&|call| same(call) && (index.is_none() || call.index == index));
            if found.is_some() {
                return found.filter(|at| !other(&self.calls[*at]));
            }
            // A new id without a name goes on with the call: some servers make up an id for each piece.
            if name.is_some() {
                return last(&|call| {
                    call.index == index && call.sent_id.is_none() && call.name.is_empty()
                });
            }
        }
        let found = match index {
            Some(_) => last(&|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[found];
        let is_new = match name {
            None => false,
            // A second call of the same gadget, told only by the first being complete.
            Some(_) => other(call) || (call.is_over && id.is_none()),
        };
        (!is_new).then_some(found)
    }

    fn begin(&mut self, sent_id: Option<String>, index: Option<u64>) -> usize {
        let number = self.calls.len() + 1;
        let id = sent_id.clone().unwrap_or_else(|| format!("call_{number}"));
        let is_taken = self.calls.iter().any(|call| call.id == id);
        let id = if is_taken {
            format!("{id}_{number}")
        } else {
            id
        };
        self.calls.push(Call {
            id,
            sent_id,
            index,
            name: String::new(),
            held: String::new(),
            halves: Halves::default(),
            object: Object::default(),
            is_over: false,
        });
        self.calls.len() - 1
    }
}

impl Call {
    fn is_called(&self, name: &str, names: &ToolNames) -> bool {
        self.name.is_empty() || self.name == names.meant(name)
    }

    fn write(&mut self, json: &str, out: &mut Vec<Delta>) {
        if self.name.is_empty() {
            self.held.push_str(json);
            return;
        }
        if self.is_over {
            return;
        }
        let json = self.halves.join(json);
        let end = self.object.read(&json);
        let json = end.map_or(&*json, |end| &json[..end]);
        if !json.is_empty() {
            out.push(Delta::ToolCallDelta {
                id: self.id.clone(),
                delta: json.to_owned(),
            });
        }
        if end.is_some() {
            self.end(out);
        }
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        if self.is_over || self.name.is_empty() {
            return;
        }
        self.is_over = true;
        out.push(Delta::ToolCallEnd {
            id: self.id.clone(),
            input: None,
        });
    }
}

/// Finds where a JSON object ends that arrives in pieces.
#[derive(Debug, Default)]
struct Object {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// It begins with something else than an object, so that nothing tells its end.
    is_other: bool,
}

impl Object {
    /// Where behind the object `piece` goes on, if it ends here.
    fn read(&mut self, piece: &str) -> Option<usize> {
        if self.is_other {
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
                        return Some(at + 1);
                    }
                }
                byte if self.depth == 0 && !byte.is_ascii_whitespace() => {
                    self.is_other = true;
                    return None;
                }
                _ => {}
            }
        }
        None
    }
}
