//! A run in words: what a person sees while it happens.

use std::mem;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{Answer, Event, EventKind};
use gadgetry::proto::id::InvocationId;

/// The longest value, result or error that is shown.
const SHOWN_CHARS: usize = 72;

/// Puts events into words.
#[derive(Debug)]
pub(crate) struct Narrator {
    /// Whether the visible text is told whatever it is, blank lines and custom blocks, too.
    everything: bool,
    /// The text of a reply that has called nothing yet. It may be the answer, which is not told.
    held: Option<String>,
    /// Whether the text that was told last ended in the middle of a line.
    mid_line: bool,
}

impl Narrator {
    /// Tells what the gadgets do, and what the model says in replies that call them.
    pub(crate) fn of_gadgets() -> Self {
        Self {
            everything: false,
            held: Some(String::new()),
            mid_line: false,
        }
    }

    /// Tells what the gadgets do and all that the model says.
    pub(crate) fn of_everything() -> Self {
        Self {
            everything: true,
            held: None,
            mid_line: false,
        }
    }

    /// What there is to say about an event, with its line break; mostly nothing.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events change nothing")]
    pub(crate) fn tell(&mut self, event: &Event) -> Option<String> {
        let mut words = String::new();
        match &event.kind {
            EventKind::Text { text } => match &mut self.held {
                Some(held) => held.push_str(text),
                None => self.text(text, &mut words),
            },
            EventKind::GadgetCall(_) => {
                if let Some(held) = self.held.take() {
                    self.text(&held, &mut words);
                }
            }
            EventKind::ModelCallStart { .. } if !self.everything => {
                self.held = Some(String::new());
            }
            // Nothing more comes of a line that is not complete.
            EventKind::ModelCallEnd { .. } | EventKind::RunFinished { .. } => {
                self.end_line(&mut words);
            }
            _ => {}
        }
        if let Some(line) = line(&event.kind, self.everything) {
            self.end_line(&mut words);
            words.extend([&line, "\n"]);
        }
        (!words.is_empty()).then_some(words)
    }

    /// More of what the model says. Indented and without the blank lines around blocks, unless everything is told.
    fn text(&mut self, text: &str, words: &mut String) {
        for line in text.split_inclusive('\n') {
            if !self.everything && !self.mid_line {
                if line == "\n" {
                    continue;
                }
                words.push_str("  ");
            }
            words.push_str(line);
            self.mid_line = !line.ends_with('\n');
        }
    }

    fn end_line(&mut self, words: &mut String) {
        if mem::take(&mut self.mid_line) {
            words.push('\n');
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most events are for programs"
)]
fn line(kind: &EventKind, with_blocks: bool) -> Option<String> {
    Some(match kind {
        EventKind::ModelCallStart { iteration, .. } => format!("[{iteration}] the model is asked"),
        EventKind::ModelCallEnd {
            error: Some(error), ..
        } => format!("  the model failed: {}", short(error)),
        EventKind::ModelRetry {
            delay_ms, error, ..
        } => format!("  asked again in {delay_ms} ms: {}", short(error)),
        EventKind::GadgetCall(call) => {
            let parameters = match &call.parameters {
                Parameters::Parsed(parameters) => short(&parameters.to_string()),
                Parameters::Malformed(error) => format!("(malformed: {})", short(error)),
            };
            let after: Vec<&str> = call.dependencies.iter().map(InvocationId::as_str).collect();
            let after = if after.is_empty() {
                String::new()
            } else {
                format!(" after {}", after.join(", "))
            };
            format!(
                "  > {} {}{after} {parameters}",
                call.gadget_name, call.invocation_id
            )
        }
        EventKind::GadgetStart { invocation_id, .. } => format!("  . {invocation_id} starts"),
        EventKind::GadgetResult {
            invocation_id,
            answer,
            duration_ms,
            ..
        } => match answer {
            Answer::Result(text) => format!(
                "  + {invocation_id} done in {duration_ms} ms: {}",
                short(text)
            ),
            Answer::Error(text) => format!("  x {invocation_id} failed: {}", short(text)),
        },
        EventKind::GadgetSkipped {
            invocation_id,
            error,
            ..
        } => {
            format!("  - {invocation_id} skipped: {}", short(error))
        }
        EventKind::CustomBlock(block) if with_blocks => {
            format!("  <{}> {}", block.tag, short(&block.content))
        }
        EventKind::Diagnostic(diagnostic) => format!("  ! {}", short(&diagnostic.message)),
        _ => return None,
    })
}

/// One line of readable length.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut chars = line.char_indices();
    match chars.nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
