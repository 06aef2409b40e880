//! Gadgets that are not Python: built-in ones, and tools of MCP servers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::DynGadget;
use gadgetry_bindings::foreign;
use gadgetry_mcp::Servers;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bridge::{Waiter, Work, spawn};
use crate::errors;
use crate::json;

/// A gadget that is not Python.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct NativeGadget(pub(crate) Arc<dyn DynGadget>);

#[pymethods]
impl NativeGadget {
    #[getter]
    fn name(&self) -> &str {
        &self.0.spec().name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.0.spec().description
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.spec().parameters)
    }

    #[getter]
    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::serialized(py, self.0.spec())
    }

    #[getter]
    fn permission(&self) -> &'static str {
        self.0.permission().as_str()
    }

    fn __repr__(&self) -> String {
        format!("<gadget {}>", self.name())
    }
}

/// The built-in gadgets in a folder, or those of these names.
#[pyfunction]
#[pyo3(signature = (folder, names = None))]
pub(crate) fn builtins(folder: PathBuf, names: Option<Vec<String>>) -> PyResult<Vec<NativeGadget>> {
    let gadgets = foreign::builtins(folder, names).map_err(errors::raised)?;
    Ok(gadgets.into_iter().map(NativeGadget).collect())
}

/// Connections to MCP servers.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct McpServers(Mutex<Option<Servers>>);

#[pymethods]
impl McpServers {
    /// Connects to servers, by their names.
    #[staticmethod]
    fn connect(waiter: Waiter<'_>, configs: &Bound<'_, PyDict>) -> PyResult<Work> {
        let read = foreign::servers(json::read(configs)?).map_err(errors::raised)?;
        spawn(&waiter, Servers::connect(read), |py, servers| {
            let servers = Self(Mutex::new(Some(servers)));
            Ok(Py::new(py, servers)?.into_any())
        })
    }

    /// The tools as gadgets, and what is wrong with others.
    fn gadgets(&self, reserved: Vec<String>) -> (Vec<NativeGadget>, Vec<String>) {
        let servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(servers) = servers.as_ref() else {
            return Default::default();
        };
        let (gadgets, problems) = foreign::tools(servers, &reserved);
        (gadgets.into_iter().map(NativeGadget).collect(), problems)
    }

    fn close(&self, waiter: Waiter<'_>) -> PyResult<Work> {
        let servers = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work = async move {
            if let Some(servers) = servers {
                servers.close().await;
            }
        };
        spawn(&waiter, work, |py, ()| Ok(py.None()))
    }
}
