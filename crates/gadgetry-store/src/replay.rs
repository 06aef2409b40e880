//! Runs played again, one after another.

use std::mem;

use gadgetry::Observer;
use gadgetry::journal::{JournalError, RunId, play};
use rusqlite::Connection;

use crate::header::{self, KnownLists};
use crate::journal::SqliteJournal;
use crate::rows;

/// Plays the runs of a conversation again, one after another. The messages that a run shares with the one before it are not read
/// again, so a conversation of many runs takes as long to read as its messages.
pub struct Replay {
    journal: SqliteJournal,
    known: KnownLists,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay")
            .field("items_read", &self.items_read())
            .finish_non_exhaustive()
    }
}

impl SqliteJournal {
    /// Begins to play runs again.
    pub fn replay(&self) -> Replay {
        Replay {
            journal: self.clone(),
            known: KnownLists::default(),
        }
    }
}

impl Replay {
    /// Plays a run again, as far as it can be read. `observer` sees the same events and inputs as the first time. Returns why the run
    /// ends there, if more of it is in the journal and cannot be read.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, [`LogError::Code`](gadgetry::log::LogError::Code) if code decides
    /// about it, [`JournalError::Damaged`] if its entries do not follow each other, and if its header cannot be read.
    ///
    /// Cancel safety: nothing is lost but what was read, which is read again.
    pub async fn run(
        &mut self,
        id: &RunId,
        observer: &mut dyn Observer,
    ) -> Result<Option<JournalError>, JournalError> {
        let (name, mut known) = (id.clone(), mem::take(&mut self.known));
        let header = move |connection: &mut Connection| {
            let key = rows::key(connection, &name)?;
            let (header, _) = header::read_after(connection, &name, key, &mut known)?;
            Ok((key, header, known))
        };
        let (key, header, known) = self.journal.inner.reader.read(header).await?;
        self.known = known;
        let mut run = header.run()?;
        play(id, &mut run, [], observer)?;
        let each = |entry| play(id, &mut run, [entry], observer).map(drop);
        self.journal.each_entry(id, key, each).await
    }

    /// Returns the number of messages and long results that were read. Those of runs that an earlier version has begun are not counted.
    pub fn items_read(&self) -> u64 {
        self.known.items_read()
    }
}
