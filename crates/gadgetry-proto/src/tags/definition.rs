//! What a custom block is: its tag, its description for the model, and how it is handled.

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
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::tags::CustomBlock;
/// let done = CustomBlock::new("done").description("Ends the work.").suppress();
/// assert_eq!(done.xml_tag(), "done");
/// let debug = CustomBlock::new("debugInfo")
///     .tag("debug-info")
///     .map(|block| Some(vec![Delta::text(format!("[{}]", block.content))]));
/// assert_eq!(debug.xml_tag(), "debug-info");
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
    /// How it is handled.
    pub transform: Transform,
    /// Called when it opens. It must not change what the run does: a replayed run calls it again.
    pub on_start: Option<OnStart>,
}

/// How a custom block is handled.
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
    /// let block = CustomBlock::think().tag("thinking");
    /// assert_eq!((block.key.as_str(), block.xml_tag()), ("think", "thinking"));
    /// ```
    pub fn think() -> Self {
        Self {
            transform: Transform::Reasoning,
            ..Self::new("think")
        }
    }

    /// Sets the XML tag, where it differs from the key.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Describes the block to the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Instructs the model when and how to write it.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Takes it out of the text without a trace: [`Transform::Suppress`].
    #[must_use]
    pub fn suppress(mut self) -> Self {
        self.transform = Transform::Suppress;
        self
    }

    /// Decides about it when it is complete: `None` lets it pass, deltas take its place, and none at all suppress it. See
    /// [`Transform::Map`].
    #[must_use]
    pub fn map(
        mut self,
        decide: impl Fn(&CustomContentBlock) -> Option<Vec<Delta>> + Send + Sync + 'static,
    ) -> Self {
        self.transform = Transform::Map(Arc::new(decide));
        self
    }

    /// Calls `call` when it opens, before its content arrives. It must not change what the run does: a replayed run
    /// calls it again.
    #[must_use]
    pub fn on_start(mut self, call: impl Fn(&Attributes) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(call));
        self
    }

    /// The XML tag: the one that was set, or the key.
    pub fn xml_tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(&self.key)
    }
}

impl fmt::Debug for CustomBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomBlock")
            .field("key", &self.key)
            .field("tag", &self.xml_tag())
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
