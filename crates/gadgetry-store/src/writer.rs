//! The one thread that writes. Work that arrives while it is busy is committed together.
//!
//! An append is never split over transactions: the row of log entries, the long values that its lines refer to, the progress and the
//! count of rows of the run, and the messages that the run has taken are stored together or not at all. So every reference in a stored
//! line has its value, a message is either in the log or still unread, and a row that is missing below the count is damage.
//!
//! Rows of a run have no gaps. An append first updates the row of the run on the condition that this process owns it, and stores
//! nothing if another process has taken the run up; after an append that was lost or failed, [`Failed`] refuses all later ones.
//!
//! A checkpoint names the last row that it includes. It is sent after the append of that row, so it is stored later and never claims
//! rows that are not there. A run can be resumed without it, from the header and all rows, so it is not synced on its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gadgetry::journal::{Durability, JournalError, RunId};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::owner::{HEARTBEAT, LEASE, Owner, now_ms};
use crate::sum;
use crate::values::{self, LongValue};

/// Jobs that one transaction takes at most.
const BATCH: usize = 256;

/// Time for which a thread polls before it sleeps. To be woken on an idle machine takes about as long, and
/// to write a step without a sync takes less.
const SPIN: Duration = Duration::from_micros(100);

type Reply = oneshot::Sender<Result<(), JournalError>>;
type Write = Box<dyn FnOnce(&mut Connection) + Send>;

/// Part of a run that is to be kept.
pub(crate) struct Append {
    pub(crate) id: RunId,
    pub(crate) key: i64,
    /// The row of these lines.
    pub(crate) number: i64,
    pub(crate) lines: String,
    pub(crate) long: Vec<LongValue>,
    pub(crate) progress: Option<String>,
    /// Whether the run has ended, and needs no owner any more.
    pub(crate) is_over: bool,
    /// Messages that were taken.
    pub(crate) taken: Vec<u64>,
    pub(crate) durability: Durability,
    pub(crate) failed: Failed,
    pub(crate) reply: Reply,
}

/// Set once something of a run could not be kept: nothing after it is.
pub(crate) type Failed = Arc<OnceLock<Failure>>;

/// Error of something that could not be kept.
pub(crate) enum Failure {
    /// Another owner has the run.
    Lost,
    Storage(String),
}

impl Failure {
    fn of(&self, run: RunId) -> JournalError {
        match self {
            Self::Lost => JournalError::Lost { run },
            Self::Storage(words) => JournalError::storage(words.clone()),
        }
    }
}

enum Job {
    Append(Append),
    /// Something else. It makes its own transaction, which is to be so safe.
    Write(Durability, Write),
}

/// Resolves when a thread has ended and closed its connection.
pub(crate) type Ended = oneshot::Receiver<()>;

