//! The journal of durable runs: every input is kept before its effects are carried out.
//!
//! A run is a value that inputs drive, so only its inputs need to be kept. The journal of a run is its [log](crate::log): a
//! [`LogHeader`] with the parts that the run was made from, then every input with its time. Resuming a run means replaying them,
//! and then driving on: [`Agent::durable`](crate::Agent::durable).
//!
//! A durability engine implements two traits. [`Journal`] opens a run: it begins the run, or returns its recorded part.
//! [`Recorder`] keeps the inputs of the run that was opened. The [driver](crate::driver) records each input before the run
//! handles it, and waits for [`Recorder::commit`] before it sends a request, starts a gadget, asks a question or reports the end.
//! [`MemoryJournal`] is the simplest engine; the crate `gadgetry-store` has one on SQLite.
//!
//! After a process has died, work is treated as follows:
//!
//! | work | treatment |
//! |---|---|
//! | a finished model call, gadget or decision | is read back, and never repeated |
//! | a gadget in flight | runs again, fails, or the user decides: [`OnInterrupt`](crate::OnInterrupt) |
//! | a model call in flight | is requested again; if a gadget has started because of it, the reply counts as cut off |
//! | a question in flight | is repeated |

mod changes;
mod error;
mod memory;
mod play;
mod recording;
mod run_id;

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Command, Decision, Input, Snapshot, Summary};

use gadgetry_proto::time::Time;
use gadgetry_proto::tree::CostTree;
use serde::{Deserialize, Serialize};

use crate::log::{Entry, LogHeader};

pub use changes::changes;
pub use error::JournalError;
#[doc(no_inline)]
pub use gadgetry_proto::run::{OpenQuestion, QuestionRef};
pub use memory::MemoryJournal;
pub use play::play;
pub(crate) use recording::Recording;
pub use run_id::{InvalidRunId, RunId};

/// Keeps runs. Cheap to share: all runs of a process use one journal.
///
/// See the [module](self) for the guarantees of an engine.
pub trait Journal: Send + Sync {
    /// Opens the run `id` and owns it from then on: returns its recorded part, or begins it with `header`.
    ///
    /// A run has one owner at a time. The owner loses the run when its [`Recorder`] is dropped or its process ends.
    ///
    /// # Errors
    ///
    /// [`JournalError::Owned`] if another owner has it, [`JournalError::Unknown`] if there is no such run and no `header`,
    /// and the errors of the storage.
    ///
    /// Cancel safety: dropping the future may leave a run that was begun, but has no owner.
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>>;

    /// Removes the run and its subagents, or does nothing if it is unknown.
    ///
    /// # Errors
    ///
    /// [`JournalError::Owned`] if another owner has it, and the errors of the storage.
    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>>;
}

/// A run and the journal that keeps it.
#[derive(Clone)]
pub struct DurableRun {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The name of the run in it.
    pub id: RunId,
}

impl fmt::Debug for DurableRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableRun")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        (**self).open(id, header)
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        (**self).forget(id)
    }
}

/// Keeps the inputs of one run, in order.
///
/// Dropping it releases the run, so that another owner can open it; entries that were recorded but not committed may be lost.
pub trait Recorder: Send {
    /// Records the next input, which the run handles right after this. Does not wait.
    fn record(&mut self, time: Time, input: &Input);

    /// Notes that the last recorded input came from this message of the [inbox](Opened::inbox), which must not be delivered
    /// again.
    fn took(&mut self, message: u64);

    /// Notes the progress of the run; the latest one counts. It is kept with the next commit.
    fn progress(&mut self, progress: RunProgress);

    /// Starts to persist everything that was recorded so far. The future waits until that is done.
    ///
    /// # Errors
    ///
    /// If a recorded entry could not be kept. Then no later entry can be kept either.
    ///
    /// Cancel safety: the work continues without the future.
    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>>;

    /// Returns whether enough was recorded since the last checkpoint to justify a new one.
    fn wants_checkpoint(&self) -> bool {
        false
    }

    /// Keeps the state of the run after everything that was recorded so far.
    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        let _ = checkpoint;
    }
}

/// Safety of recorded entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Survives the end of the process.
    Written,
    /// Survives the end of the machine, such as a power failure.
    Synced,
}

/// A run that was opened.
#[non_exhaustive]
pub struct Opened {
    /// Header of the run when it began.
    pub header: LogHeader,
    /// The latest checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// The inputs since then, or since the beginning.
    pub entries: Vec<Entry>,
    /// Keeps the inputs that follow.
    pub recorder: Box<dyn Recorder>,
    /// Answers and commands from outside, those that arrived before the run was opened first. It ends when another owner has
    /// taken over the run, and then the run stops.
    pub inbox: BoxStream<'static, RunMessage>,
}

impl Opened {
    /// Makes a run that has just begun, without answers from outside.
    pub fn new(header: LogHeader, recorder: Box<dyn Recorder>) -> Self {
        Self {
            header,
            checkpoint: None,
            entries: Vec::new(),
            recorder,
            inbox: Box::pin(futures_util::stream::pending()),
        }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("header", &self.header)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// The state of a run at some point, so that earlier entries need not be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The run.
    pub run: Snapshot,
    /// Costs until then.
    pub costs: CostTree,
}

/// A message to a run from outside of its process.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMessage {
    /// Number for [`Recorder::took`].
    pub id: u64,
    /// Content of the message.
    pub content: RunMessageContent,
}

/// Content of a message to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RunMessageContent {
    /// The answer to a question. An answer to a question that is not open is ignored.
    Answer {
        /// The question.
        question: QuestionRef,
        /// The answer. For a gadget's own question [`Decision::Result`], or [`Decision::Proceed`] for none.
        decision: Decision,
    },
    /// A command.
    Command(Command),
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunProgress {
    /// Model replies so far.
    pub iterations: u32,
    /// Known cost so far, in US dollars, without gadgets that are running.
    pub known_cost: f64,
    /// The gadgets that are running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gadgets: Vec<CallId>,
    /// The questions that wait for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// True if the run waits only for the answers to these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_waiting: bool,
    /// Summary of the run, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}
