//! The scanner: modes, and what moves it from one to another.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::Anchoring;
use crate::block::Body;
use crate::block::Header;
use crate::block::LinePrefix;
use crate::block::MarkerSearch;
use crate::block::Markers;
use crate::block::MissCount;
use crate::block::Suspect;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::limits::{LimitExceeded, Limits};
use crate::message::Attributes;
use crate::reply::Event;
use crate::reply::prose::Ahead;
use crate::reply::shortcut::Stops;
use crate::tags::Content;
use crate::tags::NameIndex;
use crate::tags::Names;
use crate::tags::OpeningState;
use crate::tags::TagNameError;

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
    /// The names of tags whose content is reasoning; those that are in `tags`, too, are not. They are taken out like the
    /// others, and white space around them is no text where no text precedes it. A backtick before one makes it text.
    pub reasoning: Vec<String>,
    /// Whether a reply begins inside the first of `reasoning`, because the prompt template of the model has opened it.
    pub reasoning_open: bool,
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
    pub(super) stops: Stops,
    /// The tag that is open where a reply begins.
    open: Option<NameIndex>,
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
    pub(super) white: String,
    /// Whether the current segment of prose is white space so far and may be dropped.
    pub(super) leading: bool,
    /// Whether such white space follows reasoning, so that it is no text, whatever comes.
    pub(super) quiet: bool,
    /// Whether the last byte of the prose before the held text is a backtick.
    pub(super) ticked: bool,
    /// What stands on the line before the held text, or before the opener.
    pub(super) line: LinePrefix,
    /// A run and a word that may be a near miss; already handed out as text.
    pub(super) suspect: Option<Suspect>,
    pub(super) misses: MissCount,
    /// The header or the opening tag as far as it has arrived.
    pub(super) buffer: String,
    /// Offset of the opener.
    pub(super) opener: u64,
    pub(super) header: Header,
    pub(super) body: Body,
    pub(super) auto_ids: u64,
    pub(super) opening: OpeningState,
    pub(super) name: Option<NameIndex>,
    pub(super) attributes: Attributes,
    pub(super) content: Content,
    pub(super) blocks: u32,
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
            quiet: false,
            ticked: false,
            line: LinePrefix::Blank(0),
            suspect: None,
            misses: MissCount::default(),
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
        let names = Names::new(&format.tags, &format.reasoning, format.limits.tag_name)?;
        let search = format
            .markers
            .clone()
            .map(|markers| MarkerSearch::new(markers, format.anchoring));
        let open = names.first_reasoning().filter(|_| format.reasoning_open);
        Ok(Self::prepared(search, names, open, format.limits.clone()))
    }

    /// A scanner that knows no tags.
    pub(super) fn for_blocks(markers: Markers, anchoring: Anchoring, limits: Limits) -> Self {
        let search = Some(MarkerSearch::new(markers, anchoring));
        Self::prepared(search, Names::default(), None, limits)
    }

    fn prepared(
        search: Option<MarkerSearch>,
        names: Names,
        open: Option<NameIndex>,
        limits: Limits,
    ) -> Self {
        let stops = Stops::new(search.as_ref(), &names);
        let prepared = Prepared {
            search,
            names,
            limits,
            stops,
            open,
        };
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

    /// Reads more of the reply.
    pub fn push(&mut self, chunk: &str, events: &mut impl FnMut(Event<'_>)) {
        let base = self.state.read;
        if let Some(name) = self.format.open.filter(|_| base == 0 && !chunk.is_empty()) {
            self.state.name = Some(name);
            self.state.attributes.clear();
            self.open_tag(name, false, events);
        }
        self.state.read += chunk.len() as u64;
        if !self.shortcut(chunk, events) {
            self.run(chunk, base, events);
        }
    }

    /// Ends the reply. The scanner is ready for the next one; automatic ids and the numbers of custom blocks go
    /// on.
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
        (state.quiet, state.ticked) = (false, false);
        (state.read, state.misses) = (0, MissCount::default());
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
    pub(super) fn hand_out<S: FnMut(Event<'_>)>(&mut self, mut text: &str, events: &mut S) {
        if self.state.quiet {
            text = text.trim_start();
        }
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
        (self.state.leading, self.state.quiet) = (false, false);
        if !self.state.white.is_empty() {
            events(Event::Text(&self.state.white));
            self.state.white.clear();
        }
    }

    pub(super) fn tell_limit<S: FnMut(Event<'_>)>(
        &mut self,
        exceeded: &LimitExceeded,
        span: Span,
        events: &mut S,
    ) {
        self.release_white(events);
        let diagnostic = Diagnostic {
            code: DiagnosticCode::LimitExceeded,
            message: exceeded.to_string(),
            span,
        };
        self.diagnose(diagnostic, events);
    }

    /// Emits a diagnostic, unless the reply has had too many.
    pub(super) fn diagnose<S: FnMut(Event<'_>)>(&mut self, diagnostic: Diagnostic, events: &mut S) {
        let admitted = self.state.misses.admit(diagnostic, &self.format.limits);
        if let Some(diagnostic) = admitted {
            events(Event::Diagnostic(diagnostic));
        }
    }
}
