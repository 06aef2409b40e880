//! Tools of the provider's own interface, as they come.

use super::{read, shown, stream};

/// Pieces between the start and the end of a reply that calls tools.
fn check(why: &str, frames: &[&str], stop_reason: &str, expected: &[&str]) {
    let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}"}}}}"#);
    let frames: Vec<&str> = frames
        .iter()
        .chain(&[end.as_str(), r#"{"type":"message_stop"}"#])
        .copied()
        .collect();
    let bytes = stream(&frames);
    let end = format!("end {stop_reason}");
    let expected: Vec<&str> = expected.iter().chain(&[end.as_str()]).copied().collect();
    assert_eq!(shown(&read(&[bytes.as_bytes()])), expected, "{why}");
}

fn open(index: u32, id: &str, input: &str) -> String {
    format!(
        r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"{id}","name":"f","input":{input}}}}}"#
    )
}

fn piece(index: u32, json: &str) -> String {
    format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{json}}}}}"#
    )
}

fn close(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

#[test]
fn native_calls_are_assembled_from_their_pieces() {
    let (a, b) = (open(0, "a", "{}"), open(1, "b", "{}"));
    let first = piece(0, r#""{\"x\"""#);
    let second = piece(0, r#"": 1}""#);
    let other = piece(1, r#""{}""#);
    let (end_a, end_b) = (close(0), close(1));
    check(
        "in pieces",
        &[&a, &piece(0, r#""""#), &first, &second, &end_a],
        "tool_use",
        &["call a f", r#"json a {"x": 1}"#, "done a"],
    );
    check(
        "without arguments",
        &[&a, &end_a],
        "tool_use",
        &["call a f", "done a {}"],
    );
    check(
        "whole in the start",
        &[&open(0, "a", r#"{"x":1}"#), &end_a],
        "tool_use",
        &["call a f", r#"done a {"x":1}"#],
    );
    check(
        "as an object",
        &[&a, &piece(0, r#"{"x":1}"#), &end_a],
        "tool_use",
        &["call a f", r#"done a {"x":1}"#],
    );
    let long = r#"{"x": 0.1000000000000000055}"#;
    let digits = ["call a f", &format!("json a {long}"), "done a"];
    check(
        "the digits of a long number in the start",
        &[&open(0, "a", long), &end_a],
        "tool_use",
        &digits,
    );
    check(
        "the digits of a long number in an object",
        &[&a, &piece(0, long), &end_a],
        "tool_use",
        &digits,
    );
    check(
        "no input",
        &[&open(0, "a", "null"), &end_a],
        "tool_use",
        &["call a f", "done a {}"],
    );
    check(
        "no id",
        &[&open(3, "", "{}"), &close(3)],
        "tool_use",
        &["call toolu_3 f", "done toolu_3 {}"],
    );
    check(
        "no stop",
        &[&a, &first, &second],
        "tool_use",
        &["call a f", r#"json a {"x": 1}"#, "done a"],
    );
    check(
        "mixed",
        &[&a, &first, &b, &other, &second, &end_b, &end_a],
        "tool_use",
        &[
            "call a f",
            r#"json a {"x": 1}"#,
            "done a",
            "call b f",
            "json b {}",
            "done b",
        ],
    );
    check(
        "a piece without a call",
        &[&first],
        "tool_use",
        &[
            r#"raw {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}"#,
        ],
    );
    check(
        "a piece behind the end of its call",
        &[&a, &first, &end_a, &second],
        "tool_use",
        &[
            "call a f",
            r#"json a {"x""#,
            r#"raw {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":": 1}"}}"#,
            "done a",
        ],
    );
    // Another block begins, so the limit has cut neither of the calls before it.
    check(
        "no input, and blocks behind it",
        &[&a, &end_a, &b, &end_b, &open(2, "c", "{}"), &close(2)],
        "max_tokens",
        &["call a f", "done a {}", "call b f", "done b {}", "call c f"],
    );
    check(
        "cut by the token limit",
        &[&a, &first],
        "max_tokens",
        &["call a f", r#"json a {"x""#],
    );
}

/// Whatever word the server uses, the run has to answer the calls.
#[test]
fn a_reply_that_calls_has_stopped_for_it() {
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let call = open(0, "a", r#"{"x":1}"#);
    let text =
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"hi"}}"#;
    for frames in [vec![&call, end], vec![&call, text, end]] {
        let deltas = shown(&read(&[stream(&frames).as_bytes()]));
        assert_eq!(deltas.last().map(String::as_str), Some("end tool_use"));
    }
}

#[test]
fn without_a_stop_reason_only_what_is_surely_whole_is_complete() {
    for (input, done) in [("{}", None), (r#"{"x":1}"#, Some(r#"done a {"x":1}"#))] {
        let frames = [
            &open(0, "a", input),
            &close(0),
            r#"{"type":"message_stop"}"#,
        ];
        let expected: Vec<&str> = ["call a f"]
            .into_iter()
            .chain(done)
            .chain(["end unspecified"])
            .collect();
        assert_eq!(shown(&read(&[stream(&frames).as_bytes()])), expected);
    }
}

#[test]
fn a_call_without_input_is_complete_only_after_a_clean_end() {
    for (reason, done) in [
        ("tool_use", true),
        ("max_tokens", false),
        ("pause_turn", false),
        ("refusal", false),
    ] {
        let word = if reason == "refusal" {
            "content_filter"
        } else {
            reason
        };
        let end = format!("end {word}");
        let expected: Vec<&str> = ["call a f"]
            .into_iter()
            .chain(done.then_some("done a {}"))
            .chain([end.as_str()])
            .collect();
        let delta = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        for frames in [
            vec![open(0, "a", "{}"), close(0)],
            vec![open(0, "a", "{}")],
            vec![open(0, "a", "{}"), piece(0, r#""""#), close(0)],
        ] {
            let frames: Vec<&str> = frames
                .iter()
                .map(String::as_str)
                .chain([delta.as_str(), r#"{"type":"message_stop"}"#])
                .collect();
            assert_eq!(
                shown(&read(&[stream(&frames).as_bytes()])),
                expected,
                "{reason}"
            );
        }
        let document = format!(
            r#"{{"type":"message","content":[{{"type":"tool_use","id":"a","name":"f","input":{{}}}}],"stop_reason":"{reason}"}}"#
        );
        let expected: Vec<&str> = ["start -"].into_iter().chain(expected).collect();
        assert_eq!(
            shown(&read(&[document.as_bytes()])),
            expected,
            "{reason}, a document"
        );
    }
}

#[test]
fn calls_that_are_sent_again_and_two_objects() {
    let input = r#""{\"x\":1}""#;
    let shown_note = |code: &str| format!("code: {code}");
    let lines = |frames: &[String]| {
        let end = [
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ];
        let frames: Vec<&str> = frames.iter().chain(&end).map(String::as_str).collect();
        shown(&read(&[stream(&frames).as_bytes()]))
    };
    let first = [open(0, "a", "{}"), piece(0, input), close(0)];
    let again = [open(1, "a", "{}"), piece(1, input), close(1)];
    let found = lines(&[first.clone(), again].concat());
    assert_eq!(found[..3], ["call a f", r#"json a {"x":1}"#, "done a"]);
    assert!(found[3].contains(&shown_note("RepeatedCall")), "{found:?}");
    assert_eq!(found[4..], ["end tool_use"]);
    let two = [
        open(0, "a", "{}"),
        piece(0, input),
        piece(0, r#""{\"y\":2}""#),
        close(0),
    ];
    let found = lines(&two);
    assert_eq!(found[..3], ["call a f", r#"json a {"x":1}"#, "done a"]);
    assert!(
        found[3].contains(&shown_note("ExtraArguments")),
        "{found:?}"
    );
    assert_eq!(found[4..], ["end tool_use"]);
}
