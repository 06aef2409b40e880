//! A finished block, as the scanner hands it out.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::block::BlockHeader;
use crate::block::body::Body;
use crate::block::search::MarkerSearch;
use crate::call::{Call, Parameters, TerminatedBy};
use crate::error::{Diagnostic, DiagnosticCode, ParseError, Span};
use crate::id::InvocationId;
use crate::limits::Limits;
use crate::schema;
use crate::schema::{Notes, Schema, Slips};

/// Values whose slips are listed.
const LISTED: usize = 8;

/// A block that was read to its end. It borrows from the parser; nothing is copied or coerced until asked for.
#[derive(Clone, Copy, Debug)]
pub struct CallBlock<'a> {
    pub(crate) header: &'a BlockHeader,
    pub(crate) body: &'a Body,
    pub(crate) search: &'a MarkerSearch,
    pub(crate) limits: &'a Limits,
    pub(crate) terminated_by: TerminatedBy,
    pub(crate) span: Span,
}

impl<'a> CallBlock<'a> {
    /// Name, id and dependencies.
    pub fn header(&self) -> &'a BlockHeader {
        self.header
    }

    /// The exact text between header and end; empty if it passed [`Limits::block`].
    pub fn raw(&self) -> &'a str {
        self.body.raw()
    }

    /// Returns the marker, or the end of the text, that ended the block.
    pub fn terminated_by(&self) -> TerminatedBy {
        self.terminated_by
    }

    /// The whole block in the reply, markers included.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Pointer and value text of each argument, in the order written.
    pub fn arguments(&self) -> impl ExactSizeIterator<Item = (&'a str, Cow<'a, str>)> {
        self.body.arguments()
    }

    /// The parameters as a JSON object: coerced, by the schema if there is one, but not validated.
    ///
    /// Fails if pointers contradict each other, if JSON cannot be read, or at a limit.
    pub fn parameters(&self, schema: Option<&Schema>) -> Result<Value, ParseError> {
        self.parameters_noting(schema, &mut Notes::default())
    }

    /// The call as a value of its own.
    pub fn to_call(&self, schema: Option<&Schema>) -> Call {
        self.call_noting(schema).0
    }

    /// The call, and a diagnostic if values were read although they have slips.
    pub(crate) fn call_noting(&self, schema: Option<&Schema>) -> (Call, Option<Diagnostic>) {
        let mut notes = Notes::default();
        let parameters = match self.parameters_noting(schema, &mut notes) {
            Ok(parameters) => Parameters::Parsed(parameters),
            Err(error) => Parameters::Malformed(error.to_string()),
        };
        let call = Call {
            gadget_name: self.header.gadget_name().to_owned(),
            invocation_id: InvocationId::from(self.header.invocation_id()),
            dependencies: self.header.dependencies().map(InvocationId::from).collect(),
            parameters_raw: self.raw().to_owned(),
            parameters,
            digits: notes.digits,
            terminated_by: self.terminated_by,
            span: self.span,
        };
        let notes = notes.slips;
        let is_lenient = !notes.is_empty() && matches!(call.parameters, Parameters::Parsed(_));
        let diagnostic = is_lenient.then(|| Diagnostic {
            code: DiagnosticCode::LenientValue,
            message: lenient(&notes),
            span: self.span,
        });
        (call, diagnostic)
    }

    fn parameters_noting(
        &self,
        schema: Option<&Schema>,
        notes: &mut Notes,
    ) -> Result<Value, ParseError> {
        let (body, limits) = (self.body, self.limits);
        if let Some(error) = body.error() {
            return Err(error.clone());
        }
        if body.arguments().len() == 0 {
            return self.json_body(schema, notes);
        }
        let marker = self.search.markers.arg();
        if body.has_escapes() {
            let arguments: Vec<_> = body.arguments().collect();
            let arguments = arguments
                .iter()
                .map(|(pointer, value)| (*pointer, value.as_ref()));
            return schema::parameters_noting(arguments, schema, marker, limits, notes);
        }
        schema::parameters_noting(body.plain_arguments(), schema, marker, limits, notes)
    }

    fn json_body(&self, schema: Option<&Schema>, notes: &mut Notes) -> Result<Value, ParseError> {
        let text = self.body.raw();
        if text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        let text = &text[self.body.inside_fence()];
        let mut slips = Slips::NONE;
        let json = schema::json_parameters_noting(text, schema, self.limits, &mut slips)?;
        if slips != Slips::NONE {
            let slips = ("the JSON body".to_owned(), slips);
            notes.slips.push(slips);
        }
        let shaped = json.ok_or_else(|| ParseError::NoArguments {
            marker: self.search.markers.arg().to_owned(),
        })?;
        notes.digits = shaped.digits;
        Ok(shaped.value)
    }
}

/// Returns the message about values with slips.
fn lenient(notes: &[(String, Slips)]) -> String {
    let mut text = "Values were read leniently: ".to_owned();
    for (index, (place, slips)) in notes.iter().take(LISTED).enumerate() {
        let comma = if index == 0 { "" } else { "; " };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{place} ({slips})");
    }
    if notes.len() > LISTED {
        text.push_str("; …");
    }
    text
}
