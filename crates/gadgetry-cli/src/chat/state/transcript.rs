//! Transcript of a conversation, in order. The first items settle as soon as they are complete.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use gadgetry::proto::event::Ancestor;
use gadgetry::proto::id::CallId;
use ratatui_core::text::{Line, Span};

use super::call::{CallItem, DIFF_LINES, diff_style};
use crate::chat::markdown::Markdown;
use crate::chat::report::{Report, Tone, padded};
use crate::chat::text::{
    self, ALERT, BAD, BOLD, DIM, NAME, clean, lines, long_line, wrap, wrap_all,
};

/// Lines of a message of the user that are printed again.
const PROMPT_LINES: usize = 20;
/// Lines of a note that are printed.
const NOTE_LINES: usize = 20;
/// Lines of the output of a command of the user that are printed, from its end.
const OUTPUT_LINES: usize = 200;
/// Characters of a line of these.
const LINE_CHARS: usize = 1000;

/// A part of the transcript.
#[derive(Debug)]
pub(super) enum Item {
    /// Message of the user. The flag says whether it was added to a run.
    Prompt(String, bool),
    /// Text of the model. The flag says whether it is complete.
    Reply(Box<Markdown>, bool),
    /// A call of a gadget.
    Call(Box<CallItem>),
    /// Report of the program.
    Report(Report),
    /// Lines that are printed as they are.
    Lines(Vec<Line<'static>>),
}

#[derive(Debug, Default)]
pub(super) struct Transcript {
    items: VecDeque<Item>,
    /// Whether the last item was a call, which a blank line separates from text.
    is_after_call: bool,
}

impl Transcript {
    pub(super) fn add(&mut self, item: Item) {
        self.end_reply();
        self.is_after_call = matches!(item, Item::Call(_));
        self.items.push_back(item);
    }

    /// Adds text of the model.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(Item::Reply(markdown, false)) = self.items.back_mut() {
            markdown.push(text);
        } else if !text.trim().is_empty() {
            if self.is_after_call {
                self.items.push_back(Item::Lines(vec![Line::default()]));
                self.is_after_call = false;
            }
            let mut markdown = Markdown::default();
            markdown.push(text.trim_start_matches('\n'));
            self.items.push_back(Item::Reply(Box::new(markdown), false));
        }
    }

    /// Prints lines now: before the first item that is not complete, because that one waits for them.
    pub(super) fn print(&mut self, lines: Vec<Line<'static>>) {
        let index = self.items.iter().position(|item| !item.is_complete());
        let index = index.unwrap_or(self.items.len());
        self.items.insert(index, Item::Lines(lines));
    }

    /// The text of the model that was open is complete.
    pub(super) fn end_reply(&mut self) {
        if let Some(Item::Reply(markdown, is_complete)) = self.items.back_mut()
            && !mem::replace(is_complete, true)
        {
            markdown.end();
        }
    }

    /// Everything is complete, because no more events come.
    pub(super) fn end_run(&mut self) {
        self.end_reply();
        for item in &mut self.items {
            if let Item::Call(call) = item {
                call.abandon();
            }
        }
    }

    /// Removes the text that is not printed yet, because the model's reply is withdrawn.
    pub(super) fn withdraw(&mut self) {
        if let Some(Item::Reply(_, false)) = self.items.back() {
            self.items.pop_back();
        }
    }

    /// The call with this number.
    pub(super) fn call(&mut self, path: &[Ancestor], call: CallId) -> Option<&mut CallItem> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(it) if it.is(path, call) => Some(&mut **it),
            Item::Call(_)
            | Item::Prompt(..)
            | Item::Reply(..)
            | Item::Report(_)
            | Item::Lines(_) => None,
        })
    }

    /// The call with this idempotency key, if it runs.
    pub(super) fn call_with_key(&mut self, key: &str) -> Option<&mut CallItem> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(it) if it.has_key(key) => Some(&mut **it),
            Item::Call(_)
            | Item::Prompt(..)
            | Item::Reply(..)
            | Item::Report(_)
            | Item::Lines(_) => None,
        })
    }

    /// The calls that are not answered yet.
    pub(super) fn open_calls(&self) -> impl Iterator<Item = &CallItem> {
        self.items.iter().filter_map(|item| match item {
            Item::Call(call) if !call.is_complete() => Some(&**call),
            Item::Call(_)
            | Item::Prompt(..)
            | Item::Reply(..)
            | Item::Report(_)
            | Item::Lines(_) => None,
        })
    }

    pub(super) fn take_settled(&mut self, width: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        while let Some(item) = self.items.front_mut() {
            if let Item::Reply(markdown, _) = item {
                lines.extend(markdown.take_settled(width));
            }
            if !item.is_complete() {
                break;
            }
            lines.extend(wrap_all(&item.lines(Duration::ZERO, width), width));
            if item.is_followed_by_blank() {
                lines.push(Line::default());
            }
            self.items.pop_front();
        }
        lines
    }

    /// The last rows of what is not settled, at most `height` of them.
    pub(super) fn live(&self, now: Duration, width: u16, height: usize) -> Vec<Line<'static>> {
        let mut rows: VecDeque<Line<'static>> = VecDeque::new();
        for item in self.items.iter().rev() {
            let lines = if let Item::Reply(markdown, _) = item {
                markdown.tail(width)
            } else {
                wrap_all(&item.lines(now, width), width)
            };
            for line in lines.into_iter().rev() {
                if rows.len() == height {
                    return rows.into();
                }
                rows.push_front(line);
            }
        }
        rows.into()
    }
}

