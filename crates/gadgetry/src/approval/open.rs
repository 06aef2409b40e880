//! Approvals that are open: shown in the events of a run, and answered from outside.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::event::Approval;
use gadgetry_proto::id::ApprovalId;
use tokio::sync::{Mutex, oneshot};

use super::Answer;

/// Maximum number of kept ids of closed approvals, and of early answers.
const KEPT: usize = 256;

/// The open approvals of a run and its subagents.
#[derive(Default)]
pub(crate) struct OpenApprovals {
    state: StdMutex<State>,
    /// Held by the call whose approval is open, so that calls of a run are shown one after another.
    pub(super) turn: Arc<Mutex<()>>,
}

#[derive(Default)]
struct State {
    open: BTreeMap<ApprovalId, Open>,
    /// Answers of other processes that arrived before their questions, which are repeated after a process has died.
    early: VecDeque<(ApprovalId, Answer)>,
    closed: VecDeque<ApprovalId>,
}

struct Open {
    approval: Arc<Approval>,
    answer: oneshot::Sender<Answer>,
}

impl OpenApprovals {
    /// Opens an approval until the answer is dropped.
    pub(super) fn open(self: &Arc<Self>, approval: Arc<Approval>) -> OpenAnswer {
        let (answer, receiver) = oneshot::channel();
        let id = approval.id;
        let mut state = self.state();
        let early = state.early.iter().position(|(of, _)| *of == id);
        match early.and_then(|at| state.early.remove(at)) {
            // The receiver is in this function.
            Some((_, early)) => _ = answer.send(early),
            None => _ = state.open.insert(id, Open { approval, answer }),
        }
        OpenAnswer {
            id,
            receiver,
            approvals: Arc::clone(self),
        }
    }

    /// Answers an approval. [`Answer::Pending`] leaves it open.
    pub(crate) fn answer(&self, id: ApprovalId, answer: Answer) -> Result<(), NotAnswered> {
        let mut state = self.state();
        if !state.open.contains_key(&id) {
            return Err(if state.closed.contains(&id) {
                NotAnswered::Closed
            } else {
                NotAnswered::Unknown
            });
        }
        if answer == Answer::Pending {
            return Ok(());
        }
        let open = state.close(id);
        let sent = open.is_some_and(|open| open.answer.send(answer).is_ok());
        sent.then_some(()).ok_or(NotAnswered::Closed)
    }

    /// Takes an answer from another process, which may arrive before its question.
    pub(crate) fn answer_early(&self, id: ApprovalId, answer: Answer) {
        match self.answer(id, answer.clone()) {
            Ok(()) => {}
            Err(NotAnswered::Closed) => {
                tracing::warn!("approval {id} is closed; the answer from outside is ignored");
            }
            Err(NotAnswered::Unknown) => {
                let mut state = self.state();
                state.early.push_back((id, answer));
                if state.early.len() > KEPT {
                    state.early.pop_front();
                }
            }
        }
    }

    /// Closes an approval, if it is open.
    pub(crate) fn close(&self, id: ApprovalId) {
        self.state().close(id);
    }

    /// Returns the open approvals.
    pub(crate) fn list(&self) -> Vec<Arc<Approval>> {
        let state = self.state();
        let open = state.open.values();
        open.map(|open| Arc::clone(&open.approval)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self, id: ApprovalId) -> Option<Open> {
        let open = self.open.remove(&id)?;
        self.closed.push_back(id);
        if self.closed.len() > KEPT {
            self.closed.pop_front();
        }
        Some(open)
    }
}

impl fmt::Debug for OpenApprovals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.state().open.keys()).finish()
    }
}

/// The answer to an open approval. Dropping it withdraws the approval.
pub(super) struct OpenAnswer {
    id: ApprovalId,
    receiver: oneshot::Receiver<Answer>,
    approvals: Arc<OpenApprovals>,
}

impl OpenAnswer {
    /// Waits for the answer.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn wait(&mut self) -> Answer {
        match (&mut self.receiver).await {
            Ok(answer) => answer,
            // Another call has taken its id, which cannot be: it names the call.
            Err(_) => pending().await,
        }
    }
}

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        self.approvals.close(self.id);
    }
}

/// Error for an approval that could not be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnswered {
    /// The run has no approval with this id, and had none recently: a mistake of the caller.
    #[error("the run has no such approval; answer one of an event `approval_required`")]
    Unknown,
    /// The approval was already answered or withdrawn, or the call has changed.
    #[error("the approval is closed: it was answered before, or no longer matters")]
    Closed,
}

impl Classified for NotAnswered {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}
