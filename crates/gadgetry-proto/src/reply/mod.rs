//! The one scanner over a reply: it finds gadget blocks and tags in prose and hands everything out in order.
//!
//! In prose it looks for the earliest of a start marker and a registered tag; in a gadget block tags are ordinary text;
//! in a tag markers are ordinary text. `docs/reply-format.md` has every rule.

mod block;
#[cfg(feature = "engine")]
pub(crate) mod check;
mod emit;
mod event;
mod format;
mod header;
mod hopeless;
mod json;
mod mode;
mod opening;
mod parsers;
mod pass;
mod pipeline;
mod prose;
#[cfg(feature = "engine")]
mod reader;
mod repetition;
mod scanner;
mod shortcut;
mod stage;
mod stop;
mod suspects;
mod tag;
#[cfg(feature = "engine")]
mod truncation;

#[cfg(feature = "engine")]
pub use check::Verdict;
pub use event::{ArgumentStart, ReplyEvent};
pub use format::Format;
pub use parsers::{BlockParser, TagParser};
pub use pipeline::{Pipeline, PipelineState};
#[cfg(feature = "engine")]
pub use reader::{Reader, ReaderState};
pub use scanner::{Scanner, ScannerState};
pub use stage::ReplyStage;
pub use stop::{StopEarly, Stopped};
#[cfg(feature = "engine")]
pub(crate) use truncation::Truncation;
