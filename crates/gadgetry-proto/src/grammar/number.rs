//! Integers and decimals within bounds, as digits.

use serde_json::{Map, Value};

use super::rules::{Rules, one_of, quoted, repeat};

/// Multiples that are written out.
const WRITTEN_OUT: i64 = 200;

/// Digits before the decimal point of a number that is printed with all of its digits.
const PRINTED: u32 = 12;

/// Bounds of a number; each may be excluded.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    low: Option<(f64, bool)>,
    high: Option<(f64, bool)>,
}

impl Bounds {
    fn of(node: &Map<String, Value>) -> Self {
        let number = |key: &str| node.get(key).and_then(Value::as_f64);
        let flag = |key: &str| node.get(key) == Some(&Value::Bool(true));
        let mut bounds = Self::default();
        if let Some(low) = number("minimum") {
            bounds.low = Some((low, flag("exclusiveMinimum")));
        }
        if let Some(low) = number("exclusiveMinimum")
            && bounds.low.is_none_or(|(other, _)| low >= other)
        {
            bounds.low = Some((low, true));
        }
        if let Some(high) = number("maximum") {
            bounds.high = Some((high, flag("exclusiveMaximum")));
        }
        if let Some(high) = number("exclusiveMaximum")
            && bounds.high.is_none_or(|(other, _)| high <= other)
        {
            bounds.high = Some((high, true));
        }
        bounds
    }

    /// The least and the largest integer, of at most this many digits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to fewer digits than i64 has"
    )]
    fn integers(self, digits: u32) -> (i64, i64) {
        let edge = 10_i64.pow(digits.clamp(1, 17)) - 1;
        #[expect(clippy::cast_precision_loss, reason = "a bound of digits")]
        let clamped = |float: f64| float.clamp(-(edge as f64), edge as f64) as i64;
        let low = self.low.map_or(-edge, |(low, is_excluded)| {
            let step = i64::from(is_excluded && low.fract() == 0.0);
            clamped(low.ceil()).saturating_add(step)
        });
        let high = self.high.map_or(edge, |(high, is_excluded)| {
            let step = i64::from(is_excluded && high.fract() == 0.0);
            clamped(high.floor()).saturating_sub(step)
        });
        (low, high)
    }

    fn admits(self, value: f64) -> bool {
        let above = self.low.is_none_or(|(low, is_excluded)| {
            if is_excluded {
                value > low
            } else {
                value >= low
            }
        });
        let below = self.high.is_none_or(|(high, is_excluded)| {
            if is_excluded {
                value < high
            } else {
                value <= high
            }
        });
        above && below
    }
}

/// Whether a number is within the bounds of a schema.
pub(super) fn admits(node: &Map<String, Value>, value: f64) -> bool {
    Bounds::of(node).admits(value)
}

/// Integers; none if no integer is within the bounds.
pub(super) fn integer(rules: &mut Rules, node: &Map<String, Value>, digits: u32) -> Option<String> {
    let (low, high) = Bounds::of(node).integers(digits);
    let step = node.get("multipleOf").and_then(Value::as_f64);
    let body = match step {
        Some(step) if (step - 1.0).abs() > f64::EPSILON => {
            multiples(step, low, high).or_else(|| between(low, high))
        }
        _ => between(low, high),
    }?;
    Some(named(rules, "integer", body))
}

/// Decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// As many as the limit of digits.
    Any,
    /// At most two, the second one not zero, so that the number is printed with these digits.
    Printed,
}

/// Decimals, integers among them.
pub(super) fn number(
    rules: &mut Rules,
    node: &Map<String, Value>,
    digits: u32,
    places: Places,
) -> Option<String> {
    let bounds = Bounds::of(node);
    let step = node.get("multipleOf").and_then(Value::as_f64);
    if let Some(step) = step
        && step.fract() == 0.0
    {
        return integer(rules, node, digits);
    }
    let digits = match places {
        Places::Any => digits,
        Places::Printed => digits.min(PRINTED),
    };
    let part = match (step.and_then(places_of), places) {
        (_, Places::Printed) => "\".\" [0-9] [1-9]?".to_owned(),
        (most, Places::Any) => {
            format!("\".\" {}", repeat("[0-9]", 1, Some(most.unwrap_or(digits))))
        }
    };
    let body = if bounds.low.is_none() && bounds.high.is_none() {
        let whole = format!("[1-9] [0-9]{{0,{}}}", digits.max(2) - 1);
        // From these powers on, a number is written so.
        let power = match (step, places) {
            (None, Places::Any) => {
                format!(
                    " | [1-9] ({part})? \"e\" (\"-\" ([6-9] | [1-9] [0-9]) | \"+\" (\"1\" [6-9] | [2-9] [0-9]))"
                )
            }
            _ => String::new(),
        };
        format!("\"0\" | \"-\"? (\"0\" {part} | {whole} ({part})?{power})")
    } else {
        bounded(bounds, digits, &part)?
    };
    Some(named(rules, "number", body))
}

