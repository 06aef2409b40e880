//! Between tokio and asyncio: Rust futures that asyncio awaits, and Python functions that Rust awaits.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::gate::{attach, runtime};

/// Work of tokio that a future of asyncio waits for. Dropping it drops the work.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Work(AbortHandle);

#[pymethods]
impl Work {
    /// Drops the work. What it had begun is cancelled.
    fn cancel(&self) {
        self.0.abort();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Does `work` on a thread of tokio, and gives its result to the asyncio future `waiter` of `event_loop`.
///
/// `finish` makes a Python object of the result, inside the interpreter. An exception with which `work` unwinds, as that of a function
/// that the engine calls, is the result, too.
pub(crate) fn spawn<T: Send + 'static>(
    waiter: &Waiter<'_>,
    work: impl Future<Output = T> + Send + 'static,
    finish: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Work> {
    let py = waiter.event_loop.py();
    let resolve = py.import("gadgetry._bridge")?.getattr("resolve")?.unbind();
    let event_loop = waiter.event_loop.clone().unbind();
    let future = waiter.future.clone().unbind();
    let task = runtime(py)?.spawn(async move {
        let done = AssertUnwindSafe(work).catch_unwind().await;
        attach(move |py| {
            let done = match done {
                Ok(value) => finish(py, value),
                Err(panic) => Err(unwound(panic)),
            };
            let (value, error) = match done {
                Ok(value) => (value, py.None()),
                Err(error) => (py.None(), error.into_value(py).into_any()),
            };
            let arguments = (resolve, future, value, error);
            // It fails if the loop is closed: then no one waits.
            let _ = event_loop.call_method1(py, "call_soon_threadsafe", arguments);
        });
    });
    Ok(Work(task.abort_handle()))
}

/// An asyncio future, and its loop.
#[derive(FromPyObject)]
pub(crate) struct Waiter<'py> {
    #[pyo3(attribute("loop"))]
    event_loop: Bound<'py, PyAny>,
    #[pyo3(attribute("future"))]
    future: Bound<'py, PyAny>,
}

/// The exception of a panic: the one that [`unwind`] carried, or else the words of the panic.
fn unwound(panic: Box<dyn std::any::Any + Send>) -> PyErr {
    match panic.downcast::<Carried>() {
        Ok(carried) => carried.0,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            PyRuntimeError::new_err(format!(
                "gadgetry has a bug: {}",
                text.unwrap_or("it panicked")
            ))
        }
    }
}

struct Carried(PyErr);

/// Ends the run with the exception of a function that the engine has called, which [`spawn`] gives to its waiter.
pub(crate) fn unwind(error: PyErr) -> ! {
    std::panic::resume_unwind(Box::new(Carried(error)))
}

/// The loop and the context variables of the one who asks, for functions that are called while the run is going on.
pub(crate) struct Locals {
    event_loop: Py<PyAny>,
    context: Py<PyAny>,
}

impl Locals {
    /// Returns the event loop and the context of the running task.
    pub(crate) fn current(py: Python<'_>) -> PyResult<Self> {
        let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
        let context = py.import("contextvars")?.call_method0("copy_context")?;
        Ok(Self {
            event_loop: event_loop.unbind(),
            context: context.unbind(),
        })
    }
}

/// Takes the result of a Python function: `done(kind, text)`.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Done(Mutex<Option<oneshot::Sender<Answer>>>);

/// Result of a function: a word for its kind, and its text.
pub(crate) type Answer = (String, String);

#[pymethods]
impl Done {
    fn __call__(&self, kind: String, text: String) {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.take() {
            // It fails if no one waits any more.
            let _ = sender.send((kind, text));
        }
    }
}

/// A Python function at work. Dropping it cancels that.
pub(crate) struct Call {
    receiver: oneshot::Receiver<Answer>,
    handle: Option<Py<PyAny>>,
}

impl Call {
    /// Starts `function(*arguments)`: a coroutine in the loop of `locals`, anything else in a thread of Python.
    pub(crate) fn start<'py>(
        py: Python<'py>,
        locals: &Locals,
        is_async: bool,
        function: &Py<PyAny>,
        arguments: Bound<'py, PyTuple>,
    ) -> PyResult<Self> {
        let (sender, receiver) = oneshot::channel();
        let done = Py::new(py, Done(Mutex::new(Some(sender))))?;
        let bridge = py.import("gadgetry._bridge")?;
        let name = if is_async { "Coroutine" } else { "Threaded" };
        let handle = bridge.call_method1(
            name,
            (
                &locals.event_loop,
                &locals.context,
                function,
                arguments,
                done,
            ),
        )?;
        Ok(Self {
            receiver,
            handle: Some(handle.unbind()),
        })
    }

    /// Waits for the result; `None` if there will be none.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let answer = (&mut self.receiver).await.ok();
        self.handle = None;
        answer
    }

    /// Cancels it. [`Call::answer`] then has its end.
    pub(crate) fn cancel(&self) {
        let Some(handle) = &self.handle else { return };
        attach(|py| {
            if let Err(error) = handle.call_method0(py, "cancel") {
                error.write_unraisable(py, None);
            }
        });
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.cancel();
    }
}
