//! Changes of files by something else than built-in gadgets of files, such as a command.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::history::Change;
use super::path::WorkspacePath;
use super::survey::{Content, Survey};
use super::walk::{DEPTH_LIMIT, EntryKind, Walk};
use super::{FileError, Workspace, state};

/// Files at most. A workspace with more is not surveyed.
const FILES: usize = 50_000;
/// Bytes of a file whose content is kept.
const FILE_BYTES: u64 = 1 << 20;
/// Bytes of all contents that are kept.
const BYTES: usize = 64 << 20;

/// Records what something else changes in a workspace until it is [closed](Self::close), so that it can be undone.
///
/// A checkpoint covers the files of the workspace that no ignore rule hides, up to 50,000 of them. It does not cover what is in `.git`,
/// symbolic links, permissions, and folders without files; of files larger than 1 MiB, and of those beyond 64 MiB in all, it
/// knows only that they have changed.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry_builtins::Workspace;
/// let folder = tempfile::tempdir()?;
/// let workspace = Arc::new(Workspace::open(folder.path())?);
/// let checkpoint = workspace.checkpoint()?;
/// std::fs::write(folder.path().join("a.txt"), "by a command")?;
/// assert_eq!(checkpoint.close()?, 1);
/// let undone = workspace.undo()?.expect("a change");
/// assert!(undone.removed && !folder.path().join("a.txt").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    workspace: Arc<Workspace>,
    is_closed: bool,
}

impl Workspace {
    /// Begins to record what something else changes. Of several checkpoints that are open at the same time, the first that is closed
    /// has the changes so far.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the workspace cannot be read, or has too many files.
    pub fn checkpoint(self: &Arc<Self>) -> Result<Checkpoint, FileError> {
        let mut history = self.history();
        if history.open == 0 && !history.is_unrecorded {
            // What has changed since is the user's own.
            let before = history.known.take().unwrap_or_default();
            history.known = Some(survey(self, &before)?);
        }
        history.open += 1;
        Ok(Checkpoint {
            workspace: Arc::clone(self),
            is_closed: false,
        })
    }
}

impl Checkpoint {
    /// Ends the recording. The changes are one step of [`Workspace::latest_step`]. Returns the number of files.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the workspace cannot be read, or has too many files by now.
    pub fn close(mut self) -> Result<usize, FileError> {
        self.is_closed = true;
        let mut history = self.workspace.history();
        history.open -= 1;
        history.is_unrecorded = false;
        let before = history.known.take().unwrap_or_default();
        let now = survey(&self.workspace, &before)?;
        let differences = before.differences(&now);
        let count = differences.len();
        history.begin_step();
        for (path, before, after) in differences {
            let is_kept = [&before, &after]
                .into_iter()
                .all(|it| *it != Some(Content::NotKept));
            let bytes = |content: Option<Content>| match content {
                Some(Content::Kept(bytes)) => Some(bytes.to_vec()),
                Some(Content::NotKept) | None => None,
            };
            history.push_to_step(Change {
                path,
                before: bytes(before),
                after: bytes(after),
                is_kept,
            });
        }
        history.known = Some(now);
        Ok(count)
    }
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        if !self.is_closed {
            let mut history = self.workspace.history();
            history.open -= 1;
            // The next one has its changes.
            history.is_unrecorded = true;
        }
    }
}

/// Surveys the files now. Contents of files that are as they were before are not read again.
fn survey(workspace: &Workspace, before: &Survey) -> Result<Survey, FileError> {
    let mut files = BTreeMap::new();
    let walk = Walk {
        depth: DEPTH_LIMIT,
        ignore: true,
    };
    let mut is_over = false;
    walk.visit(workspace, &WorkspacePath::root(), &mut |entry| {
        if let (EntryKind::File, Some(metadata)) = (entry.kind, &entry.metadata) {
            let state = state::of(metadata);
            files.insert(entry.path.clone(), (state, metadata.len()));
            is_over = files.len() > FILES;
        }
        if is_over {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if is_over {
        return Err(FileError::TooManyFiles(FILES));
    }
    let (mut bytes, mut now) = (0, Survey::default());
    for (path, (state, length)) in files {
        let content = match before.content(&path, &state) {
            Some(known) => known,
            None if length > FILE_BYTES => Content::NotKept,
            None => workspace
                .read(&path, FILE_BYTES)
                .map_or(Content::NotKept, |it| Content::Kept(it.into())),
        };
        let content = match content {
            Content::Kept(it) if bytes + it.len() <= BYTES => {
                bytes += it.len();
                Content::Kept(it)
            }
            Content::Kept(_) | Content::NotKept => Content::NotKept,
        };
        now.add(path, state, content);
    }
    Ok(now)
}
