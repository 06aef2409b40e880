//! A JSON Schema, compiled, and what it says about each place of the parameters.

mod core;
mod cost;
mod defaults;
mod error;
mod expand;
mod fits;
mod node;
mod normal;
mod patterns;
mod place;
mod problem;
#[cfg(feature = "engine")]
mod report;
mod shown;
mod targets;
pub(super) mod types;
#[cfg(feature = "engine")]
mod validators;
mod view;
mod walk;

#[cfg(test)]
#[cfg(feature = "engine")]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::json::depth;
use crate::schema::compiled::core::Core;
use crate::schema::compiled::targets::Targets;
#[cfg(feature = "engine")]
pub(crate) use defaults::WrongDefault;
pub use error::SchemaError;
pub(crate) use normal::normal as normalized;
pub use problem::Problem;
pub(crate) use shown::shown;
pub(crate) use types::Types;
pub(crate) use view::Container;
pub use view::View;

/// Levels of a schema; JSON that is read has no more than 128.
const DEPTH: usize = 256;

/// The JSON Schema of a gadget's parameters. Cloning shares it.
///
/// ```
/// use gadgetry_proto::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::new(json!({
///     "type": "object",
///     "properties": { "servings": { "type": "integer", "default": 2 } },
/// }))?;
/// let mut parameters = json!({});
/// schema.apply_defaults(&mut parameters);
/// assert_eq!(parameters, json!({ "servings": 2 }));
/// # Ok::<(), gadgetry_proto::schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<Compiled>,
    /// Whether [`Digits`](crate::call::Digits) are read with the parameters.
    keeps_digits: bool,
}

struct Compiled {
    /// The schema as given.
    source: Value,
    core: Core,
    /// Whether `default` occurs anywhere, if only as the name of a property.
    mentions_defaults: bool,
    /// Whether there are defaults, and each of them can be judged by itself.
    #[cfg(feature = "engine")]
    checkable_defaults: bool,
}

impl Schema {
    /// Compiles a schema. It must admit objects: parameters are one.
    ///
    /// Without the feature `engine`, the schema is only read for the types of values: nothing is validated, and
    /// `patternProperties` say nothing.
    ///
    /// The formats of the standard, such as `email` and `date-time`, are checked; unknown ones say nothing. References
    /// may point only into the schema itself. Patterns are matched in linear time, so look-around and
    /// back references are not supported.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        if !matches!(schema, Value::Object(_) | Value::Bool(true)) {
            return Err(SchemaError::NotASchema);
        }
        if depth(&schema) > DEPTH {
            return Err(SchemaError::TooMuch);
        }
        #[cfg(feature = "engine")]
        if validators::has_large_patterns(&schema) {
            return Err(SchemaError::TooMuch);
        }
        #[cfg_attr(
            not(feature = "engine"),
            expect(unused_mut, reason = "defaults are checked with validators")
        )]
        let mut normal = normal::normal(schema.clone());
        let targets = Targets::new(&normal);
        if !cost::is_finite(&normal, &targets) {
            return Err(SchemaError::TooMuch);
        }
        #[cfg(feature = "engine")]
        let checkable_defaults = has_checkable_defaults(&mut normal);
        let compiled = Arc::new(Compiled {
            mentions_defaults: mentions_defaults(&schema),
            source: schema,
            core: Core::new(normal, targets)?,
            #[cfg(feature = "engine")]
            checkable_defaults,
        });
        let schema = Self {
            compiled,
            keeps_digits: false,
        };
        let types = schema.root().types();
        if types.meets(Types::OBJECT) {
            Ok(schema)
        } else {
            Err(SchemaError::NotAnObject {
                types: types.names(),
            })
        }
    }

    /// The schema as it was given.
    pub fn value(&self) -> &Value {
        &self.compiled.source
    }

    /// Returns `true` if digits are read with the parameters.
    pub(super) fn keeps_digits(&self) -> bool {
        // The parser alone stays small without what reads them.
        cfg!(feature = "engine") && self.keeps_digits
    }

    /// Reads digits with the parameters.
    #[cfg(feature = "engine")]
    pub(super) fn keep_digits(&mut self) {
        self.keeps_digits = true;
    }

    /// Returns what the schema says about the parameters as a whole.
    pub fn root(&self) -> View<'_> {
        View::new(&self.compiled.core)
    }

    /// Puts the `default` of each absent property in its place, wherever its parent exists. A default that holds itself
    /// is put in once. Where defaults contain more others than can be put in, some are left out;
    /// `Schema::complete` reports that.
    pub fn apply_defaults(&self, parameters: &mut Value) {
        self.fill_in(parameters);
    }

    /// Returns `false` if the budget ended before all defaults were in.
    fn fill_in(&self, parameters: &mut Value) -> bool {
        !self.compiled.mentions_defaults || defaults::apply(&self.root(), parameters)
    }
}

