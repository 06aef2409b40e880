//! Texts that were sent before: recalled one by one, or searched.

use ratatui_core::text::{Line, Span};

use crate::chat::text::{ALERT, DIM, clean, cut, width};

/// Texts that are kept.
pub(crate) const ENTRIES: usize = 1000;
/// Bytes of a text that is kept.
pub(crate) const LONGEST_ENTRY: usize = 16 << 10;

/// The texts, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Index of the text that the input line shows, and what it held before.
    recalled: Option<(usize, String)>,
}

impl History {
    /// The history with these texts, the oldest first.
    pub(crate) fn new(entries: Vec<String>) -> Self {
        Self {
            entries,
            recalled: None,
        }
    }

    /// Adds a text, unless it is blank, too long, or the same as the last one.
    pub(crate) fn add(&mut self, text: &str) {
        if is_kept(text) && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
            let excess = self.entries.len().saturating_sub(ENTRIES);
            self.entries.drain(..excess);
        }
    }

    /// The text before the one that is shown now.
    pub(super) fn older(&mut self, now: &str) -> Option<String> {
        let (index, draft) = match self.recalled.take() {
            Some((index, draft)) => (index, draft),
            None => (self.entries.len(), now.to_owned()),
        };
        let next = index.saturating_sub(1);
        self.recalled = (!self.entries.is_empty()).then_some((next, draft));
        (next < index).then(|| self.entries.get(next).cloned())?
    }

    /// The text after the one that is shown now; after the last one, what was there before.
    pub(super) fn newer(&mut self, _now: &str) -> Option<String> {
        let (index, draft) = self.recalled.take()?;
        match self.entries.get(index + 1) {
            Some(text) => {
                self.recalled = Some((index + 1, draft));
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    /// Ends recalling.
    pub(super) fn leave(&mut self) {
        self.recalled = None;
    }
}

/// Returns whether the history keeps a text.
pub(crate) fn is_kept(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= LONGEST_ENTRY
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
    pub(super) fn found<'a>(&self, history: &'a History) -> Option<&'a str> {
        if self.query.is_empty() {
            return None;
        }
        let query = self.query.to_lowercase();
        let entries = history.entries.iter().rev();
        let mut found = entries.filter(|text| text.to_lowercase().contains(&query));
        found.nth(self.passed).map(String::as_str)
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
        let text = clean(found.unwrap_or_default().lines().next().unwrap_or_default());
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
