//! The repositories of a workspace, and those that a command has made.
//!
//! A repository has settings and hooks that start programs, at the next `git status` of the user, outside the sandbox. Those that are
//! there when a command starts cannot be changed by it; those that it makes are disarmed when it has ended.

mod disarm;
mod memory;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use crate::workspace::repository::walk::{Found, Search, walk};
use crate::workspace::repository::ways::follow;
use crate::workspace::repository::{Identity, Layout, about, is_in_repository, settings};

pub(super) use memory::Memory;

/// Time to search a workspace, before a command and after it. What takes longer counts as a failure, since the process that searches
/// is not waited for without end.
pub(super) const BUDGET: Duration = Duration::from_mins(1);

/// The end of an error about what a command may have left.
pub(super) const LEFT: &str = "the workspace may have repositories that a command has made, and no command runs in the sandbox until they are gone or renamed";

/// Files and folders of one workspace from which Git runs code. Paths are relative to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Repositories {
    root: PathBuf,
    /// Entries named `.git`, other folders that are laid out as a repository, and files and folders that settings name.
    protected: BTreeMap<PathBuf, Identity>,
    /// The repositories and where they were, because a command may move a folder with one in it.
    known: BTreeMap<Identity, PathBuf>,
    /// Ways to what settings name, links and the end included; `None` does not exist. A command may move such a folder
    /// or link and put another one in its place.
    ways: BTreeMap<PathBuf, Option<Way>>,
    /// Folders that were closed to their owner, with their modes: they stay so.
    closed: BTreeMap<Identity, u32>,
}

/// An entry on the way to what settings name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    identity: Identity,
    /// The target of a link. A file that takes the place of another one may get its number.
    link: Option<PathBuf>,
}

/// The path of an entry in the workspace, and what is there.
type Entry = (PathBuf, Option<Way>);

/// The search for repositories before a command.
struct Finding {
    until: Instant,
    named: Vec<PathBuf>,
    all: Repositories,
}

impl Search for Finding {
    fn found(&mut self, found: &Found<'_>) -> io::Result<Option<OsString>> {
        if found.metadata()?.is_symlink() {
            let message = "is a link, which the sandbox cannot protect";
            return Err(about(&found.path, message));
        }
        let path = found.path.clone();
        self.named
            .extend(settings::named_by(&self.all.root.join(&path))?);
        let identity = found.identity()?;
        self.all.known.insert(identity, path.clone());
        self.all.protected.insert(path, identity);
        Ok(None)
    }

    fn step(&mut self) -> io::Result<()> {
        in_time(self.until)
    }

    fn entered(&mut self, folder: &Dir) {
        self.all.closed.extend(closed(folder));
    }
}

/// Returns the identity and the mode of a folder that is closed to its owner, whom root need not be.
fn closed(folder: &Dir) -> Option<(Identity, u32)> {
    let metadata = folder.dir_metadata().ok()?;
    let identity = (
        cap_fs_ext::MetadataExt::dev(&metadata),
        cap_fs_ext::MetadataExt::ino(&metadata),
    );
    let mode = cap_std::fs::PermissionsExt::mode(&metadata.permissions());
    (mode & 0o500 != 0o500).then_some((identity, mode))
}

/// Fails after the time of a search.
fn in_time(until: Instant) -> io::Result<()> {
    if Instant::now() < until {
        return Ok(());
    }
    let message = "the workspace has too many files to be searched for repositories";
    Err(io::Error::new(ErrorKind::TimedOut, message))
}

/// Has an entry mounted in its folder.
fn mounted(
    workspace: &Dir,
    path: &Path,
    identity: Identity,
    mount: impl Fn(&Dir, &OsStr) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => workspace.open_dir(parent)?,
        _ => workspace.try_clone()?,
    };
    let found = Found {
        folder: &folder,
        name: path.file_name().unwrap_or_default(),
        path: path.to_owned(),
    };
    let mounted = mount(found.folder, found.name);
    mounted.map_err(|error| about(path, &format!("cannot be protected: {error}")))?;
    if found.identity()? != identity {
        return Err(about(path, "was replaced before the command could start"));
    }
    Ok(())
}

