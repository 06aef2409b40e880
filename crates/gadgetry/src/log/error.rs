//! Errors of logs.

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::run::{Misuse, PlanError};
use gadgetry_proto::schema::RegistryError;

/// The format version; a log of another version is refused.
pub(super) const VERSION: u32 = 3;

/// Error of a log that cannot be written or played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Empty log.
    #[error("the log is empty")]
    Empty,
    /// A line does not belong in a log.
    #[error("line {line}: not a line of a gadgetry log: {problem}")]
    Line {
        /// Number of the line, one-based.
        line: usize,
        /// Mistake in the line, with its column.
        problem: String,
    },
    /// The log has another format version.
    #[error("the log has format version {0}; this gadgetry reads version {VERSION}")]
    Version(u32),
    /// The gadgets cannot be registered.
    #[error(transparent)]
    Gadgets(#[from] RegistryError),
    /// The configuration is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run contains code that decides about it, which no log can contain.
    #[error("a log cannot hold {0}, because it is code: the run could not be played again")]
    Code(String),
    /// An input that cannot follow the ones before it.
    #[error("line {line}: {error}")]
    Misuse {
        /// Number of the line, one-based.
        line: usize,
        /// Mistake in the input.
        error: Misuse,
    },
}

impl Classified for LogError {
    fn fault(&self) -> Fault {
        match self {
            Self::Io(_) => Fault::Environment,
            Self::Empty | Self::Line { .. } | Self::Version(_) | Self::Misuse { .. } => {
                Fault::Caller
            }
            Self::Gadgets(_) | Self::Plan(_) | Self::Code(_) => Fault::Program,
        }
    }
}
