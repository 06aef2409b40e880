//! The scanner: modes, and what moves it from one to another.
//!
//! A mode holds what exists only while it lasts, and its type reads its text; none of them knows another mode, nor the
//! scanner. What a mode finds is a value (an opener, the end of a header, of a body, of a tag), of which [`Pass`] makes
//! the next mode.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, LinePrefix, Markers, MissCount, number_of};
use crate::limits::Limits;
use crate::message::Attributes;
use crate::reply::emit::{Around, Emitter, Segment, Sink};
use crate::reply::format::Prepared;
use crate::reply::mode::{Mode, Spare};
use crate::reply::pass::Pass;
use crate::reply::shortcut::PieceKind;
use crate::reply::{Format, ReplyEvent};
use crate::tags::{TagKind, TagNameError};

/// Reads one reply after another, in any pieces.
///
/// Feeding is linear in the text, whatever the pieces. Text is emitted at once; only what may still become a
/// marker or a tag is held. After joining adjacent deltas the events do not depend on the pieces.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::reply::{ReplyEvent, Format, Scanner};
///
/// let format = Format { markers: Some(Markers::default()), tags: vec!["think".into()], ..Format::default() };
/// let mut scanner = Scanner::new(&format)?;
/// let mut text = String::new();
/// let mut see = |event: ReplyEvent<'_>| if let ReplyEvent::Text(more) = event { text.push_str(more) };
/// scanner.push("<think>hm</th", &mut see);
/// scanner.push("ink>Hello", &mut see);
/// scanner.finish(&mut see);
/// assert_eq!(text, "Hello");
/// # Ok::<(), gadgetry_proto::tags::TagNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    format: Arc<Prepared>,
    state: ScannerState,
    spare: Spare,
}

/// The state of a [`Scanner`] between two pieces; what a saved run keeps of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScannerState {
    mode: Mode,
    /// Bytes of the reply that were pushed.
    read: u64,
    around: Around,
    counts: Counts,
}

/// Numbers that continue from block to block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    misses: MissCount,
    auto_ids: u64,
    blocks: u32,
}

/// Numbers of the calls and custom blocks that were read last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    auto_ids: u64,
    blocks: u32,
}

impl Numbers {
    /// Counts what an event begins.
    pub(super) fn count(&mut self, event: &ReplyEvent<'_>) {
        let header = match event {
            ReplyEvent::CallStart(header) => header,
            ReplyEvent::Call(block) => block.header(),
            ReplyEvent::TagStart { block, .. } => {
                self.blocks = self.blocks.max(block.0);
                return;
            }
            ReplyEvent::Text(_)
            | ReplyEvent::Argument { .. }
            | ReplyEvent::TagDelta { .. }
            | ReplyEvent::TagEnd { .. }
            | ReplyEvent::Tag { .. }
            | ReplyEvent::Diagnostic(_) => return,
        };
        let number = number_of(header.invocation_id());
        self.auto_ids = self.auto_ids.max(number.unwrap_or_default());
    }
}

impl Scanner {
    /// A scanner for replies of `format`. Tag names must be names, once each.
    pub fn new(format: &Format) -> Result<Self, TagNameError> {
        Prepared::new(format).map(Self::of)
    }

    /// A new scanner of the same format but for its markers.
    #[must_use]
    pub(super) fn with_markers(&self, markers: Option<Markers>, anchoring: Anchoring) -> Self {
        Self::of(self.format.with_markers(markers, anchoring))
    }

    /// A scanner that knows no tags.
    pub(super) fn for_blocks(markers: Markers, anchoring: Anchoring, limits: Limits) -> Self {
        Self::of(Prepared::of_blocks(markers, anchoring, limits))
    }

    fn of(format: Prepared) -> Self {
        Self {
            format: Arc::new(format),
            state: ScannerState::default(),
            spare: Spare::default(),
        }
    }

    /// The state between two pieces.
    pub fn state(&self) -> &ScannerState {
        &self.state
    }

    /// Continues from the state of another scanner of the same format.
    pub fn restore(&mut self, state: ScannerState) {
        self.state = state;
    }

    pub(super) fn numbers(&self) -> Numbers {
        Numbers {
            auto_ids: self.state.counts.auto_ids,
            blocks: self.state.counts.blocks,
        }
    }

