//! Notes to the model about its current reply, in addition to the results of its calls.

use std::mem;

use serde::{Deserialize, Serialize};

use crate::message::Content;

/// Notes that one message carries.
const MOST: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::run) struct Notes(Vec<String>);

impl Notes {
    /// Adds a note, unless it is known or there are too many.
    pub(in crate::run) fn add(&mut self, note: &str) {
        if !self.is_full() && !self.0.iter().any(|known| known == note) {
            self.0.push(note.to_owned());
        }
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Forgets the notes about a reply that is withdrawn.
    pub(in crate::run) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes all notes, a line each.
    pub(super) fn take(&mut self) -> Option<Content> {
        if self.0.is_empty() {
            return None;
        }
        let notes = mem::take(&mut self.0);
        let lines: Vec<String> = notes.iter().map(|note| format!("Note: {note}")).collect();
        let text = lines.join("\n");
        Some(Content::Text { text })
    }
}
