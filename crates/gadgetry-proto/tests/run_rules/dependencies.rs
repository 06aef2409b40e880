//! Who runs when, and with whose results.

use gadgetry_proto::run::OnUnmet;
use serde_json::json;

use crate::sim::play;
use crate::sim::script::{Behaviour, Script, block, gadget};
use crate::sim::transcript::{check, lines};

fn add() -> Behaviour {
    gadget("Add")
        .takes_parameters(json!({ "a": { "type": "integer" }, "b": { "type": "integer" } }))
        .answers(|start| {
            let number = |name: &str| start.parameters[name].as_i64().unwrap_or_default();
            (number("a") + number("b")).to_string()
        })
}

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

#[test]
fn a_result_takes_the_place_of_a_reference() {
    let reply = block("Add:three", &[("a", "1"), ("b", "2")])
        + &block("Data:d", &[])
        + &block(
            "Add:sum:three,d",
            &[("a", "${three}"), ("b", "${d/list/1}")],
        );
    let script = Script::default()
        .gadget(add())
        .gadget(gadget("Data").says(r#"{"list":[10,20]}"#))
        .reply(reply);
    check(
        &script,
        &[
            "0 ask 1",
            "0 call three Add",
            r#"0 start three {"a":1,"b":2}"#,
            "0 call d Data",
            "0 start d {}",
            "0 call sum Add",
            "0 ok three: 3",
            r#"0 ok d: {"list":[10,20]}"#,
            r#"0 start sum {"a":3,"b":20}"#,
            "0 ok sum: 23",
            "  told Result (three): 3",
            r#"  told Result (d): {"list":[10,20]}"#,
            "  told Result (sum): 23",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

/// The line that answers a call of `Add` with these values, behind calls `d` (JSON) and `t` (text).
fn answer_of(a: &str, b: &str) -> String {
    let reply =
        block("Data:d", &[]) + &block("Text:t", &[]) + &block("Add:x:d,t", &[("a", a), ("b", b)]);
    let script = Script::default()
        .gadget(add())
        .gadget(gadget("Data").says(r#"{"n":7,"s":"8","far":{"~/":9}}"#))
        .gadget(gadget("Text").says("41"))
        .reply(reply);
    let lines = lines(&play(&script));
    let answer = lines.iter().find(|line| line.contains("x: "));
    answer.expect("an answer").clone()
}

#[test]
fn references_that_have_a_value_and_those_that_have_none() {
    for (a, b, line) in [
        ("${t}", "1", "0 ok x: 42"),
        ("${d/n}", "${d/s}", "0 ok x: 15"),
        ("${d/far/~0~1}", "0", "0 ok x: 9"),
        (
            "${d/none}",
            "1",
            "0 error x: Error: ${d/none} has no value: the result of \"d\" has no /none",
        ),
        (
            "${t/x}",
            "1",
            "0 error x: Error: ${t/x} has no value: the result of \"t\" has no /x",
        ),
        // Not the whole text, or not a declared dependency: plain text, which is no integer.
        (
            "a ${t}",
            "1",
            "0 error x: Error: Invalid parameters for 'Add':\n  - a: expected integer, got string \"a ${t}\"",
        ),
        (
            "${other}",
            "1",
            "0 error x: Error: Invalid parameters for 'Add':\n  - a: expected integer, got string \"${other}\"",
        ),
        (
            "${d/far}",
            "1",
            "0 error x: Error: Invalid parameters for 'Add':\n  - a: expected integer, got string \"{\\\"~/\\\":9}\"",
        ),
    ] {
        assert_eq!(answer_of(a, b), line, "{a}");
    }
}

fn unmet(on_unmet: OnUnmet) -> Script {
    let reply = block("Bad:a", &[]) + &block("Good:b:a", &[]) + &block("Good:c:b", &[]);
    Script::default()
        .gadget(gadget("Bad").takes(5).fails("no luck"))
        .gadget(gadget("Good"))
        .with(|spec| spec.on_unmet = on_unmet)
        .reply(reply)
}

#[test]
fn what_depends_on_a_failure_is_skipped_and_told() {
    check(
        &unmet(OnUnmet::Skip),
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
            "  told Result (b): no luck",
            "  told Result (c): Dependency \"b\" was skipped",
            "5 ask 2",
            "5 text fin",
            "5 end completed after 2: fin",
        ],
    );
}

#[test]
fn what_depends_on_a_failure_may_run_all_the_same() {
    check(
        &unmet(OnUnmet::Execute),
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
fn what_depends_on_a_failure_may_have_a_result_of_its_own() {
    check(
        &unmet(OnUnmet::Fallback("none".to_owned())),
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
            "  told Result (b): not yet",
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

#[test]
fn a_result_is_forgotten_when_its_id_fails_later() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .gadget(gadget("Bad").fails("broken"))
        .gadget(gadget("Echo"))
        .with(|spec| spec.on_unmet = OnUnmet::Execute)
        .reply(block("Bell:a", &[]))
        .reply(block("Bad:a", &[]))
        .reply(block("Echo:b:a", &[("n", "${a}")]));
    let lines = lines(&play(&script));
    let line = "0 error b: Error: ${a} has no value: \"a\" has no result";
    assert!(lines.iter().any(|it| it == line), "{lines:#?}");
}
