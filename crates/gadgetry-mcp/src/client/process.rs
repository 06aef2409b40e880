//! The process of a server, from its start until its group is empty.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio as Pipe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use gadgetry::command::processes::{Processes, Program, Tail, end_of};
use gadgetry::command::supervisor;
use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::lines::{MESSAGE_LIMIT, pass_on};

/// The environment variables that every program receives, apart from those in its configuration.
///
/// Keys of model providers are not among them.
pub const BASE_ENVIRONMENT: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LC_ALL",
    "LOCALAPPDATA",
    "LOGNAME",
    "PATH",
    "PATHEXT",
    "PROGRAMFILES",
    "SHELL",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
];

/// The time to end after stdin was closed, and again between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The time in which output that is still in the pipe counts after the program has ended.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Maximum number of bytes of stderr that are kept.
const STDERR_LIMIT: usize = 4 * 1024;

/// A program, ready to start.
pub(super) struct Launch {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) folder: Option<PathBuf>,
}

/// A server that was started. Dropping it ends all of its processes in the background.
pub(super) struct ServerProcess {
    stderr: Arc<Mutex<Tail>>,
    stop: DropGuard,
    /// Absent once it has ended.
    running: Option<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts it in a process group of its own, with a supervisor if there can be one. Returns it with what it writes and what it reads.
    pub(super) fn start(command: Launch) -> io::Result<(Self, DuplexStream, ChildStdin)> {
        let mut process = supervisor::command(&command.program, GRACE)?;
        process.args(command.arguments).env_clear();
        let base = BASE_ENVIRONMENT.iter();
        process.envs(base.filter_map(|name| Some((name, std::env::var_os(name)?))));
        process.envs(command.variables);
        if let Some(folder) = command.folder {
            process.current_dir(folder);
        }
        process.stdin(Pipe::piped());
        process.stdout(Pipe::piped()).stderr(Pipe::piped());
        let mut processes = Processes::spawn(process, GRACE)?;
        let not_piped = || io::Error::other("its stdin is not piped");
        let stdin = processes.program()?.stdin.take().ok_or_else(not_piped)?;
        let (messages, output) = duplex(64 * 1024);
        let stderr = Arc::default();
        let stop = CancellationToken::new();
        let running = run(processes, messages, Arc::clone(&stderr), stop.clone());
        let this = Self {
            stderr,
            stop: stop.drop_guard(),
            running: Some(tokio::spawn(running)),
        };
        Ok((this, output, stdin))
    }

    /// The last lines of its stderr.
    pub(super) fn stderr(&self) -> String {
        lock(&self.stderr).text(STDERR_LIMIT)
    }

    /// Waits for its end, which is soon if its stdout was closed, and returns the last lines of its stderr.
    pub(super) async fn last_words(&mut self) -> String {
        if let Some(running) = &mut self.running
            && timeout(GRACE, running).await.is_ok()
        {
            self.running = None;
        }
        self.stderr()
    }

    /// Ends it, and waits until no process of its group is left.
    pub(super) async fn end(self) {
        drop(self.stop);
        if let Some(running) = self.running
            && let Err(error) = running.await
        {
            tracing::error!("the task of a server has failed: {error}");
        }
    }
}

/// Passes on what the program writes until it ends or `stop`, and ends its group.
async fn run(
    mut processes: Processes,
    messages: DuplexStream,
    stderr: Arc<Mutex<Tail>>,
    stop: CancellationToken,
) {
    if let Ok(program) = processes.program() {
        talk(program, messages, &stderr, &stop).await;
    }
    processes.end().await;
}

async fn talk(
    program: &mut Program,
    messages: DuplexStream,
    stderr: &Mutex<Tail>,
    stop: &CancellationToken,
) {
    let Program {
        leader,
        group,
        stdout,
        stderr: pipe,
        ..
    } = program;
    let output = async {
        // An error means that one of both sides has closed, as its end does.
        let _ = pass_on(stdout, messages, MESSAGE_LIMIT).await;
    };
    let mut output = pin!(output.fuse());
    let mut errors = pin!(keep(pipe, stderr).fuse());
    let mut end = pin!(end_of(leader, group).fuse());
    let ended_first = async {
        loop {
            tokio::select! {
                biased;
                _ = &mut end => return true,
                // Without stdout it cannot answer, so its end is awaited as after `stop`.
                () = &mut output => return false,
                () = stop.cancelled() => return false,
                () = &mut errors => {}
            }
        }
    };
    if !ended_first.await {
        let ends = async {
            loop {
                tokio::select! {
                    biased;
                    _ = &mut end => return,
                    () = &mut output => {}
                    () = &mut errors => {}
                }
            }
        };
        // Its stdin is closed by now, or soon.
        let _ = timeout(GRACE, ends).await;
    }
    let rest = async {
        while !output.is_terminated() || !errors.is_terminated() {
            tokio::select! {
                () = &mut output => {}
                () = &mut errors => {}
            }
        }
    };
    // Its own children may keep the pipes open.
    let _ = timeout(LAST_OUTPUT, rest).await;
}

/// Reads stderr to its end, and keeps the last of it.
async fn keep(pipe: &mut ChildStderr, tail: &Mutex<Tail>) {
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        lock(tail).push(&chunk[..read], STDERR_LIMIT);
    }
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
