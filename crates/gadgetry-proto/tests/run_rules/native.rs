//! Calls through the provider's own interface are calls like any other.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::event::FinishReason;
use gadgetry_proto::message::Content;
use gadgetry_proto::run::Tools;
use serde_json::{Value, json};

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Finish, Piece, Reply, Script, gadget};
use crate::support::sim::transcript::check;

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
fn calls_that_cannot_run_are_answered() {
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
        told[2].ends_with("line 1, column 10: expected a value, got `oops`"),
        "{told:?}"
    );
}

/// The parameters are read as those of a block are.
#[test]
fn inputs_are_read_leniently() {
    for (json, expected) in [
        (
            r#"{"text":"x","n":"7"}"#,
            Ok(json!({ "text": "x", "n": 7 })),
        ),
        (
            r#""{\"text\":\"x\",\"n\":1}""#,
            Ok(json!({ "text": "x", "n": 1 })),
        ),
        (r#"{"text":"x","n":1,}"#, Ok(json!({ "text": "x", "n": 1 }))),
        (r"{'text':'x','n':1}", Ok(json!({ "text": "x", "n": 1 }))),
        (
            r#"{"text":"a\ud800b","n":1}"#,
            Ok(json!({ "text": "a\u{FFFD}b", "n": 1 })),
        ),
        (
            r#"{"text":123456789012345678901234567890,"n":1}"#,
            Ok(json!({ "text": "123456789012345678901234567890", "n": 1 })),
        ),
        (r#"{"text":"x","n":"many"}"#, Err("Invalid parameters")),
        ("7", Err("not a JSON object")),
        ("null", Err("not a JSON object")),
        ("[1]", Err("not a JSON object")),
        (r#"{"text":"x""#, Err("Failed to parse")),
    ] {
        let reply = deltas([start("a", "Echo"), more("a", json), end("a")]);
        let log = play(&native([echo()]).replies(reply));
        let [(_, told)] = log.told()[..] else {
            panic!("one answer");
        };
        match expected {
            Ok(parameters) => assert_eq!(told, parameters.to_string(), "{json}"),
            Err(words) => assert!(told.contains(words), "{json}: {told}"),
        }
    }
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

/// Servers make calls of what a model writes in its own way, whether they were given tools or not.
#[test]
fn a_native_call_counts_in_every_mode() {
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
    assert_eq!(without.told(), with.told());
    assert_eq!(with.told().len(), 1);
    let told = |log: &crate::support::sim::Log| log.diagnostics(DiagnosticCode::NativeCall);
    assert_eq!((told(&with), told(&without)), (0, 1));
    // What goes back is text that any server takes.
    let raw = without
        .history
        .iter()
        .find_map(|message| message.raw.as_deref());
    let block = "!!!GADGET_START:Echo:a\n!!!ARG:text\nx\n!!!GADGET_END\n";
    assert_eq!(raw, Some(block));
    let system = |log: &crate::support::sim::Log| format!("{:?}", log.history[0].content);
    assert!(system(&without).contains("GADGET_START"));
    assert!(!system(&with).contains("GADGET_START"));
    let uses = with.history.iter().flat_map(|message| &message.content);
    let uses = uses.filter(|content| matches!(content, Content::ToolUse { .. }));
    assert_eq!(uses.count(), 1);
}

/// Calls in text mode: answered, cut, and written behind what the model wrote.
#[test]
fn native_calls_while_the_model_writes_blocks() {
    let text = |deltas: Vec<Delta>, finish| {
        let script = Script::default().gadget(echo());
        play(&script.replies(Reply {
            finish,
            ..self::deltas(deltas)
        }))
    };
    let block = crate::support::sim::script::block("Echo:b", &[("text", "y")]);
    for (deltas, finish, told, raw) in [
        (
            vec![
                Delta::text("Well."),
                whole("a", "Echo", json!({ "text": "x" })),
            ],
            Finish::Stop,
            vec![("a", "{\"text\":\"x\"")],
            "Well.\n!!!GADGET_START:Echo:a\n!!!ARG:text\nx\n!!!GADGET_END\n".to_owned(),
        ),
        (
            vec![whole("a", "Ecko", json!({}))],
            Finish::Stop,
            vec![("a", "Error: Gadget 'Ecko' not found")],
            "!!!GADGET_START:Ecko:a\n!!!GADGET_END\n".to_owned(),
        ),
        (
            vec![start("a", "Echo"), more("a", "{\"text\":\"x")],
            Finish::Length,
            vec![("a", "Error: The call was not executed")],
            "!!!GADGET_START:Echo:a\n\"{\\\"text\\\":\\\"x\"\n!!!GADGET_END".to_owned(),
        ),
        (
            vec![
                Delta::text(&block),
                whole("a", "Echo", json!({ "text": "x" })),
            ],
            Finish::Stop,
            vec![("b", "{\"text\":\"y\""), ("a", "{\"text\":\"x\"")],
            format!("{block}!!!GADGET_START:Echo:a\n!!!ARG:text\nx\n!!!GADGET_END\n"),
        ),
    ] {
        let log = text(deltas, finish);
        let answers = log.told();
        assert_eq!(answers.len(), told.len(), "{answers:?}");
        for ((id, text), (expected, begins)) in answers.iter().zip(told) {
            assert!(*id == expected && text.starts_with(begins), "{id}: {text}");
        }
        let reply = &log.history[log.opening.len()];
        assert_eq!(reply.raw.as_deref(), Some(raw.as_str()));
    }
}

/// A block is a call only where blocks are.
#[test]
fn blocks_in_native_mode_are_text() {
    let block = crate::support::sim::script::block("Echo:b", &[("text", "y")]);
    for (tools, runs) in [
        (Tools::Text, true),
        (Tools::Native, false),
        (Tools::Both, true),
    ] {
        let script = native([echo()]).with(|spec| spec.tools = tools);
        let log = play(&script.reply(format!("Look:\n{block}")));
        assert_eq!(log.told().len(), usize::from(runs), "{tools:?}");
        assert_eq!(
            log.summary.answer.contains("GADGET_START"),
            !runs,
            "{tools:?}"
        );
        let system = format!("{:?}", log.history[0].content);
        assert_eq!(system.contains("GADGET_START"), runs, "{tools:?}");
    }
}

/// A model that says that it calls something, and calls nothing, is reminded once; then the run has failed.
#[test]
fn an_announced_call_that_never_comes() {
    let empty = |text: &str| {
        deltas([
            Delta::text(text),
            Delta::MessageEnd {
                stop_reason: StopReason::ToolUse,
                usage: None,
            },
        ])
    };
    let note = "Note: The reply announced a call, but contained none. To call a gadget, write a block that begins with \
                !!!GADGET_START:; if you are done, answer without a call.";
    let native_note = "Note: The reply announced a call, but contained none. To call a gadget, use your interface for \
                       tools; if you are done, answer without a call.";
    for (tools, note) in [(Tools::Text, note), (Tools::Native, native_note)] {
        let script = native([echo()]).with(|spec| spec.tools = tools);
        let log = play(&script.clone().replies(empty("I call it.")));
        assert_eq!(log.summary.reason, FinishReason::Completed);
        assert_eq!(log.summary.answer, "fin");
        assert!(
            format!("{:?}", log.history).contains(note),
            "{:#?}",
            log.history
        );
        let script = script.replies(empty("Soon.")).replies(empty("Now."));
        let log = play(&script);
        assert_eq!(log.summary.reason, FinishReason::ModelError);
        assert_eq!(log.summary.iterations, 2);
        let error = log.summary.error.as_ref().map(|it| it.message.as_str());
        assert_eq!(
            error,
            Some("The reply announced a call, but contained none")
        );
    }
}

/// A reply that is nothing but calls was not written as text, and none is sent for it.
#[test]
fn a_reply_of_calls_alone_has_no_raw_text() {
    let script = native([echo()]).replies(deltas([whole("a", "Echo", json!({ "text": "x" }))]));
    let log = play(&script);
    let reply = &log.history[log.opening.len()];
    assert!(
        matches!(reply.content[..], [Content::ToolUse { .. }]),
        "{reply:?}"
    );
    assert_eq!(reply.raw, None);
}

/// What only the provider understands is no message by itself; providers refuse one that says nothing.
#[test]
fn provider_data_alone_is_not_a_message() {
    let data = json!({ "type": "provider_data", "api": "a", "model": "m", "data": { "n": 1 } });
    let data: Delta = serde_json::from_value(data).expect("a delta");
    for (text, messages) in [("So.", 1), ("", 0)] {
        let log = play(&native([]).replies(deltas([data.clone(), Delta::text(text)])));
        let kept = log.history.len() - log.opening.len();
        assert_eq!(kept, messages, "{text:?} {:?}", log.history);
    }
}

/// An input that arrives as text is measured before it is read.
#[test]
fn an_input_of_too_many_values_is_not_read() {
    let list = "1,".repeat(100_001);
    let input = Value::String(format!("{{\"text\": [{list}]}}"));
    let log = play(&native([echo()]).replies(deltas([whole("a", "Echo", input)])));
    let (_, answer) = log.told()[0];
    let error = "Limit exceeded: the parameters of a reply may have at most 100000 JSON values";
    assert!(answer.contains(error), "{answer}");
}
