//! Approvals and questions, one after the other.
//!
//! A key counts as an answer only if nothing is in the input line and no key was pressed for a while, so that what is being
//! typed when a dialog opens never approves anything.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::text::{Line, Span};

use super::{App, Effect, RequestId};
use crate::approvals::{Approval, Choice, Verdict};
use crate::chat::text::{
    ALERT, BAD, BAR, BOLD, DIM, GOOD, NAME, NOTE_BAR, clean, marked, marked_rest,
};
use crate::pages::{Mark, Row, Shade, more, rows};

/// How long no key must have been pressed.
const SILENCE: Duration = Duration::from_millis(300);
#[derive(Debug)]
pub(super) struct Dialog {
    id: RequestId,
    kind: Kind,
    /// What is not printed yet. Until all is, only a refusal counts.
    unseen: VecDeque<Vec<Row>>,
    /// Whether it has more than one page.
    is_paged: bool,
    /// When it became the open one; `None` before that.
    shown: Option<Duration>,
    /// Whether the input line holds the answer to it: to a question, or the reason of a refusal.
    has_input: bool,
}

#[derive(Debug)]
enum Kind {
    Approval {
        approval: Approval,
        /// The rule for `s`.
        rule: usize,
    },
    Question,
}

impl Dialog {
    pub(super) fn approval(id: RequestId, approval: Approval) -> Self {
        let pages = approval.pages(true);
        Self::new(id, Kind::Approval { approval, rule: 0 }, pages)
    }

    pub(super) fn question(id: RequestId, question: &str) -> Self {
        // It is answered with words of the user, so it may be of any length.
        Self::new(id, Kind::Question, vec![rows(question)])
    }

    fn new(id: RequestId, kind: Kind, pages: Vec<Vec<Row>>) -> Self {
        Self {
            id,
            kind,
            is_paged: pages.len() > 1,
            unseen: pages.into(),
            shown: None,
            has_input: false,
        }
    }

    /// Whether no key was pressed for a while.
    pub(super) fn is_ready(&self, now: Duration, last_key: Duration) -> bool {
        let since = self.shown.unwrap_or(now).max(last_key);
        now.saturating_sub(since) >= SILENCE
    }

    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// The first line of what is printed.
    fn head(&self) -> Line<'static> {
        let name = match &self.kind {
            Kind::Approval { approval, .. } => clean(&approval.gadget),
            Kind::Question => "A gadget asks".to_owned(),
        };
        Line::from(vec![Span::styled("? ", ALERT), Span::styled(name, BOLD)])
    }

    /// The next page, which is printed now.
    fn next_page(&mut self) -> Vec<Line<'static>> {
        let plain = match &self.kind {
            Kind::Approval { .. } => NAME,
            Kind::Question => BOLD,
        };
        let style = |shade| match shade {
            Shade::Plain => plain,
            Shade::Added => GOOD,
            Shade::Removed => BAD,
        };
        let line = |Row { mark, text }| match mark {
            Mark::Note | Mark::Item => marked(NOTE_BAR, text, DIM),
            Mark::Line(shade) => marked(BAR, text, style(shade)),
            Mark::Rest(shade) => marked_rest(text, style(shade)),
        };
        let page = self.unseen.pop_front().unwrap_or_default();
        page.into_iter().map(line).collect()
    }

    /// Its rows above the input line.
    pub(super) fn rows(
        &self,
        waiting: usize,
        is_ready: bool,
        is_typing: bool,
    ) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        let more = match waiting {
            0 => String::new(),
            waiting => format!(" ({waiting} more waiting)"),
        };
        match &self.kind {
            Kind::Approval { .. } if self.has_input => {
                rows.push(Line::styled(
                    "Reason for the model, or nothing; Enter refuses, Esc goes back",
                    ALERT,
                ));
            }
            Kind::Approval { approval, rule } => {
                rows.push(Line::from(vec![
                    Span::styled("Run ", ALERT),
                    Span::styled(clean(&approval.gadget), BOLD),
                    Span::styled("?", ALERT),
                    Span::styled(more, DIM),
                ]));
                // What does not count yet is not offered.
                rows.push(if !self.unseen.is_empty() {
                    Line::from(keys_for_more(&self.unseen))
                } else if is_ready {
                    Line::from(keys(approval, *rule))
                } else {
                    Line::styled("…", DIM)
                });
            }
            Kind::Question => {
                let words = if is_ready || self.has_input {
                    "Type the answer: Enter sends it, Esc gives none"
                } else {
                    "A gadget asks"
                };
                rows.push(Line::styled(format!("{words}{more}"), ALERT));
            }
        }
        if is_typing && !self.has_input {
            rows.push(Line::styled("Send or clear the input line first", DIM));
        }
        rows
    }
}

/// The keys while there is more to see.
fn keys_for_more(unseen: &VecDeque<Vec<Row>>) -> Vec<Span<'static>> {
    let no = Choice::No;
    vec![
        Span::styled("Space", NAME),
        Span::styled(format!(" shows more ({})  ", more(unseen)), ALERT),
        Span::styled(no.key().to_string(), NAME),
        Span::raw(format!(" {}", no.words())),
    ]
}

