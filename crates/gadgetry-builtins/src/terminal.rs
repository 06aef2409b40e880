//! Commands in terminals of an editor. This program is started there once more, and runs the command as it would here: without secrets,
//! in the folder that was approved, and until everything that it has started has ended.
//!
//! ```text
//! RunCommand ─► Terminal::run ─► the editor ─► this program in a terminal ─► sh -c … ─► whatever it starts
//! ```

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use gadgetry::command::{remove_secrets, supervisor};
use gadgetry::proto::visible::output_line;
use gadgetry::{CancellationToken, GadgetError};

use crate::shell::{GRACE, Line, Shell, timed_out, with_output};
use crate::workspace::{Terminal, TerminalCommand, TerminalEnd, TerminalRun, state};

/// The first argument of this program in a terminal. An editor sets no name for it, as the sandbox does.
const NAME: &str = "--in-terminal";

/// The exit code if the command has not run.
const NOT_STARTED: i32 = 126;

/// Set where [`dispatch`] was called: nothing else can be started in a terminal.
static IS_DISPATCHED: OnceLock<()> = OnceLock::new();

/// Runs a command and does not return if this process was started in a terminal for it.
pub(crate) fn dispatch() {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|it| it == NAME) {
        let ended = Job::read(arguments).and_then(|job| job.run());
        std::process::exit(ended.unwrap_or_else(|error| {
            write_error(&error);
            NOT_STARTED
        }));
    }
    // A second call changes nothing.
    let _ = IS_DISPATCHED.set(());
}

#[expect(
    clippy::print_stderr,
    reason = "the terminal is the command's, whose output the model reads"
)]
fn write_error(error: &io::Error) {
    eprintln!("the command has not run: {error}");
}

/// The program that an editor starts.
fn program() -> Option<PathBuf> {
    if let Some(program) = supervisor::program()
        && !program.starts_with("/proc")
    {
        return Some(program.to_owned());
    }
    IS_DISPATCHED.get()?;
    env::current_exe().ok()
}

/// One command.
#[derive(Debug)]
struct Job {
    /// The identity of its folder.
    folder: String,
    /// Variables that it does not see, in addition to those that hold secrets.
    without_env: Vec<String>,
    /// Variables that it sees although they hold secrets.
    env: Vec<String>,
    /// For `sh -c`.
    line: OsString,
}

impl Job {
    /// Returns the arguments of this program, of which lists have commas.
    fn arguments(shell: &Shell, folder: &str, line: &str) -> Vec<String> {
        let lists = [&shell.without_env, &shell.env].map(|it| it.join(","));
        let [without_env, env] = lists;
        [NAME, folder, &without_env, &env, line]
            .map(str::to_owned)
            .to_vec()
    }

    fn read(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let mut next = || arguments.next().ok_or_else(invalid);
        let text = |it: OsString| it.into_string().map_err(|_| invalid());
        let (folder, without_env, env) = (text(next()?)?, text(next()?)?, text(next()?)?);
        let names = |list: &str| list.split(',').map(str::to_owned).collect();
        Ok(Self {
            folder,
            without_env: names(&without_env),
            env: names(&env),
            line: next()?,
        })
    }

    fn run(&self) -> io::Result<i32> {
        let here = Dir::open_ambient_dir(".", ambient_authority())?.dir_metadata()?;
        if state::identity(&here) != self.folder {
            let words = "its folder is another one than the one that was approved";
            return Err(io::Error::other(words));
        }
        let mut command = tokio::process::Command::new("sh");
        remove_secrets(&mut command, &self.without_env, &self.env);
        let mut command: Command = command.into_std();
        command.arg("-c").arg(&self.line).stdin(Stdio::null());
        wait(command)
    }
}

#[cfg(target_os = "linux")]
fn wait(mut command: Command) -> io::Result<i32> {
    use supervisor::Supervisor;
    let supervisor = Supervisor::of_terminal(GRACE)?;
    let child = command.spawn()?;
    Ok(Supervisor::exit_like(supervisor.wait(child.id())?))
}

#[cfg(not(target_os = "linux"))]
fn wait(mut command: Command) -> io::Result<i32> {
    Ok(command.status()?.code().unwrap_or(NOT_STARTED))
}

impl Shell {
    /// Returns the terminals in which its commands run: those of an editor, without the sandbox.
    pub(crate) fn terminal(&self) -> Option<&dyn Terminal> {
        let terminal = self.workspace.terminal();
        terminal.filter(|_| !self.sandbox && program().is_some())
    }

    /// Runs a command in a terminal, and returns status and output as the model reads them.
    pub(crate) async fn in_terminal(
        &self,
        terminal: &dyn Terminal,
        line: &Line<'_>,
        call: String,
        cancellation: &CancellationToken,
    ) -> Result<String, GadgetError> {
        let program = program().ok_or_else(|| GadgetError::new("no program runs in terminals"))?;
        let folder = line.folder.dir_metadata().map_err(GadgetError::new)?;
        let command = TerminalCommand {
            call,
            program,
            arguments: Job::arguments(self, &state::identity(&folder), line.text),
            folder: self.written(line.path),
            timeout: line.timeout,
            output: line.output,
        };
        let ran = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(GadgetError::cancelled()),
            ran = terminal.run(command) => ran?,
        };
        Ok(report(&ran, line))
    }
}

/// The report of a command, without the colours that programs use in a terminal.
fn report(ran: &TerminalRun, line: &Line<'_>) -> String {
    let status = match &ran.end {
        TerminalEnd::Exited(code) => format!("status={code}"),
        TerminalEnd::Killed(Some(signal)) => format!("status=killed ({signal})"),
        TerminalEnd::Killed(None) => "status=killed".to_owned(),
        TerminalEnd::TimedOut => timed_out(line.timeout.as_millis()),
    };
    let start = ran.output.len().saturating_sub(line.output);
    let start = ran.output.ceil_char_boundary(start);
    let lines = ran.output[start..].lines().map(output_line);
    let lines: Vec<Cow<'_, str>> = lines.collect();
    with_output(&status, &lines.join("\n"), "")
}
