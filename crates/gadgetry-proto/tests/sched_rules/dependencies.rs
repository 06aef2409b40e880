//! Dependencies that succeed, fail or are skipped.

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Job, Scheduler};

use super::{check, parallel};

#[test]
fn a_call_starts_when_its_own_dependencies_are_done() {
    check(
        &parallel(),
        r"
        begin
        add roast
          start roast
        add w:roast
        add chop
          start chop
        ok chop
        add fry:chop
          start fry
        end
        ok roast
          start w
        ok fry
        ok w
        idle?
          true
        ",
    );
}

#[test]
fn a_later_call_may_be_named() {
    check(
        &parallel(),
        r"
        begin
        add f:c,d
        add c
          start c
        ok c
        add d
          start d
        ok d
          start f
        end
        ",
    );
}

#[test]
fn the_error_of_a_dependency_is_forwarded() {
    check(
        &parallel(),
        r#"
        begin
        add c
          start c
        add f:c
        fail c knife lost
          unmet f <- c: knife lost
        skip f
        add g:c
          unmet g <- c: knife lost
        skip g
        add h:f
          unmet h <- f: Dependency "f" was skipped
        skip h
        end
        idle?
          true
        "#,
    );
}

#[test]
fn an_empty_error_gets_a_text() {
    check(
        &parallel(),
        r"
        begin
        add c
          start c
        add f:c
        fail c
          unmet f <- c: Dependency failed
        ",
    );
}

#[test]
fn the_skip_of_a_chain_goes_step_by_step() {
    check(
        &parallel(),
        r#"
        begin
        add a
          start a
        add b:a
        add c:b
        add d:c
        fail a lost
          unmet b <- a: lost
        skip b
          unmet c <- b: Dependency "b" was skipped
        fallback c
          start d
        "#,
    );
}

#[test]
fn a_call_is_proposed_once() {
    check(
        &parallel(),
        r"
        begin
        add a
          start a
        add b
          start b
        add c:a,b
        fail a first
          unmet c <- a: first
        fail b second
        run c
          start c
        ",
    );
}

#[test]
fn run_anyway_waits_for_the_rest() {
    check(
        &parallel(),
        r"
        begin
        add a
          start a
        add b
          start b
        add c:a,b
        fail a lost
          unmet c <- a: lost
        run c
        fail b lost too
          start c
        ",
    );
}

/// What the model reads repeats the error of the dependency, if it has one.
#[test]
fn texts_for_the_model() {
    for (error, told) in [
        ("lost", "Skipped: dependency \"a\" failed: lost"),
        ("", "Skipped: dependency \"a\" failed"),
    ] {
        let mut scheduler = Scheduler::new(parallel());
        scheduler.begin_reply();
        scheduler.add_failed("a".into(), error.to_owned());
        scheduler.add(Job::new(CallId(0), "b", "Any").after(["a"]));
        let Some(Action::Unmet(unmet)) = scheduler.poll() else {
            panic!("{error:?}")
        };
        assert_eq!(unmet.told, told);
    }
}
