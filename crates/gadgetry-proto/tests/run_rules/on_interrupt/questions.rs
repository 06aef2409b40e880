//! Questions to the user: those of gadgets that are interrupted, and those about them.

use gadgetry_proto::run::{AboutCall, OpenQuestion, QuestionId};

use super::*;

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
    let question = OpenQuestion::of(QuestionId(0), &question).kind;
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
