//! Definitions of custom blocks: the configuration, and the code that handles them.

use std::fmt;
use std::sync::Arc;

use crate::delta::Delta;
use crate::message::{Attributes, CustomContentBlock};
use crate::tags::config::{BlockCode, BlockConfig, BlockMode};

/// The definition of a custom block.
///
/// ```
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::tags::CustomBlock;
/// let done = CustomBlock::new("done").description("Ends the work.").suppress();
/// assert_eq!(done.config().xml_tag(), "done");
/// let debug = CustomBlock::new("debugInfo")
///     .tag("debug-info")
///     .map(|block| Some(vec![Delta::text(format!("[{}]", block.content))]));
/// assert_eq!(debug.config().xml_tag(), "debug-info");
/// ```
#[derive(Clone)]
pub struct CustomBlock {
    config: BlockConfig,
    /// The code. Its map is set exactly if the mode is [`BlockMode::Map`].
    code: BlockCode,
}

impl CustomBlock {
    /// A block that is kept, under the tag `key`.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            config: BlockConfig::new(key),
            code: BlockCode::default(),
        }
    }

    /// A block whose content is reasoning: what a model writes between `<think>` and `</think>`.
    ///
    /// It streams as [`Delta::Reasoning`].
    ///
    /// ```
    /// use gadgetry_proto::tags::CustomBlock;
    /// let block = CustomBlock::think().tag("thinking");
    /// assert_eq!((block.config().key.as_str(), block.config().xml_tag()), ("think", "thinking"));
    /// ```
    pub fn think() -> Self {
        Self::new("think").mode(BlockMode::Reasoning)
    }

    /// The block of a configuration and its code.
    ///
    /// `None` if the mode is [`BlockMode::Map`] and `code` has no map, or the other way round.
    pub fn from_parts(config: BlockConfig, code: BlockCode) -> Option<Self> {
        let fits = (config.mode == BlockMode::Map) == code.map.is_some();
        fits.then_some(Self { config, code })
    }

    /// Separates the configuration from the code; [`from_parts`](Self::from_parts) joins them.
    pub fn into_parts(self) -> (BlockConfig, BlockCode) {
        (self.config, self.code)
    }

    /// Everything but the code.
    pub fn config(&self) -> &BlockConfig {
        &self.config
    }

    /// The code that handles it.
    pub fn code(&self) -> &BlockCode {
        &self.code
    }

    /// Sets the XML tag, where it differs from the key.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.config.tag = Some(tag.into());
        self
    }

    /// Describes the block to the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.config.description = Some(text.into());
        self
    }

    /// Instructs the model when and how to write it.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.config.instructions = Some(text.into());
        self
    }

    /// Removes it from the text: [`BlockMode::Suppress`].
    #[must_use]
    pub fn suppress(self) -> Self {
        self.mode(BlockMode::Suppress)
    }

    /// Decides about it when it is complete: `None` keeps it, deltas replace it, and an empty list suppresses it.
    ///
    /// Until then none of its events are emitted; if it is kept, they follow together.
    #[must_use]
    pub fn map(
        mut self,
        decide: impl Fn(&CustomContentBlock) -> Option<Vec<Delta>> + Send + Sync + 'static,
    ) -> Self {
        self.config.mode = BlockMode::Map;
        self.code.map = Some(Arc::new(decide));
        self
    }

    /// Calls `call` when it opens, before its content arrives.
    ///
    /// It must not change what the run does: a replayed run calls it again.
    #[must_use]
    pub fn on_start(mut self, call: impl Fn(&Attributes) + Send + Sync + 'static) -> Self {
        self.code.on_start = Some(Arc::new(call));
        self
    }

    fn mode(mut self, mode: BlockMode) -> Self {
        self.config.mode = mode;
        self.code.map = None;
        self
    }
}

impl fmt::Debug for CustomBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomBlock")
            .field("key", &self.config.key)
            .field("tag", &self.config.xml_tag())
            .field("mode", &self.config.mode)
            .finish_non_exhaustive()
    }
}
