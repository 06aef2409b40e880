//! A schema in plain JSON Schema, with its validators: the part of a compiled schema that all others read.

use std::collections::BTreeMap;

use gadgetry_validator::{ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::schema::compiled::error::SchemaError;
use crate::schema::compiled::normal;
use crate::schema::compiled::targets::Targets;
use crate::schema::count;

/// A schema in plain JSON Schema, with its validators.
pub(super) struct Core {
    normal: Value,
    validator: Validator,
    /// Whether anything in it is a reference.
    refers: bool,
    targets: Targets,
    /// Number of its nodes.
    size: usize,
    /// Validators of keys, by pattern of `patternProperties`.
    patterns: BTreeMap<String, Validator>,
}

impl Core {
    /// Compiles a schema in plain JSON Schema, of which these are the targets.
    pub(super) fn new(mut normal: Value, targets: Targets) -> Result<Self, SchemaError> {
        let validator = compile(&normal)?;
        let mut patterns = BTreeMap::new();
        let (mut refers, mut broken) = (false, None);
        normal::visit(&mut normal, &mut |node| {
            refers |= ["$ref", "$dynamicRef", "$recursiveRef"]
                .iter()
                .any(|keyword| node.contains_key(*keyword));
            let by_pattern = node.get("patternProperties").and_then(Value::as_object);
            for pattern in by_pattern.into_iter().flat_map(Map::keys) {
                match compile(&json!({ "pattern": pattern })) {
                    Ok(validator) => drop(patterns.insert(pattern.clone(), validator)),
                    Err(error) => broken = Some(error),
                }
            }
        });
        match broken {
            Some(error) => Err(error),
            None => Ok(Self {
                size: count(&normal),
                normal,
                validator,
                refers,
                targets,
                patterns,
            }),
        }
    }

    pub(super) fn normal(&self) -> &Value {
        &self.normal
    }

    pub(super) fn admits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    pub(super) fn refers(&self) -> bool {
        self.refers
    }

    pub(super) fn targets(&self) -> &Targets {
        &self.targets
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn errors<'a>(
        &'a self,
        value: &'a Value,
    ) -> impl Iterator<Item = ValidationError<'a>> {
        self.validator.errors(value)
    }

    /// Returns `true` if a key matches a pattern of `patternProperties`; `None` if the pattern is not known.
    pub(super) fn pattern_matches(&self, pattern: &str, key: &str) -> Option<bool> {
        let validator = self.patterns.get(pattern)?;
        Some(validator.is_valid(&Value::from(key)))
    }
}

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    Validator::new(schema).map_err(|error| SchemaError::Broken {
        pointer: error.instance_path().as_str().to_owned(),
        message: error.to_string(),
    })
}
