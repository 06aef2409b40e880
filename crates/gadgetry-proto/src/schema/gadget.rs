//! Specifications of gadgets: name, parameters, and the texts that answer a call that cannot run.

use std::fmt::Display;
use std::fmt::Write as _;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::schema::compiled::Problem;
use crate::schema::compiled::Schema;
use crate::schema::compiled::shown;

/// A gadget as its author describes it.
///
/// ```
/// use gadgetry_proto::schema::GadgetSpec;
///
/// let spec: GadgetSpec = serde_json::from_str(r#"{ "name": "Cook", "timeoutMs": 500 }"#)?;
/// assert_eq!(spec.parameters, serde_json::json!({ "type": "object" }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GadgetSpec {
    /// The name that a block calls it by. Lookup ignores case.
    pub name: String,
    /// The purpose of the gadget, for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its parameters.
    #[serde(default = "any_object")]
    pub parameters: Value,
    /// Calls that show how to use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Milliseconds after which a call is cancelled; 0 means never, `None` leaves it to the run. The next request waits
    /// until the driver says that the gadget has ended, which the one on tokio does after its grace period at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Calls of it that may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Whether no other gadget may run at the same time.
    #[serde(default)]
    pub exclusive: bool,
    /// Whether compaction keeps its results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sticky_result: bool,
    /// The treatment of a block that only the end of the reply completes; `None` leaves that to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unterminated: Option<Unterminated>,
    /// The treatment of a call that was running when the program ended.
    #[serde(default, skip_serializing_if = "OnInterrupt::is_fail")]
    pub on_interrupt: OnInterrupt,
}

/// The treatment of a gadget block without an end marker at the end of a reply that ended cleanly.
///
/// Such a block is complete by the format. But a proxy that loses the connection to a provider may report the stop
/// reason `stop`, so its last value may be cut; and a stop sequence may occur in a value.
///
/// ```
/// use gadgetry_proto::schema::Unterminated;
/// assert_eq!(Unterminated::default(), Unterminated::Execute);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unterminated {
    /// The call is executed if its parameters are valid.
    #[default]
    Execute,
    /// The call is not executed: the model reads a note to write it again, whole.
    Confirm,
}

/// The treatment of a call whose gadget was running when the program ended, once another process continues the run.
///
/// The gadget may have done its work, a part of it or nothing: only its author knows whether it may run again.
///
/// ```
/// use gadgetry_proto::schema::{GadgetSpec, OnInterrupt};
///
/// let spec: GadgetSpec = serde_json::from_str(r#"{ "name": "ReadFile", "onInterrupt": "rerun" }"#)?;
/// assert_eq!(spec.on_interrupt, OnInterrupt::Rerun);
/// assert_eq!(OnInterrupt::default(), OnInterrupt::Fail);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnInterrupt {
    /// The call fails: the model reads that it was interrupted and that its effect is unknown.
    #[default]
    Fail,
    /// The gadget is executed again: for gadgets that only read, or that recognise a repeated call by its idempotency key.
    Rerun,
    /// The user decides whether it is executed again. If no user is available, the call fails.
    Ask,
}

impl OnInterrupt {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_fail(&self) -> bool {
        *self == Self::Fail
    }
}

impl Default for GadgetSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            parameters: any_object(),
            examples: Vec::new(),
            timeout_ms: None,
            max_concurrent: None,
            exclusive: false,
            sticky_result: false,
            unterminated: None,
            on_interrupt: OnInterrupt::default(),
        }
    }
}

impl GadgetSpec {
    /// Returns `true` if a gadget can have this name.
    ///
    /// A name is written in the header of a block, so it is not empty, has no `:`, whitespace or control character, and does
    /// not begin with `!!!`.
    ///
    /// ```
    /// use gadgetry_proto::schema::GadgetSpec;
    /// assert!(GadgetSpec::is_valid_name("Fetch"));
    /// assert!(!GadgetSpec::is_valid_name("Fetch: users"));
    /// ```
    pub fn is_valid_name(name: &str) -> bool {
        let forbidden = |c: char| c == ':' || c.is_whitespace() || c.is_control();
        !name.is_empty() && !name.contains(forbidden) && !name.starts_with("!!!")
    }

