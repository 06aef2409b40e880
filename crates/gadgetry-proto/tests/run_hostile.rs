//! What a model might do to a run on purpose, or by bad luck: it costs little, and the run goes on.

use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::{CallAnswer, EventKind};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::StopEarly;
use gadgetry_proto::run::{Close, Input, Output, Plan, Run, RunConfig, Start};
use gadgetry_proto::schema::{GadgetSpec, Registry, Schema};
use gadgetry_proto::time::Time;
use serde_json::{Value, json};

/// Any parameters; `deep` is an array.
fn echo() -> Registry {
    let echo = GadgetSpec {
        name: "Echo".to_owned(),
        parameters: json!({ "type": "object", "properties": { "deep": { "type": "array" } } }),
        ..GadgetSpec::default()
    };
    Registry::new([echo]).expect("the name is one")
}

fn plan(limits: Limits) -> Arc<Plan> {
    let config = RunConfig {
        // Replies of these tests repeat themselves, because only their size matters.
        stop_early: StopEarly::NEVER,
        limits,
        ..RunConfig::default()
    };
    config.plan(echo()).expect("no tags")
}

/// Plays one reply in which every call that starts gives `result`. Gives what was started, and every answer.
fn play(limits: Limits, reply: &str, result: &str) -> (Vec<Start>, Vec<String>) {
    play_plan(&plan(limits), reply, result)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only answers matter")]
fn play_plan(plan: &Arc<Plan>, reply: &str, result: &str) -> (Vec<Start>, Vec<String>) {
    let mut run = Run::ask(plan, "go");
    let (mut started, mut answers) = (Vec::new(), Vec::new());
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    };
    let mut inputs = vec![
        Input::ModelClosed(Close::Ended),
        Input::Delta(end),
        Input::Delta(Delta::text(reply)),
    ];
    loop {
        match run.poll() {
            Output::Start(start) => {
                inputs.push(Input::Done(start.id, Outcome::ok(result)));
                started.push(start);
            }
            Output::Event(event) => match event.kind {
                EventKind::GadgetResult {
                    answer: CallAnswer::Error(text),
                    ..
                }
                | EventKind::GadgetSkipped { error: text, .. } => answers.push(text),
                EventKind::IterationEnd { .. } => return (started, answers),
                _ => {}
            },
            Output::Wait(_) => {
                let input = inputs
                    .pop()
                    .expect("the reply ends, and so does the iteration");
                run.handle(Time(0), input).expect("inputs make sense");
            }
            _ => {}
        }
    }
}

fn two_calls(parameters: &str) -> String {
    format!(
        "!!!GADGET_START:Echo:a/b\n!!!GADGET_END\n!!!GADGET_START:Echo:c:a/b\n{parameters}!!!GADGET_END\n"
    )
}

#[test]
fn references_have_room_for_one_block() {
    let mut parameters = String::new();
    for index in 0..1000 {
        let _ = write!(parameters, "!!!ARG:x/{index}\n${{a/b}}\n");
    }
    let (_, answers) = play(
        Limits::default(),
        &two_calls(&parameters),
        &"x".repeat(1 << 20),
    );
    assert_eq!(
        answers,
        [
            "Error: Limit exceeded: the results in the parameters of a reply may have at most 33554432 bytes"
        ]
    );
}

#[test]
fn references_cannot_pass_the_depth() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let (_, answers) = play(
        Limits::default(),
        &two_calls("!!!ARG:deep\n${a/b}\n"),
        &deep,
    );
    assert_eq!(
        answers,
        ["Error: Limit exceeded: a parameter may have at most 64 levels of nesting"]
    );
}

#[test]
fn an_id_may_hold_a_slash() {
    let reply = two_calls("!!!ARG:whole\n${a/b}\n!!!ARG:part\n${a/b/n/0}\n");
    let (started, answers) = play(Limits::default(), &reply, r#"{"n":[7]}"#);
    assert_eq!(answers, Vec::<String>::new());
    assert_eq!(
        *started[1].parameters,
        json!({ "whole": r#"{"n":[7]}"#, "part": 7 })
    );
}

/// What is wrong with a value of a union that holds itself is not looked for in each of its 2^60 ways.
#[test]
fn a_union_that_holds_itself() {
    let leaf = json!({ "type": "object", "properties": { "eq": { "type": "integer" } }, "required": ["eq"] });
    let node = |op: &str| {
        let child = json!({ "$ref": "#/$defs/n" });
        json!({
            "type": "object",
            "properties": { "op": { "const": op }, "left": child, "right": child },
            "required": ["op", "left"],
        })
    };
    let schema = Schema::new(json!({
        "type": "object",
        "properties": { "n": { "$ref": "#/$defs/n" } },
        "$defs": { "n": { "anyOf": [node("and"), node("or"), leaf] } },
    }))
    .expect("a schema");
    let nested = |leaf: Value| (0..60).fold(leaf, |left, _| json!({ "op": "and", "left": left }));
    assert_eq!(
        schema.validate(&json!({ "n": nested(json!({ "eq": 1 })) })),
        []
    );
    let problems = schema.validate(&json!({ "n": nested(json!({ "eq": "one" })) }));
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["root: does not fit, and is nested too deeply to say where"]
    );
}

/// Calls that end without a gadget end one after the other, however many come to their turn at once.
#[test]
fn thousands_of_calls_that_fail_at_once() {
    let (calls, mut reply) = (5_000, two_calls(""));
    for _ in 0..calls {
        reply += "!!!GADGET_START:Echo::a/b\n!!!ARG:x\n${a/b/nothing}\n!!!GADGET_END\n";
    }
    let (started, answers) = play(Limits::default(), &reply, "{}");
    assert_eq!((started.len(), answers.len()), (2, calls));
}

#[test]
fn thousands_of_views_at_once() {
    let limited = RunConfig {
        stop_early: StopEarly::NEVER,
        output_limit: Some(100),
        ..RunConfig::default()
    };
    let plan = limited.plan(echo()).expect("no tags");
    let (calls, mut reply) = (5_000, two_calls(""));
    for _ in 0..calls {
        reply += "!!!GADGET_START:GadgetOutputViewer::a/b\n!!!ARG:id\nx\n!!!GADGET_END\n";
    }
    let (started, answers) = play_plan(&plan, &reply, "{}");
    assert_eq!((started.len(), answers.len()), (2, calls));
}
