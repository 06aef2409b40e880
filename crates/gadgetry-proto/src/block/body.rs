//! The machine that reads the body of a block, piece by piece.
//!
//! The body is kept as one text, because the call needs it; everything else is an offset into it, but for the current
//! pointer, which comes with every part of its value: a text of its own takes 45 instructions less a push than a range.
//! Inequalities that always hold: `value start <= emitted <= scan <= text.len()`.
//!
//! For example, with the default markers, after the pieces `!!!ARG:n\n12` and `\n!!!GAD`:
//!
//! ```text
//! !!!ARG:n␊12␊!!!GAD
//!          │ ││     └ text.len() = 18
//!          │ │└ scan = 12: a marker may begin here
//!          │ └ emitted = 11: the line break is held, because it is not value if a marker follows
//!          └ value start = 9
//! ```
//!
//! With `GET_END` the value is `12`, and complete. If other text follows, `\n!!!GAD` turns out to be value and is emitted.

mod arguments;
mod diagnostics;
mod lines;
mod value;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Anchoring;
use crate::block::chars::trimmed;
use crate::block::fence;
use crate::block::fence::Fence;
use crate::block::search::Found;
use crate::block::search::LinePrefix;
use crate::block::search::Marker;
use crate::block::search::MarkerSearch;
use crate::call::TerminatedBy;
use crate::error::{Diagnostic, DiagnosticCode, ParseError};
use crate::limits::{Limit, LimitExceeded, Limits};
use lines::{line_of, without_newline};

/// A body as far as it has arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    text: String,
    /// Offset of the text in the reply.
    base: u64,
    /// No marker begins before this offset of the text.
    scan: usize,
    /// End of the emitted part of the current value, as an offset of the text.
    emitted: usize,
    part: BodyPart,
    /// The pointer of the current value; empty if it is invalid or the body passed its cap, and the value is not emitted.
    pointer: String,
    arguments: Vec<ArgumentSpan>,
    /// Offsets of backslashes that do not belong to their value.
    escapes: Vec<usize>,
    /// The fence that opened the body.
    fence: Option<Fence>,
    /// End of the text before the first argument.
    preamble: usize,
    /// A mistake that the arguments do not show.
    error: Option<ParseError>,
    /// The body passed its cap; what follows is read but not kept.
    overflown: bool,
    /// The last place in the current value that may be a near miss.
    suspect: Option<usize>,
    /// Number of near misses that may still be reported.
    room: usize,
    /// Diagnostics, in the order in which they are reported.
    diagnostics: Vec<Diagnostic>,
}

/// Up to this many bytes, a body that is whole is read by the short way.
const SMALL: usize = 1 << 10;

/// Bytes of a body beyond its cap that pile up before they are dropped; dropping them bit by bit would not be linear.
const FORGOTTEN: usize = 1 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum BodyPart {
    #[default]
    Preamble,
    /// The line of an argument marker; where the pointer starts.
    Pointer(usize),
    /// The value of the last argument; where it starts.
    Value(usize),
}

/// The position of one argument in the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ArgumentSpan {
    pointer: Range<usize>,
    value: Range<usize>,
}

/// More text of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partial<'a> {
    pub(crate) pointer: &'a str,
    pub(crate) delta: &'a str,
    pub(crate) complete: bool,
    /// The body up to the value, with its first part.
    pub(crate) head: Option<&'a str>,
}

/// The consumer of parts of values.
pub(crate) type Sink<'a> = dyn FnMut(Partial<'_>) + 'a;

/// A marker ended the body; it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyEnd {
    pub(crate) by: TerminatedBy,
    /// Bytes of the last piece that were not read.
    pub(crate) unread: usize,
}

