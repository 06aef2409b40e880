//! Gadget blocks in a reply: from the start marker to the end of the block, or back to prose.

use std::sync::Arc;

use crate::block::CallBlock;
use crate::block::Header;
use crate::block::LinePrefix;
use crate::block::Marker;
use crate::block::Partial;
use crate::call::TerminatedBy;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::limits::{Limit, LimitExceeded};
use crate::reply::Event;
use crate::reply::Scanner;
use crate::reply::scanner::Mode;

impl Scanner {
    /// A start marker begins at `opener` and was read.
    pub(super) fn begin_header(&mut self, opener: u64) {
        self.state.opener = opener;
        self.state.buffer.clear();
        self.state.mode = Mode::Header;
    }

    pub(super) fn header<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let Some(search) = &self.format.search else {
            return text.len();
        };
        let (end_marker, cap) = (search.markers.end(), self.format.limits.header);
        let longest = cap + end_marker.len();
        let room = (longest + 1).saturating_sub(self.state.buffer.len());
        let rest = &text.as_bytes()[at..text.len().min(at + room)];
        let newline = memchr::memchr(b'\n', rest);
        let read = newline.map_or(text.floor_char_boundary(at + rest.len()), |newline| {
            at + newline + 1
        });
        let old = self.state.buffer.len();
        self.state.buffer.push_str(&text[at..read]);
        let buffer = self.state.buffer.as_bytes();
        let line_end = buffer.len() - usize::from(newline.is_some());
        let from = old.saturating_sub(end_marker.len() - 1);
        let glued = memchr::memmem::find(&buffer[from..line_end], end_marker.as_bytes())
            .map(|found| from + found);
        if let Some(end) = glued.filter(|end| *end <= cap) {
            let unread = buffer.len() - end - end_marker.len();
            self.begin_body(end, base + (read - unread) as u64, events);
            self.end_block(
                TerminatedBy::EndMarker,
                base + (read - unread) as u64,
                events,
            );
            return read - unread;
        }
        if newline.is_some() && line_end <= cap {
            self.begin_body(line_end, base + read as u64, events);
            self.state.mode = Mode::Body;
        } else if newline.is_some() || buffer.len() >= longest || read == at {
            // Even if the buffer is within the cap: the next character is not.
            self.give_back_header(Some(self.header_cap()), events);
        }
        read
    }

    /// The cap that a header without an end passed.
    pub(super) fn header_limit(&self) -> Option<LimitExceeded> {
        let exceeded = self.header_cap();
        (self.state.buffer.len() > exceeded.limit).then_some(exceeded)
    }

    fn header_cap(&self) -> LimitExceeded {
        LimitExceeded {
            what: Limit::Header,
            limit: self.format.limits.header,
        }
    }

    /// The header is the first `end` bytes of the buffer.
    pub(super) fn begin_body<S: FnMut(Event<'_>)>(
        &mut self,
        end: usize,
        base: u64,
        events: &mut S,
    ) {
        let state = &mut self.state;
        // White space between two blocks, or before the first one, is not text.
        state.white.clear();
        state.quiet = false;
        state.header.read(&state.buffer[..end], &mut state.auto_ids);
        let room = state.misses.room(&self.format.limits);
        state.body.begin(base, room);
        events(Event::CallStart(&state.header));
    }

    /// What was taken for a start marker and a header is text.
    pub(super) fn give_back_header<S: FnMut(Event<'_>)>(
        &mut self,
        exceeded: Option<LimitExceeded>,
        events: &mut S,
    ) {
        self.state.mode = Mode::Prose;
        let format = Arc::clone(&self.format);
        let Some(search) = &format.search else { return };
        let marker = search.text(Marker::Start);
        let opener = self.state.opener;
        let behind = opener + marker.len() as u64;
        let span = Span {
            start: opener,
            end: behind,
        };
        if let Some(exceeded) = exceeded {
            self.tell_limit(&exceeded, span, events);
        } else {
            self.release_white(events);
            let message = format!(
                "The reply ended inside the line of {marker} and nothing was executed; write a line break behind it"
            );
            let code = DiagnosticCode::CutHeader;
            let diagnostic = Diagnostic {
                code,
                message,
                span,
            };
            self.diagnose(diagnostic, events);
        }
        self.hand_out(marker, events);
        self.state.line = LinePrefix::Other;
        self.state.ticked = marker.ends_with('`');
        let buffer = std::mem::take(&mut self.state.buffer);
        self.run(&buffer, behind, events);
    }

    pub(super) fn body<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let Some(search) = &self.format.search else {
            return text.len();
        };
        let state = &mut self.state;
        let read = text.floor_char_boundary(at + state.body.appetite());
        let header = &state.header;
        let ended = state
            .body
            .feed(&text[at..read], search, &self.format.limits, |partial| {
                events(argument(header, partial));
            });
        let Some(ended) = ended else { return read };
        let at = read - ended.unread;
        let behind = base + at as u64;
        let next = behind - search.markers.start().len() as u64;
        match ended.by {
            TerminatedBy::NextStart => {
                self.end_block(ended.by, next, events);
                self.begin_header(next);
            }
            TerminatedBy::EndMarker | TerminatedBy::EndOfStream => {
                self.end_block(ended.by, behind, events);
            }
        }
        at
    }

    pub(super) fn finish_body<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let Some(search) = &self.format.search else {
            return;
        };
        let header = &self.state.header;
        self.state
            .body
            .finish(search, &self.format.limits, |partial| {
                events(argument(header, partial));
            });
        self.end_block(TerminatedBy::EndOfStream, self.state.read, events);
    }

    pub(super) fn end_block<S: FnMut(Event<'_>)>(
        &mut self,
        terminated_by: TerminatedBy,
        end: u64,
        events: &mut S,
    ) {
        let Some(search) = &self.format.search else {
            return;
        };
        let state = &mut self.state;
        let misses = &mut state.misses;
        state.body.diagnostics(|diagnostic| {
            if let Some(diagnostic) = misses.admit(diagnostic, &self.format.limits) {
                events(Event::Diagnostic(diagnostic));
            }
        });
        events(Event::Call(CallBlock {
            header: &state.header,
            body: &state.body,
            search,
            limits: &self.format.limits,
            terminated_by,
            span: Span {
                start: state.opener,
                end,
            },
        }));
        (state.mode, state.leading, state.line) = (Mode::Prose, true, LinePrefix::Other);
    }
}

fn argument<'a>(header: &'a Header, partial: Partial<'a>) -> Event<'a> {
    Event::Argument {
        header,
        pointer: partial.pointer,
        delta: partial.delta,
        complete: partial.complete,
    }
}
