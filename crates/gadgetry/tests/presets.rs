//! Observer presets, over lists of events and over a real run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::float_cmp,
    reason = "the amounts here are sums of eighths, which are exact"
)]

use std::fmt::{self, Write as _};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::presets::{
    ErrorLogging, Failure, FileLogging, Logging, Merged, Monitoring, Progress, ProgressTracking,
    Shared, Silent, Timing, TokenTracking, merge,
};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::message::{Content, Message, Request, Role};
use gadgetry::proto::run::{Command, Input, Run, RunSpec};
use gadgetry::proto::spec::GadgetSpec;
use gadgetry::proto::time::Time;
use gadgetry::proto::tree::CostTree;
use gadgetry::proto::usage::{Price, Usage};
use gadgetry::{
    Ended, Media, MediaData, MediaKind, Observer, ScriptedModel, Services, Toolbox, drive, from_fn,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Each event comes 10 ms after the one before it. `sub` before its type: in the first subagent of call `a`.
fn events(list: &[Value]) -> Vec<Event> {
    let numbered = list.iter().enumerate();
    let events = numbered.map(|(seq, event)| {
        let mut event = event.clone();
        event["seq"] = json!(seq);
        event["timeMs"] = json!(10 * seq);
        if let Some(what) = event["type"].as_str().unwrap().strip_prefix("sub ") {
            event["type"] = json!(what);
            event["path"] = json!([{ "call": 0, "invocationId": "a", "agent": 0 }]);
        }
        serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{event}: {error}"))
    });
    events.collect()
}

fn end(kind: &str, iteration: u32, cost: f64, tokens: [u64; 2]) -> Value {
    json!({
        "type": kind, "iteration": iteration, "stopReason": "stop", "cost": cost,
        "usage": { "inputTokens": tokens[0], "outputTokens": tokens[1] },
    })
}

/// A run with everything in it: a gadget with a subagent, one that fails, one that is skipped, a retry, compaction.
fn eventful() -> Vec<Event> {
    let mut summary = end("model_call_end", 2, 0.5, [900, 90]);
    summary["purpose"] = json!("summary");
    let mut failed = end("model_call_end", 2, 0.0, [0, 0]);
    failed["error"] = json!("busy\nnow");
    let call = |name: &str, id: &str| {
        json!({
            "type": "gadget_call", "gadgetName": name, "invocationId": id, "dependencies": [],
            "parametersRaw": "!!!ARG:q\nx", "parameters": { "q": "x" }, "terminatedBy": "endMarker",
            "span": { "start": 0, "end": 9 },
        })
    };
    events(&[
        json!({ "type": "model_call_start", "iteration": 1 }),
        call("Ask", "a"),
        json!({ "type": "gadget_start", "gadgetName": "Ask", "invocationId": "a" }),
        json!({ "type": "sub model_call_start", "iteration": 1 }),
        json!({ "type": "text", "text": "Wait." }),
        json!({ "type": "sub text", "text": "Well" }),
        end("model_call_end", 1, 0.25, [100, 10]),
        end("sub model_call_end", 1, 0.125, [7, 3]),
        json!({ "type": "sub run_finished", "reason": "completed", "iterations": 1, "totalCost": 0.125 }),
        json!({ "type": "gadget_result", "gadgetName": "Ask", "invocationId": "a", "result": "yes", "durationMs": 70, "cost": 1.0 }),
        json!({ "type": "gadget_result", "gadgetName": "Dig", "invocationId": "b", "error": "no\u{7}", "durationMs": 5, "cost": 0.5 }),
        json!({ "type": "gadget_skipped", "gadgetName": "Dig", "invocationId": "c", "failedDependency": "b", "error": "b failed" }),
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
        json!({ "type": "run_finished", "reason": "budgetExceeded", "iterations": 2, "totalCost": 3.625 }),
    ])
}

fn watch(observer: &mut dyn Observer, events: &[Event]) {
    for event in events {
        observer.event(event);
    }
}

#[test]
fn progress_is_told_after_everything_that_costs() {
    let mut lines = Vec::new();
    let on_progress = |p: &Progress| {
        assert_eq!(p.max_iterations, Some(4));
        lines.push(format!(
            "{} ms, reply {}, depth {}: {} calls, {} gadgets, {}/{} tokens, {} = {} + {}{}",
            p.elapsed_ms,
            p.iteration,
            p.depth,
            p.model_calls,
            p.gadget_calls,
            p.input_tokens,
            p.output_tokens,
            p.total_cost,
            p.model_cost,
            p.gadget_cost,
            if p.finished { ", finished" } else { "" },
        ));
    };
    let mut progress = ProgressTracking::new(on_progress).max_iterations(4);
    watch(&mut progress, &eventful());
    drop(progress);
    assert_eq!(
        lines,
        [
            "60 ms, reply 1, depth 0: 1 calls, 0 gadgets, 100/10 tokens, 0.25 = 0.25 + 0",
            "70 ms, reply 1, depth 1: 2 calls, 0 gadgets, 107/13 tokens, 0.375 = 0.375 + 0",
            "80 ms, reply 1, depth 1: 2 calls, 0 gadgets, 107/13 tokens, 0.375 = 0.375 + 0",
            "90 ms, reply 1, depth 0: 2 calls, 1 gadgets, 107/13 tokens, 1.375 = 0.375 + 1",
            "100 ms, reply 1, depth 0: 2 calls, 2 gadgets, 107/13 tokens, 1.875 = 0.375 + 1.5",
            "140 ms, reply 2, depth 0: 3 calls, 3 gadgets, 1007/103 tokens, 2.375 = 0.875 + 1.5",
            "170 ms, reply 2, depth 0: 4 calls, 3 gadgets, 1007/103 tokens, 2.375 = 0.875 + 1.5",
            "210 ms, reply 2, depth 0: 5 calls, 3 gadgets, 1057/108 tokens, 2.625 = 1.125 + 1.5",
            // A dollar of gadgets that came to an end too late.
            "220 ms, reply 2, depth 0: 5 calls, 3 gadgets, 1057/108 tokens, 3.625 = 1.125 + 1.5, finished",
        ]
    );
}

#[test]
fn timing_and_tokens_are_reported() {
    let (mut timing, mut tokens) = (Timing::default(), TokenTracking::default());
    watch(&mut timing, &eventful()[..9]);
    assert_eq!(timing.report().run_ms, None);
    timing = Timing::default();
    watch(&mut timing, &eventful());
    let expected = [
        "run: 220 ms\n",
        "model calls: 5, 130 ms, mean 26 ms, longest 60 ms\n",
        "Ask: 1, 70 ms, mean 70 ms, longest 70 ms\n",
        "Dig: 2, 5 ms, mean 2 ms, longest 5 ms\n",
    ];
    assert_eq!(timing.report().to_string(), expected.concat());

    watch(&mut tokens, &eventful());
    let report = tokens.report();
    let both = |usage: Usage| [usage.input_tokens, usage.output_tokens];
    assert_eq!((report.model_calls, report.cost), (5, 1.125));
    assert_eq!(both(report.all), [1057, 108]);
    assert_eq!(both(report.summaries), [900, 90]);
    assert_eq!(both(report.subagents), [7, 3]);
    assert_eq!((report.compactions, report.compacted_tokens), (1, 700));
}

const FAILURES: [&str; 5] = [
    "100 ms: Dig b failed: no ",
    "110 ms: Dig c skipped: b failed",
    "170 ms: reply 2 failed: busy now",
    "180 ms: retry 1 of reply 2, 2 left: busy",
    "220 ms: the run ended early: BudgetExceeded",
];

#[test]
fn errors_are_told_in_lines() {
    let mut lines = Vec::new();
    let mut errors = ErrorLogging::new(|failure: &Failure| lines.push(failure.to_string()));
    watch(&mut errors, &eventful());
    let mut within = end("sub model_call_end", 3, 0.0, [0, 0]);
    within["error"] = json!("down");
    let cancelled =
        json!({ "type": "run_finished", "reason": "cancelled", "iterations": 1, "totalCost": 0.0 });
    let failed = json!({ "type": "run_finished", "reason": "modelError", "iterations": 1, "totalCost": 0.0, "error": "down" });
    watch(&mut errors, &events(&[within, cancelled, failed]));
    drop(errors);
    let (first, rest) = lines.split_at(FAILURES.len());
    assert_eq!(first, FAILURES);
    assert_eq!(
        rest,
        [
            "0 ms: in a.0: reply 3 failed: down",
            "20 ms: the run ended early: ModelError: down"
        ]
    );
}

#[test]
fn monitoring_is_all_of_them() {
    let (mut monitoring, mut timing, mut tokens) = (
        Monitoring::default(),
        Timing::default(),
        TokenTracking::default(),
    );
    let mut tree = CostTree::default();
    let events = eventful();
    for event in &events {
        monitoring.event(event);
        timing.event(event);
        tokens.event(event);
        tree.apply(event);
    }
    assert_eq!(monitoring.timing(), timing.report());
    assert_eq!(monitoring.tokens(), tokens.report());
    assert_eq!(*monitoring.costs(), tree);
    let lines: Vec<String> = monitoring
        .failures()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines, FAILURES);
    let logged = logged(|| watch(&mut Monitoring::default(), &events));
    assert_eq!(logged, logged_by_logging(&events));

    // It does not grow without bound.
    for _ in 0..400 {
        watch(&mut monitoring, &events);
    }
    assert_eq!(
        (monitoring.failures().len(), monitoring.failed()),
        (1000, 401 * 5)
    );
}

