//! The gateway in this process: requests of the official SDKs, without a server and without a port.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use gadgetry_bindings::gateway;
use pyo3::exceptions::PyConnectionError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bridge::{Waiter, Work, spawn};
use crate::errors;
use crate::gate::runtime;

/// Time after which a thread that waits looks for signals, such as Ctrl-C.
const PULSE: Duration = Duration::from_millis(50);

/// A gateway to one server.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct InProcess(Router);

#[pymethods]
impl InProcess {
    #[new]
    fn new(
        py: Python<'_>,
        base_url: String,
        api: &str,
        api_key: Option<String>,
        headers: Vec<(String, String)>,
        proxy: Option<String>,
        reads_environment: bool,
    ) -> PyResult<Self> {
        let http = gateway::http(headers, proxy, reads_environment);
        let made = py.detach(|| gateway::router(base_url, api, api_key, http));
        made.map(Self).map_err(errors::raised)
    }

    /// Sends a request, and waits for the head of the response in a loop.
    fn send(
        &self,
        waiter: Waiter<'_>,
        method: &str,
        target: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> PyResult<Work> {
        let request = gateway::request(method, target, headers, body).map_err(errors::raised)?;
        let router = self.0.clone();
        spawn(&waiter, gateway::answered(router, request), |py, reply| {
            Ok(Py::new(py, Reply(reply))?.into_any())
        })
    }

    /// The same, in this thread.
    fn send_blocking(
        &self,
        py: Python<'_>,
        method: &str,
        target: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> PyResult<Reply> {
        let request = gateway::request(method, target, headers, body).map_err(errors::raised)?;
        block_on(py, gateway::answered(self.0.clone(), request)).map(Reply)
    }
}

/// Waits in this thread, without the interpreter, and ends for signals.
fn block_on<T: Send>(py: Python<'_>, work: impl Future<Output = T> + Send) -> PyResult<T> {
    let runtime = runtime(py)?;
    let mut work = Box::pin(work);
    loop {
        let done = py.detach(|| {
            runtime.block_on(async { tokio::time::timeout(PULSE, &mut work).await.ok() })
        });
        if let Some(done) = done {
            return Ok(done);
        }
        py.check_signals()?;
    }
}

/// A response, whose body is read piece by piece. Dropping it ends the request.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Reply(gateway::Reply);

#[pymethods]
impl Reply {
    #[getter]
    fn status(&self) -> u16 {
        self.0.status
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let headers = self.0.headers.iter();
        let headers = headers
            .map(|(name, value)| (PyBytes::new(py, name.as_bytes()), PyBytes::new(py, value)));
        headers.collect()
    }

    /// The next piece of the body; `None` at its end.
    fn next(&self, waiter: Waiter<'_>) -> PyResult<Work> {
        spawn(&waiter, self.0.next(), piece)
    }

    /// The same, in this thread.
    fn next_blocking(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let next = block_on(py, self.0.next())?;
        piece(py, next)
    }

    fn close(&self) {
        self.0.close();
    }
}

fn piece(py: Python<'_>, next: Option<Result<Bytes, axum::Error>>) -> PyResult<Py<PyAny>> {
    match next {
        Some(Ok(bytes)) => Ok(PyBytes::new(py, &bytes).into_any().unbind()),
        Some(Err(error)) => Err(PyConnectionError::new_err(error.to_string())),
        None => Ok(py.None()),
    }
}
