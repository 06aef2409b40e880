//! Errors of schemas.

use crate::error::{Classified, Fault};

/// Error for an invalid schema; always a mistake in the definition of the gadget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is neither an object nor `true`.
    #[error("a schema must be a JSON object or `true`")]
    NotASchema,
    /// The schema admits no object, so no parameters.
    #[error("parameters are an object, but the schema admits only: {types}")]
    NotAnObject {
        /// The types that it admits.
        types: String,
    },
    /// Checking a value by it may take too long, or too much memory: its references multiply, it is nested too deeply, or its
    /// patterns are large.
    #[error(
        "the schema is too complex: its references multiply, or are nested too deeply, or its patterns are too large"
    )]
    TooMuch,
    /// The schema breaks the rules of JSON Schema.
    #[error("invalid schema at #{pointer}: {message}")]
    Broken {
        /// JSON Pointer to the place in the schema.
        pointer: String,
        /// The mistake there.
        message: String,
    },
}

impl Classified for SchemaError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