/// Keeps what is logged, a line each: level, message, fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "gadgetry"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields(String, String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    write!(self.0, "{value:?}").unwrap();
                } else {
                    write!(self.1, " {}={value:?}", field.name()).unwrap();
                }
            }
        }
        let mut fields = Fields(String::new(), String::new());
        event.record(&mut fields);
        let Fields(message, fields) = fields;
        let line = format!("{} {message}:{fields}", event.metadata().level());
        self.0.lock().unwrap().push(line);
    }
}

fn logged(work: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), work);
    let logged = lines.0.lock().unwrap().clone();
    logged
}

fn logged_by_logging(events: &[Event]) -> Vec<String> {
    logged(|| watch(&mut Logging, events))
}

#[test]
fn every_event_is_logged_at_its_level() {
    assert_eq!(
        logged_by_logging(&eventful()),
        [
            "DEBUG the model is asked: depth=0 iteration=1 purpose=Reply",
            "DEBUG a gadget is called: depth=0 gadget=\"Ask\" id=\"a\" parameters={\"q\":\"x\"}",
            "DEBUG a gadget starts: depth=0 gadget=\"Ask\" id=\"a\"",
            "DEBUG the model is asked: depth=1 path=\"a.0\" iteration=1 purpose=Reply",
            "TRACE text: depth=0 text=\"Wait.\"",
            "TRACE text: depth=1 path=\"a.0\" text=\"Well\"",
            "INFO the model replied: depth=0 iteration=1 purpose=Reply stop_reason=Stop input=100 output=10 cost=0.25",
            "INFO the model replied: depth=1 path=\"a.0\" iteration=1 purpose=Reply stop_reason=Stop input=7 output=3 cost=0.125",
            "INFO the run is done: depth=1 path=\"a.0\" reason=Completed iterations=1 total_cost=0.125",
            "INFO a gadget is done: depth=0 gadget=\"Ask\" id=\"a\" duration_ms=70 cost=1.0 chars=3",
            "DEBUG its result: depth=0 id=\"a\" result=\"yes\"",
            "WARN a gadget failed: depth=0 gadget=\"Dig\" id=\"b\" duration_ms=5 cost=0.5 error=\"no\\u{7}\"",
            "WARN a call was skipped: depth=0 gadget=\"Dig\" id=\"c\" failed_dependency=\"b\" error=\"b failed\"",
            "DEBUG an iteration is done: depth=0 iteration=1",
            "DEBUG the model is asked: depth=0 iteration=2 purpose=Summary",
            "INFO the model replied: depth=0 iteration=2 purpose=Summary stop_reason=Stop input=900 output=90 cost=0.5",
            "INFO the conversation was compacted: depth=0 strategy=Summary removed_turns=3 before=1000 after=300",
            "DEBUG the model is asked: depth=0 iteration=2 purpose=Reply",
            "ERROR the model failed: depth=0 iteration=2 purpose=Reply input=0 output=0 cost=0.0 error=\"busy\\nnow\"",
            "WARN the model is asked again: depth=0 iteration=2 attempt=1 left=2 delay_ms=10 kind=Overloaded error=\"busy\"",
            "WARN a request waited for a rate limit: depth=0 delay_ms=5",
            "DEBUG the model is asked: depth=0 iteration=2 purpose=Reply",
            "INFO the model replied: depth=0 iteration=2 purpose=Reply stop_reason=Stop input=50 output=5 cost=0.25",
            "WARN the run ended early: depth=0 reason=BudgetExceeded iterations=2 total_cost=3.625",
        ]
    );
    let rest = events(&[
        json!({ "type": "reasoning", "text": "hm" }),
        json!({ "type": "gadget_call_start", "gadgetName": "Ask", "invocationId": "a", "dependencies": [] }),
        json!({ "type": "gadget_args_partial", "gadgetName": "Ask", "invocationId": "a", "fieldPath": "q", "delta": "x", "isFieldComplete": true }),
        json!({
            "type": "gadget_call", "gadgetName": "Ask", "invocationId": "a", "dependencies": [],
            "parametersRaw": "", "parseError": "gap", "terminatedBy": "endMarker", "span": { "start": 0, "end": 9 },
        }),
        json!({ "type": "gadget_progress", "gadgetName": "Ask", "invocationId": "a", "message": "half" }),
        json!({ "type": "human_input_required", "invocationId": "a", "question": "Sure?" }),
        json!({ "type": "human_input_received", "answered": true }),
        json!({ "type": "custom_block_start", "blockId": "block_1", "tag": "plan", "attrs": {} }),
        json!({ "type": "custom_block_delta", "blockId": "block_1", "tag": "plan", "delta": "go" }),
        json!({ "type": "custom_block_end", "blockId": "block_1", "tag": "plan", "reason": "closed" }),
        json!({ "type": "custom_block", "blockId": "block_1", "tag": "plan", "content": "go", "attrs": {} }),
        json!({ "type": "diagnostic", "code": "nearMiss", "message": "almost", "span": { "start": 0, "end": 9 } }),
        json!({ "type": "run_finished", "reason": "modelError", "iterations": 1, "totalCost": 0.0, "error": "down" }),
    ]);
    assert_eq!(
        logged_by_logging(&rest),
        [
            "TRACE reasoning: depth=0 text=\"hm\"",
            "TRACE a call begins: depth=0 gadget=\"Ask\" id=\"a\"",
            "TRACE an argument goes on: depth=0 id=\"a\" field=\"q\" delta=\"x\"",
            "WARN a call is malformed: depth=0 gadget=\"Ask\" id=\"a\" error=\"gap\"",
            "DEBUG a gadget goes on: depth=0 id=\"a\" progress=\"half\"",
            "INFO a person is asked: depth=0 id=\"a\" question=\"Sure?\"",
            "INFO the person was asked: depth=0 answered=true",
            "TRACE a custom block begins: depth=0 block_id=block_1 tag=\"plan\"",
            "TRACE a custom block goes on: depth=0 block_id=block_1 delta=\"go\"",
            "TRACE a custom block ends: depth=0 block_id=block_1 reason=Closed",
            "DEBUG a custom block: depth=0 block_id=block_1 tag=\"plan\" content=\"go\"",
            "WARN about the reply: depth=0 code=NearMiss note=\"almost\"",
            "ERROR the run failed: depth=0 reason=ModelError iterations=1 total_cost=0.0 error=\"down\"",
        ]
    );
}

