//! Replies that are ended early: at a call that cannot become valid, and at lines that repeat without end.

use std::fmt::Write as _;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::message::Role;
use gadgetry_proto::reply::StopEarly;
use gadgetry_proto::run::RunConfig;
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::lines;

/// A gadget that takes `path`, `text` and nothing else, and one that takes anything.
fn script() -> Script {
    let closed = gadget("Write").with(|spec| {
        spec.parameters = json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "text": { "type": "string" } },
            "required": ["path"],
            "additionalProperties": false,
        });
    });
    Script::default().gadget(closed).gadget(gadget("Echo"))
}

/// The lines of the run up to the second request, and the reply as it is kept, whatever the pieces of the reply are.
fn runs(reply: &str, change: impl Fn(&mut RunConfig)) -> Vec<Vec<String>> {
    let whole = vec![Piece::Text(reply.to_owned())];
    let single = reply.chars().map(|c| Piece::Text(c.to_string())).collect();
    // Where replies are long, cuts near their ends are enough.
    let cuts = (1..reply.len()).filter(|&at| reply.is_char_boundary(at));
    let cuts = cuts.filter(|&at| reply.len() < 300 || reply.len() - at < 60);
    let halves = cuts.map(|at| {
        let (start, end) = reply.split_at(at);
        vec![Piece::Text(start.to_owned()), Piece::Text(end.to_owned())]
    });
    [whole, single]
        .into_iter()
        .chain(halves)
        .map(|pieces| {
            let log = play(&script().with(&change).replies(Reply::stop(pieces)));
            let mut lines = lines(&log);
            let end = lines
                .iter()
                .position(|line| line.starts_with("  told") || line == "0 ask 2");
            lines.truncate(end.unwrap_or(lines.len()));
            lines.retain(|line| line != "0 ask 1" && !line.starts_with("0 ok "));
            let kept = log
                .history
                .iter()
                .find(|message| message.role == Role::Assistant);
            lines.push(format!(
                "kept {:?}",
                kept.and_then(|kept| kept.raw.as_deref())
            ));
            lines
        })
        .collect()
}

#[track_caller]
fn check(reply: &str, kept: &str, expected: &[&str]) {
    let all = runs(reply, |_| {});
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    expected.push(format!("kept {:?}", Some(kept)));
    for lines in &all {
        assert_eq!(lines, &expected, "{:#?}", all[0]);
    }
}

/// Whether the reply is ended before its last words.
#[track_caller]
fn check_end(reply: &str, rules: StopEarly, is_ended: bool) {
    let reply = format!("{reply}\nThe last words.");
    for lines in runs(&reply, |config| config.stop_early = rules) {
        let kept = lines.last().expect("the reply");
        assert_eq!(
            !kept.ends_with("The last words.\")"),
            is_ended,
            "{lines:#?}"
        );
    }
}

#[test]
fn a_call_that_cannot_become_valid_ends_the_reply() {
    let first = block("Write:a", &[("path", "x")]);
    let start = format!("Well.\n{first}");
    let rest = format!(
        "!!!ARG:more\nand more\n!!!GADGET_END\n{}Bye",
        block("Write:c", &[("path", "z")])
    );

    let duplicate = "!!!GADGET_START:Write:b\n!!!ARG:path\ny\n!!!ARG:path\n";
    let undeclared = "!!!GADGET_START:Write:b\n!!!ARG:path\ny\n!!!ARG:mode/0\n";
    for (doomed, problem) in [
        (duplicate, "Duplicate pointer: path"),
        (
            undeclared,
            "'Write' has no parameter 'mode', and had all parameters that it needs",
        ),
    ] {
        let error = format!(
            "0 error b: Error: Failed to parse parameters for 'Write':\n  {problem}. The call could not become valid, so the \
             reply was ended there, and nothing that followed was read."
        );
        check(
            &format!("{start}{doomed}w{rest}"),
            &format!("{start}{doomed}"),
            &[
                "0 text Well.\n",
                "0 call a Write",
                "0 start a {\"path\":\"x\"}",
                "0 note hopelessCall",
                "0 call b Write malformed",
                &error,
                "0 close model",
                "0 reply tool_use",
            ],
        );
    }
}

