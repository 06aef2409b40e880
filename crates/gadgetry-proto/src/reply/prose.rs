//! Prose: the search for openers, and text that only looks like one.

use crate::block::Anchoring;
use crate::block::Found;
use crate::block::LinePrefix;
use crate::block::Marker;
use crate::block::MarkerSearch;
use crate::block::Suspect;
use crate::block::WORD_CAP;
use crate::block::classify;
use crate::block::is_word;
use crate::block::run_len;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::reply::Event;
use crate::reply::Scanner;
use crate::tags::Opening;

/// A stretch of prose that is being read.
struct Reading<'a> {
    text: &'a str,
    /// Where reading began; the scanner's line prefix is that of this place.
    from: usize,
    /// Offset of the text in the reply.
    base: u64,
    /// Text before this was handed out.
    released: usize,
    /// Where a run began whose word reaches the end of the text.
    suspect: Option<usize>,
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
    /// Reads prose from `from` on, up to and including an opener, or to the end of the text.
    pub(super) fn prose<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        from: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let mut reading = Reading {
            text,
            from,
            base,
            released: from,
            suspect: None,
        };
        if self.state.suspect.is_some() {
            self.resume_suspect(&mut reading, events);
        }
        let bytes = text.as_bytes();
        let has_tags = !self.format.names.is_empty();
        let mut marker = self.next_marker(bytes, reading.released);
        let mut tag = if has_tags {
            next_tag(bytes, reading.released)
        } else {
            None
        };
        loop {
            match (marker, tag) {
                (None, None) => return self.end_of_text(&mut reading, text.len(), events),
                (Some(at), tag) if tag.is_none_or(|tag| at <= tag) => {
                    match self.at_marker(at, &mut reading, events) {
                        AtMarker::Open => return self.open_block(at, &mut reading, events),
                        AtMarker::Hold(at) => return self.end_of_text(&mut reading, at, events),
                        AtMarker::Go(next) => marker = self.next_marker(bytes, next),
                    }
                }
                (_, Some(at)) => match self.format.names.at(bytes, at) {
                    Opening::Nothing => tag = next_tag(bytes, at + 1),
                    Opening::Partial => return self.end_of_text(&mut reading, at, events),
                    Opening::Name(name) => {
                        self.leave(&mut reading, at, events);
                        self.begin_opening(name, base + at as u64);
                        return at + 1 + self.format.names.len_of(name);
                    }
                },
                (Some(_), None) => return self.end_of_text(&mut reading, text.len(), events),
            }
        }
    }

    fn next_marker(&self, text: &[u8], from: usize) -> Option<usize> {
        self.format.search.as_ref()?.candidate(text, from)
    }

    fn at_marker<S: FnMut(Event<'_>)>(
        &mut self,
        at: usize,
        reading: &mut Reading<'_>,
        events: &mut S,
    ) -> AtMarker {
        let format = std::sync::Arc::clone(&self.format);
        let Some(search) = &format.search else {
            return AtMarker::Go(reading.text.len());
        };
        let text = reading.text.as_bytes();
        let prefix = match search.anchoring {
            Anchoring::Anywhere => LinePrefix::Blank(0),
            Anchoring::LineStart => {
                let line = &text[reading.from..];
                self.state
                    .line
                    .behind(line, at - reading.from, format.limits.indent)
            }
        };
        match prefix {
            LinePrefix::Blank(_) => match search.at(text, at, &[Marker::Start]) {
                Found::Whole(_) => return AtMarker::Open,
                Found::Partial(_) => return AtMarker::Hold(at),
                Found::Nothing => {}
            },
            LinePrefix::Escaped(_) => match search.any_at(text, at) {
                Found::Whole(marker) => {
                    self.release(&reading.text[reading.released..at - 1], events);
                    reading.released = at;
                    self.tell_escape(reading.base + at as u64 - 1, events);
                    return AtMarker::Go(at + search.text(marker).len());
                }
                Found::Partial(_) => return AtMarker::Hold(at - 1),
                Found::Nothing => {}
            },
            LinePrefix::Other => {}
        }
        let behind = self.look_at_suspect(at, reading, search, events);
        AtMarker::Go(behind.unwrap_or_else(|| search.skip(text, at)))
    }

    fn tell_escape<S: FnMut(Event<'_>)>(&mut self, at: u64, events: &mut S) {
        let span = Span {
            start: at,
            end: at + 1,
        };
        let message = "A backslash before a marker was removed".to_owned();
        events(Event::Diagnostic(Diagnostic {
            code: DiagnosticCode::EscapedMarker,
            message,
            span,
        }));
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
        self.release(&reading.text[reading.released..at], events);
        self.move_line(reading, at);
    }

    /// Hands out everything but what is held from `end` on.
    fn end_of_text<S: FnMut(Event<'_>)>(
        &mut self,
        reading: &mut Reading<'_>,
        mut end: usize,
        events: &mut S,
    ) -> usize {
        self.move_line(reading, end);
        if end == reading.text.len() && matches!(self.state.line, LinePrefix::Escaped(_)) {
            // The backslash goes if a marker follows it.
            end -= 1;
            self.move_line(reading, end);
        }
        self.release(&reading.text[reading.released..end], events);
        self.state.held.push_str(&reading.text[end..]);
        if let Some(start) = reading.suspect.filter(|start| *start < end) {
            self.remember_suspect(start, end, reading);
        }
        reading.text.len()
    }

    /// Moves the line prefix from where reading began to `at`.
    fn move_line(&mut self, reading: &mut Reading<'_>, at: usize) {
        let line_start = self
            .format
            .search
            .as_ref()
            .is_some_and(|search| search.anchoring == Anchoring::LineStart);
        if line_start {
            let line = &reading.text.as_bytes()[reading.from..];
            let moved = self
                .state
                .line
                .behind(line, at - reading.from, self.format.limits.indent);
            if at >= reading.from {
                self.state.line = moved;
                reading.from = at;
            }
        }
    }

    // Near misses.

    /// A run at `at` that is no marker here. Returns where to search on, if that is further than usual.
    fn look_at_suspect<S: FnMut(Event<'_>)>(
        &mut self,
        at: usize,
        reading: &mut Reading<'_>,
        search: &MarkerSearch,
        events: &mut S,
    ) -> Option<usize> {
        let lead = search.lead?;
        let text = reading.text.as_bytes();
        let pending = self.state.suspect.take();
        if at > reading.released.max(reading.from) && text[at - 1] == lead.byte {
            // Further inside a run that was looked at already.
            self.state.suspect = pending;
            return None;
        }
        let run = run_len(text, at, lead.byte);
        let word = text[at + run..]
            .iter()
            .take(WORD_CAP + 1)
            .take_while(|byte| is_word(**byte))
            .count();
        let end = at + run + word;
        if end == text.len() {
            self.state.suspect = pending;
            reading.suspect = Some(at);
            return None;
        }
        let earlier = pending.as_ref().map_or(0, |pending| pending.run);
        let suspect = Suspect {
            start: pending.map_or(reading.base + at as u64, |pending| pending.start),
            run: earlier + run,
            word: reading
                .text
                .get(at + run..end)
                .unwrap_or_default()
                .to_owned(),
        };
        let (code, message) = classify(search, lead, &suspect, Some(text[end]), true)?;
        self.release(&reading.text[reading.released..end], events);
        reading.released = end;
        let span = Span {
            start: suspect.start,
            end: reading.base + end as u64,
        };
        events(Event::Diagnostic(Diagnostic {
            code,
            message,
            span,
        }));
        Some(end)
    }

    /// Keeps what of a run and its word was handed out before the text ended.
    fn remember_suspect(&mut self, start: usize, end: usize, reading: &Reading<'_>) {
        let Some(lead) = self.format.search.as_ref().and_then(|search| search.lead) else {
            return;
        };
        let part = &reading.text[start..end];
        let run = run_len(part.as_bytes(), 0, lead.byte);
        match &mut self.state.suspect {
            Some(suspect) => {
                suspect.run += run;
                suspect.word.push_str(&part[run..]);
            }
            None => {
                let start = reading.base + start as u64;
                self.state.suspect = Some(Suspect {
                    start,
                    run,
                    word: part[run..].to_owned(),
                });
            }
        }
    }

    /// Goes on with a word that the last text broke off.
    fn resume_suspect<S: FnMut(Event<'_>)>(&mut self, reading: &mut Reading<'_>, events: &mut S) {
        let format = std::sync::Arc::clone(&self.format);
        let (Some(search), Some(mut suspect)) = (&format.search, self.state.suspect.take()) else {
            return;
        };
        let Some(lead) = search.lead else { return };
        let rest = &reading.text.as_bytes()[reading.from..];
        if suspect.word.is_empty()
            && rest[0] == lead.byte
            && search.anchoring == Anchoring::Anywhere
        {
            // The run may still end in a marker.
            self.state.suspect = Some(suspect);
            return;
        }
        let run = if suspect.word.is_empty() {
            run_len(rest, 0, lead.byte)
        } else {
            0
        };
        let word = rest[run..]
            .iter()
            .take(WORD_CAP + 1)
            .take_while(|byte| is_word(**byte))
            .count();
        let end = reading.from + run + word;
        suspect.run += run;
        suspect
            .word
            .push_str(&reading.text[reading.from + run..end]);
        if suspect.word.len() > WORD_CAP {
            return;
        }
        let Some(next) = rest.get(run + word) else {
            self.state.suspect = Some(suspect);
            return;
        };
        if let Some((code, message)) = classify(search, lead, &suspect, Some(*next), true) {
            self.release(&reading.text[reading.from..end], events);
            let span = Span {
                start: suspect.start,
                end: reading.base + end as u64,
            };
            events(Event::Diagnostic(Diagnostic {
                code,
                message,
                span,
            }));
            reading.released = end;
        }
    }

    /// The text ends in prose: what is held is text.
    pub(super) fn finish_prose<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let held = std::mem::take(&mut self.state.held);
        self.release(&held, events);
        let format = std::sync::Arc::clone(&self.format);
        let Some(search) = &format.search else { return };
        let Some(lead) = search.lead else { return };
        let mut suspect = self.state.suspect.take();
        if !held.is_empty() {
            let run = run_len(held.as_bytes(), 0, lead.byte);
            let (start, before) = suspect.map_or((None, 0), |known| (Some(known.start), known.run));
            let start = start.unwrap_or_else(|| self.offset() - held.len() as u64);
            suspect = Some(Suspect {
                start,
                run: before + run,
                word: held[run..].to_owned(),
            });
        }
        let Some(suspect) = suspect.filter(|suspect| suspect.word.bytes().all(is_word)) else {
            return;
        };
        if let Some((code, message)) = classify(search, lead, &suspect, None, true) {
            let span = Span {
                start: suspect.start,
                end: self.offset(),
            };
            events(Event::Diagnostic(Diagnostic {
                code,
                message,
                span,
            }));
        }
    }
}

fn next_tag(text: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'<', text.get(from..)?).map(|at| from + at)
}
