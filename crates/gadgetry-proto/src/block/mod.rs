//! Gadget blocks: their markers, the machine that reads their body, and the writer.
//!
//! The format is that of the specification; `docs/reply-format.md` has every rule.

mod body;
mod call;
mod chars;
mod fence;
mod header;
mod markers;
mod near_miss;
mod search;
mod writer;

pub(crate) use body::{Body, BodyEnd, Partial};
pub use call::CallBlock;
pub use header::BlockHeader;
pub(crate) use header::number_of;
pub use markers::{Anchoring, MarkerError, Markers};
pub(crate) use near_miss::{MissCount, Suspect, classify};
pub(crate) use search::{Found, LinePrefix, Marker, MarkerSearch, Next};
pub use writer::{WriteError, Writer};
