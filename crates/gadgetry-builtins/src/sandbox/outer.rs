//! The process outside: it makes the boundary, waits, and looks at what the command has left.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use gadgetry::command::supervisor::Supervisor;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::job::{Job, Mode, REPORT, Report, Rights, Stage};
use super::repositories::{BUDGET, Memory, Repositories};
use super::view;

/// The exit code of a process of the sandbox whose command did not run.
pub(super) const NOT_STARTED: i32 = 125;

/// Runs the command of a job; returns its exit code, or ends by its signal.
pub(super) fn run(job: &Job) -> i32 {
    let mut report = Report::default();
    let ended = File::options()
        .write(true)
        .open(job.private.join(REPORT))
        .and_then(|file| {
            let ended = confine(job, &mut report);
            if let Err(error) = &ended {
                report.error = Some(error.to_string());
            }
            write(file, &report)?;
            ended
        });
    ended.map_or(NOT_STARTED, Supervisor::exit_like)
}

fn write(mut file: File, report: &Report) -> io::Result<()> {
    // What the command may have written to it.
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(report)?)
}

fn confine(job: &Job, report: &mut Report) -> io::Result<ExitStatus> {
    let mut supervisor = Supervisor::of(job.parent.into(), job.grace)?;
    // A crash must not write a core file, which a pattern of the system places anywhere.
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    // In the new view some of what settings name is covered.
    let workspace = Dir::open_ambient_dir(&job.workspace, ambient_authority())?;
    let mut memory = Memory::take()?;
    if let Some(earlier) = memory.recall(&job.workspace)? {
        let disarmed = earlier.disarm_new(&workspace, BUDGET);
        report.notes = disarmed
            .map_err(|error| io::Error::other(format!("the command did not run: {error}")))?;
        memory.forget()?;
    }
    // Who may change nothing makes no repository.
    let before = match &job.rights {
        Rights::Read => None,
        Rights::Write(protected) => {
            let mut before = Repositories::find(&workspace, &job.workspace)?;
            for path in protected {
                before.add_way(path)?;
            }
            Some(before)
        }
    };
    let workspace = match job.mode {
        Mode::Namespaces => view::enter(&job.workspace, &job.rights)?,
        Mode::Landlock => workspace,
    };
    // Without a view that is read-only, Landlock has to know every entry that may be changed.
    let writable = match (job.mode, &before) {
        (Mode::Landlock, Some(before)) => before.unprotected()?,
        (Mode::Namespaces | Mode::Landlock, _) => Vec::new(),
    };
    if job.mode == Mode::Namespaces {
        if let Some(before) = &before {
            before.protect(&workspace, view::hold, view::make_read_only)?;
        }
        view::go_to(&workspace, &job.cwd)?;
        supervisor = supervisor.of_namespace();
        view::keep_capabilities_on_exec()?;
    }
    if let Some(before) = &before {
        memory.keep(before)?;
    }
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut inner = Command::new("/proc/self/exe");
    inner.arg0(Stage::Inner.name());
    inner.args(
        Job {
            parent: parent_of_inner(job.mode),
            ..job.clone()
        }
        .to_arguments(),
    );
    let child = inner
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .spawn()?;
    drop(inner);
    // A list that breaks off permits less.
    let sent = send(&mut ours, &writable);
    let ended = supervisor.wait(child.id());
    let mut message = String::new();
    ours.read_to_string(&mut message)?;
    if let Some(before) = before {
        report.notes.extend(before.disarm_new(&workspace, BUDGET)?);
        // What could not be ended may make more.
        if ended.is_ok() {
            memory.forget()?;
        }
    }
    if let Ok(status) = &ended
        && status.signal().is_some()
        && message.is_empty()
    {
        // It was killed with all others: by this process after the grace, or because the memory was full.
        return Ok(*status);
    }
    let message: Message = serde_json::from_str(&message).map_err(|_| {
        let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
        io::Error::other(format!("its first process has ended: {how}"))
    })?;
    sent?;
    match message {
        Message::Ended { status, missing } => {
            report.missing = missing;
            Ok(ExitStatus::from_raw(status))
        }
        Message::Failed(error) => Err(io::Error::other(error)),
    }
}

/// Sends paths to the inner process, each with a NUL at its end.
fn send(inner: &mut UnixStream, paths: &[PathBuf]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    inner.write_all(&bytes)?;
    inner.shutdown(Shutdown::Write)
}

/// Reads what [`send`] has sent. A path without its end may be another one, and does not count.
pub(super) fn receive(mut outer: impl Read) -> io::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    outer.read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let paths = bytes[..whole].split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsStr::from_bytes(path).into()).collect())
}

/// The number of this process for the inner one, which is in another PID namespace or not.
fn parent_of_inner(mode: Mode) -> u32 {
    match mode {
        Mode::Namespaces => 0,
        Mode::Landlock => std::process::id(),
    }
}

/// Report of the inner process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// The command has ended.
    Ended {
        /// As `waitpid` gives it.
        status: i32,
        /// Protections that the kernel does not have.
        missing: Vec<String>,
    },
    /// The command did not run.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::receive;

    #[test]
    fn paths_that_break_off_do_not_count() {
        let check = |sent: &[u8], expected: &[&str]| {
            let received = receive(sent).unwrap();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(received, expected, "{sent:?}");
        };
        check(b"", &[]);
        check(b"/a\0/b c\0", &["/a", "/b c"]);
        check(b"/a\0/b", &["/a"]);
        check(b"/work", &[]);
    }
}
