//! The whole conversation on a screen of its own: scrolled, searched, with reasoning on a key.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::transcript::Transcript;
use crate::chat::screen::View;
use crate::chat::text::{ALERT, DIM, cut};

/// The row of the conversation that a search has found.
const FOUND: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The open pager.
#[derive(Debug, Default)]
pub(super) struct Pager {
    /// The first row on the screen; `None` follows the end.
    top: Option<usize>,
    /// What is searched for.
    query: String,
    is_typing: bool,
    /// The row that was found.
    found: Option<usize>,
    is_missing: bool,
    shows_reasoning: bool,
    /// The rows of what does not change any more, at this width.
    rows: Vec<Line<'static>>,
    width: u16,
    /// Items in these rows, with those that were dropped before.
    items: usize,
    /// The rows of the rest.
    live: Vec<Line<'static>>,
    /// Rows on the screen.
    height: usize,
}

impl Pager {
    /// A key. Returns whether the pager stays open.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning here"
    )]
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && matches!(key.code, KeyCode::Char('c' | 't')) {
            return false;
        }
        if self.is_typing {
            self.type_query(key.code);
            return true;
        }
        let page = self.height.saturating_sub(1).max(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('u') if has_control => self.up(page / 2),
            KeyCode::Char('d') if has_control => self.down(page / 2),
            KeyCode::Up | KeyCode::Char('k') => self.up(1),
            KeyCode::Down | KeyCode::Enter | KeyCode::Char('j') => self.down(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.up(page),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.down(page),
            KeyCode::Home | KeyCode::Char('g') => self.top = Some(0),
            KeyCode::End | KeyCode::Char('G') => self.top = None,
            KeyCode::Char('r') => {
                self.shows_reasoning = !self.shows_reasoning;
                self.lay_out_again();
            }
            KeyCode::Char('/') => {
                self.is_typing = true;
                self.query.clear();
            }
            KeyCode::Char('n') => self.find(false),
            KeyCode::Char('N') => self.find(true),
            _ => {}
        }
        true
    }

    /// A paste, which is searched for if a query is typed.
    pub(super) fn paste(&mut self, text: &str) {
        if self.is_typing {
            self.query.extend(text.lines().next());
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning here"
    )]
    fn type_query(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => {
                self.is_typing = false;
                self.found = None;
                self.find(true);
            }
            KeyCode::Esc => self.is_typing = false,
            KeyCode::Backspace if self.query.pop().is_none() => self.is_typing = false,
            KeyCode::Char(c) => self.query.push(c),
            _ => {}
        }
    }

    fn len(&self) -> usize {
        self.rows.len() + self.live.len()
    }

    fn row(&self, index: usize) -> Option<&Line<'static>> {
        let live = index.checked_sub(self.rows.len());
        self.rows.get(index).or_else(|| self.live.get(live?))
    }

    fn last_top(&self) -> usize {
        self.len().saturating_sub(self.height)
    }

    fn first(&self) -> usize {
        let last = self.last_top();
        self.top.map_or(last, |top| top.min(last))
    }

    fn up(&mut self, rows: usize) {
        self.top = Some(self.first().saturating_sub(rows));
    }

    fn down(&mut self, rows: usize) {
        let top = self.first() + rows;
        self.top = Some(top).filter(|top| *top < self.last_top());
    }

    /// Goes to the next row with the query; `is_back` goes up. The first search begins at the end of the screen, and goes up.
    fn find(&mut self, is_back: bool) {
        let query = self.query.to_lowercase();
        if query.is_empty() {
            return;
        }
        let from = self.found.unwrap_or(self.first() + self.height);
        let mut before = (0..from.min(self.len())).rev();
        let mut after = from + 1..self.len();
        let found = if is_back {
            before.find(|row| self.has(*row, &query))
        } else {
            after.find(|row| self.has(*row, &query))
        };
        self.is_missing = found.is_none();
        if let Some(row) = found {
            self.found = Some(row);
            self.top = Some(row.saturating_sub(self.height / 2));
        }
    }

    /// Returns whether the query begins in a row; it may end in the next one, because rows are wrapped.
    fn has(&self, index: usize, query: &str) -> bool {
        let text = |index: usize| {
            let row = self.row(index).map(ToString::to_string);
            row.unwrap_or_default().to_lowercase()
        };
        let own = text(index);
        if own.contains(query) {
            return true;
        }
        let own = own.trim_end();
        let both = format!("{own} {}", text(index + 1).trim_start());
        both.find(query).is_some_and(|at| at < own.len())
    }

    fn lay_out_again(&mut self) {
        self.rows.clear();
        self.items = 0;
        (self.found, self.is_missing) = (None, false);
    }

    /// The rows of the screen.
    pub(super) fn view(
        &mut self,
        transcript: &Transcript,
        now: Duration,
        (columns, height): (u16, u16),
        waits: Option<&str>,
    ) -> View {
        let width = columns.saturating_sub(1).max(1);
        if self.width != width {
            self.width = width;
            self.lay_out_again();
        }
        let (items, rows) = transcript.history_rows(self.items, width, self.shows_reasoning);
        self.items = items;
        self.rows.extend(rows);
        self.live = transcript.rest_rows(now, width, self.shows_reasoning);
        self.height = usize::from(height).saturating_sub(1).max(1);
        let first = self.first();
        let last = (first + self.height).min(self.len());
        let mut rows = Vec::new();
        for index in first..last {
            let row = self.row(index).cloned().unwrap_or_default();
            rows.push(if self.found == Some(index) {
                row.patch_style(FOUND)
            } else {
                row
            });
        }
        rows.resize(self.height, Line::default());
        let status = if self.is_typing {
            Line::raw(format!("/{}", self.query))
        } else {
            let percent = (last * 100).checked_div(self.len()).unwrap_or(100);
            let mut words = vec![Span::styled(format!("transcript · {percent} %"), DIM)];
            if let Some(what) = waits {
                words.push(Span::styled(format!(" · {what}"), ALERT));
            }
            if self.is_missing {
                words.push(Span::styled(format!(" · no {:?}", self.query), ALERT));
            }
            let keys = " · q returns · / searches · n N next · r reasoning · g G ends";
            words.push(Span::styled(keys, DIM));
            Line::from(words)
        };
        let status = cut(&status, width);
        let cursor = u16::try_from(status.width()).unwrap_or_default();
        rows.push(status);
        View {
            cursor: (rows.len() - 1, cursor.min(width)),
            rows,
        }
    }
}
