//! Short cuts for tokens: most pushes of a model's stream are a few bytes in which nothing begins or ends.
//!
//! A short cut does what the long way would do, or nothing. It exists for speed alone; the properties that compare the
//! scanner with its oracle see both ways.

use crate::block::Anchoring;
use crate::block::MarkerSearch;
use crate::id::BlockId;
use crate::reply::Event;
use crate::reply::Scanner;
use crate::reply::scanner::Mode;
use crate::tags::Names;

/// Longer pieces are worth a search with wide instructions.
const LONGEST: usize = 64;

/// Bytes at which a piece needs a closer look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stops {
    prose: [u8; 4],
    /// In a value, also line breaks.
    marker: [u8; 3],
    /// A line prefix would have to be kept up to date.
    line_start: bool,
}

impl Stops {
    pub(super) fn new(search: Option<&MarkerSearch>, names: &Names) -> Self {
        // A byte that no text has stands for "none".
        const NONE: u8 = 0xff;
        let marker = search.map_or([NONE; 3], MarkerSearch::first_bytes);
        let tag = if names.is_empty() { NONE } else { b'<' };
        Self {
            prose: [marker[0], marker[1], marker[2], tag],
            marker,
            line_start: search.is_some_and(|search| search.anchoring == Anchoring::LineStart),
        }
    }
}

/// Whether any byte is one of `stops`. It looks at all of them, so that the compiler may look at many at once.
fn has_any<const N: usize>(text: &str, stops: [u8; N]) -> bool {
    text.bytes().fold(false, |found, byte| stops.iter().fold(found, |found, stop| found | (byte == *stop)))
}

impl Scanner {
    /// Reads the chunk if that is simple; otherwise does nothing and says so.
    pub(super) fn shortcut<S: FnMut(Event<'_>)>(&mut self, chunk: &str, events: &mut S) -> bool {
        if chunk.len() > LONGEST || chunk.is_empty() {
            return false;
        }
        let stops = self.format.stops;
        let (state, limits) = (&mut self.state, &self.format.limits);
        match state.mode {
            Mode::Prose => {
                let is_open = !state.leading && state.held.is_empty() && state.suspect.is_none();
                if !is_open || stops.line_start || has_any(chunk, stops.prose) {
                    return false;
                }
                events(Event::Text(chunk));
                true
            }
            Mode::Body => {
                let [a, b, c] = stops.marker;
                if has_any(chunk, [a, b, c, b'\n', b'\r']) {
                    return false;
                }
                let Some(pointer) = state.body.take_plain(chunk, limits) else { return false };
                let header = &state.header;
                events(Event::Argument { header, pointer, delta: chunk, complete: false });
                true
            }
            Mode::Content => {
                let Some(name) = state.name else { return false };
                if has_any(chunk, [b'<']) || !state.content.take_plain(chunk, limits) {
                    return false;
                }
                let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
                events(Event::TagDelta { block, tag, delta: chunk });
                true
            }
            Mode::Header | Mode::Opening => false,
        }
    }
}
