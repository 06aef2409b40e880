//! The file system as a command sees it: everything, of which it can change its workspace and folders of its own.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs, openat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::job::Rights;

/// Folders that are a command's own, empty and in memory.
pub(super) const OWN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Devices that lead nowhere.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Capabilities that the inner process needs to mount `/proc` and to give up all rights.
const FOR_INNER: [CapabilitySet; 2] = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];

/// Moves this process, which has one thread, to namespaces of its own in which only `workspace`, with the rights to it, and [`OWN`] can be
/// changed. Children are in a new PID namespace.
pub(super) fn enter(workspace: &Path, rights: &Rights) -> io::Result<Dir> {
    unshare()?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    // Handles of this mount namespace: the folders may be covered below.
    let folder = fs::File::open(workspace)?;
    let devices = DEVICES.map(|path| (path, fs::File::open(path).ok()));
    let mut writable: BTreeSet<PathBuf> = BTreeSet::new();
    own_devices(&devices)?;
    for path in ["/dev", "/dev/pts"] {
        writable.insert(path.into());
    }
    for path in OWN {
        if own_folder(Path::new(path), workspace)? {
            writable.insert(path.into());
        }
    }
    fs::create_dir_all(workspace).or_else(existing)?;
    mount_bind_recursive(by_handle(&folder), workspace)?;
    remount(|path| {
        if writable.contains(path) || DEVICES.iter().any(|it| path == Path::new(it)) {
            // These are ours, and have the devices.
            None
        } else if path.starts_with(workspace) && *rights != Rights::Read {
            Some(MountFlags::NODEV)
        } else {
            // A file system that is read-only has devices that are not.
            Some(MountFlags::NODEV | MountFlags::RDONLY)
        }
    })?;
    Dir::open_ambient_dir(workspace, ambient_authority())
}

/// Returns the folder for temporary files of a command: `/tmp`, unless the workspace is in it and the command may not write there.
pub(super) fn temporary(workspace: &Path, rights: &Rights) -> &'static Path {
    let folders = own(workspace, rights);
    let folder = folders.iter().find(|it| **it != "/var/tmp");
    Path::new(folder.copied().unwrap_or(OWN[0]))
}

/// Returns the folders of its own in which Landlock lets a command write: none that the workspace is in if that is read-only, because a
/// read-only mount refuses no named pipe.
pub(super) fn own(workspace: &Path, rights: &Rights) -> Vec<&'static str> {
    let is_above = |it: &str| *rights == Rights::Read && workspace.starts_with(it);
    OWN.into_iter().filter(|it| !is_above(it)).collect()
}

/// Moves this process to the folder that it is in by its new path, which leads to the mounts of this view: from its old one, names lead
/// to what is below them.
pub(super) fn go_to(workspace: &Dir, cwd: &Path) -> io::Result<()> {
    let expected = fs::metadata(".")?;
    let inside = workspace.open_dir(cwd)?;
    let metadata = inside.dir_metadata()?;
    let found = (
        cap_std::fs::MetadataExt::dev(&metadata),
        cap_std::fs::MetadataExt::ino(&metadata),
    );
    if found != (expected.dev(), expected.ino()) {
        return Err(io::Error::other("the folder of the command was replaced"));
    }
    std::env::set_current_dir(by_handle(&inside.into_std_file()))
}

fn existing(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::AlreadyExists {
        Ok(())
    } else {
        Err(error)
    }
}

/// New namespaces: with a user namespace, so that no rights are needed; without one where only root may make namespaces.
fn unshare() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    let others = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    #[expect(
        deprecated,
        reason = "unsafe only for `FILES`, which is not among the flags"
    )]
    let new = rustix::thread::unshare;
    match new(UnshareFlags::NEWUSER | others) {
        Ok(()) => {}
        Err(_) if user.is_root() => {
            return new(others).map_err(|error| what("new namespaces are refused", error));
        }
        Err(error) => return Err(what("new namespaces are refused", error)),
    }
    let map = |id: u32| format!("{id} {id} 1\n");
    let written = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", map(user.as_raw())))
        .and_then(|()| fs::write("/proc/self/gid_map", map(group.as_raw())));
    written.map_err(|error| what("a user namespace without rights", error))
}

