//! The bytes at which a short piece needs a closer look.
//!
//! Most pushes of a model's stream are a token of a few bytes, in which nothing begins or ends. For those, the set-up of
//! a vectorised search costs more than a table lookup for each byte. An example with the default markers and a tag,
//! in the middle of a paragraph:
//!
//! ```text
//! " fox"   no byte of it stops: it is one text event, and nothing else changes
//! "nd! "   `!` stops: it may begin `!!!GADGET_START:`, so the long way reads it
//! ```
//!
//! A short cut does what the long way would do, or nothing. The properties that compare the scanner with its oracle see
//! both ways.

use crate::block::{Anchoring, MarkerSearch};
use crate::tags::Names;

/// Longer pieces are worth a search with wide instructions.
const LONGEST: usize = 64;

/// The bytes that stop a short cut; one bit for each kind of text.
#[derive(Clone, Debug)]
pub(super) struct Stops {
    bytes: Box<[u8; 256]>,
}

/// The text that a piece continues.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum PieceKind {
    Prose = 1,
    Value = 2,
    Content = 4,
}

impl Stops {
    pub(super) fn new(search: &MarkerSearch, names: &Names) -> Self {
        let mut bytes = Box::new([0; 256]);
        let mut stop = |byte: u8, kinds: &[PieceKind]| {
            for kind in kinds {
                bytes[usize::from(byte)] |= *kind as u8;
            }
        };
        for byte in search.first_bytes() {
            stop(*byte, &[PieceKind::Prose, PieceKind::Value]);
        }
        // A newline at the end of a value may belong to the marker after it.
        stop(b'\n', &[PieceKind::Value]);
        stop(b'\r', &[PieceKind::Value]);
        stop(b'<', &[PieceKind::Content]);
        if !names.is_empty() {
            stop(b'<', &[PieceKind::Prose]);
        }
        if search.anchoring == Anchoring::LineStart {
            // The prefix of the line would have to be kept up to date.
            (0..=u8::MAX).for_each(|byte| stop(byte, &[PieceKind::Prose]));
        }
        Self { bytes }
    }

    /// Returns `true` if a piece is short, not empty, and nothing in it stops.
    #[inline]
    pub(super) fn pass(&self, piece: &str, kind: PieceKind) -> bool {
        if !(1..=LONGEST).contains(&piece.len()) {
            return false;
        }
        // Four at a time, because that is what a token has.
        let (fours, rest) = piece.as_bytes().as_chunks::<4>();
        let look = |found: u8, byte: &u8| found | self.bytes[usize::from(*byte)];
        let found = fours.iter().fold(0, |found, [a, b, c, d]| {
            look(look(look(look(found, a), b), c), d)
        });
        let found = rest.iter().fold(found, look);
        found & kind as u8 == 0
    }
}
