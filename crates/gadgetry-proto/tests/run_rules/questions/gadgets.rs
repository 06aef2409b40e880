//! Before a gadget starts, when it is done, and when a dependency was not met.

use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::Content;
use gadgetry_proto::run::{Command, Decision};
use serde_json::json;

use super::{CANCELLED, about, bells};
use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

fn before_gadget(bell: Behaviour, ids: &[&str]) -> Script {
    Script::default()
        .gadget(bell)
        .with(|spec| spec.asks.before_gadget = true)
        .reply(bells(ids))
}

#[test]
fn a_result_in_place_of_a_gadget_satisfies_its_dependents() {
    let script = before_gadget(gadget("Bell"), &["a", "b:a"]);
    check(
        &about(script, "a", 0, Decision::Result("decided".to_owned())),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            "0 call b Bell",
            "0 ok a: decided",
            "0 question beforeGadget b {}",
            "0 start b {}",
            "0 ok b: ok Bell",
            "  told Result (a): decided",
            "  told Result (b): ok Bell",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_denied_gadget_is_a_failed_one() {
    let script = before_gadget(gadget("Bell"), &["a", "b:a"]);
    let skipped = "denied";
    check(
        &about(script, "a", 0, Decision::Deny("denied".to_owned())),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            "0 call b Bell",
            "0 error a: denied",
            &format!("0 skip b (a): {skipped}"),
            "  told Result (a): denied",
            &format!("  told Result (b): Skipped: dependency \"a\" failed: {skipped}"),
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn decided_parameters_are_completed_and_validated() {
    let bell = || {
        let n = json!({ "type": "integer", "default": 7 });
        gadget("Bell").takes_parameters(&json!({ "key": { "type": "string" }, "n": n }))
    };
    for (parameters, line) in [
        (json!({ "key": "k" }), r#"0 start a {"key":"k","n":7}"#),
        (
            json!({ "key": "k", "n": 1 }),
            r#"0 start a {"key":"k","n":1}"#,
        ),
        (
            json!({ "n": 1 }),
            "0 error a: Error: Invalid parameters for 'Bell':",
        ),
        (
            json!("no object"),
            "0 error a: Error: Invalid parameters for 'Bell':",
        ),
    ] {
        let script = Script::default()
            .gadget(bell())
            .with(|spec| spec.asks.before_gadget = true)
            .reply(block("Bell:a", &[("key", "written")]));
        let log = play(&about(script, "a", 0, Decision::Parameters(parameters)));
        let found = lines(&log);
        assert!(found.iter().any(|it| it.starts_with(line)), "{found:#?}");
    }
}

#[test]
fn unrelated_calls_continue_while_one_is_held() {
    let bell = gadget("Bell")
        .takes(10)
        .with(|spec| spec.timeout_ms = Some(15));
    check(
        &about(
            before_gadget(bell, &["a", "b", "c:a"]),
            "a",
            40,
            Decision::Proceed,
        ),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            "0 call b Bell",
            "0 question beforeGadget b {}",
            "0 call c Bell",
            "0 start b {}",
            "10 ok b: ok Bell",
            // A timeout begins with the gadget.
            "40 start a {}",
            "50 ok a: ok Bell",
            "50 question beforeGadget c {}",
            "50 start c {}",
            "60 ok c: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "  told Result (c): ok Bell",
            "60 ask 2",
            "60 text fin",
            "60 end completed after 2: fin",
        ],
    );
}

/// What a held call needs stays taken.
#[test]
fn a_held_call_keeps_its_slot() {
    let bell = gadget("Bell").with(|spec| spec.exclusive = true);
    check(
        &about(before_gadget(bell, &["a", "b"]), "a", 9, Decision::Proceed),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            "0 call b Bell",
            "9 start a {}",
            "9 ok a: ok Bell",
            "9 question beforeGadget b {}",
            "9 start b {}",
            "9 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "9 ask 2",
            "9 text fin",
            "9 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_held_call_of_a_cancelled_run_is_answered_and_never_starts() {
    let script = before_gadget(gadget("Bell"), &["a"]).at(5, Command::Cancel);
    check(
        &about(script, "a", 9, Decision::Proceed),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            &format!("5 error a: {CANCELLED}"),
            &format!("  told Result (a): {CANCELLED}"),
            "5 end cancelled after 1: ",
        ],
    );
}

fn after_gadget(bell: Behaviour) -> Script {
    Script::default()
        .gadget(bell)
        .with(|spec| spec.asks.after_gadget = true)
        .reply(bells(&["a", "b:a"]))
}

#[test]
fn a_hook_can_change_the_outcome_of_a_gadget() {
    let skipped = "denied";
    for (bell, decision, line) in [
        (
            gadget("Bell"),
            Decision::Proceed,
            "  told Result (a): ok Bell",
        ),
        (
            gadget("Bell"),
            Decision::Result("better".to_owned()),
            "  told Result (a): better",
        ),
        (
            gadget("Bell").fails_times("no", 1),
            Decision::Result("rescued".to_owned()),
            "  told Result (b): ok Bell",
        ),
        (
            gadget("Bell"),
            Decision::Deny("denied".to_owned()),
            &format!("  told Result (b): Skipped: dependency \"a\" failed: {skipped}"),
        ),
        (
            gadget("Bell").finishes("done"),
            Decision::Deny("denied".to_owned()),
            "0 end completed after 2: fin",
        ),
        (
            gadget("Bell").finishes("done"),
            Decision::Result("better".to_owned()),
            "0 end taskCompleted after 1: done",
        ),
        // What is under way is finished first.
        (gadget("Bell"), Decision::Stop, "0 end stopped after 1: "),
        (gadget("Bell"), Decision::Stop, "  told Result (b): ok Bell"),
    ] {
        let found = lines(&play(&about(after_gadget(bell), "a", 0, decision.clone())));
        assert!(
            found.iter().any(|it| it == line),
            "{decision:?}: {line}\n{found:#?}"
        );
    }
}

#[test]
fn a_denied_result_takes_its_media_along() {
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Url("https://example.com/x.png".to_owned()),
        name: None,
    };
    let script = after_gadget(gadget("Bell").shows(picture));
    let log = play(&about(script, "a", 0, Decision::Deny("denied".to_owned())));
    let results = log.history.iter().flat_map(|message| &message.content);
    let with_media = results.filter(
        |content| matches!(content, Content::GadgetResult { media, .. } if !media.is_empty()),
    );
    assert_eq!(with_media.count(), 0, "only a has run, and it was denied");
}

#[test]
fn a_gadget_that_is_done_has_no_timeout_any_more() {
    let bell = gadget("Bell")
        .takes(3)
        .costs(0.5)
        .with(|spec| spec.timeout_ms = Some(5));
    let mut script = after_gadget(bell);
    script.replies.clear();
    let script = script.reply(bells(&["a"]));
    check(
        &about(script, "a", 20, Decision::Proceed),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "3 question afterGadget a",
            "23 ok a $0.5: ok Bell",
            "  told Result (a): ok Bell",
            "23 ask 2",
            "23 text fin",
            "23 end completed after 2 $0.5: fin",
        ],
    );
}

#[test]
fn a_gadget_that_is_done_has_cost_something_though_the_run_is_cancelled() {
    let mut script = after_gadget(gadget("Bell").costs(0.5)).at(5, Command::Cancel);
    script.replies.clear();
    let script = script.reply(bells(&["a"]));
    check(
        &about(script, "a", 20, Decision::Proceed),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 question afterGadget a",
            &format!("5 error a $0.5: {CANCELLED}"),
            &format!("  told Result (a): {CANCELLED}"),
            "5 end cancelled after 1 $0.5: ",
        ],
    );
}

#[test]
fn a_hook_decides_about_an_unmet_dependency() {
    let no = "no";
    for (decision, then) in [
        (
            Decision::Proceed,
            vec![
                format!("9 skip b (a): {no}"),
                "9 skip c (b): Dependency \"b\" was skipped".to_owned(),
            ],
        ),
        (
            Decision::Execute,
            vec![
                "9 start b {}".to_owned(),
                "9 ok b: ok Bell".to_owned(),
                "9 start c {}".to_owned(),
                "9 ok c: ok Bell".to_owned(),
            ],
        ),
        (
            Decision::Result("instead".to_owned()),
            vec![
                "9 ok b: instead".to_owned(),
                "9 start c {}".to_owned(),
                "9 ok c: ok Bell".to_owned(),
            ],
        ),
    ] {
        let script = Script::default()
            .gadget(gadget("Bell"))
            .gadget(gadget("Fail").fails("no"))
            .with(|spec| spec.asks.dependency_skipped = true)
            .reply(block("Fail:a", &[]) + &bells(&["b:a", "c:b", "d"]));
        let found = lines(&play(&about(script, "b", 9, decision.clone())));
        let mut expected: Vec<String> = [
            "0 ask 1",
            "0 call a Fail",
            "0 start a {}",
            "0 call b Bell",
            "0 call c Bell",
            "0 call d Bell",
            "0 start d {}",
            "0 error a: no",
            "0 question dependencySkipped b (a)",
            "0 ok d: ok Bell",
        ]
        .map(str::to_owned)
        .to_vec();
        expected.extend(then);
        let found: Vec<String> = found
            .into_iter()
            .filter(|line| !line.contains("dependencySkipped c"))
            .take(expected.len())
            .collect();
        assert_eq!(found, expected, "{decision:?}");
    }
}

/// While one waits for a decision about the reply, its calls run; the next request waits for both.
#[test]
fn a_reply_is_still_read_while_decisions_are_open() {
    let pieces = vec![
        Piece::Text(bells(&["a"])),
        Piece::Pause(20),
        Piece::Text("More.".to_owned()),
    ];
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.asks.before_gadget = true)
        .replies(Reply::stop(pieces));
    check(
        &about(script, "a", 10, Decision::Proceed),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 question beforeGadget a {}",
            "10 start a {}",
            "10 ok a: ok Bell",
            "20 text \nMore.",
            "  told Result (a): ok Bell",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}
