//! One event in one line.

use std::fmt::Write as _;

use gadgetry::proto::call::{Call, Parameters};
use gadgetry::proto::event::{ApprovalAnswer, CallAnswer, EventKind};
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::message::{Media, Purpose};
use gadgetry::proto::usage::Usage;
use serde_json::{Value, json};

/// The line of an event; `None` for a piece of something that is reported whole later.
pub(super) fn line(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::ModelCallStart { iteration, purpose } => {
            format!("model_call {iteration}{}", what_for(*purpose))
        }
        EventKind::ModelCallEnd {
            iteration,
            purpose,
            stop_reason,
            usage,
            cost,
            error,
            ..
        } => {
            let stop_reason = word(&json!(stop_reason));
            let error = error.as_ref().map(|error| format!(" {:?}", error.message));
            let (tokens, cost, purpose) = (
                tokens(usage),
                dollars(cost.unwrap_or_default()),
                what_for(*purpose),
            );
            let error = error.unwrap_or_default();
            format!("model_call_end {iteration}{purpose} {stop_reason}{tokens}{cost}{error}")
        }
        EventKind::ModelRetry {
            attempt,
            delay_ms,
            error,
            ..
        } => {
            let kind = word(&json!(error.kind));
            format!(
                "retry {attempt} after {delay_ms}ms because {kind} {:?}",
                error.message
            )
        }
        EventKind::RunStart(info) => {
            let agent = info.agent.as_ref().map(|agent| format!(" as {agent:?}"));
            format!("run_start {}{}", info.model, agent.unwrap_or_default())
        }
        EventKind::ReplyWithdrawn { iteration } => format!("reply_withdrawn {iteration}"),
        EventKind::RateLimited { delay_ms } => format!("rate_limited {delay_ms}ms"),
        EventKind::Compaction(compacted) => format!(
            "compaction {} -{} turns, {} to {} tokens",
            word(&json!(compacted.strategy)),
            compacted.removed_turns,
            compacted.tokens_before,
            compacted.tokens_after,
        ),
        EventKind::Text { text } => format!("text {text:?}"),
        EventKind::Reasoning { text } => format!("reasoning {text:?}"),
        EventKind::GadgetCall { written: call, .. } => call_line(call),
        EventKind::GadgetStart {
            invocation_id,
            gadget_name,
            ..
        } => format!("start {invocation_id} {gadget_name}"),
        EventKind::GadgetRestarted { invocation_id, .. } => format!("restart {invocation_id}"),
        EventKind::GadgetResult {
            invocation_id,
            answer,
            duration_ms,
            cost,
            media,
            ..
        } => {
            let media: Vec<_> = media.iter().map(Media::caption).collect();
            let media = if media.is_empty() {
                String::new()
            } else {
                format!(" with {}", media.join(", "))
            };
            let (what, text) = match answer {
                CallAnswer::Result(text) => ("result", text),
                CallAnswer::Error(text) => ("error", text),
            };
            let (took, cost) = (milliseconds(*duration_ms), dollars(*cost));
            format!("{what} {invocation_id} {text:?}{media}{took}{cost}")
        }
        EventKind::GadgetCost {
            invocation_id,
            cost,
            ..
        } => format!("cost {invocation_id} ${cost}"),
        EventKind::GadgetProgress {
            invocation_id,
            message,
            ..
        } => format!("progress {invocation_id} {message:?}"),
        EventKind::ApprovalRequired {
            invocation_id,
            approval,
            ..
        } => format!("approval {invocation_id} of {}", approval.gadget_name),
        EventKind::ApprovalAnswered {
            invocation_id,
            answer,
            ..
        } => {
            let answer = match answer {
                ApprovalAnswer::Allowed => "allowed",
                ApprovalAnswer::Denied { .. } => "denied",
                _ => "withdrawn",
            };
            format!("approval {invocation_id} {answer}")
        }
        EventKind::HumanInputRequired {
            invocation_id,
            question,
            ..
        } => format!("question {}{question:?}", of(invocation_id.as_ref())),
        EventKind::HumanInputReceived {
            invocation_id,
            answered,
            ..
        } => {
            let answer = if *answered { "answered" } else { "unanswered" };
            format!("question {}{answer}", of(invocation_id.as_ref()))
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
            let error = error.as_ref().map(|error| format!(" {:?}", error.message));
            let (reason, cost) = (
                word(&json!(reason)),
                dollars(total_cost.unwrap_or_default()),
            );
            let error = error.unwrap_or_default();
            format!("finished {reason} {iterations}{cost}{error}")
        }
        EventKind::GadgetCallStart { .. }
        | EventKind::GadgetArgsPartial { .. }
        | EventKind::CustomBlockStart(_)
        | EventKind::CustomBlockDelta(_)
        | EventKind::CustomBlockEnd(_)
        | _ => return None,
    })
}

/// Returns the `type` in JSON.
pub(super) fn name(kind: &EventKind) -> String {
    word(&json!(kind)["type"])
}

fn what_for(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Reply => "",
        Purpose::Summary => " summary",
    }
}

fn of(id: Option<&InvocationId>) -> String {
    id.map_or_else(String::new, |id| format!("of {id} "))
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
