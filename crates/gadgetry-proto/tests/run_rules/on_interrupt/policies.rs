//! Which gadgets run again, and what each call has cost in the end.

use gadgetry_proto::usage::Price;

use super::*;

#[test]
fn a_gadget_that_may_not_run_again_fails_and_keeps_its_cost() {
    case(Fail).check(
        &[cost(0, 0.5), Wait(7), cost(0, 0.25), Kill],
        &["error a $0.75 7ms: interrupted", "end Completed $0.75"],
    );
    // A user is there, but is not for this.
    case(Fail).check(
        &[asked(0, 0, "Sure?"), Kill],
        &["error a $0 0ms: interrupted", "end Completed $0"],
    );
    // What ended before is as it was.
    Case {
        calls: "a b",
        ..case(Fail)
    }
    .check(
        &[cost(0, 0.5), done(0, 2.0), cost(1, 0.125), Kill],
        &[
            "ok a $2 0ms: worked",
            "error b $0.125 0ms: interrupted",
            "end Completed $2.125",
        ],
    );
}

#[test]
fn a_gadget_that_reads_runs_again_and_costs_both_executions() {
    let rerun = case(Rerun);
    rerun.check(
        &[
            cost(0, 0.5),
            Wait(5),
            Kill,
            Wait(3),
            cost(0, 1.0),
            done(0, 1.25),
        ],
        &[
            "again a",
            "start a",
            "ok a $1.75 3ms: worked",
            "end Completed $1.75",
        ],
    );
    // Killed again, and again.
    rerun.check(
        &[cost(0, 0.5), Kill, cost(0, 0.25), Kill, Kill, done(0, 1.0)],
        &[
            "again a",
            "start a",
            "again a",
            "start a",
            "again a",
            "start a",
            "ok a $1.75 0ms: worked",
            "end Completed $1.75",
        ],
    );
    // Nothing that has ended starts again.
    Case {
        calls: "a b",
        ..case(Rerun)
    }
    .check(
        &[done(0, 1.0), Kill, Wait(1), done(1, 0.0)],
        &[
            "ok a $1 0ms: worked",
            "again b",
            "start b",
            "ok b $0 1ms: worked",
            "end Completed $1",
        ],
    );
    // A cost that is none does not count.
    rerun.check(
        &[cost(0, -1.0), cost(0, f64::NAN), Kill, done(0, 0.5)],
        &[
            "again a",
            "start a",
            "ok a $0.5 0ms: worked",
            "end Completed $0.5",
        ],
    );
}

#[test]
fn a_gadget_that_runs_again_has_all_its_time() {
    let slow = Case {
        timeout_ms: Some(10),
        ..case(Rerun)
    };
    slow.check(
        &[Wait(9), cost(0, 0.5), Kill, Wait(9), done(0, 0.0)],
        &[
            "again a",
            "start a",
            "ok a $0.5 9ms: worked",
            "end Completed $0.5",
        ],
    );
    // Out of time in the second execution: the costs of the first are in the answer, its own come later.
    slow.check(
        &[cost(0, 0.5), Kill, cost(0, 0.25), Wait(10), done(0, 0.25)],
        &[
            "again a",
            "start a",
            "cancel 0",
            "error a $0.5 10ms: Gadget 'Work' execution exceeded timeout of 10ms",
            "late a $0.25",
            "end Completed $0.75",
        ],
    );
    // While the user decides, no time runs.
    Case {
        timeout_ms: Some(10),
        ..case(Ask)
    }
    .check(
        &[
            Kill,
            Wait(100),
            Decide(0, Decision::Execute),
            Wait(9),
            done(0, 0.0),
        ],
        &[
            "ask 0 a",
            "human true",
            "again a",
            "start a",
            "ok a $0 9ms: worked",
            "end Completed $0",
        ],
    );
}

#[test]
fn a_cancelled_gadget_never_runs_again() {
    let cancelled = "error a $0 0ms: Error";
    for policy in [Fail, Rerun, Ask] {
        case(policy).check(
            &[cost(0, 0.5), Cancel, cost(0, 0.25), Kill],
            &["cancel 0", cancelled, "late a $0.75", "end Cancelled $0.75"],
        );
        Case {
            timeout_ms: Some(10),
            ..case(policy)
        }
        .check(
            &[cost(0, 0.5), Wait(10), Kill],
            &[
                "cancel 0",
                "error a $0 10ms: Gadget 'Work' execution exceeded timeout of 10ms",
                "late a $0.5",
                "end Completed $0.5",
            ],
        );
    }
    // Cancelled in its second execution.
    case(Rerun).check(
        &[cost(0, 0.5), Kill, cost(0, 0.25), Cancel, done(0, 0.25)],
        &[
            "again a",
            "start a",
            "cancel 0",
            "error a $0.5 0ms: Error",
            "late a $0.25",
            "end Cancelled $0.75",
        ],
    );
    // And while the question is open.
    case(Ask).check(
        &[cost(0, 0.5), Kill, Cancel],
        &["ask 0 a", "error a $0.5 0ms: Error", "end Cancelled $0.5"],
    );
}

