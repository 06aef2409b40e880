//! The events of real runs fit the published schema, and the schema names nothing that no run emits.

use std::collections::BTreeSet;
use std::sync::Arc;

use gadgetry_proto::event::{
    Approval, ApprovalSubject, CompactionStrategy, EVENTS_SCHEMA, Event, RunInfo, SubjectKind,
};
use gadgetry_proto::id::{ApprovalId, CallId};
use gadgetry_proto::run::{Input, Output, Report, Run, RunOptions};
use gadgetry_proto::schema::OnInterrupt;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::run_rules::compaction::talkative;
use crate::run_rules::retries::{broken_behind, retrying};
use crate::support::sim::script::{Piece, Script, block, gadget};
use crate::support::sim::{Log, play, play_with_interruptions, random};

fn schema() -> Value {
    serde_json::from_str(EVENTS_SCHEMA).expect("the schema is JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("the schema is one")
}

/// An approval with everything that it may show.
fn approval() -> Report {
    let id = ApprovalId {
        call: CallId(0),
        shown: 9,
    };
    let mut approval = Approval::new(id, "Slow", json!({ "a": 1 }));
    let mut subject = ApprovalSubject::new(SubjectKind::Command, "make");
    subject.folder = Some("src".to_owned());
    approval.subject = Some(subject);
    approval.diff = Some("+a".to_owned());
    approval.notes = vec!["for a minute".to_owned()];
    approval.server = Some("weather".to_owned());
    Report::ApprovalRequired(Arc::new(approval))
}

/// The types that the schema has.
fn published() -> BTreeSet<String> {
    let schema = schema();
    let kinds = schema["oneOf"].as_array().expect("a list of types");
    let names = kinds
        .iter()
        .map(|kind| kind["properties"]["type"]["const"].as_str());
    let names: BTreeSet<String> = names.map(|name| name.expect("a name").to_owned()).collect();
    assert_eq!(names.len(), kinds.len(), "each type once");
    names
}

/// The first event of a run that has an identity.
fn run_start() -> Event {
    let info = RunInfo::new("order-7", "script");
    let options = RunOptions {
        info: Some(Arc::new(info)),
        ..RunOptions::default()
    };
    let plan = Script::default().plan().with(options);
    let Output::Event(event) = Run::ask(&Arc::new(plan), "Hi").poll() else {
        panic!("a run begins with an event");
    };
    event
}

#[test]
fn runs_emit_every_type_and_each_event_fits() {
    let (validator, published) = (validator(), published());
    let mut seen = BTreeSet::new();
    let mut with_path = 0;
    let mut check_all = |events: &mut dyn Iterator<Item = &Event>, which: &str| {
        for event in events {
            let json = serde_json::to_value(event).expect("events are JSON");
            if let Err(error) = validator.validate(&json) {
                panic!("{error}, in {json} of {which}");
            }
            let back: Event = serde_json::from_value(json.clone()).expect("an event");
            assert_eq!(serde_json::to_value(&back).expect("JSON"), json);
            with_path += u32::from(event.depth() > 0);
            seen.insert(json["type"].as_str().expect("a type").to_owned());
        }
    };
    let begins = run_start();
    check_all(&mut [&begins].into_iter(), "the beginning");
    let mut check = |log: &Log, which: &str| check_all(&mut log.events(), which);
    // What random runs do not do, or rarely.
    let long = talkative(12, CompactionStrategy::SlidingWindow);
    check(&play(&long), "the long run");
    let broken = broken_behind(vec![Piece::Text("So".to_owned())]);
    check(&play(&retrying().replies(broken)), "the broken reply");
    let progress = Input::Report(CallId(0), Report::Progress("half".to_owned()));
    let slow = Script::default()
        .gadget(gadget("Slow").takes(20))
        .reply(block("Slow:a", &[]))
        .input_at(1, progress)
        .input_at(1, Input::Report(CallId(0), approval()));
    check(&play(&slow), "the slow gadget");
    let reader = gadget("Slow")
        .takes(20)
        .with(|spec| spec.on_interrupt = OnInterrupt::Rerun);
    let script = Script::default().gadget(reader).reply(block("Slow:a", &[]));
    check(
        &play_with_interruptions(&script, &[3]),
        "the interrupted run",
    );
    for seed in 0..200 {
        check(&play(&random::script(seed, true)), &format!("seed {seed}"));
    }
    // Both ways: a type that is new in the code, and one that no run emits any more.
    assert_eq!(seen, published);
    assert!(with_path > 0, "no event of a subagent");
}

#[test]
fn invalid_events_do_not_match_the_schema() {
    let validator = validator();
    let event = json!({
        "v": 1, "seq": 0, "timeMs": 0, "path": [{ "call": 0, "invocationId": "a", "agent": 0 }],
        "type": "gadget_progress", "call": 0, "invocationId": "x", "gadgetName": "X", "message": "half",
    });
    assert!(validator.is_valid(&event), "{event}");
    let check = |pointer: &str, value: Option<Value>| {
        let mut event = event.clone();
        let (above, name) = pointer.rsplit_once('/').expect("a pointer");
        let above = event.pointer_mut(above).and_then(Value::as_object_mut);
        let fields = above.expect("an object");
        match value {
            Some(value) => _ = fields.insert(name.to_owned(), value),
            None => assert!(fields.remove(name).is_some(), "{pointer}"),
        }
        assert!(!validator.is_valid(&event), "{event}");
    };
    check("/v", Some(json!(2)));
    for field in [
        "/v",
        "/seq",
        "/timeMs",
        "/type",
        "/call",
        "/message",
        "/path/0/call",
    ] {
        check(field, None);
    }
    check("/type", Some(json!("gadget_dance")));
    check("/call", Some(json!("0")));
    check("/call", Some(json!(-1)));
    check("/surprise", Some(json!(1)));
}

#[test]
fn the_documentation_has_the_same_schema() {
    assert_eq!(
        include_str!("../../../docs/events.schema.json"),
        EVENTS_SCHEMA
    );
}
