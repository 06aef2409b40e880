//! Transcript of a conversation, in order. The first items settle as soon as they are complete.

use std::collections::VecDeque;
use std::time::Duration;

use gadgetry::proto::event::Ancestor;
use gadgetry::proto::id::CallId;
use gadgetry::proto::visible::output_line;
use ratatui_core::text::{Line, Span};

use super::call::{CallItem, DIFF_LINES, diff_style, seconds};
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
/// Bytes of what was printed that the pager shows again.
const HISTORY_BYTES: usize = 8 << 20;
/// Characters of a line of these.
const LINE_CHARS: usize = 1000;

/// A part of the transcript.
#[derive(Debug)]
pub(super) enum Item {
    /// Message of the user. The flag says whether it was added to a run.
    Prompt(String, bool),
    /// Text of the model. The flag says whether it is complete.
    Reply(Box<Reply>, bool),
    /// Reasoning of the model, and how long it took.
    Reasoning(String, Duration),
    /// A call of a gadget.
    Call(Box<CallItem>),
    /// Report of the program.
    Report(Report),
    /// Lines that are printed as they are.
    Lines(Vec<Line<'static>>),
}

/// Text of the model, as it grows on the screen, and as it was written.
#[derive(Debug, Default)]
pub(super) struct Reply {
    markdown: Markdown,
    text: String,
}

impl Reply {
    fn push(&mut self, text: &str) {
        self.markdown.push(text);
        self.text.push_str(text);
    }
}

#[derive(Debug, Default)]
pub(super) struct Transcript {
    items: VecDeque<Item>,
    /// Items that were printed, for the pager.
    history: VecDeque<Item>,
    /// Bytes of these.
    bytes: usize,
    /// Items that were dropped before these.
    dropped: usize,
    /// Whether the last item was a call, which a blank line separates from text.
    is_after_call: bool,
    /// Whether the last item ends without the blank line that comes before a prompt.
    is_in_rows: bool,
}

impl Transcript {
    /// Adds an item. What is not the model's waits for the end of its reply, below it: a note in the middle of a code block would end it.
    pub(super) fn add(&mut self, item: Item) {
        if matches!(item, Item::Call(_) | Item::Reply(..) | Item::Reasoning(..)) {
            self.end_reply();
        }
        if self.is_in_rows && matches!(item, Item::Prompt(..)) {
            self.items.push_back(Item::Lines(vec![Line::default()]));
        }
        self.is_after_call = matches!(item, Item::Call(_));
        self.is_in_rows = !matches!(item, Item::Prompt(..));
        self.items.push_back(item);
    }

    /// Adds a call: of a subagent, below the call that has begun it and what that has called before.
    pub(super) fn add_call(&mut self, call: CallItem) {
        let has_begun = |item: &Item| item.as_call().is_some_and(|it| it.has_begun(&call));
        let Some(parent) = self.items.iter().position(has_begun) else {
            return self.add(Item::Call(Box::new(call)));
        };
        let is_below = |item: &&Item| item.as_call().is_some_and(|it| it.is_in_run_of(&call));
        let below = self.items.iter().skip(parent + 1).take_while(is_below);
        let at = parent + 1 + below.count();
        self.items.insert(at, Item::Call(Box::new(call)));
    }

