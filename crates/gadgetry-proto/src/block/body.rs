//! The machine that eats the body of a block, piece by piece.
//!
//! The body is kept as one text, because the call needs it; everything else is an offset into it. Inequalities that
//! always hold: `value start <= emitted <= scan <= text.len()`.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::block::Anchoring;
use crate::block::fence;
use crate::block::fence::Fence;
use crate::block::near_miss;
use crate::block::near_miss::Suspect;
use crate::block::search::Found;
use crate::block::search::LinePrefix;
use crate::block::search::Marker;
use crate::block::search::MarkerSearch;
use crate::block::search::Next;
use crate::call::TerminatedBy;
use crate::error::{Diagnostic, DiagnosticCode, ParseError, Span};
use crate::limits::{Limit, LimitExceeded, Limits};

/// A body as far as it has arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    text: String,
    /// Offset of the text in the reply.
    base: u64,
    /// No marker begins before this offset of the text.
    scan: usize,
    /// How much of the current value was handed out.
    emitted: usize,
    part: Part,
    /// Whether the pointer of the current argument is no pointer, so that its value is not handed out.
    mute: bool,
    arguments: Vec<ArgumentSpan>,
    /// Offsets of backslashes that do not belong to their value.
    escapes: Vec<usize>,
    /// The fence that opened the body.
    fence: Option<Fence>,
    /// Where the text before the first argument ends.
    preamble: usize,
    /// A mistake that the arguments do not show.
    error: Option<ParseError>,
    /// The body passed its cap; what follows is read but not kept.
    overflown: bool,
    /// Places in values that may be near misses.
    suspects: Vec<usize>,
    /// In the order in which they are told.
    diagnostics: Vec<Diagnostic>,
}

/// How much of a body that passed its cap piles up before it is dropped; dropping it bit by bit would not be linear.
const FORGOTTEN: usize = 1 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    #[default]
    Preamble,
    /// The line of an argument marker; where the pointer starts.
    Pointer(usize),
    /// The value of the last argument; where it starts.
    Value(usize),
}

/// Where one argument stands in the body.
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
}

/// A marker ended the body; it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) by: TerminatedBy,
    /// Bytes of the last piece that were not read.
    pub(crate) unread: usize,
}

impl Body {
    /// Begins a new body at offset `base` of the reply.
    pub(crate) fn begin(&mut self, base: u64) {
        self.text.clear();
        self.arguments.clear();
        self.escapes.clear();
        self.suspects.clear();
        self.diagnostics.clear();
        self.base = base;
        (self.scan, self.emitted, self.preamble) = (0, 0, 0);
        self.part = Part::Preamble;
        (self.fence, self.error, self.overflown) = (None, None, false);
    }

    /// How large a piece is worth reading at once: what a block does not use of it is read again.
    pub(crate) fn appetite(&self) -> usize {
        self.text.len().max(128)
    }

