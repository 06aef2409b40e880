//! All folders of a workspace, and what makes repositories of them.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::fs::{Dir, Metadata};

use super::{Identity, Layout, about, is_repository_name};

/// Levels of folders. More of them cannot be looked at with a limited number of open files.
const DEPTH: usize = 200;

/// An entry of a folder by which Git would use a repository.
pub(crate) struct Found<'d> {
    pub(crate) folder: &'d Dir,
    pub(crate) name: &'d OsStr,
    pub(crate) path: PathBuf,
}

impl Found<'_> {
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.folder.symlink_metadata(self.name)
    }

    pub(crate) fn identity(&self) -> io::Result<Identity> {
        let metadata = self.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

/// The use of a walk.
pub(crate) trait Search {
    /// Takes what makes a repository. Returns the name by which it is searched as well, which may be a new one.
    fn found(&mut self, found: &Found<'_>) -> io::Result<Option<OsString>>;

    /// Takes the error of a folder that cannot be searched; returns one that ends the walk.
    fn failed(&mut self, error: io::Error) -> io::Result<()> {
        Err(error)
    }

    /// Called for each entry; an error that it has timed out ends the walk.
    fn step(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called for each folder before it is read.
    fn entered(&mut self, _folder: &Dir) {}

    /// Takes a folder that its owner cannot open. Returns whether it can be opened now.
    fn closed(&mut self, _folder: &Dir, _name: &OsStr) -> bool {
        false
    }
}

/// Visits what makes repositories below a folder: entries named `.git`, and folders that are laid out as one.
pub(crate) fn walk(workspace: &Dir, search: &mut impl Search) -> io::Result<()> {
    let first = Level {
        names: Names::of(workspace, search)?,
        dir: workspace.try_clone()?,
        path: PathBuf::new(),
    };
    let mut open = vec![first.visited(search)?];
    while let Some(level) = open.last_mut() {
        let Some(name) = level.names.folders.pop() else {
            open.pop();
            continue;
        };
        match level.enter(&name, search) {
            Ok(Some(next)) if open.len() < DEPTH => open.push(next),
            Ok(Some(next)) => search.failed(about(
                &next.path,
                "is too deep in other folders to be searched",
            ))?,
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
            Err(error) => search.failed(error)?,
        }
    }
    Ok(())
}

/// The names in a folder.
#[derive(Default)]
struct Names {
    layout: Layout,
    /// Entries named `.git`, and whether they are folders.
    repositories: Vec<(OsString, bool)>,
    /// Folders that were not searched.
    folders: Vec<OsString>,
}

impl Names {
    fn of(dir: &Dir, search: &mut impl Search) -> io::Result<Self> {
        let mut names = Self::default();
        for entry in dir.entries()? {
            search.step()?;
            let entry = entry?;
            let (name, is_folder) = (entry.file_name(), entry.file_type()?.is_dir());
            names.layout.add(&name, is_folder);
            if is_repository_name(&name) {
                names.repositories.push((name, is_folder));
            } else if is_folder {
                names.folders.push(name);
            }
        }
        Ok(names)
    }
}

/// A folder on the way.
struct Level {
    dir: Dir,
    path: PathBuf,
    names: Names,
}

impl Level {
    /// Has its entries visited. Not while it is read: what is renamed meanwhile may be read again.
    fn visited(mut self, search: &mut impl Search) -> io::Result<Self> {
        for (name, is_folder) in std::mem::take(&mut self.names.repositories) {
            search.step()?;
            let inside = search.found(&Found {
                folder: &self.dir,
                name: &name,
                path: self.path.join(&name),
            })?;
            self.names.folders.extend(inside.filter(|_| is_folder));
        }
        Ok(self)
    }

    /// Opens one of its folders; `None` if there is nothing to search in it.
    fn enter(&self, name: &OsStr, search: &mut impl Search) -> io::Result<Option<Self>> {
        let path = self.path.join(name);
        let mut read = self.read(name, search);
        let is_closed = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        if read.as_ref().is_err_and(is_closed) && search.closed(&self.dir, name) {
            read = self.read(name, search);
        }
        let (dir, names) = match read {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
            Err(error) if self.is_not_ours(name, &error) => return Ok(None),
            Err(error) => return Err(about(&path, &format!("cannot be searched: {error}"))),
        };
        // One named `.git` or `.hg` was visited as an entry of its folder.
        if !is_repository_name(name) && names.layout.is_complete() {
            let found = Found {
                folder: &self.dir,
                name,
                path: path.clone(),
            };
            if search.found(&found)?.is_none() {
                return Ok(None);
            }
        }
        Self { dir, path, names }.visited(search).map(Some)
    }

    /// A folder that cannot be read may be opened all the same.
    fn read(&self, name: &OsStr, search: &mut impl Search) -> io::Result<(Dir, Names)> {
        let dir = self.dir.open_dir_nofollow(name)?;
        search.entered(&dir);
        let names = Names::of(&dir, search)?;
        Ok((dir, names))
    }

    /// Returns whether a folder is gone, or belongs to another user, so that a command cannot enter it either.
    fn is_not_ours(&self, name: &OsStr, error: &io::Error) -> bool {
        let is_gone = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        is_gone || error.kind() == ErrorKind::PermissionDenied && self.is_of_another(name)
    }

    #[cfg(target_os = "linux")]
    fn is_of_another(&self, name: &OsStr) -> bool {
        let entry = self.dir.symlink_metadata(Path::new(name).join("entry"));
        // What is in a folder with mode 711 cannot be listed, but may be ours.
        let is_closed = entry.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        is_closed
            && self.dir.symlink_metadata(name).is_ok_and(|found| {
                let owner = cap_std::fs::MetadataExt::uid(&found);
                owner != rustix::process::geteuid().as_raw()
            })
    }

    #[cfg(not(target_os = "linux"))]
    fn is_of_another(&self, _: &OsStr) -> bool {
        false
    }
}
