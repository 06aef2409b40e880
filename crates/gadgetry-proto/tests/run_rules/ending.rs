//! How runs end.

use crate::support::sim::script::{Finish, Script, block, gadget};
use crate::support::sim::transcript::check;

#[test]
fn a_reply_without_calls_is_the_answer() {
    let script = Script::default().reply("Hello there.");
    check(
        &script,
        &[
            "0 ask 1",
            "0 text Hello there.",
            "0 end completed after 1: Hello there.",
        ],
    );
}

#[test]
fn an_empty_last_reply_leaves_the_answer_to_the_one_before() {
    let script = Script::default()
        .gadget(gadget("Log"))
        .reply(format!("It is 4.{}", block("Log:a", &[])))
        .reply("");
    check(
        &script,
        &[
            "0 ask 1",
            "0 text It is 4.",
            "0 call a Log",
            "0 start a {}",
            "0 ok a: ok Log",
            "  told Result (a): ok Log",
            "0 ask 2",
            "0 end completed after 2: It is 4.",
        ],
    );
}

#[test]
fn a_gadget_ends_the_run_once_its_siblings_are_done() {
    let reply = block("Done:z", &[]) + &block("Slow:r", &[]) + &block("Slow:s:r", &[]);
    let script = Script::default()
        .gadget(gadget("Done").finishes("all served"))
        .gadget(gadget("Slow").takes(20))
        .reply(reply)
        .reply("unreached");
    check(
        &script,
        &[
            "0 ask 1",
            "0 call z Done",
            "0 start z {}",
            "0 call r Slow",
            "0 start r {}",
            "0 call s Slow",
            "0 ok z: all served",
            "20 ok r: ok Slow",
            "20 start s {}",
            "40 ok s: ok Slow",
            "  told Result (z): all served",
            "  told Result (r): ok Slow",
            "  told Result (s): ok Slow",
            "40 end taskCompleted after 1: all served",
        ],
    );
}

#[test]
fn a_model_failure_after_a_call_keeps_the_results() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .reply_cut(
            block("Bell:a", &[]).trim_end().to_owned() + "And",
            Finish::Error("overloaded".to_owned()),
        )
        .reply("There.");
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 text And",
            "0 reply error: overloaded",
            "0 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "0 ask 2",
            "0 text There.",
            "0 end completed after 2: There.",
        ],
    );
}
