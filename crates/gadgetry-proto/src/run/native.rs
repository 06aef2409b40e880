//! Calls through the provider's own interface, as calls of gadgets and as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Digits, Parameters, TerminatedBy};
use crate::convo::TextForm;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::event::EventKind;
use crate::json::depth;
use crate::limits::{JSON_VALUES, Limit, LimitExceeded};
use crate::message::{Content, Message, Role};
use crate::run::plan::Plan;
use crate::schema::{RegisteredGadget, coerce_json, has_too_many_values, json_parameters};

/// The diagnostic of a native call where blocks are expected. The call is executed all the same.
pub(super) fn unexpected(call: &Call) -> EventKind {
    let name = &call.gadget_name;
    let message = format!(
        "{name} was called through the provider's own interface, not in a block; the call counts as a block. \
         If this model calls so on purpose, use native tools"
    );
    EventKind::Diagnostic(Diagnostic {
        code: DiagnosticCode::NativeCall,
        message,
        span: call.span,
    })
}

/// The native calls of a message as blocks, so that a provider that knows no tools can be sent them.
pub(super) fn as_blocks(content: &[Content], plan: &Plan) -> Option<String> {
    let is_call = |part: &&Content| matches!(part, Content::ToolUse { .. });
    let calls = Message {
        role: Role::Assistant,
        content: content.iter().filter(is_call).cloned().collect(),
        raw: None,
    };
    let form = TextForm {
        markers: &plan.config.markers,
        anchoring: plan.config.anchoring,
        xml_names: &BTreeMap::new(),
    };
    (!calls.content.is_empty()).then(|| form.of(&calls).into_owned())
}

/// The gadget call that a complete tool call is.
pub(super) fn call(
    plan: &Plan,
    id: &str,
    name: &str,
    input: &Value,
    terminated_by: TerminatedBy,
) -> Arc<Call> {
    let gadget = plan.registry.get(name);
    let schema = gadget.map(RegisteredGadget::schema);
    let not_an_object = || Parameters::Malformed("The input is not a JSON object".to_owned());
    let parameters = match input {
        Value::Object(_) if depth(input) > plan.config.limits.levels() => {
            let (what, limit) = (Limit::Depth, plan.config.limits.levels());
            Parameters::Malformed(LimitExceeded { what, limit }.to_string())
        }
        Value::Object(_) => Parameters::Parsed(coerce_json(input.clone(), schema)),
        // The accumulator leaves text that is not JSON as it is: JSON with slips, or the text of an object as a string.
        Value::String(json) if has_too_many_values(json) => {
            let (what, limit) = (Limit::JsonValues, JSON_VALUES);
            Parameters::Malformed(LimitExceeded { what, limit }.to_string())
        }
        Value::String(text) => match json_parameters(text, schema, &plan.config.limits) {
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
        digits: Digits::default(),
        terminated_by,
        span: Span { start: 0, end: 0 },
    })
}
