//! The process inside, which gives up its rights and starts the command. In a PID namespace it is the first process, and all others
//! end with it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use gadgetry::command::supervisor::Supervisor;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::job::{Job, Mode};
use super::outer::{Message, NOT_STARTED, receive};
use super::{landlock, syscalls, view};

/// Processes of a command at a time. A build of a large project has hundreds.
const PROCESSES: u64 = 4096;

/// Runs the command of a job and reports how it ended on stdin, which is a socket to the outer process.
pub(super) fn run(job: &Job) -> i32 {
    let message = confine(job).unwrap_or_else(|error| Message::Failed(error.to_string()));
    let Ok(message) = serde_json::to_vec(&message) else {
        return NOT_STARTED;
    };
    // No other handle: the command may have taken the right to open one.
    match rustix::io::write(io::stdin(), &message) {
        Ok(written) if written == message.len() => 0,
        _ => NOT_STARTED,
    }
}

fn confine(job: &Job) -> io::Result<Message> {
    let supervisor = Supervisor::of(job.parent.into(), job.grace)?;
    let writable = receive(io::stdin().lock())?;
    if job.mode == Mode::Namespaces {
        // Nothing is left to do without the outer process, and the kernel ends all others with this one.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        view::own_proc()?;
        // In a user namespace only the processes of this command count.
        let most = getrlimit(Resource::Nproc)
            .maximum
            .unwrap_or(u64::MAX)
            .min(PROCESSES);
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(Resource::Nproc, limit)?;
    }
    setsid()?;
    give_up_capabilities()?;
    set_no_new_privs(true)?;
    let missing = landlock::restrict(job, writable)?;
    syscalls::refuse(job.mode)?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(&job.line).stdin(Stdio::null());
    // The command must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let child = command.spawn()?;
    let status = supervisor.wait(child.id())?.into_raw();
    Ok(Message::Ended { status, missing })
}

/// Gives up all rights of root, for good.
fn give_up_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The kernel has fewer, or this process may remove none, also as root: no program can gain any from here on.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?)
}
