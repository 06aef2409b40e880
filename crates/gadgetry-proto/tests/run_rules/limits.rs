//! Time, number, order.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{Diagnostic, DiagnosticCode, Span};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Input, OnTextOnlyReply, Report, Tools};
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Finish, Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

fn bells(ids: &[&str]) -> String {
    ids.iter()
        .map(|id| block(&format!("Bell:{id}"), &[]))
        .collect()
}

fn slow_bell() -> Behaviour {
    gadget("Bell").takes(10)
}

#[test]
fn a_timeout_cancels_first_and_then_answers() {
    let bell = slow_bell()
        .costs(0.5)
        .with(|spec| spec.timeout_ms = Some(4));
    let mut script = Script::default().gadget(bell).reply(bells(&["a"]));
    let error = "Gadget 'Bell' execution exceeded timeout of 4ms";
    let lines = |end: u64| {
        [
            "0 ask 1".to_owned(),
            "0 call a Bell".to_owned(),
            "0 start a {}".to_owned(),
            "4 cancel a".to_owned(),
            format!("4 error a: {error}"),
            format!("{end} late a $0.5"),
            format!("  told Result (a): {error}"),
            format!("{end} ask 2"),
            format!("{end} text fin"),
            format!("{end} end completed after 2 $0.5: fin"),
        ]
    };
    check(&script, &lines(4).each_ref().map(String::as_str));
    // What it says later is not read, but until then its place is not free, and what it cost is not known.
    script.stubborn = true;
    check(&script, &lines(10).each_ref().map(String::as_str));
}

/// Bell's time is up at 4, but it rings until 10: until then nothing starts beside it.
#[test]
fn a_gadget_that_timed_out_keeps_its_slot_until_it_ends() {
    let bell = slow_bell().with(|spec| {
        spec.timeout_ms = Some(4);
        spec.exclusive = true;
    });
    let mut script = Script::default().gadget(bell).reply(bells(&["a", "b"]));
    script.stubborn = true;
    let error = "Gadget 'Bell' execution exceeded timeout of 4ms";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "4 cancel a",
            &format!("4 error a: {error}"),
            "10 start b {}",
            "14 cancel b",
            &format!("14 error b: {error}"),
            &format!("  told Result (a): {error}"),
            &format!("  told Result (b): {error}"),
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn the_run_has_a_timeout_for_gadgets_without_one() {
    let script = Script::default()
        .gadget(slow_bell())
        .with(|spec| spec.default_timeout_ms = Some(7))
        .reply(bells(&["a"]));
    let error = "Gadget 'Bell' execution exceeded timeout of 7ms";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "7 cancel a",
            &format!("7 error a: {error}"),
            &format!("  told Result (a): {error}"),
            "7 ask 2",
            "7 text fin",
            "7 end completed after 2: fin",
        ],
    );
}

#[test]
fn the_number_of_replies_is_limited() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.max_iterations = 2)
        .reply(bells(&["a"]))
        .reply(format!("Once more.\n{}", bells(&["b"])));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "0 ask 2",
            "0 text Once more.\n",
            "0 call b Bell",
            "0 start b {}",
            "0 ok b: ok Bell",
            "  told Result (b): ok Bell",
            "0 end maxIterations after 2: Once more.\n",
        ],
    );
}

#[test]
fn a_text_only_reply_may_be_acknowledged() {
    let script = Script::default()
        .with(|spec| {
            spec.text_only = OnTextOnlyReply::Acknowledge;
            spec.max_iterations = 2;
        })
        .reply("One.")
        .reply("Two.");
    check(
        &script,
        &[
            "0 ask 1",
            "0 text One.",
            "0 ask 2",
            "0 text Two.",
            "0 end maxIterations after 2: Two.",
        ],
    );
}

#[test]
fn calls_beyond_the_limit_of_a_reply_are_skipped() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.schedule.max_per_reply = Some(2))
        .reply(bells(&["a", "b", "c"]))
        .reply(bells(&["d"]));
    let error = "Gadget limit (2) exceeded. Consider calling fewer gadgets per response.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 call c Bell",
            &format!("0 skip c (maxGadgetsPerResponse): {error}"),
            "0 ok a: ok Bell",
            "0 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            &format!("  told Result (c): Skipped: {error}"),
            "0 ask 2",
            "0 call d Bell",
            "0 start d {}",
            "0 ok d: ok Bell",
            "  told Result (d): ok Bell",
            "0 ask 3",
            "0 text fin",
            "0 end completed after 3: fin",
        ],
    );
}

