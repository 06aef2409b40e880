//! What a custom block is: its tag, what the model is told about it, and what becomes of it.

use std::fmt;
use std::sync::Arc;

use crate::delta::Delta;
use crate::message::{Attributes, CustomContentBlock};

/// Sees a complete block. `None` lets it pass; deltas take its place, none at all suppress it.
pub type BlockTransform = Arc<dyn Fn(&CustomContentBlock) -> Option<Vec<Delta>> + Send + Sync>;

/// Called when a tag has opened, before its content arrives.
pub type OnStart = Arc<dyn Fn(&Attributes) + Send + Sync>;

/// The definition of a custom block.
///
/// ```
/// use gadgetry_proto::tags::{CustomBlock, Transform};
/// let debug = CustomBlock { tag: Some("debug-info".into()), ..CustomBlock::new("debugInfo") };
/// assert_eq!(debug.tag(), "debug-info");
/// let done = CustomBlock { transform: Transform::Suppress, ..CustomBlock::new("done") };
/// assert_eq!(done.tag(), "done");
/// ```
#[derive(Clone)]
pub struct CustomBlock {
    /// The name that the application uses; events and messages carry it.
    pub key: String,
    /// The XML tag, where it differs from the key.
    pub tag: Option<String>,
    /// What the block is, for the model.
    pub description: Option<String>,
    /// When and how to write it, for the model.
    pub instructions: Option<String>,
    /// What becomes of it.
    pub transform: Transform,
    /// Called when it opens. It must not change what the run does: a replayed run calls it again.
    pub on_start: Option<OnStart>,
}

/// What becomes of a custom block.
#[derive(Clone, Default)]
pub enum Transform {
    /// It is content of the message, and its events stream.
    #[default]
    Pass,
    /// It is taken out and leaves no event.
    Suppress,
    /// Decided when it is complete. Until then none of its events are emitted; if it passes, they follow together.
    Map(BlockTransform),
    /// Its content is reasoning, piece by piece as it streams; the tag leaves no event.
    Reasoning,
}

impl CustomBlock {
    /// A block that passes, under the tag `key`.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            tag: None,
            description: None,
            instructions: None,
            transform: Transform::Pass,
            on_start: None,
        }
    }

    /// What a model writes between `<think>` and `</think>` as its reasoning: it streams as [`Delta::Reasoning`].
    ///
    /// ```
    /// use gadgetry_proto::tags::CustomBlock;
    /// let block = CustomBlock { tag: Some("thinking".into()), ..CustomBlock::think() };
    /// assert_eq!((block.key.as_str(), block.tag()), ("think", "thinking"));
    /// ```
    pub fn think() -> Self {
        Self {
            transform: Transform::Reasoning,
            ..Self::new("think")
        }
    }

    /// The XML tag.
    pub fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(&self.key)
    }
}

impl fmt::Debug for CustomBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomBlock")
            .field("key", &self.key)
            .field("tag", &self.tag())
            .field("transform", &self.transform)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "Pass",
            Self::Suppress => "Suppress",
            Self::Map(_) => "Map",
            Self::Reasoning => "Reasoning",
        })
    }
}
