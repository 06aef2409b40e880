//! What becomes of a gadget that was running when the process ended: each policy, killed in each state, with its costs.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the lines have the events that matter"
)]

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::{Answer, Event, EventKind};
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{
    AboutCall, Asks, Close, Command, Decision, Input, OpenQuestion, Output, Plan, QuestionId,
    QuestionKind, Report, Run, RunConfig,
};
use gadgetry_proto::schema::{GadgetSpec, OnInterrupt, Registry};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::{Price, Usage};
use serde_json::json;

use crate::support::sim::drain;
use crate::support::sim::script::block;

use OnInterrupt::{Ask, Fail, Rerun};
use Step::{Cancel, Decide, Kill, Wait};

/// What happens, in order, to a run whose reply has called `Work:a` or `Work:a` and `Work:b`.
#[derive(Clone, Debug)]
enum Step {
    /// Milliseconds pass.
    Wait(u64),
    /// The process ends, and another one continues from what was saved.
    Kill,
    Report(u32, Report),
    Done(u32, Outcome),
    Decide(u64, Decision),
    Cancel,
}

fn cost(call: u32, dollars: f64) -> Step {
    Step::Report(call, Report::Cost(dollars))
}

fn done(call: u32, dollars: f64) -> Step {
    let outcome = Outcome::ok("worked");
    Step::Done(
        call,
        Outcome {
            cost: dollars,
            ..outcome
        },
    )
}

fn asked(call: u32, number: u32, question: &str) -> Step {
    let question = question.to_owned();
    Step::Report(call, Report::HumanQuestion { number, question })
}

fn answered(call: u32, number: u32, answer: Option<&str>) -> Step {
    let answer = answer.map(str::to_owned);
    Step::Report(call, Report::HumanAnswer { number, answer })
}

/// What a case of a table is made from.
#[derive(Clone)]
struct Case {
    policy: OnInterrupt,
    asks: Asks,
    timeout_ms: Option<u64>,
    calls: &'static str,
}

fn case(policy: OnInterrupt) -> Case {
    Case {
        policy,
        asks: Asks {
            human: true,
            ..Asks::default()
        },
        timeout_ms: None,
        calls: "a",
    }
}

impl Case {
    fn plan(&self) -> Arc<Plan> {
        let spec = GadgetSpec {
            name: "Work".to_owned(),
            on_interrupt: self.policy,
            timeout_ms: self.timeout_ms,
            ..GadgetSpec::default()
        };
        let config = RunConfig {
            asks: self.asks,
            ..RunConfig::default()
        };
        let registry = Registry::new([spec]).expect("it is a gadget");
        config.plan(registry).expect("there are no tags")
    }

    /// Plays the steps, and the rest of the run. What was started, asked and answered since the gadgets run first, and
    /// the known cost at the end, which is the sum over the events.
    #[track_caller]
    fn check(&self, steps: &[Step], expected: &[&str]) {
        let plan = self.plan();
        let mut run = Run::ask(&plan, "Go");
        drain(&mut run);
        let mut seen = Seen::default();
        let calls = self.calls.split(' ');
        let text: String = calls.map(|id| block(&format!("Work:{id}"), &[])).collect();
        for input in [
            Input::Delta(Delta::text(text)),
            stopped(),
            Input::ModelClosed(Close::Ended),
        ] {
            seen.handle(&mut run, 0, input);
        }
        seen.lines.clear();
        let mut now = 0;
        for step in steps {
            let input = match step.clone() {
                Step::Wait(milliseconds) => {
                    now += milliseconds;
                    Input::Tick
                }
                Step::Kill => {
                    let saved = serde_json::to_string(&run.save()).expect("a snapshot is JSON");
                    let saved = serde_json::from_str(&saved).expect("what was written");
                    run = Run::load(&plan, saved).expect("its own version");
                    Input::Interrupted
                }
                Step::Report(call, report) => Input::Report(CallId(call), report),
                Step::Done(call, outcome) => Input::Done(CallId(call), outcome),
                Step::Decide(id, decision) => Input::Decision(QuestionId(id), decision),
                Step::Cancel => Input::Command(Command::Cancel),
            };
            seen.handle(&mut run, now, input);
        }
        if run.pending().reply {
            for input in [
                Input::Delta(Delta::text("fin")),
                stopped(),
                Input::ModelClosed(Close::Ended),
            ] {
                seen.handle(&mut run, now, input);
            }
        }
        assert!((seen.spent - run.total_cost()).abs() < 1e-12, "{steps:?}");
        assert_eq!(seen.lines, expected, "{:?}: {steps:?}", self.policy);
    }
}

