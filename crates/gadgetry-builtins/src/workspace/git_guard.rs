//! Keeps a sandboxed command from planting programs that Git starts later, outside the sandbox.
//!
//! `.git` is in the workspace, so a command may write there, and has to: `git commit` does. But a hook or a setting such as
//! `core.fsmonitor` would run with the user's rights at the user's next `git status`. Both are put back as they were when the
//! command has ended, and a `.git` that leads elsewhere than before is renamed.
//!
//! Repositories in other folders of the workspace, submodules among them, are not covered, nor are hooks outside `.git`
//! (`core.hooksPath`): like a Makefile, they are files of the workspace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::{Dir, Permissions};
use cap_tempfile::TempFile;

use super::Workspace;

const GIT: &str = ".git";
const HOOKS: &str = "hooks";

/// Files that decide what Git starts. `commondir` names the folder with the settings.
const SETTINGS: [&str; 3] = ["config", "config.worktree", "commondir"];

/// The settings of a new repository: those that `git init` writes.
const NEW_CONFIG: &[u8] =
    b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// Bytes of a file that is kept.
const FILE_LIMIT: u64 = 1 << 20;

/// The commands that run in a workspace, and what they must not change.
///
/// One state for all of them: a command that starts while another one runs would otherwise take what that one has
/// planted for what was there before.
#[derive(Debug, Default)]
pub(super) struct GitState {
    running: usize,
    before: Option<Arc<Repository>>,
}

/// Until it is dropped or [restored](GitGuard::restore), a command runs.
#[derive(Debug)]
pub(crate) struct GitGuard {
    workspace: Arc<Workspace>,
    is_over: bool,
}

impl GitGuard {
    /// Remembers the settings and hooks.
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let mut state = lock(&workspace.git);
        if state.running == 0 {
            state.before = Some(Arc::new(Repository::of(workspace.dir())));
        }
        state.running += 1;
        drop(state);
        Self {
            workspace,
            is_over: false,
        }
    }

    /// Puts back what has changed; returns a note about it for the model, which may be empty.
    pub(crate) fn restore(mut self) -> String {
        self.end()
    }

    fn end(&mut self) -> String {
        if std::mem::replace(&mut self.is_over, true) {
            return String::new();
        }
        let mut state = lock(&self.workspace.git);
        state.running -= 1;
        let before = if state.running == 0 {
            state.before.take()
        } else {
            state.before.clone()
        };
        before.map_or_else(String::new, |before| before.restore(self.workspace.dir()))
    }
}

/// A run that is dropped restores as well.
impl Drop for GitGuard {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn lock(state: &Mutex<GitState>) -> MutexGuard<'_, GitState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What decides which programs Git starts.
#[derive(Debug)]
struct Repository {
    entry: Entry,
    /// By their paths in `.git`.
    files: BTreeMap<PathBuf, Kept>,
}

/// What `.git` is.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Absent,
    Folder,
    /// A file or a link that leads to the folder, as in a worktree.
    Pointer(Kept),
}

