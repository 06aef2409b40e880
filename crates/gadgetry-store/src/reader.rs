//! The thread that reads, and that looks for what other processes have written.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gadgetry::journal::{JournalError, RunMessage, RunMessageContent};
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::{mpsc, oneshot, watch};

use crate::sum;
use crate::writer::Ended;

/// Time between two looks for changes of the file, while something waits for one. It costs a few microseconds.
const INTERVAL: Duration = Duration::from_millis(25);

type Read = Box<dyn FnOnce(&mut Connection) + Send>;

/// Delivers the messages to a run that is open in this process.
struct Inbox {
    run: i64,
    /// Who drives it here. The inbox ends when another owner does.
    owner: String,
    /// The last message that was delivered.
    last: i64,
    /// Whether the file may have changed since it was looked at for this run.
    is_stale: bool,
    sender: mpsc::UnboundedSender<RunMessage>,
}

/// The reader thread. It ends when all handles are dropped.
#[derive(Clone)]
pub(crate) struct Reader {
    jobs: Sender<Read>,
    inboxes: Arc<Mutex<Vec<Inbox>>>,
    changes: Arc<watch::Sender<()>>,
}

impl Reader {
    pub(crate) fn start(connection: Connection) -> std::io::Result<(Self, Ended)> {
        let (jobs, received) = channel();
        let (end, ended) = oneshot::channel();
        let reader = Self {
            jobs,
            inboxes: Arc::default(),
            changes: Arc::new(watch::Sender::new(())),
        };
        let thread = Thread {
            connection,
            inboxes: Arc::clone(&reader.inboxes),
            changes: Arc::downgrade(&reader.changes),
            version: 0,
        };
        thread::Builder::new()
            .name("gadgetry-reader".to_owned())
            .spawn(move || {
                // Dropped after the connection.
                let _end = end;
                thread.run(&received);
            })?;
        Ok((reader, ended))
    }

    /// Reads something.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (reply, done) = oneshot::channel();
        let work = move |connection: &mut Connection| {
            // It fails if nothing waits for the result.
            let _ = reply.send(work(connection));
        };
        let _ = self.jobs.send(Box::new(work));
        let ended = || JournalError::storage("its reader has ended");
        done.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The messages to a run, those that wait already first.
    pub(crate) fn inbox(&self, run: i64, owner: String) -> mpsc::UnboundedReceiver<RunMessage> {
        let (sender, messages) = mpsc::unbounded_channel();
        let inbox = Inbox {
            run,
            owner,
            last: 0,
            // Messages may have arrived long ago.
            is_stale: true,
            sender,
        };
        self.lock().push(inbox);
        // Wakes the thread, which then looks for changes.
        let _ = self.jobs.send(Box::new(|_| {}));
        messages
    }

    /// Notified when something in the file has changed.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        let changes = self.changes.subscribe();
        let _ = self.jobs.send(Box::new(|_| {}));
        changes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Inbox>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Thread {
    connection: Connection,
    inboxes: Arc<Mutex<Vec<Inbox>>>,
    changes: std::sync::Weak<watch::Sender<()>>,
    /// Version of the file, as this connection sees it.
    version: i64,
}

impl Thread {
    fn run(mut self, jobs: &Receiver<Read>) {
        loop {
            let job = if self.is_watched() {
                jobs.recv_timeout(INTERVAL)
            } else {
                jobs.recv().map_err(RecvTimeoutError::from)
            };
            match job {
                Ok(work) => work(&mut self.connection),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Err(error) = self.look() {
                tracing::warn!("the journal cannot be looked at for messages: {error}");
            }
        }
    }

    /// Returns whether something waits for changes.
    fn is_watched(&self) -> bool {
        let changes = self.changes.upgrade();
        let has_followers = changes.is_some_and(|changes| changes.receiver_count() > 0);
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|inbox| !inbox.sender.is_closed());
        has_followers || !inboxes.is_empty()
    }

    fn look(&mut self) -> rusqlite::Result<()> {
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row((), |row| row.get(0))?;
        let has_changed = version != self.version;
        self.version = version;
        if has_changed && let Some(changes) = self.changes.upgrade() {
            changes.send_replace(());
        }
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut looked = Ok(());
        inboxes.retain_mut(|inbox| {
            inbox.is_stale |= has_changed;
            if !inbox.is_stale {
                return true;
            }
            let delivered = deliver(&self.connection, inbox);
            match delivered.and_then(|()| is_owned(&self.connection, inbox)) {
                Ok(is_owned) => {
                    inbox.is_stale = false;
                    is_owned
                }
                Err(error) => {
                    looked = Err(error);
                    true
                }
            }
        });
        looked
    }
}

/// Returns whether no other owner has taken up the run, or removed it.
fn is_owned(connection: &Connection, inbox: &Inbox) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT owner FROM runs WHERE key = ?1")?;
    let found: Option<Option<String>> = statement
        .query_row([inbox.run], |row| row.get(0))
        .optional()?;
    // A run that has ended has no owner.
    Ok(found.is_some_and(|owner| owner.is_none_or(|owner| owner == inbox.owner)))
}

fn deliver(connection: &Connection, inbox: &mut Inbox) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT id, content FROM messages WHERE run = ?1 AND id > ?2 ORDER BY id",
    )?;
    let mut rows = statement.query((inbox.run, inbox.last))?;
    while let Some(row) = rows.next()? {
        inbox.last = row.get(0)?;
        let content: String = row.get(1)?;
        let read = sum::open(&[], &content);
        match read.and_then(|json| Ok(serde_json::from_str::<RunMessageContent>(json)?)) {
            Ok(content) => {
                let id = u64::try_from(inbox.last).unwrap_or_default();
                // It fails if the run is over.
                let _ = inbox.sender.send(RunMessage { id, content });
            }
            Err(error) => tracing::warn!("a message to a durable run cannot be read: {error}"),
        }
    }
    Ok(())
}