/// All files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<(String, String)> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn check_files(folder: &Path, expected: &[(&str, &str)]) {
    let files = files(folder);
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(files, expected);
}

#[test]
fn requests_and_replies_are_files() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("deep").join("calls");
    let mut log = FileLogging::new(&folder);
    let picture = Content::Media(Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Base64("c2VjcmV0".to_owned()),
        name: None,
    });
    let mut question = Message::text(Role::User, "What is this?");
    question.content.push(picture);
    let request = Request {
        messages: Arc::new(vec![Message::text(Role::System, "Be brief.\n"), question]),
        trailing: vec![Message::text(Role::User, "Hurry.")],
        iteration: 1,
        ..Request::default()
    };
    let list = events(&[
        json!({ "type": "model_call_start", "iteration": 1 }),
        json!({ "type": "text", "text": "not this" }),
        json!({ "type": "sub model_call_start", "iteration": 1 }),
        json!({ "type": "sub text", "text": "Looking." }),
        json!({
            "type": "sub gadget_call", "gadgetName": "Ask", "invocationId": "b", "dependencies": [],
            "parametersRaw": "!!!ARG:q\nx", "parameters": {}, "terminatedBy": "endMarker", "span": { "start": 0, "end": 9 },
        }),
        end("sub model_call_end", 1, 0.125, [7, 3]),
        json!({ "type": "model_retry", "iteration": 1, "attempt": 1, "left": 2, "delayMs": 10, "kind": "overloaded", "error": "busy" }),
        end("model_call_end", 1, 0.25, [9, 4]),
        json!({ "type": "model_call_start", "iteration": 2, "purpose": "summary" }),
    ]);
    log.event(&list[0]);
    log.request(&request);
    log.input(Time(1), &Input::Delta(Delta::text("A ")));
    log.event(&list[1]);
    for event in &list[2..=6] {
        log.event(event);
    }
    // The retry has no start of its own.
    log.request(&request);
    log.input(Time(1), &Input::Delta(Delta::text("A \n")));
    log.input(Time(1), &Input::Delta(Delta::text("cat.\n")));
    log.event(&list[7]);
    log.event(&list[8]);
    log.input(Time(1), &Input::Delta(Delta::text("It")));
    log.finish().unwrap();

    let request = "reply 1\n\n--- system\nBe brief.\n\n--- user\nWhat is this?\n\n[image: unnamed (image/png)]\n\n--- user\nHurry.\n";
    let expected = [
        ("0001.request", request),
        ("0001.response", "A \n---\nfailed, retry 1 follows: busy\n"),
        (
            "0002.response",
            "Looking.\n[Ask b]\n!!!ARG:q\nx\n---\nsubagent a.0\nStop, 7 tokens in, 3 out, $0.125000\n",
        ),
        ("0003.request", request),
        (
            "0003.response",
            "A \ncat.\n---\nStop, 9 tokens in, 4 out, $0.250000\n",
        ),
        ("0004.response", "It\n---\nthe reply has not ended\n"),
    ];
    check_files(&folder, &expected);

    // Another run in the same folder goes on behind it.
    let mut log = FileLogging::new(&folder);
    log.event(&list[0]);
    log.event(&list[7]);
    log.finish().unwrap();
    assert_eq!(files(&folder)[6].0, "0005.response");
}

