//! Every way in which a server was seen, or may be expected, to differ from the documentation.

use super::{read, shown, stream};

const START: &str = r#"message_start {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#;
const OPEN: &str = r#"content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HI: &str = r#"content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
const CLOSE: &str = r#"content_block_stop {"type":"content_block_stop","index":0}"#;
const END: &str = r#"message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#;
const STOP: &str = r#"message_stop {"type":"message_stop"}"#;

fn check(why: &str, frames: &[&str], expected: &[&str]) {
    let bytes = stream(frames);
    assert_eq!(shown(&read(&[bytes.as_bytes()])), expected, "{why}");
}

/// A reply of one text, from `frames` between its start and its end.
fn check_inside(why: &str, frames: &[&str], expected: &[&str]) {
    let frames: Vec<&str> = [START]
        .iter()
        .chain(frames)
        .chain(&[END, STOP])
        .copied()
        .collect();
    let expected: Vec<&str> = ["start m"]
        .iter()
        .chain(expected)
        .chain(&["end stop 10(0+0)>5(0)"])
        .copied()
        .collect();
    check(why, &frames, &expected);
}

/// A text of this stop reason.
fn check_end(why: &str, last: &[&str], expected: &[&str]) {
    let frames: Vec<&str> = [START, OPEN, HI, CLOSE]
        .iter()
        .chain(last)
        .copied()
        .collect();
    let expected: Vec<&str> = ["start m", "text hi"]
        .iter()
        .chain(expected)
        .copied()
        .collect();
    check(why, &frames, &expected);
}

#[test]
fn frames() {
    check_inside("as documented", &[OPEN, HI, CLOSE], &["text hi"]);
    check_inside(
        "pings",
        &[
            r#"ping {"type":"ping"}"#,
            OPEN,
            HI,
            r#"{"type":"ping"}"#,
            CLOSE,
        ],
        &["text hi"],
    );
    let bare = |frame: &str| frame.split_once(' ').unwrap().1.to_owned();
    let bare: Vec<String> = [START, OPEN, HI, CLOSE, END, STOP].map(bare).to_vec();
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    check(
        "no event lines",
        &bare,
        &["start m", "text hi", "end stop 10(0+0)>5(0)"],
    );
    check_inside(
        "the type stands in the event line alone",
        &[
            OPEN,
            r#"content_block_delta {"index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
            CLOSE,
        ],
        &["text hi"],
    );
    check_inside(
        "an event line that says something else",
        &[
            OPEN,
            r#"message {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
            CLOSE,
        ],
        &["text hi"],
    );
    check_inside(
        "an unknown event",
        &[OPEN, HI, r#"budget {"type":"budget","left":3}"#, CLOSE],
        &["text hi", r#"raw {"type":"budget","left":3}"#],
    );
    check_inside(
        "an unknown field",
        &[
            OPEN,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi","new":1},"p":"x"}"#,
            CLOSE,
        ],
        &["text hi"],
    );
    check_inside(
        "data that is no object",
        &["x [1]", OPEN, HI, CLOSE],
        &["raw [1]", "text hi"],
    );
    check_inside("no data", &["x  ", OPEN, HI, CLOSE], &["text hi"]);
    check("nothing at all", &[], &["cut"]);
    check(
        "no start",
        &[OPEN, HI, CLOSE, END, STOP],
        &["text hi", "end stop 0(0+0)>5(0)"],
    );
    check(
        "two starts",
        &[START, START, OPEN, HI, CLOSE, END, STOP],
        &["start m", "text hi", "end stop 10(0+0)>5(0)"],
    );
    check(
        "an empty start",
        &[r#"{"type":"message_start"}"#, OPEN, HI, CLOSE, END, STOP],
        &["start -", "text hi", "end stop 0(0+0)>5(0)"],
    );
    check(
        "a start that has content",
        &[
            r#"{"type":"message_start","message":{"model":"m","content":[{"type":"text","text":"hi"}]}}"#,
            END,
            STOP,
        ],
        &["start m", "text hi", "end stop 0(0+0)>5(0)"],
    );
}

#[test]
fn blocks() {
    check_inside(
        "text in the start of the block",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}"#,
            CLOSE,
        ],
        &["text hi"],
    );
    check_inside("no start of the block", &[HI, HI, CLOSE], &["text hihi"]);
    check_inside(
        "no start of a thought",
        &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}"#,
            CLOSE,
        ],
        &["think hm", r#"about {"signature":"abc"}"#],
    );
    check_inside("no stop of the block", &[OPEN, HI], &["text hi"]);
    check_inside(
        "more behind the stop",
        &[OPEN, HI, CLOSE, HI],
        &["text hihi"],
    );
    check_inside("an empty block", &[OPEN, CLOSE], &[]);
    check_inside(
        "no numbers",
        &[
            r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}}"#,
        ],
        &["think hm", "text hi"],
    );
    check_inside(
        "a number used again",
        &[
            OPEN,
            HI,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}"#,
        ],
        &["text hi", "think hm"],
    );
    check_inside(
        "mixed blocks come out one after the other",
        &[
            OPEN,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"B"}}"#,
            HI,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            HI,
            CLOSE,
        ],
        &["text hihiBb"],
    );
    check(
        "mixed blocks that are cut come out, too",
        &[
            START,
            OPEN,
            HI,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"hm"}}"#,
        ],
        &[
            "start m",
            "text hi",
            "think hm",
            "usage 10(0+0)>1(0)",
            "cut",
        ],
    );
    check_inside(
        "thoughts and their signature",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}"#,
            CLOSE,
        ],
        &["think hm", r#"about {"signature":"abc"}"#],
    );
    check_inside(
        "thoughts that are hidden",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
            CLOSE,
        ],
        &[r#"about {"redacted_thinking":"xyz"}"#],
    );
    check_inside(
        "citations",
        &[
            OPEN,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"url":"u"}}}"#,
            HI,
            CLOSE,
        ],
        &[r#"cites [{"url":"u"}]"#, "text hi"],
    );
    check_inside(
        "a block of an unknown kind",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            CLOSE,
        ],
        &[
            r#"raw {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s"}}"#,
            r#"raw {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        ],
    );
    check_inside(
        "text in a block of an unknown kind",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"new"}}"#,
            HI,
            CLOSE,
        ],
        &[
            r#"raw {"type":"content_block_start","index":0,"content_block":{"type":"new"}}"#,
            "text hi",
        ],
    );
    check_inside(
        "a piece of an unknown kind",
        &[
            OPEN,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","x":1}}"#,
            HI,
            CLOSE,
        ],
        &[
            r#"raw {"type":"content_block_delta","index":0,"delta":{"type":"new_delta","x":1}}"#,
            "text hi",
        ],
    );
}

