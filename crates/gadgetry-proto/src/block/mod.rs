//! Gadget blocks: their markers, the machine that eats their body, and the writer.

mod markers;
mod writer;

pub use markers::{Anchoring, MarkerError, Markers};
pub use writer::{WriteError, Writer};
