//! The rows of a run: its key, its header, and how it is removed.

use std::path::Path;

use gadgetry::journal::{JournalError, RunId};
use gadgetry::log::LogHeader;
use rusqlite::{Connection, OptionalExtension as _};

use crate::owner::refuse_if_alive;
use crate::{chunk, sum};

/// Reads the header of a run, which it was made from.
pub(crate) fn header(
    connection: &Connection,
    id: &RunId,
    key: i64,
) -> Result<LogHeader, JournalError> {
    let json: String = connection
        .query_row("SELECT json FROM headers WHERE run = ?1", [key], |row| {
            row.get(0)
        })
        .map_err(JournalError::storage)?;
    let read = sum::open(&[key], &json).and_then(|json| chunk::read(connection, json));
    read.map_err(|error| JournalError::Damaged {
        run: id.clone(),
        place: "its header".to_owned(),
        problem: error.to_string(),
    })
}

/// Finds the key of a run.
pub(crate) fn key(connection: &Connection, id: &RunId) -> Result<i64, JournalError> {
    connection
        .query_row("SELECT key FROM runs WHERE id = ?1", [id.as_str()], |row| {
            row.get(0)
        })
        .optional()
        .map_err(JournalError::storage)?
        .ok_or_else(|| JournalError::Unknown(id.clone()))
}

/// Removes a run and its subagents.
pub(crate) fn forget(
    connection: &mut Connection,
    path: &Path,
    id: &RunId,
) -> Result<(), JournalError> {
    let transaction = connection.transaction().map_err(JournalError::storage)?;
    let below = format!("{id}/");
    let owner: Option<(Option<String>, i64)> = transaction
        .query_row(
            "SELECT owner, lease_ms FROM runs WHERE id = ?1",
            [id.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
        .map_err(JournalError::storage)?;
    if let Some((Some(owner), lease_ms)) = owner {
        refuse_if_alive(path, id, &owner, lease_ms)?;
    }
    let remove = || {
        let mut statement = transaction.prepare_cached(
            "DELETE FROM runs WHERE id = ?1 OR substr(id, 1, length(?2)) = ?2 RETURNING key",
        )?;
        let keys: Vec<i64> = statement
            .query_map([id.as_str(), &below], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for key in keys {
            transaction.execute(
                "DELETE FROM entries WHERE id > ?1 AND id < ?2",
                [chunk::entry_id(key, -1), chunk::entry_id(key + 1, -1)],
            )?;
        }
        transaction.execute("DELETE FROM details WHERE run = ?1", [id.as_str()])?;
        transaction.execute(
            "DELETE FROM long_values WHERE hash NOT IN (SELECT hash FROM long_values_of_run)",
            (),
        )
    };
    remove().map_err(JournalError::storage)?;
    transaction.commit().map_err(JournalError::storage)
}
