//! The journal: one file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use futures_util::stream;
use gadgetry::journal::{
    Checkpoint, Durability, Journal, JournalError, Opened, RunId, RunProgress,
};
use gadgetry::log::{Entry, LogHeader};
use gadgetry_files as files;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};

use crate::error::ReadError;
use crate::header::{self, NewHeader, WrittenLists};
use crate::owner::{now_ms, refuse_if_alive, sweep};
use crate::reader::Reader;
use crate::recorder::SqliteRecorder;
use crate::writer::{Ended, Writer, lease};
use crate::{chunk, rows, schema, sum};

/// Maximum time to wait for another process that writes.
const BUSY: Duration = Duration::from_mins(1);

/// A journal of durable runs in an SQLite file. Clones are the same journal.
///
/// See the [crate](crate) for an example.
#[derive(Clone)]
pub struct SqliteJournal {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) path: PathBuf,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    written: Mutex<WrittenLists>,
    ended: [Ended; 2],
}

/// Options of a [`SqliteJournal`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("runs.db");
/// use gadgetry_store::SqliteJournal;
/// let journal = SqliteJournal::builder(path).without_sync().open()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct SqliteJournalBuilder {
    path: PathBuf,
    limit: Durability,
}

impl SqliteJournalBuilder {
    /// Leaves it to the system when what was written reaches the disk. Runs survive the end of the process, but a power
    /// failure may lose their last steps, which are then done again.
    pub fn without_sync(mut self) -> Self {
        self.limit = Durability::Written;
        self
    }

    /// Opens the file, or makes a new one that only its owner can read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, is not a journal, or is one of a newer version.
    pub fn open(self) -> Result<SqliteJournal, JournalError> {
        let place = self.path.display().to_string();
        let failed =
            |error: &dyn std::fmt::Display| JournalError::storage(format!("{place}: {error}"));
        make_private(&self.path).map_err(|error| failed(&error))?;
        let mut writing = connect(&self.path).map_err(|error| failed(&error))?;
        schema::migrate(&mut writing, &place)?;
        let reading = connect(&self.path).map_err(|error| failed(&error))?;
        sweep(&self.path);
        let writer = Writer::start(writing, self.path.clone(), self.limit);
        let (writer, writing) = writer.map_err(|error| failed(&error))?;
        let (reader, reading) = Reader::start(reading).map_err(|error| failed(&error))?;
        Ok(SqliteJournal {
            inner: Arc::new(Inner {
                path: self.path,
                writer,
                reader,
                written: Mutex::default(),
                ended: [writing, reading],
            }),
        })
    }
}

