//! The repositories of a workspace, and those that a command has made.
//!
//! A repository has settings and hooks that start programs, at the next `git status` of the user, outside the sandbox. Those that are
//! there when a command starts cannot be changed by it; those that it makes are disarmed when it has ended.

mod settings;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::fs::{Dir, Metadata};

use crate::workspace::repository::{Layout, is_dot_git};

/// Levels of folders. More of them cannot be looked at with a limited number of open files.
const DEPTH: usize = 200;

/// Notes about single repositories.
const NOTES: usize = 5;

/// What Git runs code from, in one workspace.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    /// Paths of entries named `.git`, of other folders that are laid out as a repository, and of what their settings name.
    protected: BTreeSet<PathBuf>,
    /// The entries by device and number, because a command may move a folder with a repository in it.
    known: BTreeSet<(u64, u64)>,
    /// Paths that settings name, and that do not exist.
    absent: Vec<PathBuf>,
}

/// An entry of a folder by which Git would use a repository.
struct Found<'d> {
    folder: &'d Dir,
    name: &'d OsStr,
    path: PathBuf,
}

impl Repositories {
    /// Finds the repositories of a workspace, whose absolute path is `root`, and has each protected in its folder.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, or a repository cannot be protected.
    pub(super) fn find(
        workspace: &Dir,
        root: &Path,
        mut protect: impl FnMut(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut all = Self::default();
        let mut named = BTreeSet::new();
        if Layout::of(workspace)?.is_complete() {
            let message = "the workspace itself is laid out as a folder of Git, which the sandbox cannot protect";
            return Err(io::Error::other(message));
        }
        walk(workspace, &mut |found| {
            let metadata = found.metadata()?;
            if metadata.is_symlink() {
                let message = "is a link, which the sandbox cannot protect";
                return Err(about(&found.path, message));
            }
            named.extend(settings::named_by(workspace, root, &found.path)?);
            all.add(&found, &metadata);
            protect(found.folder, found.name)
        })?;
        for path in named {
            all.add_named(workspace, path, &mut protect)?;
        }
        Ok(all)
    }

    fn add(&mut self, found: &Found<'_>, metadata: &Metadata) {
        self.protected.insert(found.path.clone());
        self.known.insert((metadata.dev(), metadata.ino()));
    }

    /// Adds what settings name: hooks and further settings. Links on the way are protected, too.
    fn add_named(
        &mut self,
        workspace: &Dir,
        path: PathBuf,
        protect: &mut impl FnMut(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let is_protected = |path: &Path| self.protected.iter().any(|it| path.starts_with(it));
        let Ok(path) = workspace.canonicalize(&path) else {
            self.absent.push(path);
            return Ok(());
        };
        let Some(name) = path.file_name().filter(|_| !is_protected(&path)) else {
            return Ok(());
        };
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => workspace.open_dir(parent)?,
            _ => workspace.try_clone()?,
        };
        let found = Found {
            folder: &folder,
            name,
            path: path.clone(),
        };
        let metadata = found.metadata()?;
        self.add(&found, &metadata);
        protect(&folder, name)
    }

    /// Returns whether a path of the workspace is protected, or above what is.
    pub(super) fn is_above_protected(&self, path: &Path) -> bool {
        let mut below = self.protected.iter().chain(&self.absent);
        below.any(|protected| protected.starts_with(path))
    }

    /// Returns whether a path is what no command may change.
    pub(super) fn is_protected(&self, path: &Path) -> bool {
        self.protected.contains(path)
    }

    /// Disarms the repositories that were made since: entries named `.git` and files `HEAD` get another name.
    ///
    /// Returns a note for each.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, or a repository cannot be disarmed. The others are.
    pub(super) fn disarm_new(&self, workspace: &Dir) -> io::Result<Vec<String>> {
        let mut new = Vec::new();
        let searched = walk(workspace, &mut |found| {
            let metadata = found.metadata()?;
            if !self.known.contains(&(metadata.dev(), metadata.ino())) {
                new.push(found.path);
            }
            Ok(())
        });
        if Layout::of(workspace)?.is_complete() {
            new.push(head_of(workspace, Path::new(""))?);
        }
        for path in &self.absent {
            if workspace.symlink_metadata(path).is_ok() {
                new.push(path.clone());
            }
        }
        new.sort();
        let mut notes = Vec::new();
        let mut failed = searched.err();
        for path in &new {
            match disarm(workspace, path) {
                Ok((from, to)) if notes.len() < NOTES => {
                    notes.push(format!(
                        "{} was renamed to {}",
                        from.display(),
                        to.display()
                    ));
                }
                Ok(_) => {}
                Err(error) => {
                    let message =
                        format!("would make Git run code, and cannot be renamed: {error}");
                    failed.get_or_insert(about(path, &message));
                }
            }
        }
        if new.len() > NOTES {
            notes.push(format!("{} more", new.len() - NOTES));
        }
        failed.map_or(Ok(notes), Err)
    }
}

impl Found<'_> {
    fn metadata(&self) -> io::Result<Metadata> {
        self.folder.symlink_metadata(self.name)
    }
}

