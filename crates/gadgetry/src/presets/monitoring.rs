//! Combines logging, timing, tokens, costs and errors.

use gadgetry_proto::event::Event;
use gadgetry_proto::tree::CostTree;

use crate::observer::Observer;
use crate::presets::tokens::Compacted;
use crate::presets::{Failure, Logging, TimingReport, TokenReport};

/// Logs every event as [`Logging`] does, and keeps the data of [`Timing`](crate::presets::Timing),
/// [`TokenTracking`](crate::presets::TokenTracking) and [`ErrorLogging`](crate::presets::ErrorLogging).
///
/// It keeps the first 1,000 failures, and counts the others.
///
/// ```
/// let monitoring = gadgetry::presets::Monitoring::default();
/// assert!(monitoring.failures().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitoring {
    tree: CostTree,
    compacted: Compacted,
    failures: Vec<Failure>,
    failed: u64,
}

/// Maximum number of failures that are kept.
const FAILURES: usize = 1000;

impl Monitoring {
    /// Returns the durations.
    pub fn timing(&self) -> TimingReport {
        TimingReport::of(&self.tree)
    }

    /// Returns the token counts.
    pub fn tokens(&self) -> TokenReport {
        TokenReport::of(&self.tree, self.compacted)
    }

    /// Returns the costs.
    pub fn costs(&self) -> &CostTree {
        &self.tree
    }

    /// Returns the first 1,000 failures.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns the number of failures.
    pub fn failed(&self) -> u64 {
        self.failed
    }
}

impl Observer for Monitoring {
    fn event(&mut self, event: &Event) {
        Logging.event(event);
        self.tree.apply(event);
        self.compacted.event(event);
        if let Some(failure) = Failure::of(event) {
            self.failed += 1;
            if self.failures.len() < FAILURES {
                self.failures.push(failure);
            }
        }
    }
}
