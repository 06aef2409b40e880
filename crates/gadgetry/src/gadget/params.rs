//! Parameters: checked against a schema, and read into a type.

use std::fmt;
use std::sync::Arc;

use gadgetry_proto::spec::{GadgetSpec, Problem, Schema, SchemaError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

#[cfg(feature = "commands")]
use crate::command::CommandGadget;
use crate::gadget::{DynGadget, FnGadget, Gadget};

/// Checks parameters as a run does before it executes a gadget, and gives them back with defaults filled in.
///
/// The gadget is a typed one, or any other that a toolbox takes. Of a typed one, serde is asked, too.
///
/// ```
/// use gadgetry::proto::{call::Outcome, spec::GadgetSpec};
/// use gadgetry::{from_fn, validate_gadget_params};
/// use serde_json::json;
///
/// let spec = GadgetSpec {
///     name: "Add".to_owned(),
///     parameters: json!({
///         "type": "object",
///         "properties": { "a": { "type": "number" }, "b": { "type": "number", "default": 0 } },
///         "required": ["a"],
///     }),
///     ..GadgetSpec::default()
/// };
/// let add = from_fn(spec, |_, _| async { Outcome::ok("") });
/// assert_eq!(validate_gadget_params(&add, json!({ "a": 5 })), Ok(json!({ "a": 5, "b": 0 })));
///
/// let refused = validate_gadget_params(&add, json!({ "a": "x" })).unwrap_err();
/// assert_eq!(refused.to_string(), "Invalid parameters:\n  - a: expected number, got string \"x\"");
/// ```
pub fn validate_gadget_params<G>(gadget: &G, params: Value) -> Result<Value, InvalidParams>
where
    G: ValidateParams + ?Sized,
{
    gadget.validate_params(params)
}

/// A gadget whose parameters can be checked without executing it. See [`validate_gadget_params`].
pub trait ValidateParams {
    /// Fills defaults in and checks.
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams>;
}

impl<G: Gadget> ValidateParams for G {
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams> {
        let params = checked(&self.info().into_spec::<G::Params>(), params)?;
        match read::<G::Params>(params.clone()) {
            Ok(_) => Ok(params),
            Err(problem) => Err(InvalidParams {
                problems: vec![problem],
            }),
        }
    }
}

impl ValidateParams for dyn DynGadget {
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams> {
        checked(self.spec(), params)
    }
}

impl ValidateParams for Arc<dyn DynGadget> {
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams> {
        checked(self.spec(), params)
    }
}

impl<F> ValidateParams for FnGadget<F>
where
    Self: DynGadget,
{
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams> {
        checked(self.spec(), params)
    }
}

#[cfg(feature = "commands")]
impl ValidateParams for CommandGadget {
    fn validate_params(&self, params: Value) -> Result<Value, InvalidParams> {
        checked(self.spec(), params)
    }
}

/// Parameters that a gadget refuses. Displays with one problem a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid parameters:{}", Lines(problems))]
pub struct InvalidParams {
    /// What is wrong, each with its place; never empty.
    pub problems: Vec<Problem>,
}

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

fn checked(spec: &GadgetSpec, params: Value) -> Result<Value, InvalidParams> {
    let schema = match Schema::new(spec.parameters.clone()) {
        Ok(schema) => schema,
        Err(error) => return Err(broken(&error)),
    };
    schema
        .check(params)
        .map_err(|problems| InvalidParams { problems })
}

/// The fault of the gadget, not of the parameters; a toolbox would not have taken it.
fn broken(error: &SchemaError) -> InvalidParams {
    let problem = Problem {
        pointer: "root".to_owned(),
        message: error.to_string(),
    };
    InvalidParams {
        problems: vec![problem],
    }
}

/// Reads parameters into a type. The problem is in the words of serde.
pub(crate) fn read<P: DeserializeOwned>(params: Value) -> Result<P, Problem> {
    serde_path_to_error::deserialize(params).map_err(|error| Problem {
        pointer: dotted(error.path()),
        message: words(error.inner()),
    })
}

/// What serde says, without a position, which could only be one inside a key.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// A path as the schema's problems have it: `oven.racks.0`, or `root`.
fn dotted(path: &Path) -> String {
    let segments: Vec<String> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { variant } => Some(variant.clone()),
            Segment::Unknown => None,
        })
        .collect();
    if segments.is_empty() {
        "root".to_owned()
    } else {
        segments.join(".")
    }
}
