//! Renames files that a command has made and that Git would run code from.
//!
//! Each is renamed in the folder in which it was found, by the handle of that folder: a path could be too long, or lead elsewhere.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, openat};
use rustix::rand::{GetRandomFlags, getrandom};

use super::super::view::by_handle;
use super::{LEFT, Repositories, Way, closed, in_time};
use crate::workspace::repository::walk::{Found, Search, walk};
use crate::workspace::repository::{Identity, Layout, about, is_repository_name, settings};

/// Notes about single repositories.
const NOTES: usize = 5;

/// Errors about single repositories, and bytes of each.
const FAILURES: usize = 50;
const FAILURE: usize = 500;

/// Characters of a name that its new name has as well.
const KEPT: usize = 40;

impl Repositories {
    /// Disarms what was made since: entries named `.git`, files `HEAD`, and what is now on the ways that settings name.
    ///
    /// Returns a note for each.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, a repository cannot be disarmed, or the time is over. The others are.
    pub(in crate::sandbox) fn disarm_new(
        &self,
        workspace: &Dir,
        time: Duration,
    ) -> io::Result<Vec<String>> {
        let mut disarming = Disarming {
            before: self,
            until: Instant::now() + time,
            moved: Vec::new(),
            opened: Vec::new(),
            done: Done::default(),
        };
        if let Err(error) = disarming.all(workspace) {
            disarming.done.failed(&error);
        }
        for (folder, mode) in disarming.opened {
            // What stays open is a lesser problem than what is left.
            let _ = fs::set_permissions(by_handle(&folder), Permissions::from_mode(mode));
        }
        disarming.done.into_notes()
    }
}

/// The search for what a command has made.
struct Disarming<'r> {
    before: &'r Repositories,
    until: Instant,
    /// Paths of repositories that were elsewhere before.
    moved: Vec<PathBuf>,
    /// Folders that were closed before as well, with their modes.
    opened: Vec<(OwnedFd, u32)>,
    done: Done,
}

impl Search for Disarming<'_> {
    fn found(&mut self, found: &Found<'_>) -> io::Result<Option<OsString>> {
        let name = found.name.to_owned();
        let identity = match found.identity() {
            Ok(identity) => identity,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                self.done.cannot_be_renamed(&found.path, &error);
                return Ok(Some(name));
            }
        };
        match self.before.known.get(&identity) {
            Some(before) => {
                if *before != found.path {
                    self.moved.push(found.path.clone());
                }
                Ok(None)
            }
            None => self.disarm(found).map(Some),
        }
    }

    fn failed(&mut self, error: io::Error) -> io::Result<()> {
        self.done.failed(&error);
        Ok(())
    }

    fn step(&mut self) -> io::Result<()> {
        in_time(self.until)
    }

    fn closed(&mut self, folder: &Dir, name: &OsStr) -> bool {
        let mut open = || -> io::Result<()> {
            let inner = open_entry(folder, name)?;
            let found = fs::metadata(by_handle(&inner))?;
            open_to_owner(&by_handle(&inner))?;
            let identity = (found.dev(), found.ino());
            let before = self.before.closed.get(&identity).copied();
            self.opened.extend(before.map(|mode| (inner, mode)));
            Ok(())
        };
        open().is_ok()
    }

    fn entered(&mut self, folder: &Dir) {
        // What was closed before a command was searched then.
        if let Some((identity, mode)) = closed(folder)
            && self.before.closed.get(&identity) != Some(&mode)
        {
            // Where it fails, the error of what is done next counts.
            let _ = open_to_owner(&by_handle(folder));
        }
    }
}

