//! Snapshots: a value is written once, and another version is a clear error.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::run::{
    Asks, Close, Input, LoadError, Output, Plan, Run, RunConfig, Snapshot, Tools,
};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::time::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

/// Text of about 1 MiB, in lines.
fn value() -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= MIB {
            break;
        }
        writeln!(text, "line {line} of a long file").expect("a text takes more text");
    }
    text
}

fn plan(tools: Tools, asks: Asks) -> Arc<Plan> {
    let write = GadgetSpec {
        name: "Write".to_owned(),
        parameters: json!({ "type": "object", "properties": { "text": { "type": "string" } } }),
        ..GadgetSpec::default()
    };
    let config = RunConfig {
        tools,
        asks,
        ..RunConfig::default()
    };
    let registry = Registry::new([write]).expect("it is a gadget");
    config.plan(registry).expect("there are no tags")
}

/// A run without gadgets.
fn simple(prompt: &str) -> (Arc<Plan>, Run) {
    let plan = RunConfig::default().plan(Registry::default());
    let plan = plan.expect("there are no tags");
    let run = Run::ask(&plan, prompt);
    (plan, run)
}

fn drain(run: &mut Run) {
    while !matches!(run.poll(), Output::Wait(_) | Output::Finished(_)) {}
}

/// Plays a call of about 1 MiB, and compares the size of the snapshot while its gadget runs or is held: in the reply, and
/// after it. A loaded snapshot is the same one.
fn check(tools: Tools, asks: Asks, call: Delta) {
    let case = format!("{tools:?} {asks:?}");
    let mut run = Run::ask(&plan(tools, asks), "Go");
    drain(&mut run);
    let stop = Delta::MessageEnd {
        stop_reason: StopReason::ToolUse,
        usage: None,
    };
    let inputs = [
        Input::Delta(call),
        Input::Delta(Delta::text("Written.")),
        Input::Delta(stop),
        Input::ModelClosed(Close::Ended),
    ];
    for input in inputs {
        let step = format!("{case}, after {input:.40?}");
        run.handle(Time(1), input).expect("a reply is read");
        drain(&mut run);
        let pending = run.pending();
        assert_eq!(pending.gadgets.len() + pending.questions.len(), 1, "{step}");
        let saved = run.save();
        let json = serde_json::to_string(&saved).expect("a snapshot is JSON");
        assert!(
            (MIB..MIB * 8 / 5).contains(&json.len()),
            "{step}: {} bytes",
            json.len()
        );
        let loaded: Snapshot = serde_json::from_str(&json).expect("its own JSON");
        assert_eq!(loaded, saved, "{step}");
    }
}

#[test]
fn a_value_is_written_once() {
    let text = value();
    let block = format!("!!!GADGET_START:Write:w\n!!!ARG:text\n{text}!!!GADGET_END\n");
    let held = Asks {
        before_gadget: true,
        ..Asks::default()
    };
    for asks in [Asks::default(), held] {
        check(Tools::Text, asks, Delta::text(block.clone()));
        let call = Delta::ToolCall {
            id: "w".to_owned(),
            name: "Write".to_owned(),
            input: json!({ "text": text.replace('\n', " ") }),
        };
        check(Tools::Native, asks, call);
    }
}

#[test]
fn a_snapshot_of_another_version_is_not_read() {
    let (plan, run) = simple("Go");
    let mut json = serde_json::to_value(run.save()).expect("a snapshot is JSON");
    let expected = json["version"].as_u64().expect("it has a version");
    json["version"] = json!(expected + 1);
    json["run"] = json!("in some other form");
    let other: Snapshot = serde_json::from_value(json.clone()).expect("it has a version");
    assert_eq!(serde_json::to_value(&other).expect("it is kept"), json);
    let error = Run::load(&plan, other).expect_err("it is newer");
    assert!(
        matches!(error, LoadError::Version { found, expected } if found == expected + 1),
        "{error:?}"
    );
    let words = error.to_string();
    assert!(words.contains("load it with the version"), "{words}");
}

#[test]
fn a_damaged_snapshot_is_not_read() {
    let (_, run) = simple(&"Go on. ".repeat(100));
    let json = serde_json::to_value(run.save()).expect("a snapshot is JSON");
    let changes: [fn(&mut Value); 4] = [
        |json| json["texts"] = json!([]),
        |json| json["texts"] = Value::Null,
        |json| json["run"]["state"] = Value::Null,
        |json| drop(json.as_object_mut().and_then(|all| all.remove("version"))),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut damaged = json.clone();
        change(&mut damaged);
        let read: Result<Snapshot, _> = serde_json::from_value(damaged);
        assert!(read.is_err(), "change {number}");
    }
}

/// `{"a": {"a": … 1}}` with so many objects.
fn nested(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

/// Every input, every event and the state of a run whose model nests values so deep can be written and read.
fn check_depth(levels: usize, limit: usize, tools: Tools, call: Delta) {
    let call_text = format!("{call:?}");
    let case = format!("{levels} levels, {limit} allowed, {call_text:.60}");
    let spec = GadgetSpec {
        name: "Write".to_owned(),
        ..GadgetSpec::default()
    };
    let mut config = RunConfig {
        tools,
        ..RunConfig::default()
    };
    config.limits.depth = limit;
    let registry = Registry::new([spec]).expect("it is a gadget");
    let mut run = Run::ask(&config.plan(registry).expect("there are no tags"), "Go");
    drain(&mut run);
    let stop = Delta::MessageEnd {
        stop_reason: StopReason::ToolUse,
        usage: None,
    };
    let inputs = [
        Input::Delta(call.bounded()),
        Input::Delta(stop),
        Input::ModelClosed(Close::Ended),
    ];
    for input in inputs {
        check_json(&input, &case);
        run.handle(Time(1), input).expect("a reply is read");
        loop {
            match run.poll() {
                Output::Event(event) => check_json(&event, &case),
                Output::Wait(_) | Output::Finished(_) => break,
                Output::Send(_)
                | Output::CloseModel
                | Output::Start(_)
                | Output::Cancel(_)
                | Output::Ask(_) => {}
            }
        }
        check_json(&run.save(), &case);
    }
}

fn check_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, case: &str) {
    let json = serde_json::to_string(value).expect("it is JSON");
    let read: T = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(read, *value, "{case}");
}

#[test]
fn what_a_model_nests_can_be_read_back() {
    let levels = [1, 32, 33, 62, 63, 64, 65, 99, 100, 101, 126, 127, 500];
    for (levels, limit) in levels
        .into_iter()
        .flat_map(|it| [(it, 64), (it, usize::MAX)])
    {
        let value = nested(levels);
        let pointer = vec!["a"; levels].join("/");
        let body = |lines: &str| format!("!!!GADGET_START:Write:w\n{lines}\n!!!GADGET_END\n");
        for lines in [
            format!("!!!ARG:a\n{value}"),
            format!("!!!ARG:{pointer}\n{value}"),
            format!("!!!ARG:{pointer}\n1"),
            value.clone(),
        ] {
            check_depth(levels, limit, Tools::Text, Delta::text(body(&lines)));
        }
        let (id, name) = ("w".to_owned(), "Write".to_owned());
        // What a model of the user's program has made of it may be deeper than `serde_json` reads.
        let mut input = json!(1);
        for _ in 0..levels {
            input = json!({ "a": input });
        }
        let call = Delta::ToolCall { id, name, input };
        check_depth(levels, limit, Tools::Native, call);
    }
}
