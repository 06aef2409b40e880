//! Calls through the provider's own interface become calls of gadgets.

use std::sync::Arc;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::delta::Delta;
use crate::error::Span;
use crate::event::EventKind;
use crate::message::Content;
use crate::run::Run;
use crate::run::spec::Tools;

impl Run {
    /// Takes a piece of a tool call in. The accumulator has it already.
    pub(super) fn take_tool_call(&mut self, delta: Delta) {
        if self.spec.tools != Tools::Native {
            return;
        }
        match delta {
            Delta::ToolCallStart { id, name } => self.tell(EventKind::GadgetCallStart {
                gadget_name: name,
                invocation_id: id.into(),
                dependencies: Vec::new(),
            }),
            Delta::ToolCallEnd { id, .. } => self.call_natively(&id, TerminatedBy::EndMarker),
            Delta::ToolCall { id, name, .. } => {
                self.tell(EventKind::GadgetCallStart {
                    gadget_name: name,
                    invocation_id: id.as_str().into(),
                    dependencies: Vec::new(),
                });
                self.call_natively(&id, TerminatedBy::EndMarker);
            }
            _ => {}
        }
    }

    /// A tool call is complete, or its reply is.
    fn call_natively(&mut self, id: &str, terminated_by: TerminatedBy) {
        let Some(Content::ToolUse { name, input, .. }) = self.state.accumulator.tool_use(id) else {
            return;
        };
        let call = native_call(id, name, input, terminated_by);
        self.tell(EventKind::GadgetCall(Arc::clone(&call)));
        self.admit(call);
    }

    /// Calls that the end of the reply has ended. After a cut they are answered, and not executed.
    pub(super) fn end_tool_calls(&mut self, content: &[Content]) {
        if self.spec.tools != Tools::Native {
            return;
        }
        for part in content {
            let Content::ToolUse {
                tool_use_id,
                name,
                input,
            } = part
            else {
                continue;
            };
            let mut calls = self.state.calls.iter();
            if calls.any(|record| record.call.invocation_id.as_str() == tool_use_id) {
                continue;
            }
            let call = native_call(tool_use_id, name, input, TerminatedBy::EndOfStream);
            self.tell(EventKind::GadgetCall(Arc::clone(&call)));
            self.admit(call);
        }
    }
}

fn native_call(
    id: &str,
    name: &str,
    input: &serde_json::Value,
    terminated_by: TerminatedBy,
) -> Arc<Call> {
    let parameters = if input.is_object() {
        Parameters::Parsed(input.clone())
    } else {
        Parameters::Malformed("The input is not a JSON object".to_owned())
    };
    Arc::new(Call {
        gadget_name: name.to_owned(),
        invocation_id: id.into(),
        dependencies: Vec::new(),
        parameters_raw: input.to_string(),
        parameters,
        terminated_by,
        span: Span { start: 0, end: 0 },
    })
}
