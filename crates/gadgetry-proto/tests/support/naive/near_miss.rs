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
        let has_words = self.format.markers.as_ref()?.words().is_some();
        let word_at = |text| {
            if has_words {
                words_at(text)
            } else {
                word_at(text)
            }
        };
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

/// The default start marker, or one with two words.
fn is_start_of_others(word: &str) -> bool {
    let parts: Vec<&str> = word.split(' ').collect();
    parts[0] == "GADGET_START" && (parts.len() == 1 || parts.len() == 3)
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

/// The word with which the text begins, and if it is that of a marker, two words of small letters behind it, as far as they are there.
fn words_at(text: &str) -> &str {
    let mut end = word_at(text).len();
    let names = ["GADGETSTART", "GADGETEND", "ARG"];
    if !names.contains(&fold(&text[..end]).as_str()) {
        return &text[..end];
    }
    for _ in 0..2 {
        let Some(rest) = text[end..].strip_prefix(' ') else {
            break;
        };
        let letters = rest.len()
            - rest
                .trim_start_matches(|it: char| it.is_ascii_lowercase())
                .len();
        end += 1 + letters;
        if letters == 0 {
            break;
        }
    }
    &text[..end]
}

/// The word without case, blanks, `_` and `-`.
fn fold(word: &str) -> String {
    word.replace(['_', '-', ' '], "").to_ascii_uppercase()
}
