//! Source of a value.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as it is named in messages.
    pub(crate) file: Arc<str>,
    /// One-based number of the line.
    pub(crate) line: usize,
    /// One-based column, in characters.
    pub(crate) column: usize,
}

impl Place {
    /// A mistake here.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> Error {
        Error::at(self, problem)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The file that a setting is from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user's file.
    User,
    /// The profile in use.
    Profile,
    /// The project's file.
    Project,
    /// The custom command in use.
    Command,
}

impl Origin {
    /// Returns its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Profile => "profile",
            Self::Project => "project",
            Self::Command => "command",
        }
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(Origin, Place),
    /// A variable of the environment.
    Variable(String),
    /// The session that is continued.
    Session,
    /// The command line.
    Flag,
    /// The program.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(Origin::Profile, place) => {
                write!(f, "{}:{} (profile)", place.file, place.line)
            }
            Self::File(_, place) => write!(f, "{}:{}", place.file, place.line),
            Self::Variable(name) => f.write_str(name),
            Self::Session => f.write_str("session"),
            Self::Flag => f.write_str("command line"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Source {
    /// Returns whether it was chosen for this invocation: typed, or said by the custom command that was typed.
    #[cfg(any(feature = "acp", feature = "chat"))]
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Flag | Self::File(Origin::Command, _))
    }

    /// The mistake that something here is wrong.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> Error {
        match self {
            Self::File(_, place) => place.error(problem),
            Self::Variable(name) => Error::at(name, problem),
            Self::Session | Self::Flag | Self::Default => Error::input(problem),
        }
    }
}
