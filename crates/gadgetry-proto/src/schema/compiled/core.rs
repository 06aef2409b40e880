//! A schema in plain JSON Schema, with its validators: the part of a compiled schema that all others read.

use serde_json::Value;

use crate::schema::compiled::error::SchemaError;
use crate::schema::compiled::normal;
use crate::schema::compiled::patterns::Patterns;
use crate::schema::compiled::targets::Targets;
#[cfg(feature = "engine")]
use crate::schema::compiled::validators::{Validators, pattern_lengths};
use crate::schema::count;

/// A schema in plain JSON Schema, with its validators.
pub(super) struct Core {
    normal: Value,
    #[cfg(feature = "engine")]
    validators: Validators,
    /// Whether anything in it is a reference.
    refers: bool,
    targets: Targets,
    /// Number of its nodes.
    size: usize,
    patterns: Patterns,
}

impl Core {
    /// Compiles a schema in plain JSON Schema, of which these are the targets.
    #[cfg_attr(
        not(feature = "engine"),
        expect(clippy::unnecessary_wraps, reason = "only validators refuse a schema")
    )]
    pub(super) fn new(mut normal: Value, targets: Targets) -> Result<Self, SchemaError> {
        #[cfg(feature = "engine")]
        let validators = Validators::new(&mut normal)?;
        let mut refers = false;
        #[cfg_attr(
            not(feature = "engine"),
            expect(unused_mut, reason = "as with validators")
        )]
        let mut patterns = Patterns::default();
        normal::visit(&mut normal, &mut |node| {
            #[cfg(feature = "engine")]
            for (pattern, length) in pattern_lengths(node) {
                patterns.add(pattern, length);
            }
            refers |= ["$ref", "$dynamicRef", "$recursiveRef"]
                .iter()
                .any(|keyword| node.contains_key(*keyword));
        });
        Ok(Self {
            size: count(&normal),
            normal,
            #[cfg(feature = "engine")]
            validators,
            refers,
            targets,
            patterns,
        })
    }

    pub(super) fn normal(&self) -> &Value {
        &self.normal
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

    pub(super) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    #[cfg(feature = "engine")]
    pub(super) fn validators(&self) -> &Validators {
        &self.validators
    }

    /// Returns `true` if a key matches a pattern of `patternProperties`; `None` if the pattern is not known, or the key too long for it.
    #[cfg(feature = "engine")]
    pub(super) fn pattern_matches(&self, pattern: &str, key: &str) -> Option<bool> {
        if self.patterns.is_too_long(key, pattern) {
            return None;
        }
        self.validators.pattern_matches(pattern, key)
    }

    /// Without validators, no pattern is known.
    #[cfg(not(feature = "engine"))]
    #[expect(clippy::unused_self, reason = "as with validators")]
    pub(super) fn pattern_matches(&self, _pattern: &str, _key: &str) -> Option<bool> {
        None
    }
}
