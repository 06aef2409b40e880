//! Prose: the search for openers, and text that only looks like one.

use std::sync::Arc;

use crate::block::Anchoring;
use crate::block::Found;
use crate::block::LinePrefix;
use crate::block::Marker;
use crate::block::MarkerSearch;
use crate::block::Next;
use crate::block::Suspect;
use crate::block::classify;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::reply::Event;
use crate::reply::Scanner;
use crate::tags::NameIndex;
use crate::tags::Opening;
use crate::tags::TagKind;

/// Where openers may begin in the text that is being read.
#[derive(Default)]
pub(super) struct Ahead {
    marker: Next,
    tag: Next,
}

/// A stretch of prose that is being read.
struct Reading<'a> {
    text: &'a str,
    /// Where reading began; the scanner's line prefix is that of this place.
    from: usize,
    /// Offset of the text in the reply.
    base: u64,
    /// Text before this was handed out.
    released: usize,
    /// Where the first marker may begin; before it there are no near misses either.
    plain: usize,
    /// Whether no more text comes, so that nothing need be held.
    last: bool,
}

/// What to do at a place where a marker may begin.
enum AtMarker {
    Open,
    /// Hold the text from here on.
    Hold(usize),
    /// Search on from here.
    Go(usize),
}

impl Scanner {
    /// Reads prose from `from` on, up to and including an opener, or to the end of the text. What may become an
    /// opener is held, unless this is the `last` text.
    pub(super) fn prose<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        from: usize,
        base: u64,
        last: bool,
        ahead: &mut Ahead,
        events: &mut S,
    ) -> usize {
        let mut reading = Reading {
            text,
            from,
            base,
            released: from,
            plain: from,
            last,
        };
        let bytes = text.as_bytes();
        let has_tags = !self.format.names.is_empty();
        let mut marker = self.next_marker(bytes, from, ahead);
        reading.plain = marker.unwrap_or(text.len());
        let mut tag = if has_tags {
            next_tag(bytes, from, ahead)
        } else {
            None
        };
        loop {
            match (marker, tag) {
                (Some(at), tag) if tag.is_none_or(|tag| at <= tag) => {
                    match self.at_marker(at, &mut reading, events) {
                        AtMarker::Open => return self.open_block(at, &mut reading, events),
                        AtMarker::Hold(at) => return self.end_of_text(&mut reading, at, events),
                        AtMarker::Go(next) => marker = self.next_marker(bytes, next, ahead),
                    }
                }
                (_, Some(at)) if at < reading.released => {
                    tag = next_tag(bytes, reading.released, ahead);
                }
                (_, Some(at)) => match self.format.names.at(bytes, at) {
                    Opening::Name(name) if self.is_quoted(name, &reading, at) => {
                        tag = next_tag(bytes, at + 1, ahead);
                    }
                    Opening::Name(name) => {
                        if self.is_line_start() {
                            self.state.line = self.line_at(&reading, at);
                        }
                        self.leave(&mut reading, at, events);
                        self.begin_opening(name, base + at as u64);
                        return at + 1 + self.format.names.len_of(name);
                    }
                    Opening::Partial if !last => return self.end_of_text(&mut reading, at, events),
                    Opening::Partial | Opening::Nothing => {
                        tag = next_tag(bytes, at + 1, ahead);
                    }
                },
                (_, None) => return self.end_of_text(&mut reading, text.len(), events),
            }
        }
    }

    fn next_marker(&self, text: &[u8], from: usize, ahead: &mut Ahead) -> Option<usize> {
        let search = self.format.search.as_ref()?;
        ahead.marker.from(from, || search.candidate(text, from))
    }

    fn at_marker<S: FnMut(Event<'_>)>(
        &mut self,
        at: usize,
        reading: &mut Reading<'_>,
        events: &mut S,
    ) -> AtMarker {
        let format = Arc::clone(&self.format);
        let Some(search) = &format.search else {
            return AtMarker::Go(reading.text.len());
        };
        let text = reading.text.as_bytes();
        let prefix = match search.anchoring {
            Anchoring::Anywhere => LinePrefix::Blank(0),
            Anchoring::LineStart => self.line_at(reading, at),
        };
        match prefix {
            LinePrefix::Blank(_) => match search.at(text, at, &[Marker::Start]) {
                Found::Whole(_) => return AtMarker::Open,
                Found::Partial(_) if !reading.last => return AtMarker::Hold(at),
                Found::Partial(_) | Found::Nothing => {}
            },
            // A backslash that was content of a tag is not ours to remove.
            LinePrefix::Escaped(_) if at > reading.released => match search.any_at(text, at) {
                Found::Whole(marker) => {
                    let behind = at + search.text(marker).len();
                    self.unescape(at, behind, reading, events);
                    return AtMarker::Go(behind);
                }
                Found::Partial(_) if !reading.last => return AtMarker::Hold(at - 1),
                Found::Partial(_) | Found::Nothing => {}
            },
            LinePrefix::Escaped(_) | LinePrefix::Other => {}
        }
        AtMarker::Go(search.skip(text, at))
    }

    /// The marker at `at` is literal; the backslash before it goes.
    fn unescape<S: FnMut(Event<'_>)>(
        &mut self,
        at: usize,
        behind: usize,
        reading: &mut Reading<'_>,
        events: &mut S,
    ) {
        self.release_to(at - 1, reading, events);
        self.settle(Some(b'\\'), events);
        self.release_white(events);
        let start = reading.base + at as u64 - 1;
        let span = Span {
            start,
            end: start + 1,
        };
        let diagnostic = Diagnostic {
            code: DiagnosticCode::EscapedMarker,
            message: "A backslash before a marker was removed".to_owned(),
            span,
        };
        self.diagnose(diagnostic, events);
        self.hand_out(&reading.text[at..behind], events);
        reading.released = behind;
    }

    fn open_block<S: FnMut(Event<'_>)>(
        &mut self,
        at: usize,
        reading: &mut Reading<'_>,
        events: &mut S,
    ) -> usize {
        self.leave(reading, at, events);
        self.begin_header(reading.base + at as u64);
        let marker = self
            .format
            .search
            .as_ref()
            .map_or(0, |search| search.markers.start().len());
        at + marker
    }

    /// Hands out the text before an opener at `at`.
    fn leave<S: FnMut(Event<'_>)>(&mut self, reading: &mut Reading<'_>, at: usize, events: &mut S) {
        self.release_to(at, reading, events);
        self.settle(reading.text.as_bytes().get(at).copied(), events);
        self.state.ticked = false;
    }

    /// Whether the tag of reasoning at `at` is only mentioned: a backtick stands before it.
    fn is_quoted(&self, name: NameIndex, reading: &Reading<'_>, at: usize) -> bool {
        let ticked = if at > reading.from {
            reading.text.as_bytes()[at - 1] == b'`'
        } else {
            self.state.ticked
        };
        ticked && self.format.names.kind(name) != TagKind::Custom
    }

    /// Hands out everything but what is held from `end` on.
    fn end_of_text<S: FnMut(Event<'_>)>(
        &mut self,
        reading: &mut Reading<'_>,
        mut end: usize,
        events: &mut S,
    ) -> usize {
        if self.is_line_start() {
            let mut line = self.line_at(reading, end);
            let is_open = end == reading.text.len() && end > reading.released && !reading.last;
            if is_open && matches!(line, LinePrefix::Escaped(_)) {
                // The backslash goes if a marker follows it.
                end -= 1;
                line = self.line_at(reading, end);
            }
            self.state.line = line;
        }
        if end > reading.from {
            self.state.ticked = reading.text.as_bytes()[end - 1] == b'`';
        }
        self.release_to(end, reading, events);
        self.state.held.push_str(&reading.text[end..]);
        reading.text.len()
    }

    fn is_line_start(&self) -> bool {
        let search = self.format.search.as_ref();
        search.is_some_and(|search| search.anchoring == Anchoring::LineStart)
    }

    /// What stands on its line before `at`.
    fn line_at(&self, reading: &Reading<'_>, at: usize) -> LinePrefix {
        let text = &reading.text.as_bytes()[reading.from..];
        self.state
            .line
            .behind(text, at - reading.from, self.format.limits.indent)
    }

    fn release_to<S: FnMut(Event<'_>)>(
        &mut self,
        end: usize,
        reading: &mut Reading<'_>,
        events: &mut S,
    ) {
        let text = &reading.text[reading.released..end];
        if end <= reading.plain && self.state.suspect.is_none() {
            self.hand_out(text, events);
        } else {
            self.release(text, reading.base + reading.released as u64, events);
        }
        reading.released = end;
    }

    /// No more text comes: what is held is read as it is.
    pub(super) fn read_held<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let held = std::mem::take(&mut self.state.held);
        let base = self.state.read - held.len() as u64;
        let read = self.prose(&held, 0, base, true, &mut Ahead::default(), events);
        self.run(&held[read..], base + read as u64, events);
    }

    // Near misses.

    /// Hands prose out, and tells what in it looks like a marker.
    fn release<S: FnMut(Event<'_>)>(&mut self, text: &str, offset: u64, events: &mut S) {
        let format = Arc::clone(&self.format);
        let search = format.search.as_ref();
        let Some((search, lead)) = search.and_then(|search| Some((search, search.lead?))) else {
            return self.hand_out(text, events);
        };
        let bytes = text.as_bytes();
        let (mut from, mut at) = (0, 0);
        loop {
            let suspect = match &mut self.state.suspect {
                Some(suspect) => suspect,
                none => {
                    let Some(found) = search.candidate(bytes, at) else {
                        break;
                    };
                    at = found;
                    none.insert(Suspect::at(offset + found as u64))
                }
            };
            at += suspect.extend(&bytes[at..], lead);
            let Some(next) = bytes.get(at) else { break };
            if let Some(diagnostic) = self.judge(search, Some(*next)) {
                self.hand_out(&text[from..at], events);
                from = at;
                events(Event::Diagnostic(diagnostic));
            }
        }
        self.hand_out(&text[from..], events);
    }

    /// The text so far ends, and with it the word that it may end with.
    pub(super) fn settle<S: FnMut(Event<'_>)>(&mut self, next: Option<u8>, events: &mut S) {
        let format = Arc::clone(&self.format);
        let Some(search) = &format.search else { return };
        if let Some(diagnostic) = self.judge(search, next) {
            events(Event::Diagnostic(diagnostic));
        }
    }

    /// What is to be told about the suspect, if `next` stands behind it.
    fn judge(&mut self, search: &MarkerSearch, next: Option<u8>) -> Option<Diagnostic> {
        let suspect = self.state.suspect.take()?;
        let (code, message) = classify(search, search.lead?, &suspect, next, true)?;
        let span = suspect.span();
        let diagnostic = Diagnostic {
            code,
            message,
            span,
        };
        self.state.misses.admit(diagnostic, &self.format.limits)
    }
}

fn next_tag(text: &[u8], from: usize, ahead: &mut Ahead) -> Option<usize> {
    ahead.tag.from(from, || {
        let at = memchr::memchr(b'<', text.get(from..)?)?;
        Some(from + at)
    })
}
