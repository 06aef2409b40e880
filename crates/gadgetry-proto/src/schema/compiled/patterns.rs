//! Patterns of a schema, and the cost of matching texts with them.

use std::collections::BTreeMap;

/// Steps of matching in the time of a check, about.
const STEPS_PER_CHECK: u64 = 64;
/// Checks that a key may take by one pattern.
const CHECKS_OF_KEY: u64 = 1 << 20;

/// The patterns of a schema with their [lengths](gadgetry_validator::pattern_length). Without validators, which match them, it is empty.
#[derive(Default)]
pub(super) struct Patterns {
    lengths: BTreeMap<String, u64>,
    /// The sum of all, each as often as it is in the schema.
    length: u64,
}

impl Patterns {
    #[cfg(feature = "engine")]
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
    #[cfg(feature = "engine")]
    pub(super) fn is_too_long(&self, key: &str, pattern: &str) -> bool {
        self.checks(pattern, key.len()) > CHECKS_OF_KEY
    }
}

fn checks(length: u64, bytes: usize) -> u64 {
    length.saturating_mul(bytes as u64) / STEPS_PER_CHECK
}
