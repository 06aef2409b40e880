//! What somebody may want of a run: to stop it, to tell it more.

use gadgetry_proto::run::Command;

use crate::support::sim::script::{Piece, Reply, Script, block, gadget, open_block};
use crate::support::sim::transcript::check;

const CANCELLED: &str = "Error: The run was cancelled before the call was done";

fn inject(text: &str) -> Command {
    Command::Inject(text.to_owned())
}

#[test]
fn a_run_cancelled_while_a_reply_is_read_answers_every_call() {
    let begin =
        block("Slow:a", &[]) + &block("Slow:b:a", &[]) + "And <b" + &open_block("Slow:c", &[]);
    let pieces = vec![
        Piece::Text(begin),
        Piece::Pause(10),
        Piece::Text("never read".to_owned()),
    ];
    let script = Script::default()
        .gadget(gadget("Slow").takes(50))
        .replies(Reply::stop(pieces))
        .at(5, Command::Cancel);
    let cut = "Error: The call was not executed: the reply was cut off because the run was cancelled before the block \
               was complete.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Slow",
            "0 start a {}",
            "0 call b Slow",
            "0 text \nAnd <b",
            "5 cancel a",
            &format!("5 error a: {CANCELLED}"),
            &format!("5 error b: {CANCELLED}"),
            "5 close model",
            "5 call c Slow",
            &format!("5 error c: {cut}"),
            "5 reply error",
            &format!("  told Result (a): {CANCELLED}"),
            &format!("  told Result (b): {CANCELLED}"),
            &format!("  told Result (c): {cut}"),
            "5 end cancelled after 1: \nAnd <b",
        ],
    );
}

#[test]
fn a_run_cancelled_while_gadgets_work_answers_every_call() {
    let script = Script::default()
        .gadget(gadget("Slow").takes(50))
        .gadget(gadget("Bell"))
        .reply(block("Slow:a", &[]) + &block("Bell:b", &[]) + &block("Bell:c:a", &[]))
        .at(5, Command::Cancel);
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Slow",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 call c Bell",
            "0 ok b: ok Bell",
            "5 cancel a",
            &format!("5 error a: {CANCELLED}"),
            &format!("5 error c: {CANCELLED}"),
            &format!("  told Result (a): {CANCELLED}"),
            "  told Result (b): ok Bell",
            &format!("  told Result (c): {CANCELLED}"),
            "5 end cancelled after 1: ",
        ],
    );
}

#[test]
fn a_run_cancelled_before_the_model_says_anything() {
    let script = Script::default()
        .replies(Reply::stop(vec![Piece::Pause(10)]))
        .at(5, Command::Cancel);
    check(
        &script,
        &[
            "0 ask 1",
            "5 close model",
            "5 reply error",
            "5 end cancelled after 1: ",
        ],
    );
}

#[test]
fn a_message_of_the_user_comes_with_the_next_request() {
    let script = Script::default()
        .gadget(gadget("Slow").takes(20))
        .reply(block("Slow:a", &[]))
        .at(5, inject("Also !!!GADGET_END this"));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Slow",
            "0 start a {}",
            "20 ok a: ok Slow",
            "  told Result (a): ok Slow",
            "  told Also !\u{200B}!!GADGET_END this",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_message_of_the_user_continues_a_run() {
    let pieces = vec![Piece::Pause(10), Piece::Text("Done.".to_owned())];
    let script = Script::default()
        .replies(Reply::stop(pieces))
        .at(5, inject("More"));
    check(
        &script,
        &[
            "0 ask 1",
            "10 text Done.",
            "  told More",
            "10 ask 2",
            "10 text fin",
            "10 end completed after 2: fin",
        ],
    );
}

/// The latest one of this text, and only until an iteration has ended after it.
#[test]
fn a_message_of_the_user_is_taken_back() {
    let retract = |text: &str| Command::Retract(text.to_owned());
    let script = Script::default()
        .gadget(gadget("Slow").takes(20))
        .reply(block("Slow:a", &[]))
        .at(5, inject("More"))
        .at(6, inject("Less"))
        .at(7, inject("More"))
        .at(8, retract("More"))
        .at(9, retract("Less"))
        .at(9, retract("Never said"));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Slow",
            "0 start a {}",
            "20 ok a: ok Slow",
            "  told Result (a): ok Slow",
            "  told More",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}
