//! What is folded: the reasoning of the model, and results that are longer than what is shown of them, which a key prints.

use std::mem;
use std::time::Duration;

use gadgetry::proto::visible::uncolored;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::call::{KEPT_BYTES, end_of};
use crate::chat::text::{DIM, clean, long_line};

/// Lines that are printed, from the end.
const LINES: usize = 500;
/// Characters of a line.
const LINE_CHARS: usize = 1000;

/// The latest reasoning and the latest result.
#[derive(Debug, Default)]
pub(super) struct Folded {
    reasoning: String,
    /// When it began, while it grows.
    since: Option<Duration>,
    result: String,
}

impl Folded {
    /// The model reasons.
    pub(super) fn reasons(&mut self, now: Duration, text: &str) {
        if self.since.is_none() {
            self.since = Some(now);
            self.reasoning.clear();
        }
        self.reasoning.push_str(text);
        if self.reasoning.len() > 2 * KEPT_BYTES {
            self.reasoning = end_of(&self.reasoning);
        }
    }

    /// The model does something else. Takes its reasoning and how long it took, if it has reasoned.
    pub(super) fn reasoned(&mut self, now: Duration) -> Option<(String, Duration)> {
        let since = self.since.take()?;
        let text = mem::take(&mut self.reasoning);
        Some((text, now.saturating_sub(since)))
    }

    /// Takes the whole of a result.
    pub(super) fn result(&mut self, text: &str) {
        self.result = end_of(text);
    }

    /// Returns the lines of what a command has written so far, or of the latest result.
    pub(super) fn result_lines(&self, so_far: Option<&str>) -> Vec<Line<'static>> {
        lines(so_far.unwrap_or(&self.result))
    }
}

fn lines(text: &str) -> Vec<Line<'static>> {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return vec![Line::styled("there is no result to show", DIM)];
    }
    let skipped = text.lines().count().saturating_sub(LINES);
    let mut lines = Vec::new();
    let mut line =
        |text: String, style: Style| lines.push(Line::styled(format!("  {text}"), style));
    if skipped > 0 {
        line(format!("… {skipped} lines before"), DIM);
    }
    for text in text.lines().skip(skipped) {
        line(clean(&long_line(&uncolored(text), LINE_CHARS)), DIM);
    }
    lines
}