    /// Adds text of the model.
    pub(super) fn text(&mut self, text: &str) {
        if let Some((reply, _)) = self.open_reply() {
            reply.push(text);
        } else if !text.trim().is_empty() {
            if self.is_after_call {
                self.items.push_back(Item::Lines(vec![Line::default()]));
                self.is_after_call = false;
            }
            self.is_in_rows = false;
            let mut reply = Reply::default();
            reply.push(text.trim_start_matches('\n'));
            self.items.push_back(Item::Reply(Box::new(reply), false));
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
        if let Some((reply, is_complete)) = self.open_reply() {
            *is_complete = true;
            reply.markdown.end();
        }
    }

    /// The text of the model that grows, and whether it is complete.
    fn open_reply(&mut self) -> Option<(&mut Reply, &mut bool)> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Reply(reply, is_complete) if !*is_complete => Some((&mut **reply, is_complete)),
            Item::Reply(..)
            | Item::Prompt(..)
            | Item::Reasoning(..)
            | Item::Call(_)
            | Item::Report(_)
            | Item::Lines(_) => None,
        })
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
        self.items
            .retain(|item| !matches!(item, Item::Reply(_, false)));
    }

    /// The call with this number.
    pub(super) fn call(&mut self, path: &[Ancestor], call: CallId) -> Option<&mut CallItem> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(it) if it.is(path, call) => Some(&mut **it),
            Item::Call(_)
            | Item::Prompt(..)
            | Item::Reply(..)
            | Item::Reasoning(..)
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
            | Item::Reasoning(..)
            | Item::Report(_)
            | Item::Lines(_) => None,
        })
    }

    /// What the command of the latest call that runs one has written so far.
    pub(super) fn output_so_far(&self) -> Option<&str> {
        self.open_calls().filter_map(CallItem::output_so_far).last()
    }

    /// The calls that are not answered yet.
    pub(super) fn open_calls(&self) -> impl Iterator<Item = &CallItem> {
        let calls = self.items.iter().filter_map(Item::as_call);
        calls.filter(|call| !call.is_complete())
    }

    pub(super) fn take_settled(&mut self, width: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        while let Some(item) = self.items.front_mut() {
            if let Item::Reply(reply, _) = item {
                lines.extend(reply.markdown.take_settled(width));
            }
            if !item.is_complete() {
                break;
            }
            lines.extend(wrap_all(&item.lines(Duration::ZERO, width), width));
            if item.is_followed_by_blank() {
                lines.push(Line::default());
            }
            if let Some(item) = self.items.pop_front() {
                self.keep(item);
            }
        }
        lines
    }

    /// Keeps what the pager shows again.
    fn keep(&mut self, item: Item) {
        self.bytes += item.bytes();
        self.history.push_back(item);
        while self.bytes > HISTORY_BYTES {
            let Some(oldest) = self.history.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes();
            self.dropped += 1;
        }
    }

    /// Adds what was said before the program, for the pager alone.
    pub(super) fn add_past(&mut self, is_user: bool, text: String) {
        self.keep(if is_user {
            Item::Prompt(text, false)
        } else {
            let markdown = Markdown::default();
            Item::Reply(Box::new(Reply { markdown, text }), true)
        });
    }

    /// The whole of what was printed, from an item on. Returns the item after it, too; the count includes those that were dropped.
    pub(super) fn history_rows(
        &self,
        from: usize,
        width: u16,
        with_reasoning: bool,
    ) -> (usize, Vec<Line<'static>>) {
        let mut rows = Vec::new();
        if from < self.dropped && from == 0 {
            let words = "… earlier parts: `gadgetry sessions show` has them";
            rows.push(Line::styled(words, DIM));
        }
        for item in self.history.iter().skip(from.saturating_sub(self.dropped)) {
            rows.extend(item.whole(Duration::ZERO, width, with_reasoning));
        }
        (self.dropped + self.history.len(), rows)
    }

    /// The whole of the rest.
    pub(super) fn rest_rows(
        &self,
        now: Duration,
        width: u16,
        with_reasoning: bool,
    ) -> Vec<Line<'static>> {
        let items = self.items.iter();
        items
            .flat_map(|item| item.whole(now, width, with_reasoning))
            .collect()
    }

    /// The last rows of what is not settled, at most `height` of them.
    pub(super) fn live(&self, now: Duration, width: u16, height: usize) -> Vec<Line<'static>> {
        let mut rows: VecDeque<Line<'static>> = VecDeque::new();
        for item in self.items.iter().rev() {
            let lines = if let Item::Reply(reply, _) = item {
                reply.markdown.tail(width)
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
    fn as_call(&self) -> Option<&CallItem> {
        match self {
            Self::Call(call) => Some(call),
            Self::Prompt(..)
            | Self::Reply(..)
            | Self::Reasoning(..)
            | Self::Report(_)
            | Self::Lines(_) => None,
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Reply(_, is_complete) => *is_complete,
            Self::Call(call) => call.is_complete(),
            Self::Prompt(..) | Self::Reasoning(..) | Self::Report(_) | Self::Lines(_) => true,
        }
    }

    fn is_followed_by_blank(&self) -> bool {
        match self {
            Self::Reply(reply, _) => !reply.markdown.is_blank(),
            Self::Prompt(..) => true,
            Self::Call(_) | Self::Reasoning(..) | Self::Report(_) | Self::Lines(_) => false,
        }
    }

    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        const AT_LEAST: usize = 200;
        AT_LEAST
            + match self {
                Self::Prompt(text, _)
                | Self::Reasoning(text, _)
                | Self::Report(Report::Note(_, text) | Report::Diff(text) | Report::Output(text)) => {
                    text.len()
                }
                Self::Reply(reply, _) => reply.text.len(),
                Self::Call(call) => call.whole_text().len(),
                Self::Report(Report::Table(rows)) => rows.len() * AT_LEAST,
                Self::Lines(lines) => lines.len() * AT_LEAST,
            }
    }

    /// All of it, in rows of this width: nothing but reasoning is folded.
    fn whole(&self, now: Duration, width: u16, with_reasoning: bool) -> Vec<Line<'static>> {
        let mut lines = match self {
            Self::Prompt(text, is_added) => wrap_all(&prompt(text, *is_added, usize::MAX), width),
            Self::Reply(reply, _) => {
                let mut markdown = Markdown::default();
                markdown.push(&reply.text);
                markdown.end();
                let mut lines = markdown.take_settled(width);
                if !lines.is_empty() {
                    lines.push(Line::default());
                }
                return lines;
            }
            Self::Reasoning(text, _) if with_reasoning => {
                let text = text.trim_end();
                let text = text.lines().map(|line| format!("  {}", clean(line)));
                let text: Vec<_> = text.map(|line| Line::styled(line, DIM)).collect();
                wrap_all(&text, width)
            }
            Self::Call(call) => wrap_all(&call.whole(now), width),
            Self::Reasoning(..) | Self::Report(_) | Self::Lines(_) => {
                wrap_all(&self.lines(Duration::ZERO, width), width)
            }
        };
        if self.is_followed_by_blank() || matches!(self, Self::Reasoning(..) if with_reasoning) {
            lines.push(Line::default());
        }
        lines
    }

    fn lines(&self, now: Duration, width: u16) -> Vec<Line<'static>> {
        match self {
            Self::Prompt(text, is_added) => prompt(text, *is_added, PROMPT_LINES),
            Self::Reply(..) => Vec::new(),
            Self::Reasoning(_, took) => {
                let words = format!("reasoned for {} · Ctrl-T, r shows it", seconds(*took));
                vec![Line::styled(words, DIM)]
            }
            Self::Call(call) => call.lines(now),
            Self::Report(report) => report_lines(report, width),
            Self::Lines(lines) => lines.clone(),
        }
    }
}

fn prompt(text: &str, is_added: bool, most: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let count = text.lines().count();
    for (index, line) in text.lines().take(most).enumerate() {
        let mark = if index == 0 { "> " } else { "  " };
        lines.push(Line::from(vec![
            Span::styled(mark, NAME),
            Span::styled(clean(&long_line(line, LINE_CHARS)), BOLD),
        ]));
    }
    if count > most {
        let more = format!("  … {} more lines", count - most);
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
                let line = clean(&long_line(&output_line(line), LINE_CHARS));
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
