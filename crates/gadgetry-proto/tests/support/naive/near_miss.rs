//! Text that looks like a marker but is none.

use gadgetry_proto::error::DiagnosticCode;

use super::marker::ALL;
use super::{Marker, Reader};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Prose,
    Value,
}

const ENVELOPES: [&str; 13] = [
    "TOOL_START",
    "TOOL_CALL",
    "TOOL_BEGIN",
    "FUNCTION_START",
    "FUNCTION_CALL",
    "GADGET_CALL",
    "GADGET_BEGIN",
    "GADGET",
    "CALL_START",
    "ACTION_START",
    "TOOL",
    "FUNCTION",
    "INVOKE",
];

impl Reader<'_> {
    /// What is wrong with the run and word that begin at `at`, and where the word ends. Nothing before `from` is
    /// looked at: it is no prose, a literal marker, or of another value.
    pub(super) fn near_miss(
        &self,
        from: usize,
        at: usize,
        place: Place,
    ) -> Option<(DiagnosticCode, usize)> {
        let (char, exact_run) = self.common_run()?;
        let rest = &self.text[at..];
        let run = run_length(rest, char);
        if run < 2 || self.text[from..at].ends_with(char) {
            return None;
        }
        let word: &str = word_at(&rest[run..]);
        if word.is_empty() || word.len() > 40 {
            return None;
        }
        // DECIDED: the end of the reply is "something else" too.
        let behind = at + run + word.len();
        let next = self.text[behind..].chars().next();

        // DECIDED: a longer run contains the marker, as it does in front of a start marker.
        let contains = |marker| {
            run >= exact_run && self.stands(marker, at + run - exact_run) && {
                word == word_at(&self.spelling(marker)[exact_run..])
            }
        };
        if place == Place::Prose && (contains(Marker::End) || contains(Marker::Argument)) {
            return Some((DiagnosticCode::StrayMarker, behind));
        }
        let resembles = ALL.into_iter().any(|marker| {
            let spelling = &self.spelling(marker)[exact_run..];
            let marker_word = word_at(spelling);
            let tail = spelling[marker_word.len()..].chars().next();
            !marker_word.is_empty()
                && fold(word) == fold(marker_word)
                && (tail.is_none() || tail == next)
        });
        let of_others = place == Place::Prose && is_start_of_others(word);
        let renamed = run == exact_run && ENVELOPES.contains(&word);
        let envelope = (renamed || of_others) && next == Some(':');
        (resembles || envelope).then_some((DiagnosticCode::NearMiss, behind))
    }

    /// The character and length of the run with which all three markers begin.
    fn common_run(&self) -> Option<(char, usize)> {
        let markers = self.format.markers.as_ref()?;
        let char = markers.start().chars().next()?;
        let length = run_length(markers.start(), char);
        let common = char.is_ascii_punctuation()
            && !"_-".contains(char)
            && length >= 2
            && run_length(markers.end(), char) == length
            && run_length(markers.arg(), char) == length;
        common.then_some((char, length))
    }
}

/// The default start marker, or one with eight lower-case hexadecimal digits.
fn is_start_of_others(word: &str) -> bool {
    let hex = |char: char| "0123456789abcdef".contains(char);
    match word.split_at_checked(12) {
        Some(("GADGET_START", nonce)) => {
            nonce.is_empty()
                || (nonce.len() == 9 && nonce.starts_with('_') && nonce[1..].chars().all(hex))
        }
        Some(_) | None => false,
    }
}

/// How many bytes at the start are `char`, which is ASCII.
pub(super) fn run_length(text: &str, char: char) -> usize {
    text.len() - text.trim_start_matches(char).len()
}

/// The word with which the text begins.
fn word_at(text: &str) -> &str {
    let rest =
        text.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || "_-".contains(char));
    &text[..text.len() - rest.len()]
}

/// The word without case, `_` and `-`.
fn fold(word: &str) -> String {
    word.replace(['_', '-'], "").to_ascii_uppercase()
}
