//! The folder that built-in gadgets work in, and cannot leave.

mod error;
mod history;
mod path;
pub(crate) mod repository;
mod walk;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_fs_ext::MetadataExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use cap_tempfile::TempFile;

use crate::diff::unified;
use history::{Change, History};

pub use error::{FileError, WorkspaceError};
pub use history::Undone;
pub use path::WorkspacePath;
pub(crate) use walk::{Entry, EntryKind, Walk};

/// A folder with everything below it. Nothing outside it is read or written, by whatever path.
///
/// All access is relative to a handle of the folder, and resolved by the system below it (`openat2` where the system has
/// it): absolute paths, `..`, symbolic links that lead outside and `/proc` links fail, also if a link changes meanwhile.
/// A file with several hard links is not read, because its content may belong to a file outside, unless
/// [`Builtins::hard_links`](crate::Builtins::hard_links) allows it. Written files are replaced as a whole, never changed in
/// place, so a hard link outside keeps its content.
///
/// ```
/// use gadgetry_builtins::Workspace;
/// let folder = tempfile::tempdir()?;
/// let workspace = Workspace::open(folder.path())?;
/// let path = workspace.resolve("notes/a.txt")?;
/// workspace.write(&path, b"hello")?;
/// assert_eq!(workspace.read(&path, 100)?, b"hello");
/// assert!(workspace.resolve("../a.txt").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    dir: Dir,
    hard_links: bool,
    /// Locked while a file is changed: one change at a time.
    history: Mutex<History>,
}

