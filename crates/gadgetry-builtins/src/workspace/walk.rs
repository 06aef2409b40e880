//! Files and folders below a folder, without those that ignore rules exclude.

use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType, Metadata};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::WorkspacePath;
use super::{FileError, Workspace};
use crate::glob;

/// Files with ignore rules, the later one first.
const RULE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// Bytes of the ignore rules of a walk, well above what a large repository has. They are compiled at each walk, and those that are made
/// to be slow take a second.
const RULES_LIMIT: usize = 256 << 10;

/// Levels of folders. Each has an open file.
pub(crate) const DEPTH_LIMIT: usize = 64;

/// A walk through a folder. Symbolic links are entries and are not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// Levels below the folder; 1 means its own entries.
    pub(crate) depth: usize,
    /// Whether `.gitignore` and `.ignore` count.
    pub(crate) ignore: bool,
}

/// Entry of a walk.
#[derive(Debug)]
pub(crate) struct Entry<'w> {
    pub(crate) path: &'w WorkspacePath,
    pub(crate) kind: EntryKind,
    /// `None` if it is gone.
    pub(crate) metadata: Option<Metadata>,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

impl Walk {
    /// Visits everything below `folder`, by name, folders before their entries, until `visit` breaks.
    pub(crate) fn visit(
        self,
        workspace: &Workspace,
        folder: &WorkspacePath,
        visit: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        let failed = |source| FileError::io(folder, source);
        let dir = workspace.open_folder(folder)?;
        let (mut rules, mut rules_left) = (Vec::new(), RULES_LIMIT);
        if self.ignore {
            // The rules of the folders above count as well.
            let mut above = WorkspacePath::root();
            for name in folder.as_path().iter().filter(|_| !folder.is_root()) {
                rules.extend(rules_of(workspace, &above, &mut rules_left));
                above = above.join(name);
            }
        }
        let mut level = Level {
            workspace,
            walk: self,
            rules,
            rules_left,
            visit,
        };
        // Breaking ends the walk, which is not an error.
        let _ = level.folder(&dir, folder, 1).map_err(failed)?;
        Ok(())
    }
}

struct Level<'w, 'v> {
    workspace: &'w Workspace,
    walk: Walk,
    /// From the outermost folder inwards.
    rules: Vec<Gitignore>,
    /// Bytes of further rules that are read.
    rules_left: usize,
    visit: &'v mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
}

impl Level<'_, '_> {
    fn folder(
        &mut self,
        dir: &Dir,
        path: &WorkspacePath,
        depth: usize,
    ) -> io::Result<ControlFlow<()>> {
        let outer = self.rules.len();
        if self.walk.ignore {
            let rules = rules_of(self.workspace, path, &mut self.rules_left);
            self.rules.extend(rules);
        }
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            entries.push((entry.file_name(), EntryKind::from(entry.file_type()?)));
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut flow = ControlFlow::Continue(());
        for (name, kind) in entries {
            let path = path.join(&name);
            let is_folder = kind == EntryKind::Folder;
            if name == ".git" || self.is_ignored(&path, is_folder) {
                continue;
            }
            let metadata = dir.symlink_metadata(&name).ok();
            flow = (self.visit)(Entry {
                path: &path,
                kind,
                metadata,
            });
            if flow.is_continue()
                && is_folder
                && depth < self.walk.depth.min(DEPTH_LIMIT)
                // A folder that is gone, or not ours to read, has no entries.
                && let Ok(inner) = dir.open_dir_nofollow(&name)
                && let Ok(inner) = self.folder(&inner, &path, depth + 1)
            {
                flow = inner;
            }
            if flow.is_break() {
                break;
            }
        }
        self.rules.truncate(outer);
        Ok(flow)
    }

    fn is_ignored(&self, path: &WorkspacePath, is_folder: bool) -> bool {
        for rules in self.rules.iter().rev() {
            match rules.matched(path.as_path(), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The ignore rules of a folder. A file that cannot be read or has more than `left` bytes has none, and so has an invalid line.
fn rules_of(workspace: &Workspace, folder: &WorkspacePath, left: &mut usize) -> Vec<Gitignore> {
    let root = if folder.is_root() {
        Path::new("")
    } else {
        folder.as_path()
    };
    let mut all = Vec::new();
    for name in RULE_FILES.iter().rev() {
        let Ok((file, _)) = workspace.open_file(&folder.join(name)) else {
            continue;
        };
        let mut text = String::new();
        let read = file.take(*left as u64 + 1).read_to_string(&mut text);
        // A part of a file could end with a part of a rule.
        let Some(rest) = left.checked_sub(text.len()).filter(|_| read.is_ok()) else {
            continue;
        };
        *left = rest;
        let mut builder = GitignoreBuilder::new(root);
        for line in glob::rules(&text) {
            let _ = builder.add_line(None, line);
        }
        all.extend(builder.build());
    }
    all
}
