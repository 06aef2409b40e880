//! Runs and conversations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gadgetry::approval::ApprovalId;
use gadgetry::serde_json;
use gadgetry::{AgentHandle, AgentRun, Finished, Message};
use gadgetry_bindings::{Problem, run as shared};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bridge::{Locals, Waiter, Work, spawn};
use crate::errors;
use crate::gate::runtime;
use crate::json;

/// The loops of the runs that are going on, for functions of an agent that are called with nothing but the id of the run.
static RUNS: Mutex<Option<HashMap<String, Weak<Locals>>>> = Mutex::new(None);

/// Returns the loop of a run, or of the run that has started it.
pub(crate) fn locals_of(run: &str) -> Option<Weak<Locals>> {
    let top = run.split('/').next().unwrap_or(run);
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.as_ref()?.get(top).cloned()
}

fn with_runs(change: impl FnOnce(&mut HashMap<String, Weak<Locals>>)) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    change(runs.get_or_insert_default());
}

/// A run of an agent.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Run {
    driven: Arc<tokio::sync::Mutex<Option<AgentRun<'static>>>>,
    handle: AgentHandle,
    id: String,
    output: Output,
    /// Kept for as long as the run may call functions.
    _locals: Arc<Locals>,
}

/// The answer of a type that the run has given.
pub(crate) type Output = Arc<Mutex<Option<Py<PyAny>>>>;

impl Run {
    /// Takes a run that has not begun.
    pub(crate) fn new(run: AgentRun<'static>, locals: Arc<Locals>, output: Output) -> Self {
        let id = run.info().id.to_string();
        with_runs(|runs| _ = runs.insert(id.clone(), Arc::downgrade(&locals)));
        Self {
            handle: run.handle(),
            driven: Arc::new(tokio::sync::Mutex::new(Some(run))),
            id,
            output,
            _locals: locals,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        with_runs(|runs| _ = runs.remove(&self.id));
    }
}

#[pymethods]
impl Run {
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// The next events, or those of approvals; none at the end.
    fn next(&self, waiter: Waiter<'_>, approvals_only: bool) -> PyResult<Work> {
        let run = Arc::clone(&self.driven);
        let work = async move {
            let mut run = run.lock().await;
            match run.as_mut() {
                Some(run) => shared::events(run, approvals_only).await,
                None => Vec::new(),
            }
        };
        spawn(&waiter, work, |py, events| {
            let events = events.iter().map(|event| json::serialized(py, event));
            let events: Vec<_> = events.collect::<PyResult<_>>()?;
            Ok(PyList::new(py, events)?.into_any().unbind())
        })
    }

    /// The result, after the events that are left.
    fn finish(&self, waiter: Waiter<'_>) -> PyResult<Work> {
        let run = Arc::clone(&self.driven);
        let work = async move {
            let run = run.lock().await.take()?;
            Some(run.finish().await)
        };
        spawn(&waiter, work, |py, finished| match finished {
            Some(Ok(finished)) => Ok(result(py, &finished)?.into_any().unbind()),
            Some(Err(error)) => Err(errors::raised(Problem::run(error))),
            None => Err(errors::raised(Problem::config(
                "the run has been consumed, or was closed",
            ))),
        })
    }

    /// The answer of the demanded type, if the run has given it.
    fn output(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.as_ref().map(|output| output.clone_ref(py))
    }

    fn cancel(&self) {
        self.handle.cancel();
    }

    /// Drops the run, with everything that it has begun.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if let Ok(mut run) = self.driven.try_lock() {
            drop(run.take());
            return Ok(());
        }
        // The one who waits for it ends now, or was cancelled a moment ago, and then no one would drive it to its end.
        self.handle.cancel();
        let run = Arc::clone(&self.driven);
        runtime(py)?.spawn(async move { drop(run.lock().await.take()) });
        Ok(())
    }

    fn inject(&self, text: String) -> PyResult<()> {
        let injected = self.handle.inject(text);
        injected.map_err(|error| errors::classified("NotDelivered", &error))
    }

    fn compact(&self) -> PyResult<()> {
        let compacted = self.handle.compact();
        compacted.map_err(|error| errors::classified("NotDelivered", &error))
    }

    fn approvals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::serialized(py, &self.handle.approvals())
    }

    /// Answers an approval: `once`, `session` with a rule, or `no` with a reason.
    fn answer(&self, approval: &str, kind: &str, detail: Option<String>) -> PyResult<()> {
        let approval: ApprovalId = approval
            .parse()
            .map_err(|error| errors::classified("NotDelivered", &error))?;
        let answer = shared::answer(kind, detail).map_err(errors::raised)?;
        let answered = self.handle.answer(approval, answer);
        answered.map_err(|error| errors::classified("NotDelivered", &error))
    }
}

/// The result of a run, as fields of `gadgetry.Result`.
pub(crate) fn result<'py>(py: Python<'py>, finished: &Finished) -> PyResult<Bound<'py, PyAny>> {
    let fields = json::to_py(py, &shared::result(finished))?;
    let conversation = Conversation(finished.into());
    fields.set_item("conversation", Py::new(py, conversation)?)?;
    Ok(fields)
}

/// The messages of several runs.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Conversation(pub(crate) gadgetry::Conversation);

#[pymethods]
impl Conversation {
    #[new]
    fn new() -> Self {
        Self(gadgetry::Conversation::default())
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let read = serde_json::from_str(text);
        read.map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[staticmethod]
    fn from_messages(messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        let messages: Vec<Message> = json::read(messages)?;
        Ok(Self(messages.into()))
    }

    fn to_json(&self) -> PyResult<String> {
        let text = serde_json::to_string(&self.0);
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::serialized(py, &self.0.messages())
    }

    fn __len__(&self) -> usize {
        self.0.messages().len()
    }
}
