//! Events from one line each: the notation of the tests of the cost tree.

use std::sync::Arc;

use gadgetry_proto::call::{Call, Parameters, TerminatedBy};
use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::{ModelError, ModelErrorKind, Span};
use gadgetry_proto::event::{Ancestor, CallAnswer, Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::message::Purpose;
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Usage;
use serde_json::json;

/// Each event comes 10 ms after the one before it.
pub(super) fn events(lines: &[&str]) -> Vec<Event> {
    let numbered = (0..).zip(lines);
    numbered.map(|(seq, line)| event(seq, line)).collect()
}

pub(super) fn event(seq: u64, line: &str) -> Event {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let mut path = Vec::new();
    if words[0].contains('.') {
        path = words.remove(0).split('/').map(ancestor).collect();
    }
    let kind = kind(&words).unwrap_or_else(|| panic!("no event: {line}"));
    let mut event = Event::new(seq, Time(10 * seq), kind);
    event.path = path;
    event
}

fn ancestor(text: &str) -> Ancestor {
    let parts: Vec<&str> = text.split('.').collect();
    let call = CallId(parts[0].parse().unwrap());
    Ancestor::new(call, parts[1], parts[2].parse().unwrap())
}

fn kind(words: &[&str]) -> Option<EventKind> {
    let what = words[0].trim_start_matches("sum-");
    let purpose = if what == words[0] {
        Purpose::Reply
    } else {
        Purpose::Summary
    };
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let dollars = |at: usize| word(at).parse().unwrap_or(0.0);
    let (call, invocation_id) = call(word(2));
    let gadget_name = word(1).to_owned();
    Some(match what {
        "start" => EventKind::ModelCallStart {
            iteration: word(1).parse().ok()?,
            purpose,
        },
        "end" => {
            let (input, output) = word(3).split_once('/').unwrap_or(("0", "0"));
            let failed = word(4) == "fail";
            EventKind::ModelCallEnd {
                iteration: word(1).parse().ok()?,
                purpose,
                stop_reason: if failed {
                    StopReason::Error
                } else {
                    StopReason::Stop
                },
                usage: Usage::default()
                    .input_tokens(input.parse().ok()?)
                    .output_tokens(output.parse().ok()?),
                cost: (word(2) != "?").then(|| dollars(2)),
                error: failed.then(overloaded),
            }
        }
        "retry" => EventKind::ModelRetry {
            iteration: word(1).parse().ok()?,
            attempt: word(2).parse().ok()?,
            left: 1,
            delay_ms: 5,
            error: overloaded(),
        },
        "call" => EventKind::GadgetCall {
            call,
            written: Arc::new(Call {
                gadget_name,
                invocation_id,
                dependencies: Vec::new(),
                parameters_raw: String::new(),
                parameters: Parameters::Parsed(json!({})),
                digits: gadgetry_proto::call::Digits::default(),
                terminated_by: TerminatedBy::EndMarker,
                span: Span::default(),
            }),
        },
        "run" => EventKind::GadgetStart {
            call,
            invocation_id,
            gadget_name,
            parameters: Arc::new(json!({})),
        },
        "again" => EventKind::GadgetRestarted {
            call,
            invocation_id,
            gadget_name,
        },
        "ok" | "err" => EventKind::GadgetResult {
            call,
            invocation_id,
            gadget_name,
            answer: if what == "ok" {
                CallAnswer::Result("fine".to_owned())
            } else {
                CallAnswer::Error("no".to_owned())
            },
            duration_ms: word(4).parse().unwrap_or(0),
            cost: dollars(3),
            media: Vec::new(),
            completes_run: false,
        },
        "late" => EventKind::GadgetCost {
            call,
            invocation_id,
            gadget_name,
            cost: dollars(3),
        },
        "skip" => EventKind::GadgetSkipped {
            call,
            invocation_id,
            gadget_name,
            failed_dependency: "x".to_owned(),
            error: "no".to_owned(),
        },
        "finish" => EventKind::RunFinished {
            reason: serde_json::from_value(json!(word(1))).ok()?,
            iterations: 1,
            total_cost: (word(2) != "?").then(|| dollars(2)),
            answer: String::new(),
            error: None,
        },
        _ => return None,
    })
}

fn overloaded() -> ModelError {
    ModelError::new(ModelErrorKind::Overloaded, "overloaded")
}

/// The number and the id of a call.
fn call(word: &str) -> (CallId, InvocationId) {
    if let Some((id, number)) = word.split_once('#') {
        return (CallId(number.parse().unwrap()), id.into());
    }
    let letters = (b'a'..=b'z').zip(0..);
    let first = word.bytes().next();
    let number = letters.filter(|(letter, _)| Some(*letter) == first);
    let number = number.map(|(_, number)| number).next();
    (CallId(number.unwrap_or_default()), word.into())
}
