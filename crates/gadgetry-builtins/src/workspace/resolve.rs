//! From a path as a model writes it to an entry of an open folder.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::fs::{Dir, File, Metadata};

use super::Workspace;
use super::error::FileError;
use super::path::{WorkspacePath, is_shown_as};
use super::place::{Place, open_file, refuse_git, refuse_repository};
use super::repository::is_in_repository;

/// Maximum number of bytes of a path.
const LENGTH_LIMIT: usize = 4096;

/// Attempts to resolve a path while the file is replaced again and again.
const ATTEMPTS: usize = 100;

impl Workspace {
    /// Resolves a path: relative to the workspace, or absolute and inside it. Its last names need not exist.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it leads outside, or through something that is not a folder.
    pub fn resolve(&self, path: &str) -> Result<WorkspacePath, FileError> {
        let (existing, missing) = self.split(path)?;
        let mut resolved = WorkspacePath(existing);
        for name in missing {
            resolved = resolved.join(name);
        }
        Ok(resolved)
    }

    /// Resolves a path, but not a link that is its last name.
    pub(crate) fn resolve_entry(&self, path: &str) -> Result<WorkspacePath, FileError> {
        let relative = self.relative(path)?;
        let Some(Component::Normal(name)) = relative.components().next_back() else {
            // `.` and `..` name no entry of a folder.
            return self.resolve(path);
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        let parent = self.existing(parent, path)?;
        Ok(WorkspacePath(parent).join(name))
    }

    /// The part of a path that exists, resolved, and the names after it.
    fn split(&self, path: &str) -> Result<(PathBuf, Vec<std::ffi::OsString>), FileError> {
        let relative = self.relative(path)?;
        let mut missing = Vec::new();
        let mut existing: &Path = &relative;
        loop {
            match self.existing(existing, path) {
                Ok(resolved) => {
                    missing.reverse();
                    return Ok((resolved, missing));
                }
                Err(FileError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if self.dir().symlink_metadata(existing).is_ok() {
                return Err(FileError::BrokenLink(path.to_owned()));
            }
            // A `..` after a name that does not exist would have nothing to go up from.
            let Some(Component::Normal(name)) = existing.components().next_back() else {
                return Err(FileError::io(path, io::ErrorKind::NotFound.into()));
            };
            missing.push(name.to_owned());
            existing = existing.parent().unwrap_or(Path::new(""));
        }
    }

    fn existing(&self, relative: &Path, path: &str) -> Result<PathBuf, FileError> {
        if relative.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        for _ in 0..ATTEMPTS {
            let resolved = self.dir().canonicalize(relative);
            let resolved = resolved.map_err(|source| FileError::io(path, source))?;
            if !self.is_stale(&resolved) {
                let names = resolved.components();
                return Ok(names
                    .filter(|name| matches!(name, Component::Normal(_)))
                    .collect());
            }
        }
        Err(FileError::io(path, io::ErrorKind::Interrupted.into()))
    }

    /// Returns whether the file was replaced while its path was resolved: Linux then calls it `NAME (deleted)`.
    fn is_stale(&self, resolved: &Path) -> bool {
        let name = resolved.file_name().unwrap_or_default();
        name.as_encoded_bytes().ends_with(b" (deleted)")
            && self.dir().symlink_metadata(resolved).is_err()
    }

    /// A path relative to the workspace, not yet resolved.
    fn relative(&self, path: &str) -> Result<PathBuf, FileError> {
        if path.contains('\0') {
            return Err(FileError::Path("it contains a NUL character"));
        }
        if path.len() > LENGTH_LIMIT {
            return Err(FileError::Path("it has more than 4096 bytes"));
        }
        let written = Path::new(path.trim());
        let relative = if written.has_root() {
            let inside = written.strip_prefix(self.root());
            let inside = inside.map_err(|_| FileError::Outside(path.to_owned()))?;
            inside.to_owned()
        } else {
            written.components().collect()
        };
        if path.contains(char::REPLACEMENT_CHARACTER) {
            return self.shown(&relative);
        }
        Ok(relative)
    }

    /// The path with the names of the files that are shown like this because they are not UTF-8, or no part of a line.
    fn shown(&self, shown: &Path) -> Result<PathBuf, FileError> {
        let mut path = PathBuf::new();
        for name in shown.components() {
            let name = name.as_os_str();
            let text = name.to_string_lossy();
            let is_shown = text.contains(char::REPLACEMENT_CHARACTER);
            if !is_shown || self.dir().symlink_metadata(path.join(name)).is_ok() {
                path.push(name);
                continue;
            }
            let folder = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &path
            };
            // A folder that cannot be read has no such name.
            let entries = self.dir().read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name());
            let mut names = names.filter(|it| is_shown_as(it, &text));
            let found = names.next();
            if names.next().is_some() {
                return Err(FileError::Path(
                    "several names are shown like this; a command can rename them",
                ));
            }
            path.push(found.as_deref().unwrap_or(name));
        }
        Ok(path)
    }
}

impl Workspace {
    /// Opens a folder, name by name. The path is resolved already, so a link in it was put there since, and is an error.
    pub(crate) fn open_folder(&self, path: &WorkspacePath) -> Result<Dir, FileError> {
        let failed = |source| FileError::io(path, source);
        let mut dir = self.dir().try_clone().map_err(failed)?;
        for name in path.names() {
            dir = dir.open_dir_nofollow(name).map_err(failed)?;
        }
        Ok(dir)
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: &WorkspacePath) -> Result<(File, Metadata), FileError> {
        let Some((parent, name)) = path.split() else {
            return Err(FileError::IsFolder(path.clone()));
        };
        let dir = self.open_folder(&parent);
        // The error is about the path, not about a part of it.
        let dir = dir.map_err(|error| error.about(path))?;
        open_file(&dir, name, path, self.hard_links)
    }

