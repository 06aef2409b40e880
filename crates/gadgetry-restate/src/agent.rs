//! An agent as the driver of a run.

use gadgetry::Agent;
use gadgetry::journal::JournalError;
use gadgetry::serde_json;

use crate::batch::MAX_ENTRY;
use crate::client::RunOutcome;
use crate::hub::ToHub;
use crate::journal::{Ended, Failure};
use crate::session::Job;

/// Drives a run of `agent` to its end.
pub(crate) async fn drive(agent: Agent, is_forced: bool, job: Job) -> Ended {
    let Job {
        run,
        submission,
        journal,
        events,
    } = job;
    let durable = agent.durable(&journal).run_id(run.as_str());
    let durable = if is_forced { durable.force() } else { durable };
    let begun = durable.ask(submission.prompt).await;
    let begun = begun.map_err(|error| failure(&error))?;
    let finished = match begun.observe(&mut ToHub(events)).await {
        Ok(finished) => finished,
        Err(error) => error.into_finished(),
    };
    if let Some(refused) = journal.refused() {
        return Err(Failure::Final(TOO_LARGE, refused));
    }
    let mut outcome = RunOutcome {
        summary: finished.summary,
        history: finished.history,
        is_history_omitted: false,
        fault: finished.fault,
    };
    if size(&outcome) > MAX_ENTRY {
        outcome.history.clear();
        outcome.is_history_omitted = true;
    }
    serde_json::to_value(&outcome).map_err(|error| Failure::Final(500, error.to_string()))
}

/// The status of a run with a value that Restate cannot keep.
const TOO_LARGE: u16 = 413;

fn failure(error: &JournalError) -> Failure {
    let words = error.to_string();
    if matches!(error, JournalError::Changed { .. }) {
        // The agent that began it may be served by another worker, or again by this one.
        return Failure::NotHere(words);
    }
    let is_too_large = matches!(error, JournalError::TooLarge { .. });
    Failure::Final(if is_too_large { TOO_LARGE } else { 500 }, words)
}

fn size(outcome: &RunOutcome) -> usize {
    serde_json::to_vec(outcome).map_or(usize::MAX, |text| text.len())
}
