//! Paths as open folders: what is done at a place happens there, whatever becomes of names and links meanwhile.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use cap_tempfile::TempFile;

use super::error::FileError;
use super::path::WorkspacePath;
use super::repository::{Layout, is_git_directory, is_repository_name};

/// `O_NONBLOCK`.
#[cfg(target_os = "linux")]
const NON_BLOCKING: i32 = 0o4000;
#[cfg(all(unix, not(target_os = "linux")))]
const NON_BLOCKING: i32 = 4;

/// Maximum number of bytes of a file that is changed.
pub(crate) const WRITE_LIMIT: u64 = 16 << 20;

/// An entry of a folder that is open. The entry, and the last folders of its path, need not exist.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: WorkspacePath,
    /// The deepest folder of the path that exists.
    pub(super) dir: Dir,
    /// The folders below it that do not.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
}

/// Fails for the files of Git and Mercurial: their settings and hooks start programs.
pub(super) fn refuse_git(path: &WorkspacePath) -> Result<(), FileError> {
    if path.names().any(is_repository_name) {
        return Err(FileError::Git(path.clone()));
    }
    Ok(())
}

/// Fails if a folder is a repository.
pub(super) fn refuse_repository(dir: &Dir, path: &WorkspacePath) -> Result<(), FileError> {
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

/// Opens a regular file for reading.
pub(super) fn open_file(
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
                    Err(FileError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
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

    /// Writes the file at once, and the folders above it, with the permissions of the file that it replaces. Returns its folder.
    pub(super) fn replace(
        &self,
        content: &[u8],
        before: Option<&Metadata>,
    ) -> Result<Dir, FileError> {
        let parent = self.prepare(content)?;
        let written = self.write_in(&parent, content, before);
        written.map_err(|source| FileError::io(&self.path, source))?;
        Ok(parent)
    }

    /// Makes the folders above a file that is to be written. Returns its own.
    pub(super) fn prepare(&self, content: &[u8]) -> Result<Dir, FileError> {
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
        Ok(parent)
    }

    pub(super) fn write_in(
        &self,
        parent: &Dir,
        content: &[u8],
        before: Option<&Metadata>,
    ) -> io::Result<()> {
        let mut file = TempFile::new(parent)?;
        file.write_all(content)?;
        if let Some(before) = before {
            file.as_file().set_permissions(plain(before))?;
        }
        file.as_file().sync_all()?;
        file.replace(&self.name)
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace::{Deleted, Doomed, Workspace};

    /// A folder that is moved, or becomes a repository, between its opening and the change.
    #[test]
    fn a_folder_that_is_moved_is_left_as_it_was() {
        let check = |path: &str, meanwhile: &dyn Fn(&Path), kept: &str| {
            let folder = tempfile::tempdir().unwrap();
            let work = folder.path();
            fs::create_dir_all(work.join("sub/hooks")).unwrap();
            fs::write(work.join("sub/hooks/old"), "old").unwrap();
            let workspace = Workspace::open(work).unwrap();
            let path = workspace.resolve(path).unwrap();
            let name = path.split().unwrap().1.to_owned();
            let changed = workspace.change(&path, |_| {
                meanwhile(work);
                Ok::<_, FileError>(b"new".to_vec())
            });
            let error = changed.err().unwrap();
            assert!(
                matches!(error, FileError::Moved { kept: None, .. }),
                "{error}"
            );
            assert_eq!(
                fs::read_to_string(work.join(kept).join("old")).unwrap(),
                "old"
            );
            assert_eq!(work.join(kept).join(&name).exists(), name == "old");
            assert!(workspace.undo().unwrap().is_none());
        };
        let renamed = |work: &Path| fs::rename(work.join("sub"), work.join(".git")).unwrap();
        let repository = |work: &Path| {
            for name in ["HEAD", "objects", "refs"] {
                fs::write(work.join("sub").join(name), "").unwrap();
            }
        };
        for path in ["sub/hooks/old", "sub/hooks/new"] {
            check(path, &renamed, ".git/hooks");
            check(path, &repository, "sub/hooks");
        }

        let folder = tempfile::tempdir().unwrap();
        let work = folder.path();
        fs::create_dir_all(work.join("sub/hooks")).unwrap();
        fs::write(work.join("sub/hooks/old"), "old").unwrap();
        let workspace = Workspace::open(work).unwrap();
        for (path, is_folder) in [("sub/hooks/old", false), ("sub/hooks", true)] {
            let path = workspace.resolve(path).unwrap();
            let check = |doomed: &Doomed| {
                assert_eq!(doomed.kind == Deleted::Folder, is_folder);
                renamed(work);
                Ok::<_, FileError>(())
            };
            let deleted = workspace.delete(&path, is_folder, check, &mut |_| Ok(()));
            let error = deleted.err().unwrap();
            assert!(matches!(error, FileError::Moved { .. }), "{error}");
            assert!(work.join(".git/hooks/old").exists());
            fs::rename(work.join(".git"), work.join("sub")).unwrap();
        }
    }
}
