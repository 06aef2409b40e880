//! Checksums of stored documents: a disk that changes a bit must not change what a run did.
//!
//! A document is stored after the first 16 hexadecimal digits of a hash of it and of its place, and a space. Format version 1 had
//! none; its documents begin with `{`, which one changed bit cannot make of a hexadecimal digit.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::error::ReadError;

/// Digits before a document.
const DIGITS: usize = 16;

/// A document with its checksum. `place` holds the numbers of its row that must not change either.
pub(crate) fn seal(place: &[i64], document: &str) -> String {
    let mut sealed = digits(place, document);
    sealed.push(' ');
    sealed.push_str(document);
    sealed
}

/// The document that was stored, if it is the one that was sealed.
pub(crate) fn open<'s>(place: &[i64], stored: &'s str) -> Result<&'s str, ReadError> {
    if stored.starts_with('{') {
        return Ok(stored);
    }
    match stored.split_at_checked(DIGITS) {
        Some((sum, rest)) if rest.starts_with(' ') && digits(place, &rest[1..]) == sum => {
            Ok(&rest[1..])
        }
        _ => Err(ReadError::Sum),
    }
}

/// The place of a document of a run with this name.
pub(crate) fn name(run: &str) -> Vec<i64> {
    run.bytes().map(i64::from).collect()
}

fn digits(place: &[i64], document: &str) -> String {
    let mut hash = Sha256::new();
    for number in place {
        hash.update(number.to_le_bytes());
    }
    hash.update(document.as_bytes());
    let mut text = String::with_capacity(DIGITS + 1 + document.len());
    for byte in &hash.finalize()[..DIGITS / 2] {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_bit_is_noticed() {
        let sealed = seal(&[1, 2], r#"{"a": 1}"#);
        assert_eq!(open(&[1, 2], &sealed).unwrap(), r#"{"a": 1}"#);
        assert!(open(&[1, 3], &sealed).is_err());
        for bit in 0..8 * sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let changed = String::from_utf8(bytes);
            let read = changed.as_deref().map(|text| open(&[1, 2], text).is_ok());
            assert_ne!(read, Ok(true), "bit {bit}");
        }
        // A document of format version 1.
        assert_eq!(open(&[7], r#"{"a": 1}"#).unwrap(), r#"{"a": 1}"#);
    }
}
