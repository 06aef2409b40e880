//! Paths as models write them, resolved.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::repository::is_dot_git;
use super::{FileError, Workspace};

/// Bytes of a path.
const LENGTH_LIMIT: usize = 4096;

/// Attempts to resolve a path while the file is replaced again and again.
const ATTEMPTS: usize = 100;

/// A path in a workspace: relative to it, without `.`, `..` and symbolic links.
///
/// Its text has `/` between names, and is `.` for the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(PathBuf);

impl WorkspacePath {
    /// Returns it as a path relative to the workspace; `.` for the workspace itself.
    pub fn as_path(&self) -> &Path {
        if self.is_root() {
            Path::new(".")
        } else {
            &self.0
        }
    }

    /// Returns whether it is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.as_os_str().is_empty()
    }

    /// Returns its text as a part of one line: a line break in a name would begin a line that looks like another file.
    pub(crate) fn on_one_line(&self) -> String {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        self.to_string().replace(breaks, "?")
    }

    pub(super) fn root() -> Self {
        Self(PathBuf::new())
    }

    pub(super) fn join(&self, name: impl AsRef<Path>) -> Self {
        Self(self.0.join(name))
    }

    /// The names of its folders and the last one.
    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.components().map(Component::as_os_str)
    }

    /// The folder, and the name in it; `None` for the workspace itself.
    pub(super) fn split(&self) -> Option<(Self, &OsStr)> {
        let parent = self.0.parent()?;
        Some((Self(parent.to_owned()), self.0.file_name()?))
    }

    /// Fails for the files of Git: its settings and hooks start programs.
    pub(super) fn refuse_git(&self) -> Result<(), FileError> {
        if self.names().any(is_dot_git) {
            return Err(FileError::Git(self.clone()));
        }
        Ok(())
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (index, name) in self.0.components().enumerate() {
            let separator = if index == 0 { "" } else { "/" };
            write!(f, "{separator}{}", Path::new(name.as_os_str()).display())?;
        }
        Ok(())
    }
}

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
                Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
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

    /// Whether the file was replaced while its path was resolved: Linux then calls it `NAME (deleted)`.
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
        if !written.has_root() {
            return Ok(written.components().collect());
        }
        let inside = written.strip_prefix(self.root());
        let inside = inside.map_err(|_| FileError::Outside(path.to_owned()))?;
        Ok(inside.to_owned())
    }
}
