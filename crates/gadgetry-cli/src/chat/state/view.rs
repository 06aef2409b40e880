//! The live rows: what is not settled, the dialog, the input line, and the status.

use ratatui_core::text::{Line, Span};

use super::call::{CallItem, last_lines, seconds, spinner};
use super::paged::Paged;
use super::run::{Activity, Run, UserCommand};
use super::{App, Waiting};
use crate::chat::screen::View;
use crate::chat::text::{DIM, NAME, clean, cut, width, wrap_all};
use crate::lines::short;
use crate::usage_totals::grouped;

/// Rows of the input line at most.
const INPUT_ROWS: u16 = 8;
/// Rows of completions at most.
const MENU_ROWS: u16 = 5;
/// Messages that wait for the run, of those that are shown.
const WAITING_ROWS: usize = 3;
/// Rows at least, whatever half the screen is.
const LEAST_ROWS: u16 = 4;

impl App {
    /// The live rows on a screen of this size: at most half of it, unless a call is shown in pages, and none as wide as it.
    pub(crate) fn view(&self, columns: u16, height: u16) -> View {
        // A row that fills the line would leave the cursor at different places on different terminals.
        let columns = columns.saturating_sub(1).max(1);
        let paged = self.dialogs.front().and_then(|it| it.paged.as_ref());
        let page = paged.map(Paged::page).unwrap_or_default().to_vec();
        // A page is whole, and leaves enough.
        let others = u16::try_from(page.len() + 1).unwrap_or(u16::MAX);
        let room = (height / 2)
            .max(LEAST_ROWS)
            .min(height.saturating_sub(others))
            .max(1);
        let input_room = (room / 2).clamp(1, INPUT_ROWS);
        let (input, cursor) = self.editor.rows(columns, input_room);
        let mut left = usize::from(room).saturating_sub(input.len());
        let mut take = |mut rows: Vec<Line<'static>>| {
            rows.truncate(left);
            left -= rows.len();
            rows
        };
        let mut dialog = wrap_all(&self.dialog_rows(), columns);
        if room > LEAST_ROWS {
            // The status stays, however long a rule is.
            dialog.truncate(usize::from(room).saturating_sub(input.len() + 1));
        }
        let dialog = take(dialog);
        let waiting = take(self.waiting_rows(columns));
        let status = take(vec![cut(&self.status(columns), columns)]);
        let menu = take(self.editor.menu_rows(columns, MENU_ROWS));
        let activity = take(
            self.activity()
                .map(|it| cut(&it, columns))
                .into_iter()
                .collect(),
        );
        let output = take(self.shell_rows(columns));
        let live = self.transcript.live(self.now, columns, left);