fn stopped() -> Input {
    Input::Delta(Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: Some(Usage {
            cost: Some(0.0),
            ..Usage::default()
        }),
    })
}

#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    spent: f64,
}

impl Seen {
    fn handle(&mut self, run: &mut Run, now: u64, input: Input) {
        let shown = format!("{input:?}");
        let taken = run.handle(Time(now), input);
        assert_eq!(taken, Ok(()), "{shown}");
        for output in drain(run) {
            self.output(output);
        }
    }

    fn output(&mut self, output: Output) {
        let line = match output {
            Output::Start(start) => {
                let kept = start.answered.iter();
                let kept = kept.map(|it| format!(" {}={}:{}", it.number, it.question, it.answer));
                let kept: String = kept.collect();
                format!("start {}{kept}", start.invocation_id)
            }
            Output::Cancel(id) => format!("cancel {}", id.0),
            Output::Ask(question) => {
                let QuestionKind::Interrupted {
                    about,
                    question: text,
                } = question.kind
                else {
                    panic!("another question");
                };
                assert!(text.contains("'Work'") && text.contains(about.invocation_id.as_str()));
                assert_eq!(about.parameters, json!({}));
                format!("ask {} {}", question.id.0, about.invocation_id)
            }
            Output::Finished(summary) => {
                format!("end {:?} ${}", summary.reason, summary.known_cost)
            }
            Output::Event(event) => {
                self.spent += event.kind.own_cost().expect("known costs");
                match event.kind {
                    EventKind::GadgetRestarted { invocation_id, .. } => {
                        format!("again {invocation_id}")
                    }
                    EventKind::GadgetResult {
                        invocation_id,
                        answer,
                        cost,
                        duration_ms,
                        ..
                    } => {
                        let (word, text) = match answer {
                            Answer::Result(text) => ("ok", text),
                            Answer::Error(text) => ("error", text),
                        };
                        let text = text.split(':').next().unwrap_or_default();
                        format!("{word} {invocation_id} ${cost} {duration_ms}ms: {text}")
                    }
                    EventKind::GadgetCost {
                        invocation_id,
                        cost,
                        ..
                    } => format!("late {invocation_id} ${cost}"),
                    EventKind::HumanInputReceived { answered, .. } => {
                        format!("human {answered}")
                    }
                    _ => return,
                }
            }
            Output::Send(_) | Output::CloseModel | Output::Wait(_) => return,
        };
        self.lines.push(line);
    }
}

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