impl Disarming<'_> {
    fn all(&mut self, workspace: &Dir) -> io::Result<()> {
        self.entered(workspace);
        // Those above come first; below what was renamed nothing is left.
        for (path, before) in &self.before.ways {
            self.step()?;
            if let Err(error) = self.disarm_way(workspace, path, before.as_ref()) {
                self.done.cannot_be_renamed(path, &error);
            }
        }
        if Layout::of(workspace)?.is_complete() {
            self.rename_heads(workspace, Path::new(""), true)?;
        }
        walk(workspace, self)?;
        for path in std::mem::take(&mut self.moved) {
            self.step()?;
            if let Err(error) = self.disarm_named_by(workspace, &path) {
                self.done.cannot_be_renamed(&path, &error);
            }
        }
        Ok(())
    }

    /// Disarms a repository, and returns its name.
    fn disarm(&mut self, found: &Found<'_>) -> io::Result<OsString> {
        let is_named = is_repository_name(found.name);
        let (folder, name) = (found.folder, found.name);
        match open_folder(folder, name) {
            // Under another name it would still be a bare repository.
            Ok(Some(inner)) => self.rename_heads(&inner, &found.path, !is_named)?,
            Ok(None) => {}
            Err(error) => self.done.cannot_be_renamed(&found.path, &error),
        }
        if !is_named {
            return Ok(name.to_owned());
        }
        let renamed = self.done.rename(folder, name, &found.path);
        Ok(renamed.unwrap_or_else(|| name.to_owned()))
    }

    /// Renames what Git may read as `HEAD`, in whatever case. `path` is that of the folder. Fails only when the time is over.
    fn rename_heads(&mut self, folder: &Dir, path: &Path, is_noted: bool) -> io::Result<()> {
        let heads = match heads(folder, self.until) {
            Ok(heads) => heads,
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
            Err(error) => {
                self.done.cannot_be_renamed(path, &error);
                return Ok(());
            }
        };
        for head in heads {
            let notes = self.done.notes.len();
            self.done.rename(folder, &head, &path.join(&head));
            if !is_noted {
                // The note about the folder says it.
                self.done.notes.truncate(notes);
            }
        }
        Ok(())
    }

    /// Renames what is now at a path, unless it was there before.
    fn disarm_way(&mut self, workspace: &Dir, path: &Path, before: Option<&Way>) -> io::Result<()> {
        let Some(before) = before else {
            return self.disarm_made(workspace, path);
        };
        let Some((folder, name)) = parent_of(workspace, path)? else {
            return Ok(());
        };
        let Some(found) = there(folder.symlink_metadata(&name))? else {
            return Ok(());
        };
        let link = if found.is_symlink() {
            Some(folder.read_link_contents(&name)?)
        } else {
            None
        };
        let now = Way {
            identity: (found.dev(), found.ino()),
            link,
        };
        if *before != now {
            self.done.rename(&folder, &name, path);
        }
        Ok(())
    }

    /// Renames what is now at a path at which nothing was, or the first link on the way to it.
    fn disarm_made(&mut self, workspace: &Dir, path: &Path) -> io::Result<()> {
        let mut folder = workspace.try_clone()?;
        let mut here = PathBuf::new();
        for name in path {
            here.push(name);
            let Some(found) = there(folder.symlink_metadata(name))? else {
                return Ok(());
            };
            if here == path || found.is_symlink() {
                self.done.rename(&folder, name, &here);
                return Ok(());
            }
            match open_folder(&folder, name)? {
                Some(inner) => folder = inner,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The settings of a repository that was moved may name other files than before, or lead to them by other links.
    fn disarm_named_by(&mut self, workspace: &Dir, moved: &Path) -> io::Result<()> {
        let before = self.before;
        let protected: BTreeSet<Identity> = before.protected.values().copied().collect();
        for named in settings::named_by(&before.root.join(moved))? {
            let (entries, end) = before.way(&named)?;
            // What is in the repository itself could not be changed.
            let mut unchanged = vec![moved.to_owned()];
            let mut changed = None;
            for (path, way) in entries {
                let Some(way) = way else { break };
                if protected.contains(&way.identity) {
                    unchanged.push(path);
                } else if !unchanged.iter().any(|above| path.starts_with(above)) {
                    let is_end = end == Some(before.root.join(&path));
                    let is_link = way.link.is_some();
                    if is_end || is_link && !before.ways.values().flatten().any(|it| *it == way) {
                        changed = Some(path);
                        break;
                    }
                }
            }
            if end.is_some_and(|end| end == before.root) {
                return Err(about(&named, "leads to the workspace itself"));
            }
            if let Some(path) = changed
                && let Some((folder, name)) = parent_of(workspace, &path)?
            {
                self.done.rename(&folder, &name, &path);
            }
        }
        Ok(())
    }
}

/// Notes on what was renamed, and errors.
#[derive(Default)]
struct Done {
    notes: Vec<String>,
    failed: Vec<String>,
    /// Failures after those.
    more: usize,
}

impl Done {
    /// Renames an entry of a folder, whose path is `path`. Returns its new name.
    fn rename(&mut self, folder: &Dir, name: &OsStr, path: &Path) -> Option<OsString> {
        match rename(folder, name) {
            Ok(to) => {
                let (from, to_path) = (path.display(), path.with_file_name(&to));
                self.notes
                    .push(format!("{from} was renamed to {}", to_path.display()));
                Some(to)
            }
            Err(error) => {
                self.cannot_be_renamed(path, &error);
                None
            }
        }
    }

    fn cannot_be_renamed(&mut self, path: &Path, error: &io::Error) {
        let message = format!("would make Git run code, and cannot be renamed: {error}");
        self.failed(&about(path, &message));
    }

    fn failed(&mut self, error: &io::Error) {
        if self.failed.len() == FAILURES {
            self.more += 1;
            return;
        }
        let text = error.to_string();
        let half = FAILURE / 2;
        self.failed.push(if text.len() <= FAILURE {
            text
        } else {
            // A path has its name at its end, and a message its reason.
            let (first, last) = (
                text.floor_char_boundary(half),
                text.ceil_char_boundary(text.len() - half),
            );
            format!("{}…{}", &text[..first], &text[last..])
        });
    }

    fn into_notes(mut self) -> io::Result<Vec<String>> {
        if self.failed.is_empty() {
            self.notes.sort();
            let more = self.notes.len().saturating_sub(NOTES);
            self.notes.truncate(NOTES);
            if more > 0 {
                self.notes.push(format!("{more} more"));
            }
            return Ok(self.notes);
        }
        self.failed.sort();
        if self.more > 0 {
            self.failed.push(format!("{} more", self.more));
        }
        let failed = self.failed.join("; ");
        let message = format!("{failed}: {LEFT}");
        Err(io::Error::other(message))
    }
}

/// Renames an entry of a folder to a name that no one can have taken before. Returns that name.
fn rename(folder: &Dir, name: &OsStr) -> io::Result<OsString> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    // The part of the name that file systems compare, so that the new name is not one for `.git`, and not too long.
    let old = name.to_string_lossy();
    let old = old.split(':').next().unwrap_or_default();
    let old: String = old.chars().take(KEPT).collect();
    let to: OsString = format!("{old}.untrusted-{:016x}", u64::from_ne_bytes(random)).into();
    match folder.rename(name, folder, &to) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_to_owner(&by_handle(folder))?;
            folder.rename(name, folder, &to)?;
        }
        renamed => renamed?,
    }
    Ok(to)
}

