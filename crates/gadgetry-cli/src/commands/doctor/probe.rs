//! One gadget, one prompt: does the model call it in a block, rightly, and read the result?

use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry::driver::Observer;
use gadgetry::proto::call::{Outcome, Parameters};
use gadgetry::proto::delta::StopReason;
use gadgetry::proto::event::{Answer, Event, EventKind};
use gadgetry::proto::run::{Retry, Tools};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{Agent, AgentError, IntoGadget, Model, from_fn};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::ToolForm;
use crate::error::Error;
use crate::options::usual_markers;
use crate::run_agent::run_agent;
use crate::usage_totals::UsageTotals;

const SYSTEM: &str = "You are being tested. Follow the instructions exactly, and do nothing else.";
const PROMPT: &str = "Call the gadget OpenLocker once, with the locker number 42 and the owner \"Ada\". \
    When you have its result, write the word that was in the locker.";
/// A word that cannot be guessed.
const WORD: &str = "marmalade-7f3";

/// The result of the test.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the lines of a report"
)]
pub(super) struct Probe {
    model: String,
    /// Whether the model calls gadgets correctly.
    follows_format: bool,
    answered: bool,
    called: bool,
    parameters_right: bool,
    used_result: bool,
    /// What was noticed about its replies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What it wrote, if it failed the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    duration_ms: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Absent if the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(skip)]
    native: bool,
    /// Whether its chat template has tools, if that is known.
    #[serde(skip)]
    has_tools: Option<bool>,
    #[serde(skip)]
    written: String,
    #[serde(skip)]
    has_reasoned: bool,
    /// How its first reply ended.
    #[serde(skip)]
    stop_reason: Option<StopReason>,
    #[serde(skip)]
    totals: UsageTotals,
}

/// Characters of a reply that are shown.
const SHOWN: usize = 600;

/// Tries the model.
///
/// `has_tools` says whether its chat template has tools, if that is known.
pub(super) fn probe(
    name: &str,
    model: Arc<dyn Model>,
    form: ToolForm,
    has_tools: Option<bool>,
) -> Result<Probe, Error> {
    let native = form == ToolForm::Native;
    let run = Agent::builder()
        .model(model)
        .gadget(locker())
        .system(SYSTEM)
        .markers(usual_markers(name))
        .max_iterations(2)
        .tools(if native { Tools::Native } else { Tools::Text })
        .without_output_limit()
        .retry(Retry {
            retries: 1,
            on_empty: false,
            ..Retry::default()
        })
        .ask(PROMPT)
        .map_err(|error| mistake(name, &error))?;
    let probe = Probe {
        model: name.to_owned(),
        native,
        has_tools,
        ..Probe::default()
    };
    let finished = run_agent(run, None, probe)?;
    let (summary, mut probe) = (finished.summary, finished.observer);
    probe.used_result = probe.called && summary.answer.contains(WORD);
    probe.error = summary.error;
    probe.cost = summary.total_cost;
    probe.follows_format =
        probe.called && probe.parameters_right && probe.used_result && probe.notes.is_empty();
    let written = probe.written.trim();
    if !probe.follows_format && !written.is_empty() {
        let mut shown: String = written.chars().take(SHOWN).collect();
        if shown.len() < written.len() {
            shown.push('…');
        }
        probe.reply = Some(shown);
    }
    Ok(probe)
}

fn mistake(name: &str, error: &AgentError) -> Error {
    if matches!(error, AgentError::NoNativeTools { .. }) {
        return Error::input(format_args!(
            "{name} does not support native tool calls; omit --tools native"
        ));
    }
    Error::input(error)
}

fn locker() -> impl IntoGadget {
    let spec = GadgetSpec {
        name: "OpenLocker".to_owned(),
        description: "Opens a locker and returns the word in it".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "number": { "type": "integer", "description": "The number of the locker" },
                "owner": { "type": "string", "description": "Whose locker it is" },
            },
            "required": ["number", "owner"],
        }),
        ..GadgetSpec::default()
    };
    let open = |_parameters: Value, _context| async { Outcome::ok(WORD) };
    from_fn(spec, open)
}

