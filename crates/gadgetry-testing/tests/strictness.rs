//! What a mock complains about, and when.

use gadgetry::proto::delta::Delta;
use gadgetry::{Agent, AgentError, Model};
use gadgetry_testing::{
    MockModel, MockModelBuilder, RequestChecker, Rule, any, call, conversation, paused,
};

use crate::support::{answer, deltas, panic_of, request, says};

/// Asks these; the report without the places of the rules.
fn report(builder: MockModelBuilder, asks: &[&str]) -> Option<String> {
    let model = builder.build();
    for ask in asks {
        drop(model.stream(says(ask)));
    }
    model
        .check()
        .err()
        .map(|mismatch| placeless(&mismatch.to_string()))
}

/// `rule 1 (a/path.rs:3:5)` as `rule 1 (here)`.
fn placeless(report: &str) -> String {
    let place = format!("({}:", file!());
    let parts = report.split(&place);
    let parts = parts.enumerate().map(|(number, part)| match number {
        0 => part.to_owned(),
        _ => format!("(here{}", &part[part.find(')').unwrap()..]),
    });
    parts.collect()
}

#[test]
fn nothing_to_complain_about() {
    let fine = |builder, asks: &[&str]| assert_eq!(report(builder, asks), None);
    fine(MockModel::builder(), &[]);
    fine(
        MockModel::builder().when(any()).replies_text("x"),
        &["a", "b"],
    );
    let rules = MockModel::builder()
        .when(any())
        .optional()
        .times(3)
        .replies_text("x");
    fine(rules, &["a"]);
    let lenient = MockModel::builder()
        .when(|m| m.last_message_contains("never"))
        .replies_text("x");
    fine(lenient.lenient(), &["a"]);
}

#[test]
fn a_request_that_nothing_matches() {
    let rules = MockModel::builder()
        .when(|m| m.last_message_contains("weather"))
        .label("forecast")
        .optional()
        .replies_text("x")
        .when(|m| m.last_message_matches("^a"))
        .once()
        .replies_text("y");
    assert_eq!(
        report(rules, &["all", "again\nand again"]).unwrap(),
        "the mock model \"mock\" was called 2 times, not as its rules expect
no rule of the mock model \"mock\" answers request 2:
    1 user: again
        and again
  rule 1 \"forecast\" (here): the last message contains \"weather\": it is of the user and reads \"again\\nand again\"
  rule 2 (here): it matches, but has answered 1 time
"
    );
    assert_eq!(
        report(MockModel::builder().name("bare"), &["hello"]).unwrap(),
        "the mock model \"bare\" was called 1 time, not as its rules expect
no rule of the mock model \"bare\" answers request 1:
    1 user: hello
  it has no rules
"
    );
}

#[test]
fn rules_that_answered_too_little() {
    let rules = MockModel::builder()
        .when(|m| m.last_message_contains("a"))
        .times(3)
        .label("thrice")
        .replies_text("x")
        .when(any())
        .replies_in_order(["1", "2"])
        .when(any())
        .replies_text("never");
    assert_eq!(
        report(rules, &["a", "a", "b"]).unwrap(),
        "the mock model \"mock\" was called 3 times, not as its rules expect
rule 1 \"thrice\" (here) answered 2 of 3 times; it waits for: the last message contains \"a\"
rule 2 (here) answered 1 of 2 times; it waits for: any request
rule 3 (here) never answered; it waits for: any request
"
    );
}

#[test]
fn the_stream_of_an_unmatched_request() {
    let model = MockModel::builder().build();
    let deltas = paused(deltas(&model, says("x")));
    let [Delta::Error(failed)] = deltas.as_slice() else {
        panic!("{deltas:?}");
    };
    let (error, code) = (&failed.message, &failed.code);
    assert!(
        error.starts_with("no rule of the mock model \"mock\""),
        "{error}"
    );
    assert_eq!(code.as_deref(), Some("unmatched_request"));
    assert_eq!(model.answered_by(), [None]);
    drop(model.check());
    let lenient = MockModel::builder().lenient().build();
    assert_eq!(paused(answer(&lenient, says("x"))).unwrap(), "");
}

