//! Reports the state and the cost of a run whenever they change.

use std::fmt;

use gadgetry_proto::event::{Event, EventKind};
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::{CostTree, NodeId};

use crate::observer::Observer;

/// Calls a closure with the state of a run: after each model call, after each answered gadget call, and at the end of
/// the run. Model calls, gadgets and subagents are all counted.
///
/// ```
/// use gadgetry::presets::{Progress, ProgressTracking};
/// let mut spent = None;
/// let observer = ProgressTracking::new(|progress: &Progress| spent = progress.total_cost);
/// # drop(observer);
/// ```
pub struct ProgressTracking<F> {
    tree: CostTree,
    iteration: u32,
    now: Time,
    max_iterations: Option<u32>,
    on_progress: F,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The reply that the run itself is at, from 1; 0 before the first.
    pub iteration: u32,
    /// The maximum, if set with [`ProgressTracking::max_iterations`].
    pub max_iterations: Option<u32>,
    /// Depth of the subagent that caused this report; 0 for the run itself.
    pub depth: usize,
    /// Model calls that have ended, including those of compaction and subagents.
    pub model_calls: u32,
    /// Gadget calls that are answered, including those of subagents.
    pub gadget_calls: u32,
    /// Input tokens of all model calls.
    pub input_tokens: u64,
    /// Output tokens of all model calls.
    pub output_tokens: u64,
    /// All costs in US dollars: models, gadgets, subagents. `None` if the price of a model call is not known.
    pub total_cost: Option<f64>,
    /// All costs in US dollars, as far as they are known.
    pub known_cost: f64,
    /// The costs of the models; `None` if the price of a model call is not known.
    pub model_cost: Option<f64>,
    /// The costs of the gadgets, without the model calls of their subagents.
    pub gadget_cost: f64,
    /// Time since the run began, in milliseconds.
    pub elapsed_ms: u64,
    /// True if the run has finished. Then this is the last report.
    pub finished: bool,
}

impl<F: FnMut(&Progress) + Send> ProgressTracking<F> {
    /// Calls `on_progress`.
    pub fn new(on_progress: F) -> Self {
        Self {
            tree: CostTree::default(),
            iteration: 0,
            now: Time::default(),
            max_iterations: None,
            on_progress,
        }
    }

    /// Sets the maximum number of iterations; only [`Progress::max_iterations`] depends on it.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: u32) -> Self {
        self.max_iterations = Some(max_iterations);
        self
    }
}

impl<F: FnMut(&Progress) + Send> Observer for ProgressTracking<F> {
    fn event(&mut self, event: &Event) {
        self.tree.apply(event);
        self.now = self.now.max(event.time);
        let depth = event.depth();
        let mut finished = false;
        if let EventKind::ModelCallStart { iteration, .. } = &event.kind {
            if depth == 0 {
                self.iteration = *iteration;
            }
            return;
        } else if let EventKind::RunFinished { .. } = &event.kind {
            finished = depth == 0;
        } else if !matches!(
            event.kind,
            EventKind::ModelCallEnd { .. }
                | EventKind::GadgetResult { .. }
                | EventKind::GadgetCost { .. }
        ) {
            return;
        }
        let all = self.tree.subtotal(NodeId::ROOT);
        (self.on_progress)(&Progress {
            iteration: self.iteration,
            max_iterations: self.max_iterations,
            depth,
            model_calls: all.model_calls,
            gadget_calls: all.gadget_calls,
            input_tokens: all.usage.input_tokens,
            output_tokens: all.usage.output_tokens,
            total_cost: all.total(),
            known_cost: all.known,
            model_cost: all.model(),
            gadget_cost: all.gadgets,
            elapsed_ms: self.now.0,
            finished,
        });
    }
}

impl<F> fmt::Debug for ProgressTracking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressTracking")
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}
