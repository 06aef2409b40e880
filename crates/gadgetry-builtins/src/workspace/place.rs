//! Paths as open folders: what is done at a place happens there, whatever becomes of names and links meanwhile.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use cap_tempfile::TempFile;

use super::repository::{Layout, is_git_directory};
use super::{FileError, NON_BLOCKING, WRITE_LIMIT, Workspace, WorkspacePath};

/// An entry of a folder that is open. The entry, and the last folders of its path, need not exist.
#[derive(Debug)]
pub(super) struct Place {
    path: WorkspacePath,
    /// The deepest folder of the path that exists.
    dir: Dir,
    /// The folders below it that do not.
    missing: Vec<OsString>,
    name: OsString,
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

    /// Opens the folder of an entry that is to be changed. Fails in a repository of Git: see [`super::repository`].
    pub(super) fn place(&self, path: &WorkspacePath) -> Result<Place, FileError> {
        path.refuse_git()?;
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

fn refuse_repository(dir: &Dir, path: &WorkspacePath) -> Result<(), FileError> {
    match is_git_directory(dir) {
        Ok(false) => Ok(()),
        Ok(true) => Err(FileError::Git(path.clone())),
        Err(source) => Err(FileError::io(path, source)),
    }
}

/// Fails if an entry would make a folder a repository.
fn refuse_completion(
    dir: &Dir,
    name: &OsStr,
    is_folder: bool,
    path: &WorkspacePath,
) -> Result<(), FileError> {
    let mut layout = Layout::of(dir).map_err(|source| FileError::io(path, source))?;
    layout.add(name, is_folder);
    if layout.is_complete() {
        return Err(FileError::Repository(path.clone()));
    }
    Ok(())
}

fn open_file(
    dir: &Dir,
    name: &OsStr,
    path: &WorkspacePath,
    hard_links: bool,
) -> Result<(File, Metadata), FileError> {
    let failed = |source| FileError::io(path, source);
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    // Opening a named pipe would wait for a writer.
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(&mut options, NON_BLOCKING);
    let file = dir.open_with(name, &options).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(FileError::IsFolder(path.clone()));
    }
    if !metadata.is_file() {
        return Err(FileError::NotAFile(path.clone()));
    }
    if metadata.nlink() > 1 && !hard_links {
        return Err(FileError::HardLinks(path.clone(), metadata.nlink()));
    }
    Ok((file, metadata))
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read(
    (file, metadata): (File, Metadata),
    path: &WorkspacePath,
    limit: u64,
) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|source| FileError::io(path, source))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge {
            path: path.clone(),
            bytes: metadata.len().max(limit + 1),
            limit,
        });
    }
    Ok(bytes)
}

impl Place {
    pub(super) fn path(&self) -> &WorkspacePath {
        &self.path
    }

    /// The folder of the entry, and its name.
    pub(super) fn entry(&self) -> Result<(&Dir, &Path), FileError> {
        if self.missing.is_empty() {
            return Ok((&self.dir, Path::new(&self.name)));
        }
        Err(FileError::io(&self.path, io::ErrorKind::NotFound.into()))
    }

    /// The content of a file; `None` if it does not exist.
    pub(super) fn content(
        &self,
        hard_links: bool,
    ) -> Result<Option<(Vec<u8>, Metadata)>, FileError> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        let path = &self.path;
        match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) if metadata.is_dir() => Err(FileError::IsFolder(path.clone())),
            Ok(metadata) if metadata.is_file() => {
                let (file, metadata) = match open_file(&self.dir, &self.name, path, hard_links) {
                    Err(FileError::Io { source, .. })
                        if source.kind() == io::ErrorKind::NotFound =>
                    {
                        return Ok(None);
                    }
                    opened => opened?,
                };
                let kept = metadata.clone();
                Ok(Some((read((file, metadata), path, WRITE_LIMIT)?, kept)))
            }
            Ok(_) => Err(FileError::NotAFile(path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::io(path, source)),
        }
    }

    /// Writes the file at once, and the folders above it, with the permissions of the file that it replaces.
    pub(super) fn replace(
        &self,
        content: &[u8],
        before: Option<&Metadata>,
    ) -> Result<(), FileError> {
        if content.len() as u64 > WRITE_LIMIT {
            return Err(FileError::TooLarge {
                path: self.path.clone(),
                bytes: content.len() as u64,
                limit: WRITE_LIMIT,
            });
        }
        let failed = |source| FileError::io(&self.path, source);
        let mut parent = self.dir.try_clone().map_err(failed)?;
        for name in &self.missing {
            refuse_completion(&parent, name, true, &self.path)?;
            match parent.create_dir(name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created.map_err(failed)?,
            }
            parent = parent.open_dir_nofollow(name).map_err(failed)?;
            refuse_repository(&parent, &self.path)?;
        }
        refuse_completion(&parent, &self.name, false, &self.path)?;
        let write = || {
            let mut file = TempFile::new(&parent)?;
            file.write_all(content)?;
            if let Some(before) = before {
                file.as_file().set_permissions(plain(before))?;
            }
            file.as_file().sync_all()?;
            file.replace(&self.name)
        };
        write().map_err(failed)
    }
}

/// The permissions of a file without those that would let its new content run as someone else.
fn plain(metadata: &Metadata) -> cap_std::fs::Permissions {
    let permissions = metadata.permissions();
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        const READ_WRITE_EXECUTE: u32 = 0o777;
        cap_std::fs::Permissions::from_mode(permissions.mode() & READ_WRITE_EXECUTE)
    }
    #[cfg(not(unix))]
    permissions
}