impl Body {
    /// Begins a new body at offset `base` of the reply. At most `room` near misses may be reported.
    pub(crate) fn begin(&mut self, base: u64, room: usize) {
        self.text.clear();
        self.pointer.clear();
        self.arguments.clear();
        self.escapes.clear();
        self.diagnostics.clear();
        (self.base, self.room, self.suspect) = (base, room, None);
        (self.scan, self.emitted, self.preamble) = (0, 0, 0);
        self.part = BodyPart::Preamble;
        (self.fence, self.error, self.overflown) = (None, None, false);
    }

    /// Offset of the body in the reply, unless it passed its cap.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the size of a piece that is worth reading at once: what a block does not use of it is read again.
    pub(crate) fn appetite(&self) -> usize {
        self.text.len().max(128)
    }

    /// Reads a piece. Emits every part of a value that no later text can change.
    pub(crate) fn feed(
        &mut self,
        piece: &str,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut Sink<'_>,
    ) -> Option<BodyEnd> {
        self.text.push_str(piece);
        let ended = self.read(search, limits, out);
        if ended.is_none() {
            if self.scan > limits.block && !self.overflown {
                self.overflow(limits, out);
            }
            if self.overflown && self.text.len() > 2 * limits.indent + FORGOTTEN {
                self.forget(limits);
            }
            self.emit(
                self.safe_end(search, limits)
                    .min(self.text.floor_char_boundary(limits.block)),
                out,
            );
        }
        ended
    }

    /// Takes a piece in that ends no line and begins no marker, in the middle of a value of which nothing is held:
    /// all of it is value. Gives the pointer, or `None` (and takes nothing) if the body is elsewhere.
    #[inline]
    pub(crate) fn take_plain(&mut self, piece: &str, limits: &Limits) -> Option<&str> {
        let BodyPart::Value(start) = self.part else {
            return None;
        };
        let old = self.text.len();
        let new = old + piece.len();
        if self.emitted != old || old == start || self.pointer.is_empty() || new > limits.block {
            return None;
        }
        self.text.push_str(piece);
        (self.scan, self.emitted) = (new, new);
        Some(&self.pointer)
    }

    /// Takes in a small body that has arrived whole.
    ///
    /// Gives its length with the end marker, or takes nothing if anything about it is unusual. Most calls are small, and a
    /// reply that does not stream is one piece. The body has begun. For example, with the default markers:
    ///
    /// ```text
    /// "!!!ARG:url\nhttps://a.b\n!!!GADGET_END\n"   one argument: 36 bytes are taken
    /// "!!!ARG:url\nhttps://a.b\n!!!GADGET"         the end may follow: nothing is taken
    /// "!!!ARG:a\nWow!!\n!!!GADGET_END"             `!!` may be a near miss: nothing is taken
    /// ```
    pub(crate) fn take_whole(
        &mut self,
        text: &str,
        search: &MarkerSearch,
        limits: &Limits,
    ) -> Option<usize> {
        // `begin` has emptied the body, so offsets of `text` will be offsets of the body, and no counter has to move.
        let text = &text[..text.floor_char_boundary(SMALL.min(limits.block))];
        let len = self.take_arguments(text, search, limits);
        let whole = len.filter(|len| text[*len..].starts_with(search.text(Marker::End)));
        let Some(len) = whole else {
            self.arguments.clear();
            return None;
        };
        self.text.push_str(&text[..len]);
        Some(len + search.text(Marker::End).len())
    }

