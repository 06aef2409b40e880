//! JSON Schema validators, compiled once.
//!
//! `jsonschema` is generic over the representation of JSON, so the crate that builds a validator also compiles every
//! keyword of JSON Schema: more code than the rest of that crate. This crate is small and hides the generic functions, so
//! that neither the engine nor a program that uses it compiles them again. See `docs/performance.md` for what it saves.

use std::collections::HashSet;

use jsonschema::PatternOptions;
pub use jsonschema::{ValidationError, error, paths};
use regex::{Error, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

/// Bytes that the patterns of a schema may take when they are compiled: a few characters such as `(\w{255}){255}` are megabytes.
pub const PATTERNS: usize = 2 << 20;

/// Bytes of the cache of a pattern while it is matched.
const DFA: usize = 512 << 10;

/// The fewest bytes that a pattern counts as.
const SMALLEST: usize = 1 << 10;

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
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERNS)
                    .dfa_size_limit(DFA),
            )
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

    /// Returns `true` if `value` has no errors; cheaper than the first of [`errors`](Self::errors).
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
}

/// The bytes that a pattern takes when it is compiled, rounded up to a power of two, and more than [`PATTERNS`] if it is too large.
/// `None` if it cannot be used: it is invalid, or cannot be matched in linear time.
pub fn pattern_bytes(pattern: &str) -> Option<usize> {
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let mut limit = SMALLEST;
    while limit <= PATTERNS {
        match RegexBuilder::new(&pattern).size_limit(limit).build() {
            Ok(_) => return Some(limit),
            Err(Error::CompiledTooBig(_)) => limit *= 2,
            Err(_) => return None,
        }
    }
    Some(limit)
}

/// The characters that a pattern describes, with those of repetitions as often as these may be: 300 for `^[a-z]{1,300}$`, 1 for `\w+`.
/// `None` if it cannot be used.
///
/// While a text is matched, each of its bytes may be compared with all of them. So `[a-z]{10000}[0-9]`, a few bytes of a schema, takes 200
/// million steps for a text of 20 KB.
pub fn pattern_length(pattern: &str) -> Option<u64> {
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    regex_length(&pattern)
}

/// Returns the [length](pattern_length) of an expression in the syntax of the `regex` crate.
pub fn regex_length(expression: &str) -> Option<u64> {
    Some(length(&regex_syntax::parse(expression).ok()?))
}

/// The parser limits the levels.
fn length(part: &Hir) -> u64 {
    let sum = |parts: &[Hir]| parts.iter().map(length).fold(0, u64::saturating_add);
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            length(&repetition.sub).saturating_mul(times.into())
        }
        HirKind::Capture(capture) => length(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// The bytes that all patterns of a schema take when they are compiled, or some number above [`PATTERNS`]. Those that cannot be
/// used are not compiled.
pub fn patterns_bytes(schema: &Value) -> usize {
    let mut patterns = HashSet::new();
    collect(schema, &mut patterns);
    let mut bytes = 0;
    for pattern in patterns {
        bytes += pattern_bytes(pattern).unwrap_or(0);
        if bytes > PATTERNS {
            break;
        }
    }
    bytes
}

/// Collects whatever may be a pattern, wherever it is: a reference may make any value a schema.
fn collect<'v>(value: &'v Value, patterns: &mut HashSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect(it, patterns)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("pattern", Value::String(pattern)) => drop(patterns.insert(pattern)),
                    ("patternProperties", Value::Object(by_pattern)) => {
                        patterns.extend(by_pattern.keys().map(String::as_str));
                    }
                    _ => {}
                }
                collect(value, patterns);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PATTERNS, Validator, pattern_bytes, pattern_length, patterns_bytes};

    #[test]
    fn modules_are_in_order() {
        gadgetry_order::Order::of(env!("CARGO_MANIFEST_DIR")).check();
    }

    #[test]
    fn patterns_have_a_length() {
        let check = |pattern: &str, expected: Option<u64>| {
            assert_eq!(pattern_length(pattern), expected, "{pattern}");
        };
        check("", Some(0));
        check("^abc$", Some(3));
        check("\\w+", Some(1));
        check("^[a-z]{1,300}$", Some(300));
        check("[a-z]{10000}[0-9]", Some(10_001));
        check("([ab]c{3}){2,}|d?", Some(9));
        check("(((a{50}){50}){50}){50}", Some(6_250_000));
        check("(?=a)b", None);
        check("(", None);
    }

    #[test]
    fn patterns_have_a_size() {
        let check = |pattern: &str, fits: Option<bool>| {
            let bytes = pattern_bytes(pattern);
            assert_eq!(bytes.map(|it| it <= PATTERNS), fits, "{pattern} {bytes:?}");
            // What is counted is what is compiled.
            let schema = json!({"type": "string", "pattern": pattern});
            assert_eq!(
                Validator::new(&schema).is_ok(),
                fits == Some(true),
                "{pattern}"
            );
        };
        check("^[a-z]+$", Some(true));
        check(r"^[\w.-]{1,64}$", Some(true));
        check(r"^\p{L}{1,20}$", Some(true));
        check(r"^(\w{255}){255}$", Some(false));
        check(r"^(((\w{255}){255}){255}){255}$", Some(false));
        check("^(?!x)y", None);
        check(r"(x)\1", None);
        check("(", None);
    }

    #[test]
    fn all_patterns_count() {
        let two =
            json!({"properties": {"a": {"pattern": "ab*c"}}, "patternProperties": {"^x.*y": {}}});
        let each = ["ab*c", "^x.*y"].map(|it| pattern_bytes(it).unwrap_or(0));
        assert_eq!(patterns_bytes(&two), each.iter().sum::<usize>());
        let same = json!([{"pattern": "ab*c"}, {"const": {"pattern": "ab*c"}}]);
        assert_eq!(patterns_bytes(&same), pattern_bytes("ab*c").unwrap_or(0));
        let many: Vec<_> = (0..200)
            .map(|at| json!({"pattern": format!(r"^(\w{{100}}){{10}}{at}$")}))
            .collect();
        assert!(patterns_bytes(&json!({"anyOf": many})) > PATTERNS);
    }
}
