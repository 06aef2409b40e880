//! The validators of a schema: of values, and of the keys that a pattern describes.

use std::collections::BTreeMap;

use gadgetry_validator::{PATTERNS, ValidationError, Validator, pattern_length, patterns_bytes};
use serde_json::{Map, Value, json};

use crate::schema::compiled::error::SchemaError;
use crate::schema::compiled::normal;

/// The validators of a schema.
pub(super) struct Validators {
    whole: Validator,
    /// Validators of keys, by pattern of `patternProperties`.
    patterns: BTreeMap<String, Validator>,
}

impl Validators {
    /// Compiles a schema in plain JSON Schema.
    pub(super) fn new(normal: &mut Value) -> Result<Self, SchemaError> {
        let whole = compile(normal)?;
        let mut patterns = BTreeMap::new();
        let mut broken = None;
        normal::visit(normal, &mut |node| {
            let by_pattern = node.get("patternProperties").and_then(Value::as_object);
            for pattern in by_pattern.into_iter().flat_map(Map::keys) {
                match compile(&json!({ "pattern": pattern })) {
                    Ok(validator) => drop(patterns.insert(pattern.clone(), validator)),
                    Err(error) => broken = Some(error),
                }
            }
        });
        broken.map_or(Ok(Self { whole, patterns }), Err)
    }

    pub(super) fn admit(&self, value: &Value) -> bool {
        self.whole.is_valid(value)
    }

    pub(super) fn errors<'a>(
        &'a self,
        value: &'a Value,
    ) -> impl Iterator<Item = ValidationError<'a>> {
        self.whole.errors(value)
    }

    /// Returns `true` if a key matches a pattern of `patternProperties`; `None` if the pattern is not known.
    pub(super) fn pattern_matches(&self, pattern: &str, key: &str) -> Option<bool> {
        let validator = self.patterns.get(pattern)?;
        Some(validator.is_valid(&Value::from(key)))
    }
}

/// Returns the lengths of the patterns in a part of a schema, for the costs of matching.
pub(super) fn pattern_lengths(node: &Map<String, Value>) -> impl Iterator<Item = (&str, u64)> {
    let pattern = node.get("pattern").and_then(Value::as_str);
    let by_pattern = node.get("patternProperties").and_then(Value::as_object);
    let keys = by_pattern.into_iter().flat_map(Map::keys);
    let all = pattern.into_iter().chain(keys.map(String::as_str));
    all.map(|pattern| (pattern, pattern_length(pattern).unwrap_or(0)))
}

/// Returns `true` if the patterns of a schema are too large to compile.
pub(super) fn has_large_patterns(schema: &Value) -> bool {
    patterns_bytes(schema) > PATTERNS
}

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    Validator::new(schema).map_err(|error| SchemaError::Broken {
        pointer: error.instance_path().as_str().to_owned(),
        message: error.to_string(),
    })
}
