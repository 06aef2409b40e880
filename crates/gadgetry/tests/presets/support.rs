//! Lists of events.

use gadgetry::Observer;
use gadgetry::proto::event::Event;
use serde_json::{Value, json};

/// Each event comes 10 ms after the one before it. `sub` before its type: in the first subagent of call `a`.
pub(crate) fn events(list: &[Value]) -> Vec<Event> {
    let numbered = list.iter().enumerate();
    let events = numbered.map(|(seq, event)| {
        let mut event = event.clone();
        event["v"] = json!(1);
        event["seq"] = json!(seq);
        event["timeMs"] = json!(10 * seq);
        if let Some(what) = event["type"].as_str().unwrap().strip_prefix("sub ") {
            event["type"] = json!(what);
            event["path"] = json!([{ "call": 0, "invocationId": "a", "agent": 0 }]);
        }
        // The call `a` has number 0, `b` 1 and so on.
        if let Some(id) = event["invocationId"].as_str() {
            event["call"] = json!(id.as_bytes()[0] - b'a');
        }
        serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{event}: {error}"))
    });
    events.collect()
}

pub(crate) fn end(kind: &str, iteration: u32, cost: f64, tokens: [u64; 2]) -> Value {
    json!({
        "type": kind, "iteration": iteration, "stopReason": "stop", "cost": cost,
        "usage": { "inputTokens": tokens[0], "outputTokens": tokens[1] },
    })
}

/// A run with everything in it: a gadget with a subagent, one that fails, one that is skipped, a retry, compaction.
pub(crate) fn eventful() -> Vec<Event> {
    let mut summary = end("model_call_end", 2, 0.5, [900, 90]);
    summary["purpose"] = json!("summary");
    let mut failed = end("model_call_end", 2, 0.0, [0, 0]);
    failed["error"] = json!("busy\nnow");
    let call = |name: &str, id: &str, call: u32| {
        json!({
            "type": "gadget_call", "call": call, "gadgetName": name, "invocationId": id, "dependencies": [],
            "parametersRaw": "!!!ARG:q\nx", "parameters": { "q": "x" }, "terminatedBy": "endMarker",
            "span": { "start": 0, "end": 9 },
        })
    };
    events(&[
        json!({ "type": "model_call_start", "iteration": 1 }),
        call("Ask", "a", 0),
        json!({ "type": "gadget_start", "gadgetName": "Ask", "invocationId": "a", "call": 0 }),
        json!({ "type": "sub model_call_start", "iteration": 1 }),
        json!({ "type": "text", "text": "Wait." }),
        json!({ "type": "sub text", "text": "Well" }),
        end("model_call_end", 1, 0.25, [100, 10]),
        end("sub model_call_end", 1, 0.125, [7, 3]),
        json!({ "type": "sub run_finished", "reason": "completed", "iterations": 1, "totalCost": 0.125 }),
        json!({ "type": "gadget_result", "gadgetName": "Ask", "invocationId": "a", "call": 0, "result": "yes", "durationMs": 70, "cost": 1.0 }),
        json!({ "type": "gadget_result", "gadgetName": "Dig", "invocationId": "b", "call": 1, "error": "no\u{7}", "durationMs": 5, "cost": 0.5 }),
        json!({ "type": "gadget_skipped", "gadgetName": "Dig", "invocationId": "c", "call": 2, "failedDependency": "b", "error": "b failed" }),
        json!({ "type": "iteration_end", "iteration": 1 }),
        json!({ "type": "model_call_start", "iteration": 2, "purpose": "summary" }),
        summary,
        json!({ "type": "compaction", "strategy": "summary", "removedTurns": 3, "removedMessages": 6, "tokensBefore": 1000, "tokensAfter": 300 }),
        json!({ "type": "model_call_start", "iteration": 2 }),
        failed,
        json!({ "type": "model_retry", "iteration": 2, "attempt": 1, "left": 2, "delayMs": 10, "kind": "overloaded", "error": "busy" }),
        json!({ "type": "rate_limited", "delayMs": 5 }),
        json!({ "type": "model_call_start", "iteration": 2 }),
        end("model_call_end", 2, 0.25, [50, 5]),
        json!({ "type": "gadget_cost", "gadgetName": "Dig", "invocationId": "b", "call": 1, "cost": 1.0 }),
        json!({ "type": "run_finished", "reason": "budgetExceeded", "iterations": 2, "totalCost": 3.625 }),
    ])
}

pub(crate) fn watch(observer: &mut dyn Observer, events: &[Event]) {
    for event in events {
        observer.event(event);
    }
}

pub(crate) const FAILURES: [&str; 5] = [
    "100 ms: Dig b failed: no ",
    "110 ms: Dig c skipped: b failed",
    "170 ms: reply 2 failed: busy now",
    "180 ms: retry 1 of reply 2, 2 left: busy",
    "230 ms: the run ended early: BudgetExceeded",
];
