//! Errors of the crates as exceptions of `gadgetry.errors`.

use gadgetry::Classified;
use gadgetry_bindings::Problem;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};

use crate::json;
use crate::run::result;

/// Makes the exception of this name; `fields` become its attributes.
fn named(py: Python<'_>, name: &str, message: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("gadgetry.errors")
        .and_then(|module| module.call_method("_make", (name, message), Some(fields)));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Makes the exception of a problem.
pub(crate) fn raised(problem: Problem) -> PyErr {
    match problem.name {
        "TypeError" => return PyTypeError::new_err(problem.message),
        "ValueError" => return PyValueError::new_err(problem.message),
        _ => {}
    }
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let fields = [("fault", problem.fault)].into_py_dict(py)?;
            fields.set_item("is_retryable", problem.is_retryable)?;
            if let Some(error) = &problem.model_error {
                fields.set_item("model_error", json::to_py(py, error)?)?;
            }
            if let Some(finished) = &problem.finished {
                fields.set_item("result", result(py, finished)?)?;
            }
            Ok(named(py, problem.name, &problem.message, &fields))
        };
        made().unwrap_or_else(|error| error)
    })
}

/// Makes the exception of an error of a class without fields of its own.
pub(crate) fn classified(
    name: &'static str,
    error: &(impl Classified + std::fmt::Display),
) -> PyErr {
    raised(Problem::classified(name, error))
}