/// Validation, with the feature `engine`.
#[cfg(feature = "engine")]
impl Schema {
    /// Lists the problems of parameters, in the order of the schema; empty for valid ones. Of more than a hundred
    /// problems, some are left out.
    ///
    /// A key that the schema does not declare is a problem only if the schema forbids it. Where something
    /// else is wrong, those at the root are listed too, since a missing parameter is often a misspelt one.
    ///
    /// ```
    /// use gadgetry_proto::schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(json!({
    ///     "type": "object",
    ///     "properties": { "servings": { "type": "integer", "minimum": 1 } },
    /// }))?;
    /// let problems = schema.validate(&json!({ "servings": 0 }));
    /// assert_eq!(problems[0].to_string(), "servings: must be at least 1, got 0");
    /// # Ok::<(), gadgetry_proto::schema::SchemaError>(())
    /// ```
    pub fn validate(&self, parameters: &Value) -> Vec<Problem> {
        report::problems(&self.compiled.core, parameters)
    }

    /// Keys of valid parameters that the schema neither declares nor forbids: probably slips.
    pub(crate) fn undeclared(&self, parameters: &Value) -> Vec<Problem> {
        report::undeclared(&self.compiled.core, parameters)
    }

    /// Puts the defaults in, and then lists what is wrong, as [`Schema::validate`] does.
    ///
    /// Both are done within a budget of steps that grows with the size of the parameters, whatever the schema, so that
    /// one call takes at most some tens of milliseconds per megabyte. What does not fit into it is a problem of its own.
    pub fn complete(&self, parameters: &mut Value) -> Vec<Problem> {
        if self.fill_in(parameters) {
            self.validate(parameters)
        } else {
            vec![Problem::of_all(cost::DEFAULTS)]
        }
    }

    /// The parameters with defaults filled in, or what is wrong with them. This is the one check of a call: what a run
    /// does before it executes a gadget. Parameters must be an object, even if the schema admits more.
    ///
    /// ```
    /// use gadgetry_proto::schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(json!({ "properties": { "n": { "type": "integer", "default": 1 } } }))?;
    /// assert_eq!(schema.check(json!({})), Ok(json!({ "n": 1 })));
    /// let problems = schema.check(json!({ "n": "x" })).unwrap_err();
    /// assert_eq!(problems[0].to_string(), "n: expected integer, got string \"x\"");
    /// # Ok::<(), gadgetry_proto::schema::SchemaError>(())
    /// ```
    pub fn check(&self, mut parameters: Value) -> Result<Value, Vec<Problem>> {
        let mut problems = self.complete(&mut parameters);
        if problems.is_empty() && !parameters.is_object() {
            problems.push(report::not_an_object(&parameters));
        }
        if problems.is_empty() {
            Ok(parameters)
        } else {
            Err(problems)
        }
    }

    /// A default of a property, at the root or in objects below it, that would be refused if it were written in a
    /// call. Schemas with conditions are not looked into, nor what is inside lists.
    pub(crate) fn wrong_default(&self) -> Option<WrongDefault> {
        let checkable = self.compiled.checkable_defaults;
        checkable
            .then(|| defaults::wrong(&self.compiled.core))
            .flatten()
    }
}

/// Reads every value, also those that no keyword leads to: a reference may.
fn mentions_defaults(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key == "default" || mentions_defaults(value)),
        Value::Array(items) => items.iter().any(mentions_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns `true` if there are defaults, and no conditions: a condition may mean another call than one of defaults alone.
#[cfg(feature = "engine")]
fn has_checkable_defaults(normal: &mut Value) -> bool {
    let (mut defaults, mut conditions) = (false, false);
    normal::visit(normal, &mut |node| {
        defaults |= node.contains_key("default");
        conditions |= node.contains_key("if");
    });
    defaults && !conditions
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema")
            .field(&self.compiled.source)
            .finish()
    }
}