impl Workspace {
    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`] if it is not a folder that can be opened.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let folder = folder.as_ref();
        let failed = |source| WorkspaceError {
            folder: folder.to_owned(),
            source,
        };
        let root = folder.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(Self {
            root,
            dir,
            hard_links: false,
            history: Mutex::default(),
        })
    }

    pub(crate) fn set_hard_links(&mut self, allowed: bool) {
        self.hard_links = allowed;
    }

    /// Returns the absolute path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Reads a file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it is not a file, is too large, cannot be read, or has several hard links.
    pub fn read(&self, path: &WorkspacePath, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, metadata) = self.open_file(path)?;
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

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: &WorkspacePath) -> Result<(File, Metadata), FileError> {
        let failed = |source| FileError::io(path, source);
        let mut options = OpenOptions::new();
        options.read(true);
        // Opening a named pipe would wait for a writer.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, NON_BLOCKING);
        let file = self
            .dir
            .open_with(path.as_path(), &options)
            .map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(FileError::IsFolder(path.clone()));
        }
        if !metadata.is_file() {
            return Err(FileError::NotAFile(path.clone()));
        }
        if metadata.nlink() > 1 && !self.hard_links {
            return Err(FileError::HardLinks(path.clone(), metadata.nlink()));
        }
        Ok((file, metadata))
    }

    /// Opens a folder.
    pub(crate) fn open_folder(&self, path: &WorkspacePath) -> Result<Dir, FileError> {
        let folder = self.dir.open_dir(path.as_path());
        folder.map_err(|source| FileError::io(path, source))
    }

    /// Whether it is a folder that can be opened.
    pub(crate) fn is_folder(&self, path: &WorkspacePath) -> bool {
        self.open_folder(path).is_ok()
    }

    /// Writes a file, and the folders above it. A file that exists is replaced at once, with its permissions.
    ///
    /// Returns whether the file is new.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the path names a folder or another special file, or cannot be written. Then nothing has changed,
    /// except that folders may have been created.
    pub fn write(&self, path: &WorkspacePath, content: &[u8]) -> Result<bool, FileError> {
        self.change(path, |_| Ok::<_, FileError>(content.to_vec()))
            .map(|changed| changed.before.is_none())
    }

    /// Replaces a file by what `change` makes of its content; `None` for a file that does not exist. Changes of one workspace
    /// happen one after the other.
    pub(crate) fn change<E: From<FileError>>(
        &self,
        path: &WorkspacePath,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
    ) -> Result<Changed, E> {
        let mut history = self.history();
        let before = self.content(path)?;
        let after = change(before.as_ref().map(|(bytes, _)| bytes.clone()))?;
        self.replace(path, &after, before.as_ref().map(|(_, metadata)| metadata))?;
        let before = before.map(|(bytes, _)| bytes);
        history.push(Change {
            path: path.clone(),
            before: before.clone(),
            after: Some(after.clone()),
        });
        Ok(Changed { before, after })
    }

    /// The content of a file; `None` if it does not exist.
    pub(crate) fn content(
        &self,
        path: &WorkspacePath,
    ) -> Result<Option<(Vec<u8>, Metadata)>, FileError> {
        path.refuse_git()?;
        match self.dir.symlink_metadata(path.as_path()) {
            Ok(metadata) if metadata.is_dir() => Err(FileError::IsFolder(path.clone())),
            // Of a file that is replaced, what it was is only for the diff and for undo.
            Ok(metadata) if metadata.is_file() && metadata.nlink() > 1 && !self.hard_links => {
                Err(FileError::HardLinks(path.clone(), metadata.nlink()))
            }
            Ok(metadata) if metadata.is_file() => {
                Ok(Some((self.read(path, WRITE_LIMIT)?, metadata)))
            }
            Ok(_) => Err(FileError::NotAFile(path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::io(path, source)),
        }
    }

    fn replace(
        &self,
        path: &WorkspacePath,
        content: &[u8],
        before: Option<&Metadata>,
    ) -> Result<(), FileError> {
        if content.len() as u64 > WRITE_LIMIT {
            return Err(FileError::TooLarge {
                path: path.clone(),
                bytes: content.len() as u64,
                limit: WRITE_LIMIT,
            });
        }
        let write = || {
            let (parent, name) = self.parent(path)?;
            let mut file = TempFile::new(&parent)?;
            file.write_all(content)?;
            if let Some(before) = before {
                file.as_file().set_permissions(before.permissions())?;
            }
            file.as_file().sync_all()?;
            file.replace(name)
        };
        write().map_err(|source| FileError::io(path, source))
    }

    /// The folder of a path, which is created if it is not there, and the name in it.
    fn parent<'p>(&self, path: &'p WorkspacePath) -> io::Result<(Dir, &'p std::ffi::OsStr)> {
        let name = path.as_path().file_name();
        let name = name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let parent = path.as_path().parent().unwrap_or(Path::new(""));
        if parent.as_os_str().is_empty() {
            return Ok((self.dir.try_clone()?, name));
        }
        self.dir.create_dir_all(parent)?;
        Ok((self.dir.open_dir(parent)?, name))
    }

    /// Deletes a file, a link or, with `recursive`, a folder with everything in it.
    pub(crate) fn delete(
        &self,
        path: &WorkspacePath,
        recursive: bool,
    ) -> Result<Deleted, FileError> {
        path.refuse_git()?;
        if path.is_root() {
            return Err(FileError::Root);
        }
        let mut history = self.history();
        let failed = |source| FileError::io(path, source);
        let metadata = self.dir.symlink_metadata(path.as_path()).map_err(failed)?;
        if metadata.is_dir() {
            if recursive {
                self.dir.remove_dir_all(path.as_path()).map_err(failed)?;
            } else {
                let removed = self.dir.remove_dir(path.as_path());
                removed.map_err(|source| {
                    if source.kind() == io::ErrorKind::DirectoryNotEmpty {
                        FileError::NotEmpty(path.clone())
                    } else {
                        failed(source)
                    }
                })?;
            }
            return Ok(Deleted::Folder);
        }
        // Only what can be restored is worth reading.
        let before = (metadata.is_file() && metadata.len() <= WRITE_LIMIT)
            .then(|| self.read(path, WRITE_LIMIT).ok())
            .flatten();
        self.dir.remove_file(path.as_path()).map_err(failed)?;
        if before.is_some() {
            history.push(Change {
                path: path.clone(),
                before,
                after: None,
            });
        }
        Ok(Deleted::File)
    }

    /// Undoes the latest change of a file by a built-in gadget; `None` if there is no change left.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the file was changed since by something else, which is then kept, or cannot be written. The next
    /// call undoes the change before it.
    pub fn undo(&self) -> Result<Option<Undone>, FileError> {
        let mut history = self.history();
        let Some(change) = history.pop() else {
            return Ok(None);
        };
        let path = &change.path;
        let now = self.content(path)?;
        if now.as_ref().map(|(bytes, _)| bytes) != change.after.as_ref() {
            return Err(FileError::ChangedSince(path.clone()));
        }
        let after = change.after.as_deref();
        let diff = unified(
            &path.to_string(),
            after,
            change.before.as_deref().unwrap_or_default(),
        );
        if let Some(before) = &change.before {
            self.replace(path, before, now.as_ref().map(|(_, it)| it))?;
        } else {
            let removed = self.dir.remove_file(path.as_path());
            removed.map_err(|source| FileError::io(path, source))?;
        }
        Ok(Some(Undone {
            path: change.path,
            removed: change.before.is_none(),
            diff,
        }))
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `O_NONBLOCK`.
#[cfg(target_os = "linux")]
const NON_BLOCKING: i32 = 0o4000;
#[cfg(all(unix, not(target_os = "linux")))]
const NON_BLOCKING: i32 = 4;

/// Bytes of a file that is changed.
pub(crate) const WRITE_LIMIT: u64 = 16 << 20;

/// A changed file.
pub(crate) struct Changed {
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deleted {
    File,
    Folder,
}
