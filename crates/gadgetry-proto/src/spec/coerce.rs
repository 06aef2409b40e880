//! What a value text means.
//!
//! Without a schema, `true` and `false` are booleans, a text that is exactly a JSON integer or decimal is a number, and
//! everything else is text. With one, the schema decides. Where it admits several types, the first reading that fits
//! counts, the most exact one first:
//!
//! 1. a text that `enum` or `const` lists;
//! 2. `null`, `true`, `false` and plain numbers, where those are admitted;
//! 3. JSON that is an array or an object, where that is admitted;
//! 4. the text itself, where strings are admitted;
//! 5. other spellings of a number: `1e5`, `+4`, `.5`, `0x1F`.
//!
//! So `0042` under "string or number" stays text and `42` is a number, in whatever order the schema lists the types.
//! A text of several lines is never a number or boolean. A text that fits nothing stays text, and validation says what
//! was expected.

use serde_json::Number;
use serde_json::Value;

use crate::spec::schema::Schema;
use crate::spec::schema::Types;
use crate::spec::schema::View;

/// Reads one value text at a place of the parameters.
///
/// ```
/// use gadgetry_proto::spec::{Schema, coerce};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({ "properties": { "zip": { "type": "string" } } }))?;
/// assert_eq!(coerce("90210", Some(&schema.root().property("zip"))), json!("90210"));
/// assert_eq!(coerce("90210", None), json!(90210));
/// # Ok::<(), gadgetry_proto::spec::SchemaError>(())
/// ```
pub fn coerce(text: &str, place: Option<&View<'_>>) -> Value {
    let read = place.map_or_else(|| plain(text), |view| typed(text, view));
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Reads the strings of parameters that were written as JSON: one that stands where only numbers or booleans are
/// admitted, and reads as one, becomes one. Everything else keeps its type.
pub fn coerce_json(mut value: Value, schema: Option<&Schema>) -> Value {
    if let Some(schema) = schema {
        mend(&mut value, &schema.root());
    }
    value
}

/// The reading without a schema; `None` if it is the text itself.
fn plain(text: &str) -> Option<Value> {
    let first = text.as_bytes().first()?;
    if first.is_ascii_alphabetic() && !matches!(first, b't' | b'f') {
        return None;
    }
    let word = text.trim();
    let value = match word.as_bytes().first()? {
        b't' | b'f' => boolean(word)?,
        b'-' | b'0'..=b'9' => plain_number(word)?,
        _ => return None,
    };
    (word.len() == text.len() || !text.contains('\n')).then_some(value)
}

/// The reading under a schema; `None` if it is the text itself.
fn typed(text: &str, view: &View<'_>) -> Option<Value> {
    if view.lists(text) {
        return None;
    }
    let word = text.trim();
    let one_line = !text.contains('\n');
    let Some(types) = view.intended() else {
        return plain(text).or_else(|| if one_line { quoted(word) } else { None });
    };
    if one_line {
        let exact = match word {
            "null" => types.meets(Types::NULL).then_some(Value::Null),
            "true" | "false" => types.meets(Types::BOOLEAN).then(|| boolean(word)).flatten(),
            _ if types.meets(Types::NUMBER) => {
                plain_number(word).filter(|number| types.meets(Types::FRACTION) || !number.is_f64())
            }
            _ => None,
        };
        if let Some(value) = exact.filter(|value| view.fits(value)) {
            return Some(value);
        }
    }
    let text_admitted = types.meets(Types::STRING);
    let json = container(word, types, view).filter(|json| !text_admitted || view.fits(json));
    if json.is_some() || text_admitted {
        return json;
    }
    // Nothing but the text is left, so a reading of the right type is better even if it does not fit: the message
    // about it is clearer.
    if !one_line {
        None
    } else if types.meets(Types::NUMBER) {
        number(word, types).or_else(|| constant(word, types))
    } else {
        constant(word, types)
    }
}

fn constant(word: &str, types: Types) -> Option<Value> {
    match word {
        "null" if types.meets(Types::NULL) => Some(Value::Null),
        "true" | "false" if types.meets(Types::BOOLEAN) => boolean(word),
        _ => None,
    }
}

fn boolean(word: &str) -> Option<Value> {
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn quoted(word: &str) -> Option<Value> {
    if !word.starts_with('"') {
        return None;
    }
    serde_json::from_str(word).ok().map(Value::String)
}

fn container(word: &str, types: Types, view: &View<'_>) -> Option<Value> {
    let wanted = match word.as_bytes().first()? {
        b'[' => Types::ARRAY,
        b'{' => Types::OBJECT,
        _ => return None,
    };
    if !types.meets(wanted) {
        return None;
    }
    let mut value = serde_json::from_str(word).ok()?;
    mend(&mut value, view);
    Some(value)
}

/// A canonical integer or decimal: `-?(0|[1-9][0-9]*)(\.[0-9]+)?`. An integer that no machine integer holds is none.
fn plain_number(word: &str) -> Option<Value> {
    let bytes = word.as_bytes();
    let start = usize::from(bytes.first() == Some(&b'-'));
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let whole = digits(start);
    if whole == 0 || (whole > 1 && bytes[start] == b'0') {
        return None;
    }
    let end = start + whole;
    if end == bytes.len() {
        return integer(word);
    }
    if bytes[end] != b'.' || digits(end + 1) == 0 || end + 1 + digits(end + 1) != bytes.len() {
        return None;
    }
    float(word)
}

fn integer(word: &str) -> Option<Value> {
    if let Ok(number) = word.parse::<i64>() {
        return Some(Value::from(number));
    }
    word.parse::<u64>().ok().map(Value::from)
}

fn float(word: &str) -> Option<Value> {
    Number::from_f64(word.parse().ok()?).map(Value::Number)
}

/// Every spelling of a number that a schema for numbers accepts.
fn number(word: &str, types: Types) -> Option<Value> {
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        let digits = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(hex, 16)
            .ok()
            .filter(|_| digits)
            .map(Value::from);
    }
    let unsigned = word.strip_prefix('+').filter(|rest| !rest.starts_with('-'));
    let word = unsigned.unwrap_or(word);
    let (mantissa, exponent) = match word.find(['e', 'E']) {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let digits = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let mantissa_ok = match digits.split_once('.') {
        Some((whole, part)) => {
            (whole.is_empty() || is_whole(whole))
                && !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => is_whole(digits),
    };
    if !exponent_ok || !mantissa_ok {
        return None;
    }
    let whole_only = !types.meets(Types::FRACTION);
    if exponent.is_none() && !mantissa.contains('.') {
        let exact = integer(word);
        return if whole_only {
            exact
        } else {
            exact.or_else(|| float(word))
        };
    }
    let value = float(word)?;
    Some(if whole_only { whole(value) } else { value })
}

fn is_whole(digits: &str) -> bool {
    digits == "0"
        || (!digits.is_empty()
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `3.0` as `3`, if nothing is lost by it.
fn whole(value: Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => Value::from(float as i64),
        Some(_) | None => value,
    }
}

fn mend(value: &mut Value, view: &View<'_>) {
    match value {
        Value::String(text) => {
            let types = view.types();
            if !types.meets(Types::STRING)
                && types.meets(Types::NUMBER | Types::BOOLEAN)
                && let Some(read) = scalar(text, types)
            {
                *value = read;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                mend(item, &view.item(index));
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                mend(value, &view.property(key));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn scalar(text: &str, types: Types) -> Option<Value> {
    if text.contains('\n') {
        return None;
    }
    let word = text.trim();
    let boolean = boolean(word).filter(|_| types.meets(Types::BOOLEAN));
    boolean.or_else(|| {
        if types.meets(Types::NUMBER) {
            number(word, types)
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests;
