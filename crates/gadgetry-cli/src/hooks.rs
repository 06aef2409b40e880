//! Hooks of the configuration: commands that decide about calls before their gadgets start, and see the results.
//!
//! A command reads one JSON object and answers by its exit code, or by JSON on stdout. The names of events and fields, and exit code 2,
//! are those of Claude Code's hooks, as of November 2026 (code.claude.com/docs/en/hooks). What differs fails closed: a command before a
//! call that cannot be started, is ended by its timeout, ends with any other code, or whose answer is not understood, denies
//! the call; and none can approve a call.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::CancellationToken;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run_with_input, supervisor};
use gadgetry::control::{AfterGadget, BeforeGadget, GadgetDone, Hook, RunContext, Start};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::cli::AgentOptions;
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
    /// The folder that the paths of calls are relative to.
    workspace: PathBuf,
    /// Variables that the commands do not get, next to those that look like keys.
    secret: Vec<String>,
}

impl ConfiguredHooks {
    /// The hooks that files declare, if they declare any.
    pub(crate) fn of(declared: &Arc<Declared>, options: &AgentOptions) -> Option<Self> {
        let workspace = options.source.workspace.clone().unwrap_or_default();
        (!declared.hooks.is_empty()).then(|| Self {
            declared: Arc::clone(declared),
            workspace,
            secret: options.model.server.api_key_env.iter().cloned().collect(),
        })
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
            let answer = match self.put(&call, hook, run).await {
                Ok(answer) => answer,
                Err(why) => return BeforeGadget::Deny(format!("Denied: {why}")),
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
            match self.put(&call, hook, run).await {
                Ok(answer) => {
                    let blocks = answer.decision.as_ref().is_some_and(|it| it == "block");
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

impl ConfiguredHooks {
    /// Runs the command, and returns its answer, or what the model is to read instead of it.
    async fn put(
        &self,
        call: &Call<'_>,
        hook: &HookCommand,
        run: &RunContext,
    ) -> Result<Answer, String> {
        let failed = |what: &str| format!("the hook `{}` {what}", hook.shown());
        let ran = self.run(call, hook, run).await;
        let ran = ran.map_err(|error| failed(&format!("cannot be run: {error}")))?;
        let Some(status) = ran.status else {
            return Err(failed("has taken too long"));
        };
        match status.code() {
            Some(0) => answer(&ran.stdout).map_err(|why| failed(&why)),
            Some(BLOCKS) if !ran.stderr.trim().is_empty() => Err(ran.stderr.trim().to_owned()),
            Some(BLOCKS) => Err(failed(match hook.event {
                HookEvent::PreToolUse => "denied it",
                HookEvent::PostToolUse | HookEvent::PostToolUseFailure => {
                    "ended with 2, and wrote nothing to stderr"
                }
            })),
            _ => {
                let said = one_line(ran.stderr.trim());
                Err(failed(&format!("failed ({status}): {said}")))
            }
        }
    }

    async fn run(
        &self,
        call: &Call<'_>,
        hook: &HookCommand,
        run: &RunContext,
    ) -> std::io::Result<Ran> {
        let folder = env::current_dir()?;
        let workspace = folder.join(&self.workspace);
        let workspace = workspace.canonicalize().unwrap_or(workspace);
        let mut input = json!({
            "session_id": *run.info().id,
            "cwd": workspace,
            "hook_event_name": hook.event.name(),
            "tool_name": call.name,
            "tool_use_id": call.id,
            "tool_input": call.parameters,
        });
        if let Some(result) = call.result {
            let field = match hook.event {
                HookEvent::PostToolUseFailure => "error",
                HookEvent::PreToolUse | HookEvent::PostToolUse => "tool_response",
            };
            input[field] = result.into();
        }
        let mut command = supervisor::command("sh", GRACE)?;
        command.args(["-c", &hook.command]);
        command.env("CLAUDE_PROJECT_DIR", folder);
        remove_secrets(&mut command, &self.secret, &[]);
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

/// Reads what a command wrote. Text that decides nothing is ignored; what seems to decide and cannot be read is an error.
fn answer(stdout: &str) -> Result<Answer, String> {
    let text =
        stdout.trim_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
    if text.starts_with('{') {
        let answer: Answer = serde_json::from_str(text)
            .map_err(|error| format!("wrote JSON that cannot be read: {error}"))?;
        return match answer.misplaced() {
            Some(key) => Err(format!("wrote {key:?} where it means nothing")),
            None => Ok(answer),
        };
    }
    // A shell that greets, a list, a text that was cut off.
    if ["ecision\"", "\"hookSpecificOutput\"", "\"continue\":"]
        .iter()
        .any(|it| text.contains(it))
    {
        return Err("wrote other text before its JSON".to_owned());
    }
    if stdout.len() >= OUTPUT {
        return Err(format!("wrote more than {} KiB", OUTPUT >> 10));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(_) | Value::Array(_)) => {
            Err("wrote JSON that is not an object".to_owned())
        }
        _ => Ok(Answer::default()),
    }
}

/// The JSON that a command may write. Fields that decide nothing are ignored.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    /// As written: a number, say, is not the same as nothing.
    decision: Option<Value>,
    reason: Option<String>,
    #[serde(rename = "continue")]
    continues: Option<Value>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    own: Option<OwnAnswer>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnAnswer {
    #[serde(default, deserialize_with = "as_written")]
    permission_decision: Option<Value>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A value that is there, also if it is `null`.
fn as_written<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The decision about a call.
#[derive(Debug, PartialEq, Eq)]
enum Verdict<'a> {
    Allow,
    Deny(Option<&'a str>),
    /// Words that are not known, as written.
    Unclear(String),
}

impl Answer {
    fn verdict(&self) -> Verdict<'_> {
        let own = self.own.as_ref();
        let reason = own.and_then(|own| own.permission_decision_reason.as_deref());
        let decisions = [
            (own.and_then(|own| own.permission_decision.as_ref()), reason),
            (self.decision.as_ref(), self.reason.as_deref()),
        ];
        for (decision, reason) in decisions {
            match decision.map(|it| it.as_str().ok_or(it)) {
                None | Some(Ok("allow" | "approve")) => {}
                Some(Ok("deny" | "block")) => return Verdict::Deny(reason),
                Some(Ok(word)) => return Verdict::Unclear(format!("{word:?}")),
                Some(Err(value)) => return Verdict::Unclear(value.to_string()),
            }
        }
        match &self.continues {
            None | Some(Value::Bool(true)) => Verdict::Allow,
            Some(_) => Verdict::Deny(self.stop_reason.as_deref()),
        }
    }

    /// Returns a key that would decide in another place or spelling.
    fn misplaced(&self) -> Option<&str> {
        const KEYS: [&str; 4] = [
            "decision",
            "permissiondecision",
            "hookspecificoutput",
            "updatedinput",
        ];
        let own = self.own.iter().flat_map(|own| own.other.keys());
        let mut keys = self.other.keys().chain(own);
        let plain = |key: &str| key.replace(['_', '-'], "").to_ascii_lowercase();
        let found = keys.find(|key| KEYS.contains(&&*plain(key)));
        found.map(String::as_str)
    }
}
