//! Connections that wait for a request: one of them gives up its place to a new connection.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::service::Service;
use tokio::sync::Notify;

/// The connections that wait for a request, the one that has waited longest first.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, Arc<Notify>>,
}

impl Places {
    /// Lets the connection end that has waited longest for a request, if there is one.
    pub(crate) fn end_oldest(&self) {
        if let Some((_, connection)) = self.lock().connections.pop_first() {
            connection.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection among the [`Places`].
#[derive(Debug)]
pub(crate) struct Connection {
    places: Arc<Places>,
    end: Arc<Notify>,
    /// The number under which it waits.
    waits: Mutex<Option<u64>>,
}

impl Connection {
    /// Adds a connection that waits.
    pub(crate) fn new(places: &Arc<Places>) -> Arc<Self> {
        let connection = Self {
            places: Arc::clone(places),
            end: Arc::default(),
            waits: Mutex::default(),
        };
        connection.wait();
        Arc::new(connection)
    }

    /// Waits until another connection is to have the place.
    pub(crate) async fn ended(&self) {
        self.end.notified().await;
    }

    /// Returns `true` while a request is answered.
    pub(crate) fn is_busy(&self) -> bool {
        self.number().is_none()
    }

    fn wait(&self) {
        let mut waiting = self.places.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(number, Arc::clone(&self.end));
        *self.number() = Some(number);
    }

    fn leave(&self) {
        let number = self.number().take();
        if let Some(number) = number {
            self.places.lock().connections.remove(&number);
        }
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A request that is answered. Afterwards the connection waits for the next one.
struct Busy(Arc<Connection>);

impl Busy {
    fn new(connection: &Arc<Connection>) -> Self {
        connection.leave();
        Self(Arc::clone(connection))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// A service that marks its connection as busy from the head of a request to the end of the answer.
#[derive(Debug)]
pub(crate) struct Marked<S> {
    pub(crate) service: S,
    pub(crate) connection: Arc<Connection>,
}

impl<S> Service<Request<Incoming>> for Marked<S>
where
    S: Service<Request<Incoming>, Response = Response>,
    S::Future: Send + 'static,
{
    type Response = hyper::Response<MarkedBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let busy = Busy::new(&self.connection);
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| MarkedBody { body, _busy: busy }))
        })
    }
}

/// The body of an answer.
pub(crate) struct MarkedBody {
    body: Body,
    _busy: Busy,
}

impl HttpBody for MarkedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
