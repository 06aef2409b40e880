//! Handles of runs by id: approvals and cancellation over HTTP.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use gadgetry::approval::{Answer, ApprovalAnswer, ApprovalId, NotAnswered};
use gadgetry::proto::schema::read_json;
use gadgetry::{AgentHandle, Classified, Fault};
use gadgetry_gateway::server::json_response;
use serde_json::{Value, json};
use tokio::time::timeout;

/// Bytes of an answer.
const ANSWER: usize = 64 << 10;

/// Maximum time for an answer to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The runs that are served now, by their ids. Clones share them.
///
/// | request to the [router](Self::router) | answer |
/// |---|---|
/// | `GET /{run}/approvals` | `{"approvals": […]}`, each as in the event `approval_required` |
/// | `POST /{run}/approvals/{approval}` with `{"answer": "allowed"}`, or `{"answer": "denied", "reason": "…"}` | 204; 404 for an unknown run or approval; 409 if it is closed |
/// | `POST /{run}/cancel` with `{}` | 204; 404 for an unknown run |
///
/// Bodies must be `application/json`, so that a page of another site cannot send them, have each field once, and arrive within 10 s (else 408). An id is in the path, so it is not a secret: a
/// layer of the application checks that the user of the request may see and answer for that run.
///
/// ```
/// use gadgetry::{Agent, ScriptedModel};
/// use gadgetry_axum::Runs;
///
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let run = Agent::builder().model(model).ask("What is 2+2?")?;
/// let runs = Runs::default();
/// let listed = runs.list("order-7", run.handle())?;
/// assert!(runs.list("order-7", run.handle()).is_err());
/// assert!(runs.get("order-7").is_some());
/// drop(listed);
/// assert!(runs.get("order-7").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Runs(Arc<Mutex<BTreeMap<String, AgentHandle>>>);

/// A run in a list. Dropping it takes the run out.
#[derive(Debug)]
#[must_use = "the run is listed as long as this lives"]
pub struct ListedRun {
    runs: Runs,
    id: String,
}

impl Drop for ListedRun {
    fn drop(&mut self) {
        self.runs.lock().remove(&self.id);
    }
}

/// Error for an id that another run has, which is still being served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run {0:?} is being served; wait for its end, or give this one another id")]
pub struct RunExists(pub String);

impl Classified for RunExists {
    fn fault(&self) -> Fault {
        Fault::Caller
    }

    fn is_retryable(&self) -> bool {
        true
    }
}

impl Runs {
    /// Lists a run under `id`: a random one, or that of a durable run.
    ///
    /// # Errors
    ///
    /// [`RunExists`] if the id is taken.
    pub fn list(&self, id: impl Into<String>, run: AgentHandle) -> Result<ListedRun, RunExists> {
        let id = id.into();
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => Err(RunExists(id)),
            Entry::Vacant(place) => {
                place.insert(run);
                let runs = self.clone();
                Ok(ListedRun { runs, id })
            }
        }
    }

    /// Returns the handle of a run; `None` if there is no such run, or it is over.
    pub fn get(&self, id: &str) -> Option<AgentHandle> {
        self.lock().get(id).cloned()
    }

    /// The routes of the [table](Self), to be nested under a path of the application.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/{run}/approvals", get(approvals))
            .route("/{run}/approvals/{approval}", post(answer))
            .route("/{run}/cancel", post(cancel))
            .with_state(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AgentHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

async fn approvals(State(runs): State<Runs>, Path(run): Path<String>) -> Response {
    match runs.get(&run) {
        Some(run) => json_response(StatusCode::OK, &json!({"approvals": run.approvals()})),
        None => no_run(),
    }
}

async fn answer(
    State(runs): State<Runs>,
    Path((run, approval)): Path<(String, String)>,
    request: Request,
) -> Response {
    let body = match read(request).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let Some(run) = runs.get(&run) else {
        return no_run();
    };
    let Ok(id) = approval.parse::<ApprovalId>() else {
        return not_answered(NotAnswered::Unknown);
    };
    // A list is read as an enum, too, and its first item as the answer.
    let body = Some(body).filter(Value::is_object).unwrap_or_default();
    let answer = match serde_json::from_value(body) {
        Ok(ApprovalAnswer::Allowed) => Answer::Once,
        Ok(ApprovalAnswer::Denied { reason }) => Answer::No(reason),
        Ok(_) | Err(_) => {
            let message =
                r#"the body must be {"answer": "allowed"} or {"answer": "denied", "reason": TEXT}"#;
            return problem(StatusCode::BAD_REQUEST, "invalid_answer", message);
        }
    };
    match run.answer(id, answer) {
        Ok(()) => no_content(),
        Err(error) => not_answered(error),
    }
}

async fn cancel(State(runs): State<Runs>, Path(run): Path<String>, request: Request) -> Response {
    if let Err(refused) = read(request).await {
        return refused;
    }
    match runs.get(&run) {
        Some(run) => {
            run.cancel();
            no_content()
        }
        None => no_run(),
    }
}

async fn read(request: Request) -> Result<Value, Response> {
    if !is_json(&request) {
        let message = "the content type must be application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(problem(status, "invalid_content_type", message));
    }
    let reading = timeout(BODY_TIMEOUT, to_bytes(request.into_body(), ANSWER));
    let bytes = reading.await.map_err(|_| {
        let message = format!("the body took longer than {} s", BODY_TIMEOUT.as_secs());
        problem(StatusCode::REQUEST_TIMEOUT, "timeout", &message)
    })?;
    let bytes = bytes.map_err(|_| {
        let message = "the body is too large, or did not arrive whole";
        problem(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    })?;
    // A field that is there twice would be two answers.
    let read = str::from_utf8(&bytes).map_err(|error| error.to_string());
    let read = read.and_then(|text| read_json(text).map_err(|error| error.to_string()));
    read.map_err(|error| {
        let message = format!("the body is not JSON: {error}");
        problem(StatusCode::BAD_REQUEST, "not_json", &message)
    })
}

/// Returns whether a request says that its body is JSON: a page of another site cannot, without being permitted to.
pub(crate) fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn no_run() -> Response {
    let message = "there is no such run, or it is over";
    problem(StatusCode::NOT_FOUND, "unknown_run", message)
}

fn not_answered(error: NotAnswered) -> Response {
    let (status, code) = match error {
        NotAnswered::Closed => (StatusCode::CONFLICT, "closed"),
        NotAnswered::Unknown | _ => (StatusCode::NOT_FOUND, "unknown_approval"),
    };
    problem(status, code, &error.to_string())
}

fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    json_response(
        status,
        &json!({"error": {"code": code, "message": message}}),
    )
}

fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
