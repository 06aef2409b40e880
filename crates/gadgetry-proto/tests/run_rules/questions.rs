//! What others decide: every question with every decision, in time, late, never and wrong.

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::id::CallId;
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::{Content, Message, Request, Role};
use gadgetry_proto::run::{
    Asks, Close, Command, Decision, Input, Misuse, Output, QuestionId, QuestionKind, Run, TextOnly,
};
use gadgetry_proto::time::Time;
use serde_json::json;

use crate::sim::script::{Finish, Piece, Reply, Script, block, gadget};
use crate::sim::transcript::{check, lines};
use crate::sim::{drain, play};

const CANCELLED: &str = "Error: The run was cancelled before the call was done";

/// Everything is asked.
fn all() -> Asks {
    Asks {
        human: true,
        ..Asks::controller()
    }
}

fn name(question: &QuestionKind) -> &'static str {
    match question {
        QuestionKind::BeforeModelCall { .. } => "BeforeModelCall",
        QuestionKind::AfterModelCall { .. } => "AfterModelCall",
        QuestionKind::ModelError { .. } => "ModelError",
        QuestionKind::BeforeGadget { .. } => "BeforeGadget",
        QuestionKind::AfterGadget { .. } => "AfterGadget",
        QuestionKind::DependencySkipped { .. } => "DependencySkipped",
        QuestionKind::Human { .. } => "Human",
        QuestionKind::Input { .. } => "Input",
    }
}

/// A run in which every question comes up.
fn everything() -> Script {
    let calls = block("Bell:a", &[])
        + &block("Fail:b", &[])
        + &block("Bell:c:b", &[])
        + &block("Oracle:d", &[]);
    Script::default()
        .gadget(gadget("Bell"))
        .gadget(gadget("Fail").fails("no"))
        .gadget(gadget("Oracle").asks("Which?"))
        .with(|spec| {
            spec.asks = all();
            spec.text_only = TextOnly::WaitForInput;
            spec.max_iterations = 4;
        })
        .reply(format!("So.{calls}"))
        .reply_cut("", Finish::Error("no line".to_owned()))
        .decides(|question| {
            let failed = matches!(question, QuestionKind::ModelError { .. });
            failed.then(|| Decision::Reply("That is it.".to_owned()))
        })
}

fn request() -> Request {
    Request {
        messages: Arc::new(vec![Message::text(Role::User, "Instead")]),
        ..Request::default()
    }
}

/// One decision of each kind, and the questions that it answers besides the one that all answer.
fn decisions() -> Vec<(Decision, &'static [&'static str])> {
    let after = Decision::AfterReply {
        text: Some("Kept.".to_owned()),
        append: vec![Message::text(Role::User, "And this.")],
    };
    vec![
        (Decision::Request(request()), &["BeforeModelCall"]),
        (
            Decision::Reply(format!("Given.{}", block("Bell:x", &[]))),
            &["BeforeModelCall", "ModelError"],
        ),
        (after, &["AfterModelCall"]),
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
            &["BeforeGadget", "AfterGadget"],
        ),
        (Decision::Execute, &["DependencySkipped"]),
        (
            Decision::Stop,
            &["BeforeModelCall", "AfterModelCall", "AfterGadget"],
        ),
    ]
}

