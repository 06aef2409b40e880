//! Errors of writing a block.

use crate::error::{Classified, Fault};

/// Error for a call that cannot be written as a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The name is empty, or holds `:`, a control character or whitespace at an end.
    #[error("the gadget name {0:?} is not allowed in a header")]
    Name(String),
    /// An id is empty, or holds `:`, a comma, a control character or whitespace at an end.
    #[error("the invocation id {0:?} is not allowed in a header")]
    Id(String),
    /// A dependency is there twice; a reader would keep only one.
    #[error("duplicate dependency {0:?}")]
    RepeatedDependency(String),
    /// The header holds a marker.
    #[error("the name or an id contains a marker")]
    HeaderMarker,
    /// The header is longer than any reader accepts.
    #[error("the header may have at most {limit} bytes")]
    LongHeader {
        /// The cap, [`crate::limits::Limits::header`].
        limit: usize,
    },
    /// Parameters are a JSON object.
    #[error("the parameters are not an object")]
    NotAnObject,
    /// The parameters are nested more deeply than any reader accepts.
    #[error("the parameters may have at most {limit} levels of nesting")]
    TooDeep {
        /// The cap, [`crate::limits::Limits::depth`].
        limit: usize,
    },
    /// A marker is a part of the JSON that would have to be written, and not inside a string.
    #[error("the parameters need JSON, and a marker looks like JSON syntax")]
    Marker,
}

impl Classified for WriteError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
