//! The files that `@` completes, and those of them that match best.

use std::cmp::Reverse;

use super::completion::{SOUGHT, rank};

/// Files that arrive while the user types. Each is looked at once for a word.
#[derive(Debug, Default)]
pub(super) struct Files {
    names: Vec<String>,
    /// The word that names were ranked for.
    word: String,
    /// Number of names that were ranked.
    ranked: usize,
    /// Numbers of the best ones, the best first.
    best: Vec<(Reverse<u8>, usize)>,
    /// The folder whose files were requested first.
    folder: String,
    lowercase: String,
}

impl Files {
    pub(super) fn add(&mut self, names: Vec<String>) {
        self.names.extend(names);
    }

    /// Returns whether the word names another folder than the one before, whose files are needed.
    pub(super) fn enters(&mut self, word: &str) -> bool {
        let folder = folder(word);
        if folder == self.folder {
            return false;
        }
        folder.clone_into(&mut self.folder);
        !folder.is_empty()
    }

    /// Returns the files that match a word best, the best first.
    pub(super) fn best(&mut self, word: &str) -> impl Iterator<Item = &str> {
        let word = word.to_lowercase();
        if word != self.word {
            (self.word, self.ranked) = (word, 0);
            self.best.clear();
        }
        for index in self.ranked..self.names.len() {
            self.rank(index);
        }
        self.ranked = self.names.len();
        self.best.iter().map(|(_, index)| &*self.names[*index])
    }

    fn rank(&mut self, index: usize) {
        let name = &self.names[index];
        let Some(rank) = rank(&self.word, name, &mut self.lowercase) else {
            return;
        };
        let rank = Reverse(rank);
        let key = (rank, name.len(), &**name);
        let key_of = |(rank, index): &(Reverse<u8>, usize)| {
            let name = &self.names[*index];
            (*rank, name.len(), &**name)
        };
        let at = self.best.binary_search_by(|it| key_of(it).cmp(&key));
        // The same name may arrive twice.
        if let Err(at) = at
            && at < SOUGHT
        {
            self.best.truncate(SOUGHT - 1);
            self.best.insert(at, (rank, index));
        }
    }
}

/// The folder that a word names, up to its last slash.
pub(super) fn folder(word: &str) -> &str {
    word.rfind('/').map_or("", |slash| &word[..=slash])
}
