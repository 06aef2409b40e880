//! Files of the workspace that the program itself runs or reads: scripts of its hooks, its settings.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::repository::ways;
use super::{FileError, Workspace, WorkspacePath};

impl Workspace {
    /// Protects files from which this program itself runs code, such as the scripts of hooks: built-in gadgets do not change them, and
    /// neither do commands in the sandbox. Paths are absolute. Those outside the workspace have no effect.
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

    /// Returns the files that [`protect`](Self::protect) was given.
    pub(crate) fn protected(&self) -> Vec<PathBuf> {
        let protected = self.protected.lock();
        let protected = protected.unwrap_or_else(PoisonError::into_inner);
        protected.iter().cloned().collect()
    }

    /// Fails for a protected file, for a link on the way to it, and for the folders that they are in.
    pub(super) fn refuse_protected(&self, path: &WorkspacePath) -> Result<(), FileError> {
        let is_at = |entry: &Path| {
            let inside = entry.strip_prefix(self.root());
            inside.is_ok_and(|inside| inside.starts_with(path.as_path()))
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
