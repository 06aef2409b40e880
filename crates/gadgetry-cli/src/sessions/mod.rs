//! Sessions: the runs of `gadgetry agent`, kept in a file of the user's data directory.

mod asker;
mod claim;
mod continuing;
mod details;
mod past;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gadgetry::journal::{Journal as _, JournalError, RunId};
use gadgetry::proto::message::Content;
use gadgetry_store::{Exported, RunRecord, SqliteJournal};

use crate::cli::{DataArgs, SessionName};
use crate::data_dir;
use crate::error::Error;
use crate::options::Settings;

pub(crate) use asker::{Asker, questions};
pub(crate) use claim::{Claim, Hold};
pub(crate) use continuing::{
    latest_here, merged, move_to, no_sessions, not_kept, replies_read, without_details,
};
pub(crate) use details::{Details, OPTIONS, refuse_without};
pub(crate) use past::{Moment, Moments};

/// The file in the data directory.
const FILE: [&str; 2] = ["sessions", "sessions.db"];

/// Characters of a title, as many as a journal keeps of a prompt.
const TITLE: usize = 500;

/// The stored sessions.
pub(crate) struct Sessions {
    pub(crate) journal: SqliteJournal,
}

impl Sessions {
    /// Opens the file, which is made if it is not there.
    pub(crate) fn open(args: &DataArgs) -> Result<Self, Error> {
        Self::at(&path(args)?)
    }