#[test]
fn an_unmatched_request_panics_on_drop_unless_it_was_checked() {
    let unmatched = || {
        let model = MockModel::builder().build();
        drop(model.stream(says("x")));
        model
    };
    let report = "the mock model \"mock\" was called 1 time";
    assert!(panic_of(|| unmatched().verify()).starts_with(report));
    assert!(panic_of(|| drop(unmatched())).starts_with(report));
    // The last clone speaks, and only that.
    let model = unmatched();
    drop(model.clone());
    assert!(panic_of(|| drop(model)).starts_with(report));
    // A request behind the question is news.
    let model = unmatched();
    model.check().unwrap_err();
    drop(model.stream(says("y")));
    assert!(panic_of(|| drop(model)).starts_with("the mock model \"mock\" was called 2 times"));
    // A mock without requests leaves the word to the error of a failed `build`; only `verify` reports it.
    let unused = || {
        MockModel::builder()
            .when(any())
            .once()
            .replies_text("x")
            .build()
    };
    let failed = Agent::builder().model(unused()).max_iterations(0).build();
    assert_eq!(failed.unwrap_err(), AgentError::NoIterations);
    let report = "the mock model \"mock\" was called 0 times";
    assert!(panic_of(|| unused().verify()).starts_with(report));
    // Two panics at once would end the process.
    let words = panic_of(|| {
        let _model = unmatched();
        panic!("something else");
    });
    assert_eq!(words, "something else");
}

#[test]
fn broken_conversations_end_the_test_at_once() {
    let broken = || {
        let unanswered = conversation()
            .user("Go.")
            .assistant_call(call("Run").id("a"));
        request(unanswered.user("And?").build())
    };
    let model = MockModel::in_order(["x"]);
    let words = panic_of(|| model.stream(broken()));
    assert_eq!(
        words,
        "request 1 to the mock model \"mock\" is an invalid conversation: 
  message 2: the call \"a\" is not answered in the next message
1 user: Go.
2 assistant: !!!GADGET_START:Run:a
    !!!GADGET_END
3 user: And?
"
    );
    // Where something catches the panic, the report still has it.
    let report = model.check().unwrap_err().to_string();
    assert!(report.contains("is an invalid conversation"), "{report}");
    for tolerant in [
        MockModel::builder().unchecked(),
        MockModel::builder().checker(RequestChecker::default().without(Rule::EveryCallAnswered)),
    ] {
        let model = tolerant.when(any()).replies_text("x").build();
        drop(model.stream(broken()));
        model.verify();
    }
    // Lenience is about rules, not about this.
    let lenient = MockModel::builder().lenient().build();
    panic_of(|| lenient.stream(broken()));
    lenient.check().unwrap_err();
}

#[test]
fn two_mocks_side_by_side_share_nothing() {
    let threads: Vec<_> = (0..4)
        .map(|number| {
            std::thread::spawn(move || {
                let reply = format!("I am {number}");
                let model = MockModel::builder()
                    .when(any())
                    .times(50)
                    .replies_text(&reply)
                    .build();
                for _ in 0..50 {
                    assert_eq!(paused(answer(&model, says("Who?"))), Ok(reply.clone()));
                }
                assert_eq!(model.call_count(), 50);
                model.verify();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_mock_that_many_ask_answers_each_once() {
    let model = MockModel::builder()
        .when(any())
        .times(100)
        .replies_text("yes")
        .when(any())
        .times(100)
        .replies_text("no")
        .build();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let model = model.clone();
            std::thread::spawn(move || {
                (0..50)
                    .filter(|_| paused(answer(&model, says("?"))).unwrap() == "yes")
                    .count()
            })
        })
        .collect();
    let yes: usize = threads.into_iter().map(|it| it.join().unwrap()).sum();
    assert_eq!(yes, 100);
    model.verify();
}
