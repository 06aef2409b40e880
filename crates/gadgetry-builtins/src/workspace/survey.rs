//! The files of a workspace at one moment, to find what a command has changed since.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::path::WorkspacePath;

/// The files that no ignore rule hides, apart from Git's own, and their contents.
#[derive(Debug, Default)]
pub(super) struct Survey(BTreeMap<WorkspacePath, Seen>);

#[derive(Debug)]
struct Seen {
    /// Differs as soon as the file is another one, or was changed.
    state: String,
    content: Content,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Kept(Arc<[u8]>),
    /// It is too large, or cannot be read.
    NotKept,
}

/// A file that differs, with its content before and now; `None` for a file that does not exist.
pub(super) type Difference = (WorkspacePath, Option<Content>, Option<Content>);

impl Survey {
    /// Adds a file that was seen.
    pub(super) fn add(&mut self, path: WorkspacePath, state: String, content: Content) {
        self.0.insert(path, Seen { state, content });
    }

    /// Returns the content of a file that is still in this state.
    pub(super) fn content(&self, path: &WorkspacePath, state: &str) -> Option<Content> {
        let seen = self.0.get(path).filter(|it| it.state == state)?;
        Some(seen.content.clone())
    }

    /// Takes note of a change whose content is known; `None` if the file is gone.
    pub(super) fn set(&mut self, path: &WorkspacePath, content: Option<&[u8]>) {
        match content {
            Some(content) => {
                let seen = Seen {
                    // It is read again, and compared.
                    state: String::new(),
                    content: Content::Kept(content.into()),
                };
                self.0.insert(path.clone(), seen);
            }
            None => {
                self.0.remove(path);
            }
        }
    }

    /// Returns the files that differ, by name.
    pub(super) fn differences(&self, now: &Self) -> Vec<Difference> {
        let gone = self.0.iter().filter(|(path, _)| !now.0.contains_key(path));
        let gone = gone.map(|(path, seen)| (path.clone(), Some(seen.content.clone()), None));
        let other = now.0.iter().filter_map(|(path, seen)| {
            let before = self.0.get(path);
            let is_same = before.is_some_and(|before| {
                before.state == seen.state
                    || matches!(before.content, Content::Kept(_)) && before.content == seen.content
            });
            let before = before.map(|it| it.content.clone());
            (!is_same).then(|| (path.clone(), before, Some(seen.content.clone())))
        });
        let mut all: Vec<Difference> = gone.chain(other).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }
}
