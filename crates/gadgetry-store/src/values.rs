//! Long values, each stored once: results repeat in checkpoints, and often in other results.
//!
//! A text over 64 KiB in a JSON document is replaced with a reference: U+0002 and the hash of the text in hexadecimal
//! digits. A text that begins with U+0002 itself gets another one in front. For example, with a long `text`,
//! `{"ok": "<text>"}` becomes `{"ok": "\u0002 9f86d0…"}`.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use gadgetry::proto::json::{literal_text, replace_strings};
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

/// The longest text, in bytes, that stays where it is.
pub(crate) const LONG: usize = 64 << 10;

/// Beginning in JSON of a text that begins with the mark.
const WRITTEN_MARK: &str = "\"\\u0002";

/// The hash of a text.
pub(crate) type Hash = [u8; 32];

/// A text that was taken out of a document.
#[derive(Clone)]
pub(crate) struct LongValue {
    pub(crate) hash: Hash,
    pub(crate) bytes: usize,
    pub(crate) deflated: Vec<u8>,
}

/// Takes the long texts out of a JSON document. One without any stays as it is.
pub(crate) fn take(json: String) -> (String, Vec<LongValue>) {
    take_over(json, LONG)
}

/// Takes the texts of more than `longest` bytes out of a JSON document.
pub(crate) fn take_over(json: String, longest: usize) -> (String, Vec<LongValue>) {
    let mut taken = Vec::new();
    if json.len() <= longest && !has_references(&json) {
        return (json, taken);
    }
    let Ok(short) = replace_strings::<Infallible>(&json, |literal| {
        // With its quotes and escapes it is longer than its text.
        if literal.len() > longest
            && let Some(text) = literal_text(literal)
            && text.len() > longest
        {
            let long = LongValue::of(&text);
            let reference = written(&long.hash);
            taken.push(long);
            return Ok(Some(format!("{WRITTEN_MARK}{reference}\"")));
        }
        let is_like_a_reference = literal.starts_with(WRITTEN_MARK);
        Ok(is_like_a_reference.then(|| format!("{WRITTEN_MARK}{}", &literal[1..])))
    });
    match short {
        Cow::Borrowed(_) => (json, taken),
        Cow::Owned(short) => (short, taken),
    }
}

/// Returns whether a document may have references.
fn has_references(json: &str) -> bool {
    memchr::memmem::find(json.as_bytes(), WRITTEN_MARK.as_bytes()).is_some()
}

/// Puts the texts back that `find` knows.
///
/// # Errors
///
/// The first one of `find`.
pub(crate) fn put<E: From<serde_json::Error>>(
    json: &str,
    mut find: impl FnMut(&str) -> Result<String, E>,
) -> Result<Cow<'_, str>, E> {
    if !has_references(json) {
        return Ok(Cow::Borrowed(json));
    }
    replace_strings(json, |literal| {
        let Some(reference) = literal.strip_prefix(WRITTEN_MARK) else {
            return Ok(None);
        };
        if reference.starts_with(&WRITTEN_MARK[1..]) {
            return Ok(Some(format!("\"{reference}")));
        }
        let text = find(reference.trim_end_matches('"'))?;
        Ok(Some(serde_json::to_string(&text)?))
    })
}

/// The hexadecimal digits of a hash.
fn written(hash: &Hash) -> String {
    let mut text = String::new();
    for byte in hash {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The hash that a reference names.
pub(crate) fn hash_of(reference: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if reference.len() != 2 * hash.len() || !reference.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&reference[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

impl LongValue {
    fn of(text: &str) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Writing to a vector cannot fail.
        let _ = encoder.write_all(text.as_bytes());
        Self {
            hash: Sha256::digest(text.as_bytes()).into(),
            bytes: text.len(),
            deflated: encoder.finish().unwrap_or_default(),
        }
    }
}

/// The text that was stored; `None` if it is not the one with this hash.
pub(crate) fn inflate(deflated: &[u8], bytes: usize, hash: &Hash) -> Option<String> {
    let mut text = String::new();
    // One byte more than expected is enough to see that it is another text.
    let mut decoder = DeflateDecoder::new(deflated).take(bytes as u64 + 1);
    decoder.read_to_string(&mut text).ok()?;
    (Hash::from(Sha256::digest(text.as_bytes())) == *hash).then_some(text)
}

/// Keeps a value, unless it is there.
pub(crate) fn keep(connection: &Connection, value: &LongValue) -> rusqlite::Result<()> {
    let bytes = i64::try_from(value.bytes).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO long_values (hash, bytes, deflated) VALUES (?1, ?2, ?3)
             ON CONFLICT DO NOTHING",
        )?
        .execute((&value.hash[..], bytes, &value.deflated))?;
    Ok(())
}

/// Keeps values that a run needs.
pub(crate) fn keep_all(
    connection: &Connection,
    run: i64,
    values: &[LongValue],
) -> rusqlite::Result<()> {
    for value in values {
        keep(connection, value)?;
        connection
            .prepare_cached(
                "INSERT INTO long_values_of_run (run, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?
            .execute((run, &value.hash[..]))?;
    }
    Ok(())
}

/// Removes a value that nothing needs.
pub(crate) fn release(connection: &Connection, hash: &Hash) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM long_values WHERE hash = ?1
             AND NOT EXISTS (SELECT 1 FROM long_values_of_run WHERE hash = ?1)
             AND NOT EXISTS (SELECT 1 FROM long_values_of_item WHERE hash = ?1)",
        )?
        .execute([&hash[..]])?;
    Ok(())
}
