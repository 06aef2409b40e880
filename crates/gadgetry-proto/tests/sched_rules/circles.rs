//! Dependencies that cannot be met: on the call itself, in a circle, on nothing.

use super::{check, parallel};

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
fn a_dependency_on_itself_next_to_others_is_dropped() {
    check(
        &parallel(),
        r"
        begin
        add c
          start c
        ok c
        add f:f,c
          start f
        ",
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
fn a_dependent_of_a_circle_is_not_circular() {
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
