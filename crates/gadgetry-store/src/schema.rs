//! The tables and their versions.

use gadgetry::journal::JournalError;
use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, Transaction};

use crate::{header, sum};

/// "gadg": the file is a journal of gadgetry.
const APPLICATION: i32 = 0x6761_6467;

/// The version of the tables that this version of the crate writes.
///
/// 2 is 1 with checksums before documents, 3 is 2 with [`THIRD`], and 4 is 3 with checksums before prompts and details; what earlier
/// versions have written can still be read.
pub(crate) const VERSION: u32 = 4;

/// The first version.
///
/// A row of `runs` is written again at each step, so it is short; what is long has tables of its own. The ids of entries
/// begin at `key << 32`, so the entries of a run are next to each other, in order, in one tree.
const FIRST: &str = "
CREATE TABLE runs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    owner TEXT,
    lease_ms INTEGER NOT NULL DEFAULT 0,
    progress TEXT NOT NULL
) STRICT;
CREATE TABLE headers (
    run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
    json TEXT NOT NULL
) STRICT;
CREATE TABLE checkpoints (
    run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
    entry INTEGER NOT NULL,
    json TEXT NOT NULL
) STRICT;
CREATE TABLE entries (id INTEGER PRIMARY KEY, lines BLOB NOT NULL) STRICT;
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
    content TEXT NOT NULL
) STRICT;
CREATE INDEX messages_of_run ON messages(run, id);
CREATE TABLE long_values (hash BLOB PRIMARY KEY, bytes INTEGER NOT NULL, deflated BLOB NOT NULL) STRICT;
CREATE TABLE long_values_of_run (
    run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE details (run TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT;
";

/// The additions of version 3.
///
/// Conversations repeat in the headers of their runs, so they are lists whose items are stored once: [`crate::list`]. `prompt`
/// is the beginning of a conversation's last message. `entries` counts the rows of a run's entries. All of these columns
/// are empty for runs that an earlier version has begun, but for the prompt.
const THIRD: &str = "
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    before INTEGER REFERENCES items(id),
    hash BLOB NOT NULL UNIQUE,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX items_by_before ON items(before) WHERE before IS NOT NULL;
CREATE TABLE long_values_of_item (
    item INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    PRIMARY KEY (item, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_by_long_value ON long_values_of_item(hash);
CREATE INDEX runs_by_long_value ON long_values_of_run(hash);
ALTER TABLE headers ADD COLUMN conversation INTEGER REFERENCES items(id);
ALTER TABLE headers ADD COLUMN outputs INTEGER REFERENCES items(id);
ALTER TABLE headers ADD COLUMN prompt TEXT;
CREATE INDEX headers_by_conversation ON headers(conversation) WHERE conversation IS NOT NULL;
CREATE INDEX headers_by_outputs ON headers(outputs) WHERE outputs IS NOT NULL;
ALTER TABLE runs ADD COLUMN entries INTEGER;
";

/// Makes the tables what this version expects. Refuses files of other programs and of newer versions.
pub(crate) fn migrate(connection: &mut Connection, place: &str) -> Result<(), JournalError> {
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(JournalError::storage)?;
    let number = |name: &str| -> Result<i32, JournalError> {
        transaction
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(JournalError::storage)
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .map_err(JournalError::storage)?;
    if application == APPLICATION && has_foreign(&transaction).map_err(JournalError::storage)? {
        let words = format!(
            "{place} has a view, a trigger or a virtual table, and gadgetry makes none: another program has changed it; name another file"
        );
        return Err(JournalError::storage(words));
    }
    match (application, u32::try_from(version)) {
        (APPLICATION, Ok(VERSION)) => {
            return has_tables(&transaction).map_err(|error| unlike(error, place, VERSION));
        }
        (APPLICATION, Ok(found)) if found > VERSION => {
            return Err(JournalError::Version {
                place: place.to_owned(),
                found,
                expected: VERSION,
            });
        }
        (APPLICATION, Ok(found @ (1..=3))) => {
            let extended = extend(&transaction, found).and_then(|()| has_tables(&transaction));
            extended.map_err(|error| unlike(error, place, found))?;
            return transaction.commit().map_err(JournalError::storage);
        }
        (0, Ok(0)) if tables == 0 => {}
        _ => {
            let words = format!("{place} is an SQLite file of another program; name another file");
            return Err(JournalError::storage(words));
        }
    }
    let create = || {
        transaction.execute_batch(FIRST)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        extend(&transaction, 1)
    };
    create().map_err(JournalError::storage)?;
    transaction.commit().map_err(JournalError::storage)
}

/// What is read of each table.
const COLUMNS: [&str; 10] = [
    "key, id, created_ms, updated_ms, owner, lease_ms, progress, entries FROM runs",
    "run, json, conversation, outputs, prompt FROM headers",
    "run, entry, json FROM checkpoints",
    "id, lines FROM entries",
    "id, run, content FROM messages",
    "hash, bytes, deflated FROM long_values",
    "run, hash FROM long_values_of_run",
    "run, json FROM details",
    "id, before, hash, json FROM items",
    "item, hash FROM long_values_of_item",
];

/// Fails if a table or a column is missing.
fn has_tables(connection: &Connection) -> rusqlite::Result<()> {
    COLUMNS.iter().try_for_each(|columns| {
        let select = connection.prepare(&format!("SELECT {columns}"));
        select.map(|_| ())
    })
}

/// The error of a file whose tables are not those of its version. Others, as of a full disk, stay what they are.
fn unlike(error: rusqlite::Error, place: &str, version: u32) -> JournalError {
    // What SQLite says about statements that do not fit to the tables.
    let is_unlike = matches!(error, rusqlite::Error::SqlInputError { .. })
        || error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown);
    if !is_unlike {
        return JournalError::storage(error);
    }
    JournalError::storage(format!(
        "{place} says that it has format version {version}, but does not have its tables: it is damaged, or another program has changed \
         it; restore it from a copy, or name another file"
    ))
}

/// Returns whether a file has what runs code of its own when a table is read or written, which may never end.
fn has_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%')",
        (),
        |row| row.get(0),
    )
}

/// Makes the current version of an earlier one.
fn extend(transaction: &Transaction<'_>, from: u32) -> rusqlite::Result<()> {
    if from < 3 {
        transaction.execute_batch(THIRD)?;
        header::add_prompts(transaction)?;
    } else {
        seal(transaction, "headers", "prompt", |run: &i64| vec![*run])?;
    }
    seal(transaction, "details", "json", |run: &String| {
        sum::name(run)
    })?;
    transaction.pragma_update(None, "user_version", VERSION)
}

/// Adds checksums to the texts of a column.
fn seal<K: FromSql + ToSql>(
    transaction: &Transaction<'_>,
    table: &str,
    column: &str,
    place: impl Fn(&K) -> Vec<i64>,
) -> rusqlite::Result<()> {
    let select = format!("SELECT run, {column} FROM {table} WHERE {column} IS NOT NULL");
    let mut rows = transaction.prepare(&select)?;
    let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(K, String)> = rows.collect::<Result<_, _>>()?;
    let update = format!("UPDATE {table} SET {column} = ?1 WHERE run = ?2");
    let mut update = transaction.prepare(&update)?;
    for (run, text) in rows {
        update.execute((sum::seal(&place(&run), &text), run))?;
    }
    Ok(())
}
