//! One event in one line.

use std::fmt::Write as _;

use gadgetry::proto::call::{Call, Parameters};
use gadgetry::proto::event::{Answer, EventKind};
use gadgetry::proto::usage::Usage;
use serde_json::{Value, json};

/// The line of an event; `None` for a piece of something that is told whole later.
pub(super) fn line(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::GadgetCallStart { .. }
        | EventKind::GadgetArgsPartial { .. }
        | EventKind::CustomBlockStart { .. }
        | EventKind::CustomBlockDelta { .. }
        | EventKind::CustomBlockEnd { .. } => return None,
        EventKind::ModelCallStart { iteration } => format!("model_call {iteration}"),
        EventKind::ModelCallEnd {
            iteration,
            stop_reason,
            usage,
            cost,
            error,
            ..
        } => {
            let stop_reason = word(&json!(stop_reason));
            let error = error.as_ref().map(|error| format!(" {error:?}"));
            let (tokens, cost) = (tokens(usage), dollars(*cost));
            let error = error.unwrap_or_default();
            format!("model_call_end {iteration} {stop_reason}{tokens}{cost}{error}")
        }
        EventKind::Text { text } => format!("text {text:?}"),
        EventKind::Reasoning { text } => format!("reasoning {text:?}"),
        EventKind::GadgetCall(call) => call_line(call),
        EventKind::GadgetStart {
            invocation_id,
            gadget_name,
            ..
        } => format!("start {invocation_id} {gadget_name}"),
        EventKind::GadgetResult {
            invocation_id,
            answer,
            duration_ms,
            cost,
            ..
        } => {
            let (what, text) = match answer {
                Answer::Result(text) => ("result", text),
                Answer::Error(text) => ("error", text),
            };
            let (took, cost) = (milliseconds(*duration_ms), dollars(*cost));
            format!("{what} {invocation_id} {text:?}{took}{cost}")
        }
        EventKind::GadgetSkipped {
            invocation_id,
            failed_dependency,
            ..
        } => format!("skip {invocation_id} because {failed_dependency}"),
        EventKind::CustomBlock(block) => {
            let attributes = if block.attrs.is_empty() {
                String::new()
            } else {
                format!(" {}", json!(block.attrs))
            };
            format!("block {}{attributes} {:?}", block.tag, block.content)
        }
        EventKind::Diagnostic(diagnostic) => {
            format!("diagnostic {}", word(&json!(diagnostic.code)))
        }
        EventKind::IterationEnd { iteration } => format!("iteration_end {iteration}"),
        EventKind::RunFinished {
            reason,
            iterations,
            total_cost,
            error,
            ..
        } => {
            let error = error.as_ref().map(|error| format!(" {error:?}"));
            let (reason, cost) = (word(&json!(reason)), dollars(*total_cost));
            let error = error.unwrap_or_default();
            format!("finished {reason} {iterations}{cost}{error}")
        }
        #[allow(
            unreachable_patterns,
            clippy::wildcard_enum_match_arm,
            reason = "a kind that has no form of its own yet"
        )]
        other => format!("{} {}", name(other), fields(other)),
    })
}

/// Its `type` in JSON.
pub(super) fn name(kind: &EventKind) -> String {
    word(&json!(kind)["type"])
}

fn fields(kind: &EventKind) -> Value {
    let mut fields = json!(kind);
    if let Value::Object(fields) = &mut fields {
        fields.shift_remove("type");
    }
    fields
}

fn call_line(call: &Call) -> String {
    let mut out = format!("call {} {}", call.invocation_id, call.gadget_name);
    for (number, dependency) in call.dependencies.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "{}{dependency}",
            if number == 0 { " after " } else { "," }
        );
    }
    let _ = match &call.parameters {
        Parameters::Parsed(parameters) => write!(out, " {parameters}"),
        Parameters::Malformed(error) => write!(out, " malformed {error:?}"),
    };
    out
}

/// A text as it is, anything else as JSON.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn tokens(usage: &Usage) -> String {
    if *usage == Usage::default() {
        return String::new();
    }
    format!(" {}+{} tokens", usage.input_tokens, usage.output_tokens)
}

fn milliseconds(duration: u64) -> String {
    if duration == 0 {
        return String::new();
    }
    format!(" {duration}ms")
}

fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        return String::new();
    }
    format!(" ${amount}")
}
