//! Token counts of a run.

use gadgetry_proto::event::{Event, EventKind};
use gadgetry_proto::message::Purpose;
use gadgetry_proto::tree::{CostTree, NodeId, NodeKind};
use gadgetry_proto::usage::Usage;

use crate::observer::Observer;

/// Counts the tokens of a run, those of compaction and subagents included.
///
/// ```
/// let tokens = gadgetry::presets::TokenTracking::default();
/// assert_eq!(tokens.report().all.output_tokens, 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TokenTracking {
    tree: CostTree,
    compacted: Compacted,
}

/// Compaction so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compacted {
    times: u32,
    tokens: u64,
}

impl Compacted {
    pub(super) fn event(&mut self, event: &Event) {
        if let EventKind::Compaction(compacted) = &event.kind {
            let saved = compacted
                .tokens_before
                .saturating_sub(compacted.tokens_after);
            self.times = self.times.saturating_add(1);
            self.tokens = self.tokens.saturating_add(saved);
        }
    }
}

impl TokenTracking {
    /// Returns the counts so far.
    pub fn report(&self) -> TokenReport {
        TokenReport::of(&self.tree, self.compacted)
    }
}

impl Observer for TokenTracking {
    fn event(&mut self, event: &Event) {
        self.tree.apply(event);
        self.compacted.event(event);
    }
}

/// Token counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenReport {
    /// Model calls that have ended.
    pub model_calls: u32,
    /// Tokens of all model calls.
    pub all: Usage,
    /// Part of these for summaries of compaction, of the run and its subagents.
    pub summaries: Usage,
    /// Part of these for subagents, their summaries included.
    pub subagents: Usage,
    /// Their costs in US dollars; `None` if one of them is not known.
    pub cost: Option<f64>,
    /// Number of compactions.
    pub compactions: u32,
    /// Estimated number of tokens by which compactions have shortened conversations.
    pub compacted_tokens: u64,
}

impl TokenReport {
    pub(super) fn of(tree: &CostTree, compacted: Compacted) -> Self {
        let all = tree.subtotal(NodeId::ROOT);
        let mut report = Self {
            model_calls: all.model_calls,
            all: all.usage,
            cost: all.model(),
            compactions: compacted.times,
            compacted_tokens: compacted.tokens,
            ..Self::default()
        };
        for (_, node) in tree.nodes() {
            match &node.kind {
                NodeKind::ModelCall { purpose, usage, .. } if *purpose == Purpose::Summary => {
                    report.summaries = report.summaries.plus(*usage);
                }
                // Below the run's own gadgets there are subagents only.
                NodeKind::Gadget { .. } if node.parent == Some(NodeId::ROOT) => {
                    report.subagents = report.subagents.plus(node.subtotal.usage);
                }
                NodeKind::Run { .. } | NodeKind::ModelCall { .. } | NodeKind::Gadget { .. } | _ => {
                }
            }
        }
        report
    }
}