/// Returns the entries of a folder that Git may read as `HEAD`.
fn heads(folder: &Dir, until: Instant) -> io::Result<Vec<OsString>> {
    let mut heads = Vec::new();
    for entry in folder.entries()? {
        in_time(until)?;
        let name = entry?.file_name();
        if name.eq_ignore_ascii_case("HEAD") {
            heads.push(name);
        }
    }
    Ok(heads)
}

/// Opens the folder that an entry is in, name by name; `None` if it does not exist, or a link or a file is in its place.
fn parent_of(workspace: &Dir, path: &Path) -> io::Result<Option<(Dir, OsString)>> {
    let mut folder = workspace.try_clone()?;
    for name in path.parent().unwrap_or(Path::new("")) {
        match open_folder(&folder, name)? {
            Some(inner) => folder = inner,
            None => return Ok(None),
        }
    }
    let name = path.file_name().unwrap_or_default().to_owned();
    Ok(Some((folder, name)))
}

/// Opens a folder; `None` if it does not exist.
fn open_folder(folder: &Dir, name: &OsStr) -> io::Result<Option<Dir>> {
    let Some(found) = there(folder.symlink_metadata(name))? else {
        return Ok(None);
    };
    if !found.is_dir() {
        return Ok(None);
    }
    match folder.open_dir_nofollow(name) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_inner_to_owner(folder, name)?;
            folder.open_dir_nofollow(name).map(Some)
        }
        opened => opened.map(Some),
    }
}

/// Nothing is there if there is no such name. Any other error may hide something.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives its owner all rights to a folder, which a command may have taken. `handle` is a path by its handle.
fn open_to_owner(handle: &Path) -> io::Result<()> {
    let mode = fs::metadata(handle)?.permissions().mode();
    fs::set_permissions(handle, Permissions::from_mode(mode | 0o700))
}

/// Gives its owner all rights to a folder in another one.
fn open_inner_to_owner(folder: &Dir, name: &OsStr) -> io::Result<()> {
    open_to_owner(&by_handle(&open_entry(folder, name)?))
}

/// A handle of a folder in another one, also if it is closed.
fn open_entry(folder: &Dir, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn new_names() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let check = |name: &str, expected: &str| {
            let make = || fs::write(folder.path().join(name), "").unwrap();
            let rename = || rename(&dir, OsStr::new(name)).unwrap();
            make();
            let first = rename();
            make();
            let second = rename();
            assert!(first != second && !is_repository_name(&first), "{name}");
            let first = first.to_str().unwrap();
            let (kept, random) = first.split_once(".untrusted-").unwrap();
            assert_eq!((kept, random.len()), (expected, 16), "{name}");
        };
        check(".git", ".git");
        check(".git::$INDEX_ALLOCATION", ".git");
        check(
            &format!("HEAD{}", "x".repeat(251)),
            &format!("HEAD{}", "x".repeat(36)),
        );
    }

    /// A search that is not completed is a failure, not the end of what there is.
    #[test]
    fn without_time_nothing_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/.git")).unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let check = |time: Duration, expected: Result<&str, &str>| {
            let ended = Repositories::default().disarm_new(&dir, time);
            let ended = ended
                .map(|notes| notes.concat())
                .map_err(|it| it.to_string());
            match (&ended, expected) {
                (Ok(text), Ok(expected)) | (Err(text), Err(expected)) => {
                    assert!(text.starts_with(expected), "{text}");
                }
                _ => panic!("{ended:?}"),
            }
        };
        check(Duration::ZERO, Err("the workspace has too many files"));
        check(
            Duration::from_mins(1),
            Ok("a/.git was renamed to a/.git.untrusted-"),
        );
    }

    /// All failures count, and many are named.
    #[test]
    fn failures_are_named_and_counted() {
        let mut done = Done::default();
        for number in 0..60 {
            let error = ErrorKind::PermissionDenied.into();
            done.cannot_be_renamed(
                &Path::new(&"d".repeat(4000)).join(number.to_string()),
                &error,
            );
        }
        let text = done.into_notes().unwrap_err().to_string();
        assert!(text.contains("d/49 would make Git run code") && text.contains("; 10 more: "));
        assert!(text.len() < 60 * FAILURE, "{}", text.len());
    }
}
