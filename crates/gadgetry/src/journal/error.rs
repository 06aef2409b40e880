//! Errors of journals.

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::run::{LoadError, QuestionRef};

use crate::journal::{InvalidRunId, RunId};
use crate::log::LogError;

/// Error for a durable run that cannot be begun, resumed or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another owner has the run.
    #[error(
        "run {run} is in progress in another process ({owner}); wait for it, or end that process"
    )]
    Owned {
        /// The run.
        run: RunId,
        /// The owner.
        owner: String,
    },
    /// This process was presumed dead, and another one has taken over the run.
    #[error(
        "run {run} was taken up by another process, because this one did not respond; nothing was done twice"
    )]
    Lost {
        /// The run.
        run: RunId,
    },
    /// The name of the run is invalid.
    #[error(transparent)]
    Id(#[from] InvalidRunId),
    /// The journal has no such run.
    #[error("the journal has no run {0}")]
    Unknown(RunId),
    /// The run has no such question, or it was answered.
    #[error("run {run} has no open question {question} that admits this answer")]
    NoQuestion {
        /// The run.
        run: RunId,
        /// The question.
        question: QuestionRef,
    },
    /// The agent is not the one that began the run.
    #[error(
        "run {run} was begun by an agent that differs: {}; resume it with the agent that began it, or with force", .changes.join("; ")
    )]
    Changed {
        /// The run.
        run: RunId,
        /// Differences, as text.
        changes: Vec<String>,
    },
    /// Unreadable data.
    #[error("run {run} is damaged in {place}: {problem}; what can be read of it can be exported")]
    Damaged {
        /// The run.
        run: RunId,
        /// Location of the damage.
        place: String,
        /// Description of the damage.
        problem: String,
    },
    /// The journal has another format version.
    #[error(
        "{place} has format version {found}, and this gadgetry reads version {expected}; use a newer gadgetry"
    )]
    Version {
        /// File or database of that version.
        place: String,
        /// Version that was found.
        found: u32,
        /// The version that can be read.
        expected: u32,
    },
    /// A value is larger than the journal can keep.
    #[error(
        "{what} has {bytes} bytes, and the journal keeps at most {limit}; let the gadget store it elsewhere and return its place"
    )]
    TooLarge {
        /// Item that is too large.
        what: String,
        /// Size in bytes.
        bytes: u64,
        /// The largest possible size.
        limit: u64,
    },
    /// Invalid header of the run.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A checkpoint cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The storage failed.
    #[error("runs cannot be stored: {0}")]
    Storage(Box<dyn std::error::Error + Send + Sync>),
}

impl Classified for JournalError {
    fn fault(&self) -> Fault {
        match self {
            Self::Id(_) | Self::Unknown(_) | Self::NoQuestion { .. } => Fault::Caller,
            Self::Changed { .. } | Self::Version { .. } | Self::TooLarge { .. } | Self::Load(_) => {
                Fault::Program
            }
            Self::Log(error) => error.fault(),
            Self::Owned { .. } | Self::Lost { .. } | Self::Damaged { .. } | Self::Storage(_) => {
                Fault::Environment
            }
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Owned { .. } | Self::Lost { .. } | Self::Storage(_)
        )
    }
}

impl JournalError {
    /// Wraps a failure of the storage.
    pub fn storage(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Storage(error.into())
    }
}
