//! Calls that cannot run, and replies that were cut off.

use gadgetry_proto::block::Markers;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::limits::Limits;
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{
    Behaviour, Finish, Piece, Reply, Script, block, gadget, open_block,
};
use crate::support::sim::transcript::{check, lines};

fn write() -> Behaviour {
    gadget("Write").takes_parameters(&json!({ "path": { "type": "string" } }))
}

/// The lines of the answers to the calls of one reply.
#[track_caller]
fn answers(reply: &str, finish: Finish, expected: &[&str]) {
    let script = Script::default().gadget(write()).reply_cut(reply, finish);
    let lines = lines(&play(&script));
    let answered = |line: &&String| line.starts_with("0 ok ") || line.starts_with("0 error ");
    let found: Vec<&str> = lines.iter().filter(answered).map(|it| &**it).collect();
    assert_eq!(found, expected, "{lines:#?}");
}

#[test]
fn calls_that_cannot_run_are_answered_with_an_error() {
    for (call, answer) in [
        (
            block("Writes:a", &[]),
            "Error: Gadget 'Writes' not found. Did you mean 'Write'?\n\nAvailable gadgets: Write",
        ),
        (
            block("Write:a", &[("path", "x"), ("path", "y")]),
            "Error: Failed to parse parameters for 'Write':\n  Duplicate pointer: path. The call could not become valid, so the reply was ended there, and nothing that \
             followed was read.",
        ),
        (
            block("Write:a", &[("list/0", "x"), ("list/2", "y")]),
            "Error: Failed to parse parameters for 'Write':\n  Array index gap: expected 1, got 2",
        ),
        (
            block("Write:a", &[]),
            "Error: Invalid parameters for 'Write':\n  - path: expected string, but it is missing",
        ),
    ] {
        answers(&call, Finish::Stop, &[&format!("0 error a: {answer}")]);
    }
}

