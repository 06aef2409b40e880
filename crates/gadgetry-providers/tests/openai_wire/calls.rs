//! Calls that the mutations of a good stream do not cover.

use gadgetry_proto::delta::Delta;

use super::show::{check, read, sse};

/// What reports more than one object of arguments.
const EXTRA: &str = r#"{"type":"diagnostic","code":"extraArguments","message":"the arguments of a call of \"f\" continued after their JSON object; what followed was not executed, and needs a call of its own","span":{"start":0,"end":0}}"#;

/// A stream of these pieces of `tool_calls`, a chunk each, with this finish reason.
#[track_caller]
fn pieces(pieces: &[&str], finish: &str, expected: &str) {
    let chunks = pieces
        .iter()
        .map(|piece| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#));
    let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{finish}"}}]}}"#);
    let frames: Vec<_> = chunks.chain([end, "[DONE]".to_owned()]).collect();
    let frames: Vec<_> = frames.iter().map(String::as_str).collect();
    check(
        &format!("{pieces:?}"),
        sse(&frames),
        &format!("start | {expected}"),
    );
}

#[test]
fn without_arguments() {
    let start = r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#;
    pieces(&[start], "tool_calls", "call a f | end a | stop tool_use");
    pieces(
        &[r#"{"index":0,"id":"a","function":{"name":"f"}}"#],
        "tool_calls",
        "call a f | end a | stop tool_use",
    );
    let empty = r#"{"index":0,"function":{"arguments":"{}"}}"#;
    pieces(
        &[start, empty],
        "stop",
        "call a f | args a {} | end a | stop tool_use",
    );
}

#[test]
fn a_complete_call_ends_before_the_reply_does() {
    let a = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"s\":\"}{\\\"\",\"o\":{\"l\":[1]}} \n"}}"#;
    let again = r#"{"index":0,"function":{"arguments":"{\"s\":2}"}}"#;
    let call = r#"call a f | args a {"s":"}{\"","o":{"l":[1]}} | end a"#;
    pieces(&[a], "tool_calls", &format!("{call} | stop tool_use"));
    pieces(
        &[a, again],
        "tool_calls",
        &format!("{call} | {EXTRA} | stop tool_use"),
    );
}

#[test]
fn arguments_that_are_not_an_object_end_with_the_reply() {
    let start = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}"#;
    let more = r#"{"index":0,"function":{"arguments":", {}"}}"#;
    pieces(
        &[start, more],
        "tool_calls",
        "call a f | args a [1], {} | end a | stop tool_use",
    );
}

#[test]
fn a_call_that_was_cut_does_not_end() {
    let start = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#;
    pieces(
        &[start],
        "length",
        "call a f | args a {\"x\": | stop max_tokens",
    );
    pieces(
        &[start],
        "content_filter",
        "call a f | args a {\"x\": | stop content_filter",
    );
}

