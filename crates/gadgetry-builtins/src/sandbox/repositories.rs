//! The repositories of a workspace, and those that a command has made.
//!
//! A repository has settings and hooks that start programs, at the next `git status` of the user, outside the sandbox. Those that are
//! there when a command starts cannot be changed by it; those that it makes are disarmed when it has ended.

mod disarm;
mod settings;
mod walk;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use crate::workspace::repository::Layout;
use walk::{Found, walk};

/// Links on the way to a path, as the kernel follows them.
const LINKS: usize = 40;

/// A file by its device and its number.
type Identity = (u64, u64);

/// Files and folders of one workspace from which Git runs code. Paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    root: PathBuf,
    /// Entries named `.git`, other folders that are laid out as a repository, and files and folders that settings name.
    protected: BTreeMap<PathBuf, Identity>,
    /// The repositories and where they were, because a command may move a folder with one in it.
    known: BTreeMap<Identity, PathBuf>,
    /// What lies on the ways to what settings name, links and the end included; `None` does not exist. A command may move such a folder
    /// or link and put another one in its place.
    ways: BTreeMap<PathBuf, Option<Identity>>,
}

impl Repositories {
    /// Finds the repositories of a workspace, whose absolute path is `root`.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, or a repository cannot be protected.
    pub(super) fn find(workspace: &Dir, root: &Path) -> io::Result<Self> {
        if Layout::of(workspace)?.is_complete() {
            let message = "the workspace itself is laid out as a folder of Git, which the sandbox cannot protect";
            return Err(io::Error::other(message));
        }
        let mut all = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        let mut named = settings::named_above(root)?;
        walk(workspace, &mut Err, &mut |found| {
            if found.metadata()?.is_symlink() {
                let message = "is a link, which the sandbox cannot protect";
                return Err(about(&found.path, message));
            }
            named.extend(settings::named_by(&root.join(&found.path))?);
            let identity = found.identity()?;
            all.known.insert(identity, found.path.clone());
            all.protected.insert(found.path, identity);
            Ok(false)
        })?;
        for path in named {
            all.add_way(&path)?;
        }
        Ok(all)
    }

    /// Has all of them protected in their folders.
    ///
    /// # Errors
    ///
    /// If one cannot be protected, or was replaced since it was found.
    pub(super) fn protect(
        &self,
        workspace: &Dir,
        protect: impl Fn(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        for (path, identity) in &self.protected {
            let folder = match path.parent() {
                Some(parent) if parent != Path::new("") => workspace.open_dir(parent)?,
                _ => workspace.try_clone()?,
            };
            let name = path.file_name().unwrap_or_default();
            let path = path.clone();
            let found = Found {
                folder: &folder,
                name,
                path,
            };
            protect(found.folder, found.name)?;
            if found.identity()? != *identity {
                return Err(about(
                    &found.path,
                    "was replaced before the command could start",
                ));
            }
        }
        Ok(())
    }

    /// Follows an absolute path, keeps what is on its way in the workspace, and has what is at its end protected.
    fn add_way(&mut self, path: &Path) -> io::Result<()> {
        let mut here = PathBuf::from("/");
        let mut left = names(path);
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&name);
            let found = fs::symlink_metadata(&next).ok();
            let identity = found.as_ref().map(|found| (found.dev(), found.ino()));
            if let Some(inside) = self.inside(&next) {
                self.ways.insert(inside, identity);
            }
            let Some(found) = found else {
                return Ok(());
            };
            if !found.is_symlink() {
                here = next;
                continue;
            }
            links += 1;
            if links > LINKS {
                return Ok(());
            }
            let target = fs::read_link(&next)?;
            if target.is_absolute() {
                here = PathBuf::from("/");
            }
            left.extend(names(&target));
        }
        if let Some(end) = self.inside(&here)
            && !self.protected.keys().any(|it| end.starts_with(it))
            && let Some(Some(identity)) = self.ways.get(&end)
        {
            self.protected.insert(end, *identity);
        }
        Ok(())
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.root).ok()?;
        (inside != Path::new("")).then(|| inside.to_owned())
    }

    /// Returns whether a path of the workspace is protected, or above what is.
    pub(super) fn is_above_protected(&self, path: &Path) -> bool {
        let mut below = self.protected.keys().chain(self.ways.keys());
        below.any(|protected| protected.starts_with(path))
    }

    /// Returns whether a path is what no command may change.
    pub(super) fn is_protected(&self, path: &Path) -> bool {
        self.protected.contains_key(path)
    }
}

/// The names of a path, the first one last; an absolute path begins elsewhere.
fn names(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => names.push("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names.reverse();
    names
}

fn about(path: &Path, message: &str) -> io::Error {
    io::Error::other(format!("{} {message}", path.display()))
}