    /// Opens the file; `None` if there is no file.
    pub(crate) fn existing(args: &DataArgs) -> Result<Option<Self>, Error> {
        let path = path(args)?;
        if path.exists() {
            Self::at(&path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Opens the file, and returns the session of this name as well, which must be there.
    pub(crate) async fn with(
        args: &DataArgs,
        name: &SessionName,
    ) -> Result<(Self, Session), Error> {
        let sessions = Self::existing(args)?.ok_or_else(|| unknown(name))?;
        let session = sessions.get(name).await?;
        Ok((sessions, session))
    }

    /// Opens the session of this name, unless another process has it open. Read what is stored of it only then.
    pub(crate) async fn hold(&self, name: &SessionName) -> Result<Hold, Error> {
        self.claim().await?.hold(name).await
    }

    async fn claim(&self) -> Result<Claim, Error> {
        let folder = self.journal.path().parent();
        Claim::on(folder.unwrap_or(Path::new("."))).await
    }

    fn at(path: &Path) -> Result<Self, Error> {
        let journal = SqliteJournal::open(path).map_err(|error| problem(&error))?;
        Ok(Self { journal })
    }

    /// All sessions, the latest first.
    pub(crate) async fn all(&self) -> Result<Vec<Session>, Error> {
        let runs = self.journal.runs().await;
        let mut sessions = grouped(runs.map_err(|error| problem(&error))?);
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated()));
        Ok(sessions)
    }

    /// The session of this name, if there is one. Reads no other.
    pub(crate) async fn find(&self, name: &SessionName) -> Result<Option<Session>, Error> {
        let runs = self.journal.runs_named(name.beginning()).await;
        let mut found = grouped(runs.map_err(|error| problem(&error))?).into_iter();
        Ok(found.find(|session| session.name == *name))
    }

    /// The runs of a session with their numbers, after those of the sessions that it was forked from, if these are still there.
    pub(crate) async fn runs_with_parents(
        &self,
        session: &Session,
    ) -> Result<Vec<(u32, RunId)>, Error> {
        let numbered =
            |(number, run): (&u32, &RunRecord)| -> (u32, RunId) { (*number, run.id.clone()) };
        let mut parts: Vec<Vec<_>> = vec![session.runs.iter().map(numbered).collect()];
        let mut parent = session.parent();
        while let Some((name, first)) = parent
            && let Some(session) = self.find(&name).await?
        {
            let earlier: Vec<_> = session.runs.range(..first).map(numbered).collect();
            // The numbers fall, so this ends.
            parent = session.parent().filter(|_| !earlier.is_empty());
            parts.push(earlier);
        }
        Ok(parts.into_iter().rev().flatten().collect())
    }

    /// The message that a run began with.
    pub(crate) async fn prompt(&self, run: &RunId) -> Result<Vec<Content>, Error> {
        let prompt = self.journal.prompt(run).await;
        let prompt = prompt.map_err(|error| problem(&error))?;
        Ok(prompt.map(|message| message.content).unwrap_or_default())
    }

    /// What the user has typed for a run, without what the model reads in addition.
    pub(crate) async fn typed(&self, run: &RunId) -> Result<String, Error> {
        let typed = self.details(run).await?.and_then(|it| it.typed);
        self.typed_or_prompt(typed, run).await
    }

    /// Returns `typed`, which is what the user has typed for a run if the model reads more than that, or else its prompt.
    pub(crate) async fn typed_or_prompt(
        &self,
        typed: Option<String>,
        run: &RunId,
    ) -> Result<String, Error> {
        match typed {
            Some(typed) => Ok(typed),
            None => Ok(text_of(&self.prompt(run).await?)),
        }
    }

    /// Returns the details that the command line has stored with a run.
    pub(crate) async fn details(&self, run: &RunId) -> Result<Option<Details>, Error> {
        let record = self.journal.run(run).await;
        let record = record.map_err(|error| problem(&error))?;
        Ok(details(&record))
    }

    /// The session of this name, which must be there.
    pub(crate) async fn get(&self, name: &SessionName) -> Result<Session, Error> {
        self.find(name).await?.ok_or_else(|| unknown(name))
    }

    /// Writes the log of a run.
    pub(crate) async fn export(&self, run: &RunId, out: impl Write) -> Result<Exported, Error> {
        let exported = self.journal.export(run, out).await;
        exported.map_err(|error| problem(&error))
    }

    /// Removes a session.
    pub(crate) async fn forget(&self, session: &Session) -> Result<(), Error> {
        // The first run last: without it there would be no session to remove if this is interrupted.
        for run in session.runs.values().rev() {
            let forgotten = self.journal.forget(&run.id).await;
            forgotten.map_err(|error| problem(&error))?;
        }
        Ok(())
    }

    /// Waits until everything is written.
    pub(crate) async fn flush(&self) {
        self.journal.flush().await;
    }
}

/// The sessions that runs belong to, by name.
fn grouped(records: Vec<RunRecord>) -> Vec<Session> {
    let mut sessions: BTreeMap<SessionName, BTreeMap<u32, RunRecord>> = BTreeMap::new();
    for run in records {
        if let Some((name, number)) = SessionName::of(&run.id) {
            let runs = sessions.entry(name).or_default();
            // Two processes may have begun one session at once.
            let mut numbers = number..;
            let free = numbers.find(|number| !runs.contains_key(number));
            runs.insert(free.unwrap_or(number), run);
        }
    }
    let sessions = sessions.into_iter();
    sessions
        .map(|(name, runs)| Session { name, runs })
        .collect()
}

/// The text of a message.
pub(crate) fn text_of(content: &[Content]) -> String {
    let mut text = String::new();
    for content in content {
        if let Content::Text { text: more } = content {
            text.push_str(more);
        }
    }
    text
}

fn path(args: &DataArgs) -> Result<PathBuf, Error> {
    let folder = data_dir::folder(args)?;
    Ok(FILE.iter().fold(folder, |path, part| path.join(part)))
}

/// No session has this name.
pub(crate) fn unknown(name: impl Display) -> Error {
    Error::input(format_args!(
        "there is no session {name}; `gadgetry sessions list` lists the sessions"
    ))
}

/// A failure of the journal, in the words of the command line.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others say it well")]
pub(crate) fn problem(error: &JournalError) -> Error {
    match error {
        JournalError::Owned { run, owner } => Error::input(format_args!(
            "session {} is in progress in another process ({owner}); wait for it, or end that process",
            session_of(run)
        )),
        JournalError::Changed { run, changes } => Error::input(format_args!(
            "session {} was begun with something else: {}; undo the change, or add --force",
            session_of(run),
            changes.join("; ")
        )),
        JournalError::Damaged { run, .. } => Error::Failed(format!(
            "{error}: `gadgetry sessions export {}`",
            session_of(run)
        )),
        error => Error::input(error),
    }
}

fn session_of(run: &RunId) -> String {
    SessionName::of(run).map_or_else(|| run.to_string(), |(name, _)| name.to_string())
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: SessionName,
    /// Runs by their numbers; at least one.
    pub(crate) runs: BTreeMap<u32, RunRecord>,
}

impl Session {
    /// The last run and its number.
    pub(crate) fn last(&self) -> Result<(u32, &RunRecord), Error> {
        let last = self.runs.last_key_value();
        let (number, run) = last.ok_or_else(|| unknown(&self.name))?;
        Ok((*number, run))
    }