impl Repositories {
    /// Finds the repositories of a workspace, whose absolute path is `root`.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, or a repository cannot be protected.
    pub(super) fn find(workspace: &Dir, root: &Path) -> io::Result<Self> {
        if is_in_repository(root) || Layout::of(workspace)?.is_complete() {
            let message =
                "the workspace itself is a folder of Git, which the sandbox cannot protect";
            return Err(io::Error::other(message));
        }
        let all = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        let mut finding = Finding {
            until: Instant::now() + BUDGET,
            named: settings::named_above(root)?,
            all,
        };
        finding.entered(workspace);
        walk(workspace, &mut finding)?;
        let Finding { mut all, named, .. } = finding;
        for path in named {
            all.add_way(&path)?;
        }
        Ok(all)
    }

    /// Has all of them protected in their folders, and what is on the ways to them held in its place.
    ///
    /// # Errors
    ///
    /// If one cannot be protected, or was replaced since it was found.
    pub(super) fn protect(
        &self,
        workspace: &Dir,
        hold: impl Fn(&Dir, &OsStr) -> io::Result<()>,
        protect: impl Fn(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        // First, since what is mounted below a read-only folder would not be read-only, and in order: folders before what is in them.
        for (path, way) in &self.ways {
            let is_protected = self.protected.keys().any(|it| path.starts_with(it));
            if let Some(way) = way
                && !is_protected
            {
                mounted(workspace, path, way.identity, &hold)?;
            }
        }
        for (path, identity) in &self.protected {
            mounted(workspace, path, *identity, &protect)?;
        }
        Ok(())
    }

    /// Follows an absolute path, keeps what is on its way in the workspace, and has what is at its end protected.
    pub(super) fn add_way(&mut self, path: &Path) -> io::Result<()> {
        let (mut ways, end) = self.way(path)?;
        // What is missing may be in a folder that is missing as well. Another file in such a folder is not at fault, so the end counts,
        // unless links or `..` lead to it.
        if end.as_deref() == Some(path)
            && let Some((missing, None)) = ways.last_mut()
            && let Some(end) = self.inside(path)
        {
            *missing = end;
        }
        self.ways.extend(ways);
        let Some(end) = end else {
            return Ok(());
        };
        if end == self.root {
            return Err(about(
                path,
                "leads to the workspace itself, which the sandbox cannot protect: settings of Git or of the agent, or PATH, name it",
            ));
        }
        if let Some(end) = self.inside(&end)
            && !self.protected.keys().any(|it| end.starts_with(it))
            && let Some(Some(way)) = self.ways.get(&end)
        {
            self.protected.insert(end, way.identity);
        }
        Ok(())
    }

    /// Follows an absolute path. Returns the entries on its way that are in the workspace, and where it leads; `None` if it has no end.
    fn way(&self, path: &Path) -> io::Result<(Vec<Entry>, Option<PathBuf>)> {
        let (mut entries, mut failed) = (Vec::new(), None);
        let end = follow(path, &mut |entry, found| {
            let Some(inside) = self.inside(entry) else {
                return;
            };
            let way = found.map(|found| Way {
                identity: (found.dev(), found.ino()),
                link: fs::read_link(entry).ok(),
            });
            // A command may have closed the folder that it is in, and may open it again.
            if way.is_none()
                && let Err(error) = fs::symlink_metadata(entry)
                && error.kind() == ErrorKind::PermissionDenied
            {
                failed = Some(about(&inside, &format!("cannot be looked at: {error}")));
            }
            entries.push((inside, way));
        })?;
        failed.map_or(Ok((entries, end)), Err)
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.root).ok()?;
        (inside != Path::new("")).then(|| inside.to_owned())
    }

    /// Returns the absolute paths that hold nothing from which Git runs code: the workspace itself if it has no repository. Of `.git`,
    /// `a/b/.git`, `a/c` and `d` these are `a/c` and `d`, since a right to a folder is one to all below it.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read.
    pub(super) fn unprotected(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut left = vec![PathBuf::new()];
        while let Some(path) = left.pop() {
            let absolute = self.root.join(&path);
            if !self.is_above_protected(&path) {
                found.push(absolute);
            } else if !self.protected.contains_key(&path) {
                for entry in fs::read_dir(absolute)? {
                    let entry = entry?;
                    // A link is not followed: it may lead outside.
                    if !entry.file_type()?.is_symlink() {
                        left.push(path.join(entry.file_name()));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns whether a path of the workspace is protected, or above what is.
    fn is_above_protected(&self, path: &Path) -> bool {
        let mut below = self.protected.keys().chain(self.ways.keys());
        below.any(|protected| protected.starts_with(path))
    }
}
