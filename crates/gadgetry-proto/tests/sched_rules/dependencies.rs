//! Dependencies and ids.

use crate::{check, parallel};

#[test]
fn a_call_starts_when_its_own_dependencies_are_done() {
    check(
        &parallel(),
        r#"
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
        "#,
    );
}

#[test]
fn a_later_call_may_be_named() {
    check(
        &parallel(),
        r#"
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
        "#,
    );
}

#[test]
fn itself_only() {
    check(
        &parallel(),
        r#"
        begin
        add x:x
          unmet x <- x: Gadget "x" cannot depend on itself (self-referential dependency)
        run x
          start x
        ok x
        "#,
    );
}

#[test]
fn itself_beside_others_is_dropped() {
    check(
        &parallel(),
        r#"
        begin
        add c
          start c
        ok c
        add f:f,c
          start f
        "#,
    );
}

#[test]
fn unknown_at_the_end() {
    check(
        &parallel(),
        r#"
        begin
        add f:ghost
        idle?
          false
        end
          unmet f <- ghost: Dependency "ghost" was never executed - check that the invocation ID exists and is spelled correctly
        skip f
        idle?
          true
        "#,
    );
}

#[test]
fn two_in_a_circle() {
    check(
        &parallel(),
        r#"
        begin
        add f:h
        add h:f
        end
          unmet f <- h: Circular dependency detected: "f" depends on "h" which also depends on "f" (directly or indirectly)
          unmet h <- f: Circular dependency detected: "h" depends on "f" which also depends on "h" (directly or indirectly)
        skip f
        skip h
        idle?
          true
        "#,
    );
}

#[test]
fn circle_and_missing() {
    check(
        &parallel(),
        r#"
        begin
        add f:h
        add h:f,ghost
        end
          unmet f <- h: Circular dependency detected: "f" depends on "h" which also depends on "f" (directly or indirectly)
          unmet h <- f: Dependencies unresolvable: circular=[f], missing=[ghost]
        "#,
    );
}

#[test]
fn behind_a_circle_is_not_circular() {
    check(
        &parallel(),
        r#"
        begin
        add a:b
        add b:a
        add c:a
        end
          unmet a <- b: Circular dependency detected: "a" depends on "b" which also depends on "a" (directly or indirectly)
          unmet b <- a: Circular dependency detected: "b" depends on "a" which also depends on "b" (directly or indirectly)
        skip b
        skip a
          unmet c <- a: Dependency "a" was skipped
        "#,
    );
}

#[test]
fn between_two_circles_is_not_circular() {
    check(
        &parallel(),
        r#"
        begin
        add a:b
        add b:a
        add m:b
        add x:y,m
        add y:x
        end
          unmet a <- b: Circular dependency detected: "a" depends on "b" which also depends on "a" (directly or indirectly)
          unmet b <- a: Circular dependency detected: "b" depends on "a" which also depends on "b" (directly or indirectly)
          unmet x <- y: Circular dependency detected: "x" depends on "y" which also depends on "x" (directly or indirectly)
          unmet y <- x: Circular dependency detected: "y" depends on "x" which also depends on "y" (directly or indirectly)
        fallback b
          start m
        "#,
    );
}

#[test]
fn a_circle_that_is_run_anyway_runs_once() {
    check(
        &parallel(),
        r#"
        begin
        add r
          start r
        add a:b,r
        add b:a
        end
          unmet a <- b: Circular dependency detected: "a" depends on "b" which also depends on "a" (directly or indirectly)
          unmet b <- a: Circular dependency detected: "b" depends on "a" which also depends on "b" (directly or indirectly)
        run a
        run b
          start b
        ok b
        ok r
          start a
        ok a
        idle?
          true
        "#,
    );
}

#[test]
fn run_anyway_inside_a_later_circle() {
    check(
        &parallel(),
        r#"
        begin
        bad c no such gadget
        add a:b,c
          unmet a <- c: no such gadget
        run a
        add b:a
        end
          unmet b <- a: Circular dependency detected: "b" depends on "a" which also depends on "b" (directly or indirectly)
          start a
        "#,
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
fn an_empty_error_gets_words() {
    check(
        &parallel(),
        r#"
        begin
        add c
          start c
        add f:c
        fail c
          unmet f <- c: Dependency failed
        "#,
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
        r#"
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
        "#,
    );
}

#[test]
fn run_anyway_waits_for_the_rest() {
    check(
        &parallel(),
        r#"
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
        "#,
    );
}

#[test]
fn a_call_that_never_runs_fails_its_dependents() {
    check(
        &parallel(),
        r#"
        begin
        add early:gong
        bad gong Gadget 'Gong' not found.
          unmet early <- gong: Gadget 'Gong' not found.
        add late:gong
          unmet late <- gong: Gadget 'Gong' not found.
        "#,
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
fn a_retry_satisfies_whoever_names_it() {
    check(
        &parallel(),
        r#"
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
        "#,
    );
}

#[test]
fn a_retry_that_fails_counts_too() {
    check(
        &parallel(),
        r#"
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
        "#,
    );
}

#[test]
fn a_call_of_an_earlier_reply_may_still_run() {
    check(
        &parallel(),
        r#"
        begin
        add slow
          start slow
        end
        begin
        add f:slow
        end
        ok slow
          start f
        "#,
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
