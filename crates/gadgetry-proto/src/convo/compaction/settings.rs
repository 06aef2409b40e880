//! Settings of compaction.

use serde::{Deserialize, Serialize};

use crate::event::CompactionStrategy;

/// When a conversation is compacted, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Compaction {
    /// The way in which turns give way.
    pub strategy: CompactionStrategy,
    /// Percent of the context window that a conversation may fill. At least 1,000 tokens, or a quarter of a window below
    /// 4,000, stay free for the reply, whatever this says.
    pub trigger_percent: f64,
    /// Percent of the context window that it may fill afterwards, if that can be done.
    pub target_percent: f64,
    /// The latest turns, which stay if they fit. At least one does: the model has not answered its results yet.
    pub keep_recent_turns: u32,
    /// Instructions for the summary; without them, the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_prompt: Option<String>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            strategy: CompactionStrategy::Hybrid,
            trigger_percent: 80.0,
            target_percent: 50.0,
            keep_recent_turns: 5,
            summary_prompt: None,
        }
    }
}
