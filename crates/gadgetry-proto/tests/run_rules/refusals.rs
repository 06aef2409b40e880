//! What the model reads when a call was written wrongly, and when it ran although something about it was wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gadgetry_proto::block::Markers;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::run::{Run, Tools};
use gadgetry_proto::transform::{DeltaTransform, compose};
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

fn cook() -> Behaviour {
    let parameters = json!({
        "dish": { "type": "string", "description": "What to cook" },
        "size": { "type": "integer" },
        "tags": { "type": "array", "items": { "type": "string" } },
        "mode": { "enum": ["fast", "slow"] },
    });
    gadget("Cook")
        .takes_parameters(&parameters)
        .with(|spec| "Cooks a dish".clone_into(&mut spec.description))
        .answers(|start| start.parameters.to_string())
}

/// What the model reads of one call.
fn told(script: &Script) -> String {
    let log = play(script);
    let told = log.told();
    assert_eq!(told.len(), 1);
    told[0].1.to_owned()
}

const USAGE: &str = "\n\nGadget Usage:\nCooks a dish\nParameters:\n- dish (string; required): What to cook\n\
    - size (integer; optional)\n- tags (array of string; optional)\n- mode (one of fast | slow; optional)";

#[test]
fn a_refusal_carries_the_usage_and_the_format_with_the_markers_of_the_run() {
    const FORMAT: &str = "\n\nBlock Format Reference:\n    !!!GADGET_START:Cook:id\n    !!!ARG:dish\n    value\n    \
        !!!GADGET_END";
    for (arguments, error) in [
        (
            &[("size", "2")][..],
            "Error: Invalid parameters for 'Cook':\n  - dish: expected string, but it is missing",
        ),
        (
            &[("dish", "a"), ("dish", "b")],
            "Error: Failed to parse parameters for 'Cook':\n  Duplicate pointer: dish. The call could not become valid, so the reply was ended there, and nothing that \
             followed was read.",
        ),
        (
            &[("/dish", "a")],
            "Error: Failed to parse parameters for 'Cook':\n  Malformed argument line: !!!ARG:/dish. A name has no \
             leading slash; write !!!ARG:dish",
        ),
        (
            &[("dish", "a"), ("tags", "[1 2]")],
            "Error: Failed to parse parameters for 'Cook':\n  The JSON value of tags cannot be read: line 1, column 4: \
             expected `,` or `]`, got `2`",
        ),
    ] {
        let script = Script::default().gadget(cook());
        let script = script.reply(block("Cook:a", arguments));
        assert_eq!(told(&script), format!("{error}{USAGE}{FORMAT}"));
    }
    let markers = Markers::new("<<<", ">>>", "@@@").expect("good markers");
    let script = Script::default()
        .gadget(cook())
        .with(|spec| spec.markers = markers)
        .reply("<<<Cook:a\n{\"dish\": \"x\",, }\n>>>");
    let expected = format!(
        "Error: Failed to parse parameters for 'Cook':\n  The JSON body cannot be read: line 1, column 14: expected a key \
         in quotes, got `,`{USAGE}\n\nBlock Format Reference:\n    <<<Cook:id\n    @@@dish\n    value\n    >>>"
    );
    assert_eq!(told(&script), expected);
}

#[test]
fn usage_text_is_bounded_and_only_for_invalid_calls() {
    let long = cook().with(|spec| spec.description = "long ".repeat(10_000));
    let script = Script::default().gadget(long).reply(block("Cook:a", &[]));
    assert!(told(&script).len() < 3_000);
    let fails = Script::default().gadget(cook().fails("the oven is cold"));
    let fails = fails.reply(block("Cook:a", &[("dish", "pie")]));
    assert_eq!(told(&fails), "the oven is cold");
}

