//! Changes of files that can be undone.

use std::collections::{BTreeSet, VecDeque};

use super::path::WorkspacePath;

/// Bytes of old and new contents that are kept.
const BYTES: usize = 64 << 20;

/// A file that an undo has restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The file.
    pub path: WorkspacePath,
    /// Whether it was removed, because the change had created it.
    pub removed: bool,
    /// Changes of the undo, as a unified diff.
    pub diff: String,
}

/// One change of a file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: WorkspacePath,
    /// `None` if the change created the file.
    pub(super) before: Option<Vec<u8>>,
    /// `None` if the change deleted the file.
    pub(super) after: Option<Vec<u8>>,
}

impl Change {
    fn bytes(&self) -> usize {
        let length = |content: &Option<Vec<u8>>| content.as_ref().map_or(0, Vec::len);
        length(&self.before) + length(&self.after)
    }
}

/// The latest changes, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    changes: VecDeque<Change>,
    bytes: usize,
    /// All files that were changed, also those whose contents are not kept any more.
    files: BTreeSet<WorkspacePath>,
}

impl History {
    pub(super) fn push(&mut self, change: Change) {
        self.bytes += change.bytes();
        self.files.insert(change.path.clone());
        self.changes.push_back(change);
        while self.bytes > BYTES
            && let Some(oldest) = self.changes.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.files.iter()
    }

    pub(super) fn pop(&mut self) -> Option<Change> {
        let latest = self.changes.pop_back()?;
        self.bytes -= latest.bytes();
        Some(latest)
    }
}
