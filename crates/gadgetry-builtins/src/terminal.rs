//! Commands in terminals of an editor. This program is started there once more, and runs the command as it would here: without secrets,
//! in the folder that was approved, and until everything that it has started has ended.
//!
//! ```text
//! RunCommand ─► Terminal::run ─► the editor ─► this program in a terminal ─► supervisor ─► sh -c … ─► whatever it starts
//!      agent's end, timeout ─SIGTERM─►  │  its end, by any signal  ─SIGTERM─►  │  SIGTERM, grace, SIGKILL to all of them
//! ```

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use gadgetry::command::{remove_secrets, supervisor};
use gadgetry::proto::visible::uncolored;
use gadgetry::terminal::{TerminalCommand, TerminalEnd, TerminalRun};
use gadgetry::{CancellationToken, GadgetError};

use crate::shell::{GRACE, Line, Shell, timed_out, with_output};
use crate::workspace::{Terminal, state};

/// The first argument of this program in a terminal. An editor sets no name for it, as the sandbox does.
const NAME: &str = "--in-terminal";

/// Time that the editor may need to end a command that takes too long.
const MARGIN: Duration = Duration::from_secs(5);

/// The exit code if the command has not run.
const NOT_STARTED: i32 = 126;

/// Set where [`dispatch`] was called: nothing else can be started in a terminal.
static IS_DISPATCHED: OnceLock<()> = OnceLock::new();

/// Runs a command and does not return if this process was started in a terminal for it.
pub(crate) fn dispatch() {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|it| it == NAME) {
        let ended = Job::read(arguments).and_then(Job::run);
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

/// The program that an editor starts, unless another file has taken its place since this process began.
fn program() -> Option<PathBuf> {
    if let Some(program) = supervisor::program()
        && !program.starts_with("/proc")
    {
        return Some(program.to_owned());
    }
    IS_DISPATCHED.get()?;
    let program = env::current_exe().ok()?;
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;
        let [there, here] = [&program, Path::new("/proc/self/exe")].map(std::fs::metadata);
        let (there, here) = (there.ok()?, here.ok()?);
        if (there.dev(), there.ino()) != (here.dev(), here.ino()) {
            return None;
        }
    }
    Some(program)
}

/// A command line, with the folder and the variables that it runs in.
#[derive(Debug)]
struct Job {
    /// The identity of its folder.
    folder: String,
    /// The process that wants it, by number and start.
    agent: String,
    /// Time after which it ends by itself.
    limit: Duration,
    /// Variables that it does not see, in addition to those that hold secrets.
    without_env: Vec<String>,
    /// Variables that it sees although they hold secrets.
    env: Vec<String>,
    /// Command line that `sh -c` reads.
    line: OsString,
}

impl Job {
    /// Returns the arguments of this program.
    fn arguments(shell: &Shell, folder: &str, line: &Line<'_>) -> Vec<String> {
        // Names of variables have no such sign, and no argument is empty.
        let list = |names: &[String]| format!("={}", names.join("="));
        let limit = line.timeout + GRACE + MARGIN;
        vec![
            NAME.to_owned(),
            folder.to_owned(),
            process::named(std::process::id()).unwrap_or_default(),
            limit.as_millis().to_string(),
            list(&shell.without_env),
            list(&shell.env),
            line.text.to_owned(),
        ]
    }

    fn read(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let mut next = || arguments.next().ok_or_else(invalid);
        let mut text = || next()?.into_string().map_err(|_| invalid());
        let names = |list: String| list.split('=').map(str::to_owned).collect();
        Ok(Self {
            folder: text()?,
            agent: text()?,
            limit: Duration::from_millis(text()?.parse().map_err(|_| invalid())?),
            without_env: names(text()?),
            env: names(text()?),
            line: next()?,
        })
    }

    fn run(self) -> io::Result<i32> {
        process::hide()?;
        let here = Dir::open_ambient_dir(".", ambient_authority())?.dir_metadata()?;
        if state::identity(&here) != self.folder {
            let words = "its folder is another one than the one that was approved";
            return Err(io::Error::other(words));
        }
        let mut command = process::shell()?;
        remove_secrets(&mut command, &self.without_env, &self.env);
        // In a terminal, they would wait for keys.
        for pager in ["PAGER", "GIT_PAGER", "MANPAGER"] {
            command.env(pager, "cat");
        }
        let mut command: Command = command.into_std();
        command.arg("-c").arg(&self.line).stdin(Stdio::null());
        process::wait(command, &self.agent, self.limit)
    }
}

