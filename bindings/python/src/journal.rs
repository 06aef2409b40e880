//! Durable runs.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use gadgetry::journal::RunId;
use gadgetry_store::{RunRecord, SqliteJournal, Status};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

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
                let records = records.iter().map(|record| shown(py, record));
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

fn shown<'py>(py: Python<'py>, record: &RunRecord) -> PyResult<Bound<'py, PyDict>> {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH);
        since.unwrap_or_default().as_secs_f64()
    };
    let progress = &record.progress;
    let fields = PyDict::new(py);
    fields.set_item("id", record.id.as_str())?;
    fields.set_item(
        "status",
        match record.status() {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Interrupted => "interrupted",
            Status::Finished => "finished",
            _ => "unknown",
        },
    )?;
    fields.set_item("created", seconds(record.created))?;
    fields.set_item("updated", seconds(record.updated))?;
    fields.set_item("iterations", progress.iterations)?;
    fields.set_item("known_cost", progress.known_cost)?;
    let answer = progress.summary.as_ref().map(|summary| &summary.answer);
    fields.set_item("answer", answer)?;
    fields.set_item("questions", json::serialized(py, &progress.questions)?)?;
    Ok(fields)
}
