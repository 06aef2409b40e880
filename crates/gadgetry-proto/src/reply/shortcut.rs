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

/// Bytes at which a piece needs a closer look, one bit for each mode.
#[derive(Clone, Debug)]
pub(super) struct Stops {
    bytes: Box<[u8; 256]>,
    /// A line prefix would have to be kept up to date.
    line_start: bool,
}

const PROSE: u8 = 1;
const VALUE: u8 = 2;
const CONTENT: u8 = 4;

impl Stops {
    pub(super) fn new(search: Option<&MarkerSearch>, names: &Names) -> Self {
        let mut bytes = Box::new([0; 256]);
        for byte in search.iter().flat_map(|search| search.first_bytes()) {
            bytes[usize::from(byte)] |= PROSE | VALUE;
        }
        for byte in [b'\n', b'\r'] {
            bytes[usize::from(byte)] |= VALUE;
        }
        bytes[usize::from(b'<')] |= if names.is_empty() {
            CONTENT
        } else {
            PROSE | CONTENT
        };
        let line_start = search.is_some_and(|search| search.anchoring == Anchoring::LineStart);
        Self { bytes, line_start }
    }

    fn any(&self, text: &str, mode: u8) -> bool {
        text.bytes()
            .fold(0, |found, byte| found | self.bytes[usize::from(byte)])
            & mode
            != 0
    }
}

impl Scanner {
    /// Reads the chunk if that is simple; otherwise does nothing and says so.
    pub(super) fn shortcut<S: FnMut(Event<'_>)>(&mut self, chunk: &str, events: &mut S) -> bool {
        if chunk.len() > LONGEST || chunk.is_empty() {
            return false;
        }
        let stops = &self.format.stops;
        let (state, limits) = (&mut self.state, &self.format.limits);
        match state.mode {
            Mode::Prose => {
                let is_open = !state.leading && state.held.is_empty() && state.suspect.is_none();
                if !is_open || stops.line_start || stops.any(chunk, PROSE) {
                    return false;
                }
                state.ticked = chunk.ends_with('`');
                events(Event::Text(chunk));
                true
            }
            Mode::Body => {
                if stops.any(chunk, VALUE) {
                    return false;
                }
                let Some(pointer) = state.body.take_plain(chunk, limits) else {
                    return false;
                };
                let header = &state.header;
                events(Event::Argument {
                    header,
                    pointer,
                    delta: chunk,
                    complete: false,
                });
                true
            }
            Mode::Content => {
                let Some(name) = state.name else { return false };
                if stops.any(chunk, CONTENT) || !state.content.take_plain(chunk, limits) {
                    return false;
                }
                let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
                events(Event::TagDelta {
                    block,
                    tag,
                    delta: chunk,
                });
                true
            }
            Mode::Header | Mode::Opening => false,
        }
    }
}
