//! The `deps` vectors of `corpus/block-vectors.json` through whole runs in virtual time. The file says how to read them.
//!
//! Calls are compared in their order, results and skips by id: the file says that their order is an observation. What differs from the reference, and why, stands in [`DEVIATIONS`].

use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::run::{Decision, Input, Output, QuestionKind};
use serde_json::{Value, json};

use crate::support::sim::script::{Behaviour, Piece, Reply, Script, gadget};
use crate::support::sim::{self, Log};

const VECTORS: &str = include_str!("../../../corpus/block-vectors.json");

/// Vector, part of its expectation, what we expect instead, why.
fn deviations() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    const TOLD: &str = "decisions.md: the model is told about every skip";
    const ORDER: &str = "decisions.md: results in call order";
    const DENIED: &str =
        "decisions.md: a denied gadget is a failed one, so its dependents are skipped";
    let ghost = "dependency \"ghost\" was never executed - check that the invocation ID exists and is spelled correctly";
    let circular = |own: &str, other: &str| {
        format!(
            "Circular dependency detected: \"{own}\" depends on \"{other}\" which also depends on \"{own}\" \
             (directly or indirectly)"
        )
    };
    let skipped = |id: &str, text: &str| format!("Result ({id}): Skipped: {text}");
    let bell = "Result (b): ok Bell";
    let gong = "Error: Gadget 'Gong' not found.\n\nAvailable gadgets: Bell, ZestLemon";
    vec![
        (
            "D02",
            "resultsSeenByModel",
            json!([skipped("f", ghost), bell]),
            TOLD,
        ),
        (
            "D03",
            "resultsSeenByModel",
            json!([
                skipped("f", &circular("f", "h")),
                skipped("h", &circular("h", "f")),
                bell
            ]),
            TOLD,
        ),
        (
            "D05",
            "resultsSeenByModel",
            json!(["Result (c): ok Chop", "Result (f): ok Fry"]),
            ORDER,
        ),
        (
            "D06",
            "resultsSeenByModel",
            json!([
                "Result (c): knife lost",
                skipped("f", "dependency \"c\" failed: knife lost")
            ]),
            TOLD,
        ),
        (
            "D12",
            "events",
            json!([
                ["call", "r"],
                ["call", "w"],
                ["call", "c"],
                ["call", "f"],
                ["result", "f", "ok", "ok Fry"],
                ["result", "w", "ok", "ok Fry"],
                ["result", "c", "ok", "ok Chop"],
                ["result", "r", "ok", "ok Roast"],
            ]),
            "its note: w must run after r",
        ),
        (
            "D12",
            "resultsSeenByModel",
            json!([
                "Result (r): ok Roast",
                "Result (w): ok Fry",
                "Result (c): ok Chop",
                "Result (f): ok Fry"
            ]),
            ORDER,
        ),
        (
            "D14",
            "maxParallel",
            json!(1),
            "a limit holds for every call, whenever it was released",
        ),
        (
            "D16",
            "maxParallel",
            json!(1),
            "exclusive keeps others out, also when it comes first",
        ),
        (
            "D20",
            "events",
            json!([
                ["call", "c"],
                ["call", "f"],
                ["result", "c", "error", "status=denied"],
                ["skip", "f", "c", "status=denied"],
            ]),
            DENIED,
        ),
        (
            "D20",
            "resultsSeenByModel",
            json!([
                "Result (c): status=denied",
                skipped("f", "dependency \"c\" failed: status=denied")
            ]),
            DENIED,
        ),
        (
            "D21",
            "resultsSeenByModel",
            json!([
                skipped("f", &circular("f", "h")),
                skipped(
                    "h",
                    "Dependencies unresolvable: circular=[f], missing=[ghost]"
                ),
                bell,
            ]),
            TOLD,
        ),
        (
            "D25",
            "events",
            json!([
                ["call", "a"],
                ["call", "b"],
                ["result", "a", "ok", "ok Bell"],
                ["result", "b", "error", gong],
            ]),
            "there is no output viewer without an output limit",
        ),
        (
            "D25",
            "resultsSeenByModel",
            json!(["Result (a): ok Bell", format!("Result (b): {gong}")]),
            "there is no output viewer without an output limit",
        ),
    ]
}

#[test]
fn every_deps_vector_or_its_deviation() {
    let deviations = deviations();
    let mut used = 0;
    for vector in vectors() {
        let id = vector["id"].as_str().expect("an id");
        let got = outcome(&vector, &sim::play(&script(&vector["input"])));
        for (what, expected) in vector["expect"].as_object().expect("expectations") {
            let deviation = deviations.iter().find(|it| (it.0, it.1) == (id, what));
            let expected = if let Some((.., ours, why)) = deviation {
                assert_ne!(expected, ours, "{id} {what} does not deviate: {why}");
                used += 1;
                ours
            } else {
                expected
            };
            assert_eq!(
                comparable(&got[what], what),
                comparable(expected, what),
                "{what} of {id}"
            );
        }
    }
    assert_eq!(used, deviations.len(), "deviations that name no vector");
}