    /// Reads a piece. Hands out every part of a value that no later text can take back.
    pub(crate) fn feed(
        &mut self,
        piece: &str,
        search: &MarkerSearch,
        limits: &Limits,
        mut out: impl FnMut(Partial<'_>),
    ) -> Option<Ended> {
        self.text.push_str(piece);
        let ended = self.read(search, limits, &mut out);
        if ended.is_none() {
            if self.scan > limits.block && !self.overflown {
                self.overflow(limits, &mut out);
            }
            if self.overflown && self.text.len() > 2 * limits.indent + FORGOTTEN {
                self.forget(limits);
            }
            self.hand_out(
                self.safe_end(search, limits)
                    .min(self.text.floor_char_boundary(limits.block)),
                &mut out,
            );
        }
        ended
    }

    fn read(
        &mut self,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut impl FnMut(Partial<'_>),
    ) -> Option<Ended> {
        let mut newlines = Next::default();
        loop {
            let mut end = self.text.len();
            if let Part::Pointer(start) = self.part {
                let from = self.scan.max(start);
                let newline = newlines.from(from, || {
                    let at = memchr::memchr(b'\n', &self.text.as_bytes()[from..])?;
                    Some(from + at)
                });
                end = newline.unwrap_or(end);
                if search.anchoring == Anchoring::LineStart || !self.marker_before(end, search) {
                    if newline.is_none() {
                        if search.anchoring == Anchoring::LineStart {
                            self.scan = end;
                        }
                        return None;
                    }
                    self.end_pointer(start, end, end + 1, limits);
                    continue;
                }
            }
            let text = self.text.as_bytes();
            let Some(at) = search.candidate(&text[..end], self.scan) else {
                self.scan = end;
                return None;
            };
            if at > limits.block && !self.overflown {
                self.scan = at;
                self.overflow(limits, out);
                newlines = Next::default();
                continue;
            }
            let prefix = match search.anchoring {
                Anchoring::Anywhere => LinePrefix::Blank(0),
                Anchoring::LineStart => LinePrefix::Blank(0).behind(text, at, limits.indent),
            };
            match (search.any_at(text, at), prefix) {
                (Found::Whole(marker), LinePrefix::Blank(blanks)) => {
                    if let Some(ended) = self.marker(marker, at, blanks, search, limits, out) {
                        return Some(ended);
                    }
                }
                (Found::Whole(marker), LinePrefix::Escaped(_)) => {
                    self.escape(at, out);
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

    /// Whether a marker begins before `end`; moves `scan` to it or as far as it can.
    fn marker_before(&mut self, end: usize, search: &MarkerSearch) -> bool {
        let text = self.text.as_bytes();
        while let Some(at) = search.candidate(&text[..end], self.scan) {
            match search.any_at(text, at) {
                Found::Whole(_) => {
                    self.scan = at;
                    return true;
                }
                Found::Partial(_) => {
                    self.scan = at;
                    return false;
                }
                Found::Nothing => self.scan = search.skip(text, at),
            }
        }
        self.scan = end;
        false
    }

    /// A marker at `at`, behind so many blanks of its line.
    fn marker(
        &mut self,
        marker: Marker,
        at: usize,
        blanks: usize,
        search: &MarkerSearch,
        limits: &Limits,
        out: &mut impl FnMut(Partial<'_>),
    ) -> Option<Ended> {
        let behind = at + search.text(marker).len();
        if let Part::Pointer(start) = self.part {
            self.end_pointer(start, at, at, limits);
        }
        let last = marker != Marker::Arg;
        self.end_part(at, at - blanks, last, search, limits, out);
        if last {
            let by = match marker {
                Marker::End => TerminatedBy::EndMarker,
                Marker::Start | Marker::Arg => TerminatedBy::NextStart,
            };
            let unread = self.text.len() - behind;
            self.text.truncate(at);
            return Some(Ended { by, unread });
        }
        self.part = Part::Pointer(behind);
        self.scan = behind;
        None
    }

    fn end_pointer(&mut self, start: usize, end: usize, value: usize, limits: &Limits) {
        let line = &self.text[start..end];
        let trimmed = line.trim();
        let from = start + line.len() - line.trim_start().len();
        let pointer = from..from + trimmed.len();
        self.mute = trimmed.is_empty()
            || trimmed.len() > limits.pointer
            || trimmed.contains(char::is_whitespace);
        if !self.overflown {
            self.arguments.push(ArgumentSpan {
                pointer,
                value: value..value,
            });
        }
        self.part = Part::Value(value);
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
        out: &mut impl FnMut(Partial<'_>),
    ) {
        match self.part {
            Part::Preamble => {
                self.preamble = at;
                self.fence = fence::opening(&self.text[..at]).filter(|_| !self.overflown);
            }
            Part::Pointer(_) => {}
            Part::Value(start) => {
                let mut end = without_newline(&self.text, start, line.max(start));
                if let Some(fence) = self.fence.filter(|_| last) {
                    end = self.remove_fence(start, end, fence, limits);
                }
                self.drop_suspects(end, search);
                self.finish_value(end, out);
            }
        }
    }

    /// Near misses that run into what ends the value at `end` are none.
    fn drop_suspects(&mut self, end: usize, search: &MarkerSearch) {
        let Some(lead) = search.lead else { return };
        while let Some(&at) = self.suspects.last() {
            if at + Suspect::default().extend(&self.text.as_bytes()[at..], lead) <= end {
                break;
            }
            self.suspects.pop();
        }
    }

    fn remove_fence(&mut self, start: usize, end: usize, fence: Fence, limits: &Limits) -> usize {
        let Some(line) = fence::closing(&self.text[start..end], fence.ticks, limits.indent) else {
            return end;
        };
        self.preamble = fence.at;
        let span = self.span(start + line..end);
        self.tell(
            DiagnosticCode::FenceRemoved,
            "A code fence around all arguments was removed",
            span,
        );
        without_newline(&self.text, start, start + line)
    }

    fn finish_value(&mut self, end: usize, out: &mut impl FnMut(Partial<'_>)) {
        if let Some(argument) = self.arguments.last_mut().filter(|_| !self.overflown) {
            argument.value.end = end;
            if !self.mute {
                let pointer = &self.text[argument.pointer.clone()];
                let delta = &self.text[self.emitted.min(end)..end];
                out(Partial {
                    pointer,
                    delta,
                    complete: true,
                });
            }
        }
        self.emitted = end;
    }

    fn hand_out(&mut self, end: usize, out: &mut impl FnMut(Partial<'_>)) {
        let (Part::Value(_), Some(argument)) = (&self.part, self.arguments.last()) else {
            return;
        };
        if end <= self.emitted || self.overflown {
            return;
        }
        if !self.mute {
            let pointer = &self.text[argument.pointer.clone()];
            out(Partial {
                pointer,
                delta: &self.text[self.emitted..end],
                complete: false,
            });
        }
        self.emitted = end;
    }

    /// Up to where the current value cannot change any more.
    fn safe_end(&self, search: &MarkerSearch, limits: &Limits) -> usize {
        let Part::Value(start) = self.part else {
            return 0;
        };
        let mut end = self.scan;
        if search.anchoring == Anchoring::LineStart {
            end = line_of(&self.text, start, end, limits.indent, |byte| {
                matches!(byte, b' ' | b'\t' | b'\\')
            });
        }
        end = held_newline(&self.text, start, end);
        if self.fence.is_some() {
            let line = line_of(&self.text, start, end, limits.indent, |byte| {
                matches!(byte, b' ' | b'\t' | b'`')
            });
            if line < end {
                end = held_newline(&self.text, start, line);
            }
        }
        end
    }

    /// A backslash before the marker at `at`, at the start of a line.
    fn escape(&mut self, at: usize, out: &mut impl FnMut(Partial<'_>)) {
        if !matches!(self.part, Part::Value(_)) || self.overflown {
            return;
        }
        self.hand_out(at - 1, out);
        self.emitted = at;
        self.escapes.push(at - 1);
        let span = self.span(at - 1..at);
        self.tell(
            DiagnosticCode::EscapedMarker,
            "A backslash before a marker was removed",
            span,
        );
    }

    fn suspect(&mut self, at: usize, search: &MarkerSearch) {
        let in_value = matches!(self.part, Part::Value(_)) && !self.overflown;
        let Some(lead) = search.lead.filter(|_| in_value) else {
            return;
        };
        let is_new = self.suspects.last() != Some(&at);
        if is_new && (at == 0 || self.text.as_bytes()[at - 1] != lead.byte) {
            self.suspects.push(at);
        }
    }

    /// No marker begins within the cap: what was read of the block is dropped, what follows is not kept.
    fn overflow(&mut self, limits: &Limits, out: &mut impl FnMut(Partial<'_>)) {
        self.hand_out(self.text.floor_char_boundary(limits.block), out);
        let exceeded = LimitExceeded {
            what: Limit::Block,
            limit: limits.block,
        };
        self.fail(ParseError::Limit(exceeded));
        self.overflown = true;
        self.arguments.clear();
        self.escapes.clear();
        self.suspects.clear();
        self.diagnostics.clear();
        self.fence = None;
        self.forget(limits);
    }

    /// Drops what was read, except what may still become a marker and what stands before it on its line.
    fn forget(&mut self, limits: &Limits) {
        let keep = self
            .text
            .floor_char_boundary(self.scan.saturating_sub(limits.indent + 1));
        self.text.drain(..keep);
        self.base += keep as u64;
        self.scan -= keep;
        self.emitted = 0;
        self.part = match self.part {
            Part::Preamble => Part::Preamble,
            Part::Pointer(_) => Part::Pointer(0),
            Part::Value(_) => Part::Value(0),
        };
    }

    /// No more text will come: the reply has ended, or the text fed so far was the whole of a block.
    pub(crate) fn finish(
        &mut self,
        by: TerminatedBy,
        search: &MarkerSearch,
        limits: &Limits,
        mut out: impl FnMut(Partial<'_>),
    ) {
        if self.text.len() > limits.block && !self.overflown {
            self.overflow(limits, &mut out);
        }
        let end = self.text.len();
        let cut_off = by == TerminatedBy::EndOfStream;
        let mut line = end;
        match self.part {
            Part::Preamble => {}
            Part::Pointer(start) if cut_off => {
                let line = format!("{}{}", search.markers.arg(), cut(&self.text[start..]));
                self.fail(ParseError::CutArgumentLine { line });
            }
            Part::Pointer(start) => self.end_pointer(start, end, end, limits),
            Part::Value(start) => {
                let fragment = self.scan.max(start);
                if cut_off && !self.overflown && self.is_cut_marker(start, fragment, search, limits)
                {
                    let span = self.span(fragment..end);
                    let message =
                        "The reply ended inside a marker; the fragment was dropped from the value";
                    self.tell(DiagnosticCode::PartialMarker, message, span);
                    line = fragment;
                }
                if search.anchoring == Anchoring::LineStart && (!cut_off || line < end) {
                    let blank = |byte| matches!(byte, b' ' | b'\t');
                    line = line_of(&self.text, start, line, limits.indent, blank);
                }
            }
        }
        self.end_part(end, line, true, search, limits, &mut out);
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
                    LinePrefix::Blank(0).behind(text, at, limits.indent),
                    LinePrefix::Blank(_)
                )
            }
        };
        line_start
            && text[at..].iter().any(u8::is_ascii_alphanumeric)
            && matches!(search.any_at(text, at), Found::Partial(_))
    }

    /// Tells what is noteworthy about the finished body.
    pub(crate) fn diagnostics(&mut self, search: &MarkerSearch, mut out: impl FnMut(Diagnostic)) {
        self.tell_preamble();
        self.tell_near_misses(search);
        // The sort is stable: escapes come in their order, then the rest in the documented order.
        self.diagnostics
            .sort_by_key(|diagnostic| rank(diagnostic.code));
        self.diagnostics.drain(..).for_each(&mut out);
    }

    fn tell_preamble(&mut self) {
        if self.overflown {
            return;
        }
        if self.arguments.is_empty() && !matches!(self.part, Part::Pointer(_)) {
            if let Some(range) = self.json() {
                let span = self.span(range);
                self.tell(
                    DiagnosticCode::JsonBody,
                    "The JSON body was taken as the parameters",
                    span,
                );
            }
            return;
        }
        let text = &self.text[..self.preamble];
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            let start = text.len() - text.trim_start().len();
            let span = self.span(start..start + trimmed.len());
            self.tell(
                DiagnosticCode::TextBeforeArguments,
                "Text before the first argument was ignored",
                span,
            );
        }
    }

    fn tell_near_misses(&mut self, search: &MarkerSearch) {
        let Some(lead) = search.lead else { return };
        for at in std::mem::take(&mut self.suspects) {
            let text = self.text.as_bytes();
            let mut suspect = Suspect::at(self.base + at as u64);
            let behind = at + suspect.extend(&text[at..], lead);
            let next = text.get(behind).copied();
            if let Some((code, message)) = near_miss::classify(search, lead, &suspect, next, false)
            {
                self.diagnostics.push(Diagnostic {
                    code,
                    message,
                    span: suspect.span(),
                });
            }
        }
    }

    fn tell(&mut self, code: DiagnosticCode, message: &str, span: Span) {
        self.diagnostics.push(Diagnostic {
            code,
            message: message.to_owned(),
            span,
        });
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span {
            start: self.base + range.start as u64,
            end: self.base + range.end as u64,
        }
    }

    fn fail(&mut self, error: ParseError) {
        self.error.get_or_insert(error);
    }

    /// The exact text of the finished body; empty if it passed its cap.
    pub(crate) fn raw(&self) -> &str {
        if self.overflown { "" } else { &self.text }
    }

    pub(crate) fn error(&self) -> Option<&ParseError> {
        self.error.as_ref()
    }

    /// Pointers and values of the finished body, in the order written.
    pub(crate) fn arguments(&self) -> impl ExactSizeIterator<Item = (&str, Cow<'_, str>)> {
        self.arguments.iter().map(|argument| {
            (
                &self.text[argument.pointer.clone()],
                self.value(argument.value.clone()),
            )
        })
    }

    pub(crate) fn has_escapes(&self) -> bool {
        !self.escapes.is_empty()
    }

    /// [`Self::arguments`] of a body without escapes.
    pub(crate) fn plain_arguments(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let text = &self.text;
        self.arguments.iter().map(|argument| {
            (
                &text[argument.pointer.clone()],
                &text[argument.value.clone()],
            )
        })
    }

    fn value(&self, range: Range<usize>) -> Cow<'_, str> {
        let from = self.escapes.partition_point(|at| *at < range.start);
        let to = self.escapes.partition_point(|at| *at < range.end);
        if from == to {
            return Cow::Borrowed(&self.text[range]);
        }
        let mut value = String::with_capacity(range.len());
        let mut start = range.start;
        for &at in &self.escapes[from..to] {
            value.push_str(&self.text[start..at]);
            start = at + 1;
        }
        value.push_str(&self.text[start..range.end]);
        Cow::Owned(value)
    }

    /// Where the body stands without white space and fences around it.
    pub(crate) fn inside_fence(&self) -> Range<usize> {
        fence::inside(&self.text)
    }

    /// Where the body is one JSON object instead of arguments.
    fn json(&self) -> Option<Range<usize>> {
        let range = self.inside_fence();
        let text = &self.text[range.clone()];
        let is_object = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
        is_object.then_some(range)
    }
}

fn rank(code: DiagnosticCode) -> u8 {
    match code {
        DiagnosticCode::EscapedMarker => 0,
        DiagnosticCode::FenceRemoved => 1,
        DiagnosticCode::TextBeforeArguments => 2,
        DiagnosticCode::JsonBody => 3,
        DiagnosticCode::PartialMarker => 4,
        DiagnosticCode::NearMiss | DiagnosticCode::StrayMarker | DiagnosticCode::LimitExceeded => 5,
    }
}

/// A readable length.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

/// `end` without one newline before it.
fn without_newline(text: &str, start: usize, end: usize) -> usize {
    let value = &text[start..end];
    let value = value
        .strip_suffix('\n')
        .map_or(value, |line| line.strip_suffix('\r').unwrap_or(line));
    start + value.len()
}

/// `end` without what may be the trailing newline, whole or half.
fn held_newline(text: &str, start: usize, end: usize) -> usize {
    let value = &text[start..end];
    let value = value.strip_suffix('\n').unwrap_or(value);
    start + value.strip_suffix('\r').unwrap_or(value).len()
}

/// The start of the line that ends at `end`, if the line is short and holds only bytes of `class`; otherwise `end`.
fn line_of(text: &str, start: usize, end: usize, cap: usize, class: impl Fn(u8) -> bool) -> usize {
    let bytes = &text.as_bytes()[start..end];
    let count = bytes
        .iter()
        .rev()
        .take(cap + 1)
        .take_while(|byte| class(**byte))
        .count();
    let line = end - count;
    let at_line_start = line == start || text.as_bytes()[line - 1] == b'\n';
    if at_line_start && count <= cap {
        line
    } else {
        end
    }
}