impl Entry {
    fn of(root: &Dir) -> Self {
        match root.symlink_metadata(GIT) {
            Err(_) => Self::Absent,
            Ok(metadata) if metadata.is_dir() => Self::Folder,
            Ok(_) => Kept::of(root, Path::new(GIT)).map_or(Self::Absent, Self::Pointer),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kept {
    File(Vec<u8>, Permissions),
    Link(PathBuf),
}

impl Kept {
    fn of(dir: &Dir, path: &Path) -> io::Result<Self> {
        let metadata = dir.symlink_metadata(path)?;
        if metadata.is_symlink() {
            return dir.read_link_contents(path).map(Self::Link);
        }
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut content = Vec::new();
        let file = dir.open(path)?;
        file.take(FILE_LIMIT).read_to_end(&mut content)?;
        Ok(Self::File(content, metadata.permissions()))
    }

    fn write(&self, dir: &Dir, path: &Path) -> io::Result<()> {
        let folder = match path.parent().filter(|it| !it.as_os_str().is_empty()) {
            Some(parent) => {
                dir.create_dir_all(parent)?;
                dir.open_dir(parent)?
            }
            None => dir.try_clone()?,
        };
        let name = path.file_name().unwrap_or_default();
        // A folder in its place would stay.
        if folder.symlink_metadata(name).is_ok_and(|it| it.is_dir()) {
            set_aside(&folder, name)?;
        }
        match self {
            Self::File(content, permissions) => {
                let mut file = TempFile::new(&folder)?;
                file.write_all(content)?;
                file.as_file().set_permissions(permissions.clone())?;
                file.replace(name)
            }
            Self::Link(target) => {
                // It may not be there any more.
                let _ = folder.remove_file(name);
                folder.symlink_contents(target, name)
            }
        }
    }
}

impl Repository {
    fn of(root: &Dir) -> Self {
        let files = root.open_dir(GIT).map(|git| {
            let kept = |path: PathBuf| Some((Kept::of(&git, &path).ok()?, path));
            let kept = paths(&git).into_iter().filter_map(kept);
            kept.map(|(kept, path)| (path, kept)).collect()
        });
        Self {
            entry: Entry::of(root),
            files: files.unwrap_or_default(),
        }
    }

    /// Puts `.git` back as it was; returns a note about it.
    fn restore(&self, root: &Dir) -> String {
        let now = Entry::of(root);
        let is_created = self.entry == Entry::Absent && now == Entry::Folder;
        let mut notes = Vec::new();
        if now == self.entry || is_created {
            let git = root.open_dir(GIT).ok();
            let restored = git.map(|git| self.restore_files(&git, is_created));
            let restored = restored.unwrap_or_default();
            if !restored.is_empty() {
                notes.push(format!("put back: {}", restored.join(", ")));
            }
        } else {
            if now != Entry::Absent {
                notes.push(match set_aside(root, OsStr::new(GIT)) {
                    Ok(name) => {
                        format!("{GIT} was replaced, and its replacement renamed to {name}")
                    }
                    Err(error) => format!("{GIT} was replaced: {error}"),
                });
            } else if self.entry == Entry::Folder {
                notes.push(format!("{GIT} is gone"));
            }
            if let Entry::Pointer(kept) = &self.entry
                && kept.write(root, Path::new(GIT)).is_ok()
            {
                notes.push(format!("put back: {GIT}"));
            }
        }
        if notes.is_empty() {
            return String::new();
        }
        format!(
            "\n[{}; in the sandbox, commands cannot change Git's settings and hooks]\n",
            notes.join("; ")
        )
    }

    /// Puts the files back; returns the paths of those that were changed. A repository that the command has created keeps
    /// the settings of a new one.
    fn restore_files(&self, git: &Dir, is_created: bool) -> Vec<String> {
        let mut restored = Vec::new();
        let is_link = git.symlink_metadata(HOOKS).is_ok_and(|it| !it.is_dir());
        if is_link && git.remove_file(HOOKS).is_ok() {
            restored.push(HOOKS.to_owned());
        }
        for path in paths(git) {
            if self.files.contains_key(&path) {
                continue;
            }
            // Git does not start samples.
            let is_sample = path.extension().is_some_and(|it| it == "sample");
            if is_created && is_sample {
                continue;
            }
            let done = match Kept::of(git, &path) {
                Ok(Kept::File(content, permissions))
                    if is_created && path == Path::new(SETTINGS[0]) =>
                {
                    if content == NEW_CONFIG {
                        continue;
                    }
                    Kept::File(NEW_CONFIG.to_vec(), permissions).write(git, &path)
                }
                Ok(_) | Err(_) => git.remove_file(&path),
            };
            if done.is_ok() {
                restored.push(path.display().to_string());
            }
        }
        for (path, kept) in &self.files {
            let is_same = Kept::of(git, path).is_ok_and(|now| now == *kept);
            if !is_same && kept.write(git, path).is_ok() {
                restored.push(path.display().to_string());
            }
        }
        restored.sort();
        restored.dedup();
        restored
    }
}

/// The paths of the settings and hooks, of which some may not exist.
fn paths(git: &Dir) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SETTINGS.iter().map(PathBuf::from).collect();
    // A link is not followed.
    let is_dir = git.symlink_metadata(HOOKS).is_ok_and(|it| it.is_dir());
    if let Some(hooks) = is_dir.then(|| git.read_dir(HOOKS).ok()).flatten() {
        let names = hooks.filter_map(|entry| Some(entry.ok()?.file_name()));
        paths.extend(names.map(|name| Path::new(HOOKS).join(name)));
    }
    paths
}

/// Renames an entry, so that Git does not find it; returns its new name. Nothing is deleted, because it may be the repository.
fn set_aside(folder: &Dir, name: &OsStr) -> io::Result<String> {
    let free = (1..1000).map(|n| format!("{}.untrusted-{n}", name.display()));
    let mut free = free.filter(|name| folder.symlink_metadata(name).is_err());
    let free = free.next().ok_or(io::ErrorKind::AlreadyExists)?;
    folder.rename(name, folder, &free)?;
    Ok(free)
}