fn what(what: &str, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Covers a folder with an empty one in memory, unless it is in the workspace or does not exist. Returns whether it did.
fn own_folder(path: &Path, workspace: &Path) -> io::Result<bool> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder || path.starts_with(workspace) {
        return Ok(false);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", path, "tmpfs", flags, Some(c"mode=1777"))?;
    Ok(true)
}

/// Covers `/dev` with the few devices that commands need.
fn own_devices(devices: &[(&str, Option<fs::File>)]) -> io::Result<()> {
    mount(
        "tmpfs",
        "/dev",
        "tmpfs",
        MountFlags::NOSUID,
        Some(c"mode=755"),
    )?;
    for (path, device) in devices {
        // A container may not have all of them.
        if let Some(device) = device {
            fs::write(path, "")?;
            mount_bind(by_handle(device), *path)?;
        }
    }
    for folder in ["/dev/shm", "/dev/pts"] {
        fs::create_dir(folder)?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(
        "devpts",
        "/dev/pts",
        "devpts",
        flags,
        Some(c"newinstance,ptmxmode=0666,mode=0620"),
    )?;
    symlink("pts/ptmx", "/dev/ptmx")?;
    for (name, target) in [
        ("fd", "fd"),
        ("stdin", "fd/0"),
        ("stdout", "fd/1"),
        ("stderr", "fd/2"),
    ] {
        symlink(
            Path::new("/proc/self").join(target),
            Path::new("/dev").join(name),
        )?;
    }
    Ok(())
}

/// Adds to the flags of all mounts those of their paths; a mount without any stays as it is.
fn remount(added: impl Fn(&Path) -> Option<MountFlags>) -> io::Result<()> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    for line in mounts
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS …
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let (Some(path), Some(options)) = (fields.next(), fields.next()) else {
            return Err(io::Error::other("an unknown form of /proc/self/mountinfo"));
        };
        let path = unescaped(path);
        let Some(added) = added(&path) else {
            continue;
        };
        let flags = MountFlags::BIND | added | kept(options);
        match mount_remount(&path, flags, "") {
            // If not, it is covered by another mount, so that no path leads to it, or a mount of another user, such as FUSE, which does
            // not even let root look at it.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(error) => {
                let message = format!("{} cannot be mounted with less rights", path.display());
                return Err(what(&message, error));
            }
        }
    }
    Ok(())
}

/// The flags of a mount that may not be taken from it. Those about times stay if none of them is named.
fn kept(options: &[u8]) -> MountFlags {
    let flag = |option: &[u8]| match option {
        b"ro" => MountFlags::RDONLY,
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"nosymfollow" => MountFlags::NOSYMFOLLOW,
        _ => MountFlags::empty(),
    };
    options.split(|byte| *byte == b',').map(flag).collect()
}

/// `\040` and its like are bytes.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        let octal = (*first == b'\\').then(|| others.get(..3)).flatten();
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &others[3..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    OsString::from_vec(bytes).into()
}

/// A path to an open file, also if its own is covered.
pub(super) fn by_handle(file: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()).into()
}

/// Mounts an entry of a folder on itself. It can then be neither moved nor deleted.
pub(super) fn hold(folder: &Dir, name: &OsStr) -> io::Result<()> {
    let path = open_entry(folder, name)?;
    let path = by_handle(&path);
    Ok(mount_bind_recursive(&path, &path)?)
}

/// Has an entry of a folder held, and makes it read-only: it cannot be changed either.
pub(super) fn make_read_only(folder: &Dir, name: &OsStr) -> io::Result<()> {
    hold(folder, name)?;
    // Opened after that, the name leads to the new mount.
    let above = open_entry(folder, name)?;
    let found = fstatvfs(&above)?.f_flag;
    let both = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let kept = both.into_iter().filter(|(flag, _)| found.contains(*flag));
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, |all, (_, flag)| {
        all | flag
    });
    Ok(mount_remount(by_handle(&above), flags, "")?)
}

fn open_entry(folder: &Dir, name: &OsStr) -> io::Result<fs::File> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?.into())
}

/// Lets the inner process keep what it needs when it is started: without it only root keeps capabilities.
pub(super) fn keep_capabilities_on_exec() -> io::Result<()> {
    let sets = capabilities(None)?;
    let inheritable = FOR_INNER
        .into_iter()
        .fold(CapabilitySet::empty(), |all, one| all | one);
    set_capabilities(
        None,
        CapabilitySets {
            inheritable,
            ..sets
        },
    )?;
    for capability in FOR_INNER {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Mounts a `/proc` of this PID namespace, in a mount namespace of its own: the outer process needs that of its own.
pub(super) fn own_proc() -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "unsafe only for `FILES`, which is not among the flags"
    )]
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let mounted = mount("proc", "/proc", "proc", flags, None);
    mounted.map_err(|error| what("no /proc of its own", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mounts() {
        let check = |text: &str, expected: &str| {
            assert_eq!(unescaped(text.as_bytes()), Path::new(expected), "{text}");
        };
        check("/a", "/a");
        check(r"/with\040space", "/with space");
        check(r"/tab\011\134n", "/tab\t\\n");
        check(r"/end\04", r"/end\04");
    }
}