    /// Notes arguments, and gives where the last value ends.
    fn take_arguments(
        &mut self,
        text: &str,
        search: &MarkerSearch,
        limits: &Limits,
    ) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(line) = bytes[at..].strip_prefix(search.text(Marker::Arg).as_bytes()) {
            let len = search.plain_line(line, limits.pointer)?;
            let pointer = bytes.len() - line.len();
            let value = pointer + len + 1;
            at = search.candidate(bytes, value)?;
            self.arguments.push(ArgumentSpan {
                pointer: pointer..pointer + len,
                value: value..without_newline(text, value, at),
            });
        }
        Some(at)
    }

    fn read(
        &mut self,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut Sink<'_>,
    ) -> Option<BodyEnd> {
        loop {
            let at = match self.part {
                BodyPart::Pointer(_) => self.pointer_stop(search),
                BodyPart::Preamble | BodyPart::Value(_) => {
                    search.candidate(self.text.as_bytes(), self.scan)
                }
            };
            let Some(at) = at else {
                self.scan = self.text.len();
                return None;
            };
            let text = self.text.as_bytes();
            if let BodyPart::Pointer(start) = self.part
                && text[at] == b'\n'
            {
                self.end_pointer(start, at, at + 1, limits);
                continue;
            }
            if at > limits.block && !self.overflown {
                self.scan = at;
                self.overflow(limits, out);
                continue;
            }
            let prefix = match search.anchoring {
                Anchoring::Anywhere => LinePrefix::Blank(0),
                Anchoring::LineStart => LinePrefix::Blank(0).after(text, at, limits.indent),
            };
            match (search.any_at(text, at), prefix) {
                (Found::Whole(marker), LinePrefix::Blank(blanks)) => {
                    if let Some(ended) = self.marker(marker, at, blanks, search, limits, out) {
                        return Some(ended);
                    }
                }
                (Found::Whole(marker), LinePrefix::Escaped(_)) => {
                    self.escape(at, search, out);
                    self.scan = at + search.text(marker).len();
                }
                (Found::Partial(_), LinePrefix::Blank(_) | LinePrefix::Escaped(_)) => {
                    self.scan = at;
                    return None;
                }
                (Found::Nothing, _) | (_, LinePrefix::Other) => {
                    let next = search.skip(text, at);
                    self.suspect(at, search);
                    self.scan = next;
                }
            }
        }
    }

    /// The next place where the pointer may end.
    ///
    /// That is a newline or, unless markers count at the start of a line only, a byte that begins one. Pointers are
    /// short, so this is a loop instead of a search with a set-up.
    fn pointer_stop(&self, search: &MarkerSearch) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.scan..];
        let at = match search.anchoring {
            Anchoring::LineStart => memchr::memchr(b'\n', rest),
            Anchoring::Anywhere => rest
                .iter()
                .position(|byte| *byte == b'\n' || search.first.contains(byte)),
        };
        Some(self.scan + at?)
    }

    /// A marker at `at`, after `blanks` bytes of blanks on its line.
    fn marker(
        &mut self,
        marker: Marker,
        at: usize,
        blanks: usize,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut Sink<'_>,
    ) -> Option<BodyEnd> {
        let end_of_marker = at + search.text(marker).len();
        if let BodyPart::Pointer(start) = self.part {
            self.end_pointer(start, at, at, limits);
        }
        let last = marker != Marker::Arg;
        self.end_part(at, at - blanks, last, search, limits, out);
        if last {
            let by = match marker {
                Marker::End => TerminatedBy::EndMarker,
                Marker::Start | Marker::Arg => TerminatedBy::NextStart,
            };
            let unread = self.text.len() - end_of_marker;
            self.text.truncate(at);
            return Some(BodyEnd { by, unread });
        }
        self.part = BodyPart::Pointer(end_of_marker);
        self.scan = end_of_marker;
        None
    }

    fn end_pointer(&mut self, start: usize, end: usize, value: usize, limits: &Limits) {
        self.pointer.clear();
        if !self.overflown {
            let trimmed = trimmed(&self.text[start..end]);
            let pointer = start + trimmed.start..start + trimmed.end;
            let written = &self.text[pointer.clone()];
            if written.len() <= limits.pointer && !written.contains(char::is_whitespace) {
                self.pointer.push_str(written);
            }
            self.arguments.push(ArgumentSpan {
                pointer,
                value: value..value,
            });
        }
        self.part = BodyPart::Value(value);
        self.emitted = value;
        self.scan = value;
    }

    /// Ends the preamble or the value at `at`, which is `line` without the blanks before the marker.
    fn end_part(
        &mut self,
        at: usize,
        line: usize,
        last: bool,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut Sink<'_>,
    ) {
        match self.part {
            BodyPart::Preamble => {
                self.preamble = at;
                self.fence = fence::opening(&self.text[..at]).filter(|_| !self.overflown);
            }
            BodyPart::Pointer(_) => {}
            BodyPart::Value(start) => {
                let mut end = without_newline(&self.text, start, line.max(start));
                if let Some(fence) = self.fence.filter(|_| last) {
                    end = self.remove_fence(start, end, fence, limits);
                }
                self.finish_suspect(end, search);
                self.finish_value(end, out);
            }
        }
    }

    /// No marker begins within the cap: what was read of the block is dropped, what follows is not kept.
    fn overflow(&mut self, limits: &Limits, out: &mut Sink<'_>) {
        self.emit(self.text.floor_char_boundary(limits.block), out);
        let exceeded = LimitExceeded {
            what: Limit::Block,
            limit: limits.block,
        };
        self.fail(ParseError::Limit(exceeded));
        self.overflown = true;
        self.pointer.clear();
        self.arguments.clear();
        self.escapes.clear();
        (self.suspect, self.fence) = (None, None);
        self.diagnostics.clear();
        self.forget(limits);
    }

    /// Drops what was read, except what may still become a marker and what precedes it on its line.
    fn forget(&mut self, limits: &Limits) {
        let keep = self
            .text
            .floor_char_boundary(self.scan.saturating_sub(limits.indent + 1));
        self.text.drain(..keep);
        self.base += keep as u64;
        self.scan -= keep;
        self.emitted = 0;
        self.part = match self.part {
            BodyPart::Preamble => BodyPart::Preamble,
            BodyPart::Pointer(_) => BodyPart::Pointer(0),
            BodyPart::Value(_) => BodyPart::Value(0),
        };
    }

    /// The reply has ended inside the body.
    pub(crate) fn finish(&mut self, search: &MarkerSearch, limits: &Limits, out: &mut Sink<'_>) {
        if self.text.len() > limits.block && !self.overflown {
            self.overflow(limits, out);
        }
        let end = self.text.len();
        let mut line = end;
        match self.part {
            BodyPart::Preamble => {}
            BodyPart::Pointer(start) => {
                let line = format!("{}{}", search.markers.arg(), cut(&self.text[start..]));
                self.fail(ParseError::CutArgumentLine { line });
            }
            BodyPart::Value(start) => {
                let fragment = self.scan.max(start);
                if !self.overflown && self.is_cut_marker(start, fragment, search, limits) {
                    let span = self.span(fragment..end);
                    let message =
                        "The reply ended inside a marker; the fragment was dropped from the value";
                    self.report(DiagnosticCode::PartialMarker, message, span);
                    line = fragment;
                }
                if search.anchoring == Anchoring::LineStart && line < end {
                    let blank = |byte| matches!(byte, b' ' | b'\t');
                    line = line_of(&self.text, start, line, limits.indent, blank);
                }
            }
        }
        self.end_part(end, line, true, search, limits, out);
    }

    fn is_cut_marker(
        &self,
        start: usize,
        at: usize,
        search: &MarkerSearch,
        limits: &Limits,
    ) -> bool {
        let text = self.text.as_bytes();
        let line_start = match search.anchoring {
            Anchoring::Anywhere => at == start || text[at - 1] == b'\n',
            Anchoring::LineStart => {
                matches!(
                    LinePrefix::Blank(0).after(text, at, limits.indent),
                    LinePrefix::Blank(_)
                )
            }
        };
        line_start
            && text[at..].iter().any(u8::is_ascii_alphanumeric)
            && matches!(search.any_at(text, at), Found::Partial(_))
    }

    fn fail(&mut self, error: ParseError) {
        self.error.get_or_insert(error);
    }
}

/// Cuts a text to a readable length.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}
