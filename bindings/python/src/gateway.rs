//! The gateway in this process: requests of the official SDKs, without a server and without a port.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use gadgetry::provider::resolve::Api;
use gadgetry::provider::{ApiKey, HttpConfig};
use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{Gateway, Settings};
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tower_service::Service as _;

use crate::bridge::{Waiter, Work, spawn};
use crate::errors;
use crate::gate::runtime;
use crate::parser::choice;

/// Time after which a thread that waits looks for signals, such as Ctrl-C.
const PULSE: Duration = Duration::from_millis(50);

/// A gateway to one server.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct InProcess(Router);

#[pymethods]
impl InProcess {
    #[new]
    fn new(py: Python<'_>, base_url: String, api_key: Option<String>, api: &str) -> PyResult<Self> {
        let api = match api {
            "chat" => Api::Chat,
            "responses" => Api::Responses,
            "messages" => Api::Messages,
            "completions" => Api::Completions,
            other => {
                let admitted = "`chat`, `responses`, `messages` or `completions`";
                return Err(choice(py, "api", other, admitted));
            }
        };
        let target = Target::Server {
            url: base_url.into(),
            api,
            key: api_key.map(ApiKey::from),
        };
        // The first one reads the certificates of the machine.
        let upstream = py.detach(|| Upstream::new("upstream", target, HttpConfig::new()));
        let upstream = upstream.map_err(|error| errors::config(&error))?;
        let mut settings = Settings::default();
        settings.upstreams = vec![Arc::new(upstream)];
        Ok(Self(Gateway::new(settings).router()))
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
        let request = request(method, target, headers, body)?;
        let router = self.0.clone();
        spawn(&waiter, answered(router, request), |py, response| {
            Ok(Py::new(py, Reply::new(response))?.into_any())
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
        let request = request(method, target, headers, body)?;
        let response = block_on(py, answered(self.0.clone(), request))?;
        Ok(Reply::new(response))
    }
}

fn request(
    method: &str,
    target: &str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
) -> PyResult<Request<Body>> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let method: Method = method.parse().map_err(|error| wrong(&error))?;
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request
        .body(Body::from(body))
        .map_err(|error| wrong(&error))
}

async fn answered(mut router: Router, request: Request<Body>) -> Response<Body> {
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
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

type Pieces = Arc<tokio::sync::Mutex<BoxStream<'static, Result<Bytes, axum::Error>>>>;

/// A response, whose body is read piece by piece. Dropping it ends the request.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    pieces: std::sync::Mutex<Option<Pieces>>,
}

impl Reply {
    fn new(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        let pieces = body.into_data_stream().boxed();
        Self {
            status: head.status.as_u16(),
            headers: headers.collect(),
            pieces: std::sync::Mutex::new(Some(Arc::new(tokio::sync::Mutex::new(pieces)))),
        }
    }

    fn pieces(&self) -> Option<Pieces> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.clone()
    }
}

#[pymethods]
impl Reply {
    #[getter]
    fn status(&self) -> u16 {
        self.status
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let headers = self.headers.iter();
        let headers = headers
            .map(|(name, value)| (PyBytes::new(py, name.as_bytes()), PyBytes::new(py, value)));
        headers.collect()
    }

    /// The next piece of the body; `None` at its end.
    fn next(&self, waiter: Waiter<'_>) -> PyResult<Work> {
        spawn(&waiter, next(self.pieces()), piece)
    }

    /// The same, in this thread.
    fn next_blocking(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let next = block_on(py, next(self.pieces()))?;
        piece(py, next)
    }

    fn close(&self) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.take();
    }
}

async fn next(pieces: Option<Pieces>) -> Option<Result<Bytes, axum::Error>> {
    pieces?.lock().await.next().await
}

fn piece(py: Python<'_>, next: Option<Result<Bytes, axum::Error>>) -> PyResult<Py<PyAny>> {
    match next {
        Some(Ok(bytes)) => Ok(PyBytes::new(py, &bytes).into_any().unbind()),
        Some(Err(error)) => Err(PyConnectionError::new_err(error.to_string())),
        None => Ok(py.None()),
    }
}