/// Two bells of 10 ms, one after the other.
#[track_caller]
fn in_a_row(script: Script) {
    check(
        &script.reply(bells(&["a", "b"])),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "10 ok a: ok Bell",
            "10 start b {}",
            "20 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn one_at_a_time_in_four_ways() {
    let bell = || Script::default().gadget(slow_bell());
    in_a_row(bell().with(|spec| spec.schedule.sequential = true));
    in_a_row(bell().with(|spec| spec.schedule.max_concurrent = Some(1)));
    let limited = slow_bell().with(|spec| spec.max_concurrent = Some(1));
    in_a_row(Script::default().gadget(limited));
    let exclusive = slow_bell().with(|spec| spec.exclusive = true);
    in_a_row(Script::default().gadget(exclusive));
}

#[test]
fn a_gadget_starts_while_the_reply_still_comes() {
    let pieces = vec![
        Piece::Text("First ".to_owned()),
        Piece::Text(bells(&["a"])),
        Piece::Pause(30),
        Piece::Text("and then".to_owned()),
        Piece::Text(bells(&["b"])),
    ];
    let script = Script::default()
        .gadget(slow_bell())
        .replies(Reply::stop(pieces));
    check(
        &script,
        &[
            "0 ask 1",
            "0 text First ",
            "0 call a Bell",
            "0 start a {}",
            "10 ok a: ok Bell",
            "30 text \nand then",
            "30 call b Bell",
            "30 start b {}",
            "40 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "40 ask 2",
            "40 text fin",
            "40 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_result_that_comes_with_the_timeout_counts() {
    let script = Script::default()
        .gadget(slow_bell().with(|spec| spec.timeout_ms = Some(10)))
        .reply(bells(&["a"]));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "10 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "10 ask 2",
            "10 text fin",
            "10 end completed after 2: fin",
        ],
    );
}

/// Whatever else is wrong with a call beyond the limit, the limit is its answer.
#[test]
fn a_call_beyond_the_limit_may_name_no_gadget() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.schedule.max_per_reply = Some(1))
        .reply(bells(&["a"]) + &block("Gong:b", &[]));
    let error = "Gadget limit (1) exceeded. Consider calling fewer gadgets per response.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Gong",
            &format!("0 skip b (maxGadgetsPerResponse): {error}"),
            "0 ok a: ok Bell",
            "  told Result (a): ok Bell",
            &format!("  told Result (b): Skipped: {error}"),
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

/// The ids of the calls that started.
fn started(script: &Script) -> Vec<String> {
    let lines = lines(&play(script));
    let starts = lines.iter().filter_map(|line| line.split_once(" start "));
    let ids = starts.filter_map(|(_, start)| start.split_once(' '));
    ids.map(|(id, _)| id.to_owned()).collect()
}

#[test]
fn zero_is_no_limit_of_calls() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.schedule.max_per_reply = Some(0))
        .reply(bells(&["a", "b"]) + &block("Gong:c", &[]));
    assert_eq!(started(&script), ["a", "b"]);
    // None is beyond the limit, so what else is wrong with a call is its answer.
    let log = play(&script);
    let (_, answer) = log.told()[2];
    assert!(answer.starts_with("Error: "), "{answer}");
}

/// The caps on a reply are those of each one.
#[test]
fn every_reply_has_the_caps_of_its_own() {
    let native = |ids: [&str; 2]| {
        let calls = ids.map(|id| {
            Piece::Delta(Delta::ToolCall {
                id: id.to_owned(),
                name: "Bell".to_owned(),
                input: json!({ "list": [1, 2, 3] }),
            })
        });
        Reply::stop(calls.to_vec())
    };
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| {
            spec.tools = Tools::Native;
            spec.limits.calls_per_reply = 2;
            spec.limits.json_values = 12;
        })
        .replies(native(["a", "b"]))
        .replies(native(["c", "d"]));
    assert_eq!(started(&script), ["a", "b", "c", "d"]);
}

