//! Errors of servers, and what to do about them.

use std::io;
use std::time::Duration;

use gadgetry::proto::visible::{visible, visible_line};
use gadgetry::{Classified, Fault};

use super::lines::MESSAGE_LIMIT;

/// A server that cannot be used. The others are not affected.
///
/// Displays its name, what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("MCP server {server:?}: {error}")]
pub struct ServerFailure {
    /// The name of the server in the configuration.
    pub server: String,
    /// Problem with it.
    pub error: ConnectError,
}

impl Classified for ServerFailure {
    fn fault(&self) -> Fault {
        self.error.fault()
    }

    fn is_retryable(&self) -> bool {
        self.error.is_retryable()
    }
}

/// A tool that is not offered. The other tools of its server are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP server {server:?}, tool {tool:?}: {reason}")]
pub struct ToolWarning {
    /// The name of the server in the configuration.
    pub server: String,
    /// The name of the tool; empty if the whole list is meant.
    pub tool: String,
    /// Reason that the tool is not offered.
    pub reason: String,
}

impl Classified for ToolWarning {
    fn fault(&self) -> Fault {
        Fault::Provider
    }
}

/// Error of a connection to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An environment variable of the configuration is not set.
    #[error("the environment variable {0} is not set; set it, or write `${{{0}:-default}}`")]
    Variable(String),
    /// The URL cannot be used.
    #[error("`url` must be an address such as \"https://example.com/mcp\": {0}")]
    Url(String),
    /// A header cannot be sent.
    #[error("the header {0:?} has a name or a value that HTTP does not admit")]
    Header(String),
    /// The program cannot be started.
    #[error("cannot start {program:?}: {}", start_hint(error))]
    Start {
        /// The program.
        program: String,
        /// The cause.
        error: io::Error,
    },
    /// The time is over.
    #[error(
        "not ready after {limit:?}; increase `startup-timeout` if it needs longer{}",
        said(stderr)
    )]
    Timeout {
        /// The startup timeout.
        limit: Duration,
        /// The last lines of its stderr.
        stderr: String,
    },
    /// The server has closed the connection.
    #[error("it ended before it was ready{}", said(stderr))]
    Ended {
        /// The last lines of its stderr.
        stderr: String,
    },
    /// The server wants to know who the user is.
    #[error(
        "it requires authorization; log in to it, or set the header `Authorization` in `headers`"
    )]
    Unauthorized,
    /// The user's login cannot be used.
    #[error("the login cannot be used: {0}")]
    Login(String),
    /// The server has answered something else than the protocol says.
    #[error("{}{}", visible_line(message), said(stderr))]
    Protocol {
        /// Problem with it.
        message: String,
        /// The last lines of its stderr.
        stderr: String,
    },
    /// The server has ended too often.
    #[error(
        "it ended {times} times in a row and is not started again{}",
        said(stderr)
    )]
    GaveUp {
        /// Number of attempts.
        times: u32,
        /// The last lines of its stderr.
        stderr: String,
    },
    /// The servers were closed.
    #[error("the connection was closed")]
    Closed,
}

impl Classified for ConnectError {
    fn fault(&self) -> Fault {
        match self {
            Self::Variable(_)
            | Self::Url(_)
            | Self::Header(_)
            | Self::Unauthorized
            | Self::Login(_) => Fault::Program,
            Self::Start { .. } => Fault::Environment,
            Self::Timeout { .. }
            | Self::Ended { .. }
            | Self::Protocol { .. }
            | Self::GaveUp { .. }
            | Self::Closed => Fault::Provider,
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. } | Self::Ended { .. } | Self::Closed
        )
    }
}

/// Error of a call. Its text is what the model reads.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the server is not available: {0}")]
    Unavailable(ConnectError),
    #[error(
        "no answer after {0:?}; the call was cancelled. It may have had an effect. Increase `timeout` of the server if it needs longer"
    )]
    Timeout(Duration),
    #[error(
        "the server ended during the call, which may have had an effect and was not repeated{}",
        said(stderr)
    )]
    Ended { stderr: String },
    #[error(
        "the answer was lost: the connection was interrupted, or the answer has more than {} MiB. The call may have had an effect and was not repeated",
        MESSAGE_LIMIT >> 20
    )]
    Lost,
    #[error("{0}")]
    Refused(String),
    #[error("cannot send the call: {0}")]
    Transport(String),
    #[error("the server asked for input more than {0} times in one call")]
    TooManyRounds(usize),
    #[error("the server answered with something else than a result")]
    Unexpected,
    #[error("cancelled")]
    Cancelled,
}

impl From<ConnectError> for CallError {
    fn from(error: ConnectError) -> Self {
        Self::Unavailable(error)
    }
}

fn start_hint(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "there is no such program in PATH, or its folder or `cwd` does not exist".to_owned()
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "it is not an executable file (chmod +x)".to_owned()
    } else {
        error.to_string()
    }
}

fn said(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return String::new();
    }
    // Marked, so that no line of it looks like one of ours.
    let lines = visible(stderr);
    let lines = lines.lines().map(|line| format!("\n| {line}"));
    format!("; its stderr ends with:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::ConnectError;

    #[test]
    fn a_server_writes_no_line_of_its_own() {
        for (message, stderr, expected) in [
            (
                "no\nMCP server \"a\": fine",
                "",
                "no\\u{a}MCP server \"a\": fine",
            ),
            (
                "no",
                "one\nMCP server \"a\": fine\u{1b}[2J\n",
                "no; its stderr ends with:\n| one\n| MCP server \"a\": fine\\u{1b}[2J",
            ),
        ] {
            let error = ConnectError::Protocol {
                message: message.to_owned(),
                stderr: stderr.to_owned(),
            };
            assert_eq!(error.to_string(), expected);
        }
    }
}
