//! An agent drives a run to its end.

use std::sync::Arc;

use gadgetry::Agent;
use gadgetry::journal::{JournalError, RunId};
use gadgetry::serde_json::{self, Value};

use crate::events::{EventHub, HubObserver};
use crate::journal::RestateJournal;
use crate::protocol::{MAX_ENTRY, RunOutcome, Submission};

/// The result of a driver: that of the run, as JSON.
pub(crate) type DriveResult = Result<Value, DriveError>;

/// The reason why a run has no result.
#[derive(Debug)]
pub(crate) enum DriveError {
    /// The run never will: a status and the reason.
    Final(u16, String),
    /// This worker cannot continue it, but another one might.
    NotHere(String),
}

/// The input of a driver.
pub(crate) struct DriveJob {
    pub(crate) run: RunId,
    pub(crate) submission: Submission,
    pub(crate) journal: Arc<RestateJournal>,
    pub(crate) events: Arc<EventHub>,
}

/// Drives a run of `agent` to its end.
pub(crate) async fn drive(agent: Agent, is_forced: bool, job: DriveJob) -> DriveResult {
    let DriveJob {
        run,
        submission,
        journal,
        events,
    } = job;
    let durable = agent.durable(&journal).run_id(run.as_str());
    let durable = if is_forced { durable.force() } else { durable };
    let begun = durable.ask(submission.prompt).await;
    let begun = begun.map_err(|error| failure(&error))?;
    let finished = match begun.observe(&mut HubObserver(events)).await {
        Ok(finished) => finished,
        Err(error) => error.into_finished(),
    };
    if let Some(refused) = journal.refused() {
        return Err(DriveError::Final(TOO_LARGE, refused));
    }
    let mut outcome = RunOutcome::new(finished.summary, finished.history, finished.fault);
    if size(&outcome) > MAX_ENTRY {
        outcome.history.clear();
        outcome.is_history_omitted = true;
    }
    serde_json::to_value(&outcome).map_err(|error| DriveError::Final(500, error.to_string()))
}

/// The status of a run with a value that Restate cannot keep.
const TOO_LARGE: u16 = 413;

fn failure(error: &JournalError) -> DriveError {
    let words = error.to_string();
    if matches!(error, JournalError::Changed { .. }) {
        // The agent that began it may be served by another worker, or again by this one.
        return DriveError::NotHere(words);
    }
    let is_too_large = matches!(error, JournalError::TooLarge { .. });
    DriveError::Final(if is_too_large { TOO_LARGE } else { 500 }, words)
}

fn size(outcome: &RunOutcome) -> usize {
    serde_json::to_vec(outcome).map_or(usize::MAX, |text| text.len())
}
