//! Keeps the inputs of one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{mem, thread};

use futures_core::future::BoxFuture;
use gadgetry::journal::{Checkpoint, Durability, JournalError, Recorder, RunId, RunProgress};
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::sum;
use crate::values::{self, LongValue};
use crate::writer::{Append, Failed, Failure, Writer};

/// Bytes of entries that are always worth less than a checkpoint.
const SHORT: u64 = 256 << 10;

pub(crate) struct SqliteRecorder {
    writer: Writer,
    id: RunId,
    key: i64,
    /// The number of the next row.
    number: i64,
    lines: String,
    long: Vec<LongValue>,
    taken: Vec<u64>,
    progress: Option<RunProgress>,
    failed: Failed,
    /// Bytes since the last checkpoint.
    since: u64,
    /// The size of the last checkpoint, or of the header before the first; `u64::MAX` while one is written.
    checkpoint_bytes: Arc<AtomicU64>,
    checkpoint: Option<Checkpoint>,
}

impl SqliteRecorder {
    /// The recorder of a run that has just begun, with a header of this size. A checkpoint takes at least as much.
    pub(crate) fn new(writer: Writer, id: RunId, key: i64, header_bytes: u64) -> Self {
        Self {
            writer,
            id,
            key,
            number: 0,
            lines: String::new(),
            long: Vec::new(),
            taken: Vec::new(),
            progress: None,
            failed: Arc::default(),
            since: 0,
            checkpoint_bytes: Arc::new(AtomicU64::new(header_bytes)),
            checkpoint: None,
        }
    }

    /// Continues after the row `last`, and after a checkpoint of `checkpoint_bytes` with `since` bytes after it. Without one, the
    /// header takes its place.
    pub(crate) fn after(&mut self, last: i64, since: u64, checkpoint_bytes: u64) {
        self.number = last + 1;
        self.since = since;
        self.checkpoint_bytes
            .store(checkpoint_bytes, Ordering::Relaxed);
    }
}

impl Recorder for SqliteRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line<'a> {
            #[serde(rename = "timeMs")]
            time: Time,
            input: &'a Input,
        }
        match serde_json::to_string(&Line { time, input }) {
            Ok(line) => {
                let (line, long) = values::take(line);
                self.lines += &line;
                self.long.extend(long);
            }
            Err(error) => {
                // No input is like that: its maps have texts as keys.
                let words = format!("an input of a durable run cannot be written: {error}");
                self.failed.get_or_init(|| Failure::Storage(words));
            }
        }
        self.lines.push('\n');
    }

    fn took(&mut self, message: u64) {
        self.taken.push(message);
    }

    fn progress(&mut self, progress: RunProgress) {
        self.progress = Some(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        let (reply, done) = oneshot::channel();
        let lines = mem::take(&mut self.lines);
        self.since += lines.len() as u64;
        let progress = self.progress.take();
        let is_over = progress.as_ref().is_some_and(|it| it.summary.is_some());
        let number = self.number;
        self.number += i64::from(!lines.is_empty());
        self.writer.append(Append {
            id: self.id.clone(),
            key: self.key,
            number,
            lines,
            long: mem::take(&mut self.long),
            progress: progress
                .and_then(|it| serde_json::to_string(&it).ok())
                .map(|json| sum::seal(&[], &json)),
            is_over,
            taken: mem::take(&mut self.taken),
            durability,
            failed: Arc::clone(&self.failed),
            reply,
        });
        if let Some(checkpoint) = self.checkpoint.take() {
            self.keep(checkpoint);
        }
        let writer = self.writer.clone();
        Box::pin(async move { writer.done(durability, done).await })
    }

    fn wants_checkpoint(&self) -> bool {
        let last = self.checkpoint_bytes.load(Ordering::Relaxed);
        self.since + self.lines.len() as u64 > last.max(SHORT)
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }
}

impl SqliteRecorder {
    /// Keeps a checkpoint of everything that was committed so far. Writing down a large state takes a while, so it is done on
    /// a thread of its own.
    fn keep(&mut self, checkpoint: Checkpoint) {
        let (writer, key, last) = (self.writer.clone(), self.key, self.number - 1);
        let (failed, size) = (Arc::clone(&self.failed), Arc::clone(&self.checkpoint_bytes));
        size.store(u64::MAX, Ordering::Relaxed);
        self.since = 0;
        let work = move || {
            let Ok(json) = serde_json::to_string(&checkpoint) else {
                return;
            };
            // With the long values, which cost as much to write down: otherwise a long reply would be written again and again.
            let whole = json.len() as u64;
            let (json, long) = values::take(json);
            let json = sum::seal(&[key, last], &json);
            size.store(whole, Ordering::Relaxed);
            writer.send(Durability::Written, move |connection| {
                if failed.get().is_some() {
                    return;
                }
                let mut keep = || {
                    let transaction = connection.transaction()?;
                    transaction
                        .prepare_cached(
                            "INSERT OR REPLACE INTO checkpoints (run, entry, json) VALUES (?1, ?2, ?3)",
                        )?
                        .execute((key, last, &json))?;
                    values::keep_all(&transaction, key, &long)?;
                    transaction.commit()
                };
                // The run can be resumed without it.
                if let Err(error) = keep() {
                    tracing::warn!("a checkpoint of a durable run was not kept: {error}");
                }
            });
        };
        if let Err(error) = thread::Builder::new().spawn(work) {
            tracing::warn!("no thread for a checkpoint of a durable run: {error}");
        }
    }
}

impl Drop for SqliteRecorder {
    fn drop(&mut self) {
        let Ok(owner) = self.writer.owner() else {
            return;
        };
        let key = self.key;
        // After everything that was committed.
        self.writer.send(Durability::Written, move |connection| {
            let released = connection.execute(
                "UPDATE runs SET owner = NULL, lease_ms = 0 WHERE key = ?1 AND owner = ?2",
                (key, &owner.name),
            );
            if let Err(error) = released {
                tracing::warn!("a durable run was not released: {error}");
            }
        });
    }
}
