//! Finding markers in text that may go on.

use memchr::memmem::Finder;

use crate::block::Anchoring;
use crate::block::Markers;
use crate::block::near_miss::is_word;

/// One of the three markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Start,
    End,
    Arg,
}

/// What stands at a place where a marker may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Whole(Marker),
    /// The text ends inside what may become one.
    Partial(Marker),
    Nothing,
}

/// The markers, prepared for searching.
#[derive(Debug)]
pub(crate) struct MarkerSearch {
    pub(crate) markers: Markers,
    pub(crate) anchoring: Anchoring,
    /// The run of one punctuation character that begins all three markers.
    pub(crate) lead: Option<Lead>,
    /// Finds the first two bytes, if all markers share them.
    pair: Option<Finder<'static>>,
    first: [u8; 3],
}

/// `!!!`: a character and how often it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(crate) byte: u8,
    pub(crate) len: usize,
}

const ALL: [Marker; 3] = [Marker::Start, Marker::End, Marker::Arg];

impl MarkerSearch {
    pub(crate) fn new(markers: Markers, anchoring: Anchoring) -> Self {
        let bytes = [markers.start(), markers.end(), markers.arg()].map(str::as_bytes);
        let first = bytes.map(|marker| marker[0]);
        let leads = bytes.map(|marker| Lead {
            byte: marker[0],
            len: marker.iter().take_while(|byte| **byte == marker[0]).count(),
        });
        let shared = leads[0] == leads[1] && leads[0] == leads[2];
        let is_lead = first[0].is_ascii_punctuation() && !is_word(first[0]) && leads[0].len >= 2;
        let lead = (shared && is_lead).then_some(leads[0]);
        let pair = bytes[0]
            .get(..2)
            .filter(|pair| bytes.iter().all(|marker| marker.starts_with(pair)))
            .map(|pair| Finder::new(pair).into_owned());
        Self {
            markers,
            anchoring,
            lead,
            pair,
            first,
        }
    }

    pub(crate) fn text(&self, marker: Marker) -> &str {
        match marker {
            Marker::Start => self.markers.start(),
            Marker::End => self.markers.end(),
            Marker::Arg => self.markers.arg(),
        }
    }

    /// The bytes that markers begin with.
    pub(crate) fn first_bytes(&self) -> [u8; 3] {
        self.first
    }

    /// The next place at or behind `from` where a marker may begin: one of which at least two bytes are there, or
    /// one byte at the end of the text.
    pub(crate) fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        if self.pair.is_none() {
            let [a, b, c] = self.first;
            return Some(from + memchr::memchr3(a, b, c, rest)?);
        }
        // A short piece is not worth the set-up of the searcher.
        if rest.len() <= 16 {
            let at = rest.iter().position(|byte| *byte == self.first[0])?;
            return Some(from + at);
        }
        match self.pair.as_ref().and_then(|pair| pair.find(rest)) {
            Some(at) => Some(from + at),
            None => (rest.last() == Some(&self.first[0])).then(|| text.len() - 1),
        }
    }

    /// What stands at `at`. A whole marker wins over a part of one.
    pub(crate) fn at(&self, text: &[u8], at: usize, wanted: &[Marker]) -> Found {
        let rest = &text[at..];
        let mut found = Found::Nothing;
        for &marker in wanted {
            let needle = self.text(marker).as_bytes();
            if rest.starts_with(needle) {
                return Found::Whole(marker);
            }
            if needle.starts_with(rest) {
                found = Found::Partial(marker);
            }
        }
        found
    }

    pub(crate) fn any_at(&self, text: &[u8], at: usize) -> Found {
        self.at(text, at, &ALL)
    }

    /// Behind a place where no marker begins: the next byte, or the last place in a run of the lead character where
    /// one could begin, so that long runs cost nothing.
    pub(crate) fn skip(&self, text: &[u8], at: usize) -> usize {
        let Some(lead) = self.lead else { return at + 1 };
        let run = run_len(text, at, lead.byte);
        if run > lead.len {
            at + run - lead.len
        } else {
            at + run.max(1)
        }
    }
}

/// The next place of something in a text, remembered, so that what is rare is not searched for again and again
/// where something else is frequent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Next {
    #[default]
    Unknown,
    At(usize),
    Nowhere,
}

impl Next {
    /// The next place at or behind `from`, which `search` finds. Places are asked for from front to back.
    pub(crate) fn from(
        &mut self,
        from: usize,
        search: impl FnOnce() -> Option<usize>,
    ) -> Option<usize> {
        match *self {
            Self::Nowhere => return None,
            Self::At(at) if at >= from => return Some(at),
            Self::At(_) | Self::Unknown => {}
        }
        let found = search();
        *self = found.map_or(Self::Nowhere, Self::At);
        found
    }
}

pub(crate) fn run_len(text: &[u8], at: usize, byte: u8) -> usize {
    text[at..]
        .iter()
        .take_while(|other| **other == byte)
        .count()
}

/// What stands on a line before some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum LinePrefix {
    /// Blanks alone, so many bytes of them.
    Blank(usize),
    /// Blanks and then backslashes, so many bytes of both.
    Escaped(usize),
    /// Anything else.
    Other,
}

impl LinePrefix {
    /// The prefix of the line on which `text[..end]` ends, if `self` is that of the line on which `text` begins.
    pub(crate) fn behind(self, text: &[u8], end: usize, cap: usize) -> Self {
        let mut start = end;
        while start > 0 && end - start <= cap && matches!(text[start - 1], b' ' | b'\t' | b'\\') {
            start -= 1;
        }
        let before = if start == 0 {
            self
        } else if text[start - 1] == b'\n' {
            Self::Blank(0)
        } else {
            Self::Other
        };
        text[start..end]
            .iter()
            .fold(before, |prefix, byte| prefix.then(*byte, cap))
    }

    fn then(self, byte: u8, cap: usize) -> Self {
        match (self, byte) {
            (Self::Blank(count), b' ' | b'\t') if count < cap => Self::Blank(count + 1),
            (Self::Blank(count) | Self::Escaped(count), b'\\') if count < cap => {
                Self::Escaped(count + 1)
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