#[test]
fn the_name_may_come_late() {
    let args = r#"{"index":0,"id":"a","function":{"arguments":"{\"x\":"}}"#;
    let name = r#"{"index":0,"function":{"name":"f","arguments":"1}"}}"#;
    pieces(
        &[args, name],
        "tool_calls",
        "call a f | args a {\"x\":1} | end a | stop tool_use",
    );
    pieces(&[args], "tool_calls", "stop tool_use");
    let name = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}"#;
    pieces(
        &[r#"{"index":0,"function":{"arguments":"{\"x\":"}}"#, name],
        "tool_calls",
        "call call_1 f | args call_1 {\"x\":1} | end call_1 | stop tool_use",
    );
    // A call that has an id waits for a name under that id.
    let other = r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}"#;
    pieces(
        &[args, other],
        "tool_calls",
        "call b f | args b {} | end b | stop tool_use",
    );
    // Complete with its last piece, whatever the reply has behind it.
    let frame = |delta: &str| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
    let call = |piece: &str| frame(&format!(r#"{{"tool_calls":[{piece}]}}"#));
    let (args, name) = (call(args), call(name));
    let text = frame(r#"{"content":"Hi"}"#);
    check(
        "text behind a call",
        sse(&[&args, &name, &text, "[DONE]"]),
        "start | call a f | args a {\"x\":1} | end a | text Hi | stop unspecified",
    );
}

/// What a call has taken when its name came is free for the next one.
#[test]
fn late_names_of_several_calls() {
    let frame = |call: String| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
    };
    let text = "x".repeat(3 << 20);
    let calls = (0..2).flat_map(|index| {
        [
            frame(format!(
                r#"{{"index":{index},"function":{{"arguments":"{{\"s\":\"{text}"}}}}"#
            )),
            frame(format!(
                r#"{{"index":{index},"function":{{"name":"f","arguments":"\"}}"}}}}"#
            )),
        ]
    });
    let body: String = calls.collect();
    let deltas = read(body.as_bytes(), false, || usize::MAX);
    let ends = |delta: &&Delta| matches!(delta, Delta::ToolCallEnd { .. });
    assert_eq!(deltas.iter().filter(ends).count(), 2);
}

#[test]
fn halves_of_characters_in_arguments() {
    let start = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\ud83d"}}"#;
    let end = r#"{"index":0,"function":{"arguments":"\ude00\"}"}}"#;
    pieces(
        &[start, end],
        "tool_calls",
        "call a f | args a {\"x\":\"\u{1F600}\"} | end a | stop tool_use",
    );
    // The same cut inside the JSON of the arguments is just text.
    let start = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\\ud83d"}}"#;
    let end = r#"{"index":0,"function":{"arguments":"\\ude00\"}"}}"#;
    pieces(
        &[start, end],
        "tool_calls",
        "call a f | args a {\"x\":\"\\ud83d\\ude00\"} | end a | stop tool_use",
    );
}

#[test]
fn two_calls_of_one_gadget() {
    let call = |id: &str, x: u8| {
        format!(r#"{{{id}"function":{{"name":"f","arguments":"{{\"x\":{x}}}"}}}}"#)
    };
    let expected = |a: &str, b: &str| {
        format!(
            "call {a} f | args {a} {{\"x\":1}} | end {a} | call {b} f | args {b} {{\"x\":2}} | end {b} | stop tool_use"
        )
    };
    let table = [
        ("", "", "call_1", "call_2"),
        (r#""id":"a","#, r#""id":"b","#, "a", "b"),
        (r#""index":0,"id":"a","#, r#""index":0,"id":"b","#, "a", "b"),
        (r#""index":0,"#, r#""index":1,"#, "call_1", "call_2"),
        (r#""index":0,"#, r#""index":0,"#, "call_1", "call_2"),
        (r#""index":0,"#, r#""index":0,"id":"b","#, "call_1", "b"),
    ];
    for (first, second, a, b) in table {
        pieces(
            &[&call(first, 1), &call(second, 2)],
            "tool_calls",
            &expected(a, b),
        );
    }
    // Where no call has an index, nothing says that the second one is the first again.
    let twice = expected("call_1", "call_2").replace(":2", ":1");
    pieces(&[&call("", 1), &call("", 1)], "tool_calls", &twice);
    // Another name under one index is another call, also without arguments.
    pieces(
        &[
            r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#,
            r#"{"index":0,"function":{"name":"g"}}"#,
        ],
        "tool_calls",
        "call call_1 f | args call_1 {} | end call_1 | call call_2 g | end call_2 | stop tool_use",
    );
}

#[test]
fn the_old_form() {
    let chunk = |call: &str| format!(r#"{{"choices":[{{"delta":{{"function_call":{call}}}}}]}}"#);
    let frames = [
        chunk(r#"{"name":"f","arguments":""}"#),
        chunk(r#"{"arguments":"{\"x\""}"#),
        chunk(r#"{"arguments":":1}"}"#),
    ];
    let frames: Vec<_> = frames
        .iter()
        .map(String::as_str)
        .chain([
            r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
            "[DONE]",
        ])
        .collect();
    let expected = "start | call call_1 f | args call_1 {\"x\":1} | end call_1 | stop tool_use";
    check("function_call", sse(&frames), expected);
}

/// A call whose arguments nothing but the end of the reply ends is complete only after a clean reason; also one without
/// any arguments, which would otherwise run with `{}`.
#[test]
fn what_the_end_of_the_reply_ends() {
    let clean = [
        "stop",
        "tool_calls",
        "function_call",
        "eos",
        "stop_sequence",
    ];
    let cut = [
        "length",
        "content_filter",
        "abort",
        "insufficient_system_resource",
        "weird",
    ];
    let new = |arguments: &str| {
        format!(r#"{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f"{arguments}}}}}]}}"#)
    };
    let old = |arguments: &str| format!(r#"{{"function_call":{{"name":"f"{arguments}}}}}"#);
    for arguments in ["", r#","arguments":"""#, r#","arguments":"7""#] {
        for said in [new(arguments), old(arguments)] {
            let call = format!(r#"{{"choices":[{{"delta":{said}}}]}}"#);
            let document =
                |reason: &str| format!(r#"{{"choices":[{{"message":{said}{reason}}}]}}"#);
            let is_complete = |body: String| {
                read(body.as_bytes(), false, || 5)
                    .iter()
                    .any(|delta| matches!(delta, Delta::ToolCallEnd { .. }))
            };
            for (word, complete) in clean
                .map(|word| (word, true))
                .into_iter()
                .chain(cut.map(|word| (word, false)))
            {
                let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
                assert_eq!(
                    is_complete(sse(&[&call, &end, "[DONE]"])),
                    complete,
                    "{word}: {call}"
                );
                assert_eq!(is_complete(sse(&[&call, &end])), complete, "{word}: {call}");
                assert_eq!(
                    is_complete(document(&format!(r#","finish_reason":"{word}""#))),
                    complete,
                    "{word}: {call}"
                );
            }
            for reason in ["null", r#""""#, "1", r#"["stop"]"#, r#"{"type":"stop"}"#] {
                let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
                assert!(
                    !is_complete(sse(&[&call, &end, "[DONE]"])),
                    "{reason}: {call}"
                );
                assert!(
                    !is_complete(document(&format!(r#","finish_reason":{reason}"#))),
                    "{reason}: {call}"
                );
            }
            assert!(!is_complete(sse(&[&call, "[DONE]"])), "{call}");
            assert!(!is_complete(sse(&[&call])), "{call}");
            assert!(!is_complete(document("")), "{call}");
        }
    }
}

/// A call that a server sends twice runs once.
#[test]
fn calls_that_are_sent_again() {
    let call = |prefix: &str, name: &str, x: u8| {
        format!(r#"{{{prefix}"function":{{"name":"{name}","arguments":"{{\"x\":{x}}}"}}}}"#)
    };
    let first = |id: &str| format!(r#"call {id} f | args {id} {{"x":1}} | end {id}"#);
    let again = r#"{"type":"diagnostic","code":"repeatedCall","message":"the reply used the call id \"a\" more than once; only the first call with it was executed","span":{"start":0,"end":0}}"#;
    let with_id = r#""index":0,"id":"a","#;
    let other_index = r#""index":1,"id":"a","#;
    let rows = [
        (
            "the id under another index",
            with_id,
            other_index,
            "f",
            1,
            format!("{} | {again}", first("a")),
        ),
        (
            "the id with other arguments",
            with_id,
            other_index,
            "f",
            2,
            format!("{} | {again}", first("a")),
        ),
        (
            "the id for another tool",
            with_id,
            other_index,
            "g",
            1,
            format!("{} | {again}", first("a")),
        ),
        (
            "the id for another tool, no index",
            r#""id":"a","#,
            r#""id":"a","#,
            "g",
            1,
            format!("{} | {again}", first("a")),
        ),
        ("the id and the index", with_id, with_id, "f", 1, first("a")),
        (
            "the id, no index",
            with_id,
            r#""id":"a","#,
            "f",
            1,
            first("a"),
        ),
        (
            "no ids, one index",
            r#""index":0,"#,
            r#""index":0,"#,
            "f",
            1,
            first("call_1"),
        ),
        (
            "another id, no index",
            with_id,
            r#""id":"b","#,
            "f",
            1,
            first("a"),
        ),
        ("no id, no index", with_id, "", "f", 1, first("a")),
    ];
    for (name, one, two, tool, x, expected) in rows {
        let expected = format!("start | {expected} | stop tool_use");
        let frame =
            |call: &str| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#);
        let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
        let (one, two) = (frame(&call(one, "f", 1)), frame(&call(two, tool, x)));
        check(name, sse(&[&one, &two, end, "[DONE]"]), &expected);
    }
    let begins = r#"{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#;
    let more = r#"{"index":1,"id":"a","function":{"arguments":":2}"}}"#;
    pieces(
        &[&call(with_id, "f", 1), begins, more],
        "tool_calls",
        &format!("{} | {again} | stop tool_use", first("a")),
    );
    // Beside calls with an index, one without is doubtful: it is another one if its arguments are.
    let doubtful = |one: &str, two: &str, expected: &str| {
        let one = format!(r#"{{"index":0,"function":{{"name":"f","arguments":"{one}"}}}}"#);
        let two = format!(r#"{{"function":{{"name":"f","arguments":"{two}"}}}}"#);
        let first = "call call_1 f | args call_1 {} | end call_1";
        pieces(
            &[&one, &two],
            "tool_calls",
            &format!("{first}{expected} | stop tool_use"),
        );
    };
    doubtful("{}", "", "");
    doubtful("{}", "x", " | call call_2 f | args call_2 x | end call_2");
    let whole = r#"{"choices":[{"message":{"content":"Hi","tool_calls":[{"id":"z","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}"#;
    let delta = r#"{"choices":[{"delta":{"content":"Hi","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#;
    check(
        "the whole message at the end",
        sse(&[delta, whole, "[DONE]"]),
        &format!("start | text Hi | {} | stop tool_use", first("a")),
    );
}

/// The first object is the call; what follows is reported, unless it says the same again.
#[test]
fn more_than_one_object() {
    let call = "call a f | args a {\"x\":1} | end a";
    for (arguments, reported) in [
        (r#"{\"x\":1}{\"x\":2}"#, true),
        (r#"{\"x\":1} , {}"#, true),
        (r#"{\"x\":1}{\"x\": 1}"#, false),
        (r#"{\"x\":1} \n"#, false),
    ] {
        let piece = format!(
            r#"{{"index":0,"id":"a","function":{{"name":"f","arguments":"{arguments}"}}}}"#
        );
        let expected = if reported {
            format!("{call} | {EXTRA}")
        } else {
            call.to_owned()
        };
        pieces(
            &[&piece],
            "tool_calls",
            &format!("{expected} | stop tool_use"),
        );
    }
}

/// The work for many calls is that for one, so often: what is emitted for each is all that is done.
#[test]
fn many_open_calls() {
    const CALLS: u64 = 50_000;
    let chunks = (0..CALLS).map(|n| {
        let call =
            format!(r#"{{"index":{n},"id":"id{n}","function":{{"name":"f","arguments":"{{"}}}}"#);
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
    });
    let body = chunks.collect::<Vec<_>>().concat();
    // A scan of the calls before for each piece would take 1.25 thousand million steps, minutes in a debug build.
    let begun = read(body.as_bytes(), false, || usize::MAX).len() as u64;
    assert_eq!(begun, 1 + 2 * CALLS + 1);
}

/// Arguments that come before a name are kept up to a limit; past it the call is malformed, and the others are not.
#[test]
fn arguments_without_a_name_have_a_limit() {
    const LIMIT: usize = 4 << 20;
    let frame = |call: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
    };
    let piece = |json: &str| {
        let json = serde_json::to_string(json).unwrap();
        frame(&format!(
            r#"{{"index":0,"function":{{"arguments":{json}}}}}"#
        ))
    };
    for (pieces, is_whole) in [(3, true), (4, false), (9, false)] {
        let body = [
            piece("{\"s\":\""),
            piece(&"x".repeat(1 << 20)).repeat(pieces),
            frame(r#"{"index":0,"function":{"name":"f","arguments":"y"}}"#),
            piece("\"}"),
            frame(r#"{"index":1,"function":{"name":"g","arguments":"{}"}}"#),
            r#"data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
            "\n\ndata: [DONE]\n\n".to_owned(),
        ]
        .concat();
        let deltas = read(body.as_bytes(), false, || usize::MAX);
        let arguments = |call: &str| -> String {
            let pieces = deltas.iter().filter_map(|it| match it {
                Delta::ToolCallDelta { id, delta } if id == call => Some(delta.as_str()),
                _ => None,
            });
            pieces.collect()
        };
        let f = arguments("call_1");
        let read = serde_json::from_str::<serde_json::Value>(&f);
        assert_eq!(read.is_ok(), is_whole, "{pieces}");
        if !is_whole {
            assert_eq!(f.len(), LIMIT, "{pieces}");
        }
        assert_eq!(arguments("call_2"), "{}", "{pieces}");
        let ended = deltas
            .iter()
            .filter(|it| matches!(it, Delta::ToolCallEnd { .. }));
        assert_eq!(ended.count(), 2, "{pieces}");
    }
}
