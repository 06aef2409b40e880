//! The processes of one call: the program, and whatever it starts.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::io::{copy, sink};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::sleep;

/// How long processes that are asked to end may take for it.
pub(super) const GRACE: Duration = Duration::from_millis(200);

/// A started program with its process group. Dropping it ends the group in the background.
pub(super) struct Processes(Option<Owned>);

/// The program itself and what it writes.
///
/// The pipes stay open until all processes are gone: somebody who tidies up must not die of a message about it.
pub(super) struct Program {
    pub(super) leader: Child,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Processes {
    /// Starts `command`, whose three streams are piped, in a process group of its own.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, ChildStdin)> {
        #[cfg(unix)]
        command.process_group(0);
        // Whoever does not get past the next lines has at least killed the program.
        let mut leader = command.kill_on_drop(true).spawn()?;
        let group = Group::of(&leader);
        let not_piped = || io::Error::other("its streams are not piped");
        let stdin = leader.stdin.take().ok_or_else(not_piped)?;
        let program = Program {
            stdout: leader.stdout.take().ok_or_else(not_piped)?,
            stderr: leader.stderr.take().ok_or_else(not_piped)?,
            leader,
        };
        Ok((Self(Some(Owned { program, group })), stdin))
    }

    /// The program; an error if it was already ended.
    pub(super) fn program(&mut self) -> io::Result<&mut Program> {
        match &mut self.0 {
            Some(owned) => Ok(&mut owned.program),
            None => Err(io::Error::other("it has already been ended")),
        }
    }

    /// Ends the whole group and returns when that is done. Cancel safe: dropped, it kills the group at once.
    pub(super) async fn end(mut self) {
        if let Some(owned) = self.0.take() {
            owned.end().await;
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let Some(owned) = self.0.take() else { return };
        owned.group.signal(Signal::Terminate);
        // Without a runtime, or in one that shuts down, `owned` is dropped here and now.
        if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn(owned.end()));
        }
    }
}

/// The processes that are ours to end. Dropping it kills them at once.
struct Owned {
    program: Program,
    group: Group,
}

impl Owned {
    async fn end(mut self) {
        self.group.signal(Signal::Terminate);
        let Program {
            leader,
            stdout,
            stderr,
        } = &mut self.program;
        let gone = tokio::select! {
            () = all_gone(leader, &mut self.group) => true,
            never = discard(stdout, stderr) => match never {},
            () = sleep(GRACE) => false,
        };
        if !gone {
            self.kill();
            // The kernel has ended it; this is only so that no zombie stays.
            drop(self.program.leader.wait().await);
        }
    }

    fn kill(&mut self) {
        self.group.signal(Signal::Kill);
        self.group.forget();
        // Where there are no groups. An error means that it has already ended.
        drop(self.program.leader.start_kill());
    }
}

async fn all_gone(leader: &mut Child, group: &mut Group) {
    drop(leader.wait().await);
    // Nobody tells when the last process of a group ends if it is not our child.
    while group.exists() {
        sleep(Duration::from_millis(5)).await;
    }
    group.forget();
}

/// Reads and never returns.
async fn discard(stdout: &mut ChildStdout, stderr: &mut ChildStderr) -> Infallible {
    let (mut nowhere, mut nowhere_else) = (sink(), sink());
    // An error ends the reading as the end of the stream does.
    let _ = tokio::join!(copy(stdout, &mut nowhere), copy(stderr, &mut nowhere_else));
    std::future::pending().await
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.kill();
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
use unix::Group;

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, kill_process_group, test_kill_process_group};
    use tokio::process::Child;

    use super::Signal;

    /// A process group, until it is known to be empty.
    ///
    /// Its number cannot mean another group while one process of it is left, and the leader counts until it has been
    /// waited for. Errors are ignored on purpose: they mean that nobody is left, or nobody we may signal.
    pub(super) struct Group(Option<Pid>);

    impl Group {
        pub(super) fn of(leader: &Child) -> Self {
            let number = leader.id().and_then(|id| i32::try_from(id).ok());
            Self(number.and_then(Pid::from_raw))
        }

        pub(super) fn signal(&self, signal: Signal) {
            let signal = match signal {
                Signal::Terminate => rustix::process::Signal::TERM,
                Signal::Kill => rustix::process::Signal::KILL,
            };
            if let Some(group) = self.0 {
                let _ = kill_process_group(group, signal);
            }
        }

        pub(super) fn exists(&self) -> bool {
            self.0
                .is_some_and(|group| test_kill_process_group(group).is_ok())
        }

        pub(super) fn forget(&mut self) {
            self.0 = None;
        }
    }
}

#[cfg(not(unix))]
use elsewhere::Group;

#[cfg(not(unix))]
mod elsewhere {
    use tokio::process::Child;

    use super::Signal;

    /// There are no process groups here: only the program itself can be killed.
    pub(super) struct Group;

    impl Group {
        pub(super) fn of(_leader: &Child) -> Self {
            Self
        }

        pub(super) fn signal(&self, _signal: Signal) {}

        pub(super) fn exists(&self) -> bool {
            false
        }

        pub(super) fn forget(&mut self) {}
    }
}
