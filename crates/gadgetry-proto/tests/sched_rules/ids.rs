//! What an id means, in a reply and across replies.

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Job, Scheduler};

use super::{at_most, check, parallel};

#[test]
fn a_call_that_never_runs_fails_its_dependents() {
    check(
        &parallel(),
        r"
        begin
        add early:gong
        bad gong Gadget 'Gong' not found.
          unmet early <- gong: Gadget 'Gong' not found.
        add late:gong
          unmet late <- gong: Gadget 'Gong' not found.
        ",
    );
}

#[test]
fn earlier_replies_count() {
    check(
        &parallel(),
        r#"
        begin
        add good
          start good
        ok good
        add poor
          start poor
        fail poor burnt
        add gone:ghost
        end
          unmet gone <- ghost: Dependency "ghost" was never executed - check that the invocation ID exists and is spelled correctly
        skip gone
        begin
        add a:good
          start a
        add b:poor
        add c:gone
        end
          unmet b <- poor: burnt
          unmet c <- gone: Dependency "gone" was skipped
        "#,
    );
}

#[test]
fn a_retry_satisfies_its_dependents() {
    check(
        &parallel(),
        r"
        begin
        add c
          start c
        fail c knife lost
        end
        begin
        add f:c
        add c'
          start c'
        ok c'
          start f
        end
        begin
        add g:c
          start g
        ",
    );
}

#[test]
fn a_retry_that_fails_counts_too() {
    check(
        &parallel(),
        r"
        begin
        add c
          start c
        ok c
        end
        begin
        add c'
          start c'
        fail c' knife lost
        add f:c
          unmet f <- c: knife lost
        ",
    );
}

#[test]
fn a_call_of_an_earlier_reply_may_still_run() {
    check(
        &parallel(),
        r"
        begin
        add slow
          start slow
        end
        begin
        add f:slow
        end
        ok slow
          start f
        ",
    );
}

#[test]
fn a_duplicate_is_rejected() {
    check(
        &parallel(),
        r#"
        begin
        add a
          start a
        add a'
          reject a': Duplicate invocation ID "a": an earlier call of this response already has it. Use a different ID for each call.
        bad a not a call
        add b:a
        ok a
          start b
        "#,
    );
}

#[test]
fn cancel() {
    check(
        &parallel(),
        r#"
        begin
        add a
          start a
        add b:a
        add c:ghost
        bad d lost
        add e:d
          unmet e <- d: lost
        cancel
          cancelled b
          cancelled c
          cancelled e
        ok a
        end
        idle?
          true
        begin
        add f:b
        end
          unmet f <- b: Dependency "b" was skipped
        "#,
    );
}

/// A call that was refused is answered by its notice, which cancelling leaves; one that was not decided is the caller's.
#[test]
fn refusals_are_polled_after_a_cancel() {
    let mut scheduler = Scheduler::new(parallel());
    scheduler.begin_reply();
    scheduler.add(Job::new(CallId(0), "a", "Any"));
    assert_eq!(scheduler.poll(), Some(Action::Start(CallId(0))));
    scheduler.add(Job::new(CallId(1), "a", "Any"));
    scheduler.add_failed("d".into(), "lost".to_owned());
    scheduler.add(Job::new(CallId(2), "b", "Any").after(["d".to_owned()]));
    assert_eq!(scheduler.cancel_all(), [CallId(2)]);
    let polled = scheduler.poll();
    assert!(
        matches!(&polled, Some(Action::Reject { id: CallId(1), .. })),
        "{polled:?}"
    );
    assert_eq!(scheduler.poll(), None);
    assert!(scheduler.finish(CallId(0), Ok(())));
    assert!(scheduler.is_idle());
}

#[test]
fn ready_calls_do_not_start_after_a_cancel() {
    check(
        &at_most(1),
        r"
        begin
        add a
          start a
        add b
        add c alone
        cancel
          cancelled b
          cancelled c
        ok a
        end
        idle?
          true
        begin
        add d
          start d
        ",
    );
}

#[test]
fn running_and_waiting_calls_are_listed() {
    let mut scheduler = Scheduler::new(at_most(1));
    scheduler.begin_reply();
    for id in 0..3 {
        scheduler.add(Job::new(CallId(id), format!("c{id}"), "Any"));
    }
    assert_eq!(scheduler.poll(), Some(Action::Start(CallId(0))));
    assert_eq!(scheduler.running().collect::<Vec<_>>(), [CallId(0)]);
    assert_eq!(
        scheduler.waiting().collect::<Vec<_>>(),
        [CallId(1), CallId(2)]
    );
}
