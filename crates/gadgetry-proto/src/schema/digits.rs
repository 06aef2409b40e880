//! Digits of numbers that a machine number does not keep.
//!
//! A [`Value`] has numbers of 64 bits. Where a schema admits numbers only, a written number becomes the nearest one, and [`Digits`]
//! keeps what was written, by its place, so that it is found again whatever else is changed.

use serde_json::{Map, Value};

use crate::call::{DigitPlace, DigitPlaces, Digits};
use crate::error::JsonError;
use crate::json::{has_long_number, read_value};
use crate::schema::json::{self, Json};
use crate::schema::pointer;
use crate::schema::slips::Slips;

/// Reading digits.
impl Digits {
    /// Returns the digits in a JSON text that `value` was read from. The text may also be JSON as a string of JSON.
    ///
    /// # Errors
    ///
    /// If the text has a long number, and a repeated key or too many values, so that it is uncertain what was read.
    pub fn of(json: &str, value: &Value) -> Result<Self, JsonError> {
        if !has_long_number(json) {
            return Ok(Self::default());
        }
        let read = json::read(json, &mut Slips::default())?;
        if let Json::String(text) = &read {
            json::read(text, &mut Slips::default())?;
        }
        Ok(Self::of_json(&read, value))
    }

    /// Reads JSON, with the digits that its numbers do not keep. Returns `None` if it is not JSON, or uncertain as in [`of`](Self::of).
    pub fn read(json: &str) -> Option<(Value, Self)> {
        let value = read_value(json).ok()?;
        let digits = Self::of(json, &value).ok()?;
        Some((value, digits))
    }

    /// Returns the digits in JSON that `value` was read from.
    pub(super) fn of_json(json: &Json<'_>, value: &Value) -> Self {
        Self::within(of_json(json, value))
    }

    fn within(place: Option<DigitPlace>) -> Self {
        match place {
            Some(DigitPlace::Within(places)) => Self(places),
            Some(DigitPlace::Number(_)) | None => Self::default(),
        }
    }

    /// Adds the digits in the text, a number or JSON, that the value at a pointer was read from. The pointer has no leading `/`.
    pub fn add(&mut self, pointer: &str, text: &str, value: &Value) {
        let Some(found) = of_text(text, value) else {
            return;
        };
        let mut segments: Vec<_> = pointer::segments(pointer).collect();
        let last = segments.pop().unwrap_or_default();
        let mut here = &mut self.0;
        for segment in segments {
            let place = here
                .entry(segment.into_owned())
                .or_insert_with(|| DigitPlace::Within(DigitPlaces::new()));
            match place {
                DigitPlace::Within(places) => here = places,
                // Nothing is below a number.
                DigitPlace::Number(_) => return,
            }
        }
        here.insert(last.into_owned(), found);
    }
}

/// The digits of a text that was read as `value`: a number, or JSON.
fn of_text(text: &str, value: &Value) -> Option<DigitPlace> {
    if value.is_string() || value.is_boolean() || value.is_null() || !has_long_number(text) {
        return None;
    }
    let word = text.trim();
    if word.starts_with(['"', '\'', '[', '{']) {
        let json = json::read(word, &mut Slips::default()).ok()?;
        return of_json(&json, value);
    }
    match value.as_array() {
        Some(items) => one(items, |item| of_text(word, item)),
        None => lost(word, value),
    }
}

/// The digits of JSON that was read as `value`.
fn of_json(json: &Json<'_>, value: &Value) -> Option<DigitPlace> {
    let places: DigitPlaces = match (json, value) {
        (Json::Number(written), Value::Number(_)) => return lost(written, value),
        (Json::String(text), Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return of_text(text, value);
        }
        (Json::Array(items), Value::Array(values)) if items.len() == values.len() => {
            let found = items.iter().zip(values).enumerate();
            let found = found.filter_map(|(index, (item, value))| {
                Some((index.to_string(), of_json(item, value)?))
            });
            found.collect()
        }
        (Json::Object(fields), Value::Object(values)) => {
            let found = fields.iter().filter_map(|(key, field)| {
                let value = values.get(key.as_ref())?;
                Some((key.to_string(), of_json(field, value)?))
            });
            found.collect()
        }
        // One element without its array.
        (Json::Number(_), Value::Array(values)) => return one(values, |it| of_json(json, it)),
        _ => return None,
    };
    (!places.is_empty()).then_some(DigitPlace::Within(places))
}

fn one(items: &[Value], of: impl Fn(&Value) -> Option<DigitPlace>) -> Option<DigitPlace> {
    let [item] = items else { return None };
    Some(DigitPlace::Within([("0".to_owned(), of(item)?)].into()))
}

/// A number that is another one than it was written.
fn lost(written: &str, value: &Value) -> Option<DigitPlace> {
    let written = written.strip_prefix('+').unwrap_or(written);
    let decimal = Decimal::read(written).filter(|_| value.is_f64())?;
    let is_kept = Some(decimal) == Decimal::read(&value.to_string());
    (!is_kept).then(|| DigitPlace::Number(as_json(written)))
}

/// A number as JSON writes it: `.5` has a zero before it.
fn as_json(written: &str) -> String {
    let (sign, rest) = match written.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", written),
    };
    let zero = if rest.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{rest}")
}

/// A decimal number: its digits without zeros at either end, and the power of ten of the last one.
#[derive(PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, power(exponent)?),
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{part}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let digits = significant.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self {
                is_negative: false,
                digits,
                exponent: 0,
            });
        }
        let part = i64::try_from(part.len()).ok()?;
        Some(Self {
            is_negative,
            digits,
            exponent: exponent.saturating_sub(part).saturating_add(zeros),
        })
    }
}

impl Decimal {
    /// Returns whether it has no fraction.
    pub(super) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// Writes it as an integer, unless it has a fraction or more digits than 64 bits hold.
    pub(super) fn integer(&self) -> Option<String> {
        const LONGEST: usize = 20;

        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        if self.digits.len().saturating_add(zeros) > LONGEST {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}

/// The exponent of a number, as far as it matters: beyond the range, each number is another one than a machine number.
fn power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX / 2);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Parameters, with the digits that their numbers do not keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shaped {
    pub(crate) value: Value,
    pub(crate) digits: Digits,
}

impl Shaped {
    /// No parameters.
    pub(crate) fn empty() -> Self {
        Value::Object(Map::new()).into()
    }
}

impl From<Value> for Shaped {
    fn from(value: Value) -> Self {
        Self {
            value,
            digits: Digits::default(),
        }
    }
}
