//! The runs of a journal: their records, and the operations of other processes on them.
//!
//! A record is read from `runs`, `headers` and `details`, never from the log, so listing a run costs the same however long it is. Its
//! progress is stored in one transaction with the entries that led to it, so it is never ahead of the log.
//!
//! Only the owner of a run appends entries. An answer or a command from outside is a row of `messages`, also while no process drives
//! the run; the owner records it as an entry, and removes the row in the same transaction. [`SqliteJournal::cancel`] becomes the owner
//! for a moment if the run has none.
//!
//! Checkpoints, headers and messages are removed with the row of their run, by foreign keys. Entries have none: their ids are a range
//! that follows from the key of the run, which is never used twice. A long value is removed with the last run or item that needs it.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gadgetry::Event;
use gadgetry::journal::{
    Durability, Journal as _, JournalError, Opened, RunId, RunMessageContent, RunProgress, play,
};
use gadgetry::log::{Entry, LogError};
use gadgetry::proto::run::{Command, Decision, Input, QuestionRef};
use rusqlite::{Connection, Row};

use crate::error::ReadError;
use crate::journal::SqliteJournal;
use crate::owner::{has_died, now_ms};
use crate::rows::key;
use crate::sum;

/// A run of a journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunRecord {
    /// Name of the run.
    pub id: RunId,
    /// Time at which the run began.
    pub created: SystemTime,
    /// When it was written to for the last time.
    pub updated: SystemTime,
    /// Progress of the run.
    pub progress: RunProgress,
    /// Whether a process drives it.
    pub is_driven: bool,
    /// The beginning of the last message before the first request, at most 500 characters, which is what the run is about; `None` if
    /// an earlier version has begun the run and its header is damaged.
    pub prompt: Option<String>,
    /// Reason that its progress, prompt or details cannot be read. What cannot is the default one, or `None`.
    pub damage: Option<String>,
    /// Document that the application has stored with it; see [`SqliteJournal::set_details`].
    pub details: Option<String>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// A process drives it.
    Running,
    /// The run waits for nothing but the answers to its [questions](RunProgress::questions), in a process or in none.
    Waiting,
    /// The process that drove it has ended. It can be resumed.
    Interrupted,
    /// The run has ended; see [`RunProgress::summary`].
    Finished,
    /// A disk or another program has changed its progress, prompt or details; see [`RunRecord::damage`].
    Damaged,
}

impl RunRecord {
    /// The state of the run.
    pub fn status(&self) -> Status {
        if self.damage.is_some() {
            Status::Damaged
        } else if self.progress.summary.is_some() {
            Status::Finished
        } else if self.progress.is_waiting {
            Status::Waiting
        } else if self.is_driven {
            Status::Running
        } else {
            Status::Interrupted
        }
    }
}

/// Runs that are read.
enum Which {
    All,
    One(RunId),
    /// Those whose names begin with this.
    Named(String),
}

/// Names from the first to before the second, without those of subagents.
const RANGE: &str = "id >= ?1 AND id < ?2 AND instr(id, '/') = 0";

/// After all characters of names.
const LAST: &str = "\u{10ffff}";

impl SqliteJournal {
    /// All runs, those that were written to last first, without the runs of subagents. Damage of one does not hide the others.
    ///
    /// # Errors
    ///
    /// Those of the storage.
    pub async fn runs(&self) -> Result<Vec<RunRecord>, JournalError> {
        self.records(Which::All).await
    }

    /// The runs whose names begin with this text, in the order of [`runs`](Self::runs), without the runs of subagents. It reads no
    /// others.
    ///
    /// # Errors
    ///
    /// Those of the storage.
    pub async fn runs_named(
        &self,
        beginning: impl Into<String>,
    ) -> Result<Vec<RunRecord>, JournalError> {
        self.records(Which::Named(beginning.into())).await
    }

    /// Returns the record of one run.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, [`JournalError::Damaged`] if its progress, prompt or details cannot be read, and those of the storage.
    pub async fn run(&self, id: &RunId) -> Result<RunRecord, JournalError> {
        let mut found = self.records(Which::One(id.clone())).await?;
        let record = found.pop();
        let mut record = record.ok_or_else(|| JournalError::Unknown(id.clone()))?;
        match record.damage.take() {
            Some(problem) => Err(JournalError::Damaged {
                run: id.clone(),
                place: "its record".to_owned(),
                problem,
            }),
            None => Ok(record),
        }
    }

