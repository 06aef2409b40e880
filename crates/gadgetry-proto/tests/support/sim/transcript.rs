//! A log as lines that a person can read.
//!
//! ```text
//! 0 ask 1                      the first request goes out
//! 0 text Let me see.
//! 0 call a Bell                a block is complete
//! 0 start a {"n":1}
//! 7 ok a: ding                 or: error a: …, skip a (dependency): …, cancel a
//!   told Result (a): ding      what the next request carries beyond the reply itself
//! 7 ask 2
//! 9 end completed after 2: the answer
//! ```
//!
//! Adjacent texts are joined. A reply that did not just stop has a line `reply …`, and costs are told where there are any.

use std::collections::BTreeMap;

use gadgetry_proto::call::Parameters;
use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::StopReason;
use gadgetry_proto::event::{Answer, Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::Output;

use super::Log;

/// The lines of a log.
pub fn lines(log: &Log) -> Vec<String> {
    let mut transcript = Transcript::default();
    for (step, outputs) in log.outputs.iter().enumerate() {
        if let Some((time, _)) = step.checked_sub(1).and_then(|at| log.inputs.get(at)) {
            transcript.now = time.0;
        }
        for output in outputs {
            transcript.output(output);
        }
    }
    transcript.told(&log.history);
    let summary = &log.summary;
    let error = summary.error.as_ref();
    let line = format!(
        "{} end {} after {}{}{}: {}",
        transcript.now,
        word(&summary.reason),
        summary.iterations,
        cost(summary.total_cost),
        error.map_or(String::new(), |error| format!(" ({error})")),
        summary.answer,
    );
    transcript.lines.push(line);
    transcript.lines
}

/// Whether the script gives these lines.
#[track_caller]
pub fn check(script: &super::script::Script, expected: &[&str]) {
    let found = lines(&super::play(script));
    let expected: Vec<&str> = expected.to_vec();
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        expected,
        "\nfound:\n{}\n",
        found.join("\n")
    );
}

#[derive(Default)]
struct Transcript {
    lines: Vec<String>,
    now: u64,
    /// The text line that more text is added to.
    text: bool,
    ids: BTreeMap<CallId, InvocationId>,
    /// Messages of the last request.
    sent: usize,
}

impl Transcript {
    fn output(&mut self, output: &Output) {
        match output {
            Output::Send(request) => {
                self.told(&request.messages);
                self.line(&format!("ask {}", request.iteration));
            }
            Output::CloseModel => self.line("close model"),
            Output::Start(start) => {
                self.ids.insert(start.id, start.invocation_id.clone());
                self.line(&format!(
                    "start {} {}",
                    start.invocation_id, start.parameters
                ));
            }
            Output::Cancel(id) => {
                let id = self.ids.get(id).cloned();
                self.line(&format!("cancel {}", id.expect("it was started")));
            }
            Output::Ask(question) => {
                let kind = serde_json::to_value(&question.kind).expect("a question");
                let name = kind
                    .as_object()
                    .and_then(|kind| kind.keys().next().cloned());
                self.line(&format!("question {}", name.expect("a question")));
            }
            Output::Event(event) => self.event(event),
            Output::Wait(_) | Output::Finished(_) => {}
        }
    }

    /// What the user's side says since the last request.
    fn told(&mut self, messages: &[Message]) {
        let new = messages.get(self.sent..).unwrap_or_default();
        let first = self.sent == 0;
        self.sent = messages.len();
        for message in new {
            if message.role == Role::User && !first {
                let text = prompt_text(message).replace("\n\n", "\n");
                for line in text.lines() {
                    self.lines.push(format!("  told {line}"));
                }
            }
        }
        self.text = false;
    }

    fn event(&mut self, event: &Event) {
        let line = match &event.kind {
            EventKind::Text { text } => return self.text(text),
            EventKind::Reasoning { text } => format!("reasoning {text}"),
            EventKind::GadgetCall(call) => {
                let error = match &call.parameters {
                    Parameters::Parsed(_) => "",
                    Parameters::Malformed(_) => " malformed",
                };
                format!("call {} {}{error}", call.invocation_id, call.gadget_name)
            }
            EventKind::GadgetResult {
                invocation_id,
                answer,
                cost: dollars,
                ..
            } => match answer {
                Answer::Result(text) => format!("ok {invocation_id}{}: {text}", cost(*dollars)),
                Answer::Error(text) => format!("error {invocation_id}{}: {text}", cost(*dollars)),
            },
            EventKind::GadgetSkipped {
                invocation_id,
                failed_dependency,
                error,
                ..
            } => format!("skip {invocation_id} ({failed_dependency}): {error}"),
            EventKind::CustomBlock(block) => format!("block {} {}", block.tag, block.content),
            EventKind::Diagnostic(diagnostic) => format!("note {}", word(&diagnostic.code)),
            EventKind::ModelCallEnd {
                stop_reason,
                cost: dollars,
                error,
                ..
            } => {
                if *stop_reason == StopReason::Stop && *dollars == 0.0 && error.is_none() {
                    return;
                }
                let error = error.as_ref().map_or(String::new(), |it| format!(": {it}"));
                format!("reply {}{}{error}", word(stop_reason), cost(*dollars))
            }
            EventKind::ModelRetry {
                attempt,
                delay_ms,
                error,
                ..
            } => format!("retry {attempt} in {delay_ms}: {error}"),
            EventKind::RateLimited { delay_ms } => format!("limited {delay_ms}"),
            EventKind::Compaction(done) => format!("compaction {}", done.removed_turns),
            EventKind::GadgetProgress {
                invocation_id,
                message,
                ..
            } => format!("progress {invocation_id}: {message}"),
            EventKind::GadgetCost {
                invocation_id,
                cost: dollars,
                ..
            } => format!("late {invocation_id}{}", cost(*dollars)),
            EventKind::HumanInputRequired { question, .. } => format!("human {question}"),
            EventKind::HumanInputReceived { answered, .. } => format!("human said {answered}"),
            EventKind::ModelCallStart { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::GadgetStart { .. }
            | EventKind::CustomBlockStart { .. }
            | EventKind::CustomBlockDelta { .. }
            | EventKind::CustomBlockEnd { .. }
            | EventKind::IterationEnd { .. }
            | EventKind::RunFinished { .. } => return,
        };
        self.line(&line);
    }

    fn text(&mut self, text: &str) {
        if !self.text {
            self.line("text ");
            self.text = true;
        }
        if let Some(line) = self.lines.last_mut() {
            line.push_str(text);
        }
    }

    fn line(&mut self, line: &str) {
        self.text = false;
        self.lines.push(format!("{} {line}", self.now));
    }
}

fn cost(dollars: f64) -> String {
    if dollars == 0.0 {
        String::new()
    } else {
        format!(" ${dollars}")
    }
}

/// The JSON word of an enum without fields.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a word");
    value.as_str().expect("a word").to_owned()
}
