//! Errors: of model calls, in a block that a model wrote, and diagnostics about a reply. And whose fault an error is.
//!
//! Nothing that a model writes is an error of the program: a malformed block is data, carried by an event to the code
//! that answers the model.

mod fault;
mod model;

use serde::{Deserialize, Serialize};

use crate::limits::{Limit, LimitExceeded};

pub use fault::{Classified, Fault};
pub use model::{ModelError, ModelErrorKind, Overflow};

impl Classified for LimitExceeded {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

impl Classified for Limit {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

/// Error for a gadget block without parameters. Its text is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A duplicate pointer in a block.
    #[error("Duplicate pointer: {pointer}")]
    DuplicatePointer {
        /// The pointer as written.
        pointer: String,
    },
    /// A name that `serde_json` reads as something else, see [`RESERVED`](crate::json::RESERVED).
    #[error("Reserved name: {pointer}. Write another name")]
    ReservedName {
        /// The pointer as written.
        pointer: String,
    },
    /// An array element was left out.
    #[error("Array index gap: expected {expected}, got {got}")]
    ArrayIndexGap {
        /// The only index that could follow.
        expected: usize,
        /// The index as written; it may be larger than any integer.
        got: String,
    },
    /// A segment below an array is not an index.
    #[error("Invalid array index: {segment}")]
    InvalidArrayIndex {
        /// The segment as written.
        segment: String,
    },
    /// A pointer goes below a value that is text, or sets a value where an object or array already exists.
    #[error("Conflicting pointer: {pointer} ({conflict})")]
    ConflictingPointer {
        /// The pointer as written.
        pointer: String,
        /// The text or child that it conflicts with.
        conflict: PointerConflict,
    },
    /// The line of an argument marker holds more than a pointer.
    #[error(
        "Malformed argument line: {line}. Write only the name after {marker} and the value on the next line:\n{marker}{name}\n{value}"
    )]
    MalformedArgumentLine {
        /// The whole line as written, marker included, cut to a readable length.
        line: String,
        /// The argument marker in use.
        marker: String,
        /// The part that was probably meant as the name.
        name: String,
        /// The part that was probably meant as the value.
        value: String,
    },
    /// The body has text but no argument marker, and is not one JSON object.
    #[error(
        "No arguments found. Write each argument as a line {marker}name and its value on the next line"
    )]
    NoArguments {
        /// The argument marker in use.
        marker: String,
    },
    /// A pointer begins with a slash.
    #[error("Malformed argument line: {line}. A name has no leading slash; write {right}")]
    LeadingSlash {
        /// The whole line as written, marker included, cut to a readable length.
        line: String,
        /// The line without the slash.
        right: String,
    },
    /// The body has text but no argument marker, is probably meant as one JSON object, and cannot be read as one.
    #[error("The JSON body cannot be read: {0}")]
    JsonBody(JsonError),
    /// A value that has to be JSON cannot be read as such.
    #[error("The JSON value of {pointer} cannot be read: {error}")]
    JsonValue {
        /// The pointer as written.
        pointer: String,
        /// The mistake in the JSON.
        error: JsonError,
    },
    /// An integer has more digits than a number keeps.
    #[error("The value of {pointer} cannot be read: {error}")]
    DigitsLost {
        /// The pointer as written.
        pointer: String,
        /// The integer.
        error: DigitsLost,
    },
    /// The reply ended inside a marker line.
    #[error("The reply ended inside the argument line {line}")]
    CutArgumentLine {
        /// The part of the line that had arrived, marker included.
        line: String,
    },
    /// A cap of [`crate::limits::Limits`] was passed.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

impl Classified for ParseError {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

/// An integer beyond 64 bits where the schema admits numbers but no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "the digits of {digits} cannot be kept, since numbers have at most 64 bits. Write a smaller integer; for longer ones the gadget's schema has to admit a string"
)]
pub struct DigitsLost {
    /// The beginning of the integer as written.
    pub digits: String,
}

impl Classified for DigitsLost {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

impl DigitsLost {
    /// Characters that are shown.
    const SHOWN: usize = 40;

    pub(crate) fn new(written: &str) -> Self {
        let digits = match written.char_indices().nth(Self::SHOWN) {
            Some((end, _)) => format!("{}…", &written[..end]),
            None => written.to_owned(),
        };
        Self { digits }
    }
}

/// The position of a mistake in JSON, and the mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct JsonError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The mistake, in a few words.
    pub problem: String,
}

impl Classified for JsonError {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

/// The text or child that a pointer conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PointerConflict {
    /// The parent is already text, so it has no children.
    #[error("its parent already has a plain value")]
    ParentIsValue,
    /// Children were already set below this pointer.
    #[error("values were already set below it")]
    HasChildren,
}

impl Classified for PointerConflict {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

/// A half-open range of bytes of the reply, counted from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte; never less than `start`.
    pub end: u64,
}

/// A non-fatal problem or correction in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// The kind of the diagnostic; stable.
    pub code: DiagnosticCode,
    /// One sentence for a user or a model.
    pub message: String,
    /// The position in the reply.
    pub span: Span,
}

/// The kinds of [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// Text that looks like a marker but is not one; it was not executed.
    NearMiss,
    /// An argument or end marker outside any block; it is text.
    StrayMarker,
    /// A pair of code fences around all arguments was removed.
    FenceRemoved,
    /// Text between the header and the first argument marker was ignored.
    TextBeforeArguments,
    /// A body without argument markers was one JSON object and was taken as the parameters.
    JsonBody,
    /// A value was read although it was not written as the rules ask: it had one reading only.
    LenientValue,
    /// The reply ended inside an end marker; the fragment was dropped from the value.
    PartialMarker,
    /// A backslash before a marker at a line start was removed from the text. (In values it is the writer's.)
    EscapedMarker,
    /// The reply ended inside the header of a block; the start marker is text.
    CutHeader,
    /// A cap of [`crate::limits::Limits`] was passed.
    LimitExceeded,
    /// A picture, sound or file was not sent to the model; the message says why.
    MediaOmitted,
    /// The provider refused to complete the reply; the message has its words.
    Refusal,
    /// A closing tag of reasoning without an opening one; the text before it counts as reasoning.
    StrayReasoningEnd,
    /// A call arrived through the provider's own interface in a run whose model writes blocks; it counts as a block.
    NativeCall,
    /// A native call has the id of an earlier one of its reply; it was not executed.
    RepeatedCall,
    /// More was sent after the arguments of a native call; it was not executed.
    ExtraArguments,
    /// A call in the form of a dialect was not executed: the dialect is not enabled, or the call is quoted.
    ForeignCall,
    /// A call could not become valid any more: a parameter was repeated, or is not one. The reply was ended there.
    HopelessCall,
    /// The same lines, or the same words in a long line, were repeated without end. The reply was ended there.
    RepeatedLines,
    /// A parameter refers to a call that is not among the dependencies; it stayed text.
    UndeclaredReference,
}
