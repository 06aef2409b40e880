//! Finds the passage that a model means, and replaces it.
//!
//! Models quote from memory: tabs become spaces, indentation is lost. Each strategy is tried only if the one before found
//! nothing, and none of them guesses: a passage that could be in two places is an error, and so is one in which anything but
//! whitespace differs. Then the nearest passages are shown.

use std::fmt::Write as _;
use std::ops::Range;

use super::nearest::{Alike, passages};

/// Passage to replace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'e> {
    pub(super) search: &'e str,
    pub(super) replace: &'e str,
    pub(super) replace_all: bool,
    pub(super) expected_count: Option<usize>,
}

/// Way in which the passage was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The passage is in the file character by character.
    Exact,
    /// Each run of whitespace in a line counts as one space; at the ends of lines as none.
    WhiteSpace,
    /// Whitespace at the beginnings of lines does not count, and the replacement is indented like the passage.
    Indentation,
}

impl Strategy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::WhiteSpace => "whitespace",
            Self::Indentation => "indentation",
        }
    }
}

/// The text after the replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) strategy: Strategy,
    /// First and last line of the passages, in the text before, from 1.
    pub(super) lines: (usize, usize),
}

/// Reason that nothing was replaced.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("`search` is empty; WriteFile writes a whole file")]
    Empty,
    #[error("`search` and `replace` are the same, so nothing would change")]
    Same,
    #[error("lines {0}-{1} are already as `replace` says, so nothing would change")]
    Unchanged(usize, usize),
    #[error(
        "`search` was found {count} times, at lines {lines}; add lines around it that make it unique, or set replaceAll to true"
    )]
    Ambiguous { count: usize, lines: String },
    #[error("`search` was found {count} times, at lines {lines}, but expectedCount is {expected}")]
    Count {
        count: usize,
        lines: String,
        expected: usize,
    },
    #[error("`search` was not found{}", nearest(.0))]
    NotFound(Vec<Candidate>),
}

/// A passage that is somewhat alike.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    lines: (usize, usize),
    percent: u32,
    text: String,
}

fn nearest(candidates: &[Candidate]) -> String {
    let mut text = String::new();
    for Candidate {
        lines: (first, last),
        percent,
        text: passage,
    } in candidates
    {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nLines {first}-{last} are {percent} % alike:\n{passage}"
        );
    }
    if text.is_empty() {
        text.push_str("; read the file again");
    }
    text
}

/// Characters of a candidate that are shown.
const CANDIDATE_LENGTH: usize = 2000;

/// Replaces the passage.
pub(super) fn edit(text: &str, wanted: &Edit<'_>) -> Result<Edited, EditError> {
    if wanted.search.is_empty() {
        return Err(EditError::Empty);
    }
    if wanted.search == wanted.replace {
        return Err(EditError::Same);
    }
    let exact: Vec<_> = text
        .match_indices(wanted.search)
        .map(|(start, found)| start..start + found.len())
        .collect();
    if !exact.is_empty() {
        return replaced(text, wanted, Strategy::Exact, &exact);
    }
    let lines = Lines::of(text);
    let searched = Lines::of(wanted.search);
    for (strategy, key) in [
        (Strategy::WhiteSpace, collapsed as fn(&str) -> String),
        (Strategy::Indentation, |line| collapsed(line.trim_start())),
    ] {
        let found = lines.passages(&searched, key);
        if !found.is_empty() {
            return replaced(text, wanted, strategy, &found);
        }
    }
    let alike = passages(&lines.all, &searched.all);
    let candidate = |alike: &Alike| {
        let range = lines.range(alike.first, searched.all.len(), &searched);
        let passage = &text[range];
        let end = passage.floor_char_boundary(CANDIDATE_LENGTH);
        Candidate {
            lines: (alike.first + 1, alike.first + searched.all.len()),
            percent: alike.percent(),
            text: passage[..end].to_owned(),
        }
    };
    Err(EditError::NotFound(
        alike.iter().take(3).map(candidate).collect(),
    ))
}

