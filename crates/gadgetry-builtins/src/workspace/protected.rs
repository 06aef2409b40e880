//! Files of the workspace that the program itself runs or reads: scripts of its hooks, its settings.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::repository::{lines, ways};
use super::{FileError, Workspace, WorkspacePath, searched};

/// Returns the files that a command line names, for [`Workspace::protect`]: those that its words lead to from the first folder, and
/// those in any of the folders whose name is in the line, together with the names of all folders between.
///
/// So it does not matter how the line leads to them. What they load or start in turn is unknown.
///
/// # Errors
///
/// If a folder cannot be searched, or has too many entries, or if the line is too long.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("guard.sh"), "exit 0")?;
/// let files = gadgetry_builtins::files_in_line("sh \"$(pwd)/guard.sh\"", &[folder.path()])?;
/// assert_eq!(files, [folder.path().join("guard.sh")]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn files_in_line(line: &str, folders: &[&Path]) -> io::Result<Vec<PathBuf>> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let first = folders.first().copied().unwrap_or(Path::new("/"));
    let words = lines::words(line).into_iter().map(|word| {
        let in_home = word.strip_prefix("~/").map(|rest| home.join(rest));
        in_home.unwrap_or_else(|| first.join(word))
    });
    // Its folders are not among them: `cargo test src` reads `src`.
    let mut files: Vec<PathBuf> = words.filter(|path| path.is_file()).collect();
    for folder in folders {
        files.extend(lines::files_below(folder, line.as_bytes())?);
    }
    Ok(files)
}

impl Workspace {
    /// Protects files from which this program itself runs code, such as the scripts of hooks: built-in gadgets do not change them, and
    /// neither do commands in the sandbox. Paths are absolute. Those outside the workspace have no effect. A folder is protected with
    /// everything below it, unless it is the workspace itself: then the sandbox refuses all commands.
    ///
    /// ```
    /// use gadgetry_builtins::Workspace;
    /// let folder = tempfile::tempdir()?;
    /// let workspace = Workspace::open(folder.path())?;
    /// workspace.protect([workspace.root().join("guard.sh")]);
    /// assert!(workspace.write(&workspace.resolve("guard.sh")?, b"exit 0").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn protect(&self, files: impl IntoIterator<Item = impl Into<PathBuf>>) {
        let protected = self.protected.lock();
        let mut protected = protected.unwrap_or_else(PoisonError::into_inner);
        protected.extend(files.into_iter().map(Into::into));
    }

    /// Protects what `PATH` finds in the workspace.
    pub(crate) fn protect_searched(&self) {
        self.protect(searched::folders_in(self.root()));
    }

    /// Returns the files that [`protect`](Self::protect) was given.
    pub(crate) fn protected(&self) -> Vec<PathBuf> {
        let protected = self.protected.lock();
        let protected = protected.unwrap_or_else(PoisonError::into_inner);
        protected.iter().cloned().collect()
    }

    /// Fails for a protected file, for what is below it, for a link on the way to it, and for the folders that they are in.
    pub(super) fn refuse_protected(&self, path: &WorkspacePath) -> Result<(), FileError> {
        let is_at = |entry: &Path| {
            let inside = entry.strip_prefix(self.root()).unwrap_or(Path::new(""));
            let is_inside = !inside.as_os_str().is_empty();
            is_inside && (inside.starts_with(path.as_path()) || path.as_path().starts_with(inside))
        };
        for file in self.protected() {
            let mut is_refused = is_at(&ways::normal(&file));
            let end = ways::follow(&file, &mut |entry, found| {
                let is_link = found.is_some_and(std::fs::Metadata::is_symlink);
                is_refused |= is_link && is_at(entry);
            });
            let end = end.map_err(|source| FileError::io(path, source))?;
            if is_refused || end.is_some_and(|end| is_at(&end)) {
                return Err(FileError::Protected(path.clone()));
            }
        }
        Ok(())
    }
}
