//! `RunCommand`.

#[cfg(target_os = "linux")]
mod sandbox;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::Dir;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run};
use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, CommandLine, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo,
    Permission, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;

use crate::blocking::{blocking, whole_workspace};
#[cfg(target_os = "linux")]
use crate::workspace::GitGuard;
use crate::workspace::{Workspace, WorkspacePath};

/// Bytes of each of stdout and stderr that are kept.
const OUTPUT: usize = 64 << 10;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a command line.
#[derive(Debug)]
pub(crate) struct RunCommand {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) sandbox: bool,
    /// Variables that commands do not see, in addition to those that hold secrets.
    pub(crate) without_env: Vec<String>,
    /// Variables that commands see although they hold secrets.
    pub(crate) env: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunCommandParams {
    /// The command line, for `sh -c`
    #[schemars(length(min = 1))]
    command: String,
    /// Folder to run it in, relative to the workspace
    #[serde(default = "whole_workspace")]
    cwd: String,
    /// Milliseconds after which it is ended
    #[serde(default = "half_a_minute")]
    #[schemars(range(min = 1, max = 600_000))]
    timeout: u64,
}

fn half_a_minute() -> u64 {
    30_000
}

impl Gadget for RunCommand {
    type Params = RunCommandParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        let sandbox = if self.sandbox {
            " It cannot write outside the workspace, and has no network."
        } else {
            ""
        };
        GadgetInfo::new(
            "RunCommand",
            format!(
                "Runs a command line with `sh -c`, without input, and returns its exit status and output. All of its processes end with it.{sandbox}"
            ),
        )
        .example(
            Example::new(json!({ "command": "cargo test --quiet", "timeout": 300_000 }))
                .output("status=0\n\nrunning 3 tests\n...\ntest result: ok. 3 passed; 0 failed\n")
                .comment("Run the tests, for up to five minutes"),
        )
        .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: RunCommandParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.workspace);
        let cwd = params.cwd.clone();
        let (path, folder) = blocking(move || {
            let path = workspace.resolve(&cwd)?;
            let folder = workspace.open_folder(&path)?;
            Ok((path, folder))
        })
        .await?;
        context.check_approved(&self.runs(&params, &path))?;
        let limits = RunLimits {
            timeout: Duration::from_millis(params.timeout),
            grace: GRACE,
            output: OUTPUT,
        };
        let mut command = self.command(&params.command, &path, &folder);
        let cancellation = context.cancellation();
        let (ran, note) = if self.sandbox {
            self.in_sandbox(&mut command, limits, &context).await?
        } else {
            let ran = run(command, limits, cancellation, Command::spawn).await;
            (ran.map_err(|error| cannot_start(&error))?, String::new())
        };
        if cancellation.is_cancelled() {
            return Err(GadgetError::cancelled());
        }
        Ok(report(&ran, params.timeout) + &note)
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: RunCommandParams) -> Result<CallPreview, GadgetError> {
        let (workspace, cwd) = (Arc::clone(&self.workspace), params.cwd.clone());
        let path = blocking(move || {
            let path = workspace.resolve(&cwd)?;
            drop(workspace.open_folder(&path)?);
            Ok(path)
        })
        .await?;
        Ok(self.runs(&params, &path))
    }
}

impl RunCommand {
    /// What a call would run, in this folder.
    fn runs(&self, params: &RunCommandParams, path: &WorkspacePath) -> CallPreview {
        let folder = (!path.is_root()).then(|| path.to_string());
        let mut preview = CallPreview::of(Subject::Command(CommandLine {
            line: params.command.clone(),
            folder: folder.clone(),
        }));
        if let Some(folder) = folder {
            preview = preview.note(format!("in the folder {folder}"));
        }
        if params.timeout != half_a_minute() {
            preview = preview.note(format!("for up to {} s", params.timeout.div_ceil(1000)));
        }
        if self.sandbox {
            preview = preview.note("in the sandbox: no network, no writing outside the workspace");
        }
        preview
    }

    fn command(&self, line: &str, path: &WorkspacePath, folder: &Dir) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        let written: PathBuf = self.workspace.root().join(path.as_path());
        command.current_dir(by_handle(folder, &written));
        command.env("PWD", written);
        remove_secrets(&mut command, &self.without_env, &self.env);
        command
    }

    #[cfg(target_os = "linux")]
    async fn in_sandbox(
        &self,
        command: &mut Command,
        limits: RunLimits,
        context: &ExecutionContext,
    ) -> Result<(Ran, String), GadgetError> {
        let temporary = tempfile::tempdir()?;
        let mut confined = std::mem::replace(command, Command::new("true"));
        confined.env("TMPDIR", temporary.path());
        confined.env_remove("SSH_AUTH_SOCK");
        let rules = sandbox::Rules::new([self.workspace.root(), temporary.path()])
            .map_err(GadgetError::new)?;
        let workspace = Arc::clone(&self.workspace);
        let guard = blocking(move || Ok(GitGuard::new(workspace))).await?;
        let spawn = |command: &mut Command| rules.spawn(command);
        let ran = run(confined, limits, context.cancellation(), spawn).await;
        let note = blocking(move || Ok(guard.restore())).await?;
        Ok((ran.map_err(|error| cannot_start(&error))?, note))
    }

    #[cfg(not(target_os = "linux"))]
    async fn in_sandbox(
        &self,
        _command: &mut Command,
        _limits: RunLimits,
        _context: &ExecutionContext,
    ) -> Result<(Ran, String), GadgetError> {
        Err("the sandbox needs Linux; commands do not run without it here".into())
    }
}

/// The folder by its handle: a name could lead elsewhere by the time the program starts.
#[cfg(target_os = "linux")]
fn by_handle(folder: &Dir, _path: &Path) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn by_handle(_folder: &Dir, path: &Path) -> PathBuf {
    path.to_owned()
}

fn cannot_start(error: &std::io::Error) -> GadgetError {
    GadgetError::new(format_args!("the command could not be run: {error}"))
}

fn report(ran: &Ran, timeout: u64) -> String {
    let status = match ran.status {
        None => format!("status=timeout (ended after {timeout} ms)"),
        Some(status) => match status.code() {
            Some(code) => format!("status={code}"),
            None => format!("status=killed ({status})"),
        },
    };
    let (out, err) = (ran.stdout.trim_end(), ran.stderr.trim_end());
    match (out.is_empty(), err.is_empty()) {
        (true, true) => format!("{status}\n\n(no output)\n"),
        (false, true) => format!("{status}\n\n{out}\n"),
        (true, false) => format!("{status}\n\n{err}\n"),
        (false, false) => format!("{status}\n\n{out}\n{err}\n"),
    }
}