    async fn records(&self, which: Which) -> Result<Vec<RunRecord>, JournalError> {
        let path = self.inner.path.clone();
        let read = move |connection: &mut Connection| {
            let (condition, from, to) = match which {
                // They hold for all names.
                Which::All => (RANGE, String::new(), LAST.to_owned()),
                Which::One(id) => ("id = ?1 AND ?2 = ''", id.to_string(), String::new()),
                Which::Named(beginning) => {
                    let to = format!("{beginning}{LAST}");
                    (RANGE, beginning, to)
                }
            };
            let sql = format!(
                "SELECT id, created_ms, updated_ms, progress, owner, lease_ms, details.json, prompt, key
                 FROM runs LEFT JOIN details ON details.run = id LEFT JOIN headers ON headers.run = key
                 WHERE {condition} ORDER BY updated_ms DESC, key DESC"
            );
            let mut statement = connection
                .prepare_cached(&sql)
                .map_err(JournalError::storage)?;
            let mut rows = statement.query([from, to]).map_err(JournalError::storage)?;
            let mut records = Vec::new();
            while let Some(row) = rows.next().map_err(JournalError::storage)? {
                records.extend(record(row, &path)?);
            }
            Ok(records)
        };
        self.inner.reader.read(read).await
    }

    /// Answers a question of a run, whether or not a process drives it: the run continues with the answer now, or when it
    /// is resumed. [`RunProgress::questions`] has the questions.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, [`JournalError::NoQuestion`] if it has no such question, or the
    /// question does not admit this answer, and those of the storage.
    pub async fn answer(
        &self,
        id: &RunId,
        question: QuestionRef,
        decision: Decision,
    ) -> Result<(), JournalError> {
        let record = self.run(id).await?;
        let mut questions = record.progress.questions.iter();
        let open = questions.find(|it| it.id == question);
        if !open.is_some_and(|it| it.kind.admits(&decision)) {
            let run = id.clone();
            return Err(JournalError::NoQuestion { run, question });
        }
        let answer = RunMessageContent::Answer { question, decision };
        self.send(id, &answer).await
    }

    /// Cancels a run: its gadgets are cancelled, every call is answered, and it ends.
    ///
    /// A run that no process drives ends at once, unless code decides about it ([`LogError::Code`]): that ends when it is
    /// resumed next. A run that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, and those of the storage.
    pub async fn cancel(&self, id: &RunId) -> Result<(), JournalError> {
        match self.open(id, None).await {
            Ok(opened) => match end(id, opened).await {
                Err(JournalError::Log(LogError::Code(_))) => {}
                ended => return ended,
            },
            Err(JournalError::Owned { .. }) => {}
            Err(error) => return Err(error),
        }
        let cancel = RunMessageContent::Command(Command::Cancel);
        self.send(id, &cancel).await
    }

    async fn send(&self, id: &RunId, content: &RunMessageContent) -> Result<(), JournalError> {
        let content = serde_json::to_string(content).map_err(JournalError::storage)?;
        let content = sum::seal(&[], &content);
        let id = id.clone();
        let write = move |connection: &mut Connection| {
            let sent = connection.execute(
                "INSERT INTO messages (run, content) SELECT key, ?2 FROM runs WHERE id = ?1",
                (id.as_str(), content),
            );
            match sent.map_err(JournalError::storage)? {
                0 => Err(JournalError::Unknown(id)),
                _ => Ok(()),
            }
        };
        self.inner.writer.write(Durability::Synced, write).await
    }

    /// Returns the number of answers and commands from outside that the run has not taken yet.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, and those of the storage.
    pub async fn unread(&self, id: &RunId) -> Result<u64, JournalError> {
        let id = id.clone();
        let read = move |connection: &mut Connection| {
            let key = key(connection, &id)?;
            let sql = "SELECT count(*) FROM messages WHERE run = ?1";
            let count: i64 = connection
                .query_row(sql, [key], |row| row.get(0))
                .map_err(JournalError::storage)?;
            Ok(u64::try_from(count).unwrap_or_default())
        };
        self.inner.reader.read(read).await
    }