    /// A gadget of this name that does this, and takes any parameters.
    ///
    /// ```
    /// use gadgetry_proto::schema::GadgetSpec;
    /// use serde_json::json;
    ///
    /// let spec = GadgetSpec::new("Echo", "Says it again")
    ///     .parameters(json!({ "type": "object", "properties": { "text": { "type": "string" } } }));
    /// assert_eq!(spec.name, "Echo");
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Sets the JSON Schema of the parameters.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }
}

fn any_object() -> Value {
    json!({ "type": "object" })
}

/// A call that shows how to use a gadget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Example {
    /// The parameters of the call.
    pub params: Value,
    /// The answer of the gadget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// A comment on the example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Example {
    /// A call with these parameters, which must make a JSON object. If they cannot be written in JSON, they become
    /// `null`, and the gadget is refused.
    ///
    /// ```
    /// use gadgetry_proto::schema::Example;
    /// use serde_json::json;
    ///
    /// let example = Example::new(json!({ "a": 15, "b": 23 })).output("38").comment("Add two numbers");
    /// assert_eq!(example.output.as_deref(), Some("38"));
    /// ```
    pub fn new(params: impl Serialize) -> Self {
        Self {
            params: serde_json::to_value(params).unwrap_or(Value::Null),
            ..Self::default()
        }
    }

    /// Adds what the gadget answers.
    #[must_use]
    pub fn output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Adds what the example is about.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
}

/// A gadget whose schema is compiled. [`crate::schema::Registry`] makes them.
#[derive(Clone, Debug)]
pub struct RegisteredGadget {
    spec: GadgetSpec,
    schema: Schema,
    /// The parameters that models are shown, if not all of `spec`.
    shown: Option<Value>,
}

impl RegisteredGadget {
    pub(super) fn new(spec: GadgetSpec, schema: Schema) -> Self {
        let shown = shown(&spec.parameters);
        Self {
            spec,
            schema,
            shown,
        }
    }

    /// Reads numbers as they were written into [`Call::digits`](crate::call::Call::digits), for callers that pass parameters on as
    /// JSON. Where the schema admits numbers only, an integer beyond 64 bits is the nearest float then, instead of an error. With the feature
    /// `engine`.
    #[cfg(feature = "engine")]
    #[must_use]
    pub fn keep_digits(mut self) -> Self {
        self.schema.keep_digits();
        self
    }

    /// The name as registered.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The description it was made from.
    pub fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    /// The schema of its parameters.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the JSON Schema that prompts and grammars are made from: that of [`GadgetSpec::parameters`], without optional properties
    /// that are `deprecated`. Calls may have those, too.
    ///
    /// Where an object has lost properties, as many of the others as its `minProperties` demands are required.
    pub fn shown_parameters(&self) -> &Value {
        self.shown.as_ref().unwrap_or(&self.spec.parameters)
    }

    /// [`Schema::check`], with the answer that the model reads as the error. With the feature `engine`.
    #[cfg(feature = "engine")]
    pub fn check(&self, parameters: Value) -> Result<Value, String> {
        let checked = self.schema.check(parameters);
        checked.map_err(|problems| invalid_parameters(self.name(), &problems))
    }
}

/// The answer to a call whose parameters are not valid.
pub fn invalid_parameters(gadget: &str, problems: &[Problem]) -> String {
    let mut text = format!("Error: Invalid parameters for '{gadget}':");
    for problem in problems {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  - {problem}");
    }
    text
}

/// The answer to a call whose block could not be read.
#[cfg(feature = "engine")]
pub(crate) fn parse_failure(gadget: &str, error: impl Display) -> String {
    let error = error.to_string().replace('\n', "\n  ");
    format!("Error: Failed to parse parameters for '{gadget}':\n  {error}")
}
