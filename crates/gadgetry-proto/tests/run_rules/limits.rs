//! Time, number, order.

use gadgetry_proto::run::OnTextOnlyReply;

use crate::support::sim::script::{Behaviour, Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::check;

fn bells(ids: &[&str]) -> String {
    ids.iter()
        .map(|id| block(&format!("Bell:{id}"), &[]))
        .collect()
}

fn slow_bell() -> Behaviour {
    gadget("Bell").takes(10)
}

#[test]
fn a_timeout_cancels_first_and_then_answers() {
    let bell = slow_bell()
        .costs(0.5)
        .with(|spec| spec.timeout_ms = Some(4));
    let mut script = Script::default().gadget(bell).reply(bells(&["a"]));
    let error = "Gadget 'Bell' execution exceeded timeout of 4ms";
    let lines = |end: u64| {
        [
            "0 ask 1".to_owned(),
            "0 call a Bell".to_owned(),
            "0 start a {}".to_owned(),
            "4 cancel a".to_owned(),
            format!("4 error a: {error}"),
            format!("{end} late a $0.5"),
            format!("  told Result (a): {error}"),
            format!("{end} ask 2"),
            format!("{end} text fin"),
            format!("{end} end completed after 2 $0.5: fin"),
        ]
    };
    check(&script, &lines(4).each_ref().map(String::as_str));
    // What it says later is not read, but until then its place is not free, and what it cost is not known.
    script.stubborn = true;
    check(&script, &lines(10).each_ref().map(String::as_str));
}

/// Bell's time is up at 4, but it rings until 10: until then nothing starts beside it.
#[test]
fn a_gadget_whose_time_is_up_keeps_its_place_until_it_ends() {
    let bell = slow_bell().with(|spec| {
        spec.timeout_ms = Some(4);
        spec.exclusive = true;
    });
    let mut script = Script::default().gadget(bell).reply(bells(&["a", "b"]));
    script.stubborn = true;
    let error = "Gadget 'Bell' execution exceeded timeout of 4ms";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "4 cancel a",
            &format!("4 error a: {error}"),
            "10 start b {}",
            "14 cancel b",
            &format!("14 error b: {error}"),
            &format!("  told Result (a): {error}"),
            &format!("  told Result (b): {error}"),
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn the_run_has_a_timeout_for_gadgets_without_one() {
    let script = Script::default()
        .gadget(slow_bell())
        .with(|spec| spec.default_timeout_ms = Some(7))
        .reply(bells(&["a"]));
    let error = "Gadget 'Bell' execution exceeded timeout of 7ms";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "7 cancel a",
            &format!("7 error a: {error}"),
            &format!("  told Result (a): {error}"),
            "7 ask 2",
            "7 text fin",
            "7 end completed after 2: fin",
        ],
    );
}

#[test]
fn the_model_is_asked_so_many_times() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.max_iterations = 2)
        .reply(bells(&["a"]))
        .reply(format!("Once more.\n{}", bells(&["b"])));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "0 ask 2",
            "0 text Once more.\n",
            "0 call b Bell",
            "0 start b {}",
            "0 ok b: ok Bell",
            "  told Result (b): ok Bell",
            "0 end maxIterations after 2: Once more.\n",
        ],
    );
}

#[test]
fn a_text_may_be_kept_and_the_model_asked_again() {
    let script = Script::default()
        .with(|spec| {
            spec.text_only = OnTextOnlyReply::Acknowledge;
            spec.max_iterations = 2;
        })
        .reply("One.")
        .reply("Two.");
    check(
        &script,
        &[
            "0 ask 1",
            "0 text One.",
            "0 ask 2",
            "0 text Two.",
            "0 end maxIterations after 2: Two.",
        ],
    );
}

#[test]
fn calls_beyond_the_limit_of_a_reply_are_skipped() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.schedule.max_per_reply = Some(2))
        .reply(bells(&["a", "b", "c"]))
        .reply(bells(&["d"]));
    let error = "Gadget limit (2) exceeded. Consider calling fewer gadgets per response.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 call c Bell",
            &format!("0 skip c (maxGadgetsPerResponse): {error}"),
            "0 ok a: ok Bell",
            "0 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            &format!("  told Result (c): Skipped: {error}"),
            "0 ask 2",
            "0 call d Bell",
            "0 start d {}",
            "0 ok d: ok Bell",
            "  told Result (d): ok Bell",
            "0 ask 3",
            "0 text fin",
            "0 end completed after 3: fin",
        ],
    );
}

/// Two bells of 10 ms, one after the other.
#[track_caller]
fn in_a_row(script: Script) {
    check(
        &script.reply(bells(&["a", "b"])),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "10 ok a: ok Bell",
            "10 start b {}",
            "20 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn one_at_a_time_in_four_ways() {
    let bell = || Script::default().gadget(slow_bell());
    in_a_row(bell().with(|spec| spec.schedule.sequential = true));
    in_a_row(bell().with(|spec| spec.schedule.max_concurrent = Some(1)));
    let limited = slow_bell().with(|spec| spec.max_concurrent = Some(1));
    in_a_row(Script::default().gadget(limited));
    let exclusive = slow_bell().with(|spec| spec.exclusive = true);
    in_a_row(Script::default().gadget(exclusive));
}

#[test]
fn a_gadget_starts_while_the_reply_still_comes() {
    let pieces = vec![
        Piece::Text("First ".to_owned()),
        Piece::Text(bells(&["a"])),
        Piece::Pause(30),
        Piece::Text("and then".to_owned()),
        Piece::Text(bells(&["b"])),
    ];
    let script = Script::default()
        .gadget(slow_bell())
        .replies(Reply::stop(pieces));
    check(
        &script,
        &[
            "0 ask 1",
            "0 text First ",
            "0 call a Bell",
            "0 start a {}",
            "10 ok a: ok Bell",
            "30 text \nand then",
            "30 call b Bell",
            "30 start b {}",
            "40 ok b: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "40 ask 2",
            "40 text fin",
            "40 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_result_that_comes_with_the_timeout_counts() {
    let script = Script::default()
        .gadget(slow_bell().with(|spec| spec.timeout_ms = Some(10)))
        .reply(bells(&["a"]));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "10 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "10 ask 2",
            "10 text fin",
            "10 end completed after 2: fin",
        ],
    );
}
