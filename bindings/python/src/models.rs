//! Models by name, scripts, and functions of Python.

use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::ScriptedModel;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::json;

/// A model.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Model(pub(crate) Arc<dyn gadgetry::Model>);

#[pymethods]
impl Model {
    /// The model of a name such as `ollama:llama3.2`.
    #[staticmethod]
    fn named(py: Python<'_>, name: &str, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = json::fields(options)?;
        // The first one reads the certificates of the machine.
        let found = py.detach(|| gadgetry_bindings::options::model(name, options));
        found.map(Self).map_err(errors::raised)
    }

    /// The model of a script: a reply a line.
    #[staticmethod]
    fn script(script: &str) -> PyResult<Self> {
        let model = script.parse::<ScriptedModel>();
        model
            .map(|model| Self(Arc::new(model)))
            .map_err(|error| errors::classified("ConfigError", &error))
    }

    /// The model of a script in a file.
    #[staticmethod]
    fn script_file(path: PathBuf) -> PyResult<Self> {
        let model = ScriptedModel::from_path(&path);
        model
            .map(|model| Self(Arc::new(model)))
            .map_err(|error| errors::classified("ConfigError", &error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}
