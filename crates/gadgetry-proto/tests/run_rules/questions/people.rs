//! What only a person can say.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use gadgetry_proto::run::{Command, Decision, OnTextOnlyReply, QuestionKind};

use super::about;
use crate::support::sim::script::{Script, block, gadget};
use crate::support::sim::transcript::check;

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
fn the_answer_of_the_user_has_no_timeout() {
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
fn without_an_answer_the_result_of_the_gadget_counts() {
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
fn without_a_user_the_result_of_the_gadget_counts() {
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
            spec.text_only = OnTextOnlyReply::WaitForInput;
            spec.asks.human = human;
        })
        .reply("What next?")
}

#[test]
fn the_user_gives_messages_until_the_end() {
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

/// Whoever is asked answers at 50; at 10 the user says something by himself.
#[test]
fn a_message_during_the_question_is_its_answer() {
    let script = chat(true)
        .decides_after(50, |_| Decision::Proceed)
        .at(10, Command::Inject("Go on".to_owned()));
    check(
        &script,
        &[
            "0 ask 1",
            "0 text What next?",
            "0 human What next?",
            "0 question input What next?",
            "10 human said true",
            "  told Go on",
            "10 ask 2",
            "10 text fin",
            "10 human fin",
            "10 question input fin",
            "60 human said false",
            "60 end completed after 2: fin",
        ],
    );
}
