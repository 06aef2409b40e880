//! Keeps a sandboxed command from planting programs that Git starts later, outside the sandbox.
//!
//! `.git` is in the workspace, so a command may write there, and has to: `git commit` does. But a hook or a setting such as
//! `core.fsmonitor` would run with the user's rights at the user's next `git status`. Both are put back as they were when the
//! command has ended.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Permissions};
use cap_tempfile::TempFile;

use crate::workspace::Workspace;

const GIT: &str = ".git";
const HOOKS: &str = "hooks";

/// Files of settings.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Bytes of a file that is kept, and the number of hooks.
const FILE_LIMIT: u64 = 1 << 20;
const HOOKS_LIMIT: usize = 200;

/// The settings and hooks before a command.
pub(super) struct GitGuard {
    workspace: Arc<Workspace>,
    /// `None` without a repository.
    before: Option<Files>,
}

/// By their paths in `.git`.
type Files = BTreeMap<PathBuf, Kept>;

#[derive(PartialEq, Eq)]
enum Kept {
    File(Vec<u8>, Permissions),
    Link(PathBuf),
}

impl GitGuard {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        let git = workspace.dir().open_dir(GIT).ok();
        Self {
            before: git.as_ref().map(files),
            workspace,
        }
    }

    /// Puts back what has changed; returns a note about it for the model.
    pub(super) fn restore(self) -> String {
        let Some(before) = self.before else {
            return String::new();
        };
        let mut restored = Vec::new();
        match self.workspace.dir().open_dir(GIT) {
            Ok(git) => {
                let hooks_are_a_link = git
                    .symlink_metadata(HOOKS)
                    .is_ok_and(|metadata| !metadata.is_dir());
                if hooks_are_a_link && git.remove_file(HOOKS).is_ok() {
                    restored.push(HOOKS.to_owned());
                }
                let now = files(&git);
                for path in now.keys().filter(|path| !before.contains_key(*path)) {
                    if git.remove_file(path).is_ok() {
                        restored.push(path.display().to_string());
                    }
                }
                for (path, kept) in &before {
                    if now.get(path) != Some(kept) && write(&git, path, kept).is_ok() {
                        restored.push(path.display().to_string());
                    }
                }
            }
            Err(_) => return "\n[.git is gone or no folder any more]\n".to_owned(),
        }
        if restored.is_empty() {
            return String::new();
        }
        restored.sort();
        restored.dedup();
        format!(
            "\n[put back: {}; in the sandbox, commands cannot change Git's settings and hooks]\n",
            restored.join(", ")
        )
    }
}

fn files(git: &Dir) -> Files {
    let mut files = Files::new();
    let mut paths: Vec<PathBuf> = SETTINGS.iter().map(PathBuf::from).collect();
    if let Ok(hooks) = git.read_dir(HOOKS) {
        let names = hooks.filter_map(|entry| Some(entry.ok()?.file_name()));
        paths.extend(
            names
                .take(HOOKS_LIMIT)
                .map(|name| Path::new(HOOKS).join(name)),
        );
    }
    for path in paths {
        let Ok(metadata) = git.symlink_metadata(&path) else {
            continue;
        };
        let kept = if metadata.is_symlink() {
            git.read_link_contents(&path).map(Kept::Link)
        } else {
            let mut content = Vec::new();
            let read = git
                .open(&path)
                .and_then(|file| file.take(FILE_LIMIT).read_to_end(&mut content));
            read.map(|_| Kept::File(content, metadata.permissions()))
        };
        files.extend(kept.map(|kept| (path, kept)));
    }
    files
}

fn write(git: &Dir, path: &Path, kept: &Kept) -> io::Result<()> {
    let folder = match path.parent().filter(|it| !it.as_os_str().is_empty()) {
        Some(parent) => {
            git.create_dir_all(parent)?;
            git.open_dir(parent)?
        }
        None => git.try_clone()?,
    };
    let name = path.file_name().unwrap_or_default();
    match kept {
        Kept::File(content, permissions) => {
            let mut file = TempFile::new(&folder)?;
            file.write_all(content)?;
            file.as_file().set_permissions(permissions.clone())?;
            file.replace(name)
        }
        Kept::Link(target) => {
            // It may not be there any more.
            let _ = folder.remove_file(name);
            folder.symlink_contents(target, name)
        }
    }
}
