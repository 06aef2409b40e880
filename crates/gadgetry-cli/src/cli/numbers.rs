//! Numbers of options.

use std::num::NonZeroUsize;

/// Reads a count.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}
