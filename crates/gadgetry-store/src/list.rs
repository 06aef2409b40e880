//! Lists that grow at their end, each item stored once.
//!
//! An item names the one before it, so a list is named by its last item, and lists with the same beginning share it. Items are found
//! by a hash of themselves and of all before them, which is their checksum, too.

use gadgetry::journal::JournalError;
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::chunk;
use crate::error::ReadError;
use crate::values::{self, Hash, LongValue};

/// Lists that a journal remembers, so that those that continue them are not written down again from the beginning.
const REMEMBERED: usize = 4;

/// Bytes of their items.
const REMEMBERED_BYTES: u64 = 64 << 20;

/// An item that is to be kept.
struct Item {
    hash: Hash,
    json: String,
    long: Vec<LongValue>,
}

/// A list that is to be kept: its items after those that another list begins with, too.
pub(crate) struct NewList {
    /// The hash of the last item before them.
    after: Option<Hash>,
    items: Vec<Item>,
    /// Number of bytes of the whole list.
    pub(crate) bytes: u64,
}

/// The lists that were written down last.
pub(crate) struct Written<T> {
    /// The latest one first.
    lists: Vec<WrittenList<T>>,
    /// Number of items that were written down.
    pub(crate) count: u64,
}

struct WrittenList<T> {
    items: Vec<WrittenItem<T>>,
    bytes: u64,
}

struct WrittenItem<T> {
    value: T,
    hash: Hash,
    bytes: u64,
}

impl<T> Default for Written<T> {
    fn default() -> Self {
        Self {
            lists: Vec::new(),
            count: 0,
        }
    }
}

impl<T> Default for WrittenList<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            bytes: 0,
        }
    }
}

impl<T: Clone + PartialEq + Serialize> Written<T> {
    /// Writes down a list, without the items that one of the last lists begins with, too.
    pub(crate) fn list(&mut self, values: &[T]) -> Result<NewList, JournalError> {
        let mut list = self.take(values);
        let after = list.items.last().map(|it| it.hash);
        let mut items = Vec::new();
        for value in &values[list.items.len()..] {
            let json = serde_json::to_string(value).map_err(JournalError::storage)?;
            let (json, long) = values::take(json);
            let hash = hash(list.items.last().map(|it| &it.hash), &json);
            let bytes = json.len() as u64 + long.iter().map(|it| it.bytes as u64).sum::<u64>();
            list.bytes += bytes;
            list.items.push(WrittenItem {
                value: value.clone(),
                hash,
                bytes,
            });
            items.push(Item { hash, json, long });
        }
        self.count += items.len() as u64;
        let bytes = list.bytes;
        self.remember(list);
        Ok(NewList {
            after,
            items,
            bytes,
        })
    }

    /// Takes the list that begins with most of the values, up to where it differs.
    fn take(&mut self, values: &[T]) -> WrittenList<T> {
        let common = |list: &WrittenList<T>| {
            let pairs = list.items.iter().zip(values);
            pairs
                .take_while(|(item, value)| item.value == **value)
                .count()
        };
        let lengths = self.lists.iter().map(common).enumerate();
        let longest = lengths.max_by_key(|(_, length)| *length);
        let Some((index, length)) = longest.filter(|(_, length)| *length > 0) else {
            return WrittenList::default();
        };
        let mut list = self.lists.remove(index);
        let others = list.items.drain(length..);
        list.bytes -= others.map(|it| it.bytes).sum::<u64>();
        list
    }

    fn remember(&mut self, list: WrittenList<T>) {
        if !list.items.is_empty() {
            self.lists.insert(0, list);
        }
        let is_too_much = |lists: &[WrittenList<T>]| {
            let bytes: u64 = lists.iter().map(|it| it.bytes).sum();
            lists.len() > REMEMBERED || bytes > REMEMBERED_BYTES
        };
        while is_too_much(&self.lists) {
            self.lists.pop();
        }
    }

    /// Writes down the next lists from their beginning.
    pub(crate) fn forget(&mut self) {
        self.lists.clear();
    }
}

/// Hash of an item after others.
fn hash(before: Option<&Hash>, json: &str) -> Hash {
    let mut hash = Sha256::new();
    hash.update(before.map_or(&[][..], |it| &it[..]));
    hash.update(json.as_bytes());
    hash.finalize().into()
}

/// Returns whether the items before those of the list are still there.
pub(crate) fn can_keep(connection: &Connection, list: &NewList) -> rusqlite::Result<bool> {
    match &list.after {
        Some(hash) => Ok(find(connection, hash)?.is_some()),
        None => Ok(true),
    }
}

/// Finds an item that is kept.
fn find(connection: &Connection, hash: &Hash) -> rusqlite::Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT id FROM items WHERE hash = ?1")?;
    find.query_row([&hash[..]], |row| row.get(0)).optional()
}

