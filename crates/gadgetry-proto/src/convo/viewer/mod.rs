//! The gadget that reads results which were too long for the conversation.
//!
//! Everything here is a function of the stored text and the request. Mistakes of the model come back as text that
//! begins with `Error:`.

mod character;
mod line;
mod range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value, json};

use crate::schema::GadgetSpec;

/// The gadget's name.
pub const NAME: &str = "GadgetOutputViewer";

/// What the gadget does, for the catalog.
const DESCRIPTION: &str = "Reads a long output of an earlier call. Patterns filter its lines one after the other; the limit \
then takes some of them.";

/// What to show of a stored text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ViewRequest {
    /// Lines or characters.
    pub mode: ViewMode,
    /// Filters for lines, applied in order, each to what the one before has left.
    pub patterns: Vec<Pattern>,
    /// The part to show: `100-` (first 100), `-25` (last 25) or `50-100`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ViewMode {
    /// Lines.
    #[default]
    Line,
    /// Characters (Unicode scalar values), for text with very long lines.
    Character,
}

/// A filter for lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// In the syntax of the `regex` crate.
    pub regex: String,
    /// Whether matching lines are kept; otherwise they are removed.
    #[serde(default = "yes")]
    pub include: bool,
    /// Lines before a match that are kept with it.
    #[serde(default, deserialize_with = "lines")]
    pub before: u32,
    /// Lines after a match that are kept with it.
    #[serde(default, deserialize_with = "lines")]
    pub after: u32,
}

fn yes() -> bool {
    true
}

/// A number of lines. More than there can be are all of them.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = Number::deserialize(deserializer)?;
    if let Some(lines) = number.as_u64() {
        return Ok(u32::try_from(lines).unwrap_or(u32::MAX));
    }
    match number.as_f64() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and not below 0, and a float to integer cast saturates"
        )]
        Some(lines) if lines >= 0.0 && lines.fract() == 0.0 => Ok(lines as u32),
        Some(_) | None => Err(D::Error::custom(format_args!(
            "{number} is not a valid number of lines"
        ))),
    }
}

/// The part of `content` that `request` asks for, at most `max_chars` characters of it, below a line or two that say
/// what is shown and how to continue.
///
/// ```
/// use gadgetry_proto::convo::viewer::{ViewRequest, view};
/// let request = ViewRequest { limit: Some("-1".to_owned()), ..ViewRequest::default() };
/// assert_eq!(view("a\nb", &request, 1_000), "[Mode: line | Showing 1 of 2 lines]\nb");
/// ```
pub fn view(content: &str, request: &ViewRequest, max_chars: usize) -> String {
    let shown = match request.mode {
        ViewMode::Line => line::view(content, request, max_chars),
        ViewMode::Character => character::view(content, request, max_chars),
    };
    shown.unwrap_or_else(|error| format!("Error: {error}"))
}

/// The gadget for the registry. Its parameters are an id and the fields of [`ViewRequest`].
pub fn spec() -> GadgetSpec {
    GadgetSpec {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: parameters(),
        ..GadgetSpec::default()
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "mode": {
                "enum": ["line", "character"],
                "default": "line"
            },
            "patterns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "regex": {
                            "type": "string",
                            "description": "without look-around"
                        },
                        "include": {
                            "type": "boolean",
                            "default": true,
                            "description": "false removes matching lines"
                        },
                        "before": {
                            "type": "integer",
                            "minimum": 0,
                            "default": 0
                        },
                        "after": {
                            "type": "integer",
                            "minimum": 0,
                            "default": 0
                        },
                    },
                    "required": ["regex"]
                }
            },
            "limit": {
                "type": "string",
                "description": "\"100-\" first, \"-25\" last, \"50-100\""
            },
        },
        "required": ["id"]
    })
}
