//! Deleting a folder with everything in it.

use std::ffi::OsString;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use super::repository::markers;
use super::{FileError, WorkspacePath, state};

/// Levels of folders that are deleted. Each has an open file.
const DEPTH_LIMIT: usize = 256;

/// Fails if something in a folder must stay: a repository of Git, or what `may` refuses. Nothing is deleted.
pub(super) fn check<E: From<FileError>>(
    dir: &Dir,
    path: &WorkspacePath,
    may: &mut dyn FnMut(&WorkspacePath) -> Result<(), E>,
) -> Result<(), E> {
    each(dir, path, DEPTH_LIMIT, &mut |_, path, _| may(path))
}

/// Adds what is in a folder to a hash, and counts the files and links. Fails if it has a repository of Git in it.
pub(super) fn add_state(
    dir: &Dir,
    path: &WorkspacePath,
    hash: &mut Sha256,
) -> Result<usize, FileError> {
    let mut files = 0;
    each(dir, path, DEPTH_LIMIT, &mut |dir, path, entry| {
        files += usize::from(!entry.is_folder);
        let metadata = dir.symlink_metadata(&entry.name);
        let metadata = metadata.map_err(|source| FileError::io(path, source))?;
        hash.update(path.to_string());
        hash.update(if metadata.is_dir() {
            state::identity(&metadata)
        } else {
            state::of(&metadata)
        });
        hash.update([0]);
        Ok::<(), FileError>(())
    })?;
    Ok(files)
}

/// Deletes everything in a folder.
pub(super) fn remove(dir: &Dir, path: &WorkspacePath) -> Result<(), FileError> {
    each(dir, path, DEPTH_LIMIT, &mut |dir, path, entry| {
        let removed = if entry.is_folder {
            dir.remove_dir(&entry.name)
        } else {
            dir.remove_file(&entry.name)
        };
        removed.map_err(|source| FileError::io(path, source))
    })
}

struct Entry {
    name: OsString,
    is_folder: bool,
}

/// Visits everything in a folder, what is in a folder before the folder. Links are entries and are not followed.
fn each<E: From<FileError>>(
    dir: &Dir,
    path: &WorkspacePath,
    depth: usize,
    visit: &mut dyn FnMut(&Dir, &WorkspacePath, &Entry) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| FileError::io(path, source);
    if depth == 0 {
        return Err(failed(io::Error::other("the folders in it are too deep")).into());
    }
    if !markers(dir).map_err(failed)?.is_empty() {
        return Err(FileError::HasRepository(path.clone()).into());
    }
    let mut entries = Vec::new();
    for entry in dir.entries().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        entries.push(Entry {
            is_folder: entry.file_type().map_err(failed)?.is_dir(),
            name: entry.file_name(),
        });
    }
    for entry in &entries {
        let path = path.join(&entry.name);
        if entry.is_folder {
            let inner = dir.open_dir_nofollow(&entry.name);
            let inner = inner.map_err(|source| FileError::io(&path, source))?;
            each(&inner, &path, depth - 1, visit)?;
        }
        visit(dir, &path, entry)?;
    }
    Ok(())
}
