//! Numbers of options.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

/// Numbers of worked turns that an agent may show.
pub(crate) const WORKED_TURNS: RangeInclusive<i64> = 0..=2;

/// Reads a count.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}