#[test]
fn halves_of_characters() {
    let piece = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )
    };
    let (high, low) = (piece(r"a\ud83d"), piece(r"\ude00b"));
    check_inside(
        "a pair over two pieces",
        &[OPEN, &high, &low, CLOSE],
        &["text a😀b"],
    );
    check_inside("a half alone", &[OPEN, &high, CLOSE], &["text a\u{FFFD}"]);
    check_inside(
        "a half before another text",
        &[OPEN, &high, HI, CLOSE],
        &["text a\u{FFFD}hi"],
    );
}

#[test]
fn stop_reasons_are_mapped() {
    let delta = |reason: &str| {
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}},"usage":{{"output_tokens":5}}}}"#
        )
    };
    let reasons = [
        (r#""end_turn""#, "stop"),
        (r#""max_tokens""#, "max_tokens"),
        (r#""stop_sequence""#, "stop_sequence"),
        (r#""tool_use""#, "tool_use"),
        (r#""pause_turn""#, "pause_turn"),
        (r#""refusal""#, "content_filter"),
        (r#""model_context_window_exceeded""#, "max_tokens"),
        (r#""compaction""#, "compaction"),
        (r#""eos""#, "stop"),
        (r#""stop""#, "stop"),
        // `message_stop` alone is no reason.
        ("null", "unspecified"),
        (r#""""#, "unspecified"),
        ("7", "7"),
        (r#"["end_turn"]"#, r#"["end_turn"]"#),
    ];
    for (reason, word) in reasons {
        let end = format!("end {word} 10(0+0)>5(0)");
        check_end(reason, &[&delta(reason), STOP], &[&end]);
    }
    check_end("no message_stop", &[END], &["end stop 10(0+0)>5(0)"]);
    check_end(
        "[DONE] for message_stop",
        &[END, "[DONE]"],
        &["end stop 10(0+0)>5(0)"],
    );
    check_end(
        "no message_delta",
        &[STOP],
        &["end unspecified 10(0+0)>1(0)"],
    );
    check_end("neither", &[], &["usage 10(0+0)>1(0)", "cut"]);
    check_end(
        "cut behind a delta without a reason",
        &[&delta("null")],
        &["usage 10(0+0)>5(0)", "cut"],
    );
    check_end(
        "more behind the end",
        &[END, STOP, HI],
        &["end stop 10(0+0)>5(0)"],
    );
    check_end(
        "the reason in the start",
        &[r#"{"type":"message_start","message":{"stop_reason":"end_turn"}}"#],
        &["end stop 10(0+0)>1(0)"],
    );
}

#[test]
fn usage() {
    let check = |first: &str, last: &str, expected: &str| {
        let start =
            format!(r#"{{"type":"message_start","message":{{"model":"m","usage":{first}}}}}"#);
        let end = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{last}}}"#
        );
        let end_line = format!("end stop {expected}");
        check(
            last,
            &[&start, &end, STOP],
            &["start m", end_line.trim_end()],
        );
    };
    // Cached tokens are no part of Anthropic's input, but of ours.
    check(
        r#"{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}"#,
        r#"{"output_tokens":7}"#,
        "130(100+20)>7(0)",
    );
    check(
        r#"{"input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4}}"#,
        r#"{"output_tokens":7}"#,
        "17(0+7/4h)>7(0)",
    );
    // Counts that come late, come again, or shrink.
    check(
        r#"{"input_tokens":0,"output_tokens":0}"#,
        r#"{"input_tokens":12,"output_tokens":7}"#,
        "12(0+0)>7(0)",
    );
    check(
        r#"{"input_tokens":12,"output_tokens":9}"#,
        r#"{"input_tokens":12,"output_tokens":7}"#,
        "12(0+0)>9(0)",
    );
    check(
        r#"{"input_tokens":12}"#,
        r#"{"output_tokens":7,"output_tokens_details":{"thinking_tokens":5}}"#,
        "12(0+0)>7(5)",
    );
    check("{}", "{}", "");
    check("null", "null", "");
    check(
        r#"{"input_tokens":null,"output_tokens":-3}"#,
        r#"{"output_tokens":"7"}"#,
        "0(0+0)>7(0)",
    );
}

#[test]
fn errors_in_the_stream() {
    let check = |error: &str, expected: &str| {
        let line = format!("error {expected}");
        check_end(error, &[error, HI], &["usage 10(0+0)>1(0)", &line]);
    };
    let error = |kind: &str, words: &str| {
        format!(r#"error {{"type":"error","error":{{"type":"{kind}","message":"{words}"}}}}"#)
    };
    check(
        &error("overloaded_error", "Overloaded"),
        "Overloaded Overloaded",
    );
    check(
        &error("rate_limit_error", "slow down"),
        "RateLimit slow down",
    );
    check(&error("api_error", "oops"), "Overloaded oops");
    check(&error("timeout_error", "slow"), "Overloaded slow");
    check(&error("authentication_error", "no"), "Authentication no");
    check(&error("permission_error", "no"), "Authentication no");
    check(&error("billing_error", "pay"), "Other pay");
    check(&error("not_found_error", "which?"), "BadRequest which?");
    check(
        &error("request_too_large", "too large"),
        "BadRequest too large",
    );
    check(
        &error(
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        "ContextOverflow prompt is too long: 210000 tokens > 200000 maximum",
    );
    check(&error("invalid_request_error", "bad"), "BadRequest bad");
    check(&error("new_error", "new"), "Other new");
    check(
        r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "Overloaded Overloaded",
    );
    check(
        r#"error {"type":"error","message":"slow down"}"#,
        "Other slow down",
    );
    check(
        "{malformed",
        "Transport the provider sent a frame that is not JSON: {malformed",
    );
}