fn named(rules: &mut Rules, hint: &str, body: String) -> String {
    if body.len() > 12 {
        rules.add(hint, &body)
    } else {
        body
    }
}

/// The decimal places of a step that is a power of ten.
fn places_of(step: f64) -> Option<u32> {
    (1..=9)
        .find(|places| (step * 10_f64.powi(*places) - 1.0).abs() < 1e-9)
        .map(i32::unsigned_abs)
}

/// Multiples of a step: by their last digits, or written out.
fn multiples(step: f64, low: i64, high: i64) -> Option<String> {
    if step.fract() != 0.0 || !(1.0..1e12).contains(&step) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e12")]
    let step = step as i64;
    let first = low.div_euclid(step) + i64::from(low.rem_euclid(step) != 0);
    let last = high.div_euclid(step);
    if first > last {
        return None;
    }
    let is_power = step >= 10 && 10_i64.pow(step.ilog10()) == step;
    if is_power && last - first > WRITTEN_OUT {
        let zeros = quoted(&"0".repeat(step.ilog10() as usize));
        let mut all = Vec::new();
        if first <= 0 && last >= 0 {
            all.push("\"0\"".to_owned());
        }
        if last >= 1 {
            all.push(format!("{} {zeros}", between(first.max(1), last)?));
        }
        if first <= -1 {
            all.push(format!("{} {zeros}", between(first, last.min(-1))?));
        }
        return one_of(all);
    }
    // Nearest to zero first.
    let near = 0.clamp(first, last);
    let (from, to) = (
        first.max(near - WRITTEN_OUT / 2),
        last.min(near + WRITTEN_OUT / 2),
    );
    one_of(
        (from..=to)
            .map(|factor| quoted(&(factor * step).to_string()))
            .collect(),
    )
}

/// The integers from `low` to `high`.
fn between(low: i64, high: i64) -> Option<String> {
    let mut all = Vec::new();
    if low > high {
        return None;
    }
    if low <= 0 && high >= 0 {
        if low >= -high && low == 0 && high <= 9 {
            return one_of(positive(0, high.unsigned_abs()));
        }
        all.push("\"0\"".to_owned());
    }
    if low < 0 && high > 0 && low == -high {
        let both = one_of(positive(1, high.unsigned_abs()))?;
        all.push(format!("\"-\"? {both}"));
        return one_of(all);
    }
    if high > 0 {
        all.extend(positive(low.max(1).unsigned_abs(), high.unsigned_abs()));
    }
    if low < 0 {
        let negative = one_of(positive(high.min(-1).unsigned_abs(), low.unsigned_abs()))?;
        all.push(format!("\"-\" {negative}"));
    }
    one_of(all)
}

/// The integers from `low` to `high`, by their number of digits.
fn positive(low: u64, high: u64) -> Vec<String> {
    let mut all = Vec::new();
    let mut full: Option<(u32, u32)> = None;
    let length = |number: u64| number.checked_ilog10().unwrap_or(0) + 1;
    for digits in length(low)..=length(high) {
        let least = if digits == 1 {
            0
        } else {
            10_u64.pow(digits - 1)
        };
        let most = 10_u64.pow(digits) - 1;
        let (from, to) = (low.max(least), high.min(most));
        if from <= least.max(1) && from > 0 && to == most {
            full = Some(full.map_or((digits, digits), |(first, _)| (first, digits)));
            continue;
        }
        all.extend(fixed(&from.to_string(), &to.to_string()));
    }
    if let Some((first, last)) = full {
        let rest = repeat("[0-9]", first - 1, Some(last - 1));
        all.push(format!("[1-9] {rest}").trim_end().to_owned());
    }
    all
}

