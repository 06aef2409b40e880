//! Files of the workspace from which Git runs code because its settings name them: hooks, monitors, templates, more settings.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::repository::{settings, walk, ways};
use super::{FileError, Workspace, WorkspacePath};

impl Workspace {
    /// Fails for a path that settings of Git name, for what is below it, and for the folders that it is in.
    ///
    /// Settings are those of all repositories in the workspace and above it, and of the user. A setting whose file does not exist
    /// counts as well.
    pub(super) fn refuse_named(&self, path: &WorkspacePath) -> Result<(), FileError> {
        let named = self.named().map_err(|source| FileError::io(path, source))?;
        let path_itself = path.as_path();
        let is_named = named.iter().any(|named| {
            if named.as_os_str().is_empty() {
                // Hooks in the workspace itself.
                return path_itself.components().count() == 1;
            }
            path_itself.starts_with(named) || named.starts_with(path_itself)
        });
        if is_named {
            return Err(FileError::NamedByGit(path.clone()));
        }
        Ok(())
    }

    /// The paths in the workspace that settings name, as they are written and where their links lead.
    fn named(&self) -> io::Result<Vec<PathBuf>> {
        let mut named = settings::named_above(self.root())?;
        let mut search = All(Vec::new());
        walk::walk(self.dir(), &mut search)?;
        for path in search.0 {
            named.extend(settings::named_by(&self.root().join(path))?);
        }
        let mut inside = Vec::new();
        for path in named {
            inside.extend(self.inside(&ways::normal(&path)));
            let mut links = Vec::new();
            let end = ways::follow(&path, &mut |entry, found| {
                if found.is_some_and(std::fs::Metadata::is_symlink) {
                    links.push(entry.to_owned());
                }
            })?;
            inside.extend(
                links
                    .iter()
                    .chain(&end)
                    .filter_map(|path| self.inside(path)),
            );
        }
        Ok(inside)
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(self.root()).ok().map(Path::to_owned)
    }
}

/// Repositories of the workspace and above it.
struct All(Vec<PathBuf>);

impl walk::Search for All {
    fn found(&mut self, found: &walk::Found<'_>) -> io::Result<Option<OsString>> {
        self.0.push(found.path.clone());
        Ok(None)
    }

    /// A folder that cannot be searched has no repository that Git could use.
    fn failed(&mut self, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}
