//! Programs with everything that they start: one process group each, ended with its owner.
//!
//! [`run`](super::run()) and command gadgets use it, and so may owners of programs that live longer than a call, such as servers on stdio.

use std::convert::Infallible;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{copy, sink};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::group::Signal;
use super::supervisor;

pub use super::capture::Tail;
pub use super::group::Group;

/// A started program with everything it starts. Dropping it ends them all in the background.
pub struct Processes(Option<Program>);

impl Processes {
    /// Starts `command`, whose stdout and stderr are piped, in its own process group. `grace` is the time between SIGTERM and
    /// SIGKILL.
    pub fn spawn(mut command: Command, grace: Duration) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        // If the next lines are not reached, at least the program was killed. A supervisor ends by itself, and not before its processes.
        command.kill_on_drop(supervisor::program().is_none());
        let mut leader = supervisor::spawn(command)?;
        let not_piped = || io::Error::other("its streams are not piped");
        Ok(Self(Some(Program {
            stdin: leader.stdin.take(),
            stdout: leader.stdout.take().ok_or_else(not_piped)?,
            stderr: leader.stderr.take().ok_or_else(not_piped)?,
            group: Group::of(&leader),
            leader,
            grace,
        })))
    }

    /// Returns the program; an error if it was already ended.
    pub fn program(&mut self) -> io::Result<&mut Program> {
        let ended = || io::Error::other("it has already been ended");
        self.0.as_mut().ok_or_else(ended)
    }

    /// Ends them all and returns when that is done. Cancel safe: dropped, it kills them at once.
    pub async fn end(mut self) {
        if let Some(program) = self.0.take() {
            program.end().await;
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let Some(program) = self.0.take() else { return };
        program.group.signal(Signal::Terminate);
        // Without a runtime, or in one that shuts down, `program` is dropped here and now.
        if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn(program.end()));
        }
    }
}

/// A program, its pipes, and its process group. Dropping it kills the group at once, or lets its supervisor end everything.
///
/// The pipes stay open until all processes are gone, so that a process that prints a message while it cleans up is not killed.
pub struct Program {
    /// The program itself.
    pub leader: Child,
    /// Process group of the program.
    pub group: Group,
    /// Pipe to its stdin, if that is piped.
    pub stdin: Option<ChildStdin>,
    /// Pipe from its stdout.
    pub stdout: ChildStdout,
    /// Pipe from its stderr.
    pub stderr: ChildStderr,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
}

impl Program {
    async fn end(mut self) {
        self.group.signal(Signal::Terminate);
        let patience = self.patience();
        let gone = tokio::select! {
            () = all_gone(&mut self.leader, &mut self.group) => true,
            never = discard(&mut self.stdout, &mut self.stderr) => match never {},
            () = sleep(patience) => false,
        };
        if !gone {
            self.kill();
            // The kernel has ended it; this is only so that no zombie stays.
            drop(self.leader.wait().await);
        }
    }

    /// Returns the time until SIGKILL. A supervisor ends the program after the grace period, and itself when all of its processes
    /// are gone.
    fn patience(&self) -> Duration {
        match supervisor::program() {
            Some(_) => self.grace + supervisor::MARGIN,
            None => self.grace,
        }
    }

    fn kill(&mut self) {
        self.group.signal(Signal::Kill);
        self.group.forget();
        // Where there are no groups. An error means that it has already ended.
        drop(self.leader.start_kill());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        match supervisor::program() {
            // What it has to do until its end, it does without this program.
            Some(_) => self.group.signal(Signal::Terminate),
            None => self.kill(),
        }
    }
}

/// Waits for the program itself. Cancel safe: a later call continues waiting.
pub async fn end_of(leader: &mut Child, group: &mut Group) -> io::Result<ExitStatus> {
    let status = leader.wait().await;
    // From here on the number of an empty group may get another meaning.
    group.forget_if_empty();
    status
}

async fn all_gone(leader: &mut Child, group: &mut Group) {
    drop(end_of(leader, group).await);
    // The system does not report the end of a group's last process if it is not our child.
    while !group.forget_if_empty() {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Reads and never returns.
async fn discard(stdout: &mut ChildStdout, stderr: &mut ChildStderr) -> Infallible {
    let (mut nowhere, mut nowhere_else) = (sink(), sink());
    // An error ends the reading as the end of the stream does.
    let _ = tokio::join!(copy(stdout, &mut nowhere), copy(stderr, &mut nowhere_else));
    std::future::pending().await
}
