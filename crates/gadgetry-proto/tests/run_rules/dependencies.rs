//! Who runs when, and what becomes of those whose dependencies fail.

use crate::support::sim::script::{Script, block, gadget};
use crate::support::sim::transcript::check;
use gadgetry_proto::run::UnmetDependencyPolicy;

#[test]
fn independent_calls_run_at_once_and_dependents_after_them() {
    let reply = block("Fetch:a", &[]) + &block("Slow:b", &[]) + &block("Merge:c:a,b", &[]);
    let script = Script::default()
        .gadget(gadget("Fetch").takes(10))
        .gadget(gadget("Slow").takes(30))
        .gadget(gadget("Merge").takes(5).answers(|start| {
            let results: Vec<String> = start
                .dependencies
                .iter()
                .map(|(id, result)| format!("{id}={result}"))
                .collect();
            results.join(" ")
        }))
        .reply(reply);
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Fetch",
            "0 start a {}",
            "0 call b Slow",
            "0 start b {}",
            "0 call c Merge",
            "10 ok a: ok Fetch",
            "30 ok b: ok Slow",
            "30 start c {}",
            "35 ok c: a=ok Fetch b=ok Slow",
            "  told Result (a): ok Fetch",
            "  told Result (b): ok Slow",
            "  told Result (c): a=ok Fetch b=ok Slow",
            "35 ask 2",
            "35 text fin",
            "35 end completed after 2: fin",
        ],
    );
}

fn unmet(on_unmet: UnmetDependencyPolicy) -> Script {
    let reply = block("Bad:a", &[]) + &block("Good:b:a", &[]) + &block("Good:c:b", &[]);
    Script::default()
        .gadget(gadget("Bad").takes(5).fails("no luck"))
        .gadget(gadget("Good"))
        .with(|spec| spec.on_unmet = on_unmet)
        .reply(reply)
}

#[test]
fn dependents_of_a_failed_call_are_skipped_with_a_note() {
    check(
        &unmet(UnmetDependencyPolicy::Skip),
        &[
            "0 ask 1",
            "0 call a Bad",
            "0 start a {}",
            "0 call b Good",
            "0 call c Good",
            "5 error a: no luck",
            "5 skip b (a): no luck",
            "5 skip c (b): Dependency \"b\" was skipped",
            "  told Result (a): no luck",
            "  told Result (b): Skipped: dependency \"a\" failed: no luck",
            "  told Result (c): Skipped: dependency \"b\" was skipped",
            "5 ask 2",
            "5 text fin",
            "5 end completed after 2: fin",
        ],
    );
}

#[test]
fn dependents_of_a_failed_call_may_run() {
    check(
        &unmet(UnmetDependencyPolicy::Execute),
        &[
            "0 ask 1",
            "0 call a Bad",
            "0 start a {}",
            "0 call b Good",
            "0 call c Good",
            "5 error a: no luck",
            "5 start b {}",
            "5 ok b: ok Good",
            "5 start c {}",
            "5 ok c: ok Good",
            "  told Result (a): no luck",
            "  told Result (b): ok Good",
            "  told Result (c): ok Good",
            "5 ask 2",
            "5 text fin",
            "5 end completed after 2: fin",
        ],
    );
}

#[test]
fn dependents_of_a_failed_call_may_have_a_fallback_result() {
    check(
        &unmet(UnmetDependencyPolicy::Fallback("none".to_owned())),
        &[
            "0 ask 1",
            "0 call a Bad",
            "0 start a {}",
            "0 call b Good",
            "0 call c Good",
            "5 error a: no luck",
            "5 ok b: none",
            "5 start c {}",
            "5 ok c: ok Good",
            "  told Result (a): no luck",
            "  told Result (b): none",
            "  told Result (c): ok Good",
            "5 ask 2",
            "5 text fin",
            "5 end completed after 2: fin",
        ],
    );
}

#[test]
fn the_second_call_of_one_id_is_refused_and_the_first_keeps_its_meaning() {
    let reply = block("Echo:a", &[("n", "1")])
        + &block("Echo:a", &[("n", "2")])
        + &block("Echo:b:a", &[("n", "${a}")]);
    let script = Script::default()
        .gadget(gadget("Echo").answers(|start| start.parameters["n"].to_string()))
        .reply(reply);
    let refused = "Duplicate invocation ID \"a\": an earlier call of this response already has it. \
                   Use a different ID for each call.";
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Echo",
            r#"0 start a {"n":1}"#,
            "0 call a Echo",
            &format!("0 error a: {refused}"),
            "0 call b Echo",
            "0 ok a: 1",
            r#"0 start b {"n":1}"#,
            "0 ok b: 1",
            "  told Result (a): 1",
            &format!("  told Result (a): {refused}"),
            "  told Result (b): 1",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

#[test]
fn an_id_means_its_latest_call() {
    let script = Script::default()
        .gadget(gadget("Flaky").fails_times("not yet", 1).says("now"))
        .gadget(gadget("Echo").answers(|start| start.parameters["n"].to_string()))
        .reply(block("Flaky:a", &[]) + &block("Echo:b:a", &[("n", "${a}")]))
        .reply(block("Flaky:a", &[]) + &block("Echo:b:a", &[("n", "${a}")]))
        .reply(block("Echo:c:a", &[("n", "${a}")]));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Flaky",
            "0 start a {}",
            "0 call b Echo",
            "0 error a: not yet",
            "0 skip b (a): not yet",
            "  told Result (a): not yet",
            "  told Result (b): Skipped: dependency \"a\" failed: not yet",
            "0 ask 2",
            "0 call a Flaky",
            "0 start a {}",
            "0 call b Echo",
            "0 ok a: now",
            r#"0 start b {"n":"now"}"#,
            r#"0 ok b: "now""#,
            "  told Result (a): now",
            r#"  told Result (b): "now""#,
            "0 ask 3",
            "0 call c Echo",
            r#"0 start c {"n":"now"}"#,
            r#"0 ok c: "now""#,
            r#"  told Result (c): "now""#,
            "0 ask 4",
            "0 text fin",
            "0 end completed after 4: fin",
        ],
    );
}
