//! Errors of the host, of serving, and of terminals.

use std::io;

use agent_client_protocol_schema::v1::{Error as Refusal, ErrorCode};
use gadgetry::proto::error::{Classified, Fault};

/// Error of a [`Host`](crate::Host) or a session, which the client reads.
///
/// ```
/// use gadgetry_acp::HostError;
/// let error = HostError::UnknownSession("calm-otter".to_owned());
/// assert_eq!(error.to_string(), "there is no session calm-otter");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// No session has this id.
    #[error("there is no session {0}")]
    UnknownSession(String),
    /// A key or a login is missing; the message says which.
    #[error("{0}")]
    AuthRequired(String),
    /// The client's request cannot be carried out; the message says why.
    #[error("{0}")]
    Invalid(String),
    /// The host has failed.
    #[error("{0}")]
    Failed(String),
}

impl Classified for HostError {
    fn fault(&self) -> Fault {
        match self {
            Self::UnknownSession(_) | Self::Invalid(_) => Fault::Caller,
            Self::AuthRequired(_) | Self::Failed(_) => Fault::Program,
        }
    }
}

impl From<HostError> for Refusal {
    fn from(error: HostError) -> Self {
        let code = match &error {
            HostError::UnknownSession(_) => ErrorCode::ResourceNotFound,
            HostError::AuthRequired(_) => ErrorCode::AuthRequired,
            HostError::Invalid(_) => ErrorCode::InvalidParams,
            HostError::Failed(_) => ErrorCode::InternalError,
        };
        refusal(code, error.to_string())
    }
}

/// An error response.
pub(crate) fn refusal(code: ErrorCode, message: impl Into<String>) -> Refusal {
    Refusal::new(code.into(), message)
}

/// Error of [`serve`](crate::serve): the connection to the client has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A message of the client could not be read.
    #[error("cannot read from the client: {0}")]
    Read(io::Error),
}

impl Classified for ServeError {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// The client has not run a command to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// The command has not run.
    #[error("the client has not started the command in a terminal")]
    NotStarted,
    /// The command may have run, and may still be running.
    #[error("the client does not say how the command ended in its terminal; it may have run")]
    Lost,
}

impl Classified for TerminalError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}
