//! Before a request, after a reply, and in place of one.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use std::sync::Arc;

use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::run::{Command, Decision, QuestionKind};

use super::{bells, request};
use crate::support::sim::play;
use crate::support::sim::script::{Finish, Piece, Script, gadget};
use crate::support::sim::transcript::check;

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
    let sent = log.requests();
    assert_eq!(sent[0].messages, request().messages);
    assert_eq!(sent[0].iteration, 1);
    assert_eq!(sent[1].messages[..], log.history[..sent[1].messages.len()]);
    assert!(!log.history.contains(&request().messages[0]));
}

#[test]
fn calls_in_a_reply_of_the_hook_are_executed() {
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
        next: None,
    }
}

/// A decision continues a run that its reply would have ended.
#[test]
fn a_next_message_continues_the_run() {
    let next = Decision::AfterReply {
        text: None,
        append: Vec::new(),
        next: Some("Run the tests.".to_owned()),
    };
    check(
        &after_model_call(&next, 0).reply("Done.").reply("Tested."),
        &[
            "0 ask 1",
            "0 text Done.",
            "0 question afterModelCall 1",
            "  told Run the tests.",
            "0 ask 2",
            "0 text Tested.",
            "0 question afterModelCall 2",
            "0 end completed after 2: Tested.",
        ],
    );
}

#[test]
fn appended_messages_follow_the_results() {
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
fn the_text_of_a_kept_reply_can_be_changed() {
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
fn a_message_can_replace_an_empty_reply() {
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
fn the_hook_can_replace_a_failed_model_call() {
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
fn a_failure_after_shown_text_asks_no_question() {
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
