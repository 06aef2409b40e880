//! Keys that are never shown or saved.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Printed in place of a key.
pub(crate) const MASK: &str = "***";

/// A part of a key of at least this many bytes is redacted.
const PART: usize = 8;

/// A key of fewer bytes is not a secret, but a placeholder that some local server requires.
const SECRET: usize = 4;

/// The key of a provider, which prints as `***`.
///
/// ```
/// use gadgetry::provider::ApiKey;
/// let key = ApiKey::new("sk-1234567890abcdef");
/// assert_eq!(format!("{key} {key:?}"), "*** ApiKey(***)");
/// assert_eq!(key.redact("wrong key: sk-1234567890abcdef"), "wrong key: ***");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// A key, without the whitespace that files and shells add around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// The key itself, for the header that carries it and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether the key is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the key, and every part of it of 8 bytes or more, by `***`.
    ///
    /// Providers repeat keys, whole or shortened, when they refuse them. Keys of fewer than 4 bytes are not replaced.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let key = self.0.as_bytes();
        if key.len() < SECRET {
            return Cow::Borrowed(text);
        }
        let window = key.len().min(PART);
        // Every part of 8 bytes or more begins with one of these windows, so one binary search for each byte of the text
        // suffices: for `abcdefghij` they are `abcdefgh`, `bcdefghi` and `cdefghij`.
        let mut windows: Vec<&[u8]> = key.windows(window).collect();
        windows.sort_unstable();
        let mut out = String::new();
        let mut kept = 0;
        let mut at = 0;
        while at + window <= text.len() {
            let rest = &text.as_bytes()[at..];
            if windows.binary_search(&&rest[..window]).is_err() {
                at += 1;
                continue;
            }
            let length = longest_part(key, rest);
            // The part may begin or end inside a character only if the key is not ASCII.
            let start = floor(text, at);
            let end = ceil(text, at + length);
            out.push_str(&text[kept..start.max(kept)]);
            out.push_str(MASK);
            kept = end;
            at = end;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[kept..]);
        Cow::Owned(out)
    }
}

/// Returns the number of bytes at the start of `text` that are a part of `key`.
fn longest_part(key: &[u8], text: &[u8]) -> usize {
    (0..key.len())
        .map(|start| {
            let pairs = key[start..].iter().zip(text);
            pairs.take_while(|(a, b)| a == b).count()
        })
        .max()
        .unwrap_or(0)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({MASK})")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for ApiKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}
