//! Output for a stored run.

use gadgetry::proto::message::{Content, Message};
use gadgetry_store::{RunRecord, Status};

use crate::error::Error;
use crate::follow::verdict;
use crate::sessions::{Sessions, problem};

/// The state of a run, as one word.
pub(super) fn status(run: &RunRecord) -> &'static str {
    match run.status() {
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Interrupted => "interrupted",
        Status::Finished => match &run.progress.summary {
            Some(summary) if verdict(summary).is_err() => "failed",
            _ => "finished",
        },
        _ => "unknown",
    }
}

/// Returns the prompt that a run began with.
pub(super) async fn prompt_of(sessions: &Sessions, run: &RunRecord) -> Result<String, Error> {
    let header = sessions.journal.header(&run.id).await;
    let header = header.map_err(|error| problem(&error))?;
    Ok(header.conversation.last().map(text_of).unwrap_or_default())
}

fn text_of(message: &Message) -> String {
    let mut text = String::new();
    for content in &message.content {
        if let Content::Text { text: more } = content {
            text.push_str(more);
        }
    }
    text
}
