//! The line of a start marker: read to its end before anything is decided about it.

use serde::{Deserialize, Serialize};

use crate::block::Marker;
use crate::limits::{Limit, LimitExceeded};
use crate::reply::format::Prepared;

/// The line after a start marker, as far as it has arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct HeaderLine {
    /// Offset of the start marker in the reply.
    pub(super) opener: u64,
    pub(super) text: String,
}

/// The effect of a piece on the line, and how much of the piece was read.
pub(super) enum HeaderStep {
    More {
        read: usize,
    },
    /// The first `len` bytes of the line are the header. With `closed`, an end marker followed them.
    Whole {
        read: usize,
        len: usize,
        closed: bool,
    },
    /// The line is longer than any header.
    TooLong {
        read: usize,
    },
}

impl HeaderLine {
    /// The line after a start marker at `opener`. `buffer` is memory for it.
    pub(super) fn with(opener: u64, mut buffer: String) -> Self {
        buffer.clear();
        Self {
            opener,
            text: buffer,
        }
    }

    /// Reads a piece up to the end of the line, of a header on it, or of what a header may be.
    pub(super) fn read(&mut self, piece: &str, format: &Prepared) -> HeaderStep {
        let end_marker = format.search.text(Marker::End);
        let cap = format.limits.header;
        // A header at its cap may be followed by the end marker, which may have arrived in part.
        let longest = cap + end_marker.len();
        let old = self.text.len();
        let room = longest.saturating_sub(old);
        let rest = &piece.as_bytes()[..piece.len().min(room)];
        let newline = memchr::memchr(b'\n', rest);
        let read = newline.map_or(piece.floor_char_boundary(rest.len()), |newline| newline + 1);
        self.text.push_str(&piece[..read]);
        let line = self.text.len() - usize::from(newline.is_some());
        let from = old.saturating_sub(end_marker.len());
        let text = &self.text.as_bytes()[..line];
        if let Some(len) = format.search.find(Marker::End, text, from)
            && len <= cap
        {
            let unread = self.text.len() - len - end_marker.len();
            return HeaderStep::Whole {
                read: read - unread,
                len,
                closed: true,
            };
        }
        if newline.is_some() && line <= cap {
            return HeaderStep::Whole {
                read,
                len: line,
                closed: false,
            };
        }
        // Even if the line is within the cap: the next character, of which nothing was read, is not.
        let is_full = newline.is_some() || self.text.len() >= longest || read == 0;
        if is_full {
            HeaderStep::TooLong { read }
        } else {
            HeaderStep::More { read }
        }
    }

    /// The cap on a header.
    pub(super) fn cap(format: &Prepared) -> LimitExceeded {
        LimitExceeded {
            what: Limit::Header,
            limit: format.limits.header,
        }
    }

    /// The cap, if the line has passed it.
    pub(super) fn passed(&self, format: &Prepared) -> Option<LimitExceeded> {
        let cap = Self::cap(format);
        (self.text.len() > cap.limit).then_some(cap)
    }
}
