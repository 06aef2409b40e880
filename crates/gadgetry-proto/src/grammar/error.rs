//! Why there is no grammar.

use crate::error::{Classified, Fault};

/// Error for tools that no grammar can be made of; the caller's mistake, or tools that are too many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// A call is demanded, but there are no tools.
    #[error("a call is demanded, but there are no tools; offer one, or do not demand a call")]
    NoTools,
    /// A call of a tool is demanded that is not offered.
    #[error("a call of {0:?} is demanded, but no tool has this name")]
    UnknownTool(String),
    /// A call is demanded, and the name of the only tool cannot be written in one.
    #[error("the name {0:?} cannot be written in a call; use letters, digits, `_` and `-`")]
    Name(String),
    /// A call is demanded, and no parameters satisfy the schema of the only tool.
    #[error("no parameters satisfy the schema of {0:?}; correct the schema")]
    Unsatisfiable(String),
    /// The text of the grammar is longer than the limit.
    #[error("the grammar of the tools is longer than {limit} bytes; offer fewer or simpler tools")]
    TooLarge {
        /// Bytes that it may have.
        limit: usize,
    },
}

impl Classified for GrammarError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
