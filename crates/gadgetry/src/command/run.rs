//! Runs a program to its end and keeps the beginning and the end of its output.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::capture::{Ends, Watch};
use super::input;
use super::processes::{Processes, Program, end_of};
use crate::context::CancellationToken;
use gadgetry_providers::variables;

/// Limits of [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Time after which all processes are ended.
    pub timeout: Duration,
    /// Time between SIGTERM and SIGKILL, and time in which output of the program's children still counts after the program's end.
    pub grace: Duration,
    /// Bytes of each stream that are kept: one half from its beginning, one from its end.
    pub output: usize,
}

/// Output and exit status of a program.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; `None` after a timeout or a cancellation.
    pub status: Option<ExitStatus>,
    /// Text on stdout. Bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Text on stderr.
    pub stderr: String,
}

/// Runs a program without input to its end, in a process group of its own. No process of the group outlives the call, and with a
/// [supervisor](super::supervisor) no process at all.
///
/// # Errors
///
/// If the program cannot be started, or its output cannot be read.
///
/// Cancel safety: dropping the future ends all processes. When `cancellation` is cancelled, it returns soon after.
pub async fn run(
    command: Command,
    limits: RunLimits,
    cancellation: &CancellationToken,
) -> io::Result<Ran> {
    run_watched(command, Stdio::null(), limits, cancellation, &|_| {}).await
}

/// Runs a program as [`run`] does, with `input` as its stdin, and calls `watch` with each piece of output of both streams as soon as it is read. `watch`
/// must not block.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use std::process::Stdio;
/// use std::sync::Mutex;
/// use std::time::Duration;
///
/// use gadgetry::CancellationToken;
/// use gadgetry::command::{RunLimits, run_watched};
///
/// let mut echo = tokio::process::Command::new("echo");
/// echo.arg("Hi.");
/// let second = Duration::from_secs(1);
/// let limits = RunLimits { timeout: 60 * second, grace: second, output: 1000 };
/// let seen = Mutex::new(Vec::new());
/// let watch = |bytes: &[u8]| seen.lock().unwrap().extend_from_slice(bytes);
/// let ran = run_watched(echo, Stdio::null(), limits, &CancellationToken::new(), &watch).await?;
/// assert_eq!(ran.stdout.as_bytes(), *seen.lock().unwrap());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of [`run`].
///
/// Cancel safety: that of [`run`].
pub async fn run_watched(
    mut command: Command,
    input: Stdio,
    limits: RunLimits,
    cancellation: &CancellationToken,
    watch: &Watch<'_>,
) -> io::Result<Ran> {
    command.stdin(input);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut processes = Processes::spawn(command, limits.grace)?;
    let (mut out, mut err) = (Ends::new(limits.output), Ends::new(limits.output));
    let ended = {
        let program = processes.program()?;
        tokio::select! {
            biased;
            status = to_its_end(program, &mut out, &mut err, watch) => status.map(Some),
            () = cancellation.cancelled() => Ok(None),
            () = sleep(limits.timeout) => Ok(None),
        }
    };
    processes.end().await;
    Ok(Ran {
        status: ended?,
        stdout: out.into_text(),
        stderr: err.into_text(),
    })
}

/// Runs a program as [`run`] does, with this input. The input is complete before the program starts.
///
/// # Errors
///
/// If the program cannot be started, its input cannot be kept, or its output cannot be read.
///
/// Cancel safety: dropping the future ends all processes. When `cancellation` is cancelled, it returns soon after.
pub async fn run_with_input(
    command: Command,
    content: &[u8],
    limits: RunLimits,
    cancellation: &CancellationToken,
) -> io::Result<Ran> {
    let input = input::complete(content)?;
    run_watched(command, input, limits, cancellation, &|_| {}).await
}

async fn to_its_end(
    program: &mut Program,
    out: &mut Ends,
    err: &mut Ends,
    watch: &Watch<'_>,
) -> io::Result<ExitStatus> {
    let Program {
        leader,
        group,
        stdout,
        stderr,
        grace,
        ..
    } = program;
    let streams = async { tokio::try_join!(out.read(stdout, watch), err.read(stderr, watch)) };
    let mut streams = Box::pin(streams);
    tokio::select! {
        biased;
        streamed = &mut streams => {
            streamed?;
            end_of(leader, group).await
        }
        status = end_of(leader, group) => {
            // Its own children may hold the pipes open. What they write within the grace still counts.
            if let Ok(streamed) = timeout(*grace, &mut streams).await {
                streamed?;
            }
            status
        }
    }
}

/// Removes the variables that hold keys of model providers, other variables whose names indicate a secret (`…_KEY`, `…_TOKEN`,
/// `…SECRET…`, `…PASSWORD…`, `…CREDENTIAL…`), and `more`, from the environment of a command.
///
/// Variables in `except` stay.
pub fn remove_secrets(command: &mut Command, more: &[String], except: &[String]) {
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let secret = ours.filter(|name| variables::is_secret(name) || more.contains(name));
    for name in secret.filter(|name| !except.contains(name)) {
        command.env_remove(name);
    }
}
