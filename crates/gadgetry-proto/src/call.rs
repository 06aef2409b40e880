//! A gadget call as the model wrote it, and its outcome.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Span;
use crate::id::InvocationId;
use crate::media::Media;

/// A gadget call: one block of a reply, read to its end.
///
/// In JSON it has `parameters` or `parseError`, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The name as written; the registry decides whether it exists.
    pub gadget_name: String,
    /// The id as written, or `gadget_N`.
    pub invocation_id: InvocationId,
    /// Ids that must be done first, in the order written, without repetition.
    pub dependencies: Vec<InvocationId>,
    /// The body between header and end, as written.
    pub parameters_raw: String,
    /// The parameters, or the text of a [`crate::error::ParseError`].
    #[serde(flatten)]
    pub parameters: Parameters,
    /// The end marker or other text that ended the block.
    pub terminated_by: TerminatedBy,
    /// The whole block in the reply, markers included.
    pub span: Span,
}

impl Call {
    /// Returns `true` if a parameter refers to the result of another call, as `${id}`. Only declared dependencies are put in.
    ///
    /// The value of such a parameter is not known before that call has ended, so it cannot be checked now.
    pub fn has_references(&self) -> bool {
        let Parameters::Parsed(parameters) = &self.parameters else {
            return false;
        };
        let is_any = |text: &str| reference(text).map(|_| ());
        !self.dependencies.is_empty() && find_text(parameters, &is_any).is_some()
    }
}

/// The inside of a text that as a whole is a reference: `id` or `id/pointer` of `${id}`.
pub(crate) fn reference(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}')
}

/// The first thing that `look` finds in the texts of a value.
pub(crate) fn find_text<T>(value: &Value, look: &impl Fn(&str) -> Option<T>) -> Option<T> {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().find_map(|item| find_text(item, look)),
        Value::Object(fields) => fields.values().find_map(|field| find_text(field, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The parameters in the body of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Parameters {
    /// A JSON object, coerced but not validated.
    #[serde(rename = "parameters")]
    Parsed(Value),
    /// The mistake of the model.
    #[serde(rename = "parseError")]
    Malformed(String),
}

/// The text, or end of text, that ended a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TerminatedBy {
    /// The end marker.
    EndMarker,
    /// The start marker of the next block.
    NextStart,
    /// The end of the reply. Whether the block is whole is not known.
    EndOfStream,
}

/// `dollars` as an amount: negative and non-finite numbers count as absent.
pub fn amount(dollars: f64) -> f64 {
    if dollars.is_finite() && dollars > 0.0 {
        dollars
    } else {
        0.0
    }
}

/// JSON writes non-finite numbers as `null`.
pub(crate) fn amount_or_null<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map_or(0.0, amount))
}

/// The outcome of a started gadget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The result text, or the error text; either is what the model reads.
    pub result: Result<String, String>,
    /// The cost of the gadget, in US dollars. Negative and non-finite amounts are refused by the run.
    #[serde(default, deserialize_with = "amount_or_null")]
    pub cost: f64,
    /// Whether the run ends once all other running calls are done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes_run: bool,
    /// A question to the user; the answer becomes the result in place of `result`, which applies if
    /// no user is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_human: Option<String>,
    /// Pictures, sounds and files that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

impl Outcome {
    /// A result that cost nothing.
    pub fn ok(result: impl Into<String>) -> Self {
        Self::new(Ok(result.into()))
    }

    /// A failure that cost nothing.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Err(message.into()))
    }

    fn new(result: Result<String, String>) -> Self {
        Self {
            result,
            cost: 0.0,
            completes_run: false,
            asks_human: None,
            media: Vec::new(),
        }
    }
}
