//! The log: its lines, its questions, and what it says when it is wrong.

use gadgetry::driver::Observer;
use gadgetry::proto::event::{CallAnswer, Event, EventKind, FinishReason};
use gadgetry_testing::EventLog;
use serde_json::{Value, json};

use crate::support::panic_of;

/// A log of these events as JSON, one a millisecond.
fn log(kinds: &[Value]) -> EventLog {
    let events = kinds.iter().enumerate().map(|(number, kind)| {
        let mut event = kind.clone();
        event["v"] = json!(1);
        event["seq"] = json!(number);
        event["timeMs"] = json!(number);
        if let Some(id) = event["invocationId"].as_str() {
            event["call"] = json!(id.as_bytes()[0]);
        }
        serde_json::from_value::<Event>(event).unwrap()
    });
    events.collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn result(id: &str, text: &str, cost: f64) -> Value {
    json!({
        "type": "gadget_result", "invocationId": id, "gadgetName": "Run", "result": text,
        "durationMs": 0, "cost": cost,
    })
}

fn error(id: &str, text: &str) -> Value {
    json!({
        "type": "gadget_result", "invocationId": id, "gadgetName": "Run", "error": text,
        "durationMs": 5, "cost": 0.0,
    })
}

fn start(id: &str) -> Value {
    json!({ "type": "gadget_start", "invocationId": id, "gadgetName": "Run" })
}

fn from_subagent(mut event: Value, path: &[(&str, u32)]) -> Value {
    let path = path
        .iter()
        .map(|(id, agent)| json!({ "call": 0, "invocationId": id, "agent": agent }));
    event["path"] = path.collect();
    event
}

#[test]
fn lines() {
    let call = |extra: Value| {
        let mut call = json!({
            "type": "gadget_call", "gadgetName": "Run", "invocationId": "a", "dependencies": ["b", "c"],
            "parametersRaw": "", "terminatedBy": "endMarker", "span": { "start": 0, "end": 0 },
        });
        call.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        call
    };
    let usage = json!({ "inputTokens": 5, "outputTokens": 2, "totalTokens": 7 });
    let model_call_end = |extra: Value| {
        let mut end = json!({
            "type": "model_call_end", "iteration": 1, "stopReason": "stop", "usage": {}, "cost": 0.0,
        });
        end.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        end
    };
    let media = json!([{ "kind": "image", "mimeType": "image/png", "data": { "url": "x" } }]);
    let with_media = {
        let mut result = result("a", "x", 0.0);
        result["media"] = media;
        result
    };
    let partial = json!({
        "type": "gadget_args_partial", "invocationId": "a", "gadgetName": "Run", "fieldPath": "x",
        "delta": "y", "isFieldComplete": false,
    });
    let block = json!({
        "type": "custom_block", "blockId": "block_1", "tag": "note", "content": "hi",
        "attrs": { "to": "me" },
    });
    let block_start = json!({
        "type": "custom_block_start", "blockId": "block_1", "tag": "note", "attrs": {},
    });
    let diagnostic = json!({
        "type": "diagnostic", "code": "nearMiss", "message": "m", "span": { "start": 0, "end": 1 },
    });
    let retry = json!({
        "type": "model_retry", "iteration": 1, "attempt": 2, "left": 1, "delayMs": 500,
        "kind": "rateLimit", "error": "slow",
    });
    let compaction = json!({
        "type": "compaction", "strategy": "summary", "removedTurns": 3, "removedMessages": 6,
        "tokensBefore": 900, "tokensAfter": 200,
    });
    let skipped = json!({
        "type": "gadget_skipped", "invocationId": "a", "gadgetName": "Run", "failedDependency": "b",
        "error": "e",
    });
    let finished = |extra: Value| {
        let mut end = json!({
            "type": "run_finished", "reason": "completed", "iterations": 2, "totalCost": 0.0,
        });
        end.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        end
    };
    for (event, line) in [
        (
            json!({ "type": "model_call_start", "iteration": 3 }),
            "model_call 3",
        ),
        (
            json!({ "type": "model_call_start", "iteration": 3, "purpose": "summary" }),
            "model_call 3 summary",
        ),
        (model_call_end(json!({})), "model_call_end 1 stop"),
        (
            model_call_end(
                json!({ "usage": usage, "cost": 0.5, "error": "no", "purpose": "summary" }),
            ),
            "model_call_end 1 summary stop 5+2 tokens $0.5 \"no\"",
        ),
        (text("a\nb"), "text \"a\\nb\""),
        (
            json!({ "type": "reasoning", "text": "hm" }),
            "reasoning \"hm\"",
        ),
        (
            call(json!({ "parameters": { "x": 1 } })),
            "call a Run after b,c {\"x\":1}",
        ),
        (
            call(json!({ "parseError": "bad", "dependencies": [] })),
            "call a Run malformed \"bad\"",
        ),
        (partial, ""),
        (start("a"), "start a Run"),
        (result("a", "x y", 0.25), "result a \"x y\" $0.25"),
        (
            with_media,
            "result a \"x\" with [image: unnamed (image/png)]",
        ),
        (error("a", "no"), "error a \"no\" 5ms"),
        (skipped, "skip a because b"),
        (block_start, ""),
        (block, "block note {\"to\":\"me\"} \"hi\""),
        (diagnostic, "diagnostic nearMiss"),
        (retry, "retry 2 after 500ms because rateLimit \"slow\""),
        (
            json!({ "type": "rate_limited", "delayMs": 7 }),
            "rate_limited 7ms",
        ),
        (compaction, "compaction summary -3 turns, 900 to 200 tokens"),
        (
            json!({ "type": "gadget_progress", "invocationId": "a", "gadgetName": "Run", "message": "half" }),
            "progress a \"half\"",
        ),
        (
            json!({ "type": "human_input_required", "invocationId": "a", "question": "Sure?" }),
            "question of a \"Sure?\"",
        ),
        (
            json!({ "type": "human_input_received", "answered": true }),
            "question answered",
        ),
        (
            json!({ "type": "gadget_restarted", "invocationId": "a", "gadgetName": "Run" }),
            "restart a",
        ),
        (
            json!({ "type": "gadget_cost", "invocationId": "a", "gadgetName": "Run", "cost": 0.5 }),
            "cost a $0.5",
        ),
        (
            json!({ "type": "iteration_end", "iteration": 1 }),
            "iteration_end 1",
        ),
        (finished(json!({})), "finished completed 2"),
        (
            finished(json!({ "totalCost": 0.5, "error": "no" })),
            "finished completed 2 $0.5 \"no\"",
        ),
    ] {
        let name = event["type"].as_str().unwrap().to_owned();
        let log = log(&[event]);
        assert_eq!(log.names(), [name]);
        assert_eq!(log.render().trim_end(), line);
    }
}

#[test]
fn texts_in_a_row_are_one_line() {
    let thought = json!({ "type": "reasoning", "text": "hm" });
    let log = log(&[text("a"), text("b"), thought.clone(), thought, text("c")]);
    assert_eq!(
        log.render(),
        "text \"ab\"\nreasoning \"hmhm\"\ntext \"c\"\n"
    );
    assert_eq!(
        log.to_string(),
        "     0 text \"ab\"\n     2 reasoning \"hmhm\"\n     4 text \"c\"\n",
    );
    assert_eq!(log.text(), "abc");
    assert_eq!(log.events().len(), 5);
}

#[test]
fn questions() {
    let skipped = json!({
        "type": "gadget_skipped", "invocationId": "c", "gadgetName": "Run", "failedDependency": "b",
        "error": "e",
    });
    let mut log = log(&[
        start("b"),
        start("a"),
        result("a", "1", 0.25),
        error("b", "no"),
        skipped,
        result("a", "2", 0.5),
        json!({ "type": "gadget_cost", "invocationId": "b", "gadgetName": "Run", "cost": 0.125 }),
    ]);
    assert_eq!(log.started(), ["b", "a"]);
    let answers = [
        ("a".to_owned(), CallAnswer::Result("1".to_owned())),
        ("b".to_owned(), CallAnswer::Error("no".to_owned())),
        ("a".to_owned(), CallAnswer::Result("2".to_owned())),
    ];
    assert_eq!(log.results(), answers);
    assert_eq!(log.expect_result("a"), "2");
    assert_eq!(log.expect_error("b"), "no");
    assert_eq!(log.skipped(), ["c"]);
    assert_eq!(log.finish_reason(), None);
    assert_eq!(log.total_cost(), Some(0.875));
    let shared = log.clone();
    let mut finished = log.events()[0].clone();
    finished.kind = EventKind::RunFinished {
        reason: FinishReason::Completed,
        iterations: 1,
        total_cost: Some(3.0),
        answer: String::new(),
        error: None,
    };
    log.event(&finished);
    assert_eq!(shared.total_cost(), Some(3.0));
    assert_eq!(shared.finish_reason(), Some(FinishReason::Completed));
}

#[test]
fn subagents() {
    let log = log(&[
        start("research"),
        from_subagent(text("I "), &[("research", 0)]),
        text("mine"),
        from_subagent(text("see."), &[("research", 0)]),
        from_subagent(result("x", "deep", 0.5), &[("research", 0), ("inner", 2)]),
        from_subagent(text("other"), &[("write", 1)]),
        result("research", "found", 0.25),
    ]);
    assert_eq!(log.text(), "mine");
    assert_eq!(log.results().len(), 1);
    assert_eq!(log.total_cost(), Some(0.75));
    assert_eq!(
        log.render(),
        "start research Run
research> text \"I \"
text \"mine\"
research> text \"see.\"
research/inner#2> result x \"deep\" $0.5
write#1> text \"other\"
result research \"found\" $0.25
"
    );
    let research = log.subagent("research");
    assert_eq!(research.text(), "I see.");
    assert_eq!(
        research.render(),
        "text \"I see.\"\ninner#2> result x \"deep\" $0.5\n"
    );
    assert_eq!(research.subagent("inner").expect_result("x"), "deep");
    assert_eq!(log.subagent("none").events(), []);
}

#[test]
fn order() {
    let log = log(&[start("a"), start("ab"), text("b c"), result("a", "x", 0.0)]);
    log.assert_order([]);
    log.assert_order(["start a", "start ab", "result a"]);
    log.assert_order(["a", "a"]);
    let check = |wanted: &[&str], problem: &str| {
        let words = panic_of(|| log.assert_order(wanted.iter().copied()));
        let events = "events, with milliseconds:\n     0 start a Run\n     1 start ab Run\n     2 text \"b c\"\n     3 result a \"x\"\n";
        assert_eq!(words, format!("{problem}\n{events}"));
    };
    check(&["start b"], "\"start b\" never comes");
    check(
        &["result a", "start a"],
        "\"start a\" comes, but not after \"result a\"",
    );
    check(
        &["start ab", "start ab"],
        "\"start ab\" comes, but not after \"start ab\"",
    );
    check(&["a Ru"], "\"a Ru\" never comes");
}

#[test]
fn expectations_fail_with_the_log() {
    let log = log(&[result("a", "x", 0.0), error("b", "no")]);
    let check = |words: String, problem: &str| {
        let events =
            "events, with milliseconds:\n     0 result a \"x\"\n     1 error b \"no\" 5ms\n";
        assert_eq!(words, format!("{problem}\n{events}"));
    };
    check(
        panic_of(|| log.expect_result("b")),
        "the call \"b\" failed: \"no\"",
    );
    check(
        panic_of(|| log.expect_result("c")),
        "the call \"c\" has no result",
    );
    check(
        panic_of(|| log.expect_error("a")),
        "the call \"a\" did not fail: \"x\"",
    );
    check(
        panic_of(|| log.expect_error("c")),
        "the call \"c\" has no error",
    );
}