/// The object of parameters is a value, too.
#[test]
fn the_limit_of_json_values_is_inclusive() {
    for (limit, ids) in [(1, ["a"].as_slice()), (0, &[])] {
        let script = Script::default()
            .gadget(gadget("Bell"))
            .with(|spec| spec.limits.json_values = limit)
            .reply(bells(&["a"]));
        assert_eq!(started(&script), ids, "{limit}");
    }
}

/// A gadget starts only if the error of one that fails, at most 4 KiB, would still fit.
#[test]
fn a_gadget_without_room_for_its_result_is_not_started() {
    for (bytes, starts) in [(5_904, true), (5_905, false)] {
        let script = Script::default()
            .gadget(gadget("Bell").says(&"x".repeat(bytes)))
            .with(|spec| spec.limits.results = 10_000)
            .reply(bells(&["a"]))
            .reply(bells(&["b"]));
        let log = play(&script);
        let error = "Error: The call was not executed. Limit exceeded: the results of a run may have at most 10000 bytes";
        assert_eq!(log.told()[1].1 != error, starts, "{bytes}");
        assert_eq!(started(&script).len(), 1 + usize::from(starts), "{bytes}");
    }
}

#[test]
fn a_failed_gadget_may_stop_the_run() {
    let bad = gadget("Bell").fails("broken");
    let late = slow_bell().with(|spec| spec.timeout_ms = Some(4));
    for (bell, stops, reason) in [
        (&bad, true, "gadgetError after 1"),
        (&bad, false, "completed after 2"),
        (&late, true, "gadgetError after 1"),
        (&late, false, "completed after 2"),
    ] {
        let script = Script::default()
            .gadget(bell.clone())
            .with(|spec| spec.stop_on_gadget_error = stops)
            .reply(bells(&["a"]));
        let lines = lines(&play(&script));
        let last = lines.last().expect("the end");
        assert!(last.contains(&format!(" end {reason}")), "{last}");
    }
}

/// Its call is answered, so nothing that it says is shown.
#[test]
fn reports_of_a_gadget_that_timed_out_are_ignored() {
    let reports = || {
        [
            Report::Progress("half".to_owned()),
            Report::HumanQuestion {
                number: 0,
                question: "Which?".to_owned(),
            },
            Report::HumanAnswer {
                number: 0,
                answer: Some("This.".to_owned()),
            },
        ]
    };
    for (time, shown) in [(3, 3), (6, 0)] {
        let mut script = Script::default()
            .gadget(slow_bell().with(|spec| spec.timeout_ms = Some(4)))
            .reply(bells(&["a"]));
        script.stubborn = true;
        for report in reports() {
            script = script.input_at(time, Input::Report(CallId(0), report));
        }
        let lines = lines(&play(&script));
        let kinds = ["progress a: half", "human Which?", "human said true"];
        let is_report = |line: &&String| kinds.iter().any(|kind| line.ends_with(kind));
        assert_eq!(lines.iter().filter(is_report).count(), shown, "{lines:#?}");
    }
}

/// A text is read in pieces of at most 64 KiB, so that no event is larger.
#[test]
fn a_long_delta_becomes_several_events() {
    for (bytes, sizes) in [
        (65_536, vec![65_536]),
        (150_000, vec![65_536, 65_536, 18_928]),
    ] {
        let log = play(&Script::default().reply("x".repeat(bytes)));
        let mut found = Vec::new();
        for event in log.events() {
            if let EventKind::Text { text } = &event.kind {
                found.push(text.len());
            }
        }
        assert_eq!(found, sizes);
    }
}

/// The provider's words for a reply that it has withheld are the error of the run; other diagnostics are not.
#[test]
fn a_refusal_is_the_error_of_a_withheld_reply() {
    for (code, error) in [
        (
            DiagnosticCode::Refusal,
            "withheld after 1 (No such thing.): So",
        ),
        (DiagnosticCode::FenceRemoved, "withheld after 1: So"),
    ] {
        let diagnostic = Delta::Diagnostic(Diagnostic {
            code,
            message: "No such thing.".to_owned(),
            span: Span { start: 0, end: 0 },
        });
        let pieces = vec![Piece::Text("So".to_owned()), Piece::Delta(diagnostic)];
        let script = Script::default().replies(Reply {
            finish: Finish::Filter,
            ..Reply::stop(pieces)
        });
        let lines = lines(&play(&script));
        let last = lines.last().expect("the end");
        assert!(last.ends_with(error), "{last}");
    }
}
