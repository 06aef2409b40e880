//! Calls through the provider's own interface are calls like any other.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::message::Content;
use gadgetry_proto::run::Tools;
use serde_json::{Value, json};

use crate::sim::play;
use crate::sim::script::{Behaviour, Finish, Piece, Reply, Script, gadget};
use crate::sim::transcript::check;

fn native(gadgets: impl IntoIterator<Item = Behaviour>) -> Script {
    gadgets
        .into_iter()
        .fold(Script::default(), Script::gadget)
        .with(|spec| spec.tools = Tools::Native)
}

fn deltas(deltas: impl IntoIterator<Item = Delta>) -> Reply {
    Reply::stop(deltas.into_iter().map(Piece::Delta).collect())
}

fn start(id: &str, name: &str) -> Delta {
    Delta::ToolCallStart {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

fn more(id: &str, json: &str) -> Delta {
    Delta::ToolCallDelta {
        id: id.to_owned(),
        delta: json.to_owned(),
    }
}

fn end(id: &str) -> Delta {
    Delta::ToolCallEnd {
        id: id.to_owned(),
        input: None,
    }
}

fn whole(id: &str, name: &str, input: Value) -> Delta {
    Delta::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
    }
}

fn echo() -> Behaviour {
    gadget("Echo")
        .takes_parameters(
            &json!({ "text": { "type": "string" }, "n": { "type": "integer", "default": 4 } }),
        )
        .answers(|start| start.parameters.to_string())
}

#[test]
fn calls_run_as_they_come_and_are_answered_in_order() {
    let reply = deltas([
        Delta::text("Two."),
        start("a", "Echo"),
        more("a", "{\"text\":"),
        start("b", "echo"),
        more("b", "{\"text\":\"y\",\"n\":1}"),
        end("b"),
        more("a", "\"x\"}"),
        end("a"),
        whole("c", "Echo", json!({ "text": "z" })),
    ]);
    check(
        &native([echo()]).replies(reply),
        &[
            "0 ask 1",
            "0 text Two.",
            "0 call b echo",
            "0 start b {\"text\":\"y\",\"n\":1}",
            "0 call a Echo",
            "0 start a {\"text\":\"x\",\"n\":4}",
            "0 call c Echo",
            "0 start c {\"text\":\"z\",\"n\":4}",
            "0 ok b: {\"text\":\"y\",\"n\":1}",
            "0 ok a: {\"text\":\"x\",\"n\":4}",
            "0 ok c: {\"text\":\"z\",\"n\":4}",
            "  told Result (b): {\"text\":\"y\",\"n\":1}",
            "  told Result (a): {\"text\":\"x\",\"n\":4}",
            "  told Result (c): {\"text\":\"z\",\"n\":4}",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn what_cannot_run_is_answered() {
    let reply = deltas([
        whole("a", "Ecko", json!({})),
        whole("b", "Echo", json!({ "n": "many" })),
        start("c", "Echo"),
        more("c", "{\"text\": oops"),
        end("c"),
    ]);
    let log = play(&native([echo()]).replies(reply));
    let told: Vec<String> = log
        .told()
        .iter()
        .map(|(id, text)| format!("{id}: {text}"))
        .collect();
    assert!(
        told[0].contains("a: Error: Gadget 'Ecko' not found. Did you mean 'Echo'?"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("b: Error: Invalid parameters for 'Echo':"),
        "{told:?}"
    );
    assert!(
        told[2].ends_with("The input is not a JSON object"),
        "{told:?}"
    );
}

/// A call that the end of the reply has ended is whole only if the model stopped by itself.
#[test]
fn a_call_that_was_cut_off_does_not_run() {
    for (finish, runs) in [
        (Finish::Stop, true),
        (Finish::Length, false),
        (Finish::Filter, false),
        (Finish::Disconnect, false),
        (Finish::Reason(StopReason::Unspecified), false),
        (Finish::Reason(StopReason::Other("abort".to_owned())), false),
        (Finish::Reason(StopReason::ToolUse), true),
    ] {
        for arguments in ["{\"n\":1}", ""] {
            let echo = echo().with(|spec| spec.parameters["required"] = json!([]));
            let reply = deltas([start("a", "Echo"), more("a", arguments)]);
            let finish = finish.clone();
            let log = play(&native([echo]).replies(Reply { finish, ..reply }));
            let [(id, text)] = log.told()[..] else {
                panic!("one answer");
            };
            assert_eq!(id, "a");
            assert_eq!(text.starts_with("{\"n\""), runs, "{text}");
        }
    }
}

/// Without the mode they are kept in the message, and nothing else comes of them; with it, the prompt has no catalog.
#[test]
fn only_where_they_are_wanted() {
    let reply = || {
        deltas([
            whole("a", "Echo", json!({ "text": "x" })),
            Delta::MessageEnd {
                stop_reason: StopReason::ToolUse,
                usage: None,
            },
        ])
    };
    let script = native([echo()]).replies(reply());
    let with = play(&script);
    let without = play(&script.with(|spec| spec.tools = Tools::Text));
    assert!(without.told().is_empty());
    assert_eq!(with.told().len(), 1);
    let system = |log: &crate::sim::Log| format!("{:?}", log.history[0].content);
    assert!(system(&without).contains("GADGET_START"));
    assert!(!system(&with).contains("GADGET_START"));
    let uses = with.history.iter().flat_map(|message| &message.content);
    let uses = uses.filter(|content| matches!(content, Content::ToolUse { .. }));
    assert_eq!(uses.count(), 1);
}