/// Keeps the items that are not there yet. Returns the last one; `None` for an empty list.
pub(crate) fn keep(connection: &Connection, list: &NewList) -> rusqlite::Result<Option<i64>> {
    let items = &list.items;
    let (mut last, mut known) = (None, 0);
    // From the end: all but the last few are there, as a rule.
    for (index, item) in items.iter().enumerate().rev() {
        last = find(connection, &item.hash)?;
        if last.is_some() {
            known = index + 1;
            break;
        }
    }
    if let (None, Some(before)) = (last, &list.after) {
        last = find(connection, before)?;
    }
    for item in items.iter().skip(known) {
        connection
            .prepare_cached("INSERT INTO items (before, hash, json) VALUES (?1, ?2, ?3)")?
            .execute((last, &item.hash[..], &item.json))?;
        let id = connection.last_insert_rowid();
        for value in &item.long {
            values::keep(connection, value)?;
            connection
                .prepare_cached(
                    "INSERT INTO long_values_of_item (item, hash) VALUES (?1, ?2)
                     ON CONFLICT DO NOTHING",
                )?
                .execute((id, &value.hash[..]))?;
        }
        last = Some(id);
    }
    Ok(last)
}

/// A list that was read. Other lists may begin with the same items, which are not read again for them.
pub(crate) struct Known<T> {
    items: Vec<KnownItem<T>>,
    /// Number of items that were read.
    pub(crate) read: u64,
}

struct KnownItem<T> {
    id: i64,
    hash: Hash,
    bytes: u64,
    value: T,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            read: 0,
        }
    }
}

impl<T: Clone + DeserializeOwned> Known<T> {
    /// Reads the list that ends with this item, and its number of bytes.
    pub(crate) fn read(
        &mut self,
        connection: &Connection,
        last: Option<i64>,
    ) -> Result<(Vec<T>, u64), ReadError> {
        let mut extended = self.extend(connection, last);
        if matches!(extended, Err(ReadError::Sum)) && !self.items.is_empty() {
            // The items that are known may have been removed, and others have their numbers.
            self.items.clear();
            extended = self.extend(connection, last);
        }
        extended?;
        let bytes = self.items.iter().map(|it| it.bytes).sum();
        let values = self.items.iter().map(|it| it.value.clone());
        Ok((values.collect(), bytes))
    }

    /// Makes the list that is known the one that ends with this item.
    fn extend(&mut self, connection: &Connection, last: Option<i64>) -> Result<(), ReadError> {
        let mut statement =
            connection.prepare_cached("SELECT before, hash, json FROM items WHERE id = ?1")?;
        let mut found: Vec<(i64, Hash, String)> = Vec::new();
        let (mut next, mut kept) = (last, 0);
        while let Some(id) = next {
            if let Ok(index) = self.items.binary_search_by_key(&id, |it| it.id) {
                kept = index + 1;
                break;
            }
            let row = statement.query_row([id], |row| {
                let before: Option<i64> = row.get(0)?;
                Ok((before, row.get(1)?, row.get(2)?))
            });
            let (before, hash, json) = row.optional()?.ok_or(ReadError::Sum)?;
            // An item was stored after the one before it, so this ends, whatever the file holds.
            if before.is_some_and(|before| before >= id) {
                return Err(ReadError::Sum);
            }
            self.read += 1;
            found.push((id, hash, json));
            next = before;
        }
        self.items.truncate(kept);
        for (id, stored, json) in found.into_iter().rev() {
            if hash(self.items.last().map(|it| &it.hash), &json) != stored {
                return Err(ReadError::Sum);
            }
            let json = chunk::whole(connection, &json)?;
            self.items.push(KnownItem {
                id,
                hash: stored,
                bytes: json.len() as u64,
                value: serde_json::from_str(&json)?,
            });
        }
        Ok(())
    }
}

/// Reads the last document of a list alone.
pub(crate) fn read_last(connection: &Connection, last: i64) -> Result<String, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT own.hash, own.json, other.hash FROM items AS own
         LEFT JOIN items AS other ON other.id = own.before WHERE own.id = ?1",
    )?;
    let found: Option<(Hash, String, Option<Hash>)> = statement
        .query_row([last], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match found {
        Some((stored, json, before)) if hash(before.as_ref(), &json) == stored => Ok(json),
        _ => Err(ReadError::Sum),
    }
}

/// Removes the items of a list that no header and no other list needs. Adds the hashes of their long values to `hashes`.
pub(crate) fn release(
    connection: &Connection,
    last: Option<i64>,
    hashes: &mut Vec<Hash>,
) -> rusqlite::Result<()> {
    let mut next = last;
    while let Some(item) = next {
        let mut statement =
            connection.prepare_cached("SELECT hash FROM long_values_of_item WHERE item = ?1")?;
        let long: Vec<Hash> = statement
            .query_map([item], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let removed: Option<Option<i64>> = connection
            .prepare_cached(
                "DELETE FROM items WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM items WHERE before = ?1)
                 AND NOT EXISTS (SELECT 1 FROM headers WHERE conversation = ?1)
                 AND NOT EXISTS (SELECT 1 FROM headers WHERE outputs = ?1)
                 RETURNING before",
            )?
            .query_row([item], |row| row.get(0))
            .optional()?;
        let Some(before) = removed else { break };
        hashes.extend(long);
        next = before;
    }
    Ok(())
}
