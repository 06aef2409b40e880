//! Hooks of the configuration: commands that decide about calls before their gadgets start, and see the results.
//!
//! A command reads one JSON object and answers by its exit code, or by JSON on stdout. The names of events and fields, and exit code 2,
//! are those of Claude Code's hooks, as of November 2026 (code.claude.com/docs/en/hooks). What differs fails closed: a command before a
//! call that cannot be started, is ended by its timeout, or ends with any other code, denies the call; and none can approve a call.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gadgetry::CancellationToken;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run_with_input, supervisor};
use gadgetry::control::{AfterGadget, BeforeGadget, GadgetDone, Hook, RunContext, Start};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{Declared, HookCommand, HookEvent};
use crate::lines::one_line;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of each stream of a command that are read.
const OUTPUT: usize = 64 << 10;
/// The exit code that denies a call, or adds to its result.
const BLOCKS: i32 = 2;

/// The hooks of the configuration, as a hook of an agent.
pub(crate) struct ConfiguredHooks {
    declared: Arc<Declared>,
    /// The folder that they run in, if it is not the working directory.
    folder: Option<PathBuf>,
}

impl ConfiguredHooks {
    /// The hooks that files declare, if they declare any.
    pub(crate) fn of(declared: &Arc<Declared>, folder: Option<PathBuf>) -> Option<Self> {
        (!declared.hooks.is_empty()).then(|| Self {
            declared: Arc::clone(declared),
            folder,
        })
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The commands of an event about a gadget, in order.
    fn about<'h>(
        &'h self,
        event: HookEvent,
        gadget: &'h str,
    ) -> impl Iterator<Item = &'h HookCommand> {
        let hooks = self.declared.hooks.iter();
        hooks.filter(move |hook| hook.event == event && hook.matches(gadget))
    }
}

impl Hook for ConfiguredHooks {
    async fn before_gadget(&self, run: &RunContext, start: &Start) -> BeforeGadget {
        let name = &start.gadget_name;
        let mut updated = None;
        for hook in self.about(HookEvent::PreToolUse, name) {
            let call = Call {
                name,
                id: start.invocation_id.as_str(),
                parameters: updated.as_ref().unwrap_or(&start.parameters),
                result: None,
            };
            let answer = match call.put_to(hook, run, self.folder()).await {
                Ok(answer) => answer,
                Err(why) => return BeforeGadget::Deny(format!("Denied: {why}")),
            };
            let said = answer.own.unwrap_or_default();
            match said.permission_decision.as_deref() {
                None | Some("allow") => {}
                Some("deny") => {
                    let why = said.permission_decision_reason;
                    return BeforeGadget::Deny(denied(why.as_deref(), hook));
                }
                Some(other) => {
                    return BeforeGadget::Deny(format!(
                        "Denied: the hook `{}` decided {other:?}; hooks allow or deny",
                        hook.shown()
                    ));
                }
            }
            if answer.decision.as_deref() == Some("block") {
                return BeforeGadget::Deny(denied(answer.reason.as_deref(), hook));
            }
            updated = said.updated_input.or(updated);
        }
        updated.map_or(BeforeGadget::Proceed, BeforeGadget::Parameters)
    }

    async fn after_gadget(&self, run: &RunContext, done: &GadgetDone) -> AfterGadget {
        let (event, result) = match &done.result {
            Ok(result) => (HookEvent::PostToolUse, result),
            Err(error) => (HookEvent::PostToolUseFailure, error),
        };
        let mut remarks = Vec::new();
        for hook in self.about(event, &done.about.gadget_name) {
            let call = Call {
                name: &done.about.gadget_name,
                id: done.about.invocation_id.as_str(),
                parameters: &done.about.parameters,
                result: Some(result),
            };
            match call.put_to(hook, run, self.folder()).await {
                Ok(answer) => {
                    let blocks = answer.decision.as_deref() == Some("block");
                    remarks.extend(answer.reason.filter(|_| blocks));
                    remarks.extend(answer.own.and_then(|own| own.additional_context));
                }
                Err(why) => remarks.push(why),
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

fn denied(reason: Option<&str>, hook: &HookCommand) -> String {
    match reason.map(str::trim).filter(|it| !it.is_empty()) {
        Some(reason) => format!("Denied: {reason}"),
        None => format!("Denied: the hook `{}` denied it", hook.shown()),
    }
}

/// A call, as a command reads it.
struct Call<'c> {
    name: &'c str,
    id: &'c str,
    parameters: &'c Value,
    result: Option<&'c str>,
}

impl Call<'_> {
    /// Runs the command, and returns its answer, or what the model is to read instead of it.
    async fn put_to(
        &self,
        hook: &HookCommand,
        run: &RunContext,
        folder: Option<&Path>,
    ) -> Result<Answer, String> {
        let failed = |what: &str| format!("the hook `{}` {what}", hook.shown());
        let ran = self.run(hook, run, folder).await;
        let ran = ran.map_err(|error| failed(&format!("cannot be run: {error}")))?;
        let Some(status) = ran.status else {
            return Err(failed("has taken too long"));
        };
        match status.code() {
            Some(0) => {
                let text = ran.stdout.trim();
                if !text.starts_with('{') {
                    return Ok(Answer::default());
                }
                serde_json::from_str(text)
                    .map_err(|error| failed(&format!("wrote JSON that cannot be read: {error}")))
            }
            Some(BLOCKS) if !ran.stderr.trim().is_empty() => Err(ran.stderr.trim().to_owned()),
            Some(BLOCKS) => Err(failed("denied it")),
            _ => {
                let said = one_line(ran.stderr.trim());
                Err(failed(&format!("failed ({status}): {said}")))
            }
        }
    }

    async fn run(
        &self,
        hook: &HookCommand,
        run: &RunContext,
        folder: Option<&Path>,
    ) -> std::io::Result<Ran> {
        let folder = folder.map_or_else(env::current_dir, |it| Ok(it.to_owned()))?;
        let mut input = json!({
            "session_id": *run.info().id,
            "cwd": folder,
            "hook_event_name": hook.event.name(),
            "tool_name": self.name,
            "tool_use_id": self.id,
            "tool_input": self.parameters,
        });
        if let Some(result) = self.result {
            let field = match hook.event {
                HookEvent::PostToolUseFailure => "error",
                HookEvent::PreToolUse | HookEvent::PostToolUse => "tool_response",
            };
            input[field] = result.into();
        }
        let mut command = supervisor::command("sh", GRACE)?;
        command.args(["-c", &hook.command]).current_dir(&folder);
        command.env("CLAUDE_PROJECT_DIR", folder);
        remove_secrets(&mut command, &[], &[]);
        let limits = RunLimits {
            timeout: hook.timeout,
            grace: GRACE,
            output: OUTPUT,
        };
        let input = format!("{input}\n");
        // A run that is cancelled drops this future, which ends the command.
        run_with_input(command, input.as_bytes(), limits, &CancellationToken::new()).await
    }
}

/// The JSON that a command may write. Fields that mean nothing here are ignored.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    own: Option<OwnAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnAnswer {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
}
