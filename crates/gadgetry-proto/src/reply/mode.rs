//! Modes of a scanner. A mode holds what exists only while it lasts.

use serde::{Deserialize, Serialize};

use crate::reply::block::OpenBlock;
use crate::reply::header::HeaderLine;
use crate::reply::opening::OpeningTag;
use crate::reply::prose::Prose;
use crate::reply::tag::OpenTag;
use crate::tags::TagContent;

/// The part of the format that is being read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Mode {
    Prose(Prose),
    /// The line after a start marker.
    Header(HeaderLine),
    Body(Box<OpenBlock>),
    /// An opening tag, after `<` and a name.
    Opening(OpeningTag),
    Content(Box<OpenTag>),
}

impl Default for Mode {
    fn default() -> Self {
        Self::Prose(Prose::default())
    }
}

/// Memory of blocks and tags that have ended, for the next ones. It is not part of the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Spare {
    pub(super) block: Option<Box<OpenBlock>>,
    pub(super) content: TagContent,
    pub(super) text: String,
}