#[test]
fn a_folder_that_fails_is_told_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let start = events(&[json!({ "type": "model_call_start", "iteration": 1 })]);

    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let mut log = FileLogging::new(file.join("calls"));
    watch(&mut log, &start);
    log.request(&Request::default());
    let error = log.finish().unwrap_err();
    assert_eq!(error.path, file.join("calls"));
    assert!(error.to_string().starts_with("cannot write "), "{error}");

    // What somebody else wrote meanwhile stays as it is.
    let mut log = FileLogging::new(root.path());
    fs::write(root.path().join("0001.request"), "mine").unwrap();
    watch(&mut log, &start);
    log.request(&Request::default());
    let error = log.finish().unwrap_err();
    assert_eq!(error.path, root.path().join("0001.request"));
    let names: Vec<String> = files(root.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["0001.request", "file"]);
    assert_eq!(fs::read_to_string(&error.path).unwrap(), "mine");
}

/// Tells what it was told.
struct Echo<'a>(&'static str, &'a Mutex<Vec<String>>);

impl Echo<'_> {
    fn say(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl Observer for Echo<'_> {
    fn event(&mut self, event: &Event) {
        self.say(&format!("event {}", event.seq));
    }

    fn input(&mut self, time: Time, _: &Input) {
        self.say(&format!("input {}", time.0));
    }

    fn request(&mut self, request: &Request) {
        self.say(&format!("request {}", request.iteration));
    }
}

