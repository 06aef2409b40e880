//! Fewer rights for a command, by Landlock and seccomp.
//!
//! Both apply to a thread and to every process that is started from it, for good. So a thread of its own gives up its
//! rights, starts the command, and ends. What remains: reading all files, writing below the given folders and to
//! `/dev/null` and its like, and no sockets.

use std::io;
use std::path::Path;
use std::thread;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// The oldest kernel interface that confines all ways of writing, truncation included: Linux 6.2.
const REQUIRED: ABI = ABI::V3;

/// Devices that lead nowhere.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The syscall numbers of x32, a second set of a 64-bit kernel.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// What a command may do.
pub(super) struct Rules {
    files: RulesetCreated,
    syscalls: BpfProgram,
}

/// The system has no sandbox, or not all of it. Commands do not run without it.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox is unavailable on this system, and commands do not run without it: {0}")]
pub(super) struct Unavailable(String);

impl Rules {
    /// Rules under which files below `writable` can be changed.
    pub(super) fn new<'p>(
        writable: impl IntoIterator<Item = &'p Path>,
    ) -> Result<Self, Unavailable> {
        let unavailable = |error: &dyn std::fmt::Display| Unavailable(error.to_string());
        Ok(Self {
            files: files(writable).map_err(|error| unavailable(&error))?,
            syscalls: syscalls().map_err(|error| unavailable(&error))?,
        })
    }

    /// Starts a command under these rules.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let handle = Handle::current();
        thread::scope(|scope| {
            let confined = thread::Builder::new().spawn_scoped(scope, || {
                let files = self.files.try_clone()?;
                let restricted = files.restrict_self().map_err(io::Error::other)?;
                if !restricted.no_new_privs {
                    return Err(io::Error::other("rights could not be given up"));
                }
                apply_filter(&self.syscalls).map_err(io::Error::other)?;
                let _runtime = handle.enter();
                command.spawn()
            })?;
            let ended = confined.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("the sandbox failed")))
        })
    }
}

fn files<'p>(
    writable: impl IntoIterator<Item = &'p Path>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let write = AccessFs::from_write(REQUIRED);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(write)?
        // Newer kernels confine more: control of devices, abstract sockets, signals to other processes.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .scope(BitFlags::<Scope>::all())?
        .create()?;
    for folder in writable {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(folder)?, write))?;
    }
    let device = AccessFs::WriteFile | AccessFs::Truncate;
    for path in DEVICES {
        // A container may not have all of them.
        if let Ok(path) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(path, device))?;
        }
    }
    Ok(rules)
}

/// Refuses what makes a socket. `socketpair` stays, because its ends reach no other program.
fn syscalls() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    const NOT_PERMITTED: u32 = 1;
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let always: Vec<SeccompRule> = Vec::new();
    let refused = SYSCALLS.iter().map(|number| (*number, always.clone()));
    let filter = SeccompFilter::new(
        refused.collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(NOT_PERMITTED),
        architecture,
    )?;
    Ok(filter.try_into()?)
}

/// `socket` and `io_uring_setup`, whose requests no filter sees; and `socket` of x32.
#[cfg(target_arch = "x86_64")]
const SYSCALLS: [i64; 4] = [41, 425, X32 + 41, X32 + 425];

/// `socket` and `io_uring_setup`, whose requests no filter sees.
#[cfg(not(target_arch = "x86_64"))]
const SYSCALLS: [i64; 2] = [198, 425];
