//! Code fences around a whole body: models put them there, and they are not content.

use std::ops::Range;

use serde::{Deserialize, Serialize};

const TICK: char = '`';
const SHORTEST: usize = 3;

/// A line that opens a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fence {
    /// Offset at which the line starts.
    pub(crate) at: usize,
    /// Number of backticks.
    pub(crate) ticks: usize,
}

/// The last line of `preamble` that is not whitespace, if it opens a fence.
pub(crate) fn opening(preamble: &str) -> Option<Fence> {
    let text = preamble.trim_end();
    if text.is_empty() {
        return None;
    }
    let at = text.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[at..].trim_start_matches([' ', '\t']);
    let ticks = line.len() - line.trim_start_matches(TICK).len();
    (ticks >= SHORTEST && !line[ticks..].contains(TICK)).then_some(Fence { at, ticks })
}

/// Returns the offset of the last line of `value`, if it closes a fence of `ticks` backticks that opened before the value.
pub(crate) fn closing(value: &str, ticks: usize, cap: usize) -> Option<usize> {
    let start = value.rfind('\n').map_or(0, |at| at + 1);
    let last = &value[start..];
    let fence = last.trim_matches([' ', '\t']);
    let closes =
        last.len() <= cap && fence.len() >= ticks && fence.chars().all(|tick| tick == TICK);
    if !closes {
        return None;
    }
    let own = value[..start]
        .lines()
        .filter(|line| line.trim_start_matches([' ', '\t']).starts_with("```"))
        .count();
    own.is_multiple_of(2).then_some(start)
}

/// The trimmed body without one pair of fence lines around it.
pub(crate) fn inside(body: &str) -> Range<usize> {
    let trimmed = trim(body, 0..body.len());
    let text = &body[trimmed.clone()];
    let Some((first, rest)) = text.split_once('\n') else {
        return trimmed;
    };
    let Some(Fence { ticks, .. }) = opening(first) else {
        return trimmed;
    };
    let last = rest.rfind('\n').map_or(0, |at| at + 1);
    let fence = rest[last..].trim();
    if fence.len() < ticks || !fence.chars().all(|tick| tick == TICK) {
        return trimmed;
    }
    let start = trimmed.start + first.len() + 1;
    trim(body, start..start + last)
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

#[cfg(test)]
mod tests;
