//! Durations as people write them.

use std::time::Duration;

/// Reads a duration as gadget files have them: `500ms`, `10s`, `1.5m` or `1h`. `None` for anything else and for zero.
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
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_what_people_write() {
        let cases = [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("1.5s", Some(1500)),
            ("0.1s", Some(100)),
            ("2m", Some(120_000)),
            ("1.5m", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("0s", None),
            ("10", None),
            ("10 s", None),
            ("s", None),
            ("", None),
            ("-1s", None),
            ("+1s", None),
            (".5s", None),
            ("1.s", None),
            ("1.2.3s", None),
            ("1e3s", None),
            ("10d", None),
            ("10S", None),
            ("1m30s", None),
            ("infs", None),
            ("99999999999999999999999h", None),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(parse(text).map(|it| it.as_millis()), milliseconds, "{text}");
        }
    }
}
