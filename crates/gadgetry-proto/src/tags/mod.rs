//! Custom blocks: tags in the text of a reply.
//!
//! `docs/reply-format.md` has every rule of reading them.

mod config;
mod content;
mod definition;
mod names;
mod opening;

pub use config::{BlockCode, BlockConfig, BlockMode, BlockTransform, OnStart};
pub(crate) use content::{ContentEnd, TagContent};
pub use definition::CustomBlock;
pub use names::TagNameError;
pub(crate) use names::{NameIndex, Names, Opening, TagKind};
pub(crate) use opening::{ByteStep, OpeningState, attributes};
