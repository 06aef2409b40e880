//! The tables and their versions.

use gadgetry::journal::JournalError;
use rusqlite::Connection;

/// "gadg": the file is a journal of gadgetry.
const APPLICATION: i32 = 0x6761_6467;

/// The version of the tables that this version of the crate writes.
///
/// 2 is 1 with checksums before documents; those without one can still be read.
pub(crate) const VERSION: u32 = 2;

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
    match (application, u32::try_from(version)) {
        (APPLICATION, Ok(VERSION)) => return Ok(()),
        (APPLICATION, Ok(found)) if found > VERSION => {
            return Err(JournalError::Version {
                place: place.to_owned(),
                found,
                expected: VERSION,
            });
        }
        (APPLICATION, Ok(1)) => {
            let update = transaction.pragma_update(None, "user_version", VERSION);
            update.map_err(JournalError::storage)?;
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
        transaction.pragma_update(None, "user_version", VERSION)
    };
    create().map_err(JournalError::storage)?;
    transaction.commit().map_err(JournalError::storage)
}
