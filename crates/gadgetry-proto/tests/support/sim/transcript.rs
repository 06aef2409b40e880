//! A log as lines that a person can read.
//!
//! ```text
//! 0 ask 1                      the first request goes out
//! 0 text Let me see.
//! 0 call a Bell                a block is complete
//! 0 start a {"n":1}
//! 7 ok a: ding                 or: error a: …, skip a (dependency): …, cancel a
//! 7 question beforeGadget a    somebody has to decide
//! 7 [a/0] ok x: 4              an event of the first subagent of call a
//!   told Result (a): ding      what the next request carries beyond the reply itself
//!   hint Hurry.                what only this request carries
//! 7 ask 2
//! 9 end completed after 2: the answer
//! ```
//!
//! Adjacent texts are joined. A reply that did not just stop has a line `reply …`, and costs are told where there are any.

use std::collections::BTreeMap;

use gadgetry_proto::call::Parameters;
use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::StopReason;
use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{Output, QuestionKind};

use super::Log;

/// The lines of a log.
pub fn lines(log: &Log) -> Vec<String> {
    let mut transcript = Transcript {
        sent: log.opening.len(),
        ..Transcript::default()
    };
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
        cost(summary.known_cost),
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
                for message in &request.trailing {
                    let hint = prompt_text(message);
                    self.lines.push(format!("  hint {hint}"));
                }
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
                let line = format!("question {}", subject(&question.kind));
                self.line(&line);
            }
            Output::Event(event) => self.event(event),
            Output::Wait(_) | Output::Finished(_) => {}
        }
    }

    /// What the user's side says since the last request.
    fn told(&mut self, messages: &[Message]) {
        let new = messages.get(self.sent..).unwrap_or_default();
        self.sent = messages.len();
        for message in new {
            if message.role == Role::User {
                let text = prompt_text(message).replace("\n\n", "\n");
                for line in text.lines() {
                    self.lines.push(format!("  told {line}"));
                }
            }
        }
        self.text = false;
    }

    fn event(&mut self, event: &Event) {
        let whose = event.path.iter();
        let whose: Vec<String> = whose
            .map(|it| format!("{}/{}", it.invocation_id, it.agent))
            .collect();
        if let (EventKind::Text { text }, []) = (&event.kind, &*whose) {
            self.text(text);
        } else if let Some(line) = line(&event.kind) {
            let whose = if whose.is_empty() {
                String::new()
            } else {
                format!("[{}] ", whose.join(" "))
            };
            self.line(&format!("{whose}{line}"));
        }
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

/// What is asked, and about what.
fn subject(question: &QuestionKind) -> String {
    match question {
        QuestionKind::BeforeModelCall { request } => {
            format!("beforeModelCall {}", request.iteration)
        }
        QuestionKind::BeforeCompaction { trigger, .. } => {
            format!("beforeCompaction {}", word(trigger))
        }
        QuestionKind::AfterModelCall { iteration, .. } => format!("afterModelCall {iteration}"),
        QuestionKind::ModelError { error, .. } => {
            format!("modelError {}: {error}", word(&error.kind))
        }
        QuestionKind::BeforeGadget { start } => {
            format!("beforeGadget {} {}", start.invocation_id, start.parameters)
        }
        QuestionKind::AfterGadget { about, .. } => format!("afterGadget {}", about.invocation_id),
        QuestionKind::DependencySkipped {
            about,
            failed_dependency,
            ..
        } => format!(
            "dependencySkipped {} ({failed_dependency})",
            about.invocation_id
        ),
        QuestionKind::Human { about, question } => {
            format!("human {}: {question}", about.invocation_id)
        }
        QuestionKind::Interrupted { about, .. } => format!("interrupted {}", about.invocation_id),
        QuestionKind::Input { text } => format!("input {text}"),
    }
}

/// What an event says; nothing for what other lines say.
fn line(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::Text { text } => format!("text {text}"),
        EventKind::Reasoning { text } => format!("reasoning {text}"),
        EventKind::GadgetCall { written: call, .. } => {
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
            CallAnswer::Result(text) => format!("ok {invocation_id}{}: {text}", cost(*dollars)),
            CallAnswer::Error(text) => format!("error {invocation_id}{}: {text}", cost(*dollars)),
        },
        EventKind::GadgetRestarted { invocation_id, .. } => format!("again {invocation_id}"),
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
            let dollars = dollars.unwrap_or_default();
            if *stop_reason == StopReason::Stop && dollars == 0.0 && error.is_none() {
                return None;
            }
            let error = error.as_ref().map_or(String::new(), |it| format!(": {it}"));
            format!("reply {}{}{error}", word(stop_reason), cost(dollars))
        }
        EventKind::ModelRetry {
            attempt,
            delay_ms,
            error,
            ..
        } => format!("retry {attempt} in {delay_ms}: {error}"),
        EventKind::ReplyWithdrawn { iteration } => format!("withdrawn {iteration}"),
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
        | EventKind::CustomBlockStart(_)
        | EventKind::CustomBlockDelta(_)
        | EventKind::CustomBlockEnd(_)
        | EventKind::IterationEnd { .. }
        | EventKind::RunFinished { .. }
        | _ => return None,
    })
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
