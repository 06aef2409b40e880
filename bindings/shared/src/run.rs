//! Events in batches, results, answers to approvals, records of a journal.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry::approval::{Answer, Rule};
use gadgetry::proto::tree::Status;
use gadgetry::{AgentRun, Event, EventKind, Finished};
use gadgetry_store::{RunRecord, Status as RecordStatus};
use serde_json::{Value, json};

use crate::Problem;

/// Events that are converted at once.
const BATCH: usize = 256;

/// Waits for the next events, or those of approvals, and takes all that are there; none at the end.
pub async fn events(run: &mut AgentRun<'static>, approvals_only: bool) -> Vec<Event> {
    let is_wanted =
        |event: &Event| !approvals_only || matches!(event.kind, EventKind::ApprovalRequired { .. });
    let mut events = Vec::new();
    while events.is_empty() {
        let Some(first) = run.next().await else { break };
        events.extend(Some(first).filter(is_wanted));
        while events.len() < BATCH
            && let Some(Some(next)) = run.next().now_or_never()
        {
            events.extend(Some(next).filter(is_wanted));
        }
    }
    events
}

/// The end of a run as JSON, without its conversation.
pub fn result(finished: &Finished) -> Value {
    let summary = &finished.summary;
    let calls = finished.calls().map(|call| {
        let status = match call.status {
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Waiting | Status::Running | Status::Abandoned | _ => "abandoned",
        };
        json!({ "gadgetName": call.gadget_name, "invocationId": call.invocation_id, "status": status })
    });
    json!({
        "text": summary.answer,
        "reason": summary.reason,
        "iterations": summary.iterations,
        "cost": summary.total_cost,
        "knownCost": summary.known_cost,
        "usage": finished.usage(),
        "calls": calls.collect::<Vec<_>>(),
    })
}

/// Reads the answer to an approval: `once`, `session` with a rule, `no` with a reason, or `pending`.
pub fn answer(kind: &str, detail: Option<String>) -> Result<Answer, Problem> {
    match (kind, detail) {
        ("once", _) => Ok(Answer::Once),
        ("session", Some(rule)) => {
            let rule = rule.parse::<Rule>();
            rule.map(Answer::Session)
                .map_err(|error| Problem::classified("ConfigError", &error))
        }
        ("no", reason) => Ok(Answer::No(reason)),
        ("pending", _) => Ok(Answer::Pending),
        (other, _) => Err(Problem::wrong_type(format!("no answer: {other}"))),
    }
}

/// A run of a journal as JSON. Times are seconds since 1970.
pub fn record(record: &RunRecord) -> Value {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH);
        since.unwrap_or_default().as_secs_f64()
    };
    let progress = &record.progress;
    let status = match record.status() {
        RecordStatus::Running => "running",
        RecordStatus::Waiting => "waiting",
        RecordStatus::Interrupted => "interrupted",
        RecordStatus::Finished => "finished",
        _ => "unknown",
    };
    json!({
        "id": record.id.as_str(),
        "status": status,
        "created": seconds(record.created),
        "updated": seconds(record.updated),
        "iterations": progress.iterations,
        "knownCost": progress.known_cost,
        "answer": progress.summary.as_ref().map(|summary| &summary.answer),
        "questions": progress.questions,
    })
}
