//! The rows of a run: its key, and how it is removed.

use std::path::Path;

use gadgetry::journal::{JournalError, RunId};
use rusqlite::{Connection, OptionalExtension as _};

use crate::owner::refuse_if_alive;
use crate::values::Hash;
use crate::{chunk, list, values};

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
    remove(&transaction, id).map_err(JournalError::storage)?;
    transaction.commit().map_err(JournalError::storage)
}

fn remove(connection: &Connection, id: &RunId) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT key, conversation, outputs FROM runs LEFT JOIN headers ON run = key
         WHERE id = ?1 OR id >= ?2 AND id < ?3",
    )?;
    // The names of its subagents begin with its own and a slash; `0` is the character after that.
    let below = (format!("{id}/"), format!("{id}0"));
    let found: Vec<(i64, Option<i64>, Option<i64>)> = statement
        .query_map((id.as_str(), below.0, below.1), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut hashes: Vec<Hash> = Vec::new();
    for (key, conversation, outputs) in found {
        let mut long =
            connection.prepare_cached("SELECT hash FROM long_values_of_run WHERE run = ?1")?;
        for hash in long.query_map([key], |row| row.get(0))? {
            hashes.push(hash?);
        }
        connection.execute("DELETE FROM runs WHERE key = ?1", [key])?;
        connection.execute(
            "DELETE FROM entries WHERE id > ?1 AND id < ?2",
            chunk::ids(key, -1),
        )?;
        for last in [conversation, outputs] {
            list::release(connection, last, &mut hashes)?;
        }
    }
    for hash in &hashes {
        values::release(connection, hash)?;
    }
    connection.execute("DELETE FROM details WHERE run = ?1", [id.as_str()])?;
    Ok(())
}
