//! Commands to a run from outside, and answers to its approvals.

use std::sync::Arc;

use gadgetry_proto::error::{Classified, Fault};
#[cfg(doc)]
use gadgetry_proto::event::FinishReason;
use gadgetry_proto::run::Command;
use tokio::sync::mpsc;

use crate::approval::{Answer, Approval, ApprovalId, NotAnswered, OpenApprovals};
use crate::context::CancellationToken;

/// Commands that wait for the run to be polled.
const WAITING: usize = 256;

/// Controls a run from outside, whether or not it is being polled. Does nothing once the run is over.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let run = gadgetry::Agent::builder().model(model).ask("What is 2+2?")?;
/// let handle = run.handle();
/// handle.cancel();
/// assert!(run.text().await.is_err());
/// assert!(handle.inject("Are you there?").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AgentHandle {
    sender: mpsc::Sender<Command>,
    cancellation: CancellationToken,
    approvals: Arc<OpenApprovals>,
}

impl AgentHandle {
    /// The handle of a run that `cancellation` cancels, and where its commands arrive.
    pub(super) fn new(
        cancellation: CancellationToken,
        approvals: Arc<OpenApprovals>,
    ) -> (Self, mpsc::Receiver<Command>) {
        let (sender, commands) = mpsc::channel(WAITING);
        let handle = Self {
            sender,
            cancellation,
            approvals,
        };
        (handle, commands)
    }
}

impl AgentHandle {
    /// Adds a user message to the next request. A run that is about to end continues with it.
    ///
    /// Fails if the run is over, or has not been polled for very long.
    pub fn inject(&self, text: impl Into<String>) -> Result<(), NotInjected> {
        self.send(Command::Inject(text.into()))
    }

    /// Takes back the latest message with this text that was [injected](Self::inject) and that the model has not read yet.
    /// Without such a message, nothing happens. An observer can see whether a message was read: that is so once an iteration has
    /// ended after its input.
    ///
    /// Fails as [`AgentHandle::inject`] does.
    pub fn retract(&self, text: impl Into<String>) -> Result<(), NotInjected> {
        self.send(Command::Retract(text.into()))
    }

    /// Compacts the conversation before the next request, whatever its length, as far as possible. Before the run was first
    /// polled, that is its first request. Without [compaction](crate::AgentBuilder::without_compaction) it does nothing.
    ///
    /// Fails as [`AgentHandle::inject`] does.
    pub fn compact(&self) -> Result<(), NotInjected> {
        self.send(Command::Compact)
    }

    /// Returns the open approvals of the run and its subagents, in the order of their ids.
    pub fn approvals(&self) -> Vec<Arc<Approval>> {
        self.approvals.list()
    }

    /// Answers an open approval of the run or its subagents: one of [`AgentHandle::approvals`], or of an event
    /// [`approval_required`](gadgetry_proto::event::EventKind::ApprovalRequired). [`Answer::Pending`] leaves it open.
    ///
    /// An id refers to exactly what was shown. If the call would now do something else, it is shown again with another id, and
    /// this answer has no effect. See [`Approvals::in_stream`](crate::approval::Approvals::in_stream) for an example.
    ///
    /// # Errors
    ///
    /// [`NotAnswered::Closed`] if the approval was answered or withdrawn, [`NotAnswered::Unknown`] if the run has no such approval.
    pub fn answer(&self, approval: ApprovalId, answer: Answer) -> Result<(), NotAnswered> {
        self.approvals.answer(approval, answer)
    }

    fn send(&self, command: Command) -> Result<(), NotInjected> {
        self.sender.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotInjected::TooMany,
            mpsc::error::TrySendError::Closed(_) => NotInjected::Over,
        })
    }

    /// Stops the run: gadgets are cancelled, every call is answered, and no more requests are sent. The run then ends with
    /// [`FinishReason::Cancelled`], when its gadgets have cleaned up; see [`AgentBuilder::grace`](crate::AgentBuilder::grace).
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }
}

/// Error for a command that could not be sent to a run.
///
/// ```
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// use gadgetry::NotInjected;
/// let run = gadgetry::Agent::builder().model(model).ask("What is 2+2?")?;
/// let handle = run.handle();
/// drop(run);
/// assert_eq!(handle.inject("Take your time."), Err(NotInjected::Over));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInjected {
    /// The run has ended, or was dropped.
    #[error("the run is over; ask the agent again to say more")]
    Over,
    /// Too many commands are waiting, because the run was not polled.
    #[error("{WAITING} commands are waiting already; poll the run before sending more")]
    TooMany,
}

impl Classified for NotInjected {
    fn fault(&self) -> Fault {
        Fault::Caller
    }

    fn is_retryable(&self) -> bool {
        *self == Self::TooMany
    }
}
