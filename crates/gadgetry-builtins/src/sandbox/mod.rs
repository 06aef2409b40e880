//! A command that can change its workspace and nothing else.
//!
//! The boundary is made by processes between this program and the command: this program itself, started again under another name.
//!
//! ```text
//! RunCommand ─► outer: namespaces, mounts, repositories ─► inner: PID 1, /proc, rights given up ─► sh -c … ─► whatever it starts
//!                 └─ when all have ended: repositories that the command has made are disarmed; report, or memory of what is left to do
//! ```
//!
//! | layer | what it takes away |
//! |---|---|
//! | mounts ([`view`]) | changing anything but the workspace, `/tmp` and the like, which are its own, and what Git, Mercurial or the agent runs code from |
//! | PID namespace | signals and limits of other processes; staying after the command |
//! | network and IPC namespaces, seccomp ([`syscalls`]) | sockets, new namespaces, mounts |
//! | capabilities, `no_new_privs` | the rights of root |
//! | Landlock ([`landlock`]) | writing, once more, by other means of the kernel |
//!
//! Where the kernel refuses namespaces, [`Mode::Landlock`] has the last three layers, the outer process ends what is left (it is a
//! subreaper), and seccomp refuses what Landlock does not know: changing modes, owners, times and attributes, and other processes.

mod inner;
mod job;
mod landlock;
mod outer;
mod repositories;
mod syscalls;
mod turn;
mod view;

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use gadgetry::command::supervisor;
use tokio::process::Command;

use job::{Job, Report, Stage};
use repositories::LEFT;
use turn::{memory_of, new_memory};

pub(crate) use job::{Mode, Rights};
pub(crate) use turn::Turn;

/// Runs as a process of the sandbox and does not return if this one was started as such.
pub(crate) fn dispatch() {
    let mut arguments = std::env::args_os();
    let Some(stage) = arguments.next().and_then(|name| Stage::named(&name)) else {
        return;
    };
    let code = match (stage, Job::from_arguments(arguments)) {
        (Stage::Outer, Some(job)) => outer::run(&job),
        (Stage::Inner, Some(job)) => inner::run(&job),
        (Stage::Outer | Stage::Inner, None) => outer::NOT_STARTED,
    };
    std::process::exit(code);
}

/// The sandbox of this system.
#[derive(Clone, Debug)]
pub(crate) struct Sandbox {
    pub(crate) mode: Mode,
    /// Protections that the system refuses, for the user.
    pub(crate) missing: Vec<String>,
}

/// The system has no sandbox, or not enough of it. Commands do not run without it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the sandbox is unavailable, and commands do not run without it: {0}")]
pub(crate) struct Unavailable(String);

/// A command in the sandbox, before it runs.
pub(crate) struct Confined {
    pub(crate) command: Command,
    memory: File,
    private: Private,
}

/// The folder of a call: its report, and temporary files where there is no other folder for them.
struct Private {
    folder: tempfile::TempDir,
    /// By its handle: where temporary files are in the workspace, a command could put another file in its place.
    report: File,
}

impl Private {
    fn new() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut options = File::options();
        let report = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join(job::REPORT))?;
        Ok(Self { folder, report })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Reads the report of an outer process that has ended.
    fn report(self) -> Result<Report, Unavailable> {
        let failed = |error: &dyn std::fmt::Display| {
            Unavailable(format!("its process has ended without a report: {error}"))
        };
        let report = serde_json::from_reader(&self.report).map_err(|error| failed(&error));
        // The folder is there until here.
        drop(self.folder);
        report
    }
}

