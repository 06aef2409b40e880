//! The answers: the page, the list of runs, the records of a run, files to keep.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use gadgetry_http::{ConnectionLimits, accept};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::admission::admit;
use crate::assets::{self, PAGE};
use crate::html::html;
use crate::inspector::{Inspector, Source};
use crate::perfetto::perfetto;
use crate::record::END;
use crate::recording::Recording;

/// Connections at once: each page that follows a run has one.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 64,
    header_timeout: Duration::from_secs(30),
};

/// Time for answers that are being sent when the server ends. Those of runs in progress would never end.
const DRAIN: Duration = Duration::from_millis(500);

/// Bytes of records that are sent at once.
const CHUNK: usize = 256 << 10;

/// Stored runs that are read at once, because each is in memory meanwhile.
static LOADS: Semaphore = Semaphore::const_new(2);

impl Inspector {
    /// Serves the page at a listener on this machine until `stop`.
    ///
    /// Requests must name this machine, so a listener that other machines reach answers them with an error.
    ///
    /// Cancel safety: dropping the future closes the listener; connections that are open continue.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let open = accept(listener, self.router(), LIMITS, stop).await;
        open.drain(DRAIN).await;
    }

    /// Returns the routes of the page, for a server of axum on this machine. All of them are below a path that only
    /// [`url`](Self::url) has.
    pub fn router(&self) -> Router {
        let routes = Router::new()
            .route("/{token}/", get(page))
            .route("/{token}/runs", get(list))
            .route("/{token}/runs/{id}/from/{number}", get(records))
            .route("/{token}/runs/{id}/run.html", get(file))
            .route("/{token}/runs/{id}/trace.json", get(trace))
            .route("/{token}/{name}", get(asset))
            .with_state(self.clone());
        routes.layer(from_fn_with_state(self.clone(), admit))
    }
}

async fn page() -> Response {
    typed("text/html; charset=utf-8", PAGE)
}

async fn asset(Path((_, name)): Path<(String, String)>) -> Response {
    match assets::named(&name) {
        Some(asset) => typed(asset.mime, asset.text),
        None => not_found(),
    }
}

fn typed(mime: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, mime)], body.into()).into_response()
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "not found\n").into_response()
}

#[derive(Serialize)]
struct Row {
    id: String,
    title: String,
    state: String,
}

async fn list(State(inspector): State<Inspector>) -> Response {
    let rows = inspector.list().into_iter().map(|(id, run)| {
        let (title, state) = match &*run {
            Source::Recorded(recording) => {
                (recording.title().to_owned(), recording.state().to_owned())
            }
            Source::Stored(entry) => (entry.title.clone(), entry.state.clone()),
            Source::Dropped(recording) => (recording.title().to_owned(), "dropped".to_owned()),
            Source::Live(live) => {
                let recorder = live.recorder();
                let state = recorder.records().end().unwrap_or("in progress");
                (recorder.title().to_owned(), state.to_owned())
            }
        };
        Row {
            id: id.to_string(),
            title,
            state,
        }
    });
    let rows: Vec<Row> = rows.collect();
    match serde_json::to_string(&rows) {
        Ok(json) => typed("application/json", json),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The records of a run from a number on, and those that follow while it is in progress.
async fn records(
    State(inspector): State<Inspector>,
    Path((_, id, from)): Path<(String, u64, usize)>,
) -> Response {
    let Some(run) = inspector.run(id) else {
        return not_found();
    };
    let reading = match &*run {
        Source::Live(live) => Reading {
            changes: Some(live.changes()),
            recording: None,
            run,
            from,
            is_over: false,
        },
        Source::Recorded(_) | Source::Stored(_) | Source::Dropped(_) => match recording(&run).await
        {
            Ok(recording) => Reading {
                changes: None,
                recording: Some(recording),
                run,
                from,
                is_over: false,
            },
            Err(response) => return response,
        },
    };
    let body = stream::unfold(reading, |mut reading| async move {
        let chunk = reading.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), reading))
    });
    typed("application/x-ndjson", Body::from_stream(body))
}

/// An answer with records.
struct Reading {
    run: Arc<Source>,
    /// All records, of a run that is not live.
    recording: Option<Recording>,
    changes: Option<watch::Receiver<()>>,
    /// Records that were sent.
    from: usize,
    is_over: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Bytes> {
        while !self.is_over {
            if let Some(changes) = &mut self.changes {
                changes.mark_unchanged();
            }
            let mut chunk = Vec::new();
            let is_complete = match (&*self.run, &self.recording) {
                (Source::Live(live), _) => {
                    let recorder = live.recorder();
                    let records = recorder.records();
                    take(records.lines(), &mut self.from, &mut chunk) && records.is_finished
                }
                (_, Some(recording)) => take(recording.records.lines(), &mut self.from, &mut chunk),
                (_, None) => true,
            };
            if is_complete {
                self.is_over = true;
                chunk.extend_from_slice(END.as_bytes());
                chunk.push(b'\n');
            }
            if !chunk.is_empty() {
                return Some(chunk.into());
            }
            self.changes.as_mut()?.changed().await.ok()?;
        }
        None
    }
}

/// Appends lines from a number on, up to [`CHUNK`]. Returns whether no line is left.
fn take(lines: &[Arc<str>], from: &mut usize, chunk: &mut Vec<u8>) -> bool {
    for line in lines.iter().skip(*from) {
        if chunk.len() >= CHUNK {
            return false;
        }
        chunk.extend_from_slice(line.as_bytes());
        chunk.push(b'\n');
        *from += 1;
    }
    true
}

/// The records of a run; those of a live one so far.
async fn recording(run: &Source) -> Result<Recording, Response> {
    match run {
        Source::Recorded(recording) | Source::Dropped(recording) => Ok(recording.clone()),
        Source::Live(live) => Ok(live.recording()),
        Source::Stored(entry) => {
            let _permit = LOADS.acquire().await;
            (entry.load)().await.map_err(|error| {
                let words = format!("this run cannot be read: {error}");
                (StatusCode::UNPROCESSABLE_ENTITY, words).into_response()
            })
        }
    }
}

async fn file(State(inspector): State<Inspector>, Path((_, id)): Path<(String, u64)>) -> Response {
    exported(
        inspector,
        id,
        "text/html; charset=utf-8",
        |recording, inspector| html(&[recording], &inspector.0.redaction),
    )
    .await
}

async fn trace(State(inspector): State<Inspector>, Path((_, id)): Path<(String, u64)>) -> Response {
    exported(inspector, id, "application/json", |recording, inspector| {
        perfetto(&recording, &inspector.0.redaction)
    })
    .await
}

async fn exported(
    inspector: Inspector,
    id: u64,
    mime: &'static str,
    make: impl FnOnce(Recording, Inspector) -> String + Send + 'static,
) -> Response {
    let Some(run) = inspector.run(id) else {
        return not_found();
    };
    let recording = match recording(&run).await {
        Ok(recording) => recording,
        Err(response) => return response,
    };
    match tokio::task::spawn_blocking(move || make(recording, inspector)).await {
        // Never shown: its scripts would be of the same origin as the page.
        Ok(text) => (
            [(header::CONTENT_DISPOSITION, "attachment")],
            typed(mime, text),
        )
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
