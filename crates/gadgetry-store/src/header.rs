//! The header of a run as it is stored.
//!
//! The runs of a conversation repeat its messages, the long results that these name, the configuration and the gadgets. So the first two are lists
//! that share their items ([`list`]), and the others one text that is stored once ([`values`]).

use gadgetry::journal::{JournalError, RunId};
use gadgetry::log::LogHeader;
use gadgetry::proto::convo::StoredOutput;
use gadgetry::proto::message::{Content, Message};
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::list::{self, Known, NewList, Written};
use crate::values::{self, LongValue};
use crate::{chunk, sum};

/// Characters of a prompt that are kept for lists of runs.
const PROMPT: usize = 500;

/// The longest text, in bytes, that stays where it is in the rest of a header.
const LONG: usize = 1 << 10;

/// Key of the text with the parts that runs of one agent share.
const SHARED: &str = "shared";
const SHARED_PARTS: [&str; 2] = ["config", "gadgets"];
const CONVERSATION: &str = "conversation";
const OUTPUTS: &str = "outputs";

/// A header that is to be kept.
pub(crate) struct NewHeader {
    rest: String,
    long: Vec<LongValue>,
    conversation: NewList,
    outputs: NewList,
    prompt: String,
    /// Number of bytes of all of it.
    pub(crate) bytes: u64,
}

impl NewHeader {
    /// Writes down a header, without what is `written` of its lists.
    pub(crate) fn of(header: &LogHeader, written: &mut WrittenLists) -> Result<Self, JournalError> {
        let prompt = prompt(&header.conversation);
        let conversation = written.conversation.list(&header.conversation)?;
        let outputs = written.outputs.list(header.outputs.outputs())?;
        let rest = serde_json::to_value(header.without_conversation());
        let rest = rest.and_then(serde_json::from_value);
        let mut rest: Map<String, Value> = rest.map_err(JournalError::storage)?;
        rest.remove(CONVERSATION);
        if outputs.bytes > 0 {
            // It is left out if it is empty otherwise.
            rest.entry(OUTPUTS).or_insert_with(|| Map::new().into());
        }
        let mut shared = Map::new();
        for part in SHARED_PARTS {
            if let Some(value) = rest.remove(part) {
                shared.insert(part.to_owned(), value);
            }
        }
        let shared = Value::Object(shared).to_string();
        rest.insert(SHARED.to_owned(), shared.into());
        let rest = Value::Object(rest).to_string();
        let bytes = rest.len() as u64 + conversation.bytes + outputs.bytes;
        let (rest, long) = values::take_over(rest, LONG);
        Ok(Self {
            rest,
            long,
            conversation,
            outputs,
            prompt,
            bytes,
        })
    }

    /// Returns whether what was written down before is still there.
    pub(crate) fn can_keep(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(list::can_keep(connection, &self.conversation)?
            && list::can_keep(connection, &self.outputs)?)
    }

    /// Keeps it as that of a new run.
    pub(crate) fn keep(&self, connection: &Connection, key: i64) -> rusqlite::Result<()> {
        let conversation = list::keep(connection, &self.conversation)?;
        let outputs = list::keep(connection, &self.outputs)?;
        let sealed = sum::seal(&place(key, conversation, outputs), &self.rest);
        connection.execute(
            "INSERT INTO headers (run, json, conversation, outputs, prompt) VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                key,
                sealed,
                conversation,
                outputs,
                sum::seal(&[key], &self.prompt),
            ),
        )?;
        values::keep_all(connection, key, &self.long)
    }
}

/// The numbers that a header is sealed with. One without lists is sealed as earlier versions did.
fn place(key: i64, conversation: Option<i64>, outputs: Option<i64>) -> Vec<i64> {
    match (conversation, outputs) {
        (None, None) => vec![key],
        lists => vec![
            key,
            lists.0.unwrap_or_default(),
            lists.1.unwrap_or_default(),
        ],
    }
}

/// The beginning of the last message.
fn prompt(conversation: &[Message]) -> String {
    let content = conversation.last().map_or(&[][..], |it| &it.content);
    let mut prompt = String::new();
    for content in content {
        if let Content::Text { text } = content {
            let left = PROMPT - prompt.chars().count();
            prompt.extend(text.chars().take(left));
        }
    }
    prompt
}

/// The lists of headers that were written down, which those of other runs may continue.
#[derive(Default)]
pub(crate) struct WrittenLists {
    conversation: Written<Message>,
    outputs: Written<StoredOutput>,
}

impl WrittenLists {
    /// Number of items that were written down.
    pub(crate) fn items_written(&self) -> u64 {
        self.conversation.count + self.outputs.count
    }