impl Sandbox {
    /// Returns the sandbox of this system, which is found out once. With `by_landlock` it has no namespaces even if there are some.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] if neither namespaces nor Landlock confine commands here.
    pub(crate) fn of_system(by_landlock: bool) -> Result<&'static Self, Unavailable> {
        static BEST: OnceLock<Result<Sandbox, Unavailable>> = OnceLock::new();
        static LANDLOCK: OnceLock<Result<Sandbox, Unavailable>> = OnceLock::new();
        let landlock = |why: String| {
            let mut sandbox = Self::probe(Mode::Landlock)
                .map_err(|error| Unavailable(format!("{why}; {}", error.0)))?;
            sandbox.missing.insert(0, format!("no namespaces ({why})"));
            Ok(sandbox)
        };
        let found = if by_landlock {
            LANDLOCK.get_or_init(|| landlock("switched off".to_owned()))
        } else {
            BEST.get_or_init(|| Self::probe(Mode::Namespaces).or_else(|error| landlock(error.0)))
        };
        found.as_ref().map_err(Clone::clone)
    }

    /// Runs the sandbox without a command.
    fn probe(mode: Mode) -> Result<Self, Unavailable> {
        let failed = |error: &dyn std::fmt::Display| Unavailable(error.to_string());
        let private = Private::new().map_err(|error| failed(&error))?;
        let workspace = private.path().join("workspace");
        std::fs::create_dir(&workspace).map_err(|error| failed(&error))?;
        let job = Job::new(
            mode,
            &workspace,
            Path::new("."),
            private.path(),
            ":",
            Duration::ZERO,
        );
        let mut command = std::process::Command::new(program()?);
        command.arg0(Stage::Outer.name()).args(job.to_arguments());
        let memory = new_memory().map_err(|error| failed(&error))?;
        command.current_dir(&workspace).stdin(memory);
        // The end of a thread is the end of the parent of its children, and this call waits for the child.
        let ended = command.output().map_err(|error| failed(&error))?;
        let report = private.report()?;
        match report.error {
            Some(error) => Err(Unavailable(error)),
            None if ended.status.success() => Ok(Self {
                mode,
                missing: report.missing,
            }),
            None => Err(Unavailable(format!("it ends with {}", ended.status))),
        }
    }

    /// Returns the command that runs `line` by `sh -c`, in the folder `cwd` of `workspace`, with these rights to it.
    pub(crate) fn command(
        &self,
        line: &str,
        workspace: &Path,
        cwd: &Path,
        rights: Rights,
        grace: Duration,
    ) -> Result<Confined, Unavailable> {
        let failed = |error: io::Error| Unavailable(error.to_string());
        let private = Private::new().map_err(failed)?;
        let temporary = private.path().join("tmp");
        std::fs::create_dir(&temporary).map_err(failed)?;
        let of_view = view::temporary(workspace, &rights);
        let job = Job {
            rights,
            ..Job::new(self.mode, workspace, cwd, private.path(), line, grace)
        };
        let mut command = Command::new(program()?);
        command.arg0(Stage::Outer.name()).args(job.to_arguments());
        command.env_remove("SSH_AUTH_SOCK");
        command.env(
            "TMPDIR",
            match self.mode {
                Mode::Namespaces => of_view,
                Mode::Landlock => &temporary,
            },
        );
        Ok(Confined {
            command,
            memory: memory_of(workspace).map_err(failed)?,
            private,
        })
    }
}

impl Confined {
    /// Returns the stdin of the command.
    pub(crate) fn input(&self) -> io::Result<Stdio> {
        self.memory.try_clone().map(Stdio::from)
    }

    /// Takes the command, and leaves what reads its report.
    pub(crate) fn split(self) -> (Command, impl FnOnce() -> Result<Vec<String>, String>) {
        let Self {
            command,
            memory,
            private,
        } = self;
        let notes = move || {
            let report = private.report().map_err(|error| {
                let is_empty = memory.metadata().is_ok_and(|found| found.len() == 0);
                if is_empty {
                    return error.to_string();
                }
                format!("the sandbox was ended before it could look at what the command has left: {LEFT}")
            })?;
            report.error.map_or(Ok(report.notes), Err)
        };
        (command, notes)
    }
}

fn program() -> Result<PathBuf, Unavailable> {
    let missing = || {
        Unavailable("this program does not call `gadgetry_builtins::dispatch` in its `main`".into())
    };
    supervisor::program()
        .map(Path::to_owned)
        .ok_or_else(missing)
}
