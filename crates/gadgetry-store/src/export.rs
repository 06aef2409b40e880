//! A run as a log.

use std::io::Write;

use gadgetry::journal::{JournalError, RunId};
use gadgetry::log::{Entry, LogHeader, LogWriter};
use gadgetry::proto::message::Message;
use rusqlite::Connection;

use crate::journal::SqliteJournal;
use crate::{chunk, header, rows};

/// Exported part of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exported {
    /// Number of inputs in the log.
    pub inputs: u64,
    /// Reason that the log ends there, if more of the run is in the journal and cannot be read.
    pub damage: Option<JournalError>,
}

impl SqliteJournal {
    /// Reads what a run was made from: its configuration, its gadgets and the conversation up to its question.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, and if its header cannot be read.
    pub async fn header(&self, id: &RunId) -> Result<LogHeader, JournalError> {
        let run = id.clone();
        let header = move |connection: &mut Connection| {
            let key = rows::key(connection, &run)?;
            Ok(header::read(connection, &run, key)?.0)
        };
        self.inner.reader.read(header).await
    }

    /// Reads the last message of the conversation that a run began with, which is what the run is about. Takes as long for a long
    /// conversation as for a short one.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, and if the message cannot be read.
    pub async fn prompt(&self, id: &RunId) -> Result<Option<Message>, JournalError> {
        let run = id.clone();
        let prompt = move |connection: &mut Connection| {
            let key = rows::key(connection, &run)?;
            header::read_prompt(connection, &run, key)
        };
        self.inner.reader.read(prompt).await
    }

    /// Writes the log of a run, as far as it can be read: for [`replay`](gadgetry::log::replay) and
    /// [`load`](gadgetry::log::load).
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run, [`LogError::Code`](gadgetry::log::LogError::Code) if code decides
    /// about it, and if its header cannot be read or `out` cannot be written.
    pub async fn export(&self, id: &RunId, out: impl Write) -> Result<Exported, JournalError> {
        let run = id.clone();
        let header = move |connection: &mut Connection| {
            let key = rows::key(connection, &run)?;
            Ok((key, header::read(connection, &run, key)?.0))
        };
        let (key, header) = self.inner.reader.read(header).await?;
        let mut log = LogWriter::new(out, &header)?;
        let mut exported = Exported {
            inputs: 0,
            damage: None,
        };
        let each = |entry: Entry| {
            log.input(entry.time, &entry.input);
            exported.inputs += 1;
            Ok(())
        };
        let damage = self.each_entry(id, key, each).await?;
        exported.damage = damage;
        log.finish()?;
        Ok(exported)
    }

    /// Reads the entries of a run one after another. Returns why it ends there, if there are more that cannot be read.
    pub(crate) async fn each_entry(
        &self,
        id: &RunId,
        key: i64,
        mut each: impl FnMut(Entry) -> Result<(), JournalError>,
    ) -> Result<Option<JournalError>, JournalError> {
        let mut last = -1;
        loop {
            let (run, after) = (id.clone(), last);
            let read = move |connection: &mut Connection| {
                let mut entries = Vec::new();
                let keep = |entry| {
                    entries.push(entry);
                    Ok(())
                };
                let last = chunk::entries(connection, &run, key, after, chunk::SOME, keep);
                // What could be read before the damage counts.
                Ok((last, entries))
            };
            let (read, entries) = self.inner.reader.read(read).await?;
            for entry in entries {
                each(entry)?;
            }
            match read {
                Ok(now) if now == last => {
                    let run = id.clone();
                    let check = move |connection: &mut Connection| {
                        chunk::check(connection, &run, key, last)
                    };
                    return Ok(self.inner.reader.read(check).await.err());
                }
                Ok(now) => last = now,
                Err(error) => return Ok(Some(error)),
            }
        }
    }
}
