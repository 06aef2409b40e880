//! A custom block in two parts: its configuration, which can be stored, and its code.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::delta::Delta;
use crate::message::{Attributes, CustomContentBlock};

/// Decides about a complete block. `None` keeps it, deltas replace it, and an empty list suppresses it.
pub type BlockTransform = Arc<dyn Fn(&CustomContentBlock) -> Option<Vec<Delta>> + Send + Sync>;

/// Called when a tag has opened, before its content arrives.
pub type OnStart = Arc<dyn Fn(&Attributes) + Send + Sync>;

/// The configuration of a [`CustomBlock`](crate::tags::CustomBlock): everything but its code.
///
/// ```
/// use gadgetry_proto::tags::{BlockConfig, BlockMode, CustomBlock};
/// let (config, code) = CustomBlock::new("done").map(|_| None).into_parts();
/// assert_eq!(config.mode, BlockMode::Map);
/// assert!(code.map.is_some());
/// let stored: BlockConfig = serde_json::from_str(r#"{"key": "done", "mode": "suppress"}"#)?;
/// assert_eq!(stored, BlockConfig { mode: BlockMode::Suppress, ..BlockConfig::new("done") });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockConfig {
    /// The name that the application uses; events and messages carry it.
    pub key: String,
    /// The XML tag, where it differs from the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The meaning of the block, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When and how to write it, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The treatment of a block that a model has written.
    #[serde(default, skip_serializing_if = "BlockMode::is_keep")]
    pub mode: BlockMode,
}

/// The treatment of a custom block that a model has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlockMode {
    /// The block is content of the message, and its events stream.
    #[default]
    Keep,
    /// The block is taken out and leaves no event.
    Suppress,
    /// The content streams as reasoning.
    Reasoning,
    /// [`BlockCode::map`] decides when it is complete.
    Map,
}

impl BlockMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_keep(&self) -> bool {
        *self == Self::Keep
    }
}

/// The code of a [`CustomBlock`](crate::tags::CustomBlock).
#[derive(Clone, Default)]
pub struct BlockCode {
    /// Decides what replaces a complete block, where the mode is [`BlockMode::Map`].
    pub map: Option<BlockTransform>,
    /// Called when it opens; see [`CustomBlock::on_start`](crate::tags::CustomBlock::on_start).
    pub on_start: Option<OnStart>,
}

impl BlockCode {
    /// Returns `true` if there is no code.
    pub fn is_empty(&self) -> bool {
        self.map.is_none() && self.on_start.is_none()
    }
}

impl BlockConfig {
    /// A block that is kept, under the tag `key`.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            tag: None,
            description: None,
            instructions: None,
            mode: BlockMode::Keep,
        }
    }

    /// The XML tag: the one that was set, or the key.
    pub fn xml_tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(&self.key)
    }
}

impl fmt::Debug for BlockCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCode")
            .field("map", &self.map.is_some())
            .field("on_start", &self.on_start.is_some())
            .finish()
    }
}
