//! Commands before a conversation is compacted.

use gadgetry::control::{BeforeCompaction, CompactionDue, CompactionTrigger, Hook, RunContext};
use serde_json::json;

use super::answer::Verdict;
use super::commands::{Commands, Failure};
use crate::config::HookEvent;

/// The commands of `PreCompact`, as a hook of an agent.
pub(crate) struct CompactionHooks(Commands);

impl CompactionHooks {
    /// The commands about compactions, if there are any.
    pub(crate) fn of(commands: &Commands) -> Option<Self> {
        let has_some = commands.has(HookEvent::PreCompact);
        has_some.then(|| Self(commands.clone()))
    }
}

impl Hook for CompactionHooks {
    async fn before_compaction(&self, run: &RunContext, due: &CompactionDue) -> BeforeCompaction {
        let trigger = match due.trigger {
            CompactionTrigger::Manual => "manual",
            CompactionTrigger::Auto => "auto",
        };
        let about = json!({ "trigger": trigger, "custom_instructions": "" });
        let mut decided = BeforeCompaction::Proceed;
        for hook in self.0.about(HookEvent::PreCompact, trigger) {
            match self.0.put(hook, &run.info().id, &about).await {
                Ok(answer) => match answer.verdict() {
                    Verdict::Allow => {}
                    Verdict::Deny(_) => decided = BeforeCompaction::Skip,
                    Verdict::Unclear(said) => {
                        tracing::warn!("the hook `{}` decided {said}", hook.shown());
                    }
                },
                Err(Failure::Blocked(why)) => {
                    tracing::info!("the conversation is not compacted: {why}");
                    decided = BeforeCompaction::Skip;
                }
                // It protects nothing, and the model cannot repair it.
                Err(Failure::Failed(why)) => tracing::warn!("{why}"),
            }
        }
        decided
    }
}
