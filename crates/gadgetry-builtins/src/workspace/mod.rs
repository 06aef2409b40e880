//! The folder that built-in gadgets work in, and cannot leave.

mod checkpoint;
mod editor;
mod error;
mod history;
mod named;
mod path;
mod place;
mod protected;
mod removal;
pub(crate) mod repository;
mod resolve;
mod searched;
pub(crate) mod state;
mod survey;
mod unsaved;
mod walk;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use crate::diff::{change, unified};
use history::{Change, History};
use place::Place;

pub use checkpoint::Checkpoint;
pub use editor::{Editor, EditorAnswer, Terminal};
pub use error::{FileError, WorkspaceError};
pub use history::Undone;
pub(crate) use path::REPLACED;
pub use path::WorkspacePath;
pub use protected::files_in_line;
pub use searched::program_outside;
pub(crate) use walk::{Entry, EntryKind, Walk};

/// A folder with everything below it. Nothing outside it is read or written, by whatever path.
///
/// All access is relative to a handle of the folder. A path is resolved once, and its folders are then opened name by name
/// without following links: absolute paths, `..`, symbolic links that lead outside and `/proc` links fail, and so does a link
/// that takes the place of a folder meanwhile.
///
/// Nothing in a repository of Git is written, and nothing that would make a folder one: neither in `.git`, nor in a folder that is
/// laid out as a repository itself. Nor is anything that settings of Git name, such as a folder of hooks.
///
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
    editor: Option<Arc<dyn Editor>>,
    /// Locked while a file is changed: one change at a time.
    history: Mutex<History>,
    /// Files from which the program runs code.
    protected: Mutex<BTreeSet<PathBuf>>,
}

