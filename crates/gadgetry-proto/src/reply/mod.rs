//! The one scanner over a reply: it finds gadget blocks and tags in prose and hands everything out in order.
//!
//! In prose it looks for the earliest of a start marker and a registered tag; in a gadget block tags are ordinary text;
//! in a tag markers are ordinary text. `docs/reply-format.md` has every rule.

mod event;
mod gadget;
mod parsers;
mod prose;
mod scanner;
mod shortcut;
mod stage;
mod tag;

pub use event::Event;
pub use parsers::{BlockParser, TagParser};
pub use scanner::{Format, Scanner, ScannerState};
pub use stage::ReplyStage;
