//! Runs a command of `[[hooks]]`.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::CancellationToken;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run_with_input, supervisor};
use gadgetry_builtins::program_outside;
use serde_json::{Value, json};

use super::answer::{Answer, OUTPUT, answer};
use crate::cli::AgentOptions;
use crate::config::{Declared, HookCommand, HookEvent};
use crate::lines::one_line;
use crate::modes::{CurrentMode, Mode};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// The exit code that denies, or adds to a result.
const BLOCKS: i32 = 2;

/// The commands that files declare.
#[derive(Clone)]
pub(crate) struct Commands(Arc<Shared>);

struct Shared {
    declared: Arc<Declared>,
    /// The folder that the paths of calls are relative to.
    workspace: PathBuf,
    /// Variables that the commands do not get, next to those that look like keys.
    secret: Vec<String>,
    /// The folder that they run in, if it is not the working directory.
    folder: Option<PathBuf>,
    /// The folders of `PATH` that were there when the agent was made: the others could be the work of its commands.
    path: OsString,
    mode: CurrentMode,
}

/// A command that has not answered, as text.
pub(super) enum Failure {
    /// It has ended with the code that denies.
    Blocked(String),
    /// It cannot be run, or understood.
    Failed(String),
}

impl Failure {
    pub(super) fn words(self) -> String {
        match self {
            Self::Blocked(words) | Self::Failed(words) => words,
        }
    }
}

impl Commands {
    /// The commands that files declare, if they declare any, unless it is a dry run.
    pub(crate) fn of(
        declared: &Arc<Declared>,
        options: &AgentOptions,
        folder: Option<PathBuf>,
        mode: CurrentMode,
    ) -> Option<Self> {
        let is_off = declared.hooks.is_empty() || options.approvals.dry_run;
        (!is_off).then(|| {
            let path = env::var_os("PATH").unwrap_or_default();
            let here = folder.clone().unwrap_or_default();
            let path = env::split_paths(&path).filter(|it| here.join(it).is_dir());
            Self(Arc::new(Shared {
                // Without their separator, they can be joined again.
                path: env::join_paths(path).unwrap_or_default(),
                declared: Arc::clone(declared),
                workspace: options.source.workspace.clone().unwrap_or_default(),
                folder,
                mode,
                secret: options.model.server.api_key_env.iter().cloned().collect(),
            }))
        })
    }

    /// Returns whether there is a command for an event.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.0.declared.hooks.iter().any(|hook| hook.event == event)
    }

    /// The commands of an event about a subject, such as a gadget, in order.
    pub(super) fn about<'h>(
        &'h self,
        event: HookEvent,
        subject: &'h str,
    ) -> impl Iterator<Item = &'h HookCommand> {
        let hooks = self.0.declared.hooks.iter();
        hooks.filter(move |hook| hook.event == event && hook.matches(subject))
    }

    /// Runs the command about a session, and returns its answer.
    pub(super) async fn put(
        &self,
        hook: &HookCommand,
        session: &str,
        about: &Value,
    ) -> Result<Answer, Failure> {
        let words = |what: &str| format!("the hook `{}` {what}", hook.shown());
        let failed = |what: &str| Failure::Failed(words(what));
        let ran = self.run(hook, session, about).await;
        let ran = ran.map_err(|error| failed(&format!("cannot be run: {error}")))?;
        let Some(status) = ran.status else {
            return Err(failed("has taken too long"));
        };
        match status.code() {
            Some(0) => answer(&ran.stdout).map_err(|why| failed(&why)),
            Some(BLOCKS) if !ran.stderr.trim().is_empty() => {
                Err(Failure::Blocked(ran.stderr.trim().to_owned()))
            }
            Some(BLOCKS) => Err(Failure::Blocked(words(if hook.event.denies() {
                "denied it"
            } else {
                "ended with 2, and wrote nothing to stderr"
            }))),
            _ => {
                let said = one_line(ran.stderr.trim());
                Err(failed(&format!("failed ({status}): {said}")))
            }
        }
    }

    async fn run(&self, hook: &HookCommand, session: &str, about: &Value) -> std::io::Result<Ran> {
        let folder = self.0.folder.clone();
        let folder = folder.map_or_else(env::current_dir, Ok)?;
        let workspace = folder.join(&self.0.workspace);
        let workspace = workspace.canonicalize().unwrap_or(workspace);
        let mut input = json!({
            "session_id": session,
            "cwd": workspace,
            "permission_mode": match self.0.mode.get() {
                Mode::Ask => "default",
                Mode::AcceptEdits => "acceptEdits",
                Mode::Plan => "plan",
            },
            "hook_event_name": hook.event.name(),
        });
        if let (Value::Object(input), Value::Object(about)) = (&mut input, about) {
            input.extend(about.clone());
        }
        let mut command =
            supervisor::command(program_outside("sh", &[&workspace, &folder])?, GRACE)?;
        command.env("PATH", &self.0.path);
        command.args(["-c", &hook.command]).current_dir(&folder);
        command.env("CLAUDE_PROJECT_DIR", folder);
        remove_secrets(&mut command, &self.0.secret, &[]);
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
