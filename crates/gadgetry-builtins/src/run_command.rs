//! `RunCommand`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::Dir;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run, supervisor};
use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, CancellationToken, CommandLine, ExecutionContext, Gadget, GadgetError, GadgetInfo,
    Permission, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::process::Command;

use crate::blocking::{blocking, whole_workspace};
#[cfg(target_os = "linux")]
use crate::sandbox::Sandbox;
use crate::workspace::{Workspace, WorkspacePath, state};

/// Bytes of each of stdout and stderr that are kept.
const OUTPUT: usize = 64 << 10;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a command line.
#[derive(Debug)]
pub(crate) struct RunCommand {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) sandbox: bool,
    /// Whether the sandbox does without namespaces.
    pub(crate) by_landlock: bool,
    /// Variables that commands do not see, in addition to those that hold secrets.
    pub(crate) without_env: Vec<String>,
    /// Variables that commands see although they hold secrets.
    pub(crate) env: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunCommandParams {
    #[schemars(length(min = 1))]
    command: String,
    #[serde(default = "whole_workspace")]
    cwd: String,
    /// milliseconds
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
                "Runs a command line with `sh -c`, without input. Returns status and output. Its processes end with it.{sandbox}"
            ),
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
        context.check_approved(&self.runs(&params, &path, &folder)?)?;
        let limits = RunLimits {
            timeout: Duration::from_millis(params.timeout),
            grace: GRACE,
            output: OUTPUT,
        };
        let cancellation = context.cancellation();
        let (ran, note) = if self.sandbox {
            let line = params.command;
            self.in_sandbox(line, &path, &folder, limits, cancellation)
                .await?
        } else {
            let mut command =
                supervisor::command("sh", GRACE).map_err(|error| cannot_start(&error))?;
            command.args(["-c", &params.command]);
            self.prepare(&mut command, &path, &folder);
            let ran = run(command, limits, cancellation).await;
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
        let (path, folder) = blocking(move || {
            let path = workspace.resolve(&cwd)?;
            let folder = workspace.open_folder(&path)?;
            Ok((path, folder))
        })
        .await?;
        self.runs(&params, &path, &folder)
    }
}

impl RunCommand {
    /// Returns the preview of a call in this folder. An approval does not hold for another one that takes its place.
    fn runs(
        &self,
        params: &RunCommandParams,
        path: &WorkspacePath,
        dir: &Dir,
    ) -> Result<CallPreview, GadgetError> {
        let metadata = dir.dir_metadata().map_err(GadgetError::new)?;
        let folder = (!path.is_root()).then(|| path.to_string());
        let mut preview = CallPreview::of(Subject::Command(CommandLine {
            line: params.command.clone(),
            folder: folder.clone(),
        }))
        .bound_to(state::identity(&metadata));
        if let Some(folder) = folder {
            preview = preview.note(format!("in the folder {folder}"));
        }
        if params.timeout != half_a_minute() {
            preview = preview.note(format!("for up to {} s", params.timeout.div_ceil(1000)));
        }
        if self.sandbox {
            preview = preview.note("in the sandbox: no network, no writing outside the workspace");
            #[cfg(target_os = "linux")]
            if let Ok(sandbox) = Sandbox::of_system(self.by_landlock)
                && !sandbox.missing.is_empty()
            {
                let missing = sandbox.missing.join("; ");
                preview = preview.note(format!("this system's sandbox has {missing}"));
            }
        }
        Ok(preview)
    }

    fn prepare(&self, command: &mut Command, path: &WorkspacePath, folder: &Dir) {
        let mut written = self.workspace.root().to_owned();
        if !path.is_root() {
            written.push(path.as_path());
        }
        command.current_dir(by_handle(folder, &written));
        command.env("PWD", written);
        remove_secrets(command, &self.without_env, &self.env);
    }

    /// Runs the command, and returns what the sandbox has to say about it.
    #[cfg(target_os = "linux")]
    async fn in_sandbox(
        &self,
        line: String,
        path: &WorkspacePath,
        folder: &Dir,
        limits: RunLimits,
        cancellation: &CancellationToken,
    ) -> Result<(Ran, String), GadgetError> {
        let _turn = tokio::select! {
            biased;
            turn = self.workspace.confined.lock() => turn,
            () = cancellation.cancelled() => return Err(GadgetError::cancelled()),
        };
        let (workspace, cwd) = (Arc::clone(&self.workspace), path.as_path().to_owned());
        let by_landlock = self.by_landlock;
        let (confined, missing) = blocking(move || {
            let sandbox = Sandbox::of_system(by_landlock).map_err(GadgetError::new)?;
            let confined = sandbox.command(&line, workspace.root(), &cwd, GRACE);
            Ok((confined.map_err(GadgetError::new)?, sandbox.missing.clone()))
        })
        .await?;
        let (mut command, notes) = confined.split();
        self.prepare(&mut command, path, folder);
        let ran = run(command, limits, cancellation).await;
        // Also of a command that was cancelled: what it has made must not stay.
        let notes = blocking(move || notes().map_err(GadgetError::new)).await?;
        let mut text = String::new();
        if !notes.is_empty() {
            let notes = notes.join("; ");
            text = format!(
                "\n[{notes}: in the sandbox, commands cannot make what Git runs code from]\n"
            );
        }
        if !missing.is_empty() {
            let _ = write!(
                text,
                "\n[this system's sandbox has {}]\n",
                missing.join("; ")
            );
        }
        Ok((ran.map_err(|error| cannot_start(&error))?, text))
    }

    #[cfg(not(target_os = "linux"))]
    async fn in_sandbox(
        &self,
        _line: String,
        _path: &WorkspacePath,
        _folder: &Dir,
        _limits: RunLimits,
        _cancellation: &CancellationToken,
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