impl Item {
    fn is_complete(&self) -> bool {
        match self {
            Self::Reply(_, is_complete) => *is_complete,
            Self::Call(call) => call.is_complete(),
            Self::Prompt(..) | Self::Report(_) | Self::Lines(_) => true,
        }
    }

    fn is_followed_by_blank(&self) -> bool {
        match self {
            Self::Reply(markdown, _) => !markdown.is_blank(),
            Self::Prompt(..) => true,
            Self::Call(_) | Self::Report(_) | Self::Lines(_) => false,
        }
    }

    fn lines(&self, now: Duration, width: u16) -> Vec<Line<'static>> {
        match self {
            Self::Prompt(text, is_added) => prompt(text, *is_added),
            Self::Reply(..) => Vec::new(),
            Self::Call(call) => call.lines(now),
            Self::Report(report) => report_lines(report, width),
            Self::Lines(lines) => lines.clone(),
        }
    }
}

fn prompt(text: &str, is_added: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let count = text.lines().count();
    for (index, line) in text.lines().take(PROMPT_LINES).enumerate() {
        let mark = if index == 0 { "> " } else { "  " };
        lines.push(Line::from(vec![
            Span::styled(mark, NAME),
            Span::styled(clean(&long_line(line, LINE_CHARS)), BOLD),
        ]));
    }
    if count > PROMPT_LINES {
        let more = format!("  … {} more lines", count - PROMPT_LINES);
        lines.push(Line::styled(more, DIM));
    }
    if is_added {
        lines.push(Line::styled("  (added to the run)", DIM));
    }
    lines
}

/// A row of a table, whose second column is wrapped in itself if there is room.
fn row(name: String, what: String, width: u16) -> Vec<Line<'static>> {
    let indent = text::width(&name);
    let name = Span::styled(name, NAME);
    let what = Span::styled(what, DIM);
    let room = usize::from(width).saturating_sub(indent);
    let Some(room) = u16::try_from(room).ok().filter(|room| *room >= width / 2) else {
        return vec![Line::from(vec![name, what])];
    };
    let mut lines = wrap(&Line::from(what), room);
    for (index, line) in lines.iter_mut().enumerate() {
        let before = if index == 0 {
            name.clone()
        } else {
            Span::raw(" ".repeat(indent))
        };
        line.spans.insert(0, before);
    }
    lines
}

fn report_lines(report: &Report, width: u16) -> Vec<Line<'static>> {
    match report {
        Report::Note(tone, text) => {
            let style = match tone {
                Tone::Plain => DIM,
                Tone::Alert => ALERT,
                Tone::Bad => BAD,
            };
            let count = text.lines().count();
            let first = text.lines().take(NOTE_LINES);
            let mut lines: Vec<_> = first
                .flat_map(|line| lines(&long_line(line, LINE_CHARS), style))
                .collect();
            if count > NOTE_LINES {
                let more = format!("… {} more lines", count - NOTE_LINES);
                lines.push(Line::styled(more, DIM));
            }
            lines
        }
        Report::Table(rows) => {
            let rows = padded(rows).into_iter();
            rows.flat_map(|(name, what)| row(format!("  {name}  "), what, width))
                .collect()
        }
        Report::Output(output) => {
            let skipped = output.lines().count().saturating_sub(OUTPUT_LINES);
            let mut lines = Vec::new();
            if skipped > 0 {
                lines.push(Line::styled(format!("  … {skipped} lines before"), DIM));
            }
            for line in output.lines().skip(skipped) {
                let line = clean(&long_line(line, LINE_CHARS));
                lines.push(Line::raw(format!("  {line}")));
            }
            lines
        }
        Report::Diff(diff) => {
            let line = |line: &str| {
                let line = &*long_line(line, LINE_CHARS);
                Line::from(Span::styled(format!("  {}", clean(line)), diff_style(line)))
            };
            let mut lines: Vec<_> = diff.lines().take(DIFF_LINES).map(line).collect();
            let more = diff.lines().count().saturating_sub(DIFF_LINES);
            if more > 0 {
                lines.push(Line::styled(format!("  … {more} more lines"), DIM));
            }
            lines
        }
    }
}
