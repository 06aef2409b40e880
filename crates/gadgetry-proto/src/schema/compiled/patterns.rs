//! Patterns of a schema, and the cost of matching texts with them. Without validators, which match them, there is no cost.

#[cfg(feature = "engine")]
use std::collections::BTreeMap;

/// Steps of matching in the time of a check, about.
#[cfg(feature = "engine")]
const STEPS_PER_CHECK: u64 = 64;
/// Checks that a key may take by one pattern.
#[cfg(feature = "engine")]
const CHECKS_OF_KEY: u64 = 1 << 20;

/// The patterns of a schema with their [lengths](gadgetry_validator::pattern_length).
#[derive(Default)]
pub(super) struct Patterns {
    #[cfg(feature = "engine")]
    lengths: BTreeMap<String, u64>,
    /// The sum of all, each as often as it is in the schema.
    #[cfg(feature = "engine")]
    length: u64,
}

#[cfg(feature = "engine")]
impl Patterns {
    pub(super) fn add(&mut self, pattern: &str, length: u64) {
        self.length = self.length.saturating_add(length);
        self.lengths.insert(pattern.to_owned(), length);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns the checks in whose time texts of a length are matched with one pattern.
    pub(super) fn checks(&self, pattern: &str, bytes: usize) -> u64 {
        let length = self.lengths.get(pattern).copied();
        checks(length.unwrap_or(0), bytes)
    }

    /// Returns the checks in whose time texts of a length are matched with all of them.
    pub(super) fn all_checks(&self, bytes: usize) -> u64 {
        checks(self.length, bytes)
    }

    /// Returns `true` if a key is too long to be matched with a pattern.
    pub(super) fn is_too_long(&self, key: &str, pattern: &str) -> bool {
        self.checks(pattern, key.len()) > CHECKS_OF_KEY
    }
}

#[cfg(not(feature = "engine"))]
#[expect(clippy::unused_self, reason = "as with validators")]
impl Patterns {
    pub(super) fn is_empty(&self) -> bool {
        true
    }

    pub(super) fn checks(&self, _pattern: &str, _bytes: usize) -> u64 {
        0
    }

    pub(super) fn all_checks(&self, _bytes: usize) -> u64 {
        0
    }
}

#[cfg(feature = "engine")]
fn checks(length: u64, bytes: usize) -> u64 {
    length.saturating_mul(bytes as u64) / STEPS_PER_CHECK
}
