//! A finished block, as the scanner hands it out.

use std::borrow::Cow;

use serde_json::Value;

use crate::block::Header;
use crate::block::body::Body;
use crate::block::search::MarkerSearch;
use crate::call::{Call, Parameters, TerminatedBy};
use crate::error::{ParseError, Span};
use crate::id::InvocationId;
use crate::limits::Limits;
use crate::spec;
use crate::spec::Schema;

/// A block that was read to its end. It borrows from the parser; nothing is copied or coerced until asked for.
#[derive(Clone, Copy, Debug)]
pub struct CallBlock<'a> {
    pub(crate) header: &'a Header,
    pub(crate) body: &'a Body,
    pub(crate) search: &'a MarkerSearch,
    pub(crate) limits: &'a Limits,
    pub(crate) terminated_by: TerminatedBy,
    pub(crate) span: Span,
}

impl<'a> CallBlock<'a> {
    /// Name, id and dependencies.
    pub fn header(&self) -> &'a Header {
        self.header
    }

    /// The exact text between header and end; empty if it passed [`Limits::block`].
    pub fn raw(&self) -> &'a str {
        self.body.raw()
    }

    /// What ended the block.
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
    /// Fails if pointers contradict each other or exceed a limit.
    pub fn parameters(&self, schema: Option<&Schema>) -> Result<Value, ParseError> {
        parameters(self.body, self.search, self.limits, schema)
    }

    /// The call as a value of its own.
    pub fn to_call(&self, schema: Option<&Schema>) -> Call {
        Call {
            gadget_name: self.header.gadget_name().to_owned(),
            invocation_id: InvocationId::from(self.header.invocation_id()),
            dependencies: self.header.dependencies().map(InvocationId::from).collect(),
            parameters_raw: self.raw().to_owned(),
            parameters: match self.parameters(schema) {
                Ok(parameters) => Parameters::Parsed(parameters),
                Err(error) => Parameters::Malformed(error.to_string()),
            },
            terminated_by: self.terminated_by,
            span: self.span,
        }
    }
}

fn parameters(
    body: &Body,
    search: &MarkerSearch,
    limits: &Limits,
    schema: Option<&Schema>,
) -> Result<Value, ParseError> {
    if let Some(error) = body.error() {
        return Err(error.clone());
    }
    if body.arguments().len() == 0 {
        return json_body(body, search, limits, schema);
    }
    let marker = search.markers.arg();
    if body.has_escapes() {
        let arguments: Vec<_> = body.arguments().collect();
        let arguments = arguments
            .iter()
            .map(|(pointer, value)| (*pointer, value.as_ref()));
        return spec::parameters(arguments, schema, marker, limits);
    }
    spec::parameters(body.plain_arguments(), schema, marker, limits)
}

fn json_body(
    body: &Body,
    search: &MarkerSearch,
    limits: &Limits,
    schema: Option<&Schema>,
) -> Result<Value, ParseError> {
    let text = body.raw();
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let json = spec::json_parameters(&text[body.inside_fence()], schema, limits)?;
    json.ok_or_else(|| ParseError::NoArguments {
        marker: search.markers.arg().to_owned(),
    })
}
