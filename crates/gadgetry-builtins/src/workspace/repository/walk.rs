//! All folders of a workspace, and what makes repositories of them.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

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

/// Visits what makes repositories below a folder: entries named `.git`, and folders that are laid out as one. `visit` returns whether to
/// search in it as well; `failed` whether to continue after a folder that cannot be searched.
pub(crate) fn walk(
    workspace: &Dir,
    failed: &mut impl FnMut(io::Error) -> io::Result<()>,
    visit: &mut impl FnMut(Found<'_>) -> io::Result<bool>,
) -> io::Result<()> {
    let mut open = vec![Level::of(workspace.try_clone()?, PathBuf::new(), visit)?];
    while let Some(level) = open.last_mut() {
        let Some(name) = level.folders.pop() else {
            open.pop();
            continue;
        };
        match level.enter(&name, visit) {
            Ok(Some(next)) if open.len() < DEPTH => open.push(next),
            Ok(Some(next)) => failed(about(
                &next.path,
                "is too deep in other folders to be searched",
            ))?,
            Ok(None) => {}
            Err(error) => failed(error)?,
        }
    }
    Ok(())
}

/// A folder on the way.
struct Level {
    dir: Dir,
    path: PathBuf,
    /// Folders that were not searched.
    folders: Vec<OsString>,
}

impl Level {
    fn of(
        dir: Dir,
        path: PathBuf,
        visit: &mut impl FnMut(Found<'_>) -> io::Result<bool>,
    ) -> io::Result<Self> {
        let mut folders = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let is_folder = entry.file_type()?.is_dir();
            if is_repository_name(&name) {
                let path = path.join(&name);
                let search = visit(Found {
                    folder: &dir,
                    name: &name,
                    path,
                })?;
                if search && is_folder {
                    folders.push(name);
                }
            } else if is_folder {
                folders.push(name);
            }
        }
        Ok(Self { dir, path, folders })
    }

    /// Opens one of its folders; `None` if there is nothing to search in it.
    fn enter(
        &self,
        name: &OsStr,
        visit: &mut impl FnMut(Found<'_>) -> io::Result<bool>,
    ) -> io::Result<Option<Self>> {
        let path = self.path.join(name);
        let inner = match self.dir.open_dir_nofollow(name) {
            Ok(inner) => inner,
            Err(error) if self.is_not_ours(name, &error) => return Ok(None),
            Err(error) => return Err(about(&path, &format!("cannot be searched: {error}"))),
        };
        // One named `.git` or `.hg` was visited as an entry of its folder.
        if !is_repository_name(name) && Layout::of(&inner)?.is_complete() {
            let path = path.clone();
            if !visit(Found {
                folder: &self.dir,
                name,
                path,
            })? {
                return Ok(None);
            }
        }
        Self::of(inner, path, visit).map(Some)
    }

    /// Returns whether a folder is gone, or belongs to another user, so that a command cannot open it either.
    fn is_not_ours(&self, name: &OsStr, error: &io::Error) -> bool {
        let is_gone = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        is_gone || error.kind() == ErrorKind::PermissionDenied && self.is_of_another(name)
    }

    #[cfg(target_os = "linux")]
    fn is_of_another(&self, name: &OsStr) -> bool {
        self.dir.symlink_metadata(name).is_ok_and(|found| {
            let owner = cap_std::fs::MetadataExt::uid(&found);
            owner != rustix::process::geteuid().as_raw()
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn is_of_another(&self, _: &OsStr) -> bool {
        false
    }
}
