//! Durations of runs, model calls and gadgets.

use std::collections::BTreeMap;
use std::fmt;

use gadgetry_proto::event::Event;
use gadgetry_proto::tree::{CostTree, NodeId, NodeKind};

use crate::observer::Observer;

/// Measures model calls, gadgets and the whole run, subagents included.
///
/// ```
/// let timing = gadgetry::presets::Timing::default();
/// assert_eq!(timing.report().model_calls.count, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Timing {
    tree: CostTree,
}

impl Timing {
    /// Returns the durations so far.
    pub fn report(&self) -> TimingReport {
        TimingReport::of(&self.tree)
    }
}

impl Observer for Timing {
    fn event(&mut self, event: &Event) {
        self.tree.apply(event);
    }
}

/// Durations of runs, model calls and gadgets. It displays as a line for the run, one for model calls, and one for each gadget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimingReport {
    /// Duration of the whole run, in milliseconds; `None` while it is in progress.
    pub run_ms: Option<u64>,
    /// Model calls that have ended: replies and summaries, including failed ones.
    pub model_calls: Durations,
    /// Answered calls by the gadget's name as written in them. Those that were not executed took no time.
    pub gadgets: BTreeMap<String, Durations>,
}

impl TimingReport {
    /// Returns the durations in the run of `tree`.
    pub fn of(tree: &CostTree) -> Self {
        let mut report = Self::default();
        for (id, node) in tree.nodes() {
            let Some(duration) = node.duration_ms() else {
                continue;
            };
            match &node.kind {
                NodeKind::Run { .. } if id == NodeId::ROOT => report.run_ms = Some(duration),
                NodeKind::ModelCall { .. } => report.model_calls.add(duration),
                NodeKind::Gadget { gadget_name, .. } => {
                    let durations = report.gadgets.entry(gadget_name.clone()).or_default();
                    durations.add(duration);
                }
                NodeKind::Run { .. } | _ => {}
            }
        }
        report
    }
}

impl fmt::Display for TimingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.run_ms {
            Some(milliseconds) => writeln!(f, "run: {milliseconds} ms")?,
            None => writeln!(f, "run: in progress")?,
        }
        writeln!(f, "model calls: {}", self.model_calls)?;
        for (name, durations) in &self.gadgets {
            let name = name.replace(char::is_control, "\u{fffd}");
            writeln!(f, "{name}: {durations}")?;
        }
        Ok(())
    }
}

/// Several durations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Number of executions.
    pub count: u32,
    /// Sum, in milliseconds. Executions that ran at the same time are added up.
    pub total_ms: u64,
    /// The longest, in milliseconds.
    pub longest_ms: u64,
}

impl Durations {
    /// Returns the mean, in milliseconds, rounded down; 0 without any execution.
    fn mean_ms(&self) -> u64 {
        self.total_ms
            .checked_div(u64::from(self.count))
            .unwrap_or(0)
    }

    fn add(&mut self, milliseconds: u64) {
        self.count = self.count.saturating_add(1);
        self.total_ms = self.total_ms.saturating_add(milliseconds);
        self.longest_ms = self.longest_ms.max(milliseconds);
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            total_ms,
            longest_ms,
        } = self;
        let mean_ms = self.mean_ms();
        write!(
            f,
            "{count}, {total_ms} ms, mean {mean_ms} ms, longest {longest_ms} ms"
        )
    }
}
