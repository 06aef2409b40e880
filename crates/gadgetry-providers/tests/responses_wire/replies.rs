//! What replies say, delta by delta: also when something is emitted, not just that it is.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_providers::openai::responses;
use gadgetry_providers::{Decode, ResponseDecoder};

use crate::openai_wire::show::{check_by, sse};

const CREATED: &str =
    r#"{"type":"response.created","response":{"status":"in_progress","model":"m","output":[]}}"#;
const MESSAGE: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}"#;
const HI: &str = r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"hi"}"#;
const CALL: &str = r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"a","name":"f","arguments":""}}"#;
const X: &str = r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"x\":1}"}"#;
const CALL_DONE: &str = r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"f","arguments":"{\"x\":1}"}}"#;
const END: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
const LIMIT: &str = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}"#;
const WHOLE: &str = "call a f | args a {\"x\":1} | end a";

fn decoder() -> Box<dyn Decode> {
    Box::new(responses::Decoder::new())
}

/// Holds the deltas of these frames against `expected`; nothing behind `…` came, so the stream was cut.
#[track_caller]
fn check(name: &str, frames: &[&str], expected: &str) {
    let expected = expected.replace(
        '…',
        "error Truncated: the stream ended before the reply did",
    );
    check_by(decoder, name, sse(frames).as_bytes(), &expected);
}