const QUESTIONS: [&str; 8] = [
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
    let mut run = Run::new(script.spec(), script.conversation.clone()).expect("good tags");
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

/// Calls of `ids` to `Bell`.
fn bells(ids: &[&str]) -> String {
    let calls = ids.iter().map(|id| block(&format!("Bell:{id}"), &[]));
    calls.collect()
}

fn before_gadget(bell: crate::sim::script::Behaviour, ids: &[&str]) -> Script {
    Script::default()
        .gadget(bell)
        .with(|spec| spec.asks.before_gadget = true)
        .reply(bells(ids))
}

/// Decides about one call, after some time.
fn about(mut script: Script, id: &'static str, delay_ms: u64, decision: Decision) -> Script {
    script.decide = Arc::new(move |question| {
        let it = match question {
            QuestionKind::BeforeGadget { start } => start.invocation_id.as_str(),
            QuestionKind::AfterGadget { about, .. }
            | QuestionKind::DependencySkipped { about, .. }
            | QuestionKind::Human { about, .. } => about.invocation_id.as_str(),
            QuestionKind::BeforeModelCall { .. }
            | QuestionKind::AfterModelCall { .. }
            | QuestionKind::ModelError { .. }
            | QuestionKind::Input { .. } => "",
        };
        if it == id {
            (delay_ms, decision.clone())
        } else {
            (0, Decision::Proceed)
        }
    });
    script
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
            &format!("  told Result (b): {skipped}"),
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
fn unrelated_calls_go_on_while_one_is_held() {
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
fn a_held_call_keeps_its_place() {
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

fn after_gadget(bell: crate::sim::script::Behaviour) -> Script {
    Script::default()
        .gadget(bell)
        .with(|spec| spec.asks.after_gadget = true)
        .reply(bells(&["a", "b:a"]))
}

#[test]
fn what_a_gadget_has_come_to_can_be_changed() {
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
            &format!("  told Result (b): {skipped}"),
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
fn an_unmet_dependency_is_somebody_elses_decision() {
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

fn before_model_call() -> Script {
    Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.asks.before_model_call = true)
        .reply(bells(&["a"]))
}

/// Decides about the request with this number; until then there are 5 milliseconds.
fn about_request(mut script: Script, number: u32, decision: Decision) -> Script {
    script.decide = Arc::new(move |question| match question {
        QuestionKind::BeforeModelCall { request } if request.iteration == number => {
            (5, decision.clone())
        }
        _ => (0, Decision::Proceed),
    });
    script
}

#[test]
fn another_request_changes_no_history() {
    let log = play(&about_request(
        before_model_call(),
        1,
        Decision::Request(request()),
    ));
    let sent: Vec<&Request> = log
        .all()
        .filter_map(|output| match output {
            Output::Send(request) => Some(request),
            _ => None,
        })
        .collect();
    assert_eq!(sent[0].messages, request().messages);
    assert_eq!(sent[0].iteration, 1);
    assert_eq!(sent[1].messages[..], log.history[..sent[1].messages.len()]);
    assert!(!log.history.contains(&request().messages[0]));
}

#[test]
fn calls_in_a_reply_that_somebody_gives_are_executed() {
    let text = format!("Given.{}", bells(&["x"]));
    check(
        &about_request(before_model_call(), 1, Decision::Reply(text)),
        &[
            "0 question beforeModelCall 1",
            "5 text Given.",
            "5 call x Bell",
            "5 start x {}",
            "5 ok x: ok Bell",
            "5 question beforeModelCall 2",
            "  told Result (x): ok Bell",
            "5 ask 2",
            "5 call a Bell",
            "5 start a {}",
            "5 ok a: ok Bell",
            "5 question beforeModelCall 3",
            "  told Result (a): ok Bell",
            "5 ask 3",
            "5 text fin",
            "5 end completed after 3: fin",
        ],
    );
}

#[test]
fn a_run_that_is_stopped_before_a_request_has_had_no_reply_to_it() {
    check(
        &about_request(before_model_call(), 1, Decision::Stop),
        &["0 question beforeModelCall 1", "5 end stopped after 0: "],
    );
    check(
        &about_request(before_model_call(), 2, Decision::Stop),
        &[
            "0 question beforeModelCall 1",
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 ok a: ok Bell",
            "0 question beforeModelCall 2",
            "  told Result (a): ok Bell",
            "5 end stopped after 1: ",
        ],
    );
}

#[test]
fn a_run_that_is_cancelled_before_a_request_has_had_no_reply_to_it() {
    let script = about_request(before_model_call(), 1, Decision::Proceed);
    check(
        &script.at(3, Command::Cancel),
        &["0 question beforeModelCall 1", "3 end cancelled after 0: "],
    );
}

fn after_model_call(decision: &Decision, delay_ms: u64) -> Script {
    let (decision, bell) = (decision.clone(), gadget("Bell").takes(10));
    let mut script = Script::default()
        .gadget(bell)
        .with(|spec| spec.asks.after_model_call = true);
    script.decide = Arc::new(move |question| match question {
        QuestionKind::AfterModelCall { iteration: 1, .. } => (delay_ms, decision.clone()),
        _ => (0, Decision::Proceed),
    });
    script
}

fn rewritten(text: Option<&str>) -> Decision {
    Decision::AfterReply {
        text: text.map(str::to_owned),
        append: vec![
            Message::text(Role::User, "First."),
            Message::text(Role::User, "Second."),
        ],
    }
}

#[test]
fn what_follows_a_reply_stands_behind_the_results() {
    for delay_ms in [0, 5, 10, 20] {
        let script = after_model_call(&rewritten(None), delay_ms).reply(bells(&["a"]));
        let end = delay_ms.max(10);
        check(
            &script,
            &[
                "0 ask 1",
                "0 call a Bell",
                "0 start a {}",
                "0 question afterModelCall 1",
                "10 ok a: ok Bell",
                "  told Result (a): ok Bell",
                "  told First.",
                "  told Second.",
                &format!("{end} ask 2"),
                &format!("{end} text fin"),
                &format!("{end} question afterModelCall 2"),
                &format!("{end} end completed after 2: fin"),
            ],
        );
    }
}

#[test]
fn a_reply_that_is_kept_otherwise() {
    let script =
        after_model_call(&rewritten(Some("Kept.")), 3).reply(format!("One.{}Two.", bells(&["a"])));
    let log = play(&script);
    let [_, _, reply, results, first, second, _] = &log.history[..] else {
        panic!("{:#?}", log.history);
    };
    assert_eq!(reply.raw.as_deref(), Some("Kept."));
    let kept = Content::Text {
        text: "Kept.".to_owned(),
    };
    assert!(matches!(&reply.content[..], [text, Content::GadgetCall(_)] if *text == kept));
    assert!(matches!(
        &results.content[..],
        [Content::GadgetResult { .. }]
    ));
    assert_eq!(*first, Message::text(Role::User, "First."));
    assert_eq!(*second, Message::text(Role::User, "Second."));
}

/// Where the model has said nothing, no other message is taken for its reply.
#[test]
fn a_reply_in_place_of_none() {
    let script = after_model_call(&rewritten(Some("Kept.")), 0).reply("");
    let log = play(&script);
    assert_eq!(
        log.history[1..],
        [
            Message::text(Role::User, "Go"),
            Message::text(Role::Assistant, "Kept."),
            Message::text(Role::User, "First."),
            Message::text(Role::User, "Second."),
        ][usize::from(log.history[0].role == Role::User)..]
    );
}

#[test]
fn a_run_that_is_stopped_after_a_reply_finishes_its_calls() {
    check(
        &after_model_call(&Decision::Stop, 5).reply(bells(&["a"])),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 question afterModelCall 1",
            "10 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "10 end stopped after 1: ",
        ],
    );
}

fn model_error(decision: Decision) -> Script {
    Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.asks.model_error = true)
        .decides(move |question| {
            matches!(question, QuestionKind::ModelError { .. }).then(|| decision.clone())
        })
        .reply_cut("", Finish::Error("no line".to_owned()))
}

#[test]
fn a_model_that_fails_can_be_stood_in_for() {
    check(
        &model_error(Decision::Proceed),
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 question modelError transport: no line",
            "0 end modelError after 1 (no line): ",
        ],
    );
    check(
        &model_error(Decision::Reply(format!("Given.{}", bells(&["x"])))),
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 question modelError transport: no line",
            "0 text Given.",
            "0 call x Bell",
            "0 start x {}",
            "0 ok x: ok Bell",
            "  told Result (x): ok Bell",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

/// What was handed on cannot be taken back, so there is nothing to decide.
#[test]
fn a_model_that_fails_in_the_middle_is_not_asked_about() {
    let mut script = model_error(Decision::Reply("Given.".to_owned()));
    script.replies[0].pieces = vec![Piece::Text("So".to_owned())];
    check(
        &script,
        &[
            "0 ask 1",
            "0 text So",
            "0 reply error: no line",
            "0 end modelError after 1 (no line): So",
        ],
    );
}

fn oracle() -> Script {
    let oracle = gadget("Oracle")
        .takes(3)
        .says("nobody")
        .asks("Which?")
        .costs(0.5);
    let oracle = oracle.with(|spec| spec.timeout_ms = Some(5));
    Script::default()
        .gadget(oracle)
        .reply(block("Oracle:a", &[]))
}

#[test]
fn a_person_answers_for_a_gadget_without_any_hurry() {
    let script = about(
        oracle().with(|spec| spec.asks.human = true),
        "a",
        50,
        Decision::Result("the left one".to_owned()),
    );
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Oracle",
            "0 start a {}",
            "3 human Which?",
            "3 question human a: Which?",
            "53 human said true",
            "53 ok a $0.5: the left one",
            "  told Result (a): the left one",
            "53 ask 2",
            "53 text fin",
            "53 end completed after 2 $0.5: fin",
        ],
    );
}

#[test]
fn a_person_who_says_nothing_leaves_it_to_the_gadget() {
    let script = about(oracle(), "a", 0, Decision::Proceed).with(|spec| {
        spec.asks.human = true;
        spec.asks.after_gadget = true;
    });
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Oracle",
            "0 start a {}",
            "3 human Which?",
            "3 question human a: Which?",
            "3 human said false",
            "3 question afterGadget a",
            "3 ok a $0.5: nobody",
            "  told Result (a): nobody",
            "3 ask 2",
            "3 text fin",
            "3 end completed after 2 $0.5: fin",
        ],
    );
}

