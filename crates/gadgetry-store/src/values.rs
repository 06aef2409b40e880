//! Long values, each stored once: results repeat in checkpoints, and often in other results.
//!
//! A text over 64 KiB in a JSON document is replaced with a reference: U+0002 and the hash of the text in hexadecimal
//! digits. A text that begins with U+0002 itself gets another one in front. For example, with a long `text`,
//! `{"ok": "<text>"}` becomes `{"ok": "\u0002 9f86d0…"}`.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The longest text, in bytes, that stays where it is.
pub(crate) const LONG: usize = 64 << 10;

const MARK: char = '\u{2}';

/// How JSON writes a text that begins with [`MARK`].
const WRITTEN_MARK: &[u8] = b"\"\\u0002";

/// The hash of a text.
pub(crate) type Hash = [u8; 32];

/// A text that was taken out of a document.
pub(crate) struct LongValue {
    pub(crate) hash: Hash,
    pub(crate) bytes: usize,
    pub(crate) deflated: Vec<u8>,
}

/// Takes the long texts out of a JSON document; `None` if it has none, and can stay as it is.
pub(crate) fn take(json: &[u8]) -> Option<(Vec<u8>, Vec<LongValue>)> {
    if json.len() <= LONG && !has_references(json) {
        return None;
    }
    let mut value: Value = serde_json::from_slice(json).ok()?;
    let mut taken = Vec::new();
    let mut has_changed = false;
    walk(&mut value, &mut |text| {
        if text.len() > LONG {
            let long = LongValue::of(text);
            *text = reference(&long.hash);
            taken.push(long);
            has_changed = true;
        } else if text.starts_with(MARK) {
            text.insert(0, MARK);
            has_changed = true;
        }
    });
    if !has_changed {
        return None;
    }
    let json = serde_json::to_vec(&value).ok()?;
    Some((json, taken))
}

/// Whether a document may have references.
pub(crate) fn has_references(json: &[u8]) -> bool {
    memchr::memmem::find(json, WRITTEN_MARK).is_some()
}

/// Puts the texts back that `find` knows. The error is the first one of `find`, or says that the document is not JSON.
pub(crate) fn put<E: From<serde_json::Error>>(
    json: &[u8],
    mut find: impl FnMut(&str) -> Result<String, E>,
) -> Result<Value, E> {
    let mut value: Value = serde_json::from_slice(json)?;
    let mut failed = None;
    walk(&mut value, &mut |text| {
        let Some(reference) = text.strip_prefix(MARK) else {
            return;
        };
        if reference.starts_with(MARK) {
            *text = reference.to_owned();
            return;
        }
        match find(reference) {
            Ok(long) => *text = long,
            Err(error) => failed = failed.take().or(Some(error)),
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(value),
    }
}

fn walk(value: &mut Value, visit: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| walk(field, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn reference(hash: &Hash) -> String {
    let mut text = String::from(MARK);
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
