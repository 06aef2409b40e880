//! Snapshots: a value is written once, and another version is a clear error.

use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::run::{
    Asks, Close, Input, LoadError, Output, Plan, Run, RunConfig, Snapshot, Tools,
};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::time::Time;
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
