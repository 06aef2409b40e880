//! Prose: the search for openers, and what of the text has to be held for it.
//!
//! What is held is the end of a piece that may still become an opener, and nothing else: at most the longest opener less
//! one byte, and at the start of a line a backslash before it. For example, with the default markers and the tag `think`:
//!
//! ```text
//! pieces    "Look: !!!GAD"   "GET_START:Read\n"
//! held      "!!!GAD"         ""                    it became a marker: a block begins at byte 6
//! text      "Look: "
//!
//! pieces    "if a <th"       "an b"
//! held      "<th"            ""                    `<than` begins no tag: it is text
//! text      "if a "          "<than b"
//! ```
//!
//! A longer tail need not be held: whatever comes, an opener that begins before it would already be complete or refuted.

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, Found, LinePrefix, Marker, Next};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::reply::emit::Emitter;
use crate::reply::format::Prepared;
use crate::reply::suspects::Suspects;
use crate::tags::{NameIndex, Opening, TagKind};

/// The end of the prose so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Prose {
    /// Text that may still become an opener, not emitted.
    pub(super) held: String,
    pub(super) suspects: Suspects,
}

/// The places where openers may begin in the text that is being read.
///
/// A search for one kind must not run again for each opener of the other kind, or a text of many tags without a marker
/// would cost its square.
#[derive(Default)]
pub(super) struct Ahead {
    marker: Next,
    tag: Next,
}

/// Text of a reply, of which the prose begins at `from`.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) text: &'a str,
    /// The line and the backtick of the emitter are those before this place.
    pub(super) from: usize,
    /// Offset of the text in the reply.
    pub(super) base: u64,
    /// Whether no more text comes, so that nothing need be held.
    pub(super) last: bool,
}

/// An opener in the text.
pub(super) struct Opener {
    pub(super) kind: OpenerKind,
    pub(super) at: usize,
    pub(super) end: usize,
}

pub(super) enum OpenerKind {
    Block,
    Tag(NameIndex),
}

/// The action at a place where a marker may begin.
enum AtMarker {
    Open,
    /// Hold the text from here on.
    Hold(usize),
    /// Search on from here.
    Go(usize),
}

impl Prose {
    /// Prose of which nothing is held. `buffer` is memory for what will be.
    pub(super) fn with(mut buffer: String) -> Self {
        buffer.clear();
        Self {
            held: buffer,
            suspects: Suspects::default(),
        }
    }

    /// Returns `true` if no part of the prose so far may become an opener or a near miss.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.held.is_empty() && !self.suspects.is_any()
    }

    /// Reads up to an opener, or to the end of the text. What may become an opener is held, unless this is the last text.
    pub(super) fn read(
        &mut self,
        stretch: Stretch<'_>,
        ahead: &mut Ahead,
        format: &Prepared,
        out: &mut Emitter<'_>,
    ) -> Option<Opener> {
        let mut reading = Reading {
            prose: self,
            text: stretch.text,
            from: stretch.from,
            base: stretch.base,
            last: stretch.last,
            released: stretch.from,
            plain: stretch.from,
            format,
            out,
        };
        reading.read(ahead)
    }

    /// Nothing more belongs to a word at the end of the prose.
    pub(super) fn finish_suspect(&mut self, format: &Prepared, out: &mut Emitter<'_>) {
        self.suspects.finish(None, &format.search, out);
    }
}

/// A stretch of prose while it is read.
struct Reading<'a, 'o> {
    prose: &'a mut Prose,
    text: &'a str,
    from: usize,
    base: u64,
    last: bool,
    /// Text before this was emitted.
    released: usize,
    /// Offset of the first place where a marker may begin; before it there are no near misses either.
    plain: usize,
    format: &'a Prepared,
    out: &'a mut Emitter<'o>,
}

impl Reading<'_, '_> {
    fn read(&mut self, ahead: &mut Ahead) -> Option<Opener> {
        let (format, bytes) = (self.format, self.text.as_bytes());
        let mut marker = self.next_marker(self.from, ahead);
        self.plain = marker.unwrap_or(bytes.len());
        // No tag begins before this.
        let mut tags = self.from;
        loop {
            // Of two openers the earlier one counts, so a marker right here needs no search for tags.
            let tag = if format.names.is_empty() || marker.is_some_and(|at| at <= tags) {
                None
            } else {
                next_tag(bytes, tags, ahead)
            };
            match (marker, tag) {
                (Some(at), tag) if tag.is_none_or(|tag| at <= tag) => match self.at_marker(at) {
                    AtMarker::Open => {
                        self.leave(at);
                        let end = at + format.search.text(Marker::Start).len();
                        let kind = OpenerKind::Block;
                        return Some(Opener { kind, at, end });
                    }
                    AtMarker::Hold(at) => return self.end(at),
                    AtMarker::Go(next) => marker = self.next_marker(next, ahead),
                },
                // It is inside an escaped marker.
                (_, Some(at)) if at < self.released => tags = self.released,
                (_, Some(at)) => match format.names.at(bytes, at) {
                    Opening::Name(name) if !self.is_quoted(name, at) => {
                        if format.is_line_start() {
                            self.out.around.line = self.line_at(at);
                        }
                        self.leave(at);
                        let end = at + 1 + format.names.len_of(name);
                        let kind = OpenerKind::Tag(name);
                        return Some(Opener { kind, at, end });
                    }
                    Opening::Partial if !self.last => return self.end(at),
                    Opening::Name(_) | Opening::Partial | Opening::Nothing => tags = at + 1,
                },
                (_, None) => return self.end(bytes.len()),
            }
        }
    }

