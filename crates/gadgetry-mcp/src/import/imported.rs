//! The servers of a list, as they are read.

use std::fmt;

use gadgetry::{Classified, Fault};

use crate::config::ServerConfig;

/// A program with a list of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// The editor Cursor.
    Cursor,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
        })
    }
}

/// The servers of a list, and what could not be taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The servers by name, in the order of the file.
    pub servers: Vec<(String, ServerConfig)>,
    /// Everything that is missing or different now.
    pub warnings: Vec<ImportWarning>,
}

/// Something that could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("server {server:?}: {reason}")]
pub struct ImportWarning {
    /// The name of the server.
    pub server: String,
    /// Problem, and what to do.
    pub reason: String,
}

impl Classified for ImportWarning {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl Imported {
    pub(super) fn warn(&mut self, server: &str, reason: impl Into<String>) {
        self.warnings.push(ImportWarning {
            server: server.to_owned(),
            reason: reason.into(),
        });
    }
}
