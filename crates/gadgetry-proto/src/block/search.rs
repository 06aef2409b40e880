//! Finding markers in text of which more may come.
//!
//! A search answers with one of three: a whole marker, a part of one at the end of the text, or nothing. A part is
//! what the reader has to keep until more text has come, and it is short, since a marker is: at most its length less one
//! byte. With the default markers:
//!
//! ```text
//! text               candidate   found there
//! "a !!!GADGET_END"  2           the end marker
//! "a !!!GAD"         2           a part: the next piece decides
//! "a !!!Gad"         2           nothing: the search continues at 5, since no marker begins inside the run
//! "a !!!!!!ARG:x"    2           nothing, but one may begin 3 signs before the run ends: it continues at 5
//! "wow!"             3           a part: one sign at the very end may be the first of three
//! ```
//!
//! Two bytes are searched for and not one: in English prose `!` is frequent, `!!` is rare, and a vectorised search for a
//! pair costs what one for a byte costs. Only at the end of a text one byte has to do.

use memchr::memmem::Finder;

use crate::block::Anchoring;
use crate::block::Markers;
use crate::block::chars::is_word;
use crate::block::chars::run_len;

/// One of the three markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Start,
    End,
    Arg,
}

/// The marker, or part of one, at a place of a text.
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
    start: Start,
    /// The first byte of each marker.
    pub(crate) first: [u8; 3],
    /// For each byte, whether it is visible ASCII and begins no marker.
    plain: Box<[bool; 256]>,
    /// Number of bytes that all markers share at their start.
    shared: usize,
    /// The byte after those, of each marker. There is one, since no marker begins with another.
    distinct: [u8; 3],
}

/// The beginning of markers, which is what a search looks for.
#[derive(Debug)]
enum Start {
    /// There are no markers, so nothing is found.
    Nothing,
    /// All markers begin with the same two bytes; the second one, and a search for both.
    Pair(u8, Box<Finder<'static>>),
    /// A marker begins with one of [`MarkerSearch::first`].
    Bytes,
}

/// `!!!`: a character and the number of times that it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(crate) byte: u8,
    pub(crate) len: usize,
    /// Whether two words follow the word of each marker: [`Markers::nonce`].
    pub(crate) has_words: bool,
}

/// Up to this many bytes, a loop is faster than the set-up of a search.
const SHORT: usize = 16;
/// Up to this many bytes, a search for one byte is faster than the set-up of one for two.
const MEDIUM: usize = 128;

const ALL: [Marker; 3] = [Marker::Start, Marker::End, Marker::Arg];

impl MarkerSearch {
    /// A search for `markers`. Without any, it finds nothing.
    pub(crate) fn new(markers: Option<Markers>, anchoring: Anchoring) -> Self {
        let Some(markers) = markers else {
            return Self {
                markers: Markers::default(),
                anchoring: Anchoring::Anywhere,
                lead: None,
                start: Start::Nothing,
                first: [0; 3],
                plain: Box::new([false; 256]),
                shared: 0,
                distinct: [0; 3],
            };
        };
        let bytes = [markers.start(), markers.end(), markers.arg()].map(str::as_bytes);
        let first = bytes.map(|marker| marker[0]);
        let has_words = markers.words().is_some();
        let leads = bytes.map(|marker| Lead {
            byte: marker[0],
            len: run_len(marker, 0, marker[0]),
            has_words,
        });
        let same = leads[0] == leads[1] && leads[0] == leads[2];
        let is_lead = first[0].is_ascii_punctuation() && !is_word(first[0]) && leads[0].len >= 2;
        let lead = (same && is_lead).then_some(leads[0]);
        let pair = bytes[0]
            .first_chunk::<2>()
            .filter(|pair| bytes.iter().all(|marker| marker.starts_with(*pair)));
        let start = match pair {
            Some(pair) => Start::Pair(pair[1], Box::new(Finder::new(pair).into_owned())),
            None => Start::Bytes,
        };
        let shared = bytes[0].iter().enumerate().take_while(|(index, byte)| {
            bytes.iter().all(|marker| marker.get(*index) == Some(*byte))
        });
        let shared = shared.count();
        let distinct = bytes.map(|marker| marker[shared]);
        let mut plain = Box::new([false; 256]);
        for byte in (b'!'..=b'~').filter(|byte| !first.contains(byte)) {
            plain[usize::from(byte)] = true;
        }
        Self {
            markers,
            anchoring,
            lead,
            start,
            first,
            plain,
            shared,
            distinct,
        }
    }

    pub(crate) fn text(&self, marker: Marker) -> &str {
        match marker {
            Marker::Start => self.markers.start(),
            Marker::End => self.markers.end(),
            Marker::Arg => self.markers.arg(),
        }
    }