    /// Continues with the numbers after these.
    pub(super) fn set_numbers(&mut self, numbers: Numbers) {
        self.state.counts.auto_ids = numbers.auto_ids;
        self.state.counts.blocks = numbers.blocks;
    }

    /// Returns `true` if what was read last is content, of a block or a custom block, and not prose.
    pub(super) fn in_content(&self) -> bool {
        match &self.state.mode {
            Mode::Body(_) | Mode::Header(_) => true,
            Mode::Content(tag) => self.format.names.kind(tag.name) == TagKind::Custom,
            // After a block.
            Mode::Prose(_) => self.state.around.segment == Segment::Blank,
            Mode::Opening(_) => false,
        }
    }

    /// Returns `true` if a block is open.
    pub(super) fn in_block(&self) -> bool {
        matches!(self.state.mode, Mode::Body(_))
    }

    /// Reads more of the reply.
    #[inline]
    pub fn push(&mut self, chunk: &str, events: &mut impl FnMut(ReplyEvent<'_>)) {
        if !self.state.read_plain(chunk, &self.format, events) {
            self.push_any(chunk, events);
        }
    }

    fn push_any(&mut self, chunk: &str, sink: &mut Sink<'_>) {
        let base = self.state.read;
        self.state.read += chunk.len() as u64;
        let (mode, mut pass) = self.pass(sink);
        if let Some(name) = pass.format.open
            && base == 0
            && !chunk.is_empty()
        {
            *mode = Mode::Content(Box::new(pass.open_tag(name, Attributes::new())));
        }
        pass.run(mode, chunk, base);
    }

    /// Ends the reply. The scanner is ready for the next one; automatic ids and the numbers of custom blocks continue.
    pub fn finish(&mut self, events: &mut impl FnMut(ReplyEvent<'_>)) {
        let (mode, mut pass) = self.pass(events);
        pass.finish(mode);
        let state = &mut self.state;
        state.read = 0;
        state.around.begin_reply();
        state.counts.misses = MissCount::default();
    }

    /// Emits held text, because something that is not text comes next. Open blocks and tags stay open.
    pub fn flush(&mut self, events: &mut impl FnMut(ReplyEvent<'_>)) {
        let (mode, mut pass) = self.pass(events);
        pass.flush(mode);
        if matches!(self.state.mode, Mode::Prose(_)) {
            self.state.around.line = LinePrefix::Other;
        }
    }

    /// The mode, and everything else that a pass needs.
    fn pass<'a>(&'a mut self, sink: &'a mut Sink<'_>) -> (&'a mut Mode, Pass<'a>) {
        let (format, state) = (&*self.format, &mut self.state);
        let pass = Pass {
            format,
            end: state.read,
            auto_ids: &mut state.counts.auto_ids,
            blocks: &mut state.counts.blocks,
            spare: &mut self.spare,
            out: Emitter {
                limits: &format.limits,
                around: &mut state.around,
                misses: &mut state.counts.misses,
                sink,
            },
        };
        (&mut state.mode, pass)
    }
}

impl ScannerState {
    /// Reads a piece that is one event and changes no mode. Returns `false`, with nothing read, for any other.
    ///
    /// This is the short way of [`crate::reply::shortcut`]. It is compiled for each caller, so that no event has to be
    /// put together in memory.
    #[inline]
    fn read_plain(
        &mut self,
        piece: &str,
        format: &Prepared,
        events: &mut impl FnMut(ReplyEvent<'_>),
    ) -> bool {
        match &mut self.mode {
            Mode::Prose(prose) => {
                let is_plain = self.around.segment == Segment::Text && prose.is_clear();
                if !is_plain || !format.stops.pass(piece, PieceKind::Prose) {
                    return false;
                }
                self.around.ticked = piece.as_bytes().last() == Some(&b'`');
                events(ReplyEvent::Text(piece));
            }
            Mode::Body(block) => {
                if !format.stops.pass(piece, PieceKind::Value) {
                    return false;
                }
                let Some(event) = block.read_plain(piece, &format.limits) else {
                    return false;
                };
                events(event);
            }
            Mode::Content(tag) => {
                if !format.stops.pass(piece, PieceKind::Content) {
                    return false;
                }
                let Some(event) = tag.read_plain(piece, format) else {
                    return false;
                };
                events(event);
            }
            Mode::Header(_) | Mode::Opening(_) => return false,
        }
        self.read += piece.len() as u64;
        true
    }
}
