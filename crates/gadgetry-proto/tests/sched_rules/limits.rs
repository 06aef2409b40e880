//! Limits, order and exclusivity.

use super::{at_most, check, limit_per_reply, parallel, sequential};

#[test]
fn one_limit_per_gadget_on_every_path() {
    check(
        &parallel(),
        r"
        begin
        add c
          start c
        add x:c Oven max=1
        add y:c Oven max=1
        add z Oven max=1
          start z
        add other Pan max=1
          start other
        ok c
        ok z
          start x
        ok x
          start y
        ",
    );
}

#[test]
fn a_limit_of_the_run() {
    check(
        &at_most(2),
        r"
        begin
        add a
          start a
        add b
          start b
        add c
        add d
        ok b
          start c
        fail a lost
          start d
        ",
    );
}

#[test]
fn zero_is_no_limit() {
    check(
        &at_most(0),
        r"
        begin
        add a Oven max=0
          start a
        add b Oven max=0
          start b
        ",
    );
}

#[test]
fn exclusive_first_keeps_others_out() {
    check(
        &parallel(),
        r"
        begin
        add x alone
          start x
        add r
        add y alone
        add s
        ok x
          start r
        ok r
          start y
        ok y
          start s
        ",
    );
}

#[test]
fn exclusive_is_not_starved() {
    check(
        &parallel(),
        r"
        begin
        add a
          start a
        add early:a
        add x alone
        add late
        end
        ok a
          start early
        ok early
          start x
        ok x
          start late
        ",
    );
}

#[test]
fn exclusive_lets_earlier_ones_go_first() {
    check(
        &parallel(),
        r"
        begin
        add a Oven max=1
          start a
        add b Oven max=1
        add c
          start c
        add x alone
        ok a
          start b
        ok c
        ok b
          start x
        ",
    );
}

#[test]
fn an_exclusive_call_blocks_others_only_when_ready() {
    check(
        &parallel(),
        r"
        begin
        add a
          start a
        add x:a alone
        add b
          start b
        ok a
        ok b
          start x
        ",
    );
}

#[test]
fn exclusive_across_replies() {
    check(
        &parallel(),
        r"
        begin
        add x alone
          start x
        end
        begin
        add a
        ok x
          start a
        ",
    );
}

#[test]
fn sequential_goes_in_call_order() {
    check(
        &sequential(),
        r"
        begin
        add a
          start a
        add b
        add c:a
        add d
        ok a
          start b
        fail b lost
          start c
        ok c
          start d
        ",
    );
}

#[test]
fn sequential_yields_to_a_later_dependency() {
    check(
        &sequential(),
        r"
        begin
        add a:c
        add b
          start b
        add c
        ok b
          start c
        ok c
          start a
        end
        ",
    );
}

#[test]
fn sequential_waits_for_a_decision() {
    check(
        &sequential(),
        r"
        begin
        add a
          start a
        add b:a
        add c
        fail a lost
          unmet b <- a: lost
        run b
          start b
        ok b
          start c
        ",
    );
}

#[test]
fn calls_per_reply() {
    check(
        &limit_per_reply(2),
        r#"
        begin
        add a
          start a
        bad b no such gadget
        add c
          over c <- maxGadgetsPerResponse: Gadget limit (2) exceeded. Consider calling fewer gadgets per response.
        add d:c
          over d <- maxGadgetsPerResponse: Gadget limit (2) exceeded. Consider calling fewer gadgets per response.
        end
        ok a
        begin
        add e:a
          start e
        add f:c
        end
          unmet f <- c: Dependency "c" was skipped
        "#,
    );
}

#[test]
fn above_the_limit_an_id_fails_those_that_wait() {
    check(
        &limit_per_reply(1),
        r#"
        begin
        add a:b
        add b
          over b <- maxGadgetsPerResponse: Gadget limit (1) exceeded. Consider calling fewer gadgets per response.
          unmet a <- b: Dependency "b" was skipped
        "#,
    );
}