#[test]
fn merged_observers_are_all_told_in_order() {
    let told = Mutex::new(Vec::new());
    let events = events(&[json!({ "type": "iteration_end", "iteration": 1 })]);
    let shared = Shared::new(Echo("c", &told));
    let mut merged = merge(vec![
        Box::new(Echo("a", &told)),
        Box::new(Silent),
        Box::new(Merged::default()),
    ])
    .and(|event: &Event| Echo("b", &told).say(&format!("closure {}", event.seq)))
    .and(shared.clone());
    watch(&mut merged, &events);
    merged.input(Time(7), &Input::Tick);
    merged.request(&Request::default());
    shared.with(|echo| echo.0 = "d");
    watch(&mut merged, &events);
    drop(merged);
    assert_eq!(
        *told.lock().unwrap(),
        [
            "a event 0",
            "b closure 0",
            "c event 0",
            "a input 7",
            "c input 7",
            "a request 0",
            "c request 0",
            "a event 0",
            "b closure 0",
            "d event 0",
        ]
    );
}

#[test]
fn a_panic_of_one_goes_on_after_the_others_were_told() {
    let told = Mutex::new(Vec::new());
    let events = events(&[json!({ "type": "iteration_end", "iteration": 1 })]);
    let mut merged = merge(vec![
        Box::new(|_: &Event| panic!("first")),
        Box::new(Echo("a", &told)),
        Box::new(|_: &Event| panic!("second")),
        Box::new(Echo("b", &told)),
    ]);
    let panic = catch_unwind(AssertUnwindSafe(|| watch(&mut merged, &events))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"first"));
    drop(merged);
    assert_eq!(*told.lock().unwrap(), ["a event 0", "b event 0"]);
}

