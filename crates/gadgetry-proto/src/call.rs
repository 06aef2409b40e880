//! A gadget call as the model wrote it, and its outcome.

use std::collections::BTreeMap;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// Numbers of the parameters as they were written, if [`RegisteredGadget::keep_digits`](crate::schema::RegisteredGadget::keep_digits)
    /// was called.
    #[serde(skip)]
    pub digits: Digits,
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

/// Numbers of parameters as they were written. It has those alone whose [`Value`] is another number.
///
/// ```
/// use gadgetry_proto::call::Digits;
/// use serde_json::{Value, json};
///
/// let text = r#"{"sum": 0.1000000000000000055, "few": 0.5}"#;
/// let value: Value = serde_json::from_str(text)?;
/// assert_eq!(value, json!({"sum": 0.1, "few": 0.5}));
/// let digits = Digits::of(text, &value)?;
/// let written = digits.json(&value);
/// assert!(written.contains(r#""sum":0.1000000000000000055"#) && written.contains(r#""few":0.5"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digits(pub(crate) DigitPlaces);

/// The places in an object or array that have such a number: by key, or index.
pub(crate) type DigitPlaces = BTreeMap<String, DigitPlace>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DigitPlace {
    /// A number, as JSON writes it.
    Number(String),
    Within(DigitPlaces),
}

impl Digits {
    /// Returns `true` if each number is what was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An estimate of the bytes in memory.
    pub fn bytes(&self) -> usize {
        bytes(&self.0)
    }

    /// Writes a value as JSON, with the digits that were written. A number that has changed since is written as it is.
    pub fn json(&self, value: &Value) -> String {
        if self.is_empty() {
            return value.to_string();
        }
        // Keys are strings, and what is raw is a number, so nothing fails.
        serde_json::to_string(&Written::Within(&self.0, value))
            .unwrap_or_else(|_| value.to_string())
    }
}

impl Digits {
    /// Writes the part of a value at a JSON pointer, as [`json`](Self::json) writes all of it. Returns `None` if nothing is there.
    pub fn part(&self, value: &Value, pointer: &str) -> Option<String> {
        let mut here = Written::Within(&self.0, value);
        for segment in pointer.split('/').skip(1) {
            let one = format!("/{segment}");
            here = match here {
                Written::Within(places, value) => {
                    let key = segment.replace("~1", "/").replace("~0", "~");
                    Written::child(places, &key, value.pointer(&one)?)
                }
                Written::Plain(value) => Written::Plain(value.pointer(&one)?),
                Written::Number(_) => return None,
            };
        }
        serde_json::to_string(&here).ok()
    }
}

impl Digits {
    /// Returns a value whose numbers are texts where they are not what was written: for calls that are shown to a model again, which are
    /// text in the end.
    ///
    /// ```
    /// use gadgetry_proto::call::Digits;
    /// use serde_json::json;
    ///
    /// let (value, digits) = Digits::read(r#"{"id": 12345678901234567890123, "page": 1}"#).expect("JSON");
    /// assert_eq!(digits.as_texts(value), json!({"id": "12345678901234567890123", "page": 1}));
    /// ```
    #[must_use]
    pub fn as_texts(&self, mut value: Value) -> Value {
        put_texts(&self.0, &mut value);
        value
    }
}

fn put_texts(places: &DigitPlaces, value: &mut Value) {
    for (key, place) in places {
        let child = match value {
            Value::Array(items) => key.parse().ok().and_then(|at: usize| items.get_mut(at)),
            Value::Object(fields) => fields.get_mut(key),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        match (place, child) {
            (DigitPlace::Within(places), Some(child)) => put_texts(places, child),
            (DigitPlace::Number(written), Some(child)) => *child = Value::from(written.as_str()),
            (_, None) => {}
        }
    }
}

fn bytes(places: &DigitPlaces) -> usize {
    const ENTRY: usize = 96;
    let sizes = places.iter().map(|(key, place)| {
        let below = match place {
            DigitPlace::Number(written) => written.len(),
            DigitPlace::Within(places) => bytes(places),
        };
        ENTRY + key.len() + below
    });
    sizes.sum()
}

/// A value that is written with its digits.
enum Written<'a> {
    Within(&'a DigitPlaces, &'a Value),
    Number(&'a str),
    Plain(&'a Value),
}

impl<'a> Written<'a> {
    fn child(places: &'a DigitPlaces, key: &str, value: &'a Value) -> Self {
        match places.get(key) {
            Some(DigitPlace::Within(places)) => Self::Within(places, value),
            // Only if the number is still the one that was read.
            Some(DigitPlace::Number(written))
                if value.is_f64() && written.parse().ok() == value.as_f64() =>
            {
                Self::Number(written)
            }
            Some(DigitPlace::Number(_)) | None => Self::Plain(value),
        }
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Within(places, Value::Array(items)) => {
                let items = items.iter().enumerate();
                serializer.collect_seq(
                    items.map(|(index, item)| Self::child(places, &index.to_string(), item)),
                )
            }
            Self::Within(places, Value::Object(fields)) => {
                let fields = fields.iter();
                serializer
                    .collect_map(fields.map(|(key, field)| (key, Self::child(places, key, field))))
            }
            Self::Number(written) => {
                let raw = RawValue::from_string((*written).to_owned());
                raw.map_err(S::Error::custom)?.serialize(serializer)
            }
            Self::Within(_, value) | Self::Plain(value) => value.serialize(serializer),
        }
    }
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
