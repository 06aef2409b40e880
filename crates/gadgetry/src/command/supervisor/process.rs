//! The supervisor itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::SigSet;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, setsid, wait,
};

/// The exit code of a supervisor that could not start its command, as of a shell.
const NOT_STARTED: i32 = 127;

/// Time to wait for killed processes to end: nothing that they wait for can take as long.
const GIVE_UP: Duration = Duration::from_secs(20);

/// Interval between checks of killed processes.
const AGAIN: Duration = Duration::from_millis(10);

/// Waits for a command and what it starts. Returns the exit code; ends by a signal if the command did.
pub(super) fn supervise(arguments: impl Iterator<Item = OsString>) -> i32 {
    // It fails where this process leads a group, as it does unless a terminal is to be left.
    let _ = setsid();
    let ended = Supervisor::new(arguments).and_then(|(supervisor, mut command)| {
        let program = command.get_program().to_owned();
        let child = command.spawn();
        // The program was found before, so its interpreter was not.
        let child = child.map_err(|error| {
            let program = program.display();
            io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
        })?;
        supervisor.wait(child.id())
    });
    match ended {
        Ok(status) => Supervisor::exit_like(status),
        Err(error) => {
            write_error(&error);
            NOT_STARTED
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "stderr is the command's, which its caller reads"
)]
fn write_error(error: &io::Error) {
    eprintln!("{error}");
}

/// A process that waits for its descendants, and ends them when its parent ends.
#[derive(Debug)]
pub struct Supervisor {
    /// Readable after each signal.
    signals: UnixStream,
    stop: Arc<AtomicBool>,
    grace: Duration,
    /// True if all descendants end with the child, because it is the first process of their namespace.
    child_is_first: bool,
}

impl Supervisor {
    /// Reads the arguments that [`command`](super::command) has written.
    fn new(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(Self, Command)> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let mut number = || arguments.next()?.to_str()?.parse::<u64>().ok();
        let (parent, grace) = (number().ok_or_else(invalid)?, number().ok_or_else(invalid)?);
        let mut command = Command::new(arguments.next().ok_or_else(invalid)?);
        command.args(arguments);
        Ok((Self::of(parent, Duration::from_millis(grace))?, command))
    }

    /// Makes this process end all of its descendants when `parent` ends; 0 means a parent outside its PID namespace.
    ///
    /// # Errors
    ///
    /// If the parent has already ended, or a signal cannot be handled.
    pub fn of(parent: u64, grace: Duration) -> io::Result<Self> {
        let supervisor = Self::begin(grace)?;
        set_parent_process_death_signal(Some(Signal::TERM))?;
        let now = getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
        if u64::from(now) != parent {
            return Err(io::Error::other(
                "the program that has started it has ended",
            ));
        }
        Ok(supervisor)
    }

    /// Makes this process end all of its descendants when it is to end: by SIGTERM, SIGINT, or SIGHUP, as when its terminal is closed.
    ///
    /// # Errors
    ///
    /// If a signal cannot be handled.
    pub fn of_terminal(grace: Duration) -> io::Result<Self> {
        // The end of the thread that has started it, of which programs have many, means nothing.
        Self::begin(grace)
    }

    fn begin(grace: Duration) -> io::Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            signal_hook::flag::register(signal.as_raw(), Arc::clone(&stop))?;
            signal_hook::low_level::pipe::register(signal.as_raw(), sender.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(Signal::CHILD.as_raw(), sender)?;
        // The program that has started it may have blocked them, and children inherit that.
        SigSet::all().thread_unblock()?;
        set_child_subreaper(Some(getpid()))?;
        close_others_on_exec()?;
        Ok(Self {
            signals,
            stop,
            grace,
            child_is_first: false,
        })
    }

    /// Kills only the child: it is the first process of a PID namespace, so the kernel ends all others with it.
    #[must_use]
    pub fn of_namespace(mut self) -> Self {
        self.child_is_first = true;
        self
    }

    /// Waits until the child and all other descendants have ended. Processes that are left after the child, or when a signal
    /// requests a stop, get SIGTERM, and SIGKILL after the grace period.
    ///
    /// # Errors
    ///
    /// If the system cannot report the end of children.
    pub fn wait(mut self, child: u32) -> io::Result<ExitStatus> {
        let mut status = None;
        // Children of the command may still write for one grace after its end.
        let mut phase = Phase::Running;
        loop {
            let left = reap(child, &mut status)?;
            if !left {
                // The child itself is not left, so it has a status.
                return status.ok_or_else(|| io::Error::other("the command is gone"));
            }
            let now = Instant::now();
            phase = match phase {
                Phase::Running if self.stopped() => self.terminate(now)?,
                Phase::Running if status.is_some() => Phase::Remains(now + self.grace),
                Phase::Remains(end) if now >= end || self.stopped() => self.terminate(now)?,
                Phase::Stopping(end) if now < end => phase,
                Phase::Killed(end) if now >= end => {
                    return Err(io::Error::other("processes of the command cannot be ended"));
                }
                Phase::Stopping(_) | Phase::Killed(_) => {
                    if !self.kill(child)? {
                        // Processes of other users: nothing more can be done about them.
                        let missing = "it runs as another user and cannot be ended";
                        return status.ok_or_else(|| io::Error::other(missing));
                    }
                    if matches!(phase, Phase::Killed(_)) {
                        phase
                    } else {
                        Phase::Killed(now + GIVE_UP)
                    }
                }
                same @ (Phase::Running | Phase::Remains(_)) => same,
            };
            self.sleep(match phase {
                Phase::Running => None,
                Phase::Remains(end) | Phase::Stopping(end) => {
                    Some(end.saturating_duration_since(now))
                }
                Phase::Killed(_) => Some(AGAIN),
            })?;
        }
    }

    /// Sends SIGKILL; returns whether there is a process that it may end.
    fn kill(&self, child: u32) -> io::Result<bool> {
        let first = i32::try_from(child).ok().and_then(Pid::from_raw);
        match first.filter(|_| self.child_is_first) {
            Some(first) => Ok(kill_process(first, Signal::KILL) != Err(Errno::PERM)),
            None => kill_all(),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the exit code of a command; ends this process by the signal that has ended the command.
    pub fn exit_like(status: ExitStatus) -> i32 {
        if let Some(signal) = status.signal() {
            // An error leaves the convention of shells.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            return 128 + signal;
        }
        status.code().unwrap_or(NOT_STARTED)
    }

    fn terminate(&self, now: Instant) -> io::Result<Phase> {
        for pid in descendants()? {
            let _ = kill_process(pid, Signal::TERM);
        }
        Ok(Phase::Stopping(now + self.grace))
    }

    /// Waits for a signal, or the time.
    fn sleep(&mut self, time: Option<Duration>) -> io::Result<()> {
        if time == Some(Duration::ZERO) {
            return Ok(());
        }
        self.signals.set_read_timeout(time)?;
        match self.signals.read(&mut [0; 64]) {
            Ok(_) => Ok(()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                        | io::ErrorKind::TimedOut
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Hides inherited files from commands: everything but the three streams.
fn close_others_on_exec() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|number: &i32| *number > 2) else {
            continue;
        };
        match fcntl(number, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
            // The handle of the list itself.
            Ok(_) | Err(nix::errno::Errno::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Progress of the end of a command.
#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// The command has ended, and the processes that it started have until then.
    Remains(Instant),
    /// All have received SIGTERM, and have until then.
    Stopping(Instant),
    /// All have received SIGKILL, and have until then.
    Killed(Instant),
}

/// Takes the ends of children; returns whether there are more children.
fn reap(child: u32, status: &mut Option<ExitStatus>) -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => return Ok(true),
            Ok(Some((pid, ended))) => {
                if pid.as_raw_nonzero().get().unsigned_abs() == child {
                    *status = Some(ExitStatus::from_raw(WaitStatus::as_raw(ended)));
                }
            }
            Err(Errno::CHILD) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends SIGKILL to all descendants. Each is stopped first, so that none starts another one meanwhile: of `a ─► b ─► c`, a process
/// that `c` starts while `a` and `b` are killed would have to be found again, without end.
///
/// Returns whether a descendant that this process may end is left.
fn kill_all() -> io::Result<bool> {
    let mut stopped: Vec<Pid> = Vec::new();
    loop {
        let all = descendants()?;
        let new: Vec<Pid> = (all.into_iter().filter(|pid| !stopped.contains(pid))).collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            let _ = kill_process(pid, Signal::STOP);
            stopped.push(pid);
        }
    }
    let killed = stopped
        .into_iter()
        .map(|pid| kill_process(pid, Signal::KILL));
    // All of them, not only until the first that works.
    Ok(killed.filter(|done| *done != Err(Errno::PERM)).count() > 0)
}

/// The processes below this one.
fn descendants() -> io::Result<Vec<Pid>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        // It may have ended since.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let stat = String::from_utf8_lossy(&stat);
        // `PID (NAME) STATE PARENT …`; the name may contain anything.
        let mut fields = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace();
        let (state, parent) = (
            fields.next(),
            fields.next().and_then(|parent| parent.parse().ok()),
        );
        // A zombie may have threads that live on: the first one can end alone.
        if let Some(parent) = parent
            && state != Some("X")
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found: Vec<i32> = vec![getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    Ok(found[1..]
        .iter()
        .filter_map(|pid| Pid::from_raw(*pid))
        .collect())
}
