//! The wait that a provider requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::models::Date;

/// The wait that the headers of an answer request; `None` without a readable header.
///
/// `header` gives a header by its lower-case name. The first of these counts: `retry-after-ms` in milliseconds; `retry-after` in seconds or as an HTTP date (RFC 9110, 10.2.3); `llm_provider-retry-after`, in which
/// `LiteLLM` forwards the provider's; then the latest reset of a limit that is used up: `x-ratelimit-reset-*` of OpenAI
/// as durations, `x-ratelimit-reset` as seconds or milliseconds since 1970, `anthropic-ratelimit-*-reset` as RFC 3339.
/// If no limit reports what is left, a reset counts up to a minute: a later one may be of a limit that is not used up.
///
/// A time that is too large, such as `1e400`, is [`Duration::MAX`].
pub fn retry_after<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Option<Duration> {
    let millis = header("retry-after-ms").and_then(|text| seconds(text, 1e-3));
    let named = || {
        let names = ["retry-after", "llm_provider-retry-after"];
        let mut texts = names.iter().filter_map(|name| header(name));
        texts.find_map(|text| seconds(text, 1.0).or_else(|| date(text, now)))
    };
    millis.or_else(named).or_else(|| reset(&header, now))
}

/// The longest wait for a limit that does not report what is left.
const LIKELY: Duration = Duration::from_mins(1);

const LIMITS: [(&str, &str); 8] = [
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
];

fn reset<'h>(header: &impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let known = LIMITS
        .iter()
        .filter_map(|(left, reset)| Some((header(left), header(reset)?)));
    let known: Vec<_> = known.collect();
    let is_known = known.iter().any(|(left, _)| left.is_some());
    known
        .iter()
        .filter(|(left, _)| !is_known || left.is_some_and(|left| left.trim() == "0"))
        .filter_map(|(_, text)| moment(text.trim(), now))
        .filter(|wait| is_known || *wait <= LIKELY)
        .max()
}

/// A time in any of the forms that a reset is written in.
fn moment(text: &str, now: SystemTime) -> Option<Duration> {
    /// No server requests a wait of ten years: a larger number is a time since 1970.
    const DECADE: f64 = 3e8;
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            ..DECADE => seconds(text, 1.0),
            ..1e11 => until(seconds(text, 1.0)?, now),
            _ => until(seconds(text, 1e-3)?, now),
        };
    }
    units(text).or_else(|| date(text, now))
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok()?;
    let is_time = number >= 0.0;
    is_time.then(|| Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

/// `1s`, `6m0s`, `2m59.56s`, `20ms`, `1h0m0s`, `1d`.
pub(super) fn units(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total = total.saturating_add(seconds(number, unit)?);
        rest = after;
    }
    Some(total).filter(|_| !text.is_empty())
}

/// The time until an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`, or RFC 3339 in UTC; 0 if it is over.
fn date(text: &str, now: SystemTime) -> Option<Duration> {
    let moment = httpdate::parse_http_date(text.trim()).ok();
    let moment = moment.or_else(|| rfc3339(text.trim()))?;
    Some(moment.duration_since(now).unwrap_or_default())
}

/// A time such as `1994-11-06T08:49:37.5Z`, to the second.
fn rfc3339(text: &str) -> Option<SystemTime> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let day: Date = day.parse().ok()?;
    let (time, _fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut fields = time.split(':').map(two_digits);
    let (hours, minutes, seconds) = (fields.next()??, fields.next()??, fields.next()??);
    let since = day.unix_seconds() + hours * 3600 + minutes * 60 + seconds;
    fields
        .next()
        .is_none()
        .then(|| UNIX_EPOCH + Duration::from_secs(since))
}

fn two_digits(text: &str) -> Option<u64> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn until(since_1970: Duration, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(UNIX_EPOCH).ok()?;
    Some(since_1970.saturating_sub(now))
}