impl Workspace {
    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`] if it is not a folder that can be opened.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let folder = folder.as_ref();
        let failed = |error| WorkspaceError {
            folder: folder.to_owned(),
            error,
        };
        let root = folder.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(Self {
            root,
            dir,
            hard_links: false,
            editor: None,
            history: Mutex::default(),
            protected: Mutex::default(),
        })
    }

    pub(crate) fn set_hard_links(&mut self, allowed: bool) {
        self.hard_links = allowed;
    }

    /// Returns the absolute path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the same as text, with `/` between names.
    pub(crate) fn name(&self) -> String {
        let name = self.root.to_string_lossy();
        name.replace(std::path::MAIN_SEPARATOR, "/")
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
        place::read(self.open_file(path)?, path, limit)
    }

    /// Returns `true` for a folder that can be opened.
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
    /// happen one after the other. An error of `change` leaves everything as it is.
    pub(crate) fn change<E: From<FileError>>(
        &self,
        path: &WorkspacePath,
        change: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<Changed, E> {
        let mut history = self.history();
        let place = self.place(path)?;
        let before = self.content_of(&place)?;
        let after = change(before.as_ref().map(|(bytes, _)| bytes.as_slice()))?;
        self.put(&place, &after, before.as_ref())?;
        let before = before.map(|(bytes, _)| bytes);
        history.push(Change {
            path: path.clone(),
            before: before.clone(),
            after: Some(after.clone()),
            is_kept: true,
        });
        Ok(Changed { before, after })
    }

    /// The content of a file that is to be changed; `None` if it does not exist.
    pub(crate) fn content(&self, path: &WorkspacePath) -> Result<Option<Vec<u8>>, FileError> {
        let content = self.content_of(&self.place(path)?)?;
        Ok(content.map(|(bytes, _)| bytes))
    }

    /// Returns what [`delete`](Self::delete) would delete: a folder only with `recursive`.
    pub(crate) fn deletes(
        &self,
        path: &WorkspacePath,
        recursive: bool,
    ) -> Result<Doomed, FileError> {
        if path.is_root() {
            return Err(FileError::Root);
        }
        Self::doomed(&self.place(path)?, recursive)
    }

    fn doomed(place: &Place, recursive: bool) -> Result<Doomed, FileError> {
        let (dir, name) = place.entry()?;
        let failed = |source| FileError::io(place.path(), source);
        let metadata = dir.symlink_metadata(name).map_err(failed)?;
        let kind = match (metadata.is_dir(), recursive) {
            (false, _) => Deleted::File,
            (true, false) => Deleted::EmptyFolder,
            (true, true) => Deleted::Folder,
        };
        let mut state = Sha256::new();
        state.update(match kind {
            Deleted::File => state::of(&metadata),
            Deleted::EmptyFolder | Deleted::Folder => state::identity(&metadata),
        });
        let mut files = 0;
        if kind == Deleted::Folder {
            let folder = dir.open_dir_nofollow(name).map_err(failed)?;
            files = removal::add_state(&folder, place.path(), &mut state)?;
        }
        let state = format!("{:x?}", state.finalize());
        Ok(Doomed {
            kind,
            is_link: metadata.is_symlink(),
            files,
            state,
        })
    }

    /// Deletes a file, a link or, with `recursive`, a folder with everything in it. `check` is called before anything is deleted,
    /// and `may` for everything in the folder.
    pub(crate) fn delete<E: From<FileError>>(
        &self,
        path: &WorkspacePath,
        recursive: bool,
        check: impl FnOnce(&Doomed) -> Result<(), E>,
        may: &mut dyn FnMut(&WorkspacePath) -> Result<(), E>,
    ) -> Result<Deleted, E> {
        if path.is_root() {
            return Err(FileError::Root.into());
        }
        let mut history = self.history();
        let failed = |source| FileError::io(path, source);
        let place = self.place(path)?;
        let doomed = Self::doomed(&place, recursive)?;
        check(&doomed)?;
        let kind = doomed.kind;
        self.refuse_moved(&place)?;
        let (dir, name) = place.entry()?;
        match kind {
            Deleted::Folder => {
                let folder = dir.open_dir_nofollow(name).map_err(failed)?;
                removal::check(&folder, path, may)?;
                removal::remove(&folder, path)?;
                dir.remove_dir(name).map_err(failed)?;
            }
            Deleted::EmptyFolder => dir.remove_dir(name).map_err(|source| {
                if source.kind() == io::ErrorKind::DirectoryNotEmpty {
                    FileError::NotEmpty(path.clone())
                } else {
                    failed(source)
                }
            })?,
            Deleted::File => {
                // Only what can be restored is worth reading.
                let before = place.content(self.hard_links).ok().flatten();
                dir.remove_file(name).map_err(failed)?;
                if let Some((before, _)) = before {
                    history.push(Change {
                        path: path.clone(),
                        before: Some(before),
                        after: None,
                        is_kept: true,
                    });
                }
            }
        }
        Ok(kind)
    }

    /// Undoes the latest change of a file by a built-in gadget, or within a [`Checkpoint`]; `None` if there is no change left.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the file was changed since by something else, which is then kept, or cannot be written. The next
    /// call undoes the change before it.
    pub fn undo(&self) -> Result<Option<Undone>, FileError> {
        self.undo_after(0, &mut self.history())
    }

    /// Undoes all changes after the first `changes`, the latest first: those since [`Workspace::changes`] has returned this number.
    pub fn undo_to(&self, changes: u64) -> Vec<Result<Undone, FileError>> {
        let mut history = self.history();
        let mut undone = Vec::new();
        loop {
            match self.undo_after(changes, &mut history) {
                Ok(None) => return undone,
                Ok(Some(it)) => undone.push(Ok(it)),
                Err(error) => undone.push(Err(error)),
            }
        }
    }

    /// Returns the files that differ from what they were before the first change that can be undone, each with a unified diff.
    pub fn differences(&self) -> Vec<(WorkspacePath, String)> {
        let history = self.history();
        let originals = history.originals().into_iter();
        let differing = originals.filter_map(|(path, before)| {
            let now = self.content(path).ok()?;
            let is_same = now.as_deref() == before;
            (!is_same).then(|| {
                let diff = change(&path.on_one_line(), before, now.as_deref());
                (path.clone(), diff)
            })
        });
        differing.collect()
    }

    /// Returns the number of changes so far, of which the first [`forgotten`](Self::forgotten) ones are not kept any more.
    pub fn changes(&self) -> u64 {
        self.history().count()
    }

    /// Returns how many changes can not be undone any more, because their contents and later ones exceed 64 MiB.
    pub fn forgotten(&self) -> u64 {
        self.history().forgotten()
    }

    /// Returns how many changes there were before the latest step: a change of a gadget, or the changes within a
    /// [`Checkpoint`]. `None` if there is nothing to undo.
    pub fn latest_step(&self) -> Option<u64> {
        self.history().latest_step()
    }

    fn undo_after(&self, count: u64, history: &mut History) -> Result<Option<Undone>, FileError> {
        let Some(change) = history.pop_after(count) else {
            return Ok(None);
        };
        let path = &change.path;
        if !change.is_kept {
            return Err(FileError::NotKept(path.clone()));
        }
        let place = self.place(path)?;
        let now = self.content_of(&place)?;
        if now.as_ref().map(|(bytes, _)| bytes) != change.after.as_ref() {
            return Err(FileError::ChangedSince(path.clone()));
        }
        let after = change.after.as_deref();
        let diff = unified(
            &path.on_one_line(),
            after,
            change.before.as_deref().unwrap_or_default(),
        );
        if let Some(before) = &change.before {
            self.put(&place, before, now.as_ref())?;
        } else {
            let (dir, name) = place.entry()?;
            let removed = dir.remove_file(name);
            removed.map_err(|source| FileError::io(path, source))?;
        }
        history.knows(path, change.before.as_deref());
        Ok(Some(Undone {
            removed: change.before.is_none(),
            path: change.path,
            diff,
        }))
    }

    /// Returns the files that built-in gadgets have created, changed or deleted, and those that were changed within a [`Checkpoint`], in
    /// alphabetical order. An undo does not remove them.
    pub fn changed(&self) -> Vec<WorkspacePath> {
        self.history().files().cloned().collect()
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A changed file.
pub(crate) struct Changed {
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
}

/// The file or folder that is to be deleted.
#[derive(Debug)]
pub(crate) struct Doomed {
    pub(crate) kind: Deleted,
    pub(crate) is_link: bool,
    /// Number of files and links in a folder.
    pub(crate) files: usize,
    /// A hash of what is there, in folders too: of another one it differs.
    pub(crate) state: String,
}

/// Kind of entry that was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deleted {
    File,
    EmptyFolder,
    /// A folder with everything in it.
    Folder,
}
