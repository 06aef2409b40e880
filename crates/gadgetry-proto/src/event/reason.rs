//! Reasons for the end of a run, and results of compaction.

use serde::{Deserialize, Serialize};

/// The reason a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model answered without a call, or the one call of the run is answered.
    Completed,
    /// A gadget ended the run.
    TaskCompleted,
    /// The limit of iterations was reached.
    MaxIterations,
    /// The last reply was cut at the token limit.
    Truncated,
    /// The provider refused or withheld the last reply, or its rest.
    Withheld,
    /// The model failed.
    ModelError,
    /// The run was cancelled.
    Cancelled,
    /// The budget is spent.
    BudgetExceeded,
    /// A gadget failed, and the run stops on errors.
    GadgetError,
    /// A hook stopped it.
    Stopped,
}

/// The result of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Compacted {
    /// The strategy.
    pub strategy: CompactionStrategy,
    /// Replies that were removed, each with the results of its calls.
    pub removed_turns: u32,
    /// Messages that were removed.
    pub removed_messages: u32,
    /// Texts that were cut, because leaving out turns was not enough.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_texts: u32,
    /// Estimated tokens of the conversation before.
    pub tokens_before: u64,
    /// Estimated tokens of the conversation after.
    pub tokens_after: u64,
}

/// The way in which compaction shortens a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CompactionStrategy {
    /// Remove older messages.
    SlidingWindow,
    /// Let the model summarise older messages.
    Summary,
    /// Summarise many messages, remove a few.
    #[default]
    Hybrid,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
