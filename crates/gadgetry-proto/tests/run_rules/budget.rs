//! What a run may cost: asked before each request, and only then.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use gadgetry_proto::run::{Decision, Input, OnTextOnlyReply, QuestionKind};

use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::check;

fn budget(dollars: f64) -> Script {
    Script::default()
        .gadget(gadget("Bell").costs(1.0).takes(10))
        .with(|spec| spec.budget = Some(dollars))
}

fn bells(ids: &[&str]) -> String {
    let calls = ids.iter().map(|id| block(&format!("Bell:{id}"), &[]));
    calls.collect()
}

#[test]
fn a_spent_budget_sends_no_request() {
    for dollars in [0.0, -1.0, f64::NEG_INFINITY] {
        check(&budget(dollars), &["0 end budgetExceeded after 0: "]);
    }
    // What is no number is no limit.
    for dollars in [f64::NAN, f64::INFINITY] {
        let lines = ["0 ask 1", "0 text fin", "0 end completed after 1: fin"];
        check(&budget(dollars), &lines);
    }
}

#[test]
fn work_in_progress_completes_once_the_budget_is_spent() {
    check(
        &budget(1.5).reply(bells(&["a", "b", "c:a"])),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 call c Bell",
            "10 ok a $1: ok Bell",
            "10 start c {}",
            "10 ok b $1: ok Bell",
            "20 ok c $1: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "  told Result (c): ok Bell",
            "20 end budgetExceeded after 1 $3: ",
        ],
    );
}

#[test]
fn a_request_is_sent_while_any_budget_is_left() {
    let asked_again = [
        "0 ask 1",
        "0 call a Bell",
        "0 start a {}",
        "10 ok a $1: ok Bell",
        "  told Result (a): ok Bell",
        "10 ask 2",
        "10 text fin",
        "10 end completed after 2 $1: fin",
    ];
    check(
        &budget(1.0 + f64::EPSILON).reply(bells(&["a"])),
        &asked_again,
    );
    let mut spent = asked_again[..5].to_vec();
    spent.push("10 end budgetExceeded after 1 $1: ");
    check(&budget(1.0).reply(bells(&["a"])), &spent);
}

/// Only a request needs money; the end of a run does not.
#[test]
fn a_completed_run_may_exceed_its_budget() {
    let script = budget(1.0)
        .gadget(gadget("Done").finishes("done").costs(5.0))
        .reply(block("Done:z", &[]));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call z Done",
            "0 start z {}",
            "0 ok z $5: done",
            "  told Result (z): done",
            "0 end taskCompleted after 1 $5: done",
        ],
    );
}

fn slow(script: Script) -> Script {
    let pieces = vec![Piece::Pause(5), Piece::Text(bells(&["a"]))];
    script.replies(Reply::stop(pieces))
}

#[test]
fn external_spend_counts_for_the_budget_but_not_for_the_total() {
    let lines = |dollars: &[f64], last: &[&str]| {
        let mut script = slow(budget(4.0));
        for (time, dollars) in (1..).zip(dollars) {
            script = script.input_at(time, Input::ExternalSpend(*dollars));
        }
        let mut expected = vec![
            "0 ask 1",
            "5 call a Bell",
            "5 start a {}",
            "15 ok a $1: ok Bell",
            "  told Result (a): ok Bell",
        ];
        expected.extend(last);
        check(&script, &expected);
    };
    let refused = ["15 end budgetExceeded after 1 $1: "];
    let asked = [
        "15 ask 2",
        "15 text fin",
        "15 end completed after 2 $1: fin",
    ];
    lines(&[3.0], &refused);
    lines(&[2.9], &asked);
    // It is a sum already: the last one counts.
    lines(&[1.5, 1.5], &asked);
    lines(&[3.5, 1.5], &asked);
    lines(&[1.0, 3.0], &refused);
    // What is no amount is none.
    lines(&[-100.0], &asked);
    lines(&[f64::NAN], &asked);
    lines(&[f64::INFINITY], &asked);
}

/// Somebody thinks about a request for so long that the money is gone.
#[test]
fn a_request_is_not_sent_if_the_budget_was_spent_during_its_decision() {
    let script = |decision: Decision| {
        Script::default()
            .with(|spec| {
                spec.budget = Some(1.0);
                spec.asks.before_model_call = true;
            })
            .decides_after(9, move |question| match question {
                QuestionKind::BeforeModelCall { request } if decision == Decision::Execute => {
                    Decision::Request(request.clone())
                }
                _ => decision.clone(),
            })
            .input_at(3, Input::ExternalSpend(1.0))
    };
    // `Execute` stands for a changed request.
    for decision in [Decision::Proceed, Decision::Execute] {
        check(
            &script(decision),
            &[
                "0 question beforeModelCall 1",
                "9 end budgetExceeded after 0: ",
            ],
        );
    }
    check(
        &script(Decision::Stop),
        &["0 question beforeModelCall 1", "9 end stopped after 0: "],
    );
    // This one is free.
    check(
        &script(Decision::Reply("Given.".to_owned())),
        &[
            "0 question beforeModelCall 1",
            "9 text Given.",
            "9 end completed after 1: Given.",
        ],
    );
}

#[test]
fn a_message_of_the_user_does_not_renew_a_spent_budget() {
    let script = budget(1.0)
        .with(|spec| {
            spec.text_only = OnTextOnlyReply::WaitForInput;
            spec.asks.human = true;
        })
        .reply("What next?")
        .decides_after(5, |_| Decision::Result("More".to_owned()))
        .input_at(3, Input::ExternalSpend(1.0));
    check(
        &script,
        &[
            "0 ask 1",
            "0 text What next?",
            "0 human What next?",
            "0 question input What next?",
            "5 human said true",
            "  told More",
            "5 end budgetExceeded after 1: What next?",
        ],
    );
}
