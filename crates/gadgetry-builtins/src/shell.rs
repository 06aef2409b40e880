//! Command lines in a workspace, in the sandbox or without it.

#[cfg(target_os = "linux")]
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::Dir;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run_watched, supervisor};
use gadgetry::{CancellationToken, GadgetError};
use tokio::process::Command;

#[cfg(target_os = "linux")]
use crate::blocking::blocking;
use crate::read_only::ReadOnly;
#[cfg(target_os = "linux")]
use crate::sandbox::{Rights, Sandbox, Turn};
use crate::workspace::{Workspace, WorkspacePath};

/// Time between SIGTERM and SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// Runs command lines with `sh -c`.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) sandbox: bool,
    /// Whether the sandbox does without namespaces.
    pub(crate) by_landlock: bool,
    pub(crate) read_only: ReadOnly,
    /// Variables that commands do not see, in addition to those that hold secrets.
    pub(crate) without_env: Vec<String>,
    /// Variables that commands see although they hold secrets.
    pub(crate) env: Vec<String>,
}

/// A command line and its folder.
pub(crate) struct Line<'l> {
    pub(crate) text: &'l str,
    pub(crate) path: &'l WorkspacePath,
    pub(crate) folder: &'l Dir,
    /// Variables that it sees in addition.
    pub(crate) variables: &'l [(&'l str, &'l str)],
    /// Whether it may change nothing.
    pub(crate) is_read_only: bool,
    pub(crate) timeout: Duration,
    /// Bytes of each of stdout and stderr that are kept.
    pub(crate) output: usize,
    /// Called with each piece of its output.
    pub(crate) watch: &'l (dyn Fn(&[u8]) + Send + Sync),
}

impl Shell {
    /// Runs it, and returns status and output as the model reads them. `Err` if it cannot be started, or is cancelled: then with what
    /// it has written.
    pub(crate) async fn run(
        &self,
        line: &Line<'_>,
        cancellation: &CancellationToken,
    ) -> Result<String, GadgetError> {
        let limits = RunLimits {
            timeout: line.timeout,
            grace: GRACE,
            output: line.output,
        };
        let (ran, note) = if self.sandbox || line.is_read_only {
            self.in_sandbox(line, limits, cancellation).await?
        } else {
            let mut command =
                supervisor::command("sh", GRACE).map_err(|error| cannot_start(&error))?;
            command.args(["-c", line.text]);
            self.prepare(&mut command, line);
            let ran = run_watched(command, Stdio::null(), limits, cancellation, line.watch).await;
            (ran.map_err(|error| cannot_start(&error))?, String::new())
        };
        if cancellation.is_cancelled() {
            let cancelled = GadgetError::cancelled();
            if ran.stdout.is_empty() && ran.stderr.is_empty() {
                return Err(cancelled);
            }
            let text = with_output(&cancelled.to_string(), &ran.stdout, &ran.stderr);
            return Err(GadgetError::new(text));
        }
        Ok(report(&ran, line.timeout.as_millis()) + &note)
    }

    /// Returns the path of a folder, for programs.
    pub(crate) fn written(&self, path: &WorkspacePath) -> PathBuf {
        let mut written = self.workspace.root().to_owned();
        if !path.is_root() {
            written.push(path.as_path());
        }
        written
    }

    fn prepare(&self, command: &mut Command, line: &Line<'_>) {
        let written = self.written(line.path);
        command.current_dir(by_handle(line.folder, &written));
        command.env("PWD", written);
        remove_secrets(command, &self.without_env, &self.env);
        command.envs(line.variables.iter().copied());
    }

    /// Runs the command, and returns what the sandbox has to say about it.
    #[cfg(target_os = "linux")]
    async fn in_sandbox(
        &self,
        line: &Line<'_>,
        limits: RunLimits,
        cancellation: &CancellationToken,
    ) -> Result<(Ran, String), GadgetError> {
        let _turn = tokio::select! {
            biased;
            turn = Turn::of(self.workspace.root()) => turn,
            () = cancellation.cancelled() => return Err(GadgetError::cancelled()),
        };
        let (workspace, cwd) = (Arc::clone(&self.workspace), line.path.as_path().to_owned());
        let (by_landlock, text) = (self.by_landlock, line.text.to_owned());
        let rights = if line.is_read_only {
            Rights::Read
        } else {
            Rights::Write(workspace.protected())
        };
        let (confined, missing) = blocking(move || {
            let sandbox = Sandbox::of_system(by_landlock).map_err(GadgetError::new)?;
            let confined = sandbox.command(&text, workspace.root(), &cwd, rights, GRACE);
            Ok((confined.map_err(GadgetError::new)?, sandbox.missing.clone()))
        })
        .await?;
        let input = confined.input().map_err(|error| cannot_start(&error))?;
        let (mut command, notes) = confined.split();
        self.prepare(&mut command, line);
        let ran = run_watched(command, input, limits, cancellation, line.watch).await;
        // Also of a command that was cancelled: what it has made must not stay.
        let notes = blocking(move || notes().map_err(GadgetError::new)).await?;
        let mut text = String::new();
        if !notes.is_empty() {
            let notes = notes.join("; ");
            text = format!(
                "\n[{notes}: in the sandbox, commands cannot make what Git, Mercurial or this agent runs code from]\n"
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
        _line: &Line<'_>,
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

fn report(ran: &Ran, timeout: u128) -> String {
    let status = match ran.status {
        None => timed_out(timeout),
        Some(status) => match status.code() {
            Some(code) => format!("status={code}"),
            None => format!("status=killed ({status})"),
        },
    };
    with_output(&status, &ran.stdout, &ran.stderr)
}

pub(crate) fn timed_out(milliseconds: u128) -> String {
    format!("status=timeout (ended after {milliseconds} ms)")
}

pub(crate) fn with_output(status: &str, stdout: &str, stderr: &str) -> String {
    let (out, err) = (stdout.trim_end(), stderr.trim_end());
    match (out.is_empty(), err.is_empty()) {
        (true, true) => format!("{status}\n\n(no output)\n"),
        (false, true) => format!("{status}\n\n{out}\n"),
        (true, false) => format!("{status}\n\n{err}\n"),
        (false, false) => format!("{status}\n\n{out}\n{err}\n"),
    }
}
