//! Calls through the provider's own interface become calls of gadgets.

use std::collections::BTreeSet;
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
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only pieces of tool calls come here, and JSON in the making is for the accumulator alone"
    )]
    pub(super) fn take_tool_call(&mut self, delta: Delta) {
        if self.spec.tools != Tools::Native {
            return;
        }
        match delta {
            Delta::ToolCallStart { id, name } => self.tell_native_start(&id, name),
            Delta::ToolCallEnd { id, .. } => self.call_natively(&id),
            Delta::ToolCall { id, name, .. } => {
                self.tell_native_start(&id, name);
                self.call_natively(&id);
            }
            _ => {}
        }
    }

    fn tell_native_start(&mut self, id: &str, gadget_name: String) {
        self.tell(EventKind::GadgetCallStart {
            gadget_name,
            invocation_id: id.into(),
            dependencies: Vec::new(),
        });
    }

    /// A tool call is complete.
    fn call_natively(&mut self, id: &str) {
        if let Some(Content::ToolUse { name, input, .. }) = self.state.accumulator.tool_use(id) {
            let call = native_call(id, name, input, TerminatedBy::EndMarker);
            self.announce(call);
        }
    }

    /// Calls that the end of the reply has ended. After a cut they are answered, and not executed.
    pub(super) fn end_tool_calls(&mut self, content: &[Content]) {
        if self.spec.tools != Tools::Native {
            return;
        }
        let records = self.state.calls.iter();
        let known: BTreeSet<_> = records
            .map(|record| record.call.invocation_id.clone())
            .collect();
        for part in content {
            if let Content::ToolUse {
                tool_use_id,
                name,
                input,
            } = part
                && !known.contains(tool_use_id.as_str())
            {
                let call = native_call(tool_use_id, name, input, TerminatedBy::EndOfStream);
                self.announce(call);
            }
        }
    }

    /// A call is complete: whoever watches is told, and it takes its way.
    pub(super) fn announce(&mut self, call: Arc<Call>) {
        self.tell(EventKind::GadgetCall(Arc::clone(&call)));
        self.admit(call);
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