    /// Opens the folder of an entry that is to be changed. Fails for all that Git runs code from, and this program: see
    /// [`super::repository`], [`super::named`] and [`super::protected`].
    pub(super) fn place(&self, path: &WorkspacePath) -> Result<Place, FileError> {
        let place = self.place_of(path)?;
        self.refuse_named(path)?;
        self.refuse_protected(path)?;
        Ok(place)
    }

    fn place_of(&self, path: &WorkspacePath) -> Result<Place, FileError> {
        refuse_git(path)?;
        if is_in_repository(self.root()) {
            return Err(FileError::Git(path.clone()));
        }
        let failed = |source| FileError::io(path, source);
        let (parent, name) = path
            .split()
            .ok_or_else(|| FileError::IsFolder(path.clone()))?;
        let mut dir = self.dir().try_clone().map_err(failed)?;
        let mut missing = Vec::new();
        refuse_repository(&dir, path)?;
        for name in parent.names() {
            if missing.is_empty() {
                match dir.open_dir_nofollow(name) {
                    Ok(inner) => {
                        refuse_repository(&inner, path)?;
                        dir = inner;
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => return Err(failed(source)),
                }
            }
            missing.push(name.to_owned());
        }
        Ok(Place {
            path: path.clone(),
            dir,
            missing,
            name: name.to_owned(),
        })
    }
}

impl Workspace {
    /// Writes the file of a place. If its folder was moved meanwhile, the write is undone: the folder may be `.git` now.
    pub(super) fn put(
        &self,
        place: &Place,
        content: &[u8],
        before: Option<&(Vec<u8>, Metadata)>,
    ) -> Result<(), FileError> {
        if self.put_in_editor(place, content)? {
            return Ok(());
        }
        let parent = place.replace(content, before.map(|(_, metadata)| metadata))?;
        if self.is_at(place, &parent) {
            return Ok(());
        }
        let undone = match before {
            Some((bytes, metadata)) => place.write_in(&parent, bytes, Some(metadata)),
            None => parent.remove_file(&place.name),
        };
        Err(FileError::Moved {
            path: place.path.clone(),
            kept: undone.err(),
        })
    }

    /// Fails if the folder of a place is not where it was.
    pub(super) fn refuse_moved(&self, place: &Place) -> Result<(), FileError> {
        self.refuse_moved_to(place, &place.dir)
    }

    /// Fails if the path of a place does not lead to this folder.
    pub(super) fn refuse_moved_to(&self, place: &Place, parent: &Dir) -> Result<(), FileError> {
        if self.is_at(place, parent) {
            return Ok(());
        }
        let path = place.path.clone();
        Err(FileError::Moved { path, kept: None })
    }

    /// Returns whether the path of a place still leads to this folder, and through no repository.
    fn is_at(&self, place: &Place, parent: &Dir) -> bool {
        let Ok(now) = self.place_of(&place.path) else {
            return false;
        };
        let same =
            |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        let both = (now.dir.dir_metadata(), parent.dir_metadata());
        now.missing.is_empty() && matches!(both, (Ok(now), Ok(then)) if same(&now, &then))
    }
}