/// The writer thread. It ends when all handles are dropped.
#[derive(Clone)]
pub(crate) struct Writer {
    jobs: Sender<Job>,
    owner: Arc<Mutex<Option<Arc<Owner>>>>,
    path: Arc<Path>,
    /// No commit is safer than this.
    limit: Durability,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        path: PathBuf,
        limit: Durability,
    ) -> std::io::Result<(Self, Ended)> {
        let (jobs, received) = channel();
        let (end, ended) = oneshot::channel();
        let owner = Arc::<Mutex<Option<Arc<Owner>>>>::default();
        let shared = Arc::clone(&owner);
        thread::Builder::new()
            .name("gadgetry-journal".to_owned())
            .spawn(move || {
                // Dropped after the connection.
                let _end = end;
                Thread::new(connection, shared, limit).run(&received);
            })?;
        let writer = Self {
            jobs,
            owner,
            path: path.into(),
            limit,
        };
        Ok((writer, ended))
    }

    pub(crate) fn append(&self, append: Append) {
        if let Err(error) = self.jobs.send(Job::Append(append))
            && let Job::Append(append) = error.0
        {
            let _ = append.reply.send(Err(ended()));
        }
    }

    /// Lets the thread do something, after everything that was sent before.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (reply, done) = oneshot::channel();
        self.send(durability, move |connection| {
            // It fails if nothing waits for the result.
            let _ = reply.send(work(connection));
        });
        self.done(durability, done).await
    }

    /// The same without waiting.
    pub(crate) fn send(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Connection) + Send + 'static,
    ) {
        let _ = self.jobs.send(Job::Write(durability, Box::new(work)));
    }

    /// Waits for the reply of the thread.
    pub(crate) async fn done<T>(
        &self,
        durability: Durability,
        mut reply: oneshot::Receiver<Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        let is_quick = durability.min(self.limit) == Durability::Written;
        if is_quick && let Some(done) = spin(|| reply.try_recv().ok()) {
            return done;
        }
        reply.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The owner of the runs that this process drives. Made when it is first needed.
    pub(crate) fn owner(&self) -> Result<Arc<Owner>, JournalError> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = &*owner {
            return Ok(Arc::clone(owner));
        }
        let new = Arc::new(Owner::new(&self.path).map_err(JournalError::storage)?);
        *owner = Some(Arc::clone(&new));
        Ok(new)
    }
}

/// The thread has ended, which only a panic of it can do.
fn ended() -> JournalError {
    JournalError::storage("its writer has ended")
}

struct Thread {
    connection: Connection,
    owner: Arc<Mutex<Option<Arc<Owner>>>>,
    /// No commit is safer than this.
    limit: Durability,
    /// Durability that SQLite is set to.
    synchronous: Option<Durability>,
}

impl Thread {
    fn new(
        connection: Connection,
        owner: Arc<Mutex<Option<Arc<Owner>>>>,
        limit: Durability,
    ) -> Self {
        Self {
            connection,
            owner,
            limit,
            synchronous: None,
        }
    }

