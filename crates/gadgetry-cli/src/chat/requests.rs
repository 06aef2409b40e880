//! Requests of a run to the user while the conversation is on the screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};
use gadgetry::{Human, HumanQuestion};
use tokio::sync::{mpsc, oneshot};

use super::state::RequestId;

/// Requests that wait to be shown.
const WAITING: usize = 256;

/// A request of a run.
#[derive(Debug)]
pub(super) enum Request {
    /// A gadget asks; `None` means no answer.
    Question(RequestId, String, oneshot::Sender<Option<String>>),
    /// A call needs approval.
    Approval(RequestId, Box<ApprovalRequest>, oneshot::Sender<Answer>),
    /// The answer is not needed any more.
    Withdrawn(RequestId),
}

/// Queue for the requests of runs. Clones share the queue.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    sender: mpsc::Sender<Request>,
    next: Arc<AtomicU64>,
}

impl Desk {
    /// A desk, and where its requests arrive.
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (sender, requests) = mpsc::channel(WAITING);
        let next = Arc::default();
        (Self { sender, next }, requests)
    }

    /// Puts a request, and waits for its answer; `None` without one. Dropping the future withdraws the request.
    async fn request<T>(
        &self,
        request: impl FnOnce(RequestId, oneshot::Sender<T>) -> Request,
    ) -> Option<T> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let withdrawal = Withdrawal(&self.sender, id);
        self.sender.send(request(id, sender)).await.ok()?;
        let answer = answer.await.ok();
        drop(withdrawal);
        answer
    }
}

struct Withdrawal<'a>(&'a mpsc::Sender<Request>, RequestId);

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        // If the queue is full, the dialog stays until the run ends, and its answer is not read.
        let _ = self.0.try_send(Request::Withdrawn(self.1));
    }
}

impl Approver for Desk {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let request = Box::new(request);
        let answer = self.request(|id, answer| Request::Approval(id, request, answer));
        Box::pin(async move { answer.await.unwrap_or(Answer::No(None)) })
    }
}

impl Human for Desk {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let request = self.request(|id, answer| Request::Question(id, question.text, answer));
        Box::pin(async move { request.await.flatten() })
    }
}
