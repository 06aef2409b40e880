//! Sessions that continue the conversation of another one.

use std::sync::Arc;

use gadgetry::journal::{Durability, Journal as _, JournalError, RunId};
use gadgetry::log::{Entry, LogHeader};
use gadgetry_acp::{HostError, Setup};
use gadgetry_store::RunRecord;
use serde::de::DeserializeOwned;

use super::{AcpSession, free_name};
use crate::commands::acp::ground::{Ground, words};
use crate::error::Error;
use crate::sessions::{Session, Sessions, problem};

impl AcpSession {
    /// Begins a session with the conversation and the options of another one, whose runs are its first ones. It is kept at once: the
    /// last one of them is copied.
    pub(in crate::commands::acp) async fn fork(
        ground: &Arc<Ground>,
        sessions: Sessions,
        stored: Session,
        setup: Setup,
    ) -> Result<Self, HostError> {
        let (number, last) = stored.last().map_err(words)?;
        if last.progress.summary.is_none() {
            let words =
                "a prompt of this session has not ended; wait for it, or continue the session";
            return Err(HostError::Invalid(words.to_owned()));
        }
        let last = last.clone();
        let name = free_name(&sessions).await?;
        let run = name.run(number);
        let run = run.map_err(|error| HostError::Failed(error.to_string()))?;
        let mut session = Self::open(ground, sessions, stored, setup).await?;
        session.id = name.to_string();
        session.details.forked_from = Some(session.name.to_string());
        session.name = name;
        session.store(&run).await?;
        copy(&session.sessions, &last, &run).await.map_err(words)?;
        session.runs.pop();
        session.runs.push((number, run));
        Ok(session)
    }
}

/// Copies a run that has ended. The copy has cost nothing.
async fn copy(sessions: &Sessions, run: &RunRecord, to: &RunId) -> Result<(), Error> {
    let mut log = Vec::new();
    let exported = sessions.export(&run.id, &mut log).await?;
    if let Some(damage) = exported.damage {
        return Err(problem(&damage));
    }
    let mut lines = log.split(|byte| *byte == b'\n').filter(|it| !it.is_empty());
    let mut header: LogHeader = read(lines.next().unwrap_or_default())?;
    let entries: Vec<Entry> = lines.map(read).collect::<Result<_, _>>()?;
    if let Some(info) = &mut header.run {
        Arc::make_mut(info).id = to.as_str().into();
    }
    let lost = |error: JournalError| problem(&error);
    let opened = sessions.journal.open(to, Some(&header)).await;
    let mut recorder = opened.map_err(lost)?.recorder;
    for Entry { time, input } in &entries {
        recorder.record(*time, input);
    }
    let mut progress = run.progress.clone();
    progress.known_cost = 0.0;
    if let Some(summary) = &mut progress.summary {
        summary.total_cost = Some(0.0);
    }
    recorder.progress(progress);
    recorder.commit(Durability::Synced).await.map_err(lost)
}

/// Reads a line of a log.
fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(line).map_err(|error| Error::Failed(error.to_string()))
}
