//! Calls through the provider's own interface become calls of gadgets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::convo::TextForm;
use crate::delta::Delta;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::event::EventKind;
use crate::limits::{JSON_VALUES, Limit, LimitExceeded};
use crate::message::{Content, Message, Role};
use crate::piece::CallStart;
use crate::run::Run;
use crate::run::spec::RunSpec;
use crate::spec::{RegisteredGadget, coerce_json, has_too_many_values, json_parameters};

impl Run {
    /// Takes a piece of a tool call in. The accumulator has it already.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only pieces of tool calls come here, and JSON in the making is for the accumulator alone"
    )]
    pub(super) fn take_tool_call(&mut self, delta: Delta) {
        match delta {
            Delta::ToolCallStart { id, name } => self.announce_start(CallStart::new(name, id)),
            Delta::ToolCallEnd { id, .. } => self.call_natively(&id),
            Delta::ToolCall { id, name, .. } => {
                self.announce_start(CallStart::new(name, id.as_str()));
                self.call_natively(&id);
            }
            _ => {}
        }
    }

    /// A tool call is complete.
    fn call_natively(&mut self, id: &str) {
        if let Some(Content::ToolUse { name, input, .. }) = self.state.accumulator.tool_use(id) {
            let call = native_call(&self.spec, id, name, input, TerminatedBy::EndMarker);
            let call = self.within_values(call);
            self.announce_native(call);
        }
    }

    /// Calls that the end of the reply has ended. After a cut they are answered, and not executed.
    pub(super) fn end_tool_calls(&mut self, content: &[Content]) {
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
                // A clean end completes them.
                let end = if self.state.cut.is_none() {
                    TerminatedBy::EndMarker
                } else {
                    TerminatedBy::EndOfStream
                };
                let call = native_call(&self.spec, tool_use_id, name, input, end);
                let call = self.within_values(call);
                self.announce_native(call);
            }
        }
    }

    fn announce_native(&mut self, call: Arc<Call>) {
        if !self.spec.tools.is_native() {
            let name = &call.gadget_name;
            let message = format!(
                "{name} was called through the provider's own interface, not in a block; the call counts as a block. \
                 If this model calls so on purpose, use native tools"
            );
            self.tell(EventKind::Diagnostic(Diagnostic {
                code: DiagnosticCode::NativeCall,
                message,
                span: call.span,
            }));
        }
        self.announce(call);
    }

    /// The reply as written, with the calls that came through the provider's interface behind it as blocks, so that a
    /// provider that knows no tools can be sent them.
    pub(super) fn write_native_calls(&self, raw: &mut String, content: &[Content]) {
        if self.spec.tools.is_native() {
            return;
        }
        let calls = content
            .iter()
            .filter(|part| matches!(part, Content::ToolUse { .. }));
        let calls = Message {
            role: Role::Assistant,
            content: calls.cloned().collect(),
            raw: None,
        };
        if calls.content.is_empty() {
            return;
        }
        let form = TextForm {
            markers: &self.spec.markers,
            anchoring: self.spec.anchoring,
            xml_names: &BTreeMap::new(),
        };
        if !raw.is_empty() && !raw.ends_with('\n') {
            raw.push('\n');
        }
        raw.push_str(&form.of(&calls));
    }

    /// The header of a call is complete: the call gets its number.
    pub(super) fn announce_start(&mut self, start: CallStart) {
        let call = self.state.numbers.announce(&start.invocation_id);
        self.tell(EventKind::GadgetCallStart { call, start });
    }

    /// A call is complete: emits it and admits it.
    pub(super) fn announce(&mut self, written: Arc<Call>) {
        let slot = self.state.calls.len();
        let call = self.state.numbers.complete(&written.invocation_id, slot);
        self.tell(EventKind::GadgetCall {
            call,
            written: Arc::clone(&written),
        });
        self.admit(call, written);
    }
}

fn native_call(
    spec: &RunSpec,
    id: &str,
    name: &str,
    input: &Value,
    terminated_by: TerminatedBy,
) -> Arc<Call> {
    let gadget = spec.registry.get(name);
    let schema = gadget.map(RegisteredGadget::schema);
    let not_an_object = || Parameters::Malformed("The input is not a JSON object".to_owned());
    let parameters = match input {
        Value::Object(_) => Parameters::Parsed(coerce_json(input.clone(), schema)),
        // JSON with slips, or the text of an object as a JSON string.
        Value::String(json) if has_too_many_values(json) => {
            let (what, limit) = (Limit::JsonValues, JSON_VALUES);
            Parameters::Malformed(LimitExceeded { what, limit }.to_string())
        }
        Value::String(text) => match json_parameters(text, schema, &spec.limits) {
            Ok(Some(parameters)) => Parameters::Parsed(parameters),
            Ok(None) => not_an_object(),
            Err(error) => Parameters::Malformed(error.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => not_an_object(),
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
