//! Errors of writing a block.

use crate::error::{Classified, Fault};

/// Error for a call that cannot be written as a block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The name is empty, or holds `:`, a control character or whitespace at an end.
    Name(String),
    /// An id is empty, or holds `:`, a comma, a control character or whitespace at an end.
    Id(String),
    /// A dependency is there twice; a reader would keep only one.
    RepeatedDependency(String),
    /// The header holds a marker.
    HeaderMarker,
    /// The header is longer than any reader accepts.
    LongHeader {
        /// The cap, [`crate::limits::Limits::header`].
        limit: usize,
    },
    /// Parameters are a JSON object.
    NotAnObject,
    /// The parameters are nested more deeply than any reader accepts.
    TooDeep {
        /// The cap, [`crate::limits::Limits::depth`].
        limit: usize,
    },
    /// A marker is a part of the JSON that would have to be written, and not inside a string.
    Marker,
}

messages! {WriteError {
    Self::Name(inner) => "the gadget name {inner:?} is not allowed in a header";
    Self::Id(inner) => "the invocation id {inner:?} is not allowed in a header";
    Self::RepeatedDependency(inner) => "duplicate dependency {inner:?}";
    Self::HeaderMarker => "the name or an id contains a marker";
    Self::LongHeader { limit } => "the header may have at most {limit} bytes";
    Self::NotAnObject => "the parameters are not an object";
    Self::TooDeep { limit } => "the parameters may have at most {limit} levels of nesting";
    Self::Marker => "the parameters need JSON, and a marker looks like JSON syntax";
}}

impl Classified for WriteError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