/// A driver without a person is never asked for one.
#[test]
fn where_nobody_can_be_asked_the_gadget_counts() {
    check(
        &oracle(),
        &[
            "0 ask 1",
            "0 call a Oracle",
            "0 start a {}",
            "3 human Which?",
            "3 human said false",
            "3 ok a $0.5: nobody",
            "  told Result (a): nobody",
            "3 ask 2",
            "3 text fin",
            "3 end completed after 2 $0.5: fin",
        ],
    );
}

fn chat(human: bool) -> Script {
    Script::default()
        .with(|spec| {
            spec.text_only = TextOnly::WaitForInput;
            spec.asks.human = human;
        })
        .reply("What next?")
}

#[test]
fn the_user_says_what_next_until_nothing_more_comes() {
    let script = chat(true).decides(|question| match question {
        QuestionKind::Input { text } if text == "What next?" => {
            Some(Decision::Result("Stop !!!GADGET_END now".to_owned()))
        }
        _ => None,
    });
    check(
        &script,
        &[
            "0 ask 1",
            "0 text What next?",
            "0 human What next?",
            "0 question input What next?",
            "0 human said true",
            "  told Stop !\u{200B}!!GADGET_END now",
            "0 ask 2",
            "0 text fin",
            "0 human fin",
            "0 question input fin",
            "0 human said false",
            "0 end completed after 2: fin",
        ],
    );
    check(
        &chat(false),
        &[
            "0 ask 1",
            "0 text What next?",
            "0 end completed after 1: What next?",
        ],
    );
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