fn keys(approval: &Approval, rule: usize) -> Vec<Span<'static>> {
    let choice = |choice: Choice| {
        let key = Span::styled(choice.key().to_string(), NAME);
        [key, Span::raw(format!(" {}", choice.words()))]
    };
    let mut spans = choice(Choice::Once).to_vec();
    spans.push(Span::raw("  "));
    spans.extend(choice(Choice::No));
    // The rule is last, because it may be longer than the room.
    if let Some(rule) = approval.rules.get(rule) {
        spans.push(Span::raw("  "));
        if approval.rules.len() > 1 {
            let tab = Span::styled("Tab", NAME);
            spans.extend([tab, Span::raw(" another rule  ")]);
        }
        spans.extend(choice(Choice::Session));
        spans.push(Span::raw(", "));
        spans.extend(choice(Choice::Always));
        spans.push(Span::raw(": "));
        spans.push(Span::styled(clean(rule), DIM));
    }
    spans
}

impl App {
    pub(super) fn open(&mut self, dialog: Dialog) {
        self.dialogs.push_back(dialog);
        self.show_first();
    }

    pub(super) fn close(&mut self, id: RequestId) {
        if self
            .dialogs
            .front()
            .is_some_and(|it| it.id == id && it.has_input)
        {
            self.editor.clear();
        }
        self.dialogs.retain(|it| it.id != id);
        self.show_first();
    }

    /// Prints the first page of the first dialog, once.
    fn show_first(&mut self) {
        if let Some(dialog) = self.dialogs.front_mut()
            && dialog.shown.is_none()
        {
            dialog.shown = Some(self.now);
            let mut lines = vec![dialog.head()];
            lines.extend(dialog.next_page());
            self.transcript.print(lines);
        }
    }

    /// Whether a key that is pressed now answers the first dialog. A question keeps the input line from then on.
    pub(super) fn activate(&mut self) -> bool {
        let is_empty = self.editor.is_empty();
        let Some(dialog) = self.dialogs.front_mut() else {
            return false;
        };
        let is_ready = is_empty && dialog.is_ready(self.now, self.last_key);
        match &dialog.kind {
            Kind::Question => {
                dialog.has_input |= is_ready;
                dialog.has_input
            }
            Kind::Approval { .. } => is_ready || dialog.has_input,
        }
    }

    /// The key as an answer to the first dialog; `None` if it is for the input line.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    pub(super) fn answer(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if self.page(key) {
            return Some(Vec::new());
        }
        if !self.activate() {
            return None;
        }
        let is_plain = !key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let dialog = self.dialogs.front_mut()?;
        let is_unseen = !dialog.unseen.is_empty();
        let id = dialog.id;
        let verdict = match &mut dialog.kind {
            Kind::Question => {
                return match key.code {
                    KeyCode::Enter if key.modifiers.is_empty() && !self.editor.is_empty() => {
                        let answer = self.editor.take_answer();
                        Some(self.reply(id, Some(answer)))
                    }
                    // Enter alone does not answer.
                    KeyCode::Enter if key.modifiers.is_empty() => Some(Vec::new()),
                    KeyCode::Esc => Some(self.reply(id, None)),
                    _ => None,
                };
            }
            Kind::Approval { .. } if dialog.has_input => match key.code {
                KeyCode::Enter if key.modifiers.is_empty() => {
                    let reason = self.editor.take_answer();
                    Verdict::No(Some(reason).filter(|it| !it.trim().is_empty()))
                }
                KeyCode::Esc => {
                    dialog.has_input = false;
                    self.editor.clear();
                    return Some(Vec::new());
                }
                _ => return None,
            },
            Kind::Approval { approval, rule } => {
                let has_rule = *rule < approval.rules.len();
                let choice = match key.code {
                    KeyCode::Char(key) if is_plain => Choice::of(key),
                    KeyCode::Tab if has_rule => {
                        *rule = (*rule + 1) % approval.rules.len();
                        return Some(Vec::new());
                    }
                    _ => None,
                };
                match choice {
                    // What was not shown is not approved.
                    Some(Choice::Once | Choice::Session | Choice::Always) if is_unseen => {
                        return Some(Vec::new());
                    }
                    Some(Choice::Once) => Verdict::Once,
                    Some(Choice::Session) if has_rule => Verdict::Session(*rule),
                    Some(Choice::Always) if has_rule => Verdict::Always(*rule),
                    Some(Choice::No) => {
                        dialog.has_input = true;
                        return Some(Vec::new());
                    }
                    // Enter never approves. Any other key begins a message.
                    Some(Choice::Session | Choice::Always) | None => return None,
                }
            }
        };
        self.dialogs.pop_front();
        self.show_first();
        Some(vec![Effect::Decide(id, verdict)])
    }

    /// Whether the key shows the next page of the first dialog, or did so before. It approves nothing, so it counts at once.
    fn page(&mut self, key: KeyEvent) -> bool {
        let is_empty = self.editor.is_empty();
        let Some(dialog) = self.dialogs.front_mut() else {
            return false;
        };
        let is_space = key.code == KeyCode::Char(' ') && key.modifiers.is_empty();
        if !(dialog.is_paged && is_space && is_empty) || dialog.has_input {
            return false;
        }
        let lines = dialog.next_page();
        if !lines.is_empty() {
            self.transcript.print(lines);
        }
        true
    }

    /// Refuses the first dialog, because the user cancels what asked.
    pub(super) fn refuse(&mut self) -> Option<Effect> {
        let dialog = self.dialogs.pop_front()?;
        if dialog.has_input {
            self.editor.clear();
        }
        self.show_first();
        Some(match dialog.kind {
            Kind::Approval { .. } => Effect::Decide(dialog.id, Verdict::No(None)),
            Kind::Question => Effect::Answer(dialog.id, None),
        })
    }

    fn reply(&mut self, id: RequestId, answer: Option<String>) -> Vec<Effect> {
        self.editor.clear();
        self.dialogs.pop_front();
        self.show_first();
        vec![Effect::Answer(id, answer)]
    }
}
