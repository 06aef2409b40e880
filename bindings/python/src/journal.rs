//! Durable runs.

use std::path::PathBuf;

use gadgetry::journal::RunId;
use gadgetry_store::SqliteJournal;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bridge::{Waiter, Work, spawn};
use crate::errors;
use crate::json;

/// A file in which runs are kept.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Journal(pub(crate) SqliteJournal);

#[pymethods]
impl Journal {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| SqliteJournal::open(path));
        opened
            .map(Self)
            .map_err(|error| errors::classified("JournalError", &error))
    }

    fn runs(&self, waiter: Waiter<'_>) -> PyResult<Work> {
        let journal = self.0.clone();
        spawn(
            &waiter,
            async move { journal.runs().await },
            |py, records| {
                let records =
                    records.map_err(|error| errors::classified("JournalError", &error))?;
                let records = records
                    .iter()
                    .map(|record| json::to_py(py, &gadgetry_bindings::run::record(record)));
                let records: Vec<_> = records.collect::<PyResult<_>>()?;
                Ok(PyList::new(py, records)?.into_any().unbind())
            },
        )
    }

    fn cancel(&self, waiter: Waiter<'_>, run_id: &str) -> PyResult<Work> {
        let journal = self.0.clone();
        let id: RunId = run_id
            .parse()
            .map_err(|error| errors::classified("JournalError", &error))?;
        spawn(
            &waiter,
            async move { journal.cancel(&id).await },
            |py, cancelled| {
                cancelled.map_err(|error| errors::classified("JournalError", &error))?;
                Ok(py.None())
            },
        )
    }
}
