//! Days, as tables of models write them.

use std::fmt;
use std::str::FromStr;

use gadgetry_proto::error::{Classified, Fault};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A day, without a time zone, written `2026-11-30`.
///
/// ```
/// use gadgetry::models::Date;
/// let day: Date = "2026-02-28".parse()?;
/// assert!(day < "2026-03-01".parse()?);
/// assert!("2026-02-29".parse::<Date>().is_err());
/// # Ok::<(), gadgetry::models::DateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// The text is not a date of the form `2026-11-30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a date such as 2026-11-30")]
pub struct DateError;

impl Classified for DateError {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl Date {
    /// The day that this many seconds after the beginning of 1970 belong to, in UTC. From year 10,000 on it stays the
    /// last day before.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        let mut days = seconds / 86_400;
        let mut year = 1970;
        while year < 9_999 && days >= days_of_year(year) {
            days -= days_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while month < 12 && days >= u64::from(days_of_month(year, month)) {
            days -= u64::from(days_of_month(year, month));
            month += 1;
        }
        let last = days_of_month(year, month);
        let day = u8::try_from(days + 1).unwrap_or(last).min(last);
        Self { year, month, day }
    }

    /// When the day begins, in seconds after the beginning of 1970 in UTC; 0 for days before that.
    #[cfg(feature = "http")]
    pub(crate) fn unix_seconds(self) -> u64 {
        let years = (1970..self.year).map(days_of_year).sum::<u64>();
        let months = (1..self.month).map(|month| u64::from(days_of_month(self.year, month)));
        let days = years + months.sum::<u64>() + u64::from(self.day - 1);
        if self.year < 1970 { 0 } else { days * 86_400 }
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u16) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_of_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let digits = |range: std::ops::Range<usize>| {
            let part = text.get(range)?;
            let all = part.bytes().all(|byte| byte.is_ascii_digit());
            all.then(|| part.parse::<u16>().ok()).flatten()
        };
        let small = |range| digits(range).and_then(|number| u8::try_from(number).ok());
        let separated =
            text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
        let date = match (digits(0..4), small(5..7), small(8..10)) {
            (Some(year), Some(month), Some(day)) if separated => Self { year, month, day },
            _ => return Err(DateError),
        };
        let exists = (1..=12).contains(&date.month)
            && (1..=days_of_month(date.year, date.month)).contains(&date.day);
        exists.then_some(date).ok_or(DateError)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