    /// Writes down the next lists from their beginning.
    pub(crate) fn forget(&mut self) {
        self.conversation.forget();
        self.outputs.forget();
    }
}

/// The lists of headers that were read, which those of other runs may continue.
#[derive(Default)]
pub(crate) struct KnownLists {
    conversation: Known<Message>,
    outputs: Known<Value>,
}

impl KnownLists {
    /// Number of items that were read.
    pub(crate) fn items_read(&self) -> u64 {
        self.conversation.read + self.outputs.read
    }
}

/// Reads the header of a run, which it was made from, and its number of bytes.
pub(crate) fn read(
    connection: &Connection,
    id: &RunId,
    key: i64,
) -> Result<(LogHeader, u64), JournalError> {
    read_after(connection, id, key, &mut KnownLists::default())
}

/// Reads the header of a run, without what is known of its lists.
pub(crate) fn read_after(
    connection: &Connection,
    id: &RunId,
    key: i64,
    known: &mut KnownLists,
) -> Result<(LogHeader, u64), JournalError> {
    let (json, conversation, outputs): (String, Option<i64>, Option<i64>) = connection
        .query_row(
            "SELECT json, conversation, outputs FROM headers WHERE run = ?1",
            [key],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()
        .map_err(JournalError::storage)?
        .ok_or_else(|| damaged(id, &ReadError::Sum))?;
    let read = sum::open(&place(key, conversation, outputs), &json)
        .and_then(|json| whole(connection, json, (conversation, outputs), known));
    read.map_err(|error| damaged(id, &error))
}

/// Reads the last message before the first request of a run.
pub(crate) fn read_prompt(
    connection: &Connection,
    id: &RunId,
    key: i64,
) -> Result<Option<Message>, JournalError> {
    let conversation: Option<i64> = connection
        .query_row(
            "SELECT conversation FROM headers WHERE run = ?1",
            [key],
            |row| row.get(0),
        )
        .optional()
        .map_err(JournalError::storage)?
        .flatten();
    let Some(conversation) = conversation else {
        let (mut header, _) = read(connection, id, key)?;
        return Ok(header.conversation.pop());
    };
    let read =
        list::read_last(connection, conversation).and_then(|json| chunk::read(connection, &json));
    read.map(Some).map_err(|error| damaged(id, &error))
}

fn damaged(id: &RunId, error: &ReadError) -> JournalError {
    JournalError::Damaged {
        run: id.clone(),
        place: "its header".to_owned(),
        problem: error.to_string(),
    }
}

fn whole(
    connection: &Connection,
    json: &str,
    (conversation, outputs): (Option<i64>, Option<i64>),
    known: &mut KnownLists,
) -> Result<(LogHeader, u64), ReadError> {
    let json = chunk::whole(connection, json)?;
    let mut bytes = json.len() as u64;
    let mut map: Map<String, Value> = serde_json::from_str(&json)?;
    let Some(Value::String(shared)) = map.remove(SHARED) else {
        // An earlier version has stored it in one text.
        return Ok((serde_json::from_str(&json)?, bytes));
    };
    map.extend(serde_json::from_str::<Map<String, Value>>(&shared)?);
    map.insert(CONVERSATION.to_owned(), Value::Array(Vec::new()));
    let (stored, read) = known.outputs.read(connection, outputs)?;
    bytes += read;
    if let Some(Value::Object(store)) = map.get_mut(OUTPUTS) {
        store.insert(OUTPUTS.to_owned(), Value::Array(stored));
    }
    let mut header: LogHeader = serde_json::from_value(Value::Object(map))?;
    let (conversation, read) = known.conversation.read(connection, conversation)?;
    header.conversation = conversation;
    bytes += read;
    Ok((header, bytes))
}

/// Adds the prompts of runs that earlier versions have begun. One whose header is damaged has none.
pub(crate) fn add_prompts(connection: &Connection) -> rusqlite::Result<()> {
    let mut keys = connection.prepare("SELECT run FROM headers WHERE prompt IS NULL")?;
    let keys: Vec<i64> = keys
        .query_map((), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in keys {
        let json: String =
            connection.query_row("SELECT json FROM headers WHERE run = ?1", [key], |row| {
                row.get(0)
            })?;
        let read = sum::open(&[key], &json)
            .and_then(|json| whole(connection, json, (None, None), &mut KnownLists::default()));
        if let Ok((header, _)) = read {
            connection.execute(
                "UPDATE headers SET prompt = ?1 WHERE run = ?2",
                (sum::seal(&[key], &prompt(&header.conversation)), key),
            )?;
        }
    }
    Ok(())
}
