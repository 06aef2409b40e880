//! The words that problems are told in.

use serde_json::Value;

use crate::spec::schema::types::Types;
use crate::spec::schema::view::View;

/// Characters of a value that are shown.
const SHOWN: usize = 40;
/// Values of an `enum` that are listed.
const LISTED: usize = 20;

/// What a view wants, in words.
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

pub(super) fn show(value: &Value) -> String {
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

/// Somebody else's message, cut to a readable length.
pub(super) fn sentence(text: &str) -> String {
    cut(text, 4 * SHOWN)
}

pub(super) fn count(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