/// The order of events is an observation; the order of results for the model is a rule.
fn comparable(value: &Value, what: &str) -> Value {
    let mut value = value.clone();
    if let (Some(list), "events") = (value.as_array_mut(), what) {
        list.sort_by_cached_key(|event| {
            let call = event[0] == "call";
            (!call, (!call).then(|| event[1].to_string()))
        });
    }
    value
}

fn vectors() -> Vec<Value> {
    let corpus: Value = serde_json::from_str(VECTORS).expect("the corpus is JSON");
    let all = corpus["vectors"].as_array().expect("a list").clone();
    let deps = all.into_iter().filter(|it| it["area"] == "deps");
    let deps: Vec<Value> = deps.collect();
    assert_eq!(deps.len(), 13);
    deps
}

fn script(input: &Value) -> Script {
    let mut script = Script::default();
    for (name, how) in input["gadgets"].as_object().expect("gadgets") {
        script = script.gadget(behaviour(name, how));
    }
    if let Some(veto) = input["veto"].as_object().cloned() {
        script.base.asks.before_gadget = true;
        script = script.decides(move |question| {
            let QuestionKind::BeforeGadget { start } = question else {
                return None;
            };
            let words = veto.get(start.invocation_id.as_str())?.as_str()?;
            Some(Decision::Deny(words.to_owned()))
        });
    }
    for reply in input["responses"].as_array().expect("replies") {
        let Some(pieces) = reply.as_array() else {
            panic!("{reply} is no reply");
        };
        let pieces = pieces.iter().map(|piece| match piece.as_str() {
            Some(text) => Piece::Text(text.to_owned()),
            None => Piece::Pause(piece.as_u64().expect("a pause")),
        });
        script = script.replies(Reply::stop(pieces.collect()));
    }
    script
}

fn behaviour(name: &str, how: &Value) -> Behaviour {
    let mut gadget = gadget(name).with(|spec| {
        spec.timeout_ms = how["timeoutMs"].as_u64();
        spec.exclusive = how["exclusive"] == true;
        let limit = how["maxConcurrent"].as_u64();
        spec.max_concurrent = limit.map(|limit| u32::try_from(limit).expect("a small limit"));
    });
    gadget.delay_ms = how["delayMs"].as_u64().unwrap_or_default();
    let times = how["failsTimes"].as_u64().unwrap_or(u64::from(u32::MAX));
    let times = u32::try_from(times).expect("a small number");
    if let Some(error) = how["fails"].as_str() {
        gadget = gadget.fails_times(error, times);
    }
    if let Some(result) = how["finish"].as_str() {
        gadget = gadget.finishes(result);
    }
    gadget
}

/// What happened, in the words of the vectors.
fn outcome(vector: &Value, log: &Log) -> Value {
    let events: Vec<Value> = log.events().filter_map(said).collect();
    let told = log.told().into_iter();
    let told: Vec<String> = told
        .map(|(id, text)| format!("Result ({id}): {text}"))
        .collect();
    json!({
        "events": events,
        "modelCalls": log.summary.iterations,
        "resultsSeenByModel": told,
        "maxParallel": max_parallel(log, vector["input"]["measure"].as_str().unwrap_or("*")),
    })
}

fn said(event: &Event) -> Option<Value> {
    if let EventKind::GadgetCall { written, .. } = &event.kind {
        return Some(json!(["call", written.invocation_id]));
    }
    if let EventKind::GadgetResult {
        invocation_id,
        answer,
        ..
    } = &event.kind
    {
        return Some(match answer {
            CallAnswer::Result(text) => json!(["result", invocation_id, "ok", text]),
            CallAnswer::Error(text) => json!(["result", invocation_id, "error", text]),
        });
    }
    let EventKind::GadgetSkipped {
        invocation_id,
        failed_dependency,
        error,
        ..
    } = &event.kind
    else {
        return None;
    };
    Some(json!(["skip", invocation_id, failed_dependency, error]))
}

/// The most calls of the gadget (`*`: of all) that ran at once.
fn max_parallel(log: &Log, gadget: &str) -> usize {
    let mut running = Vec::new();
    let mut most = 0;
    for (step, outputs) in log.outputs.iter().enumerate() {
        if let Some(Input::Done(done, _)) = step.checked_sub(1).map(|at| &log.inputs[at].1) {
            running.retain(|id| id != done);
        }
        for output in outputs {
            if let Output::Start(start) = output
                && (gadget == "*" || start.gadget_name == gadget)
            {
                running.push(start.id);
                most = most.max(running.len());
            }
        }
    }
    most
}
