//! Writing, as Landlock permits it: below given folders, and to a few devices. Without namespaces also reading: no other devices.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use super::job::{Job, Mode, Rights};
use super::view::{DEVICES, own};

/// The oldest kernel interface that confines all ways of writing, truncation included: Linux 6.2.
const REQUIRED: ABI = ABI::V3;

/// Gives up this thread's right to write anything but the workspace of a job, and temporary files. Without namespaces, `writable` is what
/// may be changed in the workspace. Returns what the kernel does not have.
pub(super) fn restrict(job: &Job, writable: Vec<PathBuf>) -> io::Result<Vec<String>> {
    match job.mode {
        Mode::Namespaces => {
            let own = own(&job.workspace, &job.rights).into_iter();
            let own = own.chain(["/dev/pts"]).map(PathBuf::from);
            let workspace = (job.rights != Rights::Read).then(|| job.workspace.clone());
            let paths: Vec<PathBuf> = own.chain(workspace).collect();
            Ok(match apply(&paths, None, CompatLevel::BestEffort)? {
                LandlockStatus::Available { .. } => Vec::new(),
                LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => {
                    vec!["no Landlock".to_owned()]
                }
            })
        }
        Mode::Landlock => {
            let mut paths = writable;
            paths.push(job.private.join("tmp"));
            let readable = readable(job)?;
            let status = apply(&paths, Some(&readable), CompatLevel::HardRequirement)?;
            let scopes = matches!(status, LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V6);
            let missing = "signals to your other processes are not refused (needs Linux 6.12)";
            Ok(if scopes {
                Vec::new()
            } else {
                vec![missing.to_owned()]
            })
        }
    }
}

/// Returns what may be read if `/dev` is that of all processes: everything else. What is typed in a terminal goes to whichever process
/// reads it.
fn readable(job: &Job) -> io::Result<Vec<PathBuf>> {
    let mut readable = vec![job.workspace.clone(), job.private.clone()];
    for entry in fs::read_dir("/")? {
        let entry = entry?;
        // A link leads to another entry, or to devices.
        if entry.path() != Path::new("/dev") && !entry.file_type()?.is_symlink() {
            readable.push(entry.path());
        }
    }
    Ok(readable)
}

/// Without `readable`, everything may be read.
fn apply(
    writable: &[PathBuf],
    readable: Option<&[PathBuf]>,
    level: CompatLevel,
) -> io::Result<LandlockStatus> {
    let rules =
        rules(writable, readable, level).map_err(|error| io::Error::other(error.to_string()))?;
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if !status.no_new_privs {
        return Err(io::Error::other("rights could not be given up"));
    }
    Ok(status.landlock)
}

fn rules(
    writable: &[PathBuf],
    readable: Option<&[PathBuf]>,
    level: CompatLevel,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let all = AccessFs::from_write(REQUIRED);
    let read = readable.map_or_else(BitFlags::empty, |_| AccessFs::ReadFile.into());
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(all | read)?
        // Newer kernels confine more: control of devices, abstract sockets, signals to other processes.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .scope(BitFlags::<Scope>::all())?
        .create()?;
    // No one makes devices.
    let folder = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let file = AccessFs::WriteFile | AccessFs::Truncate;
    for path in writable {
        // Of the folders in memory, a system may not have all.
        let Ok(metadata) = fs::symlink_metadata(path) else {
            continue;
        };
        let access = if metadata.is_dir() { folder } else { file };
        let access = if path.starts_with("/dev/pts") {
            access | AccessFs::IoctlDev
        } else {
            access
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, access))?;
    }
    for path in DEVICES {
        // A container may not have all of them.
        if let Ok(path) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(path, file | read))?;
        }
    }
    for path in readable.unwrap_or_default() {
        // What is not found is not read either.
        if let Ok(path) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(path, AccessFs::ReadFile))?;
        }
    }
    Ok(rules)
}
