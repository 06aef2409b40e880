//! Calls whose arguments are sent one by one, for clients that ask for it.
//!
//! A client of Messages may set `eager_input_streaming` on a tool: it wants to show a long text, such as a file, while the rest
//! of the call is still written. Then each text parameter is sent as soon as it is complete, and the rest at the end of the
//! block:
//!
//! ```text
//! !!!GADGET_START:write:w     (nothing yet)
//! !!!ARG:path
//! a.txt                       start of the call, {"path":"a.txt"
//! !!!ARG:text
//! …                           ,"text":"…"
//! !!!ARG:mode
//! 420
//! !!!GADGET_END               ,"mode":420}, end of the call
//! ```
//!
//! The price: what was sent cannot be taken back. A call that turns out to be invalid, or is cut off, ends the reply with an
//! error, where another one gets a repair turn or is left out. So no client ever has such a call complete.

use gadgetry::proto::call::Call;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::piece::{ArgsPartial, CallStart};
use gadgetry::proto::reply::Verdict;
use serde_json::{Map, Value};

use super::{Exchange, Tool};

/// A call that is being written.
#[derive(Debug)]
pub(super) struct EagerCall {
    /// The model's id.
    id: String,
    /// The tool's name in blocks.
    name: String,
    /// The client's id, once it has a part of the call.
    client_id: Option<String>,
    /// The parameters that were sent.
    sent: Map<String, Value>,
    /// The parameter that is being written.
    field: String,
    text: String,
}

impl Exchange {
    /// A block begins.
    pub(super) fn begin_eager(&mut self, call: &CallStart) {
        let tool = self.setup.tools.tool(&call.gadget_name);
        let request = &self.setup.request;
        // Without a stream nothing is shown earlier, so nothing is worth the price.
        let may_send = request.is_streaming
            && tool.is_some_and(|tool| tool.is_eager && request.choice.allows(&tool.full_name()));
        // After a failure there will be a repair turn, in which the model may repeat this call.
        let is_first_turn = !self.is_repair() && self.turn.failures.is_empty();
        self.eager =
            (may_send && is_first_turn && call.dependencies.is_empty()).then(|| EagerCall {
                id: call.invocation_id.as_str().to_owned(),
                name: call.gadget_name.clone(),
                client_id: None,
                sent: Map::new(),
                field: String::new(),
                text: String::new(),
            });
    }

    /// More of a parameter.
    pub(super) fn grow_eager(&mut self, part: &ArgsPartial, out: &mut Vec<Delta>) {
        let Some(mut call) = self.eager.take() else {
            return;
        };
        if call.field != part.field_path {
            call.field.clone_from(&part.field_path);
            call.text.clear();
        }
        call.text.push_str(&part.delta);
        if part.is_field_complete
            && !call.sent.contains_key(&call.field)
            && self.is_text_parameter(&call.name, &call.field)
        {
            self.send_field(&mut call, out);
        }
        self.eager = Some(call);
    }

    /// Sends a parameter that is complete.
    fn send_field(&mut self, call: &mut EagerCall, out: &mut Vec<Delta>) {
        let id = if let Some(id) = &call.client_id {
            id.clone()
        } else {
            self.open_eager(call, out)
        };
        let value = Value::String(std::mem::take(&mut call.text));
        let delta = field_of(&call.field, &value, !call.sent.is_empty());
        out.push(Delta::ToolCallDelta { id, delta });
        call.sent.insert(call.field.clone(), value);
    }

    /// Begins the call for the client. Its id there.
    fn open_eager(&mut self, call: &mut EagerCall, out: &mut Vec<Delta>) -> String {
        let id = self.ids.for_client(&call.id);
        call.client_id = Some(id.clone());
        self.before_call(out);
        let tool = self.setup.tools.tool(&call.name);
        out.push(Delta::ToolCallStart {
            id: id.clone(),
            name: tool.map_or_else(|| call.name.clone(), Tool::full_name),
        });
        id
    }

    /// Whether a parameter is a text at the top, which nothing changes when the call is validated.
    fn is_text_parameter(&self, name: &str, field: &str) -> bool {
        let gadget = self.setup.tools.registry().get(name);
        let schema = gadget.map(|gadget| gadget.schema().value());
        schema.is_some_and(|schema| schema["properties"][field]["type"] == "string")
    }

    /// A block is complete. Whether its call was begun before, so that it ends here.
    pub(super) fn end_eager(&mut self, call: &Call, out: &mut Vec<Delta>) -> bool {
        let Some(eager) = self.eager.take() else {
            return false;
        };
        let Some(id) = eager.client_id else {
            return false;
        };
        let is_as_sent = |input: &Map<String, Value>| {
            let mut sent = eager.sent.iter();
            sent.all(|(field, value)| input.get(field) == Some(value))
        };
        let checked = match self.reader.check(call) {
            Verdict::Valid(Value::Object(input)) if is_as_sent(&input) => Ok(input),
            Verdict::Valid(_) => Err("a parameter is not what was sent".to_owned()),
            Verdict::NeedsResults => Err("it refers to the results of other calls".to_owned()),
            Verdict::Invalid(problem) => Err(problem),
        };
        let input = match checked {
            Ok(input) => input,
            Err(problem) => {
                self.break_eager(&problem, out);
                return true;
            }
        };
        let rest = input
            .iter()
            .filter(|(field, _)| !eager.sent.contains_key(*field));
        let mut delta: String = rest
            .map(|(field, value)| field_of(field, value, true))
            .collect();
        delta.push('}');
        out.push(Delta::ToolCallDelta {
            id: id.clone(),
            delta,
        });
        let input = Value::Object(input);
        out.push(Delta::ToolCallEnd {
            id,
            input: Some(input.clone()),
        });
        self.turn
            .accepted
            .push((eager.id.clone(), eager.name.clone()));
        self.counts.calls += 1;
        self.sent.push((eager.name, eager.id, input));
        true
    }

    /// The reply ends. A call that the client has begun to receive ends it with an error.
    pub(super) fn cut_eager(&mut self, out: &mut Vec<Delta>) {
        let open = self.eager.take().and_then(|call| call.client_id);
        if open.is_some() {
            self.break_eager("it was cut off", out);
        }
    }

    fn break_eager(&mut self, problem: &str, out: &mut Vec<Delta>) {
        self.counts.invalid += 1;
        out.push(Delta::Error {
            error: format!(
                "the model wrote a tool call that is not valid, and a part of it was sent. {problem}"
            ),
            code: Some("invalid_tool_call".to_owned()),
            kind: ModelErrorKind::Other,
            retry_after_ms: None,
            overflow: None,
        });
        self.is_over = true;
    }
}

/// A field of a JSON object, after others or as the first one.
fn field_of(name: &str, value: &Value, is_next: bool) -> String {
    let before = if is_next { ',' } else { '{' };
    format!("{before}{}:{value}", Value::from(name))
}
