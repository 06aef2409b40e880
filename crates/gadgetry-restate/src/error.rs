//! Errors of workers and clients, and whose fault they are.

use gadgetry::{Classified, Fault};

/// Error of a worker that cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// An invalid URL.
    #[error("{what} {url:?} is not a URL such as http://127.0.0.1:8080: {problem}")]
    Url {
        /// Name of the URL.
        what: &'static str,
        /// As it was given.
        url: String,
        /// Problem with the URL.
        problem: String,
    },
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on: {error}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        error: std::io::Error,
    },
    /// No one else could reach the worker at this address.
    #[error(
        "a worker that listens on all addresses does not know its own; say under which URL Restate reaches it (advertise)"
    )]
    NoAddress,
    /// Gadgets whose calls need approval cannot be spread: the service that executes them takes calls from every client of the
    /// ingress.
    #[error(
        "gadget {0} cannot be spread: its calls need approval, and a call by Restate has none; it runs where its run is driven"
    )]
    NeedsApproval(String),
    /// The key that Restate signs its requests with.
    #[error("the identity key of Restate is invalid: {0}")]
    IdentityKey(String),
    /// Restate does not take the worker.
    #[error("Restate at {admin} does not take this worker at {worker}: {error}")]
    Register {
        /// The address of Restate's admin interface.
        admin: String,
        /// The address of the worker.
        worker: String,
        /// The cause.
        error: RestateError,
    },
}

impl Classified for WorkerError {
    fn fault(&self) -> Fault {
        match self {
            Self::Url { .. } | Self::NoAddress | Self::NeedsApproval(_) | Self::IdentityKey(_) => {
                Fault::Program
            }
            Self::Listen { .. } => Fault::Environment,
            Self::Register { error, .. } => error.fault(),
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Register { error, .. } if error.is_retryable())
    }
}

/// Error of a request to Restate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestateError {
    /// An invalid URL.
    #[error("{url:?} is not a URL such as http://127.0.0.1:8080: {problem}")]
    Url {
        /// As it was given.
        url: String,
        /// Problem with the URL.
        problem: String,
    },
    /// No answer.
    #[error("Restate at {url} cannot be reached: {problem}")]
    Unreachable {
        /// URL of Restate, or of a worker.
        url: String,
        /// The problem.
        problem: String,
    },
    /// The server refused the request.
    #[error("{message} (status {code})")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// The server's words, or those of the run.
        message: String,
    },
    /// An answer that makes no sense, such as that of another server.
    #[error("the answer of Restate cannot be read: {0}")]
    Answer(String),
    /// There is no such run.
    #[error("there is no run {0}; it was never submitted, or its result is no longer stored")]
    Unknown(String),
}

impl Classified for RestateError {
    fn fault(&self) -> Fault {
        match self {
            Self::Url { .. } => Fault::Program,
            Self::Unknown(_) => Fault::Caller,
            Self::Unreachable { .. } | Self::Refused { .. } | Self::Answer(_) => Fault::Provider,
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}
