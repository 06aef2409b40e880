//! Every question with every decision, in time, late, never and wrong.

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::event::CompactionStrategy;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{
    Asks, Close, Command, Decision, Input, Misuse, OnTextOnlyReply, Output, QuestionId,
    QuestionKind, Run,
};
use gadgetry_proto::time::Time;
use serde_json::json;

use super::request;
use crate::support::sim::script::{Finish, Script, block, gadget};
use crate::support::sim::transcript::lines;
use crate::support::sim::{drain, play};

/// Everything is asked.
fn all() -> Asks {
    Asks {
        human: true,
        ..Asks::hooks()
    }
}

fn name(question: &QuestionKind) -> &'static str {
    match question {
        QuestionKind::BeforeModelCall { .. } => "BeforeModelCall",
        QuestionKind::BeforeCompaction { .. } => "BeforeCompaction",
        QuestionKind::AfterModelCall { .. } => "AfterModelCall",
        QuestionKind::ModelError { .. } => "ModelError",
        QuestionKind::BeforeGadget { .. } => "BeforeGadget",
        QuestionKind::AfterGadget { .. } => "AfterGadget",
        QuestionKind::DependencySkipped { .. } => "DependencySkipped",
        QuestionKind::Human { .. } => "Human",
        QuestionKind::Interrupted { .. } => "Interrupted",
        QuestionKind::Input { .. } => "Input",
    }
}

/// A run in which every question comes up.
fn everything() -> Script {
    let calls = block("Bell:a", &[])
        + &block("Fail:b", &[])
        + &block("Bell:c:b", &[])
        + &block("Oracle:d", &[]);
    let mut script = Script::default();
    // So long that it is compacted before the first request.
    let old = |n: usize| Message::text(Role::Assistant, format!("{n} ").repeat(1500));
    script.conversation.extend((1..5).map(old));
    script.conversation.push(Message::text(Role::User, "Go on"));
    script
        .gadget(gadget("Bell"))
        .gadget(gadget("Fail").fails("no"))
        .gadget(gadget("Oracle").asks("Which?"))
        .with(|spec| {
            spec.asks = all();
            spec.text_only = OnTextOnlyReply::WaitForInput;
            spec.max_iterations = 4;
            spec.context_window = Some(4_000);
            spec.compaction = Some(Compaction {
                strategy: CompactionStrategy::SlidingWindow,
                keep_recent_turns: 1,
                ..Compaction::default()
            });
        })
        .reply(format!("So.{calls}"))
        .reply_cut("", Finish::Error("no line".to_owned()))
        .decides(|question| {
            let failed = matches!(question, QuestionKind::ModelError { .. });
            failed.then(|| Decision::Reply("That is it.".to_owned()))
        })
}

/// One decision of each kind, and the questions that it answers besides the one that all answer.
fn decisions() -> Vec<(Decision, &'static [&'static str])> {
    let after = Decision::AfterReply {
        text: Some("Kept.".to_owned()),
        append: vec![Message::text(Role::User, "And this.")],
        next: None,
    };
    vec![
        (Decision::Request(request()), &["BeforeModelCall"]),
        (
            Decision::Reply(format!("Given.{}", block("Bell:x", &[]))),
            &["BeforeModelCall", "ModelError"],
        ),
        (
            Decision::StopAfter(Box::new(after.clone())),
            &["AfterModelCall"],
        ),
        (after, &["AfterModelCall"]),
        (
            Decision::StopAfter(Box::new(Decision::Result("last".to_owned()))),
            &["AfterGadget"],
        ),
        (Decision::StopAfter(Box::new(Decision::Stop)), &[]),
        (Decision::Parameters(json!({ "n": 1 })), &["BeforeGadget"]),
        (
            Decision::Result("decided".to_owned()),
            &[
                "BeforeGadget",
                "AfterGadget",
                "DependencySkipped",
                "Human",
                "Input",
            ],
        ),
        (
            Decision::Deny("denied".to_owned()),
            &["BeforeCompaction", "BeforeGadget", "AfterGadget"],
        ),
        (Decision::Execute, &["DependencySkipped"]),
        (
            Decision::Stop,
            &["BeforeModelCall", "AfterModelCall", "AfterGadget"],
        ),
    ]
}

const QUESTIONS: [&str; 9] = [
    "BeforeCompaction",
    "BeforeModelCall",
    "AfterModelCall",
    "ModelError",
    "BeforeGadget",
    "AfterGadget",
    "DependencySkipped",
    "Human",
    "Input",
];