    fn next_marker(&self, from: usize, ahead: &mut Ahead) -> Option<usize> {
        let search = || self.format.search.candidate(self.text.as_bytes(), from);
        ahead.marker.from(from, search)
    }

    fn at_marker(&mut self, at: usize) -> AtMarker {
        let search = &self.format.search;
        let text = self.text.as_bytes();
        let prefix = match search.anchoring {
            Anchoring::Anywhere => LinePrefix::Blank(0),
            Anchoring::LineStart => self.line_at(at),
        };
        match prefix {
            LinePrefix::Blank(_) => match search.at(text, at, &[Marker::Start]) {
                Found::Whole(_) => return AtMarker::Open,
                Found::Partial(_) if !self.last => return AtMarker::Hold(at),
                Found::Partial(_) | Found::Nothing => {}
            },
            // A backslash that was content of a tag is not ours to remove.
            LinePrefix::Escaped(_) if at > self.released => match search.any_at(text, at) {
                Found::Whole(marker) => {
                    let end = at + search.text(marker).len();
                    self.unescape(at, end);
                    return AtMarker::Go(end);
                }
                Found::Partial(_) if !self.last => return AtMarker::Hold(at - 1),
                Found::Partial(_) | Found::Nothing => {}
            },
            LinePrefix::Escaped(_) | LinePrefix::Other => {}
        }
        AtMarker::Go(search.skip(text, at))
    }

    /// The marker at `at` is literal; the backslash before it goes.
    fn unescape(&mut self, at: usize, end: usize) {
        self.release_to(at - 1);
        let suspects = &mut self.prose.suspects;
        suspects.finish(Some(b'\\'), &self.format.search, self.out);
        self.out.begin_text();
        let start = self.base + at as u64 - 1;
        self.out.diagnostic(Diagnostic {
            code: DiagnosticCode::EscapedMarker,
            message: "A backslash before a marker was removed".to_owned(),
            span: Span {
                start,
                end: start + 1,
            },
        });
        self.out.text(&self.text[at..end]);
        self.released = end;
    }

    /// Emits the text before an opener at `at`.
    fn leave(&mut self, at: usize) {
        self.release_to(at);
        let next = self.text.as_bytes().get(at).copied();
        let suspects = &mut self.prose.suspects;
        suspects.finish(next, &self.format.search, self.out);
        self.out.around.ticked = false;
    }

    /// Returns `true` if the tag of reasoning at `at` is only mentioned: a backtick precedes it.
    fn is_quoted(&self, name: NameIndex, at: usize) -> bool {
        let ticked = if at > self.from {
            self.text.as_bytes()[at - 1] == b'`'
        } else {
            self.out.around.ticked
        };
        ticked && self.format.names.kind(name) != TagKind::Custom
    }

    /// Emits everything but what is held from `end` on. There is no opener.
    fn end(&mut self, mut end: usize) -> Option<Opener> {
        if self.format.is_line_start() {
            let mut line = self.line_at(end);
            let is_open = end == self.text.len() && end > self.released && !self.last;
            if is_open && matches!(line, LinePrefix::Escaped(_)) {
                // The backslash goes if a marker follows it.
                end -= 1;
                line = self.line_at(end);
            }
            self.out.around.line = line;
        }
        if end > self.from {
            self.out.around.ticked = self.text.as_bytes()[end - 1] == b'`';
        }
        self.release_to(end);
        self.prose.held.push_str(&self.text[end..]);
        None
    }

    /// Returns what the line of `at` holds before it.
    fn line_at(&self, at: usize) -> LinePrefix {
        let text = &self.text.as_bytes()[self.from..];
        let line = self.out.around.line;
        line.after(text, at - self.from, self.format.limits.indent)
    }

    fn release_to(&mut self, end: usize) {
        let text = &self.text[self.released..end];
        if end <= self.plain && !self.prose.suspects.is_any() {
            self.out.text(text);
        } else {
            let offset = self.base + self.released as u64;
            let suspects = &mut self.prose.suspects;
            suspects.read(text, offset, &self.format.search, self.out);
        }
        self.released = end;
    }
}

fn next_tag(text: &[u8], from: usize, ahead: &mut Ahead) -> Option<usize> {
    ahead.tag.from(from, || {
        let at = memchr::memchr(b'<', text.get(from..)?)?;
        Some(from + at)
    })
}
