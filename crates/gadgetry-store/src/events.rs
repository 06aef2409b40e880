//! The events of a run, from any place in it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::stream;
use gadgetry::Event;
use gadgetry::journal::{JournalError, RunId, play};
use gadgetry::proto::run::Run;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::journal::SqliteJournal;
use crate::reader::Reader;
use crate::{chunk, header, rows};

/// The events of a run: those that have happened, and those that happen while it is driven, by whatever process. The
/// stream ends with the run, or with its first error.
///
/// Dropping it has no effect on the run.
pub struct Events(BoxStream<'static, Result<Event, JournalError>>);

impl Stream for Events {
    type Item = Result<Event, JournalError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl SqliteJournal {
    /// The events of a run from number `from_seq` on; 0 is the first.
    ///
    /// Events are not stored: they follow from what is, so the run is played from its beginning, without models and
    /// gadgets.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, [`LogError::Code`](gadgetry::log::LogError::Code) if code decides
    /// about it, and those of the storage.
    ///
    /// ```
    /// use futures_util::StreamExt as _;
    /// use gadgetry::{Agent, ScriptedModel};
    /// use gadgetry_store::SqliteJournal;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let journal = SqliteJournal::open(folder.path().join("runs.db"))?;
    /// # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).build()?;
    /// agent.durable(&journal).run_id("sum").ask("What is 2+2?").await?.text().await?;
    ///
    /// let mut events = journal.events(&"sum".parse()?, 1).await?;
    /// let second = events.next().await.ok_or("there are more")??;
    /// assert_eq!(second.seq, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn events(&self, id: &RunId, from_seq: u64) -> Result<Events, JournalError> {
        let reader = self.inner.reader.clone();
        let changes = reader.changes();
        let run = id.clone();
        let header = move |connection: &mut Connection| {
            let key = rows::key(connection, &run)?;
            Ok((key, header::read(connection, &run, key)?.0))
        };
        let (key, header) = reader.read(header).await?;
        let mut run = header.run()?;
        let mut ready = VecDeque::new();
        let mut keep = |event: &Event| {
            if event.seq >= from_seq {
                ready.push_back(Ok(event.clone()));
            }
        };
        let is_over = play(id, &mut run, [], &mut keep)?.is_some();
        let follower = Follower {
            reader,
            changes,
            id: id.clone(),
            key,
            run,
            last: -1,
            from_seq,
            ready,
            is_over,
        };
        Ok(Events(Box::pin(stream::unfold(follower, Follower::next))))
    }
}

struct Follower {
    reader: Reader,
    changes: watch::Receiver<()>,
    id: RunId,
    key: i64,
    run: Run,
    /// The last row of entries that was played.
    last: i64,
    from_seq: u64,
    ready: VecDeque<Result<Event, JournalError>>,
    is_over: bool,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Event, JournalError>, Self)> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                self.is_over |= next.is_err();
                return Some((next, self));
            }
            if self.is_over {
                return None;
            }
            self.changes.mark_unchanged();
            match self.read().await {
                Ok(true) => {}
                Ok(false) => {
                    if self.changes.changed().await.is_err() {
                        return None;
                    }
                }
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    /// Plays what is new. Returns whether there was anything.
    async fn read(&mut self) -> Result<bool, JournalError> {
        let (id, key, after) = (self.id.clone(), self.key, self.last);
        let read = move |connection: &mut Connection| {
            let mut entries = Vec::new();
            let keep = |entry| {
                entries.push(entry);
                Ok(())
            };
            let last = chunk::entries(connection, &id, key, after, chunk::SOME, keep)?;
            if last == after {
                // It may have been removed.
                rows::key(connection, &id)?;
            }
            Ok((last, entries))
        };
        let (last, entries) = self.reader.read(read).await?;
        let is_new = last != self.last;
        self.last = last;
        let (from_seq, ready) = (self.from_seq, &mut self.ready);
        let mut keep = |event: &Event| {
            if event.seq >= from_seq {
                ready.push_back(Ok(event.clone()));
            }
        };
        self.is_over = play(&self.id, &mut self.run, entries, &mut keep)?.is_some();
        Ok(is_new)
    }
}