/// What is kept of a reply is all of it, if only its end shows that a call cannot become valid.
#[test]
fn a_reply_that_is_over_is_not_ended() {
    let reply = "!!!GADGET_START:Write:b\n!!!ARG:path\ny\n!!!ARG:path\n\n!!";
    check(
        reply,
        reply,
        &[
            "0 call b Write malformed",
            "0 error b: Error: Failed to parse parameters for 'Write':\n  Duplicate pointer: path",
        ],
    );
}

/// Calls that may still become valid, and those of gadgets that take anything, do not end it.
#[test]
fn other_calls_do_not() {
    for (header, arguments) in [
        ("Write:a", vec![("mode", "x"), ("path", "y")]),
        ("Write:a", vec![("text", "x"), ("mode", "y"), ("path", "z")]),
        ("Echo:a", vec![("path", "x"), ("mode", "y"), ("more", "z")]),
        ("Echo:a", vec![("path/0", "x"), ("path/1", "y")]),
        ("Gong:a", vec![("path", "x"), ("mode", "y")]),
    ] {
        check_end(&block(header, &arguments), StopEarly::default(), false);
    }
    let doomed = block("Write:a", &[("path", "x"), ("path", "y")]);
    check_end(&doomed, StopEarly::default(), true);
    check_end(&doomed, StopEarly::NEVER, false);
}

/// Arguments that a gadget does not know are looked at once each, however many there are.
#[test]
fn many_unknown_arguments_take_linear_time() {
    let mut reply = "!!!GADGET_START:Write:a\n".to_owned();
    for number in 0..20_000 {
        let _ = writeln!(reply, "!!!ARG:unknown{number}\nx");
    }
    let whole = Reply::stop(vec![Piece::Text(reply)]);
    play(&script().replies(whole));
}

#[test]
fn lines_that_repeat_end_the_reply() {
    let lines = |count| "And once more.\n".repeat(count);
    for (reply, is_ended) in [
        (lines(9), false),
        (lines(10), true),
        (format!("Look:\n```\n{}```", lines(39)), false),
        (format!("Look:\n```\n{}```", lines(40)), true),
        (
            block("Write:a", &[("path", "x"), ("text", &lines(39))]),
            false,
        ),
        (
            block("Write:a", &[("path", "x"), ("text", &lines(40))]),
            true,
        ),
        (
            block(
                "Write:a",
                &[("path", "x"), ("text", &"    }\n".repeat(200))],
            ),
            false,
        ),
        (block("Echo", &[]).repeat(39), false),
        (block("Echo", &[]).repeat(40), true),
    ] {
        check_end(&reply, StopEarly::default(), is_ended);
        check_end(&reply, StopEarly::NEVER, false);
    }
}

/// A call that is cut off there is not executed, and the model reads why. What it has said before is kept.
#[test]
fn a_call_that_repeats_itself_is_cut_off() {
    let value = "And once more.\n".repeat(40);
    let start = format!(
        "{}!!!GADGET_START:Write:b\n!!!ARG:path\ny\n!!!ARG:text\n{value}",
        block("Write:a", &[("path", "x")])
    );
    check(
        &format!("{start}And more.\n!!!GADGET_END"),
        &start,
        &[
            "0 call a Write",
            "0 start a {\"path\":\"x\"}",
            "0 note repeatedLines",
            "0 close model",
            "0 call b Write",
            "0 error b: Error: The call was not executed: the reply was cut off by the token limit before the block was complete. \
             Write the call again.",
            "0 reply max_tokens",
        ],
    );
}

#[test]
fn prose_that_repeats_itself_is_cut_off() {
    let text = "And once more.\n".repeat(10);
    check(
        &format!("{text}And more."),
        &text,
        &[
            &format!("0 text {text}"),
            "0 note repeatedLines",
            "0 close model",
            "0 reply max_tokens",
        ],
    );
}

/// Reasoning of the provider, which is not a part of the text.
#[test]
fn reasoning_that_repeats_itself_is_cut_off() {
    let piece = |text: &str| {
        Piece::Delta(Delta::Reasoning {
            delta: text.to_owned(),
            metadata: None,
        })
    };
    let text = "And once more.\n".repeat(10) + "And more.";
    let single = text.chars().map(|c| piece(&c.to_string())).collect();
    for pieces in [vec![piece(&text)], single] {
        let log = play(&script().replies(Reply::stop(pieces)));
        assert_eq!(log.diagnostics(DiagnosticCode::RepeatedLines), 1);
        let lines = lines(&log);
        assert!(
            lines.iter().all(|line| !line.contains("And more.")),
            "{lines:#?}"
        );
    }
}
