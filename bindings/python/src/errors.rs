//! Errors of the crates as exceptions of `gadgetry.errors`.

use gadgetry::{AgentError, Classified, Fault, RunError, TypedError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};

use crate::json;
use crate::run::result;

/// Makes the exception of this name; `fields` become its attributes.
pub(crate) fn named(
    py: Python<'_>,
    name: &str,
    message: &str,
    fields: Option<&Bound<'_, PyDict>>,
) -> PyErr {
    let made = py
        .import("gadgetry.errors")
        .and_then(|module| module.call_method("_make", (name, message), fields));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// An error of the configuration, whose fault and remedy its own words name.
pub(crate) fn config(error: &(impl Classified + std::fmt::Display)) -> PyErr {
    classified("ConfigError", error)
}

/// An error of a class without fields of its own.
pub(crate) fn classified(name: &str, error: &(impl Classified + std::fmt::Display)) -> PyErr {
    Python::attach(|py| {
        let fields = about(py, error);
        match fields {
            Ok(fields) => named(py, name, &error.to_string(), Some(&fields)),
            Err(error) => error,
        }
    })
}

fn about<'py>(py: Python<'py>, error: &impl Classified) -> PyResult<Bound<'py, PyDict>> {
    let fields = [("fault", fault(error.fault()))].into_py_dict(py)?;
    fields.set_item("is_retryable", error.is_retryable())?;
    Ok(fields)
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Caller => "caller",
        Fault::Model => "model",
        Fault::Program => "program",
        Fault::Provider => "provider",
        Fault::Environment => "environment",
        _ => "unknown",
    }
}

/// The exception of a run without an answer. Its class follows from the reason.
pub(crate) fn run(py: Python<'_>, error: RunError) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let fields = about(py, &error)?;
        if let Some(model) = error.model_error() {
            fields.set_item("model_error", json::serialized(py, model)?)?;
        }
        let message = error.to_string();
        fields.set_item("result", result(py, &error.into_finished())?)?;
        Ok(named(py, "RunError", &message, Some(&fields)))
    };
    made().unwrap_or_else(|error| error)
}

/// The exception of a run without an answer of the type.
pub(crate) fn typed(py: Python<'_>, error: TypedError) -> PyErr {
    match error {
        TypedError::Run(error) => run(py, error),
        TypedError::Agent(error) => config(&error),
        other => classified("ConfigError", &other),
    }
}

/// The exception of an agent that cannot be built.
pub(crate) fn agent(error: &AgentError) -> PyErr {
    let name = if matches!(error, AgentError::NoApprovals { .. }) {
        "ApprovalsMissing"
    } else {
        "ConfigError"
    };
    classified(name, error)
}