/// The texts of digits from `low` to `high`, both of one length.
fn fixed(low: &str, high: &str) -> Vec<String> {
    let width = u32::try_from(low.len()).unwrap_or(u32::MAX);
    if low.is_empty() {
        return vec![String::new()];
    }
    let (first, last) = (low.as_bytes()[0], high.as_bytes()[0]);
    let (low_rest, high_rest) = (&low[1..], &high[1..]);
    let any = repeat("[0-9]", width - 1, Some(width - 1));
    let class = |from: u8, to: u8| {
        if from == to {
            format!("\"{}\"", char::from(from))
        } else {
            format!("[{}-{}]", char::from(from), char::from(to))
        }
    };
    let joined = |head: String, rest: &str| format!("{head} {rest}").trim_end().to_owned();
    let starts = low_rest.bytes().all(|digit| digit == b'0');
    let ends = high_rest.bytes().all(|digit| digit == b'9');
    if first == last && !(starts && ends) {
        let rest = fixed(low_rest, high_rest);
        return rest
            .iter()
            .map(|rest| joined(class(first, first), rest))
            .collect();
    }
    let mut all = Vec::new();
    let from = if starts { first } else { first + 1 };
    let to = if ends { last } else { last - 1 };
    if !starts {
        let rest = fixed(low_rest, &"9".repeat(low_rest.len()));
        all.extend(rest.iter().map(|rest| joined(class(first, first), rest)));
    }
    if from <= to {
        all.push(joined(class(from, to), &any));
    }
    if !ends {
        let rest = fixed(&"0".repeat(high_rest.len()), high_rest);
        all.extend(rest.iter().map(|rest| joined(class(last, last), rest)));
    }
    all
}

/// Decimals within bounds: integers, integers with decimals where all of them fit, and the decimals next to a bound in steps of
/// its own decimal places.
fn bounded(bounds: Bounds, digits: u32, part: &str) -> Option<String> {
    let (low, high) = bounds.integers(digits);
    let mut all: Vec<String> = between(low, high).into_iter().collect();
    let above_zero = "\".\" \"0\"? [1-9]";
    // `n.…` is between n and n + 1; `-n.…` between -n - 1 and -n.
    let edge = 10_i64.pow(digits.clamp(1, 17)) - 1;
    let (floor, ceiling) = (
        bounds.low.map_or(-edge, |_| low_whole(bounds, low)),
        bounds.high.map_or(edge, |_| high_whole(bounds, high)),
    );
    if ceiling > 0 {
        let from = floor.max(0);
        let is_excluded = bounds
            .low
            .is_some_and(|(low, is_excluded)| is_excluded && low >= whole(from) && low >= 0.0);
        if is_excluded {
            all.push(format!("{} {above_zero}", quoted(&from.to_string())));
            all.extend(between(from + 1, ceiling - 1).map(|it| format!("{it} {part}")));
        } else {
            all.extend(between(from, ceiling - 1).map(|it| format!("{it} {part}")));
        }
    }
    if floor < 0 {
        let (from, to) = (ceiling.min(0), floor);
        let is_excluded = bounds
            .high
            .is_some_and(|(high, is_excluded)| is_excluded && high <= whole(from) && high <= 0.0);
        let first = if is_excluded { from - 1 } else { from };
        if is_excluded {
            all.push(format!("{} {above_zero}", quoted(&format!("-{}", -from))));
        }
        all.extend(between(-first, -to - 1).map(|it| format!("\"-\" {it} {part}")));
    }
    if all.is_empty() {
        all.extend(scaled(bounds, 6));
    }
    one_of(all)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "compared with a bound that is whole"
)]
fn whole(number: i64) -> f64 {
    number as f64
}

/// The least whole number that the decimals may begin at.
fn low_whole(bounds: Bounds, low: i64) -> i64 {
    let is_whole = bounds
        .low
        .is_some_and(|(low, is_excluded)| is_excluded && low.fract() == 0.0);
    if is_whole { low - 1 } else { low }
}

fn high_whole(bounds: Bounds, high: i64) -> i64 {
    let is_whole = bounds
        .high
        .is_some_and(|(high, is_excluded)| is_excluded && high.fract() == 0.0);
    if is_whole { high + 1 } else { high }
}

/// Decimals of a fixed number of places, where no whole number is within the bounds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a bound below 1e9, scaled by at most 1e6"
)]
fn scaled(bounds: Bounds, places: u32) -> Option<String> {
    let ((low, _), (high, _)) = (bounds.low?, bounds.high?);
    if low.abs() > 1e9 || high.abs() > 1e9 {
        return None;
    }
    for count in 1..=places.min(6) {
        let scale = 10_f64.powi(i32::try_from(count).unwrap_or(6));
        let numbers = ((low * scale).ceil() as i64)..=((high * scale).floor() as i64);
        let fitting = numbers.filter(|number| bounds.admits(whole(*number) / scale));
        let fitting: Vec<String> = fitting
            .take(usize::try_from(WRITTEN_OUT).unwrap_or(200))
            .map(|number| quoted(&format!("{:.*}", count as usize, whole(number) / scale)))
            .collect();
        if fitting.len() > 3 || count == places.min(6) {
            return one_of(fitting);
        }
    }
    None
}
