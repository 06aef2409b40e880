//! Parameters: checked against a schema, and read into a type.

use std::fmt;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::schema::{GadgetSpec, Problem, Schema, SchemaError, json_message};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// Error for parameters that a gadget refuses. Displays one problem per line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid parameters:{}", Lines(problems))]
pub struct InvalidParams {
    /// The problems, each with its pointer; never empty.
    pub problems: Vec<Problem>,
}

impl Classified for InvalidParams {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

/// Checks parameters against the schema of `spec`, and fills in defaults.
pub(super) fn checked(spec: &GadgetSpec, params: Value) -> Result<Value, InvalidParams> {
    let schema = match Schema::new(spec.parameters.clone()) {
        Ok(schema) => schema,
        Err(error) => return Err(broken(&error)),
    };
    schema
        .check(params)
        .map_err(|problems| InvalidParams { problems })
}

/// Does the same, and checks that serde can read the parameters into `P`.
pub(super) fn checked_as<P: DeserializeOwned>(
    spec: &GadgetSpec,
    params: Value,
) -> Result<Value, InvalidParams> {
    let params = checked(spec, params)?;
    match read::<P>(params.clone()) {
        Ok(_) => Ok(params),
        Err(problem) => Err(InvalidParams {
            problems: vec![problem],
        }),
    }
}

/// Reports an invalid schema: the fault of the gadget, not of the parameters. A toolbox would have refused it.
fn broken(error: &SchemaError) -> InvalidParams {
    let problem = Problem {
        pointer: "root".to_owned(),
        message: error.to_string(),
    };
    InvalidParams {
        problems: vec![problem],
    }
}

/// Reads parameters into a type. The problem has serde's message.
pub(crate) fn read<P: DeserializeOwned>(params: Value) -> Result<P, Problem> {
    serde_path_to_error::deserialize(params).map_err(|error| Problem {
        pointer: dotted(error.path()),
        // The value has no lines, so the position would be one inside a key.
        message: json_message(error.inner()),
    })
}

/// Formats a path as the problems of a schema do: `oven.racks.0`, or `root`.
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