#[cfg(target_os = "linux")]
mod process {
    //! A process with a supervisor of its own, so that the end of either ends the command.

    use std::time::Duration;
    use std::{fs, io, process, thread};

    use gadgetry::command::supervisor::{self, Supervisor};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::retry_on_intr;
    use rustix::process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open,
        set_dumpable_behavior,
    };

    use crate::shell::GRACE;

    /// Returns a process by its number and the time of its start: the number alone may be used again.
    pub(super) fn named(pid: u32) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // `PID (NAME) STATE PARENT …`; the name may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let start = fields.split_whitespace().nth(19)?;
        Some(format!("{pid}:{start}"))
    }

    /// Hides the environment, in which secrets are, from the command.
    pub(super) fn hide() -> io::Result<()> {
        Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
    }

    pub(super) fn shell() -> io::Result<tokio::process::Command> {
        supervisor::use_program("/proc/self/exe");
        supervisor::command("sh", GRACE)
    }

    pub(super) fn wait(
        mut command: process::Command,
        agent: &str,
        limit: Duration,
    ) -> io::Result<i32> {
        let supervisor = Supervisor::of_terminal(GRACE)?;
        let gone = || io::Error::other("the agent that wants it has ended");
        let pid = agent.split_once(':').and_then(|(pid, _)| pid.parse().ok());
        let handle = pidfd_open(
            Pid::from_raw(pid.unwrap_or(0)).ok_or_else(gone)?,
            PidfdFlags::empty(),
        );
        let handle = handle.map_err(|_| gone())?;
        if pid.and_then(|pid| named(pid.unsigned_abs())).as_deref() != Some(agent) {
            return Err(gone());
        }
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        thread::Builder::new().spawn(move || {
            let mut ended = [PollFd::new(&handle, PollFlags::IN)];
            // Also if it fails: the command does not run without a limit.
            let _ = retry_on_intr(|| poll(&mut ended, Some(&limit)));
            let _ = kill_process(getpid(), Signal::TERM);
        })?;
        let child = command.spawn()?;
        Ok(Supervisor::exit_like(supervisor.wait(child.id())?))
    }
}

#[cfg(not(target_os = "linux"))]
mod process {
    //! A process whose command ends as its editor decides.

    use std::time::Duration;
    use std::{io, process};

    use super::NOT_STARTED;

    pub(super) fn named(pid: u32) -> Option<String> {
        Some(pid.to_string())
    }

    pub(super) fn hide() -> io::Result<()> {
        Ok(())
    }

    pub(super) fn shell() -> io::Result<tokio::process::Command> {
        Ok(tokio::process::Command::new("sh"))
    }

    pub(super) fn wait(mut command: process::Command, _: &str, _: Duration) -> io::Result<i32> {
        Ok(command.status()?.code().unwrap_or(NOT_STARTED))
    }
}

impl Shell {
    /// Returns the terminals in which its commands run: those of an editor, unless commands are `confined`.
    pub(crate) fn terminal(&self, confined: bool) -> Option<&dyn Terminal> {
        let terminal = self.workspace.terminal();
        terminal.filter(|_| !confined && program().is_some())
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
            program,
            arguments: Job::arguments(self, &state::identity(&folder), line),
            folder: self.written(line.path),
            timeout: line.timeout,
            output: line.output,
        };
        let ran = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(GadgetError::cancelled()),
            ran = terminal.run(call, command) => ran?,
        };
        Ok(report(&ran, line))
    }
}

/// The report of a command, without the colours that programs use in a terminal.
fn report(ran: &TerminalRun, line: &Line<'_>) -> String {
    let status = match &ran.end {
        TerminalEnd::Exited(code) => format!("status={code}"),
        TerminalEnd::Killed(signal) => format!("status=killed ({signal})"),
        TerminalEnd::TimedOut => timed_out(line.timeout.as_millis()),
    };
    let start = ran.output.len().saturating_sub(line.output);
    let start = ran.output.ceil_char_boundary(start);
    let lines = ran.output[start..].lines().map(uncolored);
    let lines: Vec<Cow<'_, str>> = lines.collect();
    with_output(&status, &lines.join("\n"), "")
}
