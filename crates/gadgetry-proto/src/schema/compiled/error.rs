//! Errors of schemas.

use crate::error::{Classified, Fault};

/// Error for an invalid schema; always a mistake in the definition of the gadget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is neither an object nor `true`.
    NotASchema,
    /// The schema admits no object, so no parameters.
    NotAnObject {
        /// The types that it admits.
        types: String,
    },
    /// Checking a value by it may take too long, or too much memory: its references multiply, it is nested too deeply, or its
    /// patterns are large.
    TooMuch,
    /// The schema breaks the rules of JSON Schema.
    Broken {
        /// JSON Pointer to the place in the schema.
        pointer: String,
        /// The mistake there.
        message: String,
    },
}

messages! {SchemaError {
    Self::NotASchema => "a schema must be a JSON object or `true`";
    Self::NotAnObject { types } => "parameters are an object, but the schema admits only: {types}";
    Self::TooMuch => "the schema is too complex: its references multiply, or are nested too deeply, or its patterns are too large";
    Self::Broken { pointer, message } => "invalid schema at #{pointer}: {message}";
}}

impl Classified for SchemaError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
