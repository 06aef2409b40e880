//! Durations in gadget files.
//!
//! `#[gadget]` reads them by the same rule. A crate of macros can neither share code with this one nor be used by it at
//! run time, so there are two functions, and both are tested against `corpus/durations.tsv`.

use std::time::Duration;

/// Reads a duration: `500ms`, `10s`, `1.5m` or `1h`.
///
/// Returns `None` for anything else and for less than a millisecond, which is the unit of timeouts. Fractions of a
/// millisecond are cut off.
///
/// ```
/// use std::time::Duration;
/// use gadgetry::command::parse_duration;
/// assert_eq!(parse_duration("1.5m"), Some(Duration::from_secs(90)));
/// assert_eq!(parse_duration("soon"), None);
/// ```
pub fn parse(text: &str) -> Option<Duration> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (amount, unit) = text.split_at(unit_start);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let plain = amount.starts_with(|c: char| c.is_ascii_digit())
        && amount.ends_with(|c: char| c.is_ascii_digit())
        && amount.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !plain {
        return None;
    }
    let seconds = amount.parse::<f64>().ok()? * seconds_per_unit;
    let milliseconds = Duration::try_from_secs_f64(seconds).ok()?.as_millis();
    let milliseconds = u64::try_from(milliseconds).ok().filter(|it| *it > 0)?;
    Some(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations_follow_the_table() {
        let table = include_str!("../../../../corpus/durations.tsv");
        let rows = table.lines().filter_map(|line| line.split_once('\t'));
        assert!(rows.clone().count() > 20);
        for (text, expected) in rows {
            let found = parse(text).map_or("invalid".to_owned(), |it| it.as_millis().to_string());
            assert_eq!(found, expected, "{text}");
        }
    }
}