impl Observer for Probe {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others say nothing about the format"
    )]
    fn event(&mut self, event: &Event) {
        self.duration_ms = event.time.0;
        self.totals.event(event);
        match &event.kind {
            EventKind::Text { text } => self.written.push_str(text),
            EventKind::ReplyWithdrawn { .. } => self.written.clear(),
            EventKind::Reasoning { .. } => self.has_reasoned = true,
            EventKind::ModelCallEnd {
                usage,
                error,
                stop_reason,
                ..
            } => {
                self.answered |= error.is_none();
                self.stop_reason.get_or_insert_with(|| stop_reason.clone());
                let usage = usage.with_reasoning_in_output();
                self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
                self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
            }
            EventKind::GadgetCall { written: call, .. } => {
                self.called = true;
                if let Parameters::Malformed(problem) = &call.parameters {
                    self.notes.push(problem.clone());
                }
                if let Parameters::Parsed(parameters) = &call.parameters {
                    self.parameters_right |= *parameters == json!({ "number": 42, "owner": "Ada" });
                }
            }
            EventKind::GadgetResult {
                answer: Answer::Error(problem),
                ..
            } => self.notes.push(problem.clone()),
            EventKind::Diagnostic(diagnostic) => self.notes.push(diagnostic.message.clone()),
            _ => {}
        }
    }
}

impl Probe {
    pub(super) fn words(&self) -> String {
        let mut out = format!("{}\n", self.model);
        let steps = [
            (self.answered, "answered"),
            (self.called, self.way()),
            (self.parameters_right, "passed the right parameters"),
            (self.used_result, "used the result"),
        ];
        for (is_done, what) in steps {
            let mark = if is_done { "yes" } else { "NO " };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {mark} {what}");
        }
        for note in &self.notes {
            let _ = writeln!(out, "  note: {}", note.replace('\n', " "));
        }
        if let Some(reply) = &self.reply {
            out.push_str("  it wrote:\n");
            for line in reply.lines() {
                let _ = writeln!(out, "  | {line}");
            }
        }
        let seconds = self.duration_ms / 100;
        let _ = writeln!(
            out,
            "  {}.{} s, {}",
            seconds / 10,
            seconds % 10,
            self.totals.words()
        );
        out
    }

    pub(super) fn verdict(&self) -> Result<(), Error> {
        let name = &self.model;
        let message = match &self.error {
            _ if self.follows_format => return Ok(()),
            Some(error) => format!("model call failed: {error}"),
            None if !self.answered => "the model gave no answer".to_owned(),
            None if !self.called => self.why_no_call(),
            None if !self.parameters_right => {
                format!("{name} called the gadget with wrong parameters")
            }
            None if !self.used_result => format!("{name} did not use the gadget's result"),
            None => format!("{name} called the gadget, but not exactly in the right form"),
        };
        Err(Error::Failed(message))
    }

    fn way(&self) -> &'static str {
        if self.native {
            "called the gadget natively"
        } else {
            "called the gadget in a block"
        }
    }

    fn why_no_call(&self) -> String {
        let name = &self.model;
        match &self.stop_reason {
            Some(StopReason::MaxTokens) => {
                format!("{name} reached its token limit before it called the gadget")
            }
            Some(StopReason::ContentFilter) => {
                format!("{name} refused, or its provider withheld the reply")
            }
            Some(StopReason::ToolUse) if !self.native => format!(
                "{name} made a native tool call instead of writing a gadget block; try --tools native"
            ),
            _ if self.written.trim().is_empty() && self.has_reasoned => {
                format!("{name} wrote only reasoning, and no answer")
            }
            _ if self.written.trim().is_empty() => format!("{name} wrote nothing"),
            _ if self.native => format!("{name} called no tool; try it without --tools native"),
            // Its server drops the tools of a request without a word.
            _ if self.has_tools == Some(false) => format!(
                "{name} wrote no gadget block, and its chat template has no tools, so that --tools native is of no use"
            ),
            _ => format!("{name} wrote no gadget block; if it can call tools, try --tools native"),
        }
    }
}
