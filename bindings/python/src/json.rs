//! JSON values as Python objects, and back.

use gadgetry::serde::Serialize;
use gadgetry::serde_json::{self, Map, Number, Value};
use gadgetry_bindings::fields::Fields;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Depth at which a value is refused: deeper ones are cyclic.
const DEPTH: usize = 256;

/// Converts a JSON value.
pub(crate) fn to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(it) => PyBool::new(py, *it).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => PyInt::new(py, number).into_any(),
            (None, Some(number)) => PyInt::new(py, number).into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| to_py(py, item))
                .collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(map) => object(py, map)?.into_any(),
    })
}

/// Converts a JSON object.
pub(crate) fn object<'py>(
    py: Python<'py>,
    map: &Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, item) in map {
        dict.set_item(PyString::intern(py, key), to_py(py, item)?)?;
    }
    Ok(dict)
}

/// Converts anything that has a form in JSON.
pub(crate) fn serialized<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| bad(&error.to_string()))?;
    to_py(py, &value)
}

/// Reads a type of the crates from Python objects.
pub(crate) fn read<T: gadgetry::serde::de::DeserializeOwned>(
    value: &Bound<'_, PyAny>,
) -> PyResult<T> {
    serde_json::from_value(from_py(value)?).map_err(|error| bad(&error.to_string()))
}

/// Reads options from a dictionary.
pub(crate) fn fields(options: &Bound<'_, PyDict>) -> PyResult<Fields> {
    match nested(options, 0)? {
        Value::Object(map) => Ok(Fields::new(map)),
        _ => Ok(Fields::default()),
    }
}

/// Converts a Python object: what the module `json` takes.
pub(crate) fn from_py(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(value, 0)
}

fn nested(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH {
        return Err(bad("the value is nested too deeply for JSON"));
    }
    if value.is_none() {
        Ok(Value::Null)
    } else if let Ok(it) = value.cast::<PyBool>() {
        // Before numbers: `True` is an `int`.
        Ok(Value::Bool(it.is_true()))
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(Value::String(text.to_str()?.to_owned()))
    } else if value.is_instance_of::<PyInt>() {
        if let Ok(number) = value.extract::<i64>() {
            return Ok(number.into());
        }
        let number: Result<u64, _> = value.extract();
        Ok(number
            .map_err(|_| bad("an integer in JSON has at most 64 bits here"))?
            .into())
    } else if value.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(value.extract()?);
        number
            .map(Value::Number)
            .ok_or_else(|| bad("JSON has no infinity and no NaN"))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let mut map = Map::new();
        for (key, item) in dict {
            let key = key.cast::<PyString>().map_err(|_| {
                PyTypeError::new_err(format!("a key of a JSON object is a str, not {key}"))
            })?;
            map.insert(key.to_str()?.to_owned(), nested(&item, depth + 1)?);
        }
        Ok(Value::Object(map))
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?;
        let items = items.map(|item| nested(&item?, depth + 1));
        items.collect::<PyResult<_>>().map(Value::Array)
    } else {
        let name = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("{name} has no form in JSON")))
    }
}

fn bad(message: &str) -> PyErr {
    PyValueError::new_err(message.to_owned())
}