    fn run(mut self, jobs: &Receiver<Job>) {
        let mut renewed = Instant::now();
        loop {
            let left = HEARTBEAT.saturating_sub(renewed.elapsed());
            match next(jobs, left) {
                Ok(job) => self.work(job, jobs),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if renewed.elapsed() >= HEARTBEAT {
                self.renew();
                renewed = Instant::now();
            }
        }
    }

    /// Does this job and those that are queued after it.
    fn work(&mut self, first: Job, jobs: &Receiver<Job>) {
        let mut next = Some(first);
        while let Some(job) = next.take() {
            match job {
                Job::Write(durability, write) => {
                    if let Err(error) = self.set_synchronous(durability) {
                        tracing::warn!("a journal is not synced: {error}");
                    }
                    write(&mut self.connection);
                }
                Job::Append(append) => {
                    let mut appends = vec![append];
                    while appends.len() < BATCH {
                        match jobs.try_recv() {
                            Ok(Job::Append(append)) => appends.push(append),
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.append(appends);
                }
            }
        }
    }

    fn append(&mut self, appends: Vec<Append>) {
        let needed = appends.iter().map(|it| it.durability).max();
        let needed = needed.unwrap_or(Durability::Written);
        let owner = self.owner_name().unwrap_or_default();
        let kept = self
            .set_synchronous(needed)
            .and_then(|()| append_all(&mut self.connection, &appends, &owner));
        match kept {
            Ok(lost) => {
                for (append, is_lost) in appends.into_iter().zip(lost) {
                    if is_lost {
                        append.failed.get_or_init(|| Failure::Lost);
                    }
                    append.reply();
                }
            }
            Err(error) => {
                let words = error.to_string();
                for append in appends {
                    append
                        .failed
                        .get_or_init(|| Failure::Storage(words.clone()));
                    append.reply();
                }
            }
        }
    }

    /// Sets when SQLite syncs the write-ahead log: at each commit, or only when it is copied into the file. A commit that
    /// syncs makes all commits before it safe, too, because they are in the same log.
    fn set_synchronous(&mut self, durability: Durability) -> rusqlite::Result<()> {
        let durability = durability.min(self.limit);
        if self.synchronous == Some(durability) {
            return Ok(());
        }
        let level = match durability {
            Durability::Written => "NORMAL",
            Durability::Synced => "FULL",
        };
        self.connection.pragma_update(None, "synchronous", level)?;
        self.synchronous = Some(durability);
        Ok(())
    }

    fn owner_name(&self) -> Option<String> {
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.as_ref().map(|it| it.name.clone())
    }

    fn renew(&mut self) {
        let Some(owner) = self.owner_name() else {
            return;
        };
        let renewed = self.connection.execute(
            "UPDATE runs SET lease_ms = ?1 WHERE owner = ?2",
            (lease(), &owner),
        );
        if let Err(error) = renewed {
            tracing::warn!("the lease of durable runs could not be renewed: {error}");
        }
    }
}

/// The next job.
fn next(jobs: &Receiver<Job>, timeout: Duration) -> Result<Job, RecvTimeoutError> {
    let found = spin(|| match jobs.try_recv() {
        Ok(job) => Some(Ok(job)),
        Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
        Err(TryRecvError::Empty) => None,
    });
    found.unwrap_or_else(|| jobs.recv_timeout(timeout))
}

/// Looks for something for a moment. Other threads have the core meanwhile, if they need it.
fn spin<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = look();
        if found.is_some() || began.elapsed() > SPIN {
            return found;
        }
        thread::yield_now();
    }
}

/// When a lease that begins now ends.
pub(crate) fn lease() -> i64 {
    now_ms() + i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

impl Append {
    /// Replies whether it was kept.
    fn reply(self) {
        let failure = self.failed.get().map(|failure| failure.of(self.id));
        // It fails if nothing waits for it.
        let _ = self.reply.send(failure.map_or(Ok(()), Err));
    }
}

/// Keeps all of it in one transaction. Says of each whether its run has another owner by now.
fn append_all(
    connection: &mut Connection,
    appends: &[Append],
    owner: &str,
) -> rusqlite::Result<Vec<bool>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut lost = Vec::with_capacity(appends.len());
    for append in appends {
        let is_over = append.failed.get().is_some();
        lost.push(!is_over && !append_one(&transaction, append, owner)?);
    }
    transaction.commit()?;
    Ok(lost)
}

fn append_one(
    transaction: &Transaction<'_>,
    append: &Append,
    owner: &str,
) -> rusqlite::Result<bool> {
    let Append {
        key,
        number,
        lines,
        long,
        progress,
        is_over,
        taken,
        ..
    } = append;
    let entries = (!lines.is_empty()).then(|| number + 1);
    // Always, so that there is something to sync, and so that a run that was taken up by another owner is noticed.
    let own = transaction
        .prepare_cached(
            "UPDATE runs SET updated_ms = ?1, lease_ms = ?2, progress = coalesce(?3, progress),
             owner = iif(?6, NULL, owner), entries = coalesce(?7, entries)
             WHERE key = ?4 AND owner = ?5",
        )?
        .execute((now_ms(), lease(), progress, key, owner, is_over, entries))?;
    if own == 0 {
        return Ok(false);
    }
    if !lines.is_empty() {
        let sealed = sum::seal(&[*key, *number], lines);
        transaction
            .prepare_cached("INSERT INTO entries (id, lines) VALUES (?1, ?2)")?
            .execute((crate::chunk::entry_id(*key, *number), sealed.as_bytes()))?;
    }
    values::keep_all(transaction, *key, long)?;
    for message in taken {
        let message = i64::try_from(*message).unwrap_or(i64::MAX);
        transaction
            .prepare_cached("DELETE FROM messages WHERE id = ?1 AND run = ?2")?
            .execute((message, key))?;
    }
    Ok(true)
}