        let mut rows = live;
        rows.extend(output);
        rows.extend(activity);
        rows.extend(waiting);
        rows.extend(page);
        rows.extend(dialog);
        let above = rows.len();
        rows.extend(input);
        rows.extend(menu);
        rows.extend(status);
        View {
            rows,
            cursor: (above + cursor.0, cursor.1),
        }
    }

    /// All rows of the screen, if the whole conversation is on it.
    pub(crate) fn overlay(&mut self, columns: u16, height: u16) -> Option<View> {
        let waits = (!self.dialogs.is_empty()).then(|| Waiting::Decision.words());
        let pager = self.pager.as_mut()?;
        Some(pager.view(&self.transcript, self.now, (columns, height), waits))
    }

    fn dialog_rows(&self) -> Vec<Line<'static>> {
        let waiting = self.dialogs.len().saturating_sub(1);
        let first = self.dialogs.front();
        let rows = first.map(|dialog| {
            let is_typing = !self.editor.is_empty();
            let is_ready = !is_typing && dialog.is_ready(self.now, self.last_key);
            dialog.rows(waiting, is_ready, is_typing)
        });
        rows.unwrap_or_default()
    }

    /// The messages that the run has not read.
    fn waiting_rows(&self, columns: u16) -> Vec<Line<'static>> {
        let hidden = self.added.len().saturating_sub(WAITING_ROWS);
        let shown = self.added.iter().skip(hidden);
        let mut rows: Vec<_> = shown
            .map(|text| cut(&Line::styled(format!("+ {}", short(text)), DIM), columns))
            .collect();
        if !rows.is_empty() {
            let hidden = match hidden {
                0 => String::new(),
                hidden => format!("{hidden} more; "),
            };
            let words = format!("  ({hidden}waits for the run; Up takes the last one back)");
            rows.push(cut(&Line::styled(words, DIM), columns));
        }
        rows
    }

    /// The end of what the command of the user has written.
    fn shell_rows(&self, columns: u16) -> Vec<Line<'static>> {
        let output = self.shell.as_ref().map(|it| last_lines(&it.output));
        let output = output.unwrap_or_default();
        let rows = output.lines().map(|line| format!("  {}", clean(line)));
        rows.map(|row| cut(&Line::styled(row, DIM), columns))
            .collect()
    }

    /// Returns the line that shows the activity of the run.
    fn activity(&self) -> Option<Line<'static>> {
        if let Some(UserCommand { line, since, .. }) = &self.shell {
            let took = seconds(self.now.saturating_sub(*since));
            return Some(Line::from(vec![
                Span::styled(format!("{} ", spinner(self.now)), NAME),
                Span::styled(format!("$ {} · {took} · Esc interrupts", short(line)), DIM),
            ]));
        }
        let Run {
            activity,
            since,
            is_cancelled,
            ..
        } = self.run.as_ref()?;
        let running = self
            .transcript
            .open_calls()
            .filter(|it| CallItem::is_running(it))
            .count();
        let what = match activity {
            _ if *is_cancelled => "cancelling".to_owned(),
            _ if !self.dialogs.is_empty() => "waiting for you".to_owned(),
            Activity::Calling => "calling model".to_owned(),
            Activity::Thinking => "thinking".to_owned(),
            Activity::Writing => "writing".to_owned(),
            // Between a decision and the start of its gadget.
            Activity::Working if running == 0 => "working".to_owned(),
            Activity::Working if running == 1 => "running 1 gadget".to_owned(),
            Activity::Working => format!("running {running} gadgets"),
            Activity::Retrying(words) => words.clone(),
        };
        let took = seconds(self.now.saturating_sub(*since));
        // Esc is an answer to a question.
        let key = if self.dialogs.is_empty() {
            "Esc"
        } else {
            "Ctrl-C"
        };
        Some(Line::from(vec![
            Span::styled(format!("{} ", spinner(self.now)), NAME),
            Span::styled(format!("{what} · {took} · {key} interrupts"), DIM),
        ]))
    }

    /// The model, the size of the context, what was spent, and the mode, which stays on the narrowest screen: it decides what runs
    /// without a question. `/cost` has the tokens of all requests.
    fn status(&self, columns: u16) -> Line<'static> {
        let mut parts = vec![self.facts.name.clone()];
        parts.extend(self.totals.cost_words());
        let used =
            (self.context > 0).then(|| format!("{} tokens in context", grouped(self.context)));
        let window = self.facts.window.filter(|it| *it > 0);
        let left = window.map(|window| {
            let left = window.saturating_sub(self.context) * 100 / window;
            match &used {
                Some(used) => format!("{used}, {left} % left"),
                None => format!("{left} % context left"),
            }
        });
        parts.extend(left.or(used));
        parts.push(self.facts.mode.clone());
        let line = |parts: &[String]| clean(&parts.join(" · "));
        while parts.len() > 1 && width(&line(&parts)) > usize::from(columns) {
            // What was spent, then the context, which says how long the conversation can be, and then the name.
            parts.remove(usize::from(parts.len() > 2));
        }
        Line::from(Span::styled(line(&parts), DIM))
    }
}