/// Makes the file, and the folder it is in, if they are not there: for their owner only.
fn make_private(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|it| !it.exists()) {
        files::create_private_folder(folder)?;
    }
    // Never one that is there: to close a file ends all locks of the process on it, also those of SQLite.
    match files::create_private(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Switches the file to WAL, unless it is. Another process that does so at the same moment makes this fail at once, whatever the
/// busy timeout, so it is tried for as long.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        let set = connection.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(()));
        let is_busy = set
            .as_ref()
            .is_err_and(|error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy));
        if !is_busy || began.elapsed() > BUSY {
            return set;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    use_write_ahead_log(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Expressions in the tables of a file are no more than data.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

impl SqliteJournal {
    /// Opens the journal in the file `path`, or makes a new one that only its owner can read. Finished steps are synced to the
    /// disk; [`SqliteJournal::builder`] has the alternative.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, is not a journal, or is one of a newer version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        Self::builder(path).open()
    }

    /// Options for opening a journal.
    pub fn builder(path: impl Into<PathBuf>) -> SqliteJournalBuilder {
        SqliteJournalBuilder {
            path: path.into(),
            limit: Durability::Synced,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Waits until everything that was sent to the writer is done, such as the release of a run that was dropped.
    ///
    /// Cancel safety: nothing is lost.
    pub async fn flush(&self) {
        // It cannot fail, because it does nothing.
        let nothing = |_: &mut Connection| Ok(());
        let _ = self.inner.writer.write(Durability::Written, nothing).await;
    }

    /// Returns the number of messages and long results that were written down for runs that began. Those with which a conversation
    /// continues the last ones are not written down again.
    pub fn items_written(&self) -> u64 {
        self.written().items_written()
    }

    fn written(&self) -> MutexGuard<'_, WrittenLists> {
        let written = self.inner.written.lock();
        written.unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `owner` the owner of a run, which begins if it is not there. Returns its key, whether it has begun, and the size of its
    /// header.
    async fn take_up(
        &self,
        id: &RunId,
        header: Option<&LogHeader>,
        owner: &str,
    ) -> Result<(i64, bool, u64), JournalError> {
        let take_up = async |new: Option<NewHeader>| {
            let bytes = new.as_ref().map_or(0, |it| it.bytes);
            let (path, run, name) = (self.inner.path.clone(), id.clone(), owner.to_owned());
            let take_up = move |connection: &mut Connection| {
                take_up(connection, &path, &run, new.as_ref(), &name)
            };
            // A run whose beginning is lost in a power failure begins again. The first step that must not be lost syncs this, too.
            let taken = self.inner.writer.write(Durability::Written, take_up);
            let taken = taken.await?;
            Ok::<_, JournalError>(taken.map(|(key, is_new)| (key, is_new, bytes)))
        };
        let new = header.map(|it| NewHeader::of(it, &mut self.written()));
        if let Some(taken) = take_up(new.transpose()?).await? {
            return Ok(taken);
        }
        self.written().forget();
        let whole = header.map(|it| NewHeader::of(it, &mut WrittenLists::default()));
        let taken = take_up(whole.transpose()?).await?;
        taken.ok_or_else(|| JournalError::Unknown(id.clone()))
    }

    /// Closes the file, if this is the last handle of the journal: waits until everything is written. Runs that are still
    /// driven keep the file open, so drop them before. Unless another process has it open, everything is in this one file then,
    /// which can be copied.
    ///
    /// A journal that is dropped is closed, too, a moment later.
    ///
    /// Cancel safety: the file is closed without the future.
    pub async fn close(self) {
        if let Some(Inner {
            writer,
            reader,
            ended,
            ..
        }) = Arc::into_inner(self.inner)
        {
            let [writing, reading] = ended;
            // One after the other: of two connections that close at once, each may take the other for one that stays, and then neither
            // moves what is in the write-ahead log to the file. Either way the threads have ended.
            drop(reader);
            let _ = reading.await;
            drop(writer);
            let _ = writing.await;
        }
    }
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteJournal")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

impl Journal for SqliteJournal {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        Box::pin(async move {
            let owner = self.inner.writer.owner()?;
            let (key, is_new, bytes) = self.take_up(id, header, &owner.name).await?;
            // From here on the recorder releases the run.
            let writer = self.inner.writer.clone();
            let mut recorder = SqliteRecorder::new(writer, id.clone(), key, bytes);
            let mut messages = self.inner.reader.inbox(key, owner.name.clone());
            let inbox = Box::pin(stream::poll_fn(move |cx| messages.poll_recv(cx)));
            if let Some(header) = header.filter(|_| is_new) {
                let mut opened = Opened::new(header.clone(), Box::new(recorder));
                opened.inbox = inbox;
                return Ok(opened);
            }
            let run = id.clone();
            let known = self.inner.reader.read(move |it| load(it, &run, key));
            let known = known.await?;
            recorder.after(known.last, known.bytes, known.checkpoint_bytes);
            let mut opened = Opened::new(known.header, Box::new(recorder));
            opened.checkpoint = known.checkpoint;
            opened.entries = known.entries;
            opened.inbox = inbox;
            Ok(opened)
        })
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let (path, id) = (self.inner.path.clone(), id.clone());
            let forget = move |it: &mut Connection| rows::forget(it, &path, &id);
            self.inner.writer.write(Durability::Synced, forget).await
        })
    }
}

/// Makes `owner` the owner of the run, which begins if it is not there. Returns its key, and whether it has begun; `None` if what its
/// header continues was removed.
fn take_up(
    connection: &mut Connection,
    path: &Path,
    id: &RunId,
    header: Option<&NewHeader>,
    owner: &str,
) -> Result<Option<(i64, bool)>, JournalError> {
    let sqlite = |error: rusqlite::Error| JournalError::storage(error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    let known: Option<(i64, Option<String>, i64)> = transaction
        .query_row(
            "SELECT key, owner, lease_ms FROM runs WHERE id = ?1",
            [id.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()
        .map_err(sqlite)?;
    let is_new = known.is_none();
    let key = match (known, header) {
        (None, None) => return Err(JournalError::Unknown(id.clone())),
        (None, Some(header)) if !header.can_keep(&transaction).map_err(sqlite)? => {
            return Ok(None);
        }
        (None, Some(header)) => begin(&transaction, id, header, owner).map_err(sqlite)?,
        (Some((key, other, lease_ms)), _) => {
            if let Some(other) = other {
                refuse_if_alive(path, id, &other, lease_ms)?;
            }
            transaction
                .execute(
                    "UPDATE runs SET owner = ?1, lease_ms = ?2 WHERE key = ?3",
                    (owner, lease(), key),
                )
                .map_err(sqlite)?;
            key
        }
    };
    transaction.commit().map_err(sqlite)?;
    Ok(Some((key, is_new)))
}

fn begin(
    connection: &Connection,
    id: &RunId,
    header: &NewHeader,
    owner: &str,
) -> rusqlite::Result<i64> {
    let progress = serde_json::to_string(&RunProgress::default()).unwrap_or_default();
    let progress = sum::seal(&[], &progress);
    connection.execute(
        "INSERT INTO runs (id, created_ms, updated_ms, owner, lease_ms, progress, entries)
         VALUES (?1, ?2, ?2, ?3, ?4, ?5, 0)",
        (id.as_str(), now_ms(), owner, lease(), progress),
    )?;
    let key = connection.last_insert_rowid();
    header.keep(connection, key)?;
    Ok(key)
}

/// Stored state of a run.
struct Known {
    header: LogHeader,
    checkpoint: Option<Checkpoint>,
    /// The size of the checkpoint, or of the header without one.
    checkpoint_bytes: u64,
    entries: Vec<Entry>,
    /// The number of the last row of entries.
    last: i64,
    /// Number of bytes of the entries.
    bytes: u64,
}

fn load(connection: &mut Connection, id: &RunId, key: i64) -> Result<Known, JournalError> {
    let (header, header_bytes) = header::read(connection, id, key)?;
    let found: Option<(String, i64)> = connection
        .query_row(
            "SELECT json, entry FROM checkpoints WHERE run = ?1",
            [key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
        .map_err(JournalError::storage)?;
    let (mut checkpoint, mut checkpoint_bytes, mut after) = (None, header_bytes, -1);
    if let Some((json, entry)) = found {
        let damaged = |error: ReadError| JournalError::Damaged {
            run: id.clone(),
            place: "its checkpoint".to_owned(),
            problem: error.to_string(),
        };
        let json = sum::open(&[key, entry], &json).map_err(damaged)?;
        let json = chunk::whole(connection, json).map_err(damaged)?;
        checkpoint_bytes = json.len() as u64;
        checkpoint = Some(serde_json::from_str(&json).map_err(|error| damaged(error.into()))?);
        after = entry;
    }
    let mut entries = Vec::new();
    let last = chunk::entries(connection, id, key, after, -1, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    chunk::check(connection, id, key, last)?;
    let bytes: i64 = connection
        .query_row(
            "SELECT coalesce(sum(length(lines)), 0) FROM entries WHERE id > ?1 AND id < ?2",
            chunk::ids(key, after),
            |row| row.get(0),
        )
        .map_err(JournalError::storage)?;
    Ok(Known {
        header,
        checkpoint,
        checkpoint_bytes,
        entries,
        last,
        bytes: u64::try_from(bytes).unwrap_or_default(),
    })
}
