//! The header line of a block: `Name[:id[:dependencies]]`.

use std::fmt::Write;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::chars::trimmed;

/// A header, read. It keeps its memory from block to block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockHeader {
    text: String,
    name: Range<usize>,
    id: Range<usize>,
    dependencies: Vec<Range<usize>>,
}

impl BlockHeader {
    /// The gadget's name as written, trimmed.
    pub fn gadget_name(&self) -> &str {
        &self.text[self.name.clone()]
    }

    /// The id as written, or `gadget_N`.
    pub fn invocation_id(&self) -> &str {
        &self.text[self.id.clone()]
    }

    /// Ids that must be done first, in the order written, without repetition.
    pub fn dependencies(&self) -> impl ExactSizeIterator<Item = &str> {
        self.dependencies
            .iter()
            .map(|range| &self.text[range.clone()])
    }

    /// Reads `line`, which is everything between the start marker and the end of the header.
    pub(crate) fn read(&mut self, line: &str, auto_ids: &mut u64) {
        self.text.clear();
        self.text.push_str(line);
        self.dependencies.clear();
        let is_colon = |byte| byte == b':';
        let (name, rest) = cut(&self.text, 0, is_colon);
        self.name = name;
        let (id, rest) = rest.map_or((0..0, None), |rest| cut(&self.text, rest, is_colon));
        self.id = id;
        let mut next = rest;
        while let Some(rest) = next {
            let (dependency, rest) = cut(&self.text, rest, |byte| matches!(byte, b':' | b','));
            next = rest;
            let text = &self.text[dependency.clone()];
            if !text.is_empty() && !self.dependencies().any(|known| known == text) {
                self.dependencies.push(dependency);
            }
        }
        if self.id.is_empty() {
            *auto_ids += 1;
            let start = self.text.len();
            // Writing to a string cannot fail.
            let _ = write!(self.text, "gadget_{auto_ids}");
            self.id = start..self.text.len();
        } else if let Some(number) = number_of(self.invocation_id()) {
            *auto_ids = number.max(*auto_ids);
        }
    }
}

/// The number of an id that looks like an automatic one: those that follow must not be taken for it.
pub(crate) fn number_of(id: &str) -> Option<u64> {
    let number: u32 = id.strip_prefix("gadget_")?.parse().ok()?;
    Some(number.into())
}

/// The trimmed range from `start` to the first separator, and where the text after it begins.
fn cut(
    text: &str,
    start: usize,
    is_separator: impl Fn(u8) -> bool,
) -> (Range<usize>, Option<usize>) {
    let part = &text[start..];
    let at = part.bytes().position(is_separator);
    let head = trimmed(&part[..at.unwrap_or(part.len())]);
    let rest = at.map(|at| start + at + 1);
    (start + head.start..start + head.end, rest)
}

#[cfg(test)]
mod tests;
