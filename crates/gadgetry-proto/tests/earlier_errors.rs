//! Errors of model calls as earlier versions have written them, in logs, events and snapshots.

#![expect(
    clippy::needless_pass_by_value,
    clippy::wildcard_enum_match_arm,
    reason = "tests take what is easiest to write, and name what they expect"
)]

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind, Overflow};
use gadgetry_proto::event::{Event, EventKind};
use gadgetry_proto::run::{Close, Input, Summary};
use serde_json::{Value, from_value, json, to_value};

fn overloaded() -> ModelError {
    ModelError::new(ModelErrorKind::Overloaded, "busy")
}

/// What the error of this event is.
fn of_event(fields: Value) -> Option<ModelError> {
    let mut event = json!({ "v": 1, "seq": 0, "timeMs": 0 });
    let known = event.as_object_mut().expect("an object");
    known.extend(fields.as_object().expect("an object").clone());
    match from_value::<Event>(event).expect("an event").kind {
        EventKind::ModelCallEnd { error, .. } | EventKind::RunFinished { error, .. } => error,
        EventKind::ModelRetry { error, .. } => Some(error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn earlier_forms_are_read() {
    let other = |words: &str| ModelError::new(ModelErrorKind::Other, words);
    let delta = |fields: Value| match from_value::<Delta>(fields).expect("a delta") {
        Delta::Error(error) => error,
        delta => panic!("{delta:?}"),
    };
    assert_eq!(
        delta(json!({ "type": "error", "error": "no" })),
        other("no")
    );
    let full = json!({
        "type": "error", "error": "busy", "code": "c", "kind": "overloaded", "retryAfterMs": 7,
        "overflow": { "promptTokens": 9 },
    });
    let overflow = Overflow {
        prompt_tokens: Some(9),
        context_window: None,
    };
    let expected = overloaded()
        .with_code("c")
        .with_retry_after_ms(7)
        .with_overflow(overflow);
    assert_eq!(delta(full), expected);

    let closed = from_value::<Input>(json!({ "modelClosed": { "failed": "no line" } }));
    assert_eq!(
        closed.expect("an input"),
        Input::ModelClosed(Close::failed("no line"))
    );

    // In a snapshot.
    let saved = json!({ "kind": "overloaded", "words": "busy", "retry_after_ms": 7 });
    let read: ModelError = from_value(saved).expect("an error");
    assert_eq!(read, overloaded().with_retry_after_ms(7));

    let end =
        json!({ "type": "model_call_end", "iteration": 1, "stopReason": "error", "usage": {} });
    let with = |mut event: Value, error: &str| {
        event["error"] = json!(error);
        event
    };
    assert_eq!(of_event(end.clone()), None);
    assert_eq!(of_event(with(end, "no")), Some(other("no")));
    let finished = json!({ "type": "run_finished", "reason": "modelError", "iterations": 1 });
    assert_eq!(of_event(finished.clone()), None);
    assert_eq!(of_event(with(finished, "no")), Some(other("no")));
    let retry = json!({
        "type": "model_retry", "iteration": 1, "attempt": 1, "left": 2, "delayMs": 5, "kind": "overloaded", "error": "busy",
    });
    assert_eq!(of_event(retry), Some(overloaded()));

    let summary = json!({
        "reason": "modelError", "iterations": 1, "totalCost": null, "knownCost": 0.0, "answer": "", "error": "no",
    });
    let summary: Summary = from_value(summary).expect("a summary");
    assert_eq!(summary.error, Some(other("no")));
}

#[test]
fn what_is_written_is_read() {
    let overflow = Overflow {
        prompt_tokens: Some(9),
        context_window: Some(8),
    };
    let full = overloaded()
        .with_status(503)
        .with_code("c")
        .with_retry_after_ms(7)
        .with_request_id("req_1")
        .with_overflow(overflow);
    for error in [overloaded(), full] {
        for input in [
            Input::Delta(error.clone().into()),
            Input::ModelClosed(Close::Failed(error.clone())),
        ] {
            let written = to_value(&input).expect("it is written");
            assert_eq!(
                from_value::<Input>(written.clone()).expect("it is read"),
                input,
                "{written}"
            );
        }
    }
}
