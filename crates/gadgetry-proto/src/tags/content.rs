//! The machine that reads the content of a tag, piece by piece.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::tags::names::{NameIndex, Names, is_space};

/// The content of an open tag as far as it has arrived. `emitted <= scan <= text.len()`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TagContent {
    text: String,
    /// No closing tag begins before this offset.
    scan: usize,
    emitted: usize,
}

/// The end of the content within a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentEnd {
    /// A closing tag; the last `unread` bytes of the piece were not read.
    Closed { unread: usize },
    /// The cap; the text after it comes back from [`TagContent::take_excess`].
    Limit,
}

impl TagContent {
    pub(crate) fn begin(&mut self) {
        self.text.clear();
        (self.scan, self.emitted) = (0, 0);
    }

    /// Returns the size of a piece that is worth reading at once: what the content does not use of it is read again.
    pub(crate) fn appetite(&self) -> usize {
        self.text.len().max(128)
    }

    /// Reads a piece. Gives what of the content is new and can no longer change, as a range of [`TagContent::text`].
    pub(crate) fn feed(
        &mut self,
        piece: &str,
        name: NameIndex,
        names: &Names,
        limits: &Limits,
    ) -> (Range<usize>, Option<ContentEnd>) {
        self.text.push_str(piece);
        let end = self.read(name, names, limits);
        let safe = if end.is_some() {
            self.text.len()
        } else {
            self.scan
        };
        let safe = safe.min(self.text.floor_char_boundary(limits.tag_content));
        (self.take_new(safe), end)
    }

    /// Takes a piece in that begins no tag, if nothing is held; `false` (and nothing taken) otherwise.
    pub(crate) fn take_plain(&mut self, piece: &str, limits: &Limits) -> bool {
        let end = self.text.len();
        if self.emitted != end || self.scan != end || end + piece.len() > limits.tag_content {
            return false;
        }
        self.text.push_str(piece);
        self.scan = self.text.len();
        self.emitted = self.scan;
        true
    }

    fn read(&mut self, name: NameIndex, names: &Names, limits: &Limits) -> Option<ContentEnd> {
        loop {
            let text = self.text.as_bytes();
            let at = self.candidate(name, names);
            if at.unwrap_or(text.len()) > limits.tag_content {
                return Some(ContentEnd::Limit);
            }
            let Some(at) = at else {
                self.scan = text.len();
                return None;
            };
            self.scan = at;
            let past = at + 2 + names.len_of(name);
            let tail = text.get(past..)?;
            let spaces = tail
                .iter()
                .take(limits.indent + 1)
                .take_while(|byte| is_space(**byte))
                .count();
            match tail.get(spaces) {
                Some(b'>') if spaces <= limits.indent => {
                    let unread = tail.len() - spaces - 1;
                    self.text.truncate(at);
                    return Some(ContentEnd::Closed { unread });
                }
                None if spaces <= limits.indent => return None,
                Some(_) | None => self.scan = at + 2,
            }
        }
    }

    /// The next place where `</name`, or at the end of the text a part of it, begins.
    fn candidate(&self, name: NameIndex, names: &Names) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.scan..];
        // One byte is found faster than several, and most content has none of it.
        let first = self.scan + memchr::memchr(b'<', rest)?;
        let rest = &self.text.as_bytes()[first..];
        let close = names.close(name);
        let needle = close.needle();
        if let Some(at) = close.find(rest) {
            return Some(first + at);
        }
        let tail = rest.len().saturating_sub(needle.len() - 1);
        let part = memchr::memrchr(b'<', &rest[tail..]).map(|at| tail + at)?;
        needle.starts_with(&rest[part..]).then_some(first + part)
    }

    /// Returns the range that is new up to `end`.
    fn take_new(&mut self, end: usize) -> Range<usize> {
        let new = self.emitted..end.max(self.emitted);
        self.emitted = new.end;
        new
    }

    /// Cuts the content at its cap and returns what follows it.
    pub(crate) fn take_excess(&mut self, limits: &Limits) -> String {
        self.text
            .split_off(self.text.floor_char_boundary(limits.tag_content))
    }

    /// The reply ends here: all of it is content. Gives what is new, and whether the content is within its cap.
    pub(crate) fn finish(&mut self, limits: &Limits) -> (Range<usize>, bool) {
        let new = self.take_new(self.text.floor_char_boundary(limits.tag_content));
        (new, self.text.len() <= limits.tag_content)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
