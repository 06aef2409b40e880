//! `${id}` in parameters: the results of earlier calls.

use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::run::UnmetDependencyPolicy;
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

fn add() -> Behaviour {
    gadget("Add")
        .takes_parameters(&json!({ "a": { "type": "integer" }, "b": { "type": "integer" } }))
        .answers(|start| {
            let number = |name: &str| start.parameters[name].as_i64().unwrap_or_default();
            (number("a") + number("b")).to_string()
        })
}

#[test]
fn a_reference_is_replaced_by_the_result() {
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
        .gadget(gadget("Data").says(r#"{"n":7,"s":"8","far":{"~/":9},"whole":9007199254740993.0,"long":[12345678901234567890123]}"#))
        .gadget(gadget("Text").says("41"))
        .reply(reply);
    let lines = lines(&play(&script));
    let answer = lines.iter().find(|line| line.contains("x: "));
    answer.expect("an answer").clone()
}

#[test]
fn references_with_and_without_a_value() {
    for (a, b, line) in [
        ("${t}", "1", "0 ok x: 42"),
        ("${d/n}", "${d/s}", "0 ok x: 15"),
        ("${d/far/~0~1}", "0", "0 ok x: 9"),
        ("${d/whole}", "0", "0 ok x: 9007199254740993"),
        (
            "${d/long/0}",
            "1",
            "0 error x: Error: Invalid parameters for 'Add':\n  - a: the digits of 12345678901234567890123 cannot be kept, since numbers have at \
             most 64 bits. Write a smaller integer; for longer ones the gadget's schema has to admit a string",
        ),
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

#[test]
fn a_result_is_forgotten_when_its_id_fails_later() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .gadget(gadget("Bad").fails("broken"))
        .gadget(gadget("Echo"))
        .with(|spec| spec.on_unmet = UnmetDependencyPolicy::Execute)
        .reply(block("Bell:a", &[]))
        .reply(block("Bad:a", &[]))
        .reply(block("Echo:b:a", &[("n", "${a}")]));
    let lines = lines(&play(&script));
    let line = "0 error b: Error: ${a} has no value: \"a\" has no result";
    assert!(lines.iter().any(|it| it == line), "{lines:#?}");
}

#[test]
fn a_reference_without_a_dependency_is_noted() {
    let data = block("Data:d", &[]);
    let json = "!!!GADGET_START:Text:x:d\n{\"text\":\"\\u0024{d}\"}\n!!!GADGET_END\n";
    for (reply, told, result) in [
        (
            data.clone() + &block("Text:x", &[("text", "${d}")]),
            1,
            "${d}",
        ),
        (
            data.clone() + &block("Text:x:e", &[("text", "${d/n}")]),
            1,
            "Skipped",
        ),
        (
            data.clone() + &block("Text:x:d", &[("text", "${d}")]),
            0,
            "7",
        ),
        (data.clone() + json, 0, "7"),
        (
            data.clone() + &block("Text:x", &[("text", "${HOME}")]),
            0,
            "${HOME}",
        ),
        (
            data + &block("Text:x", &[("text", "of ${d}")]),
            0,
            "of ${d}",
        ),
    ] {
        let script = Script::default()
            .gadget(gadget("Data").says("7"))
            .gadget(
                gadget("Text")
                    .takes_parameters(&json!({ "text": { "type": "string" } }))
                    .answers(|start| {
                        start.parameters["text"]
                            .as_str()
                            .unwrap_or_default()
                            .to_owned()
                    }),
            )
            .reply(&reply);
        let log = play(&script);
        let (_, answer) = log.told()[1];
        assert_eq!(
            log.diagnostics(DiagnosticCode::UndeclaredReference),
            told,
            "{reply}"
        );
        assert!(result == "Skipped" || answer == result, "{answer}");
        let note = "Note: ${d} in the call x stayed text, because d is not among its dependencies; write \
                    !!!GADGET_START:Text:x:d";
        assert_eq!(
            format!("{:?}", log.history).contains(note),
            told == 1,
            "{reply}"
        );
    }
}

/// A result of an earlier reply is known, too, and a reference to it needs the dependency.
#[test]
fn a_reference_to_an_earlier_reply_needs_the_dependency_too() {
    for (header, told) in [("Echo:b", 1), ("Echo:b:a", 0)] {
        let script = Script::default()
            .gadget(gadget("Bell"))
            .gadget(gadget("Echo"))
            .reply(block("Bell:a", &[]))
            .reply(block(header, &[("text", "${a}")]));
        let log = play(&script);
        let notes = log.diagnostics(DiagnosticCode::UndeclaredReference);
        assert_eq!(notes, told, "{header}");
    }
}

/// The depth is that of all parameters: `[[…]]` in `list` is three deep.
#[test]
fn the_limit_of_depth_is_inclusive() {
    for (limit, answer) in [
        (3, "ok Echo"),
        (
            2,
            "Error: Limit exceeded: a parameter may have at most 2 levels of nesting",
        ),
    ] {
        let script = Script::default()
            .gadget(gadget("Data").says("[[1]]"))
            .gadget(gadget("Echo").takes_parameters(&json!({ "list": { "type": "array" } })))
            .with(|spec| spec.limits.depth = limit)
            .reply(block("Data:d", &[]) + &block("Echo:x:d", &[("list", "${d}")]));
        assert_eq!(play(&script).told()[1], ("x", answer), "{limit}");
    }
}