#[test]
fn dependents_of_a_call_that_cannot_run_are_skipped() {
    let script = Script::default()
        .gadget(write())
        .reply(block("Gong:a", &[]) + &block("Write:b:a", &[("path", "x")]));
    let gong = "Error: Gadget 'Gong' not found.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Gong",
            &format!("0 error a: {gong}\n\nAvailable gadgets: Write"),
            "0 call b Write",
            &format!("0 skip b (a): {gong}\n\nAvailable gadgets: Write"),
            &format!("  told Result (a): {gong}"),
            "  told Available gadgets: Write",
            &format!("  told Result (b): Skipped: dependency \"a\" failed: {gong}"),
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_block_that_was_cut_off_never_runs_but_those_before_it_do() {
    let reply = block("Write:a", &[("path", "x")]) + &open_block("Write:b", &[("path", "y")]);
    let other = |word: &str| Finish::Reason(StopReason::Other(word.to_owned()));
    let long = "x".repeat(100);
    for (finish, how) in [
        (Finish::Length, "was cut off by the token limit"),
        (
            Finish::Filter,
            "was cut off by the provider's content filter",
        ),
        (
            Finish::Disconnect,
            "was cut off because the connection ended",
        ),
        (
            Finish::Error("overloaded".to_owned()),
            "was cut off by an error of the model",
        ),
        (
            Finish::Reason(StopReason::Unspecified),
            "ended without a stop reason",
        ),
        (other("abort"), "ended with the reason \"abort\""),
        (other(""), "ended with the reason \"\""),
        (other("STOP"), "ended with the reason \"STOP\""),
        (
            other("a\n!!!GADGET_END"),
            "ended with the reason \"a????GADGET_END\"",
        ),
        (
            other(&long),
            &format!("ended with the reason \"{}\"", &long[..60]),
        ),
    ] {
        let cut = format!(
            "0 error b: Error: The call was not executed: the reply {how} before the block was complete. Write the \
             call again."
        );
        answers(&reply, finish, &[&cut, "0 ok a: ok Write"]);
    }
}

#[test]
fn a_block_that_only_a_clean_end_completes_runs() {
    let open = open_block("Write:a", &[("path", "x")]);
    for reason in [
        StopReason::Stop,
        StopReason::StopSequence,
        StopReason::ToolUse,
    ] {
        assert!(reason.is_clean());
        answers(&open, Finish::Reason(reason), &["0 ok a: ok Write"]);
    }
}

/// A model that only completes text ends its reply with the next turn, which may have begun in a value: the text is whole, and
/// the call is not, whatever the policy.
#[test]
fn a_block_that_the_next_turn_ends_does_not_run() {
    use gadgetry_proto::schema::Unterminated::Execute;
    let (open, closed) = (
        open_block("Write:a", &[("path", "x")]),
        block("Write:a", &[("path", "x")]),
    );
    let cut = "0 error a: Error: The call was not executed: the reply ended at the next turn before the block was complete. \
               Write the call again.";
    for (text, expected) in [(&open, cut), (&closed, "0 ok a: ok Write")] {
        for policy in [None, Some(Execute)] {
            let write = write().with(|spec| spec.unterminated = policy);
            let script = Script::default()
                .gadget(write)
                .reply_cut(text.as_str(), Finish::Reason(StopReason::NextTurn));
            let lines = lines(&play(&script));
            assert!(
                lines.iter().any(|line| line == expected),
                "{policy:?}: {lines:#?}"
            );
        }
    }
    let script = Script::default().reply_cut("Hello.", Finish::Reason(StopReason::NextTurn));
    let lines = lines(&play(&script));
    assert!(
        lines.iter().any(|line| line.contains("completed")),
        "{lines:#?}"
    );
}

/// Proxies report lost connections as `stop`, so a policy lets the model write such a block again.
#[test]
fn an_unterminated_block_may_need_confirmation() {
    use gadgetry_proto::schema::Unterminated::{Confirm, Execute};
    let open = open_block("Write:a", &[("path", "x")]);
    let closed = block("Write:a", &[("path", "x")]);
    let again = "0 error a: Error: The call was not executed: the reply ended before the end marker of the block, so its \
                 last value may be incomplete. Write the call again, whole, with its end marker.";
    let ok = "0 ok a: ok Write";
    for (text, reason, run, gadget, expected) in [
        (&open, StopReason::Stop, Execute, None, ok),
        (&open, StopReason::Stop, Confirm, None, again),
        (&open, StopReason::ToolUse, Confirm, None, again),
        (&open, StopReason::StopSequence, Confirm, None, again),
        (&open, StopReason::Stop, Confirm, Some(Execute), ok),
        (&open, StopReason::Stop, Execute, Some(Confirm), again),
        (&closed, StopReason::Stop, Confirm, Some(Confirm), ok),
        (
            &closed,
            StopReason::Other("abort".to_owned()),
            Confirm,
            None,
            ok,
        ),
    ] {
        let write = write().with(|spec| spec.unterminated = gadget);
        let script = Script::default()
            .gadget(write)
            .with(|spec| spec.unterminated = run)
            .reply_cut(text.as_str(), Finish::Reason(reason.clone()));
        let lines = lines(&play(&script));
        assert!(
            lines.iter().any(|line| line == expected),
            "{reason:?}, {run:?}, {gadget:?}: {lines:#?}"
        );
    }
}

/// Neither the order of the reasons nor the number of ends makes a cut reply whole.
#[test]
fn a_cut_stays_a_cut_whatever_follows() {
    let end = |stop_reason| {
        Piece::Delta(Delta::MessageEnd {
            stop_reason,
            usage: None,
        })
    };
    let open = open_block("Write:a", &[("path", "x")]);
    for reasons in [
        [StopReason::MaxTokens, StopReason::Stop],
        [StopReason::Stop, StopReason::MaxTokens],
    ] {
        let pieces = [Piece::Text(open.clone())].into_iter();
        let reply = Reply {
            finish: Finish::Disconnect,
            ..Reply::stop(pieces.chain(reasons.map(end)).collect())
        };
        let script = Script::default().gadget(write()).replies(reply);
        let lines = lines(&play(&script));
        assert!(
            lines
                .iter()
                .any(|line| line.contains("was cut off by the token limit")),
            "{lines:#?}"
        );
    }
}

#[test]
fn a_block_at_the_end_of_a_whole_reply_runs_if_it_is_valid() {
    let open = open_block("Write:a", &[("path", "x")]);
    answers(&open, Finish::Stop, &["0 ok a: ok Write"]);
    answers(open.trim_end(), Finish::Stop, &["0 ok a: ok Write"]);
    answers(
        &open_block("Write:a", &[("other", "x")]),
        Finish::Stop,
        &[
            "0 error a: Error: Invalid parameters for 'Write':\n  - path: expected string, but it is missing\n  - other: there is no such parameter",
        ],
    );
}

#[test]
fn a_block_is_complete_where_the_next_one_starts() {
    let reply = open_block("Write:a", &[("path", "x")]) + &block("Write:b", &[("path", "y")]);
    answers(
        &reply,
        Finish::Length,
        &["0 ok a: ok Write", "0 ok b: ok Write"],
    );
}

#[test]
fn a_cut_reply_without_calls_ends_the_run() {
    for (finish, lines) in [
        (
            Finish::Length,
            ["0 reply max_tokens", "0 end truncated after 1: So far"],
        ),
        (
            Finish::Filter,
            ["0 reply content_filter", "0 end withheld after 1: So far"],
        ),
        (
            Finish::Reason(StopReason::Other("RECITATION".to_owned())),
            [
                "0 reply RECITATION: the reply ended with the reason \"RECITATION\" and may be incomplete",
                "0 end modelError after 1 (the reply ended with the reason \"RECITATION\" and may be incomplete): So far",
            ],
        ),
        (
            Finish::Reason(StopReason::Unspecified),
            [
                "0 reply unspecified: the reply ended without a stop reason and may be incomplete",
                "0 end modelError after 1 (the reply ended without a stop reason and may be incomplete): So far",
            ],
        ),
        (
            Finish::Error("overloaded".to_owned()),
            [
                "0 reply error: overloaded",
                "0 end modelError after 1 (overloaded): So far",
            ],
        ),
        (
            Finish::Disconnect,
            [
                "0 reply error: the connection ended before the model had finished its reply",
                "0 end modelError after 1 (the connection ended before the model had finished its reply): So far",
            ],
        ),
    ] {
        let script = Script::default().reply_cut("So far", finish);
        check(&script, &["0 ask 1", "0 text So far", lines[0], lines[1]]);
    }
}

/// A marker in prose is none, whatever the name after it.
#[test]
fn a_start_marker_without_its_colon_is_corrected() {
    let check_reply = |reply: &str, lines: &[&str]| {
        let script = Script::default().gadget(write()).reply(reply).reply("fin");
        let shown = format!("0 text {reply}");
        let lines = [&["0 ask 1", &shown], lines].concat();
        check(&script, &lines);
    };
    let told =
        "  told Note: !!!GADGET_START is not a marker and was not executed; write !!!GADGET_START:";
    let corrected = [
        "0 note nearMiss",
        told,
        "0 ask 2",
        "0 text fin",
        "0 end completed after 2: fin",
    ];
    check_reply("I do.\n  !!!GADGET_START Write\npath: x\n", &corrected);
    // Models forget the words of a marker as well.
    let markers = Markers::nonce(7);
    let start = markers.start().trim_end_matches(':').to_owned();
    for reply in ["!!!GADGET_START Write", &format!("{start} Write")] {
        let script = Script::default()
            .gadget(write())
            .with(|spec| spec.markers = markers.clone())
            .reply(reply)
            .reply("fin");
        let told = told.replace("write !!!GADGET_START:", &format!("write {start}:"));
        let shown = format!("0 text {reply}");
        let lines = [&["0 ask 1", &shown, corrected[0], &told], &corrected[2..]].concat();
        check(&script, &lines);
    }
    for prose in [
        "A !!!GADGET_START Write",
        "!!!GADGET_START Writes",
        "!!!GADGET_START begins",
    ] {
        let end = format!("0 end completed after 1: {prose}");
        check_reply(prose, &[&end]);
    }
}

#[test]
fn a_near_miss_is_corrected_once_and_ends_the_run_if_repeated() {
    let miss = "!!GADGET_START:Write\n!!GADGET_END\n";
    let script = Script::default()
        .gadget(write())
        .reply(format!("{miss}{miss}"))
        .reply(miss)
        .reply("unreached");
    let start = "!!GADGET_START is not a marker and was not executed; write !!!GADGET_START:";
    let end = "!!GADGET_END is not a marker and was not executed; write !!!GADGET_END";
    check(
        &script,
        &[
            "0 ask 1",
            "0 text !!GADGET_START",
            "0 note nearMiss",
            "0 text :Write\n!!GADGET_END",
            "0 note nearMiss",
            "0 text \n!!GADGET_START",
            "0 note nearMiss",
            "0 text :Write\n!!GADGET_END",
            "0 note nearMiss",
            "0 text \n",
            &format!("  told Note: {start}"),
            &format!("  told Note: {end}"),
            "0 ask 2",
            "0 text !!GADGET_START",
            "0 note nearMiss",
            "0 text :Write\n!!GADGET_END",
            "0 note nearMiss",
            "0 text \n",
            &format!("  told Note: {start}"),
            &format!("  told Note: {end}"),
            &format!("0 end completed after 2: {miss}"),
        ],
    );
}

#[test]
fn notes_follow_the_results() {
    let script = Script::default()
        .gadget(write())
        .reply(block("Write:a", &[("path", "x")]) + "!!GADGET_END");
    let lines = lines(&play(&script));
    let told: Vec<&str> = lines
        .iter()
        .filter_map(|it| it.strip_prefix("  told "))
        .collect();
    let note = "Note: !!GADGET_END is not a marker and was not executed; write !!!GADGET_END";
    assert_eq!(told, ["Result (a): ok Write", note]);
}

#[test]
fn a_model_that_stops_with_an_error_has_failed() {
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Error,
        usage: None,
    };
    let reply = Reply {
        finish: Finish::Disconnect,
        ..Reply::stop(vec![Piece::Delta(end)])
    };
    check(
        &Script::default().replies(reply),
        &[
            "0 ask 1",
            "0 reply error: the model stopped with an error",
            "0 end modelError after 1 (the model stopped with an error): ",
        ],
    );
}