    /// Returns `true` if there are markers, and they count anywhere.
    pub(crate) fn is_anywhere(&self) -> bool {
        self.anchoring == Anchoring::Anywhere && !matches!(self.start, Start::Nothing)
    }

    /// The length of the first line, if it is plain.
    ///
    /// A plain line has ended, is neither empty nor longer than `most`, and is visible ASCII in which no marker begins.
    pub(crate) fn plain_line(&self, text: &[u8], most: usize) -> Option<usize> {
        let is_plain = |byte: &u8| self.plain[usize::from(*byte)];
        let len = text.iter().position(|byte| !is_plain(byte))?;
        (text[len] == b'\n' && (1..=most).contains(&len)).then_some(len)
    }

    /// The bytes that markers begin with.
    pub(crate) fn first_bytes(&self) -> &[u8] {
        match &self.start {
            Start::Nothing => &[],
            Start::Pair(..) | Start::Bytes => &self.first,
        }
    }

    /// The next place at or after `from` where a marker may begin: one of which at least two bytes are there, or
    /// one byte at the end of the text.
    #[inline]
    pub(crate) fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        // A short piece is not worth the set-up of a search.
        let at = if rest.len() <= SHORT && matches!(self.start, Start::Pair(..)) {
            rest.iter().position(|byte| *byte == self.first[0])
        } else {
            self.search(rest)
        };
        Some(from + at?)
    }

    fn search(&self, text: &[u8]) -> Option<usize> {
        let [first, b, c] = self.first;
        match &self.start {
            Start::Nothing => None,
            Start::Bytes => memchr::memchr3(first, b, c, text),
            Start::Pair(second, _) if text.len() <= MEDIUM => {
                let mut at = 0;
                loop {
                    at += memchr::memchr(first, &text[at..])?;
                    match text.get(at + 1) {
                        Some(next) if next != second => at += 1,
                        Some(_) | None => return Some(at),
                    }
                }
            }
            Start::Pair(_, pair) => match pair.find(text) {
                Some(at) => Some(at),
                None => (text.last() == Some(&first)).then(|| text.len() - 1),
            },
        }
    }

    /// The next whole `marker` at or after `from`.
    pub(crate) fn find(&self, marker: Marker, text: &[u8], mut from: usize) -> Option<usize> {
        let needle = self.text(marker).as_bytes();
        loop {
            let at = self.candidate(text, from)?;
            if text[at..].starts_with(needle) {
                return Some(at);
            }
            from = self.skip(text, at);
        }
    }

    /// Returns the wanted marker at `at`. A whole marker wins over a part of one.
    #[inline]
    pub(crate) fn at(&self, text: &[u8], at: usize, wanted: &[Marker]) -> Found {
        let rest = &text[at..];
        // All markers begin alike, and the byte after that distinguishes them: most are compared no further.
        let next = rest.get(self.shared).copied();
        let mut found = Found::Nothing;
        for &marker in wanted {
            if next.is_some_and(|next| self.distinct[marker as usize] != next) {
                continue;
            }
            let needle = self.text(marker).as_bytes();
            if rest.len() >= needle.len() {
                if rest.starts_with(needle) {
                    return Found::Whole(marker);
                }
            } else if needle.starts_with(rest) {
                found = Found::Partial(marker);
            }
        }
        found
    }

    pub(crate) fn any_at(&self, text: &[u8], at: usize) -> Found {
        self.at(text, at, &ALL)
    }

    /// Returns where to continue after a position where no marker begins: the next byte, or the last place in a run of the lead character where
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

/// The next place of something in a text, remembered.
///
/// A scanner that looks for markers and tags goes from one to the next of either. In a text of 10,000 tags and no marker
/// it would search the whole rest for a marker after each tag, 10,000 times; remembered, that rest is searched once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Next {
    #[default]
    Unknown,
    At(usize),
    Nowhere,
}

impl Next {
    /// The next place at or after `from`, which `search` finds. `from` never decreases.
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

/// The text on a line before some place, as far as markers depend on it.
///
/// Where markers count only at the start of a line, this is what decides. It is short by a cap, so it is known without
/// going back further: of `"  \\!!!ARG:"` the marker is escaped, of `"x !!!ARG:"` it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum LinePrefix {
    /// Blanks alone, and how many bytes of them.
    Blank(usize),
    /// Blanks and then backslashes, and how many bytes of both.
    Escaped(usize),
    /// A line with other text: markers do not count in it.
    Other,
}

impl LinePrefix {
    /// The prefix of the line on which `text[..end]` ends, if `self` is that of the line on which `text` begins.
    ///
    /// Pieces can be cut anywhere, so the prefix of the last piece continues in the next one: after `"one\n  "` it is
    /// `Blank(2)`, and with that `" !!!ARG:"` begins at `Blank(3)`; after `"one "` it is `Other`.
    pub(crate) fn after(self, text: &[u8], end: usize, cap: usize) -> Self {
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
