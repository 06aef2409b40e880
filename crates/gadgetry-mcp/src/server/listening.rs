//! The event stream that a client listens to: one for each session.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _};

/// The event after which a client resumes a stream.
const LAST_EVENT: &str = "last-event-id";

/// The event stream of a session. Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Listening(Arc<tokio::sync::Mutex<Events>>);

impl Listening {
    /// Answers with a new stream. The one before ends first, because a connection that was lost may seem to be open for
    /// minutes, in which a client that comes back would be refused, or would wait for events that the old stream gets.
    pub(super) async fn replace(&self, answer: impl Future<Output = Response>) -> Response {
        // Held until the answer is there, so that two new streams do not both begin before either is noted.
        let mut current = self.0.lock().await;
        current.end();
        answer.await.map(|body| {
            *current = Events::of(body);
            Body::from_stream(current.clone())
        })
    }
}

/// Returns `true` for a request to listen. One that resumes the answer to another request names that in the event.
pub(super) fn listens(head: &Parts) -> bool {
    head.method == Method::GET && !resumes_answer(&head.headers)
}

fn resumes_answer(headers: &HeaderMap) -> bool {
    let event = headers.get(LAST_EVENT);
    event.is_some_and(|event| event.as_bytes().contains(&b'/'))
}

/// The body of an answer, which can be ended from elsewhere.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// `None` after the end.
    body: Option<BodyDataStream>,
    reader: Option<Waker>,
}

impl Events {
    fn of(body: Body) -> Self {
        let body = Some(body.into_data_stream());
        Self(Arc::new(Mutex::new(Inner { body, reader: None })))
    }

    /// Drops the body at once, even if the client reads nothing.
    fn end(&self) {
        let (body, reader) = {
            let mut inner = self.inner();
            (inner.body.take(), inner.reader.take())
        };
        drop(body);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for Events {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut inner = self.inner();
        inner.reader = Some(cx.waker().clone());
        let Some(body) = &mut inner.body else {
            return Poll::Ready(None);
        };
        body.poll_next_unpin(cx)
    }
}
