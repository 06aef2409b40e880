//! Paths as models write them, resolved.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A path in a workspace: relative to it, without `.`, `..` and symbolic links.
///
/// Its text has `/` between names, and is `.` for the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(pub(super) PathBuf);

/// Text in place of what a line cannot have. A path with it means the one file that is shown like this.
pub(crate) const REPLACED: &str = "\u{fffd}";

/// Returns whether a character may begin another line, or is not seen.
fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns whether the name of a file is shown as `text`, also between the separators of a list.
pub(super) fn is_shown_as(name: &OsStr, text: &str) -> bool {
    let name = name.to_string_lossy();
    let is_same = |(c, shown): (char, char)| {
        c == shown || shown == char::REPLACEMENT_CHARACTER && (breaks_line(c) || c == '|')
    };
    name.chars().count() == text.chars().count() && name.chars().zip(text.chars()).all(is_same)
}

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
        self.to_string().replace(breaks_line, REPLACED)
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
