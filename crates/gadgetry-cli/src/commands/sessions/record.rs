//! Output for a stored run.

use gadgetry::proto::event::FinishReason;
use gadgetry_store::{RunRecord, Status};

use crate::follow::verdict;

/// The state of a run, as one word.
pub(in crate::commands) fn status(run: &RunRecord) -> &'static str {
    match run.status() {
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Interrupted => "interrupted",
        Status::Damaged => "damaged",
        Status::Finished => match &run.progress.summary {
            Some(summary) if summary.reason == FinishReason::Cancelled => "cancelled",
            Some(summary) if verdict(summary).is_err() => "failed",
            _ => "finished",
        },
        _ => "unknown",
    }
}
