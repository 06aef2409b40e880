//! The parser of replies, with its events; and prompts and calls as text, for programs that have a loop of their own.

use std::sync::{Mutex, PoisonError};

use gadgetry::format::ReplyEvent;
use gadgetry::proto::call::TerminatedBy;
use gadgetry::proto::message::Attributes;
use gadgetry::proto::piece::EndReason;
use gadgetry::proto::schema::Schema;
use gadgetry::serde_json;
use gadgetry_bindings::format::{self, MarkerTexts, Replies, WrittenCall};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::errors;
use crate::json;

/// Defines an event: a frozen class with these fields, in the order in which a pattern of `match` binds them.
macro_rules! event {
    ($(#[$doc:meta])* $name:ident { $($field:ident),* }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, module = "gadgetry")]
        #[allow(clippy::struct_field_names, reason = "a tag has a tag")]
        pub(crate) struct $name {
            $($field: Py<PyAny>,)*
        }

        impl $name {
            fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
                Ok(Bound::new(py, self)?.into_any())
            }
        }

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field)),*])
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields: Vec<String> = vec![
                    $(format!("{}={}", stringify!($field), self.$field.bind(py).repr()?)),*
                ];
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }

            fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
                let Ok(other) = other.cast::<Self>() else {
                    return Ok(false);
                };
                let other = other.get();
                Ok(true $(&& self.$field.bind(py).eq(&other.$field)?)*)
            }
        }
    };
}

event! {
    /// Visible text.
    Text { text }
}
event! {
    /// The header of a call is complete.
    CallStart { name, id, dependencies }
}
event! {
    /// More text of an argument.
    ArgumentDelta { name, id, pointer, delta, is_complete }
}
event! {
    /// A call is complete.
    Call { name, id, dependencies, parameters, error, raw, terminated_by }
}
event! {
    /// A tag opened.
    TagStart { tag, attributes, block }
}
event! {
    /// More content of a tag.
    TagDelta { tag, delta, block }
}
event! {
    /// A tag ended.
    TagEnd { tag, reason, block }
}
event! {
    /// A tag is complete.
    Tag { tag, content, attributes, is_self_closing, block }
}
event! {
    /// A problem or a correction in the reply.
    ParserDiagnostic { code, message, start, end }
}

fn text(py: Python<'_>, text: &str) -> Py<PyAny> {
    PyString::new(py, text).into_any().unbind()
}

fn number(py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
    Ok(number.into_pyobject(py)?.into_any().unbind())
}

fn flag(py: Python<'_>, flag: bool) -> Py<PyAny> {
    pyo3::types::PyBool::new(py, flag)
        .to_owned()
        .into_any()
        .unbind()
}

fn ids<'a>(py: Python<'_>, ids: impl Iterator<Item = &'a str>) -> PyResult<Py<PyAny>> {
    let ids: Vec<&str> = ids.collect();
    Ok(PyTuple::new(py, ids)?.into_any().unbind())
}

fn attributes(py: Python<'_>, attributes: &Attributes) -> PyResult<Py<PyAny>> {
    Ok(json::object(py, attributes)?.into_any().unbind())
}

fn ended_by(terminated_by: TerminatedBy) -> &'static str {
    match terminated_by {
        TerminatedBy::EndMarker => "end_marker",
        TerminatedBy::NextStart => "next_start",
        TerminatedBy::EndOfStream => "end_of_stream",
    }
}

fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Closed => "closed",
        EndReason::SelfClosing => "self_closing",
        EndReason::EndOfStream => "end_of_stream",
        EndReason::Limit => "limit",
    }
}

/// Reads a reply piece by piece.
#[pyclass(frozen, module = "gadgetry")]
pub(crate) struct Parser(Mutex<Replies>);

#[pymethods]
impl Parser {
    #[new]
    #[pyo3(signature = (*, tags = Vec::new(), reasoning = Vec::new(), markers = None, anchoring = "anywhere", schemas = None))]
    fn new(
        tags: Vec<String>,
        reasoning: Vec<String>,
        markers: Option<MarkerTexts>,
        anchoring: &str,
        schemas: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut read = Vec::new();
        for (name, schema) in schemas.into_iter().flatten() {
            read.push((name.extract::<String>()?, json::from_py(&schema)?));
        }
        let made = format::scanner(tags, reasoning, markers, anchoring)
            .and_then(|scanner| Replies::new(scanner, read, str::to_lowercase));
        Ok(Self(Mutex::new(made.map_err(errors::raised)?)))
    }

    fn feed<'py>(&self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyList>> {
        self.read(py, Some(chunk))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.read(py, None)
    }
}

impl Parser {
    fn read<'py>(&self, py: Python<'py>, piece: Option<&str>) -> PyResult<Bound<'py, PyList>> {
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let events = PyList::empty(py);
        let mut failed = None;
        replies.read(piece, &mut |event, schema| {
            let made = object(py, schema, event).and_then(|event| events.append(event));
            if let Err(error) = made {
                failed.get_or_insert(error);
            }
        });
        failed.map_or(Ok(events), Err)
    }
}