/// A frame of a type, with more fields.
fn frame(kind: &str, fields: &str) -> String {
    format!(r#"{{"type":"response.{kind}",{fields}}}"#)
}

fn refused(words: &str) -> String {
    format!(
        r#"{{"type":"diagnostic","code":"refusal","message":"the provider refused: {words}","span":{{"start":0,"end":0}}}}"#
    )
}

#[test]
fn texts() {
    check(
        "pieces",
        &[CREATED, MESSAGE, HI, HI, END],
        "start m | text hihi | stop stop",
    );
    check(
        "no name of the model",
        &[&CREATED.replace(r#""m""#, r#""""#), HI, END],
        "start | text hi | stop stop",
    );
    check("a piece comes at once", &[HI], "start | text hi | …");
    let done = frame(
        "output_text.done",
        r#""item_id":"msg_1","output_index":0,"content_index":0,"text":"hi""#,
    );
    let empty = HI.replace(r#""hi""#, r#""""#);
    check(
        "with the end of the part alone",
        &[&done],
        "start | text hi | …",
    );
    check(
        "an empty piece says nothing",
        &[&empty, &done, END],
        "start | text hi | stop stop",
    );
    let second = HI.replace(r#""content_index":0"#, r#""content_index":1"#);
    check(
        "two parts",
        &[HI, &second, END],
        "start | text hihi | stop stop",
    );
    let half = HI.replace("hi", r"h\ud83d");
    check(
        "half a character",
        &[&half, END],
        "start | text h\u{FFFD} | stop stop",
    );
    check(
        "half a character before a call",
        &[&half, CALL, X, CALL_DONE, END],
        &format!("start | text h | {WHOLE} | text \u{FFFD} | stop tool_use"),
    );
    check(
        "no data",
        &["", HI, " ", END],
        "start | text hi | stop stop",
    );
    let annotation = frame(
        "output_text.annotation.added",
        r#""item_id":"msg_1","output_index":0,"annotation":{"url":"u"}"#,
    );
    let metadata = r#"{"type":"content_metadata","metadata":{"annotations":[{"url":"u"}]}}"#;
    check(
        "annotations",
        &[HI, &annotation, END],
        &format!("start | text hi | {metadata} | stop stop"),
    );
    check(
        "signs of life",
        &[HI, r#"{"type":"keepalive"}"#, END],
        "start | text hi | stop stop",
    );
}

#[test]
fn reasoning() {
    let piece = |kind: &str, at: u8, text: &str| {
        let (index, field) = if kind.starts_with("reasoning_text") {
            ("content_index", "delta")
        } else {
            ("summary_index", "delta")
        };
        let field = if kind.ends_with("done") {
            "text"
        } else {
            field
        };
        frame(
            kind,
            &format!(r#""item_id":"rs_1","output_index":0,"{index}":{at},"{field}":"{text}""#),
        )
    };
    for kind in [
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_text.delta",
        "reasoning_text.done",
    ] {
        check(kind, &[&piece(kind, 0, "hm")], "start | think hm | …");
    }
    let summary = |at, text| piece("reasoning_summary_text.delta", at, text);
    let thought = |at, text| piece("reasoning_text.delta", at, text);
    check(
        "summaries are paragraphs",
        &[
            &summary(0, "h"),
            &summary(0, "m"),
            &summary(1, "s"),
            &summary(1, "o"),
            END,
        ],
        "start | think hm\n\nso | stop stop",
    );
    check(
        "thoughts are one text",
        &[&thought(0, "h"), &thought(1, "m"), END],
        "start | think hm | stop stop",
    );
    check(
        "a summary of what was shown",
        &[&thought(0, "hm"), &summary(0, "so"), END],
        "start | think hm | stop stop",
    );
    check(
        "what was summarised",
        &[&summary(0, "hm"), &thought(0, "so"), END],
        "start | think hm | stop stop",
    );
    let whole = |content: &str| {
        frame(
            "output_item.done",
            &format!(r#""output_index":0,"item":{{"id":"rs_1","type":"reasoning",{content}}}"#),
        )
    };
    check(
        "a summary with its item",
        &[&whole(r#""summary":[{"type":"summary_text","text":"hm"}]"#)],
        "start | think hm | …",
    );
    check(
        "thoughts with their item",
        &[&whole(
            r#""summary":[],"content":[{"type":"reasoning_text","text":"hm"}]"#,
        )],
        "start | think hm | …",
    );
}

#[test]
fn refusals() {
    let piece = |text: &str| {
        frame(
            "refusal.delta",
            &format!(r#""item_id":"msg_1","output_index":0,"content_index":1,"delta":"{text}""#),
        )
    };
    let done = frame(
        "refusal.done",
        r#""item_id":"msg_1","output_index":0,"content_index":1,"refusal":"no""#,
    );
    let item = frame(
        "output_item.done",
        r#""output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"refusal","refusal":"no"}]}"#,
    );
    for frames in [
        vec![piece("n"), piece("o"), done.clone()],
        vec![done],
        vec![item],
    ] {
        let frames: Vec<&str> = frames.iter().map(String::as_str).chain([END]).collect();
        check(
            "a refusal",
            &frames,
            &format!("start | {} | stop content_filter", refused("no")),
        );
    }
    let half = HI.replace("hi", r"h\ud83d");
    let other = piece("no").replace(r#""output_index":0"#, r#""output_index":1"#);
    check(
        "texts around it",
        &[&half, &other, HI, END],
        &format!("start | text h | {} | stop content_filter", refused("no")),
    );
    check(
        "the limit in it",
        &[&piece("no"), LIMIT],
        &format!("start | {} | stop max_tokens", refused("no")),
    );
}

#[test]
fn a_call_ends_with_its_item_or_its_arguments() {
    check(
        "a call ends with its item",
        &[CALL, X, CALL_DONE, HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    let arguments = |json: &str| {
        frame(
            "function_call_arguments.done",
            &format!(r#""item_id":"fc_1","output_index":1,"arguments":"{json}""#),
        )
    };
    let same = arguments(r#"{\"x\":1}"#);
    check(
        "or with its arguments",
        &[CALL, X, &same, HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    check(
        "which may come alone",
        &[CALL, &same, HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    check(
        "in other white space",
        &[CALL, X, &arguments(r#" { \"x\" : 1 } "#), HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    check(
        "or not again",
        &[CALL, X, &arguments(""), HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    let open = "call a f | args a {\"x\":1}";
    check(
        "other arguments are not trusted",
        &[CALL, X, &arguments(r#"{\"x\":2}"#), HI, LIMIT],
        &format!("start | {open} | text hi | stop max_tokens"),
    );
    check(
        "no end of it, but of the reply",
        &[CALL, X, HI, END],
        &format!("start | {open} | text hi | end a | stop tool_use"),
    );
    check(
        "no end of it, and of the reply neither",
        &[CALL, X, LIMIT],
        &format!("start | {open} | stop max_tokens"),
    );
    let half = X.replace(":1}", "");
    check(
        "half of its arguments",
        &[CALL, &half, END],
        "start | call a f | args a {\"x\" | stop tool_use",
    );
    let cut = CALL_DONE.replace("completed", "incomplete");
    check(
        "an item that is incomplete",
        &[CALL, X, &cut, LIMIT],
        &format!("start | {open} | stop max_tokens"),
    );
    check(
        "no arguments",
        &[CALL, &arguments(""), HI, END],
        "start | call a f | text hi | end a | stop tool_use",
    );
    check(
        "no arguments because of the limit",
        &[CALL, &arguments(""), LIMIT],
        "start | call a f | stop max_tokens",
    );
    check(
        "the name comes late",
        &[X, CALL, CALL_DONE, HI],
        &format!("start | {WHOLE} | text hi | …"),
    );
    check(
        "a call without a name is none",
        &[X, HI, END],
        "start | text hi | stop stop",
    );
    let nameless = |frame: &str| {
        frame
            .replace(r#""call_id":"a","#, "")
            .replace(r#""id":"fc_1","#, "")
    };
    check(
        "no ids",
        &[HI, &nameless(CALL), X, &nameless(CALL_DONE), END],
        "start | text hi | call call_2 f | args call_2 {\"x\":1} | end call_2 | stop tool_use",
    );
    let again = r#"{"type":"diagnostic","code":"repeatedCall","message":"the reply used the call id \"a\" more than once; only the first call with it was executed","span":{"start":0,"end":0}}"#;
    let other = |frame: &str| {
        frame
            .replace("fc_1", "fc_2")
            .replace(r#""output_index":1"#, r#""output_index":2"#)
    };
    check(
        "an id that is used again",
        &[
            CALL,
            X,
            CALL_DONE,
            &other(CALL),
            &other(X),
            &other(CALL_DONE),
            END,
        ],
        &format!("start | {WHOLE} | {again} | stop tool_use"),
    );
}

/// Arguments without a name are kept up to a limit. Behind it the call is cut, and a cut call never ends.
#[test]
fn arguments_before_their_call_have_a_limit() {
    let text = "x".repeat((1 << 20) - 12);
    let piece = |json: &str| X.replace(r#"{\"x\":1}"#, json);
    let first = piece(&format!(r#"{{\"s\":\"{text}"#));
    let done = CALL_DONE.replace(r#","arguments":"{\"x\":1}""#, "");
    for (more, is_whole) in [("", true), ("aaaa", true), ("aaaaaaaaaaaa", false)] {
        let frames = [&first, &piece(more), &piece(r#"\"}"#), CALL, &done, END];
        let mut answer = ResponseDecoder::new(decoder());
        let mut deltas = Vec::new();
        answer.feed(sse(&frames).as_bytes(), &mut deltas);
        let ended = deltas
            .iter()
            .any(|delta| matches!(delta, Delta::ToolCallEnd { .. }));
        assert_eq!(ended, is_whole, "{more}");
        assert!(answer.is_over());
    }
}

#[test]
fn items_without_the_numbers_or_ids_of_the_api() {
    let bare = |frame: &str| {
        frame
            .replace(r#""output_index":1,"#, "")
            .replace(r#""output_index":0,"#, "")
    };
    let second = |frame: &str| {
        bare(frame)
            .replace("fc_1", "fc_2")
            .replace(r#""a""#, r#""b""#)
            .replace('x', "y")
    };
    let (call, x) = (bare(CALL), bare(X));
    let parts = [
        call.as_str(),
        &second(CALL),
        &x,
        &second(X),
        &bare(CALL_DONE),
        &second(CALL_DONE),
        END,
    ];
    let begin = "start | call a f | call b f | args a {\"x\":1} | args b {\"y\":1}";
    check(
        "ids alone",
        &parts,
        &format!("{begin} | end a | end b | stop tool_use"),
    );
    let zero = |frame: &str| frame.replace(r#""output_index":1"#, r#""output_index":0"#);
    check(
        "one number for all",
        &[MESSAGE, HI, &zero(CALL), &zero(X), &zero(CALL_DONE), END],
        &format!("start | text hi | {WHOLE} | stop tool_use"),
    );
    let nameless = |frame: &str| zero(frame).replace(r#""id":"fc_1","#, "");
    let other = |frame: &str| nameless(frame).replace(r#""a""#, r#""b""#);
    check(
        "one number, no ids",
        &[
            &nameless(CALL),
            &zero(X),
            &nameless(CALL_DONE),
            &other(CALL),
            &zero(X),
            &other(CALL_DONE),
            END,
        ],
        &format!("start | {WHOLE} | call b f | args b {{\"x\":1}} | end b | stop tool_use"),
    );
    check(
        "a call that begins twice",
        &[CALL, CALL, X, CALL_DONE, END],
        &format!("start | {WHOLE} | stop tool_use"),
    );
    // The end repeats everything; what has come is not emitted again.
    let message =
        r#"{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"hi"}]}"#;
    let called =
        r#"{"id":"fc_1","type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}"#;
    let end = END.replace("[]", &format!("[{message},{called}]"));
    let whole = format!("start | text hi | {WHOLE} | stop tool_use");
    check(
        "the end repeats it",
        &[HI, CALL, X, CALL_DONE, &end],
        &whole,
    );
    check(
        "the end repeats it under its ids",
        &[&bare(HI), &call, &x, &bare(CALL_DONE), &end],
        &whole,
    );
    let renamed = end.replace("msg_1", "msg_9").replace("fc_1", "fc_9");
    check(
        "the end repeats it under its numbers",
        &[HI, CALL, X, CALL_DONE, &renamed],
        &whole,
    );
    check(
        "the end repeats it under neither",
        &[&bare(HI), &call, &x, &bare(CALL_DONE), &renamed],
        &whole,
    );
    check("the end has what never came", &[HI, &end], &whole);
    check("the end has all of it", &[&end], &whole);
}

#[test]
fn the_end_of_a_response_gives_the_stop_reason() {
    let end = |event: &str, response: &str| frame(event, &format!(r#""response":{response}"#));
    for (event, response, word) in [
        ("completed", r#"{"status":"completed"}"#, "stop"),
        ("completed", "{}", "stop"),
        ("completed", r#"{"status":"incomplete"}"#, "unspecified"),
        ("incomplete", r#"{"status":"completed"}"#, "unspecified"),
        ("incomplete", "{}", "unspecified"),
        (
            "incomplete",
            r#"{"incomplete_details":{"reason":"max_output_tokens"}}"#,
            "max_tokens",
        ),
        (
            "incomplete",
            r#"{"incomplete_details":{"reason":"content_filter"}}"#,
            "content_filter",
        ),
        (
            "incomplete",
            r#"{"incomplete_details":{"reason":"stop"}}"#,
            "unspecified",
        ),
        (
            "incomplete",
            r#"{"incomplete_details":{"reason":"galactic"}}"#,
            "other(galactic)",
        ),
        ("cancelled", "{}", "other(cancelled)"),
        ("completed", r#"{"status":"cancelled"}"#, "other(cancelled)"),
    ] {
        check(
            response,
            &[HI, &end(event, response)],
            &format!("start | text hi | stop {word}"),
        );
    }
    check(
        "[DONE]",
        &[HI, "[DONE]"],
        "start | text hi | stop unspecified",
    );
    let counts = r#""usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}"#;
    let begun = CREATED.replace(r#""output":[]"#, counts);
    check(
        "counts of a reply that is cut",
        &[&begun, HI],
        "start m | text hi | usage 10+5 | …",
    );
    check(
        "counts of the end",
        &[HI, &end("completed", &format!("{{{counts}}}"))],
        "start | text hi | stop stop 10+5",
    );
    for (body, expected) in [
        (r#"{"output":[]}"#, "start | stop unspecified"),
        (r#"{"id":"r","status":"completed"}"#, "start | stop stop"),
        (
            r#"{"id":"r"}"#,
            r#"error BadRequest: the answer is JSON, but not a reply; check the base URL. It begins: {"id":"r"}"#,
        ),
    ] {
        check_by(decoder, body, body.as_bytes(), expected);
    }
}

/// The code of an error is the error's own; that a response has failed is no code.
#[test]
fn failures() {
    let none = "the provider reports an error without a message";
    let failed = |response: &str| frame("failed", &format!(r#""response":{response}"#));
    let completed = |response: &str| frame("completed", &format!(r#""response":{response}"#));
    let error = r#""error":{"code":"server_error","message":"boom"}"#;
    let with = |fields: &str| format!("{{{fields}}}");
    for (frame, kind, message, code) in [
        (
            failed(r#"{"status":"failed","error":null}"#),
            ModelErrorKind::Other,
            none,
            None,
        ),
        (failed("{}"), ModelErrorKind::Other, none, None),
        (
            completed(r#"{"status":"failed"}"#),
            ModelErrorKind::Other,
            none,
            None,
        ),
        (
            failed(&with(&format!(r#""status":"failed",{error}"#))),
            ModelErrorKind::Overloaded,
            "boom",
            Some("server_error"),
        ),
        (
            completed(&with(error)),
            ModelErrorKind::Overloaded,
            "boom",
            Some("server_error"),
        ),
        (
            failed(r#"{"status":"failed","error":{"message":"boom"}}"#),
            ModelErrorKind::Other,
            "boom",
            None,
        ),
        (
            failed(r#"{"status":"failed","error":"boom"}"#),
            ModelErrorKind::Other,
            "boom",
            None,
        ),
        (
            r#"{"type":"error","code":"server_error","message":"boom"}"#.to_owned(),
            ModelErrorKind::Overloaded,
            "boom",
            Some("server_error"),
        ),
        (
            with(error),
            ModelErrorKind::Overloaded,
            "boom",
            Some("server_error"),
        ),
    ] {
        let mut answer = ResponseDecoder::new(decoder());
        let mut deltas = Vec::new();
        answer.feed(sse(&[HI, &frame]).as_bytes(), &mut deltas);
        let mut expected = ModelError::new(kind, message);
        expected.code = code.map(str::to_owned);
        assert_eq!(deltas.last(), Some(&expected.into()), "{frame}");
    }
}
