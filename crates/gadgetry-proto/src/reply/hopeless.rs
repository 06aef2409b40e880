//! Calls that cannot become valid any more, found while they are written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, Digits, Parameters, TerminatedBy};
use crate::delta::Delta;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::InvocationId;
use crate::reply::ReplyEvent;
use crate::reply::event::ArgumentStart;
use crate::schema::{Registry, pointer};

/// The parameters of a gadget with a closed schema.
#[derive(Debug)]
struct Closed {
    declared: BTreeSet<String>,
    required: BTreeSet<String>,
}

/// The gadgets whose schemas admit no further parameters.
#[derive(Debug, Default)]
pub(super) struct ClosedGadgets(BTreeMap<String, Closed>);

impl ClosedGadgets {
    pub(super) fn of(registry: Option<&Registry>) -> Self {
        let gadgets = registry.into_iter().flat_map(Registry::iter);
        let closed = gadgets.filter_map(|gadget| {
            let closed = Closed::of(&gadget.spec().parameters)?;
            Some((gadget.name().to_owned(), closed))
        });
        Self(closed.collect())
    }
}

impl Closed {
    /// `None` if the schema may admit parameters that it does not name, or says more than that.
    fn of(schema: &Value) -> Option<Self> {
        const MORE: [&str; 7] = [
            "$ref",
            "$dynamicRef",
            "allOf",
            "anyOf",
            "oneOf",
            "if",
            "patternProperties",
        ];
        let schema = schema.as_object()?;
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if !is_closed || MORE.iter().any(|word| schema.contains_key(*word)) {
            return None;
        }
        let properties = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        Some(Self {
            declared: properties.keys().cloned().collect(),
            required: required.map(str::to_owned).collect(),
        })
    }
}

/// The arguments of the open call, and whether one of them has ended the reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Watch {
    /// Pointers as written.
    pointers: BTreeSet<String>,
    /// The parameters among them that the gadget needs.
    required: BTreeSet<String>,
    /// Offset at which the reply ends.
    pub(super) ended: Option<u64>,
}

impl Watch {
    /// Returns `true` if a call has ended the reply before this event, or does with it: then its error is appended.
    pub(super) fn ends(
        &mut self,
        event: &ReplyEvent<'_>,
        gadgets: Option<&ClosedGadgets>,
        out: &mut Vec<Delta>,
    ) -> bool {
        if self.ended.is_none()
            && let Some((diagnostic, call)) = gadgets.and_then(|all| self.see(event, all))
        {
            out.push(Delta::Diagnostic(diagnostic));
            out.push(Delta::GadgetCall(Arc::new(call)));
            return true;
        }
        self.ended.is_some()
    }

    /// Takes note of an event. If the open call cannot become valid any more, returns why, and the call so far.
    fn see(
        &mut self,
        event: &ReplyEvent<'_>,
        gadgets: &ClosedGadgets,
    ) -> Option<(Diagnostic, Call)> {
        let &ReplyEvent::Argument {
            header,
            pointer,
            begins: Some(begins),
            ..
        } = event
        else {
            if matches!(event, ReplyEvent::CallStart(_)) {
                self.pointers.clear();
                self.required.clear();
            }
            return None;
        };
        let name = parameter(pointer);
        let gadget = header.gadget_name();
        let closed = gadgets.0.get(gadget);
        let is_undeclared = closed.is_some_and(|closed| {
            !closed.declared.contains(&*name) && self.required.len() == closed.required.len()
        });
        let problem = if self.pointers.contains(pointer) {
            format!("Duplicate pointer: {pointer}")
        } else if is_undeclared {
            format!("'{gadget}' has no parameter '{name}', and had all parameters that it needs")
        } else {
            self.pointers.insert(pointer.to_owned());
            if closed.is_some_and(|closed| closed.required.contains(&*name)) {
                self.required.insert(name.into_owned());
            }
            return None;
        };
        let ArgumentStart { head, opener, end } = begins;
        self.ended = Some(end);
        let span = Span { start: opener, end };
        let message = format!(
            "{problem}. The call could not become valid, so the reply was ended there, and nothing that followed was read"
        );
        let call = Call {
            gadget_name: gadget.to_owned(),
            invocation_id: InvocationId::from(header.invocation_id()),
            dependencies: header.dependencies().map(InvocationId::from).collect(),
            parameters_raw: head.to_owned(),
            parameters: Parameters::Malformed(format!("{message}.")),
            digits: Digits::default(),
            terminated_by: TerminatedBy::EndOfStream,
            span,
        };
        let code = DiagnosticCode::HopelessCall;
        let diagnostic = Diagnostic {
            code,
            message,
            span,
        };
        Some((diagnostic, call))
    }
}

/// The parameter that a pointer belongs to.
fn parameter(written: &str) -> Cow<'_, str> {
    pointer::decode(written.split('/').next().unwrap_or(written))
}

/// The gadgets of a stage that watches its calls.
pub(super) type Watched = Option<Arc<ClosedGadgets>>;
