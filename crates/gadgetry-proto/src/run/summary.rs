//! Reading a summary: the reply to a request of compaction.

use serde::{Deserialize, Serialize};

use crate::accumulate::Accumulator;
use crate::convo::compaction::Summarise;
use crate::delta::{Delta, StopReason};
use crate::error::ModelError;
use crate::run::io::Close;
use crate::run::plan::Plan;
use crate::run::size::ReplySize;
use crate::run::usage::believable;
use crate::usage::Usage;

/// A summary that is being read. Its text is never scanned: nothing in it is a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SummaryReply {
    plan: Summarise,
    accumulator: Accumulator,
    text: String,
    size: ReplySize,
    #[serde(flatten)]
    error: Option<ModelError>,
}

/// A summary that has ended, whole or not.
pub(super) struct EndedSummary {
    pub(super) plan: Summarise,
    /// `None` if the summary cannot be used.
    pub(super) text: Option<String>,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) usage: Usage,
    pub(super) error: Option<ModelError>,
}

impl SummaryReply {
    pub(super) fn new(plan: Summarise) -> Self {
        Self {
            plan,
            accumulator: Accumulator::default(),
            text: String::new(),
            size: ReplySize::default(),
            error: None,
        }
    }

    /// Takes a delta. Returns whether there is room for more.
    pub(super) fn read(&mut self, delta: Delta, plan: &Plan) -> bool {
        let delta = self.size.admit(delta, plan.config.limits.reply);
        if self.size.is_full() {
            return false;
        }
        if let Some(delta) = delta {
            if let Delta::Text { delta, .. } = &delta {
                self.text.push_str(delta);
            } else if let Delta::Error(error) = &delta {
                self.error = Some(error.clone());
            }
            self.accumulator.push(&delta);
        }
        true
    }

    /// The stream is over. A summary counts only if the model has finished it: half of one would lose what the other
    /// half was to keep.
    pub(super) fn close(self, close: Close, tokens: u64, plan: &Plan) -> EndedSummary {
        let error = match close {
            Close::Ended => self.error,
            Close::Failed(error) => Some(error),
        };
        let output = self.accumulator.into_output();
        let ended = output.stop_reason.as_ref();
        let is_done = matches!(ended, Some(StopReason::Stop | StopReason::NextTurn));
        let is_whole = error.is_none() && is_done;
        let usage = believable(output.usage, self.text.len() as u64, tokens, plan);
        EndedSummary {
            plan: self.plan,
            text: is_whole.then_some(self.text),
            stop_reason: output.stop_reason,
            usage,
            error,
        }
    }
}
