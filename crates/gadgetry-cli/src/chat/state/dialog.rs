//! An approval or a question that waits for the user, and how it is shown.

use std::time::Duration;

use ratatui_core::text::{Line, Span};

use super::paged::Paged;
use crate::approvals::{Approval, Choice};
use crate::chat::text::{
    ALERT, BAD, BAR, BOLD, DIM, GOOD, NAME, NOTE_BAR, clean, marked, marked_rest,
};
use crate::lines::counted;
use crate::pages::{Mark, Row, Shade, rows};

/// Time without a key before answers count.
const SILENCE: Duration = Duration::from_millis(300);

/// The number of a question or an approval.
pub(crate) type RequestId = u64;

/// A question or an approval that waits for the user.
#[derive(Debug)]
pub(super) struct Dialog {
    pub(super) id: RequestId,
    pub(super) kind: Kind,
    /// All of it, until it is shown.
    content: Vec<Row>,
    /// What is shown in pages; until the last one was, only a refusal counts.
    pub(super) paged: Option<Paged>,
    /// When it became the open one; `None` before that.
    pub(super) shown: Option<Duration>,
    /// Whether the input line holds the answer to it: to a question, or the reason of a refusal.
    pub(super) has_input: bool,
    /// A lasting answer and the key that selected it. Enter confirms it.
    pub(super) selected: Option<(Lasting, char)>,
}

/// An answer that counts when Enter confirms it: it allows what the user has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    Session,
    Always,
    /// Carries out a plan, with questions before changes.
    Plan,
    AcceptEdits,
}

impl Lasting {
    fn words(self) -> &'static str {
        match self {
            Self::Session => "allows for this session",
            Self::Always => "always allows",
            Self::Plan => "carries out the plan and asks before changes",
            Self::AcceptEdits => "carries out the plan and accepts all edits",
        }
    }
}

#[derive(Debug)]
pub(super) enum Kind {
    Approval {
        approval: Approval,
        /// The rule for `s`.
        rule: usize,
    },
    Question,
    /// The model has answered in plan mode: whether it carries out its plan.
    Plan,
}

/// The number of the question about a plan, which no request has.
const PLAN: RequestId = RequestId::MAX;

impl Dialog {
    pub(super) fn approval(id: RequestId, approval: Approval) -> Self {
        let content = approval.rows(true);
        Self::new(id, Kind::Approval { approval, rule: 0 }, content)
    }

    pub(super) fn question(id: RequestId, question: &str) -> Self {
        Self::new(id, Kind::Question, rows(question))
    }

    pub(super) fn plan() -> Self {
        Self::new(PLAN, Kind::Plan, Vec::new())
    }

    fn new(id: RequestId, kind: Kind, content: Vec<Row>) -> Self {
        Self {
            id,
            kind,
            content,
            paged: None,
            shown: None,
            has_input: false,
            selected: None,
        }
    }

