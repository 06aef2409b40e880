//! Formats a run's events as progress lines.

use std::mem;
use std::time::Duration;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::proto::id::InvocationId;

use crate::calls::{body, change, error_of, failed_check, failure, name_of, remark};
use crate::lines::{longer, short, short_end};

/// The prefix of each line that the model wrote. No line of ours begins with it, and no foreign text begins a line
/// without it.
const SAID: &str = "  | ";

/// Formats events as text.
#[derive(Debug)]
pub(crate) struct Narrator {
    /// Whether all visible text is shown, including blank lines and custom blocks.
    everything: bool,
    /// The text of a reply without calls so far. It may be the answer, which is not progress.
    held: Option<String>,
    /// Whether the last text ended in the middle of a line.
    mid_line: bool,
}

impl Narrator {
    /// Shows the gadgets, and the text of replies that call them.
    pub(crate) fn of_gadgets() -> Self {
        Self {
            everything: false,
            held: Some(String::new()),
            mid_line: false,
        }
    }

    /// Shows the gadgets and all text of the model.
    pub(crate) fn of_everything() -> Self {
        Self {
            everything: true,
            held: None,
            mid_line: false,
        }
    }

    /// The lines about an event, with line breaks; usually none.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events change nothing")]
    pub(crate) fn narrate(&mut self, event: &Event) -> Option<String> {
        let mut words = String::new();
        match &event.kind {
            EventKind::Text { text } => match &mut self.held {
                Some(held) => held.push_str(text),
                None => self.text(text, &mut words),
            },
            EventKind::GadgetCall { .. } => {
                if let Some(held) = self.held.take() {
                    self.text(&held, &mut words);
                }
            }
            EventKind::ModelCallStart { .. } if !self.everything => {
                self.held = Some(String::new());
            }
            // What is still held was not shown to the user.
            EventKind::ReplyWithdrawn { .. } => {
                if let Some(held) = &mut self.held {
                    held.clear();
                }
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
        for line in for_the_user(&event.kind).unwrap_or_default().lines() {
            words.extend([SAID, line, "\n"]);
        }
        (!words.is_empty()).then_some(words)
    }

    /// Appends model text; with a prefix and without the blank lines around blocks, unless everything is shown.
    fn text(&mut self, text: &str, words: &mut String) {
        for line in text.split_inclusive('\n') {
            if !self.everything && !self.mid_line {
                if line == "\n" {
                    continue;
                }
                words.push_str(SAID);
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
        EventKind::ModelCallStart { iteration, .. } => format!("[{iteration}] calling model"),
        EventKind::ModelCallEnd {
            error: Some(error), ..
        } => format!("  model call failed: {}", longer(&error.message)),
        EventKind::ReplyWithdrawn { .. } => "  ! the reply so far is withdrawn".to_owned(),
        EventKind::ModelRetry {
            delay_ms,
            attempt,
            left,
            ..
        } => {
            let delay = Duration::from_millis(*delay_ms).as_secs_f64();
            let (next, all) = (attempt + 1, attempt + 1 + left);
            format!("  retrying in {delay:.1} s: attempt {next} of {all}")
        }
        EventKind::GadgetCall { written: call, .. } => {
            let parameters = match &call.parameters {
                // The result shows what they have.
                Parameters::Parsed(_) if SHOWN.contains(&call.gadget_name.as_str()) => {
                    String::new()
                }
                Parameters::Parsed(parameters) => short(&parameters.to_string()),
                Parameters::Malformed(error) => format!("(malformed: {})", short(error)),
            };
            let after: Vec<String> = call.dependencies.iter().map(id).collect();
            let after = if after.is_empty() {
                String::new()
            } else {
                format!(" after {}", after.join(", "))
            };
            let (name, id) = (name_of(&call.gadget_name), id(&call.invocation_id));
            let call = format!("  > {name} {id}{after} {parameters}");
            call.trim_end().to_owned()
        }
        EventKind::GadgetStart { invocation_id, .. } => format!("  . {} starts", id(invocation_id)),
        EventKind::GadgetRestarted { invocation_id, .. } => {
            format!("  . {} starts again", id(invocation_id))
        }
        EventKind::GadgetResult {
            invocation_id,
            gadget_name,
            answer,
            duration_ms,
            ..
        } => match answer {
            CallAnswer::Result(text) => {
                let checked = failed_check(gadget_name, text).map(|check| {
                    let how = format!(
                        "is done, but `{}` failed: {}",
                        short(check.command),
                        check.how
                    );
                    ("x", how, short_end(check.output))
                });
                let (mark, how, text) =
                    checked.unwrap_or_else(|| match failure(gadget_name, text) {
                        // The end says why.
                        Some(how) => ("x", format!("ended with {how}"), short_end(body(text))),
                        // It follows, in full.
                        None if SHOWN.contains(&gadget_name.as_str()) => {
                            ("+", "done".to_owned(), String::new())
                        }
                        None => {
                            // The whole of a change does not fit into a line.
                            let words = change(text).and_then(|_| remark(gadget_name, text));
                            ("+", "done".to_owned(), words.unwrap_or_else(|| short(text)))
                        }
                    });
                let id = id(invocation_id);
                let separator = if text.is_empty() { "" } else { ": " };
                format!("  {mark} {id} {how} in {duration_ms} ms{separator}{text}")
            }
            CallAnswer::Error(text) => {
                format!(
                    "  x {} failed: {}",
                    id(invocation_id),
                    longer(error_of(text))
                )
            }
        },
        EventKind::GadgetSkipped {
            invocation_id,
            error,
            ..
        } => {
            format!("  - {} skipped: {}", id(invocation_id), longer(error))
        }
        EventKind::CustomBlock(block) if with_blocks => {
            format!("  <{}> {}", short(&block.tag), short(&block.content))
        }
        EventKind::Diagnostic(diagnostic) => format!("  ! {}", longer(&diagnostic.message)),
        _ => return None,
    })
}

/// Built-in gadgets whose results the user reads in full.
const SHOWN: [&str; 2] = ["TellUser", "TodoWrite"];

/// The result of a built-in gadget whose purpose is that the user reads it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only results are for the user"
)]
fn for_the_user(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::GadgetResult {
            gadget_name,
            answer: CallAnswer::Result(text),
            ..
        } if SHOWN.contains(&gadget_name.as_str()) => Some(text),
        _ => None,
    }
}

fn id(id: &InvocationId) -> String {
    short(id.as_str())
}