    /// The session that it was forked from, and the number of its own first run.
    fn parent(&self) -> Option<(SessionName, u32)> {
        let (number, first) = self.runs.first_key_value()?;
        let parent = details(first)?.forked_from?;
        Some((parent.parse().ok()?, *number))
    }

    /// The run of this number, or the last one.
    pub(crate) fn run(&self, number: Option<u32>) -> Result<(u32, &RunRecord), Error> {
        let Some(number) = number else {
            return self.last();
        };
        let run = self
            .runs
            .get(&number)
            .ok_or_else(|| Error::input(format_args!("session {} has no run {number}", self.name)));
        Ok((number, run?))
    }

    /// When something was written of it for the last time.
    pub(crate) fn updated(&self) -> SystemTime {
        let times = self.runs.values().map(|run| run.updated);
        times.max().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The cost of all its runs, in US dollars; `None` if the price of a model call is not known.
    pub(crate) fn total_cost(&self) -> Option<f64> {
        let of_run = |run: &RunRecord| match &run.progress.summary {
            Some(summary) => summary.total_cost,
            // It has not said yet whether all prices are known.
            None => Some(run.progress.known_cost).filter(|known| *known > 0.0),
        };
        self.runs.values().map(of_run).sum()
    }

    /// The working directory; `None` if the command line did not begin it.
    pub(crate) fn folder(&self) -> Option<String> {
        let last = self.runs.values().next_back();
        Some(details(last?)?.folder)
    }

    /// The known cost of all its runs, in US dollars.
    pub(crate) fn cost(&self) -> f64 {
        self.runs.values().map(|run| run.progress.known_cost).sum()
    }
}

/// The beginning of what the user has typed for a run.
pub(crate) fn title(run: &RunRecord) -> String {
    match details(run).and_then(|it| it.typed) {
        Some(typed) => typed.chars().take(TITLE).collect(),
        None => run.prompt.clone().unwrap_or_default(),
    }
}

/// Returns the details that the command line has stored with a run.
pub(crate) fn details(run: &RunRecord) -> Option<Details> {
    serde_json::from_str(run.details.as_deref()?).ok()
}

/// The run of a session that is in progress.
pub(crate) struct Kept {
    pub(crate) sessions: Sessions,
    pub(crate) name: SessionName,
    pub(crate) run: RunId,
    /// Whom it asks.
    pub(crate) asker: Option<Arc<Asker>>,
    /// Keeps other processes out of the session; `None` when it was left.
    pub(crate) hold: Option<Hold>,
}

impl Kept {
    /// A new session. Only its details are stored. The claim is held until its first run has begun.
    pub(crate) async fn begin(
        data: &DataArgs,
        name: Option<&SessionName>,
        settings: &Settings,
        is_unattended: bool,
    ) -> Result<(Self, Claim), Error> {
        let sessions = Sessions::open(data)?;
        let claim = sessions.claim().await?;
        let name = match name {
            Some(name) if sessions.find(name).await?.is_some() => {
                return Err(Error::input(format_args!(
                    "there is a session {name} already; continue it with --continue {name}, or choose another name"
                )));
            }
            Some(name) => name.clone(),
            None => loop {
                let name = SessionName::generated();
                if sessions.find(&name).await?.is_none() {
                    break name;
                }
            },
        };
        let mut details = Details::of(settings).map_err(|error| Error::machine(&error))?;
        details.is_unattended = is_unattended;
        let kept = Self {
            run: name.run(1).map_err(Error::input)?,
            hold: Some(claim.hold(&name).await?),
            sessions,
            name,
            asker: None,
        };
        kept.store(&details).await?;
        Ok((kept, claim))
    }

    /// Stores the details of the run.
    pub(crate) async fn store(&self, details: &Details) -> Result<(), Error> {
        let json = serde_json::to_string(details).map_err(Error::input)?;
        let journal = &self.sessions.journal;
        let stored = journal.set_details(&self.run, json).await;
        stored.map_err(|error| problem(&error))
    }
}