    /// Returns whether no key was pressed for a while.
    pub(super) fn is_ready(&self, now: Duration, last_key: Duration) -> bool {
        let since = self.shown.unwrap_or(now).max(last_key);
        now.saturating_sub(since) >= SILENCE
    }

    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// The first line of what is printed.
    pub(super) fn head(&self) -> Line<'static> {
        let name = match &self.kind {
            Kind::Approval { approval, .. } => clean(&approval.gadget),
            Kind::Question => "A gadget asks".to_owned(),
            Kind::Plan => String::new(),
        };
        Line::from(vec![Span::styled("? ", ALERT), Span::styled(name, BOLD)])
    }

    /// Begins to show it on a screen of this size. Returns the lines to print: all of them, unless they are shown in pages.
    pub(super) fn begin(&mut self, screen: (u16, u16)) -> Vec<Line<'static>> {
        let plain = match &self.kind {
            Kind::Approval { .. } => NAME,
            Kind::Question | Kind::Plan => BOLD,
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
        let mut lines = vec![self.head()];
        let content = std::mem::take(&mut self.content).into_iter().map(line);
        // A question is answered with words of the user, so it may be of any length.
        if !matches!(self.kind, Kind::Approval { .. }) {
            lines.extend(content);
            return lines;
        }
        match Paged::new(content.collect(), screen) {
            Ok(paged) => self.paged = Some(paged),
            Err(content) => lines.extend(content),
        }
        lines
    }

    /// Returns whether there is something to see before it can be approved.
    pub(super) fn is_unseen(&self) -> bool {
        self.paged.as_ref().is_some_and(|it| !it.is_seen())
    }

    /// Returns the rows of the dialog above the input line.
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
                let mut question = match about(&approval.gadget) {
                    Some(words) => vec![Span::styled(words, ALERT)],
                    None => vec![
                        Span::styled("Run ", ALERT),
                        Span::styled(clean(&approval.gadget), BOLD),
                        Span::styled("?", ALERT),
                    ],
                };
                question.push(Span::styled(more, DIM));
                if self.paged.is_some() && !self.is_unseen() {
                    let words = " (PgUp goes back, End prints all)";
                    question.push(Span::styled(words, DIM));
                }
                rows.push(Line::from(question));
                // What does not count yet is not offered.
                rows.push(if let Some((lasting, _)) = self.selected {
                    confirming(lasting, approval.rules.get(*rule), is_ready)
                } else if let Some(paged) = self.paged.as_ref().filter(|it| !it.is_seen()) {
                    Line::from(keys_for_more(paged.rest()))
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
            Kind::Plan => {
                let key = |key: &'static str| Span::styled(key, NAME);
                rows.push(Line::styled("Carry out this plan?", ALERT));
                if let Some((lasting, _)) = self.selected {
                    rows.push(confirming(lasting, None, is_ready));
                    return rows;
                }
                if !is_ready && !is_typing {
                    rows.push(Line::styled("…", DIM));
                    return rows;
                }
                rows.push(Line::from(vec![
                    key("1"),
                    Span::raw(" yes, ask before changes  "),
                    key("2"),
                    Span::raw(" yes, accept edits  "),
                    key("Esc"),
                    Span::raw(" no; or write what is to be different"),
                ]));
                return rows;
            }
        }
        if is_typing && !self.has_input {
            rows.push(Line::styled("Send or clear the input line first", DIM));
        }
        rows
    }
}

/// The question about a call of a built-in gadget.
fn about(gadget: &str) -> Option<&'static str> {
    match gadget {
        "RunCommand" => Some("Run this command?"),
        "WriteFile" | "EditFile" => Some("Make this change?"),
        "DeleteFile" => Some("Delete this file?"),
        "HttpFetch" => Some("Send this request?"),
        _ => None,
    }
}

/// The keys while there is more to see.
fn keys_for_more(rest: usize) -> Vec<Span<'static>> {
    let no = Choice::No;
    let lines = counted(rest, "more line");
    vec![
        Span::styled("Space", NAME),
        Span::styled(format!(" shows more ({lines})  "), ALERT),
        Span::styled(no.key().to_string(), NAME),
        Span::raw(format!(" {}  ", no.words())),
        Span::styled("PgUp", NAME),
        Span::raw(" goes back  "),
        Span::styled("End", NAME),
        Span::raw(" prints all"),
    ]
}

/// What Enter would allow from now on.
fn confirming(lasting: Lasting, rule: Option<&String>, is_ready: bool) -> Line<'static> {
    let enter = if is_ready { "Enter" } else { "…" };
    let mut spans = vec![
        Span::styled("Esc", NAME),
        Span::raw(" goes back  "),
        Span::styled(enter, NAME),
        Span::raw(format!(" {}", lasting.words())),
    ];
    // It is last, because it may be longer than the room.
    if let Some(rule) = rule {
        spans.push(Span::raw(": "));
        spans.push(Span::styled(clean(rule), BOLD));
    }
    Line::from(spans)
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
