//! A run in words: what a person sees while it happens.

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{Answer, Event, EventKind};
use gadgetry::proto::id::InvocationId;

/// The longest value, result or error that is shown.
const SHOWN_CHARS: usize = 72;

/// Puts events into words.
#[derive(Debug, Default)]
pub(crate) struct Narrator {
    /// Whether the visible text is told, too.
    with_text: bool,
    /// Whether the text that was told last ended in the middle of a line.
    mid_line: bool,
    /// Text of a reply that is not told: it may be the answer, which goes elsewhere.
    held: String,
}

impl Narrator {
    /// Tells what the gadgets do.
    pub(crate) fn of_gadgets() -> Self {
        Self::default()
    }

    /// Tells what the gadgets do and what the model says.
    pub(crate) fn of_everything() -> Self {
        Self {
            with_text: true,
            ..Self::default()
        }
    }

    /// What there is to say about an event, with its line break; mostly nothing.
    pub(crate) fn tell(&mut self, event: &Event) -> Option<String> {
        if let EventKind::Text { text } = &event.kind {
            if !self.with_text {
                self.held.push_str(text);
                return None;
            }
            self.mid_line = !text.ends_with('\n');
            return Some(text.clone());
        }
        let line = line(&event.kind, self.with_text)?;
        // A reply that calls gadgets is no answer.
        let said = if matches!(event.kind, EventKind::GadgetCall(_)) {
            prose(&std::mem::take(&mut self.held))
        } else {
            String::new()
        };
        if matches!(event.kind, EventKind::ModelCallStart { .. }) {
            self.held.clear();
        }
        let gap = if std::mem::take(&mut self.mid_line) {
            "\n"
        } else {
            ""
        };
        Some(format!("{gap}{said}{line}\n"))
    }
}

/// What a model said before it called a gadget, a line each.
fn prose(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.fold(String::new(), |all, line| {
        all + "  " + line.trim_end() + "\n"
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most events are for programs"
)]
fn line(kind: &EventKind, with_text: bool) -> Option<String> {
    Some(match kind {
        EventKind::ModelCallStart { iteration } => format!("[{iteration}] the model is asked"),
        EventKind::ModelCallEnd {
            error: Some(error), ..
        } => format!("  the model failed: {}", short(error)),
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
        EventKind::CustomBlock(block) if with_text => {
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
