//! Approvals: shown while a call is held or runs, repeated after an interruption, closed exactly once.

use gadgetry_proto::event::{Approval, ApprovalAnswer};
use gadgetry_proto::id::ApprovalId;
use gadgetry_proto::run::QuestionRef;

use super::*;

fn id(call: u32, shown: u128) -> ApprovalId {
    let call = CallId(call);
    ApprovalId { call, shown }
}

fn required(call: u32, shown: u128) -> Step {
    let approval = Approval::new(id(call, shown), "Work", json!({}));
    Step::Report(call, Report::ApprovalRequired(Arc::new(approval)))
}

fn closed(call: u32, shown: u128, answer: ApprovalAnswer) -> Step {
    let approval = id(call, shown);
    Step::Report(call, Report::ApprovalAnswered { approval, answer })
}

fn allowed(call: u32, shown: u128) -> Step {
    closed(call, shown, ApprovalAnswer::Allowed)
}

fn held(policy: OnInterrupt) -> Case {
    Case {
        asks: Asks {
            before_gadget: true,
            ..Asks::default()
        },
        ..case(policy)
    }
}

#[test]
fn an_approval_is_shown_and_closed_once() {
    let no = || ApprovalAnswer::Denied {
        reason: Some("no".to_owned()),
    };
    let (proceed, deny) = (Decision::Proceed, Decision::Deny("no".to_owned()));
    let check = |steps: &[Step], expected: &[&str]| held(Fail).check(steps, expected);
    check(
        &[
            required(0, 1),
            allowed(0, 1),
            Decide(0, proceed.clone()),
            done(0, 0.0),
        ],
        &[
            "show a 1",
            "Allowed a 1",
            "start a",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
    check(
        &[required(0, 1), closed(0, 1, no()), Decide(0, deny.clone())],
        &[
            "show a 1",
            "Denied { reason: Some(\"no\") } a 1",
            "error a $0 0ms: no",
            "end Completed $0",
        ],
    );
    // Answers to another approval, to another call, and twice.
    check(
        &[
            allowed(0, 1),
            required(0, 1),
            required(7, 1),
            Step::Report(
                0,
                Report::ApprovalRequired(Arc::new(Approval::new(id(1, 1), "Work", json!({})))),
            ),
            allowed(0, 2),
            allowed(0, 1),
            allowed(0, 1),
            closed(0, 1, no()),
            Decide(0, proceed.clone()),
            required(0, 3),
            done(0, 0.0),
            required(0, 4),
        ],
        &[
            "show a 1",
            "Allowed a 1",
            "start a",
            // Asked again by a gadget that would do something else, and that then ended.
            "show a 3",
            "Withdrawn a 3",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
    // What is shown has changed; something else decides; the run is cancelled.
    check(
        &[
            required(0, 1),
            required(0, 2),
            Decide(0, proceed.clone()),
            done(0, 0.0),
        ],
        &[
            "show a 1",
            "Withdrawn a 1",
            "show a 2",
            "Withdrawn a 2",
            "start a",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
    check(
        &[required(0, 1), Decide(0, deny)],
        &[
            "show a 1",
            "Withdrawn a 1",
            "error a $0 0ms: no",
            "end Completed $0",
        ],
    );
    check(
        &[required(0, 1), Cancel],
        &[
            "show a 1",
            "Withdrawn a 1",
            "error a $0 0ms: Error",
            "end Cancelled $0",
        ],
    );
    // The process ends: the question is repeated, and what is shown then has the same id or another.
    for (shown, withdrawn) in [(1, None), (2, Some("Withdrawn a 1"))] {
        let again = format!("show a {shown}");
        let answered = format!("Allowed a {shown}");
        let mut expected = vec!["show a 1", "hold 0 a"];
        expected.extend(withdrawn);
        expected.extend([&*again, &*answered, "start a", "again a", "start a"]);
        expected.extend(["ok a $0 0ms: worked", "end Completed $0"]);
        held(Rerun).check(
            &[
                required(0, 1),
                Kill,
                required(0, shown),
                allowed(0, shown),
                Decide(0, proceed.clone()),
                Kill,
                done(0, 0.0),
            ],
            &expected,
        );
    }
    held(Rerun).check(
        &[
            Decide(0, proceed),
            required(0, 1),
            Kill,
            allowed(0, 1),
            done(0, 0.0),
        ],
        &[
            "start a",
            "show a 1",
            "Withdrawn a 1",
            "again a",
            "start a",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
}

#[test]
fn an_open_approval_is_listed_in_place_of_its_question() {
    let case = Case {
        calls: "a b",
        ..held(Fail)
    };
    let mut run = Run::ask(&case.plan(), "Go");
    drain(&mut run);
    let text = block("Work:a", &[]) + &block("Work:b", &[]);
    let mut handle = |input| {
        run.handle(Time(1), input).expect("an input");
        drain(&mut run);
        let open = run.open_questions();
        open.iter().map(|it| it.id).collect::<Vec<_>>()
    };
    let question = |number| QuestionRef::Run(QuestionId(number));
    let opened = handle(Input::Delta(Delta::text(text)));
    assert_eq!(opened, [question(0), question(1)]);
    let Step::Report(call, report) = required(1, 5) else {
        panic!("a report");
    };
    let opened = handle(Input::Report(CallId(call), report));
    assert_eq!(opened, [question(0), QuestionRef::Approval(id(1, 5))]);
    let opened = handle(Input::Decision(QuestionId(1), Decision::Proceed));
    assert_eq!(opened, [question(0)]);
}
