//! Entries of a run as they are stored: lines of its log, some of them in one row.

use std::borrow::Cow;

use gadgetry::journal::{JournalError, RunId};
use gadgetry::log::Entry;
use rusqlite::{Connection, OptionalExtension as _};
use serde::de::DeserializeOwned;

use crate::error::ReadError;
use crate::{sum, values};

/// The id of a row of entries; `number` counts the rows of the run from 0, and -1 is before the first.
///
/// Numbers that a file makes up name rows that are not there.
pub(crate) fn entry_id(run: i64, number: i64) -> i64 {
    (run << 32).saturating_add(number).saturating_add(1)
}

/// The ids before and after those of the rows of a run after its row `after`.
pub(crate) fn ids(run: i64, after: i64) -> [i64; 2] {
    [entry_id(run, after), entry_id(run.saturating_add(1), -1)]
}

/// Maximum bytes of the long values in a document, which is that of a line of a log. A small file can hold texts that are a thousand times as
/// large, and name each of them often.
const LARGEST: usize = 256 << 20;

/// Reads a document that was stored, with its long values.
pub(crate) fn read<T: DeserializeOwned>(
    connection: &Connection,
    json: &str,
) -> Result<T, ReadError> {
    Ok(serde_json::from_str(&whole(connection, json)?)?)
}

/// A document that was stored, with its long values in their places.
pub(crate) fn whole<'j>(connection: &Connection, json: &'j str) -> Result<Cow<'j, str>, ReadError> {
    let mut left = LARGEST;
    values::put(json, |reference| {
        let text = find(connection, reference, left)?;
        left -= text.len();
        Ok(text)
    })
}

/// Finds a long value of at most `longest` bytes.
fn find(connection: &Connection, reference: &str, longest: usize) -> Result<String, ReadError> {
    let missing = || ReadError::Missing(reference.to_owned());
    let hash = values::hash_of(reference).ok_or_else(missing)?;
    let mut statement =
        connection.prepare_cached("SELECT bytes, deflated FROM long_values WHERE hash = ?1")?;
    let found: Option<(i64, Vec<u8>)> = statement
        .query_row([&hash[..]], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (bytes, deflated) = found.ok_or_else(missing)?;
    let bytes = usize::try_from(bytes).map_err(|_| missing())?;
    if bytes > longest {
        return Err(ReadError::Large);
    }
    values::inflate(&deflated, bytes, &hash).ok_or_else(missing)
}

/// Rows that are read at once where the reader has other work, too.
pub(crate) const SOME: i64 = 1000;

/// Reads the entries of a run in at most `limit` rows after its row `after`, and calls `take` with each. Returns the
/// number of the last row.
pub(crate) fn entries(
    connection: &Connection,
    id: &RunId,
    run: i64,
    after: i64,
    limit: i64,
    mut take: impl FnMut(Entry) -> Result<(), JournalError>,
) -> Result<i64, JournalError> {
    let mut last = after;
    let damaged = |row: i64, problem: String| JournalError::Damaged {
        run: id.clone(),
        place: format!("row {row} of its entries"),
        problem,
    };
    let mut statement = connection
        .prepare_cached(
            "SELECT id, lines FROM entries WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3",
        )
        .map_err(JournalError::storage)?;
    let [from, to] = ids(run, after);
    let mut rows = statement
        .query([from, to, limit])
        .map_err(JournalError::storage)?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(last),
            Err(error) => return Err(damaged(last.saturating_add(1), error.to_string())),
        };
        let row_id = row.get::<_, i64>(0).map_err(JournalError::storage)?;
        let number = row_id.saturating_sub(entry_id(run, 0));
        let lines = row.get_ref(1).map_err(JournalError::storage)?;
        let lines = lines
            .as_blob()
            .map_err(|error| damaged(number, error.to_string()))?;
        let lines = str::from_utf8(lines).map_err(|error| damaged(number, error.to_string()))?;
        let next = last.saturating_add(1);
        if number != next {
            return Err(damaged(next, "it is missing".to_owned()));
        }
        let lines =
            sum::open(&[run, number], lines).map_err(|error| damaged(number, error.to_string()))?;
        for line in lines.lines() {
            let entry =
                read(connection, line).map_err(|error| damaged(number, error.to_string()))?;
            take(entry)?;
        }
        last = number;
    }
}

/// Fails if entries after row `last` of a run are lost: a damaged page that has lost rows at its end gives the others without an
/// error.
pub(crate) fn check(
    connection: &Connection,
    id: &RunId,
    run: i64,
    last: i64,
) -> Result<(), JournalError> {
    let kept = connection.query_row("SELECT entries FROM runs WHERE key = ?1", [run], |row| {
        row.get::<_, Option<i64>>(0)
    });
    let damaged = |place: String, problem: String| JournalError::Damaged {
        run: id.clone(),
        place,
        problem,
    };
    match kept.optional().map_err(JournalError::storage)? {
        // It was removed.
        None => return Ok(()),
        Some(Some(kept)) if kept <= last.saturating_add(1) => return Ok(()),
        Some(Some(_)) => {
            let next = connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM entries WHERE id > ?1 AND id < ?2)",
                ids(run, last),
                |row| row.get::<_, bool>(0),
            );
            // They may have been written a moment ago.
            if next.map_err(JournalError::storage)? {
                return Ok(());
            }
            let place = format!("row {} of its entries", last.saturating_add(1));
            return Err(damaged(place, "it is missing".to_owned()));
        }
        // An earlier version, which has not counted them, has begun the run.
        Some(None) => {}
    }
    let found = connection.query_row("PRAGMA quick_check(entries)", (), |row| {
        row.get::<_, String>(0)
    });
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(problem) => Err(damaged("the table of its entries".to_owned(), problem)),
        Err(error) => Err(damaged(
            "the table of its entries".to_owned(),
            error.to_string(),
        )),
    }
}