/// The event as a Python object.
fn object<'py>(
    py: Python<'py>,
    schema: Option<&Schema>,
    event: &ReplyEvent<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match event {
        ReplyEvent::Text(it) => Text { text: text(py, it) }.object(py),
        ReplyEvent::CallStart(header) => CallStart {
            name: text(py, header.gadget_name()),
            id: text(py, header.invocation_id()),
            dependencies: ids(py, header.dependencies())?,
        }
        .object(py),
        ReplyEvent::Argument {
            header,
            pointer,
            delta,
            complete,
            ..
        } => ArgumentDelta {
            name: text(py, header.gadget_name()),
            id: text(py, header.invocation_id()),
            pointer: text(py, pointer),
            delta: text(py, delta),
            is_complete: flag(py, *complete),
        }
        .object(py),
        ReplyEvent::Call(call) => {
            let header = call.header();
            let name = header.gadget_name();
            let (parameters, error) = match call.parameters(schema) {
                Ok(parameters) => (json::to_py(py, &parameters)?.unbind(), py.None()),
                Err(error) => (py.None(), text(py, &error.to_string())),
            };
            Call {
                name: text(py, name),
                id: text(py, header.invocation_id()),
                dependencies: ids(py, header.dependencies())?,
                parameters,
                error,
                raw: text(py, call.raw()),
                terminated_by: text(py, ended_by(call.terminated_by())),
            }
            .object(py)
        }
        ReplyEvent::TagStart {
            block,
            tag,
            attributes: attrs,
        } => TagStart {
            tag: text(py, tag),
            attributes: attributes(py, attrs)?,
            block: number(py, u64::from(block.0))?,
        }
        .object(py),
        ReplyEvent::TagDelta { block, tag, delta } => TagDelta {
            tag: text(py, tag),
            delta: text(py, delta),
            block: number(py, u64::from(block.0))?,
        }
        .object(py),
        ReplyEvent::TagEnd { block, tag, reason } => TagEnd {
            tag: text(py, tag),
            reason: text(py, end_reason(*reason)),
            block: number(py, u64::from(block.0))?,
        }
        .object(py),
        ReplyEvent::Tag {
            block,
            tag,
            content,
            attributes: attrs,
            self_closing,
            ..
        } => Tag {
            tag: text(py, tag),
            content: text(py, content),
            attributes: attributes(py, attrs)?,
            is_self_closing: flag(py, *self_closing),
            block: number(py, u64::from(block.0))?,
        }
        .object(py),
        ReplyEvent::Diagnostic(diagnostic) => {
            let code = serde_json::to_value(diagnostic.code).unwrap_or_default();
            ParserDiagnostic {
                code: text(py, code.as_str().unwrap_or_default()),
                message: text(py, &diagnostic.message),
                start: number(py, diagnostic.span.start)?,
                end: number(py, diagnostic.span.end)?,
            }
            .object(py)
        }
    }
}

/// The events of a reply as JSON lines, as `gadgetry parse` writes them: what the objects of [`Parser`] are compared with.
#[pyfunction]
#[pyo3(signature = (chunks, *, tags = Vec::new(), reasoning = Vec::new(), markers = None, anchoring = "anywhere"))]
pub(crate) fn parse_json(
    chunks: Vec<String>,
    tags: Vec<String>,
    reasoning: Vec<String>,
    markers: Option<MarkerTexts>,
    anchoring: &str,
) -> PyResult<String> {
    let scanner = format::scanner(tags, reasoning, markers, anchoring).map_err(errors::raised)?;
    Ok(format::parse_json(scanner, &chunks))
}

/// Counts the events of a reply, without an object for any: what the parser costs in Rust alone.
#[pyfunction]
pub(crate) fn count_events(chunks: Vec<String>) -> usize {
    format::count_events(&chunks)
}

/// Writes a call as a block that the parser reads as the same call.
#[pyfunction]
#[pyo3(signature = (name, parameters, *, id = None, dependencies = Vec::new(), markers = None, anchoring = "anywhere", schema = None))]
pub(crate) fn write_call(
    name: &str,
    parameters: &Bound<'_, PyAny>,
    id: Option<&str>,
    dependencies: Vec<String>,
    markers: Option<MarkerTexts>,
    anchoring: &str,
    schema: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let call = WrittenCall {
        name,
        parameters: &json::from_py(parameters)?,
        id,
        dependencies: &dependencies,
    };
    let schema = schema.map(json::from_py).transpose()?;
    format::write_call(&call, markers, anchoring, schema).map_err(errors::raised)
}

/// The text for the system message that describes gadgets and how to call them.
#[pyfunction]
#[pyo3(signature = (specs, *, form = "block", markers = None, anchoring = "anywhere"))]
pub(crate) fn instructions(
    specs: &Bound<'_, PyAny>,
    form: &str,
    markers: Option<MarkerTexts>,
    anchoring: &str,
) -> PyResult<String> {
    format::instructions(json::read(specs)?, form, markers, anchoring).map_err(errors::raised)
}
