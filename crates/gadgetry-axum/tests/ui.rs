//! Events as parts of the AI SDK's UI message stream.

use gadgetry::Event;
use gadgetry_axum::UiMessages;
use serde_json::{Value, json};

/// The parts of these events after `start`, without braces and quotation marks.
#[track_caller]
fn check(events: &[Value], expected: &[&str]) {
    let mut messages = UiMessages::default();
    let mut parts = Vec::new();
    for (seq, fields) in events.iter().enumerate() {
        let mut event = json!({ "v": 1, "seq": seq, "timeMs": 0 });
        let all = event.as_object_mut().unwrap();
        all.extend(fields.as_object().unwrap().clone());
        let event: Event = serde_json::from_value(event).unwrap();
        parts.extend(messages.parts(&event));
    }
    let line = |part: &Value| {
        let fields = part.as_object().unwrap().iter();
        let fields = fields.filter(|(name, _)| *name != "dynamic");
        let values = fields.map(|(_, value)| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string().replace('"', ""),
        });
        values.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = parts.iter().map(line).collect();
    assert_eq!(lines[0], "start");
    assert_eq!(&lines[1..], expected);
}

fn finished(reason: &str) -> Value {
    json!({ "type": "run_finished", "reason": reason, "iterations": 1, "error": "key sk-1 was refused" })
}

fn result(answer: &str, text: &str) -> Value {
    json!({ "type": "gadget_result", "call": 0, "invocationId": "a", "gadgetName": "Save", "durationMs": 1, answer: text })
}

fn approval() -> Value {
    json!({
        "type": "approval_required", "call": 0, "invocationId": "a", "gadgetName": "Save", "parameters": { "to": "x" },
        "approval": "0-000000000000000000000000000000ab", "diff": "+a",
    })
}

fn answered(answer: &str) -> Value {
    json!({
        "type": "approval_answered", "call": 0, "invocationId": "a",
        "approval": "0-000000000000000000000000000000ab", "answer": answer,
    })
}

#[test]
fn the_end_of_a_run_has_no_details() {
    check(&[finished("completed")], &["finish stop"]);
    check(&[finished("truncated")], &["finish length"]);
    check(&[finished("withheld")], &["finish content-filter"]);
    check(
        &[finished("modelError")],
        &["error the model failed", "finish error"],
    );
    check(
        &[finished("budgetExceeded")],
        &["error the budget is spent", "finish other"],
    );
    check(&[finished("cancelled")], &["abort"]);
}

#[test]
fn texts_and_reasonings_are_closed() {
    let text = |kind: &str, text: &str| json!({ "type": kind, "text": text });
    check(
        &[
            json!({ "type": "model_call_start", "iteration": 1 }),
            text("reasoning", "a"),
            text("reasoning", "b"),
            text("text", "c"),
            json!({ "type": "reply_withdrawn", "iteration": 1 }),
            text("text", "d"),
            finished("completed"),
        ],
        &[
            "start-step",
            "reasoning-start block-1",
            "reasoning-delta block-1 a",
            "reasoning-delta block-1 b",
            "reasoning-end block-1",
            "text-start block-2",
            "text-delta block-2 c",
            "text-end block-2",
            "data-withdrawn {iteration:1}",
            "text-start block-3",
            "text-delta block-3 d",
            "text-end block-3",
            "finish-step",
            "finish stop",
        ],
    );
}

#[test]
fn a_call_has_its_input_before_everything_else() {
    let start = json!({ "type": "gadget_start", "call": 0, "invocationId": "a", "gadgetName": "Save", "parameters": {} });
    let announced = "tool-input-start call_0 Save";
    check(
        &[start, result("result", "done")],
        &[
            announced,
            "tool-input-available call_0 Save {}",
            "tool-output-available call_0 done",
        ],
    );
    // A call that was never complete.
    check(
        &[result("error", "it was cut off")],
        &[
            announced,
            "tool-input-available call_0 Save null",
            "tool-output-error call_0 it was cut off",
        ],
    );
    let shown = [
        announced,
        "tool-input-available call_0 Save {to:x}",
        "data-approval 0-000000000000000000000000000000ab \
         {approval:0-000000000000000000000000000000ab,gadgetName:Save,parameters:{to:x},diff:+a}",
        "tool-approval-request 0-000000000000000000000000000000ab call_0",
    ];
    let with = |more: &[&'static str]| [&shown[..], more].concat();
    check(
        &[approval(), answered("allowed"), result("result", "done")],
        &with(&["tool-output-available call_0 done"]),
    );
    check(
        &[
            approval(),
            answered("denied"),
            result("error", "Denied by the user"),
        ],
        &with(&["tool-output-denied call_0"]),
    );
    check(
        &[
            approval(),
            answered("withdrawn"),
            result("error", "cancelled"),
        ],
        &with(&["tool-output-error call_0 cancelled"]),
    );
    // The client does not know the call of a subagent, but its user may have to approve it.
    let mut inner = approval();
    inner["path"] = json!([{ "call": 3, "invocationId": "b", "agent": 0 }]);
    check(&[inner], &shown[2..3]);
}
