//! One run of a program.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use gadgetry_proto::call::Outcome;
use serde_json::Value;
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use super::capture::{Tail, read_within};
use super::input;
use super::lines::Lines;
use super::processes::{Processes, Program, end_of};
use crate::context::ExecutionContext;

const STDOUT_MIB: usize = 64;
const STDOUT_CAP: usize = STDOUT_MIB << 20;
const STDERR_CAP: usize = 1 << 20;

/// Meaning of the stdout of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResultForm {
    /// The result itself.
    #[default]
    Text,
    /// JSON Lines with the result, costs, and whether the run ends or a question goes to the user; see the [module](crate::command).
    JsonLines,
}

/// Error for a call of a program without a result. The model reads its text.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot start {}: {}", program.display(), start_hint(error))]
    Start { program: PathBuf, error: io::Error },
    #[error("lost the connection to the program: {0}")]
    Pipe(io::Error),
    #[error("wrote more than {STDOUT_MIB} MiB to stdout and was stopped; ask it for less")]
    TooMuchOutput,
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Pipe(error)
    }
}

fn start_hint(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "there is no such program, or the interpreter in its first line is missing".to_owned()
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "it is not an executable file (chmod +x)".to_owned()
    } else {
        error.to_string()
    }
}

/// Runs `command` on `parameters` to its end. Dropping the future ends all of its processes.
pub(super) async fn run(
    mut command: Command,
    parameters: &Value,
    grace: Duration,
    form: ResultForm,
    context: &ExecutionContext,
) -> Result<Outcome, Failure> {
    let cancellation = context.cancellation();
    if cancellation.is_cancelled() {
        return Err(Failure::Cancelled);
    }
    command.stdin(input::complete(format!("{parameters}\n").as_bytes())?);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.as_std().get_program().into();
    let mut processes =
        Processes::spawn(command, grace).map_err(|error| Failure::Start { program, error })?;
    let stdout = match form {
        ResultForm::Text => Stdout::Text(Vec::new()),
        ResultForm::JsonLines => Stdout::Lines(Lines::new(context)),
    };
    let result = tokio::select! {
        // A program that is done when it is cancelled has done its work.
        biased;
        result = talk(&mut processes, stdout) => result,
        () = cancellation.cancelled() => Err(Failure::Cancelled),
    };
    processes.end().await;
    result
}

/// Reads the output of the program until it ends.
async fn talk(processes: &mut Processes, mut result: Stdout<'_>) -> Result<Outcome, Failure> {
    let Program {
        leader,
        group,
        stdout,
        stderr,
        grace,
        ..
    } = processes.program()?;
    let mut message = Tail::default();
    let mut streams = Box::pin(async {
        tokio::try_join!(result.read(stdout), async {
            Ok(message.read(stderr, STDERR_CAP).await?)
        })
    });
    let status = tokio::select! {
        biased;
        streamed = &mut streams => {
            streamed?;
            end_of(leader, group).await?
        }
        status = end_of(leader, group) => {
            // Its own children may hold the pipes open. What they write within the grace still counts.
            if let Ok(streamed) = timeout(*grace, &mut streams).await {
                streamed?;
            }
            status?
        }
    };
    drop(streams);
    if status.success() {
        return match result {
            Stdout::Text(text) => Ok(Outcome::ok(without_last_newline(text))),
            Stdout::Lines(lines) => lines.outcome().map_err(Failure::Failed),
        };
    }
    let message = message.text(STDERR_CAP);
    let said = match &mut result {
        Stdout::Lines(lines) => lines.failure(),
        Stdout::Text(_) => None,
    };
    Err(Failure::Failed(if message.is_empty() {
        said.unwrap_or_else(|| describe(status))
    } else {
        message
    }))
}

/// Received stdout.
enum Stdout<'c> {
    Text(Vec<u8>),
    Lines(Lines<'c>),
}

impl Stdout<'_> {
    async fn read(&mut self, pipe: &mut ChildStdout) -> Result<(), Failure> {
        let within = match self {
            Self::Text(text) => read_within(pipe, text, STDOUT_CAP).await?,
            Self::Lines(lines) => lines.read(pipe, STDOUT_CAP).await?,
        };
        if within {
            Ok(())
        } else {
            Err(Failure::TooMuchOutput)
        }
    }
}

fn without_last_newline(mut bytes: Vec<u8>) -> String {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

fn describe(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("exited with code {code}");
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    status.to_string()
}
