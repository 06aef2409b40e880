//! Gadget blocks: their markers, the machine that eats their body, and the writer.

mod markers;

pub use markers::{Anchoring, MarkerError, Markers};