#[test]
fn undeclared_arguments_are_noted_after_success() {
    let script = Script::default().gadget(cook()).reply(
        block("Cook:a", &[("dish", "pie"), ("modee", "fast")])
            + &block("Cook:b", &[("dish", "pie"), ("!!GADGET_END", "1")])
            + &block("Cook:c", &[("modee", "fast")]),
    );
    let lines = lines(&play(&script));
    let notes: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("Note: "))
        .collect();
    assert_eq!(
        notes[notes.len() - 2..],
        [
            "  told Note: Cook (a): modee: there is no such parameter; did you mean 'mode'?",
            "  told Note: Cook (b): !!GADGET_END: there is no such parameter",
        ]
    );
}

#[test]
fn slips_with_one_reading_run_with_a_diagnostic() {
    let arguments = [
        ("dish", "pie"),
        ("size", "3\n"),
        ("tags", "['a', 'b',]"),
        ("mode", "\"fast\"\n"),
    ];
    check(
        &Script::default().gadget(cook()).reply(
            block("Cook:a", &arguments)
                + "!!!GADGET_START:Cook:b\n{'dish': 1.10, 'tags': 'x'}\n!!!GADGET_END",
        ),
        &[
            "0 ask 1",
            "0 note lenientValue",
            "0 call a Cook",
            r#"0 start a {"dish":"pie","size":3,"tags":["a","b"],"mode":"fast"}"#,
            "0 note jsonBody",
            "0 note lenientValue",
            "0 call b Cook",
            r#"0 start b {"dish":"1.10","tags":["x"]}"#,
            r#"0 ok a: {"dish":"pie","size":3,"tags":["a","b"],"mode":"fast"}"#,
            r#"0 ok b: {"dish":"1.10","tags":["x"]}"#,
            r#"  told Result (a): {"dish":"pie","size":3,"tags":["a","b"],"mode":"fast"}"#,
            r#"  told Result (b): {"dish":"1.10","tags":["x"]}"#,
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn native_calls_are_read_like_json_bodies() {
    let input = json!({ "dish": 7, "size": "3", "tags": "x", "mode": "fast\n" });
    let call = Delta::ToolCall {
        id: "a".to_owned(),
        name: "Cook".to_owned(),
        input,
    };
    let script = Script::default()
        .gadget(cook())
        .with(|spec| spec.tools = Tools::Native)
        .replies(crate::support::sim::script::Reply::stop(vec![
            crate::support::sim::script::Piece::Delta(call),
        ]));
    assert_eq!(
        told(&script),
        r#"{"dish":"7","size":3,"tags":["x"],"mode":"fast"}"#
    );
}

#[test]
fn a_timeout_of_zero_is_no_timeout() {
    let slow = || cook().takes(50).with(|spec| spec.timeout_ms = Some(0));
    for default in [None, Some(0), Some(10)] {
        let script = Script::default()
            .gadget(slow())
            .with(|spec| spec.default_timeout_ms = default)
            .reply(block("Cook:a", &[("dish", "pie")]));
        assert_eq!(told(&script), r#"{"dish":"pie"}"#);
    }
    let script = Script::default()
        .gadget(cook().takes(50))
        .with(|spec| spec.default_timeout_ms = Some(0))
        .reply(block("Cook:a", &[("dish", "pie")]));
    assert_eq!(told(&script), r#"{"dish":"pie"}"#);
}

#[test]
fn each_reply_has_one_instance_of_a_transform() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let script = Script::default()
        .gadget(cook())
        .with_code(move |code| {
            code.transforms.push(Arc::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                Box::new(compose(Vec::new())) as Box<dyn DeltaTransform>
            }));
        })
        .reply(block("Cook:a", &[("dish", "pie")]));
    let run = Run::new(&script.plan(), script.conversation.clone());
    drop(run);
    assert_eq!(made.load(Ordering::Relaxed), 0, "no reply yet");
    let _ = play(&script);
    assert_eq!(made.load(Ordering::Relaxed), 2, "replies");
}
