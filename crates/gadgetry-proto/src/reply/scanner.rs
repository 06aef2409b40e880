//! The scanner: modes, and what moves it from one to another.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::Anchoring;
use crate::block::Body;
use crate::block::CallBlock;
use crate::block::Header;
use crate::block::LinePrefix;
use crate::block::Marker;
use crate::block::MarkerSearch;
use crate::block::Markers;
use crate::block::Suspect;
use crate::call::TerminatedBy;
use crate::delta::EndReason;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::BlockId;
use crate::limits::{Limit, LimitExceeded, Limits};
use crate::message::Attributes;
use crate::reply::Event;
use crate::reply::prose::Ahead;
use crate::tags::Content;
use crate::tags::ContentEnd;
use crate::tags::NameIndex;
use crate::tags::Names;
use crate::tags::OpeningState;
use crate::tags::Step;
use crate::tags::TagNameError;
use crate::tags::attributes;

/// What a reply may contain besides text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Format {
    /// The markers of gadget blocks; without them there are none.
    pub markers: Option<Markers>,
    /// Where a marker counts.
    pub anchoring: Anchoring,
    /// The names of tags that are taken out.
    pub tags: Vec<String>,
    /// Caps.
    pub limits: Limits,
}

/// Reads one reply after another, in any pieces.
///
/// Feeding is linear in the text, whatever the pieces. Text is handed out at once; only what may still become a
/// marker or a tag is held. After joining adjacent deltas the events do not depend on the pieces.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::reply::{Event, Format, Scanner};
///
/// let format = Format { markers: Some(Markers::default()), tags: vec!["think".into()], ..Format::default() };
/// let mut scanner = Scanner::new(&format)?;
/// let mut text = String::new();
/// let mut see = |event: Event<'_>| if let Event::Text(more) = event { text.push_str(more) };
/// scanner.push("<think>hm</th", &mut see);
/// scanner.push("ink>Hello", &mut see);
/// scanner.finish(&mut see);
/// assert_eq!(text, "Hello");
/// # Ok::<(), gadgetry_proto::tags::TagNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    pub(super) format: Arc<Prepared>,
    pub(super) state: ScannerState,
}

#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) search: Option<MarkerSearch>,
    pub(super) names: Names,
    pub(super) limits: Limits,
}

/// Where a [`Scanner`] stands; what a saved run keeps of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScannerState {
    pub(super) mode: Mode,
    /// Offset in the reply behind the last byte that was pushed.
    pub(super) read: u64,
    /// Text that may still become an opener; only in prose.
    pub(super) held: String,
    /// White space that may stand alone between blocks.
    white: String,
    /// Whether the current segment of prose is white space so far and may be dropped.
    leading: bool,
    /// What stands on the line before the held text, or before the opener.
    pub(super) line: LinePrefix,
    /// A run and a word that may be a near miss; already handed out as text.
    pub(super) suspect: Option<Suspect>,
    /// The header or the opening tag as far as it has arrived.
    buffer: String,
    /// Offset of the opener.
    opener: u64,
    header: Header,
    body: Body,
    auto_ids: u64,
    opening: OpeningState,
    name: Option<NameIndex>,
    attributes: Attributes,
    content: Content,
    blocks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    Prose,
    /// Behind a start marker.
    Header,
    Body,
    /// Behind the name of an opening tag.
    Opening,
    /// Inside a tag.
    Content,
}

impl Default for ScannerState {
    fn default() -> Self {
        Self {
            mode: Mode::Prose,
            read: 0,
            held: String::new(),
            white: String::new(),
            leading: true,
            line: LinePrefix::Blank(0),
            suspect: None,
            buffer: String::new(),
            opener: 0,
            header: Header::default(),
            body: Body::default(),
            auto_ids: 0,
            opening: OpeningState::default(),
            name: None,
            attributes: Attributes::new(),
            content: Content::default(),
            blocks: 0,
        }
    }
}

impl Scanner {
    /// A scanner for replies of `format`. Tag names must be names, once each.
    pub fn new(format: &Format) -> Result<Self, TagNameError> {
        let names = Names::new(&format.tags, format.limits.tag_name)?;
        let search = format
            .markers
            .clone()
            .map(|markers| MarkerSearch::new(markers, format.anchoring));
        Ok(Self::prepared(Prepared {
            search,
            names,
            limits: format.limits.clone(),
        }))
    }