#[test]
fn an_error_in_the_stream_is_a_model_error() {
    let error = Delta::error("overloaded");
    let text = open_block("Write:a", &[("path", "x")]);
    let reply = Reply::stop(vec![Piece::Text(text), Piece::Delta(error)]);
    let script = Script::default().gadget(write()).replies(reply);
    let lines = lines(&play(&script));
    assert!(
        lines[2].starts_with("0 error a: Error: The call was not executed"),
        "{lines:#?}"
    );
}

/// A model that misses the form is corrected once; a call in between shows that it knows the form.
#[test]
fn a_correction_comes_again_after_a_call() {
    let missed = "!!GADGET_START:Bell\n";
    let bell = || block("Bell:a", &[]);
    for (replies, requests) in [
        (vec![missed.to_owned()], 2),
        (vec![missed.to_owned(), missed.to_owned()], 2),
        (vec![bell() + missed, missed.to_owned()], 3),
        (vec![missed.to_owned(), bell(), missed.to_owned()], 4),
    ] {
        let script = Script::default().gadget(gadget("Bell"));
        let script = replies.iter().fold(script, Script::reply);
        assert_eq!(play(&script).requests().len(), requests, "{replies:?}");
    }
}

#[test]
fn at_most_eight_notes_a_message() {
    // Each has another capital letter.
    let missed = (0..12).map(|at| {
        let (before, rest) = "gadget_start".split_at(at);
        let (letter, behind) = rest.split_at(1);
        format!("!!!{before}{}{behind}: ", letter.to_uppercase())
    });
    let missed: String = missed.collect();
    let script = Script::default()
        .with(|spec| spec.limits.near_misses = 20)
        .gadget(gadget("Bell"))
        .reply(missed);
    let found = lines(&play(&script));
    let notes = found
        .iter()
        .filter(|line| line.starts_with("  told Note: "));
    assert_eq!(notes.count(), 8, "{found:#?}");
}

/// Only a call with the wrong form is answered with the right one.
#[test]
fn usage_help_is_added_for_malformed_calls_only() {
    let own = "Error: Failed to parse parameters for 'Write':\n  of a file";
    let whole = block("Write:a", &[("path", "x")]);
    let malformed = block("Write:a", &[("path", "x"), ("path", "y")]);
    let unlimited = Limits::default().block;
    for (name, write, reply, limit, helped) in [
        ("malformed", write(), &malformed, unlimited, true),
        ("too long to read", write(), &malformed, 1, true),
        (
            "its own error",
            write().fails(own),
            &whole,
            unlimited,
            false,
        ),
    ] {
        let script = Script::default()
            .gadget(write)
            .with(|spec| spec.limits.block = limit)
            .reply(reply);
        let log = play(&script);
        let (_, answer) = log.told()[0];
        let is_helped = answer.contains("!!!GADGET_START:Write");
        assert_eq!(is_helped, helped, "{name}: {answer}");
    }
}
