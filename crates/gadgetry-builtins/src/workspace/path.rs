//! Paths as models write them, resolved.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A path in a workspace: relative to it, without `.`, `..` and symbolic links.
///
/// Its text has `/` between names, and is `.` for the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(pub(super) PathBuf);

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

    pub(crate) fn root() -> Self {
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
