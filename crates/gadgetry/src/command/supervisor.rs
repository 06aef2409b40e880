//! A process between this program and a command, which ends everything that the command has started.
//!
//! Ending a process group ends only the processes that stay in it, and only while this program lives. A supervisor is the parent
//! of everything that the command starts, whatever group or session it moves to (a *subreaper*), and gets SIGTERM when this
//! program ends for any reason. It is this program itself, started again under another name, because a library can neither fork
//! nor ship a second program.
//!
//! ```text
//! this program ─► supervisor ─► command ─► whatever it starts, also with setsid
//!   its end ─SIGTERM─►  │  SIGTERM, grace, SIGKILL to all of them
//! ```
//!
//! ```no_run
//! // First in `main`. From here on command gadgets and MCP servers have supervisors.
//! gadgetry::command::supervisor::dispatch();
//! ```

#[cfg(target_os = "linux")]
mod process;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvError, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

#[cfg(target_os = "linux")]
pub use process::Supervisor;

/// The program to start as a supervisor; empty until there is one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The name under which a supervisor is started.
#[cfg(target_os = "linux")]
const NAME: &str = "gadgetry-supervisor";

/// Time that a supervisor may need to end its processes, after the grace that it gives them, and that the sandbox of a command may need
/// to look at what the command has left. Each limits its own work, so this is for errors of theirs only.
pub(super) const MARGIN: Duration = Duration::from_mins(4);

/// Runs as a supervisor and does not return if this process was started as one; otherwise, commands have supervisors from now on.
///
/// Call it first in `main`. Without it, a process that leaves its group by `setsid` outlives its call, and processes outlive this
/// program if it is killed. Does nothing on systems other than Linux.
pub fn dispatch() {
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args_os();
        if arguments.next().is_some_and(|name| name == NAME) {
            std::process::exit(process::supervise(arguments));
        }
        use_program("/proc/self/exe");
    }
}

/// Sets the program that is started as a supervisor, which must call [`dispatch`]. Only the first call of this function has an
/// effect.
pub fn use_program(program: impl Into<PathBuf>) {
    // A second program would be no better than the first one.
    let _ = PROGRAM.set(program.into());
}

/// Returns the program that is started as a supervisor, once [`dispatch`] or [`use_program`] was called.
pub fn program() -> Option<&'static Path> {
    PROGRAM.get().map(PathBuf::as_path)
}

/// Returns the command that starts `program`, with a supervisor if possible, which leaves `grace` between SIGTERM and SIGKILL.
///
/// Arguments, environment, streams and folder are those of `program`.
///
/// # Errors
///
/// If `program` is not an executable file. Programs without a `/` are searched in `PATH`.
pub fn command(program_name: impl AsRef<OsStr>, grace: Duration) -> io::Result<Command> {
    let name = program_name.as_ref();
    #[cfg(target_os = "linux")]
    if let Some(own) = program() {
        let found = find(name)?;
        let mut command = Command::new(own);
        command.arg0(NAME);
        command.arg(std::process::id().to_string());
        command.arg(grace.as_millis().to_string());
        command.arg(found);
        return Ok(command);
    }
    let _ = grace;
    Ok(Command::new(name))
}

/// Starts `command` from a thread that lives as long as this program: a child treats the end of the thread that started it as the
/// end of its parent.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    type Job = (Command, Handle, Sender<io::Result<Child>>);
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let mut command = command;
    if program().is_none() {
        return command.spawn();
    }
    let jobs = JOBS.get_or_init(|| {
        let (jobs, received) = channel::<Job>();
        let start = move || {
            for (mut command, runtime, child) in received {
                let _runtime = runtime.enter();
                // Without a receiver the child is dropped, and killed.
                let _ = child.send(command.spawn());
            }
        };
        // Without a thread the sender has no receiver, and the error below says so.
        drop(
            thread::Builder::new()
                .name("spawner".to_owned())
                .spawn(start),
        );
        jobs
    });
    let gone = |_| io::Error::other("no thread can be started for it");
    let (child, started) = channel();
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    jobs.send((command, runtime, child))
        .map_err(|_| gone(RecvError))?;
    started.recv().map_err(gone)?
}

/// The path of a program, as `execvp` finds it.
#[cfg(target_os = "linux")]
fn find(name: &OsStr) -> io::Result<OsString> {
    use rustix::fs::{Access, access};
    let runs = |path: &Path| {
        access(path, Access::EXEC_OK)?;
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        Ok(())
    };
    if name.as_encoded_bytes().contains(&b'/') {
        runs(Path::new(name))?;
        return Ok(name.to_owned());
    }
    let mut refused = None;
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let path = folder.join(name);
        match runs(&path) {
            Ok(()) => return Ok(path.into_os_string()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => refused = Some(error),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}