#[test]
fn answers_of_the_user_are_kept_for_the_next_execution() {
    let rerun = case(Rerun);
    rerun.check(
        &[
            asked(0, 0, "Which?"),
            answered(0, 0, Some("This.")),
            asked(0, 1, "Really?"),
            answered(0, 1, None),
            asked(0, 2, "When?"),
            Kill,
            // The second execution has the first answer, and asks the rest.
            asked(0, 1, "Really?"),
            answered(0, 1, Some("Yes.")),
            Kill,
            // The gadget asks something else: the kept answer is for another question.
            asked(0, 0, "What?"),
            Kill,
            done(0, 0.0),
        ],
        &[
            "human true",
            "human false",
            "again a",
            "start a 0=Which?:This.",
            "human true",
            "again a",
            "start a 0=Which?:This. 1=Really?:Yes.",
            "again a",
            "start a 1=Really?:Yes.",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
    case(Ask).check(
        &[
            asked(0, 0, "Which?"),
            answered(0, 0, Some("This.")),
            Kill,
            Decide(0, Decision::Execute),
            done(0, 0.0),
        ],
        &[
            "human true",
            "ask 0 a",
            "human true",
            "again a",
            "start a 0=Which?:This.",
            "ok a $0 0ms: worked",
            "end Completed $0",
        ],
    );
}

/// What was paid for a reply that is withdrawn stays paid.
#[test]
fn a_reply_in_flight_keeps_its_cost() {
    let config = RunConfig {
        price: Some(Price {
            input: 0.0,
            output: 1e6,
            ..Price::default()
        }),
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
        &[child(1.0), cost(0, 0.5), Kill, child(2.0), done(0, 0.25)],
        &[
            "late x $1",
            "again a",
            "start a",
            "late x $2",
            "ok a $0.75 0ms: worked",
            "end Completed $3.75",
        ],
    );
}

#[test]
fn open_questions_are_listed() {
    #[track_caller]
    fn check(run: &Run, expected: &[&str]) {
        let open = run.open_questions();
        let lines: Vec<String> = open
            .iter()
            .map(|it| {
                let call = it.call.map_or(String::new(), |call| format!(" {}", call.0));
                let gadget = it.gadget.as_deref().unwrap_or("-");
                format!("{} {}{call} {gadget}: {:.20}", it.id, it.kind, it.text)
            })
            .collect();
        assert_eq!(lines, expected);
        let json = serde_json::to_string(&open).expect("they are JSON");
        let read: Vec<OpenQuestion> = serde_json::from_str(&json).expect("their own JSON");
        assert_eq!(read, open);
    }
    let plan = Case {
        asks: Asks {
            human: true,
            after_gadget: true,
            after_model_call: true,
            ..Asks::default()
        },
        calls: "a b",
        ..case(Ask)
    }
    .plan();
    let mut run = Run::ask(&plan, "Go");
    drain(&mut run);
    let text = block("Work:a", &[]) + &block("Work:b", &[]) + &block("Work:c", &[]);
    let handle = |run: &mut Run, input| {
        run.handle(Time(1), input).expect("an input");
        drain(run);
    };
    handle(&mut run, Input::Delta(Delta::text(text)));
    handle(&mut run, stopped());
    handle(&mut run, Input::ModelClosed(Close::Ended));
    let question = |call, number, text: &str| {
        let question = text.to_owned();
        Input::Report(CallId(call), Report::HumanQuestion { number, question })
    };
    handle(&mut run, question(0, 0, "Which?"));
    handle(&mut run, question(0, 1, "When?"));
    handle(&mut run, question(1, 0, "Who?"));
    handle(
        &mut run,
        Input::Report(
            CallId(0),
            Report::HumanAnswer {
                number: 0,
                answer: Some("This.".to_owned()),
            },
        ),
    );
    let asks = Outcome {
        asks_human: Some("What?".to_owned()),
        ..Outcome::ok("-")
    };
    handle(&mut run, Input::Done(CallId(2), asks));
    check(
        &run,
        &[
            "0 afterModelCall -: Reply 1 was read. Co",
            "1 human 2 Work: What?",
            "0.1 human 0 Work: When?",
            "1.0 human 1 Work: Who?",
        ],
    );
    handle(&mut run, Input::Done(CallId(1), Outcome::ok("-")));
    handle(&mut run, Input::Interrupted);
    check(
        &run,
        &[
            "0 afterModelCall -: Reply 1 was read. Co",
            "1 human 2 Work: What?",
            "2 afterGadget 1 Work: -",
            "3 interrupted 0 Work: Gadget 'Work' (call ",
        ],
    );
    handle(&mut run, Input::Command(Command::Cancel));
    check(&run, &[]);
}

/// What the user says to the question about an interrupted gadget.
#[test]
fn only_a_yes_lets_a_gadget_run_again() {
    let question = QuestionKind::Interrupted {
        about: AboutCall {
            id: CallId(0),
            invocation_id: "a".into(),
            gadget_name: "Work".to_owned(),
            parameters: json!({}),
        },
        question: "Again?".to_owned(),
    };
    for yes in ["yes", "y", "YES", " Y\n", "Yes"] {
        assert_eq!(
            question.answer(yes.to_owned()),
            Some(Decision::Execute),
            "{yes}"
        );
    }
    for no in ["no", "", "yes, but later", "ja"] {
        let Some(Decision::Deny(text)) = question.answer(no.to_owned()) else {
            panic!("{no} lets it run");
        };
        assert!(text.ends_with(&format!("answered: {no}")), "{text}");
    }
}
