//! Commands before and after calls.

use gadgetry::control::{AfterGadget, BeforeGadget, GadgetDone, Hook, RunContext, Start};
use gadgetry::proto::id::InvocationId;
use serde_json::{Value, json};

use super::answer::Verdict;
use super::commands::Commands;
use crate::claude_code;
use crate::config::{HookCommand, HookEvent};

/// The commands about calls, as a hook of an agent.
pub(crate) struct ConfiguredHooks(pub(crate) Commands);

impl Hook for ConfiguredHooks {
    async fn before_gadget(&self, run: &RunContext, start: &Start) -> BeforeGadget {
        let name = &start.gadget_name;
        let mut updated = None;
        for hook in self.0.about(HookEvent::PreToolUse, name) {
            let tool = hook.tool(name);
            let parameters = updated.as_ref().unwrap_or(&*start.parameters);
            let about = about(name, tool, &start.invocation_id, parameters);
            let answer = match self.0.put(hook, &run.info().id, &about).await {
                Ok(answer) => answer,
                Err(why) => return BeforeGadget::Deny(format!("Denied: {}", why.words())),
            };
            match answer.verdict() {
                Verdict::Allow => {}
                Verdict::Deny(why) => return BeforeGadget::Deny(denied(why, hook)),
                Verdict::Unclear(said) => {
                    return BeforeGadget::Deny(format!(
                        "Denied: the hook `{}` decided {said}; hooks allow or deny",
                        hook.shown()
                    ));
                }
            }
            let said = answer.own.unwrap_or_default();
            let input = said.updated_input.map(|input| match tool {
                Some(tool) => claude_code::to_gadget(tool, input),
                None => input,
            });
            updated = input.or(updated);
        }
        updated.map_or(BeforeGadget::Proceed, BeforeGadget::Parameters)
    }

    async fn after_gadget(&self, run: &RunContext, done: &GadgetDone) -> AfterGadget {
        let (event, field, result) = match &done.result {
            Ok(result) => (HookEvent::PostToolUse, "tool_response", result),
            Err(error) => (HookEvent::PostToolUseFailure, "error", error),
        };
        let mut remarks = Vec::new();
        for hook in self.0.about(event, &done.about.gadget_name) {
            let call = &done.about;
            let tool = hook.tool(&call.gadget_name);
            let (name, id) = (&call.gadget_name, &call.invocation_id);
            let mut about = about(name, tool, id, &call.parameters);
            about[field] = json!(result);
            match self.0.put(hook, &run.info().id, &about).await {
                Ok(answer) => {
                    let blocks = answer.decision.as_ref().is_some_and(|it| it == "block");
                    remarks.extend(answer.reason.filter(|_| blocks));
                    remarks.extend(answer.own.and_then(|own| own.additional_context));
                }
                Err(why) => remarks.push(why.words()),
            }
        }
        if remarks.is_empty() {
            return AfterGadget::Proceed;
        }
        let text = format!("{result}\n\n{}", remarks.join("\n"));
        match &done.result {
            Ok(_) => AfterGadget::Result(text),
            Err(_) => AfterGadget::Deny(text),
        }
    }
}

/// What a command reads about a call: by its names here, or by those of a tool of Claude Code.
fn about(gadget: &str, tool: Option<&str>, id: &InvocationId, parameters: &Value) -> Value {
    let input = match tool {
        Some(tool) => claude_code::to_tool(tool, parameters),
        None => parameters.clone(),
    };
    json!({
        "tool_name": tool.unwrap_or(gadget),
        "tool_use_id": id.as_str(),
        "tool_input": input,
    })
}

fn denied(reason: Option<&str>, hook: &HookCommand) -> String {
    match reason.map(str::trim).filter(|it| !it.is_empty()) {
        Some(reason) => format!("Denied: {reason}"),
        None => format!("Denied: the hook `{}` denied it", hook.shown()),
    }
}
