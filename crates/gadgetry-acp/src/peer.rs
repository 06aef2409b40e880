//! The client's end of the connection: messages to it, and its answers to our requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{Error as Refusal, ErrorCode, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::error::refusal;

/// Messages that wait to be written.
const WAITING: usize = 256;

/// Sends messages to the client. Clones share the connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lines: mpsc::Sender<String>,
    next: AtomicU64,
    /// Requests of ours that the client has not answered; `None` when its answers are not read any more.
    open: Mutex<Option<Open>>,
}

/// What waits for answers, by the ids of the requests.
type Open = HashMap<u64, oneshot::Sender<Result<Value, Value>>>;

/// The client does not read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Peer {
    /// A connection without a client yet: [`write`] takes what it sends.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (lines, receiver) = mpsc::channel(WAITING);
        let inner = Inner {
            lines,
            next: AtomicU64::new(1),
            open: Mutex::new(Some(Open::default())),
        };
        (Self(Arc::new(inner)), receiver)
    }

    /// Sends a notification. Waits while the client does not read.
    pub(crate) async fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Gone> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": value(params) });
        self.send(&message).await
    }

    /// Sends a request, and waits for the result; `None` if there is an error instead, or no answer is read any more.
    ///
    /// Cancel safety: a late answer is ignored.
    pub(crate) async fn request(&self, method: &str, params: impl Serialize) -> Option<Value> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.open().as_mut() {
            Some(open) => _ = open.insert(id, sender),
            // What waits for it is woken by its end.
            None => drop(sender),
        }
        let _forget = Forget(self, id);
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": value(params) });
        self.send(&message).await.ok()?;
        match answer.await {
            Ok(Ok(result)) => Some(result),
            Ok(Err(error)) => {
                tracing::warn!("the client refuses {method}: {error}");
                None
            }
            Err(_) => None,
        }
    }

    /// Takes the client's answer to a request. One that nothing waits for is ignored.
    pub(crate) fn answered(&self, id: &Value, answer: Result<Value, Value>) {
        let sender = id.as_u64().and_then(|id| self.open().as_mut()?.remove(&id));
        if let Some(sender) = sender {
            // The request may have been dropped.
            let _ = sender.send(answer);
        }
    }

    /// Answers a request of the client.
    pub(crate) async fn respond(
        &self,
        id: &RequestId,
        result: Result<Value, Refusal>,
    ) -> Result<(), Gone> {
        self.send(&response(id, result)).await
    }

    /// Ends the wait for answers: no more are read.
    pub(crate) fn close(&self) {
        self.open().take();
    }

    async fn send(&self, message: &Value) -> Result<(), Gone> {
        let sent = self.0.lines.send(message.to_string()).await;
        sent.map_err(|_| Gone)
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn response(id: &RequestId, result: Result<Value, Refusal>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// The types of the protocol have a form in JSON.
fn value(params: impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

/// An answer of the client as JSON that a type of the protocol has.
pub(crate) fn read<T: DeserializeOwned>(answer: Option<Value>) -> Option<T> {
    serde_json::from_value(answer?).ok()
}

/// Forgets a request when it is dropped.
struct Forget<'a>(&'a Peer, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.0.open().as_mut() {
            open.remove(&self.1);
        }
    }
}

/// A request of the client that is to be answered once. One that is dropped is answered with an error.
#[derive(Debug)]
pub(crate) struct Responder {
    peer: Peer,
    id: Option<RequestId>,
}

impl Responder {
    /// The request of this id.
    pub(crate) fn new(peer: Peer, id: RequestId) -> Self {
        Self { peer, id: Some(id) }
    }

    /// Returns the id of the request.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Sends the response to the request, once.
    pub(crate) async fn respond(mut self, result: Result<impl Serialize, impl Into<Refusal>>) {
        if let Some(id) = self.id.take() {
            let result = result.map(value).map_err(Into::into);
            // Without a client, nothing is to be done.
            let _ = self.peer.respond(&id, result).await;
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let error = refusal(ErrorCode::InternalError, "the session has ended");
            let message = response(&id, Err(error)).to_string();
            // If the queue is full, the connection is ending.
            let _ = self.peer.0.lines.try_send(message);
        }
    }
}

/// Writes the messages, a line each, until no sender is left or the client does not read.
pub(crate) async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<String>,
) {
    while let Some(mut line) = messages.recv().await {
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        // What waits is written at once.
        if messages.is_empty() && output.flush().await.is_err() {
            return;
        }
    }
}
