//! Changes of files that can be undone.

use std::collections::{BTreeSet, VecDeque};

use super::path::WorkspacePath;
use super::survey::Survey;

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
    /// Whether the contents are known.
    pub(super) is_kept: bool,
}

impl Change {
    fn bytes(&self) -> usize {
        let length = |content: &Option<Vec<u8>>| content.as_ref().map_or(0, Vec::len);
        length(&self.before) + length(&self.after)
    }
}

/// A change with its number, and that of the first change in its step.
#[derive(Debug)]
struct Numbered {
    number: u64,
    step: u64,
    change: Change,
}

/// The latest changes, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    changes: VecDeque<Numbered>,
    bytes: usize,
    /// Changes so far, also those that are not kept any more.
    count: u64,
    /// Of these, those that are not kept any more.
    forgotten: u64,
    /// The first change of the present step.
    step: u64,
    /// All files that were changed, also those whose contents are not kept any more.
    files: BTreeSet<WorkspacePath>,
    /// The files as they are known, once there was a checkpoint.
    pub(super) known: Option<Survey>,
    /// Checkpoints that are open.
    pub(super) open: usize,
    /// Whether a checkpoint has ended without recording its changes.
    pub(super) is_unrecorded: bool,
}

impl History {
    /// Adds a change of a gadget that changes one file, as a step.
    pub(super) fn push(&mut self, change: Change) {
        self.knows(&change.path, change.after.as_deref());
        self.begin_step();
        self.push_to_step(change);
    }

    /// The changes that follow are one step.
    pub(super) fn begin_step(&mut self) {
        self.step = self.count;
    }

    pub(super) fn push_to_step(&mut self, change: Change) {
        self.bytes += change.bytes();
        self.files.insert(change.path.clone());
        self.changes.push_back(Numbered {
            number: self.count,
            step: self.step,
            change,
        });
        self.count += 1;
        while self.bytes > BYTES
            && let Some(oldest) = self.changes.pop_front()
        {
            self.bytes -= oldest.change.bytes();
            self.forgotten = oldest.number + 1;
        }
    }

    /// Takes note of the content of a file, so that it is not taken for a change by a command.
    pub(super) fn knows(&mut self, path: &WorkspacePath, content: Option<&[u8]>) {
        if let Some(known) = &mut self.known {
            known.set(path, content);
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.files.iter()
    }

    /// The content of each changed file before its first change that is kept, in the order of these; `None` for a new file.
    pub(super) fn originals(&self) -> Vec<(&WorkspacePath, Option<&[u8]>)> {
        let mut originals: Vec<(&WorkspacePath, Option<&[u8]>)> = Vec::new();
        let mut seen = BTreeSet::new();
        for Numbered { change, .. } in &self.changes {
            if seen.insert(&change.path) && change.is_kept {
                originals.push((&change.path, change.before.as_deref()));
            }
        }
        originals
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Changes that are not kept any more.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns how many changes there were before the latest step that can be undone.
    pub(super) fn latest_step(&self) -> Option<u64> {
        self.changes.back().map(|it| it.step)
    }

    /// Takes the latest change, unless it is one of the first `count`.
    pub(super) fn pop_after(&mut self, count: u64) -> Option<Change> {
        if self.changes.back()?.number < count {
            return None;
        }
        let latest = self.changes.pop_back()?.change;
        self.bytes -= latest.bytes();
        Some(latest)
    }
}
