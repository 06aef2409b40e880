//! The request of a model for a part of a stored text.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// The part of a stored text to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ViewRequest {
    /// The unit: lines or characters.
    pub mode: ViewMode,
    /// Filters for lines, applied in order, each to what the one before has left.
    pub patterns: Vec<Pattern>,
    /// The part to show: `100-` (first 100), `-25` (last 25) or `50-100`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// The unit that a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ViewMode {
    /// Whole lines.
    #[default]
    Line,
    /// Characters (Unicode scalar values), for text with very long lines.
    Character,
}

/// A filter for lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// The expression, in the syntax of the `regex` crate.
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
