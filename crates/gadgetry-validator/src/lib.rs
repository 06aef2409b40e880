//! JSON Schema validators, compiled once.
//!
//! `jsonschema` is generic over the representation of JSON, so the crate that builds a validator also compiles every
//! keyword of JSON Schema: more code than the rest of that crate. This crate is small and hides the generic functions, so
//! that neither the engine nor a program that uses it compiles them again. See `docs/performance.md` for what it saves.

use jsonschema::PatternOptions;
pub use jsonschema::{ValidationError, error, paths};
use serde_json::Value;

/// A compiled JSON Schema.
///
/// ```
/// use gadgetry_validator::Validator;
/// use serde_json::json;
///
/// let validator = Validator::new(&json!({"type": "integer"}))?;
/// assert!(validator.is_valid(&json!(1)));
/// assert_eq!(validator.errors(&json!("one")).count(), 1);
/// # Ok::<(), gadgetry_validator::ValidationError<'static>>(())
/// ```
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles `schema`, of the draft that its `$schema` names, or 2020-12.
    ///
    /// Formats are validated. No URL is fetched. Patterns run in linear time: schemas and values may come from strangers.
    ///
    /// # Errors
    ///
    /// `schema` breaks the rules of JSON Schema, or refers to a document that is not in it.
    pub fn new(schema: &Value) -> Result<Self, ValidationError<'static>> {
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .offline()
            .build(schema)
            .map(Self)
    }

    /// All errors of `value`, in the order of the schema's keywords.
    pub fn errors<'a>(
        &'a self,
        value: &'a Value,
    ) -> impl Iterator<Item = ValidationError<'a>> + use<'a> {
        self.0.iter_errors(value)
    }

    /// Whether `value` has no errors; cheaper than the first of [`errors`](Self::errors).
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
}