fn replaced(
    text: &str,
    wanted: &Edit<'_>,
    strategy: Strategy,
    found: &[Range<usize>],
) -> Result<Edited, EditError> {
    let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
    let listed = || {
        let lines = found.iter().take(10).map(|range| line_of(range.start));
        let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
        lines.join(", ")
    };
    let count = found.len();
    if let Some(expected) = wanted.expected_count.filter(|expected| *expected != count) {
        let lines = listed();
        return Err(EditError::Count {
            count,
            lines,
            expected,
        });
    }
    if count > 1 && !wanted.replace_all && wanted.expected_count.is_none() {
        let lines = listed();
        return Err(EditError::Ambiguous { count, lines });
    }
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for range in found {
        result.push_str(&text[copied..range.start]);
        result.push_str(&adapted(&text[range.clone()], wanted, strategy));
        copied = range.end;
    }
    result.push_str(&text[copied..]);
    let first = found.first().map_or(0, |range| range.start);
    let last = found.last().map_or(0, |range| range.end);
    // The line break at the end of a passage belongs to its last line.
    let last = if text[..last].ends_with('\n') {
        last - 1
    } else {
        last
    };
    let lines = (line_of(first), line_of(last.max(first)));
    if result == text {
        return Err(EditError::Unchanged(lines.0, lines.1));
    }
    Ok(Edited {
        text: result,
        strategy,
        lines,
    })
}

/// The replacement, with the line breaks and the indentation of the passage where these did not count.
fn adapted(passage: &str, wanted: &Edit<'_>, strategy: Strategy) -> String {
    let mut replacement = match strategy {
        Strategy::Exact => return wanted.replace.to_owned(),
        Strategy::WhiteSpace | Strategy::Indentation => indented(
            wanted.replace,
            indentation(wanted.search),
            indentation(passage),
        ),
    };
    if passage.contains("\r\n") && !replacement.contains('\r') {
        replacement = replacement.replace('\n', "\r\n");
    }
    replacement
}

/// The whitespace before the first line that has more.
fn indentation(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or("", |line| &line[..line.len() - line.trim_start().len()])
}

/// The text with `to` in place of `from` before each line.
fn indented(text: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            result.push_str(line);
        } else if let Some(rest) = line.strip_prefix(from) {
            result.extend([to, rest]);
        } else {
            result.push_str(line);
        }
    }
    result
}

/// A line in which each run of whitespace is one space, and at the end none.
fn collapsed(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    if line.starts_with(char::is_whitespace) {
        result.push(' ');
    }
    for word in line.split_whitespace() {
        if !result.is_empty() && !result.ends_with(' ') {
            result.push(' ');
        }
        result.push_str(word);
    }
    if result == " " {
        result.clear();
    }
    result
}

/// A text by lines.
struct Lines<'t> {
    /// Without their line breaks.
    all: Vec<&'t str>,
    /// Offsets of the lines, and the end of the text.
    starts: Vec<usize>,
    ends_with_newline: bool,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let (mut all, mut starts, mut start) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            starts.push(start);
            start += line.len();
            all.push(line.trim_end_matches('\n').trim_end_matches('\r'));
        }
        starts.push(start);
        Self {
            all,
            starts,
            ends_with_newline: text.ends_with('\n'),
        }
    }

    /// Passages whose lines have the same keys, which do not overlap.
    fn passages(&self, searched: &Self, key: impl Fn(&str) -> String) -> Vec<Range<usize>> {
        let wanted: Vec<String> = searched.all.iter().map(|line| key(line)).collect();
        // Blank lines alone are everywhere.
        if wanted.iter().all(String::is_empty) {
            return Vec::new();
        }
        // No key has a line break, so lines of keys are found as one text, in linear time: `\nb\nc\n` in `\na\nb\nc\nd\n`.
        let delimited = |keys: &[String]| format!("\n{}\n", keys.join("\n"));
        let all: Vec<String> = self.all.iter().map(|line| key(line)).collect();
        let (all, lines) = (delimited(&all), wanted.len());
        let wanted = delimited(&wanted);
        let mut found = Vec::new();
        let (mut at, mut index) = (0, 0);
        while let Some(before) = all[at..].find(&wanted) {
            index += all[at..at + before].matches('\n').count();
            found.push(self.range(index, lines, searched));
            index += lines;
            // The line break at the end may be the one before the next.
            at += before + wanted.len() - 1;
        }
        found
    }

    /// The bytes of `count` lines; with the last line break if `searched` has one.
    fn range(&self, first: usize, count: usize, searched: &Self) -> Range<usize> {
        let start = self.starts[first];
        let last = first + count - 1;
        let end = if searched.ends_with_newline {
            self.starts[last + 1]
        } else {
            self.starts[last] + self.all[last].len()
        };
        start..end
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
