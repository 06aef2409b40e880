//! Stands in for `gadgetry_proto::spec` until that module is merged; the same names and fields.

use serde_json::{Value, json};

/// What a gadget is called, what it does, and how it may be started.
#[derive(Clone, Debug, PartialEq)]
pub struct GadgetSpec {
    /// The name that a model writes.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the parameters, an object schema.
    pub parameters: Value,
    /// How to call it, for the model.
    pub examples: Vec<Example>,
    /// How long a call may take.
    pub timeout_ms: Option<u64>,
    /// How many calls may run at once.
    pub max_concurrent: Option<u32>,
    /// Whether nothing else may run beside it.
    pub exclusive: bool,
}

impl Default for GadgetSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
            examples: Vec::new(),
            timeout_ms: None,
            max_concurrent: None,
            exclusive: false,
        }
    }
}

/// One call of a gadget, for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Its parameters.
    pub params: Value,
    /// What it would give.
    pub output: Option<String>,
    /// What it shows.
    pub comment: Option<String>,
}