/// `Pay {}`: waits 20 ms, costs half a dollar. `Slow {}`: reports a quarter, and is too late after 50 ms.
fn toolbox() -> Toolbox {
    let spec = |name: &str, timeout_ms| GadgetSpec {
        name: name.to_owned(),
        timeout_ms,
        ..GadgetSpec::default()
    };
    let mut toolbox = Toolbox::default();
    let pay = from_fn(spec("Pay", None), |_, context| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        context.report_cost(0.5).unwrap();
        Outcome::ok("paid")
    });
    let slow = from_fn(spec("Slow", Some(50)), |_, context| async move {
        context.report_cost(0.25).unwrap();
        context.cancellation().cancelled().await;
        Outcome::ok("too late")
    });
    toolbox.add(pay).unwrap();
    toolbox.add(slow).unwrap();
    toolbox
}

async fn run(script: &str, observer: &mut dyn Observer) -> Ended {
    let model: ScriptedModel = script.parse().unwrap();
    let toolbox = toolbox();
    let spec = RunSpec {
        registry: Arc::new(toolbox.registry().clone()),
        price: Some(Price {
            input: 1e6 / 8.0,
            output: 1e6 / 4.0,
            ..Price::default()
        }),
        ..RunSpec::default()
    };
    let services = Services::new(Arc::new(model), toolbox);
    let (_commands, receiver) = mpsc::channel::<Command>(1);
    let run = Run::ask(spec, "Go").unwrap();
    drive(run, &services, receiver, observer).await
}

#[tokio::test(start_paused = true)]
async fn a_real_run_is_watched_by_all() {
    let script = [
        r#"{"text": "!!!GADGET_START:Pay:p\n!!!GADGET_END\n!!!GADGET_START:Slow:s\n!!!GADGET_END\n", "usage": {"inputTokens": 8, "outputTokens": 4}}"#,
        r#"{"chunks": ["All ", {"delayMs": 30}, "done."], "usage": {"inputTokens": 16, "outputTokens": 2}}"#,
    ];
    let folder = tempfile::tempdir().unwrap();
    let monitoring = Shared::new(Monitoring::default());
    let files = Shared::new(FileLogging::new(folder.path()));
    let (mut last, mut finished) = (0.0, 0);
    let progress = ProgressTracking::new(|progress: &Progress| {
        last = progress.total_cost;
        finished += u32::from(progress.finished);
    });
    let mut observers = merge(vec![
        Box::new(monitoring.clone()),
        Box::new(files.clone()),
        Box::new(progress),
    ]);
    let ended = run(&script.join("\n"), &mut observers).await;
    drop(observers);

    assert_eq!(ended.summary.reason, FinishReason::Completed);
    // Replies 2 + 2.5, Pay 0.5, and Slow's 0.25 although it was too late.
    assert_eq!(ended.summary.total_cost, 5.25);
    assert_eq!((last, finished), (5.25, 1));
    monitoring.with(|monitoring| {
        assert_eq!(monitoring.costs().total(), 5.25);
        assert_eq!(monitoring.tokens().all.input_tokens, 24);
        let timing = monitoring.timing();
        assert_eq!(timing.gadgets["Pay"].total_ms, 20);
        assert_eq!(timing.gadgets["Slow"].total_ms, 50);
        assert_eq!(timing.model_calls.longest_ms, 30);
        assert_eq!(timing.run_ms, Some(80));
        let failures: Vec<String> = monitoring
            .failures()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            failures,
            ["50 ms: Slow s failed: Gadget 'Slow' execution exceeded timeout of 50ms"]
        );
    });
    files.with(FileLogging::finish).unwrap();
    let reply = fs::read_to_string(folder.path().join("0002.response")).unwrap();
    assert_eq!(
        reply,
        "All done.\n---\nStop, 16 tokens in, 2 out, $2.500000\n"
    );
    let raw = fs::read_to_string(folder.path().join("0001.response")).unwrap();
    assert!(
        raw.starts_with("!!!GADGET_START:Pay:p\n!!!GADGET_END\n"),
        "{raw}"
    );
}
