//! Commands that decide whether a run may end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::control::{AfterModelCall, BeforeGadget, Hook, Reply, RunContext, Start};
use gadgetry::proto::message::Content;
use serde_json::json;

use super::answer::Verdict;
use super::commands::{Commands, Failure};
use crate::config::HookEvent;

/// Times that a run is kept from its end.
const MOST: u32 = 10;
/// The built-in gadget that ends a run.
const FINISH: &str = "Finish";

/// The commands of `Stop` and `SubagentStop`, as a hook of an agent.
pub(crate) struct StopHooks {
    commands: Commands,
    /// How often runs were kept from their end.
    kept: Mutex<HashMap<Arc<str>, u32>>,
}

impl StopHooks {
    /// The commands that decide about ends, if there are any.
    pub(crate) fn of(commands: &Commands) -> Option<Self> {
        let has_some = [HookEvent::Stop, HookEvent::SubagentStop]
            .into_iter()
            .any(|event| commands.has(event));
        has_some.then(|| Self {
            commands: commands.clone(),
            kept: Mutex::default(),
        })
    }

    /// Returns why the run is not to end yet.
    async fn keeps(&self, run: &RunContext, said: &str) -> Option<String> {
        let info = run.info();
        let event = match info.parent {
            Some(_) => HookEvent::SubagentStop,
            None => HookEvent::Stop,
        };
        let before = *self.count().get(&info.id).unwrap_or(&0);
        let mut about = json!({ "stop_hook_active": before > 0, "last_assistant_message": said });
        if let Some(name) = info.agent.as_deref().filter(|_| info.parent.is_some()) {
            about["agent_id"] = (*info.id).into();
            about["agent_type"] = name.into();
        }
        let name = info.agent.as_deref().unwrap_or_default();
        let mut reasons = Vec::new();
        for hook in self.commands.about(event, name) {
            match self.commands.put(hook, &info.id, &about).await {
                Ok(answer) if answer.stops() => {}
                Ok(answer) => match answer.verdict() {
                    Verdict::Allow => {}
                    Verdict::Deny(reason) => {
                        let reason = reason.map(str::to_owned);
                        let silent = || format!("The hook `{}` says: not yet.", hook.shown());
                        reasons.push(reason.unwrap_or_else(silent));
                    }
                    Verdict::Unclear(said) => {
                        tracing::warn!("the hook `{}` decided {said}", hook.shown());
                    }
                },
                Err(Failure::Blocked(reason)) => reasons.push(reason),
                // It protects nothing, and the model cannot repair it.
                Err(Failure::Failed(why)) => tracing::warn!("{why}"),
            }
        }
        if reasons.is_empty() {
            self.count().remove(&info.id);
            return None;
        }
        if before == MOST {
            tracing::warn!("hooks have kept the run from its end {MOST} times; it ends");
            return None;
        }
        self.count().insert(Arc::clone(&info.id), before + 1);
        Some(reasons.join("\n"))
    }

    fn count(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, u32>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook for StopHooks {
    async fn after_model_call(&self, run: &RunContext, reply: &Reply) -> AfterModelCall {
        if reply.calls > 0 || !reply.stop_reason.is_clean() {
            return AfterModelCall::Proceed;
        }
        let mut said = String::new();
        for content in reply.message.iter().flat_map(|it| &it.content) {
            if let Content::Text { text } = content {
                said.push_str(text);
            }
        }
        match self.keeps(run, &said).await {
            Some(reason) => AfterModelCall::Continue(reason),
            None => AfterModelCall::Proceed,
        }
    }

    async fn before_gadget(&self, run: &RunContext, start: &Start) -> BeforeGadget {
        if start.gadget_name != FINISH {
            return BeforeGadget::Proceed;
        }
        match self.keeps(run, "").await {
            Some(reason) => BeforeGadget::Deny(reason),
            None => BeforeGadget::Proceed,
        }
    }
}
