//! Wording of validation errors.

use gadgetry_validator::error::ValidationErrorKind as Kind;
use serde_json::Value;

use crate::schema::compiled::types::Types;
use crate::schema::compiled::view::View;

/// Characters of a value that are shown.
const SHOWN: usize = 40;
/// Values of an `enum` that are listed.
const LISTED: usize = 20;

/// Describes what a view admits.
pub(super) fn expected(view: &View<'_>) -> Option<String> {
    if let Some(options) = view.options() {
        let shown: Vec<String> = options
            .iter()
            .take(LISTED)
            .map(|option| show(option))
            .collect();
        let more = if options.len() > LISTED { ", …" } else { "" };
        let one_of = if options.len() > 1 { "one of " } else { "" };
        return Some(format!("{one_of}{}{more}", shown.join(", ")));
    }
    let types = view.intended()?;
    (types != Types::NONE).then(|| types.names())
}

/// Returns the demand of a bound, a count or another simple constraint.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum is not ours and not closed"
)]
pub(super) fn constraint(kind: &Kind, value: &Value) -> Option<String> {
    let asked = match kind {
        Kind::Minimum { limit } => format!("at least {limit}, got {}", show(value)),
        Kind::Maximum { limit } => format!("at most {limit}, got {}", show(value)),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}, got {}", show(value)),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}, got {}", show(value)),
        Kind::MultipleOf { multiple_of } => {
            format!("a multiple of {multiple_of}, got {}", show(value))
        }
        Kind::Format { format } => format!("a valid {format}, got {}", got(value)),
        Kind::MinLength { limit } => {
            let size = count(*limit, "character");
            return Some(format!("must have at least {size}, got {}", got(value)));
        }
        Kind::MaxLength { limit } => {
            let size = count(*limit, "character");
            return Some(format!("must have at most {size}, got {}", got(value)));
        }
        Kind::MinItems { limit } => {
            return Some(format!("must have at least {}", count(*limit, "item")));
        }
        Kind::MaxItems { limit } => {
            return Some(format!("must have at most {}", count(*limit, "item")));
        }
        Kind::MinProperties { limit } => {
            return Some(format!("must have at least {}", count(*limit, "key")));
        }
        Kind::MaxProperties { limit } => {
            return Some(format!("must have at most {}", count(*limit, "key")));
        }
        Kind::Pattern { pattern } => {
            return Some(format!(
                "must match the pattern {pattern}, got {}",
                got(value)
            ));
        }
        Kind::UniqueItems => return Some("items must differ from each other".to_owned()),
        Kind::FalseSchema => return Some("must not be given".to_owned()),
        Kind::OneOfMultipleValid { .. } => {
            return Some("is several of the admitted forms at once".to_owned());
        }
        _ => return None,
    };
    Some(format!("must be {asked}"))
}

/// A value and its type: `string "warm"`, `null`.
pub(super) fn got(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Number(_) => format!("number {}", show(value)),
        Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!("{} {}", Types::of(value).names(), show(value))
        }
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => Value::from(cut(text, SHOWN)).to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            cut(&value.to_string(), SHOWN)
        }
    }
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Truncates a message of the validator to a readable length.
pub(super) fn sentence(text: &str) -> String {
    cut(text, 4 * SHOWN)
}

fn count(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