/// Gives what makes a repository another name; returns its old and its new path.
fn disarm(workspace: &Dir, path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let name = path.file_name().unwrap_or_default();
    let is_folder = workspace.symlink_metadata(path)?.is_dir();
    let is_bare = is_folder && !is_dot_git(name) && !is_named_by_settings(workspace, path)?;
    if is_bare {
        let head = head_of(workspace, path)?;
        return Ok((head.clone(), rename(workspace, &head)?));
    }
    let to = rename(workspace, path)?;
    if is_folder && let Ok(head) = head_of(workspace, &to) {
        // Under its new name it would be a bare repository.
        rename(workspace, &head)?;
    }
    Ok((path.to_owned(), to))
}

/// Whether a folder is not laid out as a repository, so that it is there because settings name it.
fn is_named_by_settings(workspace: &Dir, path: &Path) -> io::Result<bool> {
    Ok(!Layout::of(&workspace.open_dir_nofollow(path)?)?.is_complete())
}

fn head_of(workspace: &Dir, path: &Path) -> io::Result<PathBuf> {
    let folder = if path.as_os_str().is_empty() {
        workspace.try_clone()?
    } else {
        workspace.open_dir_nofollow(path)?
    };
    let mut entries = folder.entries()?;
    let head = entries.find_map(|entry| {
        let name = entry.ok()?.file_name();
        name.eq_ignore_ascii_case("HEAD").then_some(name)
    });
    let head = head.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
    Ok(path.join(head))
}

fn rename(workspace: &Dir, path: &Path) -> io::Result<PathBuf> {
    for number in 1..1000 {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".untrusted-{number}"));
        let to = path.with_file_name(name);
        if workspace.symlink_metadata(&to).is_err() {
            workspace.rename(path, workspace, &to)?;
            return Ok(to);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Visits what makes repositories below a folder. Those are not searched themselves.
fn walk(workspace: &Dir, visit: &mut impl FnMut(Found<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut open = vec![Level::of(workspace.try_clone()?, PathBuf::new(), visit)?];
    while let Some(level) = open.last_mut() {
        let Some(name) = level.folders.pop() else {
            open.pop();
            continue;
        };
        let path = level.path.join(&name);
        let inner = match level.dir.open_dir_nofollow(&name) {
            Ok(inner) => inner,
            Err(error) if is_not_ours(&level.dir, &name, &error) => continue,
            Err(error) => return Err(about(&path, &format!("cannot be searched: {error}"))),
        };
        if Layout::of(&inner)?.is_complete() {
            visit(Found {
                folder: &level.dir,
                name: &name,
                path,
            })?;
            continue;
        }
        let next = Level::of(inner, path, visit)?;
        if open.len() >= DEPTH {
            return Err(about(
                &next.path,
                "is too deep in other folders to be searched",
            ));
        }
        open.push(next);
    }
    Ok(())
}

/// A folder on the way.
struct Level {
    dir: Dir,
    path: PathBuf,
    /// Its folders that were not visited.
    folders: Vec<OsString>,
}

impl Level {
    fn of(
        dir: Dir,
        path: PathBuf,
        visit: &mut impl FnMut(Found<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut folders = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dot_git(&name) {
                let path = path.join(&name);
                visit(Found {
                    folder: &dir,
                    name: &name,
                    path,
                })?;
            } else if entry.file_type()?.is_dir() {
                folders.push(name);
            }
        }
        Ok(Self { dir, path, folders })
    }
}

/// Whether a folder is gone, or belongs to another user, so that a command cannot open it either.
fn is_not_ours(parent: &Dir, name: &OsStr, error: &io::Error) -> bool {
    let is_gone = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    is_gone
        || error.kind() == ErrorKind::PermissionDenied
            && parent.symlink_metadata(name).is_ok_and(|found| {
                let owner = cap_std::fs::MetadataExt::uid(&found);
                owner != rustix::process::geteuid().as_raw()
            })
}

fn about(path: &Path, message: &str) -> io::Error {
    io::Error::other(format!("{} {message}", path.display()))
}
