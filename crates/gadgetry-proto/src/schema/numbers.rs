//! Reads numbers in the text of a value.

use serde_json::{Number, Value};

use crate::error::DigitsLost;
use crate::schema::compiled::types::Types;
use crate::schema::digits::Decimal;

/// Reads a canonical integer or decimal, `-?(0|[1-9][0-9]*)(\.[0-9]+)?`; `None` for an integer beyond 64 bits.
pub(super) fn plain_number(word: &str) -> Option<Value> {
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

/// Reads any spelling of a number that a schema for numbers accepts: hexadecimal, with a plus sign, an exponent or no leading zero. If digits are
/// kept elsewhere, an integer beyond 64 bits is the nearest float.
pub(super) fn number(word: &str, types: Types, digits_are_kept: bool) -> Option<Value> {
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
    if exponent.is_none() && !mantissa.contains('.') {
        let near = || float(word).filter(|_| digits_are_kept);
        return integer(word).or_else(near);
    }
    nearest(word, types, digits_are_kept)
}

/// Returns the number nearest to a decimal. Where only integers are meant, that is what was written, or `None`: `0.99999999999999999999`
/// is not 1, although their floats are the same, and of an integer beyond 64 bits the digits must be kept, by the float or elsewhere.
pub(super) fn nearest(word: &str, types: Types, digits_are_kept: bool) -> Option<Value> {
    let value = float(word)?;
    let whole_only = types.meets(Types::NUMBER) && !types.meets(Types::FRACTION);
    if !whole_only || value.as_f64().is_some_and(|float| float.fract() != 0.0) {
        return Some(value);
    }
    let written = Decimal::read(word)?;
    if !written.is_whole() {
        return None;
    }
    let is_kept = || digits_are_kept || significant_digits(word) <= KEPT;
    machine_integer(&written).or_else(|| is_kept().then_some(value))
}

/// Returns a whole decimal as an integer of 64 bits, if it is one.
fn machine_integer(written: &Decimal) -> Option<Value> {
    integer(&written.integer()?)
}

fn significant_digits(word: &str) -> usize {
    let mantissa = word.split(['e', 'E']).next().unwrap_or(word);
    let digits = mantissa.replace(['-', '.'], "");
    digits.trim_matches('0').len()
}

/// Returns the problem with an integer whose digits no number keeps.
pub(super) fn digits_lost(text: &str, types: Types) -> Option<DigitsLost> {
    let word = text.trim();
    let meant = types.meets(Types::NUMBER) && !types.meets(Types::STRING);
    let written = Decimal::read(word.strip_prefix('+').unwrap_or(word)).filter(|_| meant)?;
    let is_lost = written.is_whole() && machine_integer(&written).is_none();
    is_lost.then(|| DigitsLost::new(word))
}

fn is_whole(digits: &str) -> bool {
    digits == "0"
        || (!digits.is_empty()
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Significant digits that every float keeps.
const KEPT: usize = 15;
