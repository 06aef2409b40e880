//! The process ends while work is in flight, and another one continues.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the transcript has the events that matter"
)]

use gadgetry_proto::event::{CallAnswer, EventKind};
use gadgetry_proto::message::Content;
use gadgetry_proto::run::{Decision, Output, QuestionKind};

use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::{interrupt, play};

/// Ends the process after `step` inputs. What was sent, started, asked and answered, before and after.
#[track_caller]
fn check(script: &Script, step: usize, expected: &[&str]) {
    let log = play(script);
    let mut lines = Vec::new();
    for output in interrupt(script, &log, step) {
        match output {
            Output::Send(request) => {
                let results = request.messages.iter().flat_map(|message| &message.content);
                let results = results.filter_map(|content| match content {
                    Content::GadgetResult { invocation_id, .. } => Some(invocation_id.as_str()),
                    _ => None,
                });
                lines.push(format!("send {}", results.collect::<Vec<_>>().join(" ")));
            }
            Output::Start(start) => lines.push(format!("start {}", start.invocation_id)),
            Output::Ask(question) => {
                let QuestionKind::BeforeGadget { start } = question.kind else {
                    panic!("another question");
                };
                lines.push(format!("ask {} {}", question.id.0, start.invocation_id));
            }
            Output::Finished(summary) => lines.push(format!("end {:?}", summary.reason)),
            Output::Event(event) => match event.kind {
                EventKind::GadgetResult {
                    invocation_id,
                    answer,
                    ..
                } => {
                    let (word, text) = match answer {
                        CallAnswer::Result(text) => ("done", text),
                        CallAnswer::Error(text) => ("failed", text),
                    };
                    let text = text.split(':').next().unwrap_or_default();
                    lines.push(format!("{word} {invocation_id}: {text}"));
                }
                EventKind::ModelRetry { .. } => lines.push("retry".to_owned()),
                _ => {}
            },
            Output::CloseModel | Output::Cancel(_) | Output::Wait(_) => {}
        }
    }
    assert_eq!(lines, expected, "after {step} inputs");
}

#[test]
fn a_gadget_in_flight_has_failed_and_finished_ones_are_kept() {
    let reply = block("Bell:a", &[]) + &block("Slow:b", &[]) + &block("Bell:c:b", &[]);
    let script = Script::default()
        .gadget(gadget("Bell"))
        .gadget(gadget("Slow").takes(50))
        .reply(reply);
    // The text, the stop reason, the end of the stream, and `a` is done.
    check(
        &script,
        4,
        &[
            "send ",
            "start a",
            "start b",
            "done a: ok Bell",
            "failed b: interrupted",
            "send a b c",
            "end Completed",
        ],
    );
}

#[test]
fn a_reply_of_which_nothing_was_used_is_requested_again() {
    let script = Script::default().reply("Hello.");
    check(&script, 0, &["send ", "send ", "end Completed"]);
}

#[test]
fn a_reply_that_called_a_gadget_counts_as_cut_off() {
    let pieces = vec![
        Piece::Text(block("Bell:a", &[])),
        Piece::Pause(10),
        Piece::Text(block("Bell:b", &[])),
    ];
    let script = Script::default()
        .gadget(gadget("Bell"))
        .replies(Reply::stop(pieces));
    check(
        &script,
        2,
        &[
            "send ",
            "start a",
            "done a: ok Bell",
            "send a",
            "end Completed",
        ],
    );
}

#[test]
fn open_questions_are_repeated_after_an_interruption() {
    let script = Script::default()
        .with(|spec| spec.asks.before_gadget = true)
        .gadget(gadget("Bell"))
        .reply(block("Bell:a", &[]))
        .decides_after(10, |_| Decision::Proceed);
    let expected = [
        "send ",
        "ask 0 a",
        "ask 0 a",
        "start a",
        "done a: ok Bell",
        "send a",
        "end Completed",
    ];
    check(&script, 3, &expected);
}