    /// A scanner that knows no tags.
    pub(super) fn for_blocks(markers: Markers, anchoring: Anchoring, limits: Limits) -> Self {
        let search = Some(MarkerSearch::new(markers, anchoring));
        Self::prepared(Prepared {
            search,
            names: Names::default(),
            limits,
        })
    }

    fn prepared(prepared: Prepared) -> Self {
        Self {
            format: Arc::new(prepared),
            state: ScannerState::default(),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> &ScannerState {
        &self.state
    }

    /// Goes on from where another scanner of the same format stood.
    pub fn restore(&mut self, state: ScannerState) {
        self.state = state;
    }

    pub(crate) fn search(&self) -> Option<&MarkerSearch> {
        self.format.search.as_ref()
    }

    /// Reads more of the reply.
    pub fn push(&mut self, chunk: &str, events: &mut impl FnMut(Event<'_>)) {
        let base = self.state.read;
        self.state.read += chunk.len() as u64;
        self.run(chunk, base, events);
    }

    /// Ends the reply. The scanner is ready for the next one; automatic ids go on.
    pub fn finish(&mut self, events: &mut impl FnMut(Event<'_>)) {
        loop {
            self.take_openers_apart(events);
            match self.state.mode {
                Mode::Body => self.finish_body(events),
                Mode::Content => self.finish_content(events),
                Mode::Prose | Mode::Header | Mode::Opening => break,
            }
        }
        let state = &mut self.state;
        (state.mode, state.leading, state.line) = (Mode::Prose, true, LinePrefix::Blank(0));
        (state.read, state.blocks) = (0, 0);
        state.white.clear();
    }

    /// Hands out held text, because something that is not text comes next. Open blocks and tags stay open.
    pub fn flush(&mut self, events: &mut impl FnMut(Event<'_>)) {
        self.take_openers_apart(events);
        if self.state.mode == Mode::Prose {
            self.state.line = LinePrefix::Other;
        }
    }

    /// No more text comes that could make an opener of what is held.
    fn take_openers_apart<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        loop {
            match self.state.mode {
                Mode::Header => self.give_back_header(self.header_limit(), events),
                Mode::Opening => self.give_back_opening(self.opening_limit(), events),
                Mode::Prose if !self.state.held.is_empty() => self.read_held(events),
                Mode::Prose => break self.settle(None, events),
                Mode::Body | Mode::Content => break,
            }
        }
    }

    pub(super) fn run<S: FnMut(Event<'_>)>(&mut self, text: &str, base: u64, events: &mut S) {
        let mut at = 0;
        let mut ahead = Ahead::default();
        while at < text.len() {
            at = match self.state.mode {
                Mode::Prose if self.state.held.is_empty() => {
                    self.prose(text, at, base, false, &mut ahead, events)
                }
                Mode::Prose => self.rejoin(text, at, base, events),
                Mode::Header => self.header(text, at, base, events),
                Mode::Body => self.body(text, at, base, events),
                Mode::Opening => self.opening(text, at, events),
                Mode::Content => self.content(text, at, base, events),
            };
        }
    }

    /// Reads held text together with what follows it.
    fn rejoin<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let end = text.floor_char_boundary(at + 64);
        let mut joined = std::mem::take(&mut self.state.held);
        let held = joined.len() as u64;
        joined.push_str(&text[at..end]);
        self.run(&joined, base + at as u64 - held, events);
        if self.state.held.is_empty() {
            joined.clear();
            self.state.held = joined;
        }
        end
    }

    /// Hands text out, unless it is white space that may stand alone.
    pub(super) fn hand_out<S: FnMut(Event<'_>)>(&mut self, text: &str, events: &mut S) {
        if text.is_empty() {
            return;
        }
        if self.state.leading {
            let white = text.len() - text.trim_start().len();
            if white == text.len()
                && self.state.white.len() + white <= self.format.limits.whitespace
            {
                self.state.white.push_str(text);
                return;
            }
            self.release_white(events);
        }
        events(Event::Text(text));
    }

    /// The segment is text, white space and all.
    pub(super) fn release_white<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        self.state.leading = false;
        if !self.state.white.is_empty() {
            events(Event::Text(&self.state.white));
            self.state.white.clear();
        }
    }

    // Gadget blocks.

    /// A start marker begins at `opener` and was read.
    pub(super) fn begin_header(&mut self, opener: u64) {
        self.state.opener = opener;
        self.state.buffer.clear();
        self.state.mode = Mode::Header;
    }

    fn header<S: FnMut(Event<'_>)>(
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
    fn header_limit(&self) -> Option<LimitExceeded> {
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
    fn begin_body<S: FnMut(Event<'_>)>(&mut self, end: usize, base: u64, events: &mut S) {
        let state = &mut self.state;
        // White space between two blocks, or before the first one, is not text.
        state.white.clear();
        state.header.read(&state.buffer[..end], &mut state.auto_ids);
        state.body.begin(base);
        events(Event::CallStart(&state.header));
    }

    /// What was taken for a start marker and a header is text.
    fn give_back_header<S: FnMut(Event<'_>)>(
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
        if let Some(exceeded) = exceeded {
            self.tell_limit(
                &exceeded,
                Span {
                    start: opener,
                    end: behind,
                },
                events,
            );
        }
        self.hand_out(marker, events);
        self.state.line = LinePrefix::Other;
        let buffer = std::mem::take(&mut self.state.buffer);
        self.run(&buffer, behind, events);
    }

    fn body<S: FnMut(Event<'_>)>(
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
                events(Event::Argument {
                    header,
                    pointer: partial.pointer,
                    delta: partial.delta,
                    complete: partial.complete,
                });
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

    fn finish_body<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let Some(search) = &self.format.search else {
            return;
        };
        let (header, by) = (&self.state.header, TerminatedBy::EndOfStream);
        self.state
            .body
            .finish(by, search, &self.format.limits, |partial| {
                events(Event::Argument {
                    header,
                    pointer: partial.pointer,
                    delta: partial.delta,
                    complete: partial.complete,
                });
            });
        self.end_block(by, self.state.read, events);
    }

    fn end_block<S: FnMut(Event<'_>)>(
        &mut self,
        terminated_by: TerminatedBy,
        end: u64,
        events: &mut S,
    ) {
        let Some(search) = &self.format.search else {
            return;
        };
        let state = &mut self.state;
        state
            .body
            .diagnostics(search, |diagnostic| events(Event::Diagnostic(diagnostic)));
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

    // Tags.

    /// `<` and a name at `opener` were read.
    pub(super) fn begin_opening(&mut self, name: NameIndex, opener: u64) {
        self.state.opener = opener;
        self.state.buffer.clear();
        self.state.buffer.push('<');
        self.state.buffer.push_str(self.format.names.text(name));
        self.state.name = Some(name);
        self.state.opening = OpeningState::default();
        self.state.mode = Mode::Opening;
    }

    fn opening<S: FnMut(Event<'_>)>(&mut self, text: &str, at: usize, events: &mut S) -> usize {
        let Some(name) = self.state.name else {
            return text.len();
        };
        let name_end = 1 + self.format.names.len_of(name);
        let room =
            (self.format.limits.attributes + name_end).saturating_sub(self.state.buffer.len());
        for (index, byte) in text.as_bytes()[at..].iter().enumerate() {
            if index >= room {
                // The cap may fall inside a character: what is given back ends at its start.
                let end = text.floor_char_boundary(at + index);
                let limit = self.format.limits.attributes;
                let exceeded = LimitExceeded {
                    what: Limit::Attributes,
                    limit,
                };
                self.state.buffer.push_str(&text[at..end]);
                self.give_back_opening(Some(exceeded), events);
                return end;
            }
            match self.state.opening.step(*byte) {
                Step::On(next) => self.state.opening = next,
                Step::Open { self_closing } => {
                    let end = at + index;
                    self.state.buffer.push_str(&text[at..end]);
                    self.state.attributes = attributes(&self.state.buffer[name_end..]);
                    self.open_tag(name, self_closing, events);
                    return end + 1;
                }
                Step::Fail => {
                    let end = at + index;
                    self.state.buffer.push_str(&text[at..end]);
                    self.give_back_opening(None, events);
                    return end;
                }
            }
        }
        self.state.buffer.push_str(&text[at..]);
        text.len()
    }

    /// The cap that an opening tag without an end reached.
    fn opening_limit(&self) -> Option<LimitExceeded> {
        let name = self
            .state
            .name
            .map_or(0, |name| 1 + self.format.names.len_of(name));
        let limit = self.format.limits.attributes;
        let exceeded = LimitExceeded {
            what: Limit::Attributes,
            limit,
        };
        (self.state.buffer.len() - name >= limit).then_some(exceeded)
    }

    fn open_tag<S: FnMut(Event<'_>)>(
        &mut self,
        name: NameIndex,
        self_closing: bool,
        events: &mut S,
    ) {
        self.release_white(events);
        let state = &mut self.state;
        state.blocks += 1;
        state.content.begin();
        state.mode = Mode::Content;
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        events(Event::TagStart {
            block,
            tag,
            attributes: &state.attributes,
        });
        if self_closing {
            self.end_tag(EndReason::SelfClosing, events);
        }
    }

    /// What was taken for a tag is text.
    fn give_back_opening<S: FnMut(Event<'_>)>(
        &mut self,
        exceeded: Option<LimitExceeded>,
        events: &mut S,
    ) {
        self.state.mode = Mode::Prose;
        let opener = self.state.opener;
        if let Some(exceeded) = exceeded {
            self.tell_limit(
                &exceeded,
                Span {
                    start: opener,
                    end: opener + 1,
                },
                events,
            );
        }
        self.hand_out("<", events);
        self.state.line = LinePrefix::Other;
        let buffer = std::mem::take(&mut self.state.buffer);
        self.run(&buffer[1..], opener + 1, events);
    }

    fn content<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let Some(name) = self.state.name else {
            return text.len();
        };
        let state = &mut self.state;
        let read = text.floor_char_boundary(at + state.content.appetite());
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        let piece = &text[at..read];
        let (names, limits) = (&self.format.names, &self.format.limits);
        let end = state.content.feed(piece, name, names, limits, |delta| {
            events(Event::TagDelta { block, tag, delta });
        });
        match end {
            None => read,
            Some(ContentEnd::Closed { unread }) => {
                self.end_tag(EndReason::Closed, events);
                read - unread
            }
            Some(ContentEnd::Limit) => {
                self.cut_content(base + read as u64, events);
                read
            }
        }
    }

    /// The content that was read up to `end` has no end within its cap; what is behind that is prose.
    fn cut_content<S: FnMut(Event<'_>)>(&mut self, end: u64, events: &mut S) {
        let indent = self.format.limits.indent;
        let excess = self.state.content.take_excess(&self.format.limits);
        let cut = end - excess.len() as u64;
        let exceeded = LimitExceeded {
            what: Limit::TagContent,
            limit: self.format.limits.tag_content,
        };
        self.tell_limit(
            &exceeded,
            Span {
                start: cut,
                end: cut,
            },
            events,
        );
        self.end_tag(EndReason::Limit, events);
        let content = self.state.content.text().as_bytes();
        self.state.line = LinePrefix::Other.behind(content, content.len(), indent);
        self.run(&excess, cut, events);
    }

    fn finish_content<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let Some(name) = self.state.name else { return };
        let (block, tag) = (BlockId(self.state.blocks), self.format.names.text(name));
        let is_whole = self.state.content.finish(&self.format.limits, |delta| {
            events(Event::TagDelta { block, tag, delta });
        });
        if is_whole {
            self.end_tag(EndReason::EndOfStream, events);
        } else {
            self.cut_content(self.state.read, events);
        }
    }

    fn end_tag<S: FnMut(Event<'_>)>(&mut self, reason: EndReason, events: &mut S) {
        let Some(name) = self.state.name else { return };
        let state = &mut self.state;
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        events(Event::TagEnd { block, tag, reason });
        events(Event::Tag {
            block,
            tag,
            content: state.content.text(),
            attributes: &state.attributes,
            self_closing: reason == EndReason::SelfClosing,
        });
        (state.mode, state.leading, state.line) = (Mode::Prose, false, LinePrefix::Other);
    }

    fn tell_limit<S: FnMut(Event<'_>)>(
        &mut self,
        exceeded: &LimitExceeded,
        span: Span,
        events: &mut S,
    ) {
        self.release_white(events);
        let message = exceeded.to_string();
        events(Event::Diagnostic(Diagnostic {
            code: DiagnosticCode::LimitExceeded,
            message,
            span,
        }));
    }
}