    /// Stores a document of the application with the name of a run, before it begins or later. It is removed with the run.
    ///
    /// # Errors
    ///
    /// Those of the storage.
    pub async fn set_details(
        &self,
        id: &RunId,
        details: impl Into<String>,
    ) -> Result<(), JournalError> {
        let (id, details) = (id.clone(), details.into());
        let details = sum::seal(&sum::name(id.as_str()), &details);
        let write = move |connection: &mut Connection| {
            let sql = "INSERT INTO details (run, json) VALUES (?1, ?2)
                       ON CONFLICT (run) DO UPDATE SET json = excluded.json";
            let done = connection.execute(sql, (id.as_str(), details));
            done.map(|_| ()).map_err(JournalError::storage)
        };
        self.inner.writer.write(Durability::Synced, write).await
    }

    /// Removes the runs that were not written to for this long and that no process drives. Returns their names.
    ///
    /// # Errors
    ///
    /// Those of the storage.
    pub async fn forget_older_than(&self, age: Duration) -> Result<Vec<RunId>, JournalError> {
        let before = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
        let mut forgotten = Vec::new();
        for run in self.runs().await? {
            if run.updated <= before && !run.is_driven {
                gadgetry::journal::Journal::forget(self, &run.id).await?;
                forgotten.push(run.id);
            }
        }
        Ok(forgotten)
    }

    /// Gives the space of removed runs back to the system. Takes as long as copying the file.
    ///
    /// # Errors
    ///
    /// Those of the storage, such as a full disk.
    pub async fn vacuum(&self) -> Result<(), JournalError> {
        let vacuum = |connection: &mut Connection| {
            let sql = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE);";
            connection.execute_batch(sql).map_err(JournalError::storage)
        };
        self.inner.writer.write(Durability::Synced, vacuum).await
    }
}

/// Ends a run that no process drives.
async fn end(id: &RunId, opened: Opened) -> Result<(), JournalError> {
    let Opened {
        header,
        checkpoint,
        entries,
        mut recorder,
        ..
    } = opened;
    let plan = header.plan()?;
    let mut run = match checkpoint {
        Some(checkpoint) => gadgetry::proto::run::Run::load(&plan, checkpoint.run)?,
        None => header.run()?,
    };
    if play(id, &mut run, entries, &mut |_: &Event| {})?.is_some() {
        return Ok(());
    }
    let mut summary = None;
    for input in [Input::Command(Command::Cancel), Input::Interrupted] {
        let time = run.now();
        recorder.record(time, &input);
        summary = play(id, &mut run, [Entry { time, input }], &mut |_: &Event| {})?;
    }
    recorder.progress(RunProgress {
        iterations: run.iterations(),
        known_cost: run.total_cost(),
        summary,
        ..RunProgress::default()
    });
    recorder.commit(Durability::Synced).await
}

/// Reads the record of a run; `None` for a name that no run can have.
fn record(row: &Row<'_>, path: &Path) -> Result<Option<RunRecord>, JournalError> {
    let text = |at: usize| row.get::<_, String>(at).map_err(JournalError::storage);
    let number = |at: usize| row.get::<_, i64>(at).map_err(JournalError::storage);
    let optional = |at: usize| {
        row.get::<_, Option<String>>(at)
            .map_err(JournalError::storage)
    };
    let id = text(0)?;
    let Ok(id) = RunId::parse_any(&id) else {
        tracing::warn!("a run of the journal has a name that no run can have: {id:?}");
        return Ok(None);
    };
    let lease_ms = number(5)?;
    let owner = optional(4)?.filter(|_| lease_ms >= now_ms());
    let progress = text(3)?;
    let progress = sum::open(&[], &progress).and_then(|json| Ok(serde_json::from_str(json)?));
    let (progress, mut damage) = match progress {
        Ok(progress) => (progress, None),
        Err::<_, ReadError>(error) => (RunProgress::default(), Some(error.to_string())),
    };
    let mut opened = |place: &[i64], at: usize| -> Result<Option<String>, JournalError> {
        let Some(sealed) = optional(at)? else {
            return Ok(None);
        };
        let text = sum::open(place, &sealed).map(str::to_owned);
        Ok(text
            .map_err(|error| damage.get_or_insert_with(|| error.to_string()))
            .ok())
    };
    let details = opened(&sum::name(id.as_str()), 6)?;
    let prompt = opened(&[number(8)?], 7)?;
    Ok(Some(RunRecord {
        created: time(number(1)?),
        updated: time(number(2)?),
        progress,
        damage,
        is_driven: owner.is_some_and(|owner| !has_died(path, &owner)),
        details,
        prompt,
        id,
    }))
}

fn time(ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}