/// The run where the question is open.
fn open(question: &str) -> (Run, Time, QuestionId) {
    let script = everything();
    let log = play(&script);
    let mut run = Run::new(&script.plan(), script.conversation.clone());
    let mut now = Time(0);
    for (step, outputs) in log.outputs.iter().enumerate() {
        if let Some((time, input)) = step.checked_sub(1).map(|at| &log.inputs[at]) {
            now = *time;
            run.handle(now, input.clone()).expect("it was taken before");
        }
        drain(&mut run);
        for output in outputs {
            if let Output::Ask(asked) = output
                && name(&asked.kind) == question
            {
                return (run, now, asked.id);
            }
        }
    }
    panic!("{question} is not asked");
}

#[test]
fn a_decision_answers_its_questions_and_no_other() {
    for question in QUESTIONS {
        for (decision, answers) in decisions() {
            let (mut run, now, id) = open(question);
            let before = run.save();
            let taken = run.handle(now, Input::Decision(id, decision.clone()));
            if answers.contains(&question) {
                assert_eq!(taken, Ok(()), "{question}: {decision:?}");
                assert_ne!(run.save(), before, "{question}: {decision:?}");
            } else {
                let wrong = Err(Misuse::WrongDecision(id));
                assert_eq!(taken, wrong, "{question}: {decision:?}");
                assert_eq!(run.save(), before, "{question}: {decision:?}");
                // It can still be answered.
                let proceed = run.handle(now, Input::Decision(id, Decision::Proceed));
                assert_eq!(proceed, Ok(()));
                assert_ne!(run.save(), before);
            }
        }
    }
}

#[test]
fn a_decision_that_comes_twice_or_after_the_end_is_ignored() {
    for question in QUESTIONS {
        for (decision, _) in decisions() {
            let (mut run, now, id) = open(question);
            let proceed = Input::Decision(id, Decision::Proceed);
            run.handle(now, proceed).expect("an answer");
            let before = run.save();
            let again = Input::Decision(id, decision.clone());
            assert_eq!(run.handle(now, again), Ok(()));
            assert_eq!(run.save(), before, "{question}: {decision:?} twice");

            let (mut run, now, id) = open(question);
            run.handle(now, Input::Command(Command::Cancel))
                .expect("a command");
            let before = run.save();
            let late = Input::Decision(id, decision.clone());
            assert_eq!(run.handle(now, late), Ok(()));
            assert_eq!(run.save(), before, "{question}: {decision:?} late");
        }
    }
    let (mut run, now, _) = open("Input");
    let before = run.save();
    let never_asked = Input::Decision(QuestionId(99), Decision::Execute);
    assert_eq!(run.handle(now, never_asked), Ok(()));
    assert_eq!(run.save(), before);
}

/// Time is all the difference between a decision at once, a late one, and one that comes after the end.
#[test]
fn a_late_decision_does_what_one_in_time_does() {
    for question in QUESTIONS {
        let mut all = decisions();
        all.push((Decision::Proceed, &[]));
        for (decision, answers) in all {
            if decision != Decision::Proceed && !answers.contains(&question) {
                continue;
            }
            let after = |delay_ms| {
                let (decision, mut script) = (decision.clone(), everything());
                let others = Arc::clone(&script.decide);
                script.decide = Arc::new(move |asked| {
                    if name(asked) == question {
                        (delay_ms, decision.clone())
                    } else {
                        others(asked)
                    }
                });
                script
            };
            let (in_time, late) = (play(&after(0)), play(&after(30)));
            assert_eq!(in_time.history, late.history, "{question}: {decision:?}");
            assert_eq!(in_time.summary, late.summary, "{question}: {decision:?}");
            let never = play(&after(1000).at(7, Command::Cancel));
            let end = lines(&never).pop().expect("an end");
            assert!(end.starts_with("7 end cancelled"), "{question}: {end}");
        }
    }
}

/// Inputs that nobody waits for change nothing about an open question.
#[test]
fn parts_of_a_reply_make_no_sense_while_a_request_is_decided_about() {
    let (mut run, now, _) = open("BeforeModelCall");
    let before = run.save();
    for (input, misuse) in [
        (Input::Delta(Delta::text("x")), Misuse::NoReply),
        (Input::ModelClosed(Close::Ended), Misuse::NoReply),
        (
            Input::Done(CallId(0), Outcome::ok("x")),
            Misuse::NotRunning(CallId(0)),
        ),
    ] {
        assert_eq!(run.handle(now, input), Err(misuse));
        assert_eq!(run.save(), before);
    }
}
