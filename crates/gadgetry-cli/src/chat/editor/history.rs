//! Texts that were sent before: recalled one by one, or searched.

use ratatui_core::text::{Line, Span};

use super::pastes::Typed;
use crate::chat::text::{ALERT, DIM, clean, cut, width};

/// Texts that are kept.
pub(crate) const ENTRIES: usize = 1000;
/// Bytes of a text that is kept.
pub(crate) const LONGEST_ENTRY: usize = 16 << 10;

/// The texts, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<Typed>,
    /// Index of the text that the input line shows, and what it held before.
    recalled: Option<(usize, Typed)>,
}

impl History {
    /// The history with these texts, the oldest first.
    pub(crate) fn new(entries: Vec<Typed>) -> Self {
        Self {
            entries,
            recalled: None,
        }
    }

    /// Adds a text, unless it is blank, too long, or the same as the last one.
    pub(crate) fn add(&mut self, text: &Typed) {
        if is_kept(text) && self.entries.last() != Some(text) {
            self.entries.push(text.clone());
            let excess = self.entries.len().saturating_sub(ENTRIES);
            self.entries.drain(..excess);
        }
    }

    /// The text before the one that is shown now.
    pub(super) fn older(&mut self, now: Typed) -> Option<Typed> {
        let (index, draft) = match self.recalled.take() {
            Some((index, draft)) => (index, draft),
            None => (self.entries.len(), now),
        };
        let next = index.saturating_sub(1);
        self.recalled = (!self.entries.is_empty()).then_some((next, draft));
        (next < index).then(|| self.entries.get(next).cloned())?
    }

    /// The text after the one that is shown now; after the last one, what was there before.
    pub(super) fn newer(&mut self, _now: Typed) -> Option<Typed> {
        let (index, draft) = self.recalled.take()?;
        match self.entries.get(index + 1) {
            Some(text) => {
                self.recalled = Some((index + 1, draft));
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    /// Returns a text as it was typed, if it was sent before with pastes.
    pub(super) fn typed(&self, text: &str) -> Typed {
        let mut latest = self.entries.iter().rev().filter(|it| !it.is_plain());
        let found = latest.find(|it| it.full() == text).cloned();
        found.unwrap_or_else(|| text.to_owned().into())
    }

    /// Forgets which entry was recalled.
    pub(super) fn leave(&mut self) {
        self.recalled = None;
    }
}

/// Returns whether the history keeps a text.
pub(crate) fn is_kept(text: &Typed) -> bool {
    !text.text.trim().is_empty() && text.text.len() + text.pastes.bytes() <= LONGEST_ENTRY
}

/// A search from the latest text backwards.
#[derive(Debug, Default)]
pub(super) struct Search {
    query: String,
    /// Number of matching texts to skip.
    passed: usize,
}

impl Search {
    pub(super) fn add(&mut self, c: char) {
        const LONGEST: usize = 256;
        if self.query.len() < LONGEST {
            self.query.push(c);
            self.passed = 0;
        }
    }

    pub(super) fn remove(&mut self) {
        self.query.pop();
        self.passed = 0;
    }

    /// Continues to an older text, if there is one.
    pub(super) fn older(&mut self, history: &History) {
        self.passed += 1;
        if self.found(history).is_none() {
            self.passed -= 1;
        }
    }

    /// The text that contains the query, in letters of either case.
    pub(super) fn found<'a>(&self, history: &'a History) -> Option<&'a Typed> {
        if self.query.is_empty() {
            return None;
        }
        let query = self.query.to_lowercase();
        let entries = history.entries.iter().rev();
        entries.filter(|it| it.has(&query)).nth(self.passed)
    }

    pub(super) fn row(
        &self,
        history: &History,
        columns: u16,
    ) -> (Vec<Line<'static>>, (usize, u16)) {
        let found = self.found(history);
        let label = if found.is_none() && !self.query.is_empty() {
            Span::styled("no match: ", ALERT)
        } else {
            Span::styled("search: ", DIM)
        };
        let query = clean(&self.query);
        let cursor = width(&label.content) + width(&query);
        let first = found.and_then(|it| it.text.lines().next());
        let text = clean(first.unwrap_or_default());
        let line = Line::from(vec![
            label,
            Span::raw(query),
            Span::styled(format!("  {text}"), DIM),
        ]);
        let cursor = u16::try_from(cursor)
            .unwrap_or(u16::MAX)
            .min(columns.saturating_sub(1));
        (vec![cut(&line, columns)], (0, cursor))
    }
}