#[test]
fn the_user_decides_whether_a_gadget_runs_again() {
    let decided = |decision: Decision, expected: &[&str]| {
        let before = [cost(0, 0.5), Wait(4), Kill];
        let after = [Decide(0, decision)];
        let steps: Vec<Step> = before.into_iter().chain(after).collect();
        let lines: Vec<&str> = ["ask 0 a"].iter().chain(expected).copied().collect();
        case(Ask).check(&steps, &lines);
    };
    decided(
        Decision::Result("it had worked".to_owned()),
        &[
            "human true",
            "ok a $0.5 4ms: it had worked",
            "end Completed $0.5",
        ],
    );
    decided(
        Decision::Deny("no".to_owned()),
        &["human true", "error a $0.5 4ms: no", "end Completed $0.5"],
    );
    decided(
        Decision::Proceed,
        &[
            "human false",
            "error a $0.5 4ms: interrupted",
            "end Completed $0.5",
        ],
    );
    // Killed while the question is open, and again in the second execution.
    case(Ask).check(
        &[
            cost(0, 0.5),
            Kill,
            Kill,
            Decide(0, Decision::Execute),
            cost(0, 0.25),
            Kill,
            Decide(1, Decision::Execute),
            done(0, 1.0),
        ],
        &[
            "ask 0 a",
            "ask 0 a",
            "human true",
            "again a",
            "start a",
            "ask 1 a",
            "human true",
            "again a",
            "start a",
            "ok a $1.75 0ms: worked",
            "end Completed $1.75",
        ],
    );
    // No user: as if it said nothing.
    Case {
        asks: Asks::default(),
        ..case(Ask)
    }
    .check(
        &[cost(0, 0.5), Kill],
        &["error a $0.5 0ms: interrupted", "end Completed $0.5"],
    );
}

/// What was paid for a reply that is withdrawn stays paid.
#[test]
fn a_reply_in_flight_keeps_its_cost() {
    let config = RunConfig {
        price: Some(Price::default().input(0.0).output(1e6)),
        ..RunConfig::default()
    };
    let plan = config.plan(Registry::default()).expect("no gadgets");
    let mut run = Run::ask(&plan, "Go");
    drain(&mut run);
    run.handle(Time(1), Input::Delta(Delta::text("x".repeat(400))))
        .expect("a reply is read");
    drain(&mut run);
    let (saved, mut costs) = (run.save(), Vec::new());
    let mut run = Run::load(&plan, saved).expect("its own version");
    run.handle(Time(1), Input::Interrupted).expect("an input");
    for output in drain(&mut run) {
        if let Output::Event(event) = output
            && let EventKind::ModelCallEnd { cost, .. } = event.kind
        {
            costs.push(cost);
        }
    }
    assert_eq!(costs, [Some(100.0)], "a token is four characters");
    assert!((run.total_cost() - 100.0).abs() < 1e-9);
    assert!(run.pending().reply, "it is requested again");
}

/// The events of subagents have cost what they say, once, and a second execution adds its own.
#[test]
fn costs_of_subagents_of_an_interrupted_gadget_are_kept() {
    let child = |dollars| {
        let kind = EventKind::GadgetCost {
            call: CallId(0),
            invocation_id: "x".into(),
            gadget_name: "X".to_owned(),
            cost: dollars,
        };
        let event = Box::new(Event::new(0, Time(0), kind));
        Step::Report(0, Report::Child { agent: 0, event })
    };
    case(Rerun).check(
        &[
            child(1.0),
            cost(0, 0.5),
            Kill,
            child(2.0),
            Kill,
            done(0, 0.25),
        ],
        &[
            "late x $1",
            "again a",
            "start a 0=$1",
            "late x $2",
            "again a",
            "start a 0=$3",
            "ok a $0.75 0ms: worked",
            "end Completed $3.75",
        ],
    );
    // What the journal of the subagent knows and this one does not: once, although the second execution is killed, too.
    let missing = |dollars| Step::Report(0, Report::SubagentCost { agent: 0, dollars });
    case(Rerun).check(
        &[
            child(1.0),
            Kill,
            missing(0.5),
            child(2.0),
            Kill,
            done(0, 0.25),
        ],
        &[
            "late x $1",
            "again a",
            "start a 0=$1",
            "late x $2",
            "again a",
            "start a 0=$3.5",
            "ok a $0.75 0ms: worked",
            "end Completed $3.75",
        ],
    );
}
