//! Bytes that markers and the text around them are made of.

use std::ops::Range;

/// Returns `true` if a byte can be part of the word of a marker.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the number of times that `byte` is repeated from `at` on.
pub(crate) fn run_len(text: &[u8], at: usize, byte: u8) -> usize {
    text[at..]
        .iter()
        .take_while(|other| **other == byte)
        .count()
}

/// Returns the range that `str::trim` leaves of a text.
pub(crate) fn trimmed(text: &str) -> Range<usize> {
    // Nearly all names and pointers have no whitespace around them, and two bytes show that.
    let bytes = text.as_bytes();
    if bytes.first().is_some_and(u8::is_ascii_graphic)
        && bytes.last().is_some_and(u8::is_ascii_graphic)
    {
        return 0..text.len();
    }
    let start = text.len() - text.trim_start().len();
    start..start + text.trim().len()
}
