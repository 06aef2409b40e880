//! What becomes of a gadget that was running when the process ended: each policy, killed in each state, with its costs.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the lines have the events that matter"
)]

mod approvals;
mod policies;
mod questions;

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{
    Asks, Close, Command, Decision, Input, Output, Plan, Question, QuestionId, QuestionKind,
    Report, Run, RunConfig,
};
use gadgetry_proto::schema::{GadgetSpec, OnInterrupt, Registry};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Usage;
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
        usage: Some(Usage::default().cost(0.0)),
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
                let costs = start.subagent_costs.iter();
                let costs = costs.map(|(agent, cost)| format!(" {agent}=${cost}"));
                let costs: String = costs.collect();
                format!("start {}{kept}{costs}", start.invocation_id)
            }
            Output::Cancel(id) => format!("cancel {}", id.0),
            Output::Ask(Question {
                id,
                kind: QuestionKind::BeforeGadget { start },
            }) => format!("hold {} {}", id.0, start.invocation_id),
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
                            CallAnswer::Result(text) => ("ok", text),
                            CallAnswer::Error(text) => ("error", text),
                        };
                        let text = text.split(':').next().unwrap_or_default();
                        format!("{word} {invocation_id} ${cost} {duration_ms}ms: {text}")
                    }
                    EventKind::GadgetCost {
                        invocation_id,
                        cost,
                        ..
                    } => format!("late {invocation_id} ${cost}"),
                    EventKind::ApprovalRequired {
                        invocation_id,
                        approval,
                        ..
                    } => format!("show {invocation_id} {}", approval.id.shown),
                    EventKind::ApprovalAnswered {
                        invocation_id,
                        approval,
                        answer,
                        ..
                    } => format!("{answer:?} {invocation_id} {}", approval.shown),
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
