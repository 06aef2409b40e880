//! What replies say: text, reasoning, counts, endings.

use super::show::{check, sse};

/// A chunk of this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// One delta, a stop and the end.
#[track_caller]
fn says(said: &str, expected: &str) {
    let body = sse(&[&delta(said), STOP, "[DONE]"]);
    let expected = match expected {
        "" => "start m | stop stop".to_owned(),
        some => format!("start m | {some} | stop stop"),
    };
    check(said, body, &expected);
    // Behind the first chunk, common ones are read another way.
    let first = delta(r#"{"role":"assistant","content":""}"#);
    let body = sse(&[&first, &delta(said), STOP, "[DONE]"]);
    check(said, body, &expected);
}

#[test]
fn text_and_reasoning() {
    says(r#"{"content":"Hi"}"#, "text Hi");
    says(r#"{"role":"assistant","content":""}"#, "");
    says(
        r#"{"role":"assistant","content":null,"tool_calls":null,"refusal":null,"function_call":null}"#,
        "",
    );
    says(
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        "text ab",
    );
    says(
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"b"}]}"#,
        "think hm | text b",
    );
    says(r#"{"reasoning_content":"hm","content":null}"#, "think hm");
    says(r#"{"reasoning":"hm"}"#, "think hm");
    says(r#"{"reasoning_content":"hm","reasoning":"hm"}"#, "think hm");
    says(
        r#"{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#,
        "think hm",
    );
    says(
        r#"{"reasoning":"","reasoning_details":[{"type":"reasoning.summary","summary":"hm"},{"type":"reasoning.encrypted","data":"x"}]}"#,
        "think hm",
    );
    says(
        r#"{"reasoning_content":"hm","content":"Hi"}"#,
        "think hm | text Hi",
    );
    says(
        r#"{"content":"a\u0000b\n\"\\ \ud83d\ude00 \\ud83d"}"#,
        "text a\u{0}b\n\"\\ \u{1F600} \\ud83d",
    );
}

/// Of a server that counts otherwise it is the first one, also if one with number 0 follows.
#[test]
fn one_choice_is_read() {
    let piece = |choice: u8, text: &str| {
        format!(r#"{{"choices":[{{"index":{choice},"delta":{{"content":"{text}"}}}}]}}"#)
    };
    let stop = STOP.replace(r#""index":0"#, r#""index":1"#);
    check(
        "choice 1 first",
        sse(&[
            &piece(1, "a"),
            &piece(1, "b"),
            &piece(0, "no"),
            &stop,
            "[DONE]",
        ]),
        "start | text ab | stop stop",
    );
}

#[test]
fn annotations_are_metadata() {
    let annotation = r#"{"content":"x","annotations":[{"type":"url_citation"}]}"#;
    let metadata =
        r#"{"type":"content_metadata","metadata":{"annotations":[{"type":"url_citation"}]}}"#;
    says(annotation, &format!("text x | {metadata}"));
}

#[test]
fn halves_of_characters() {
    let cases: [(&[&str], &str); 7] = [
        (
            &[r#"{"content":"a\ud83d"}"#, r#"{"content":"\ude00b"}"#],
            "text a\u{1F600}b",
        ),
        (
            &[
                r#"{"content":"\uD83D"}"#,
                r#"{"content":""}"#,
                r#"{"content":"\uDE00"}"#,
            ],
            "text \u{1F600}",
        ),
        (
            &[r#"{"content":"\ud83d"}"#, r#"{"content":"b"}"#],
            "text \u{FFFD}b",
        ),
        (
            &[r#"{"content":"a"}"#, r#"{"content":"\ude00b"}"#],
            "text a\u{FFFD}b",
        ),
        (&[r#"{"content":"a\ud83d"}"#], "text a\u{FFFD}"),
        (
            &[
                r#"{"content":"\ud83d\ud83d"}"#,
                r#"{"content":"\ude00\ude00"}"#,
            ],
            "text \u{FFFD}\u{1F600}\u{FFFD}",
        ),
        (
            &[
                r#"{"reasoning":"\ud83d","content":null}"#,
                r#"{"reasoning":"\ude00"}"#,
            ],
            "think \u{1F600}",
        ),
    ];
    for (deltas, expected) in cases {
        let frames: Vec<_> = deltas.iter().map(|it| delta(it)).collect();
        let frames: Vec<_> = frames
            .iter()
            .map(String::as_str)
            .chain([STOP, "[DONE]"])
            .collect();
        check(
            &format!("{deltas:?}"),
            sse(&frames),
            &format!("start m | {expected} | stop stop"),
        );
    }
}

#[test]
fn finish_reasons() {
    let cases = [
        (r#""stop""#, "stop"),
        (r#""length""#, "max_tokens"),
        (r#""max_tokens""#, "max_tokens"),
        (r#""tool_calls""#, "tool_use"),
        (r#""function_call""#, "tool_use"),
        (r#""content_filter""#, "content_filter"),
        (r#""error""#, "error"),
        (r#""eos""#, "stop"),
        (r#""repetition""#, "other(repetition)"),
        (r#""STOP""#, "stop"),
        (r#""stop_sequence""#, "stop_sequence"),
        (r#""model_context_window_exceeded""#, "max_tokens"),
        (r#""refusal""#, "content_filter"),
        (
            r#""insufficient_system_resource""#,
            "other(insufficient_system_resource)",
        ),
        (r#""abort""#, "other(abort)"),
        (r#""stopped""#, "other(stopped)"),
        (r#""null""#, "other(null)"),
        // `[DONE]` alone is no reason.
        (r#""""#, "unspecified"),
        ("null", "unspecified"),
        ("7", "other(7)"),
        (r#"{"type":"stop"}"#, r#"other({"type":"stop"})"#),
        (r#"["stop"]"#, r#"other(["stop"])"#),
    ];
    for (word, expected) in cases {
        let chunk =
            format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":{word}}}]}}"#);
        check(
            word,
            sse(&[&chunk, "[DONE]"]),
            &format!("start | text x | stop {expected}"),
        );
    }
}

#[test]
fn a_refusal_ends_the_text_and_is_not_part_of_it() {
    let refused = r#"{"type":"diagnostic","code":"refusal","message":"the provider refused: I cannot","span":{"start":0,"end":0}}"#;
    let whole = delta(r#"{"refusal":"I cannot"}"#);
    let empty = delta(r#"{"content":"Hi","refusal":""}"#);
    let parts = [
        delta(r#"{"refusal":"I "}"#),
        delta(r#"{"content":"more","refusal":"can\ud83d"}"#),
        delta(r#"{"content":"more"}"#),
        delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#),
        delta(r#"{"refusal":"not"}"#),
    ];
    let hi = delta(r#"{"content":"Hi"}"#);
    let frames: Vec<&str> = [&hi]
        .into_iter()
        .chain(&parts)
        .map(String::as_str)
        .collect();
    for ends in [&[STOP, "[DONE]"][..], &["[DONE]"], &[]] {
        check(
            "refusal",
            sse(&[&[whole.as_str()], ends].concat()),
            &format!("start m | {refused} | stop content_filter"),
        );
        check(
            "in pieces, with text around it",
            sse(&[&frames, ends].concat()),
            &format!(
                "start m | text Hi | {} | stop content_filter",
                refused.replace("cannot", "can\u{FFFD}not")
            ),
        );
    }
    check(
        "an empty one is none",
        sse(&[&empty, STOP, "[DONE]"]),
        "start m | text Hi | stop stop",
    );
    check(
        "a document",
        r#"{"choices":[{"message":{"content":null,"refusal":"I cannot"},"finish_reason":"stop"}]}"#,
        &format!("start | {refused} | stop content_filter"),
    );
}

/// A cut is not overwritten by a later word, and a whole word does not hide a later cut.
#[test]
fn several_finish_reasons() {
    let chunk =
        |word: &str| format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
    for (first, second, expected) in [
        ("length", "stop", "max_tokens"),
        ("stop", "length", "max_tokens"),
        ("abort", "stop", "other(abort)"),
        ("abort", "length", "other(abort)"),
        ("stop", "tool_calls", "tool_use"),
        ("tool_calls", "stop", "stop"),
    ] {
        check(
            &format!("{first}, {second}"),
            sse(&[&chunk(first), &chunk(second), "[DONE]"]),
            &format!("start | stop {expected}"),
        );
    }
}

#[test]
fn counts() {
    let cases = [
        (
            r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#,
            " 3+2",
        ),
        (r#"{"prompt_tokens":3,"completion_tokens":2}"#, " 3+2"),
        (
            r#"{"prompt_tokens":3.0,"completion_tokens":"2","total_tokens":null}"#,
            " 3+2",
        ),
        (r#"{"prompt_tokens":-1,"completion_tokens":2}"#, " 0+2"),
        ("{}", ""),
        ("null", ""),
        (
            r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#,
            "",
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}"#,
            " 9+5 cached 4 reasoning 3",
        ),
        // All of the output may be reasoning.
        (
            r#"{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"completion_tokens_details":{"reasoning_tokens":3}}"#,
            " 9+3 reasoning 3",
        ),
        // Reasoning beside the output: the total says so, or it could not be a part.
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":3}}"#,
            " 9+8 reasoning 3",
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":3}}"#,
            " 9+4 reasoning 3",
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}"#,
            " 9+1 cached 8",
        ),
        (
            r#"{"input_tokens":9,"output_tokens":1,"cache_creation_input_tokens":2}"#,
            " 9+1 written 2",
        ),
        // What OpenRouter and Perplexity say that it cost.
        (
            r#"{"prompt_tokens":9,"completion_tokens":1,"cost":0.0123,"cost_details":{"upstream_inference_cost":0}}"#,
            " 9+1 $0.0123",
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":1,"cost":{"input_tokens_cost":0.1,"total_cost":0.5}}"#,
            " 9+1 $0.5",
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":1,"cost":-1}"#,
            " 9+1",
        ),
        (
            r#"{"prompt_tokens":1,"completion_tokens":18446744073709551615}"#,
            " 1+18446744073709551615",
        ),
    ];
    for (usage, expected) in cases {
        let stop =
            format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop"}}],"usage":{usage}}}"#);
        let expected = format!("start | stop stop{expected}");
        if !usage.contains("1844") {
            check(usage, sse(&[&stop, "[DONE]"]), &expected);
        }
        let alone = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        if !usage.contains("1844") {
            check(usage, sse(&[STOP, &alone, "[DONE]"]), &expected);
        }
    }
}

#[test]
fn counts_in_other_places() {
    let counts = r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#;
    for stop in [
        format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop","usage":{counts}}}]}}"#),
        format!(
            r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop"}}],"x_groq":{{"usage":{counts}}}}}"#
        ),
        format!(r#"{{"choices":null,"usage":{counts}}}"#),
        format!(r#"{{"usage":{counts}}}"#),
    ] {
        check(
            &stop,
            sse(&[STOP, &stop, "[DONE]"]),
            "start | stop stop 3+2",
        );
    }
    let growing = r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let last = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    check(
        "growing",
        sse(&[growing, STOP, last]),
        "start | text x | stop stop 3+2",
    );
    check(
        "cut",
        sse(&[growing]),
        "start | text x | usage 3+1 | error Truncated: the stream ended before the reply did",
    );
}

#[test]
fn a_reply_that_is_no_stream_gives_the_same() {
    let calls = r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]"#;
    let usage = r#""usage":{"prompt_tokens":3,"completion_tokens":2}"#;
    let message = format!(
        r#"{{"role":"assistant","content":"Hi \ud83d\ude00","reasoning_content":"hm","tool_calls":{calls}}}"#
    );
    let whole = format!(
        r#"{{"id":"1","object":"chat.completion","model":"m","choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}],{usage}}}"#
    );
    let expected = "start m | think hm | text Hi \u{1F600} | call a f | args a {\"x\":1} | end a | call b g | end b | stop tool_use 3+2";
    check("document", &whole, expected);
    check(
        "document behind blanks",
        format!("\u{FEFF}\n\n  {whole}\n"),
        expected,
    );
    check("document as a frame", sse(&[&whole]), expected);
    let indexed = calls
        .replace(r#"{"id":"b""#, r#"{"index":1,"id":"b""#)
        .replace(r#"{"id":"a""#, r#"{"index":0,"id":"a""#);
    let chunk = delta(&format!(
        r#"{{"content":"Hi \ud83d\ude00","reasoning_content":"hm","tool_calls":{indexed}}}"#
    ));
    let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"tool_calls"}}],{usage}}}"#);
    check("stream", sse(&[&chunk, &end, "[DONE]"]), expected);
    check(
        "no finish reason",
        r#"{"choices":[{"message":{"content":"x"}}]}"#,
        "start | text x | stop unspecified",
    );
    check(
        "legacy",
        r#"{"choices":[{"text":"x","finish_reason":"length"}]}"#,
        "start | text x | stop max_tokens",
    );
}
