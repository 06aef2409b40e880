//! Chat Completions: how servers and proxies say the same in other ways. Every row but the marked ones says `hi`, calls
//! `f` with `{"x":1}` and `g` with `{"y":"z"}`, and counts 10 and 5 tokens.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind;

use super::row::{Api, Row, counts};

/// A chunk as OpenAI sends it, around a `delta`.
macro_rules! delta {
    ($delta:literal) => {
        concat!(
            r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":"#,
            $delta,
            r#","logprobs":null,"finish_reason":null}]}"#
        )
    };
}

/// A delta with one piece of a call.
macro_rules! piece {
    ($piece:literal) => {
        concat!(
            r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":["#,
            $piece,
            r#"]},"logprobs":null,"finish_reason":null}]}"#
        )
    };
}

/// The chunk that says why the model stopped.
macro_rules! finish {
    ($reason:literal) => {
        concat!(
            r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":""#,
            $reason,
            r#""}]}"#
        )
    };
}

pub(crate) const ROLE: &str = delta!(r#"{"role":"assistant","content":""}"#);
pub(crate) const HI: &str = delta!(r#"{"content":"hi"}"#);
pub(crate) const F: &str =
    piece!(r#"{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":""}}"#);
pub(crate) const F_1: &str = piece!(r#"{"index":0,"function":{"arguments":"{\"x\""}}"#);
pub(crate) const F_2: &str = piece!(r#"{"index":0,"function":{"arguments":":1}"}}"#);
pub(crate) const G: &str =
    piece!(r#"{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":""}}"#);
pub(crate) const G_1: &str = piece!(r#"{"index":1,"function":{"arguments":"{\"y\":\"z\"}"}}"#);
pub(crate) const CALLS: &str = finish!("tool_calls");
pub(crate) const STOP: &str = finish!("stop");
pub(crate) const COUNTS: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
pub(crate) const DONE: &str = "[DONE]";

/// Pieces of a choice that was not asked for.
const OTHER: &str = r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#;
const OTHER_STOP: &str =
    r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}"#;

/// The stream as it should be.
pub(crate) const GOLDEN: [&str; 10] = [ROLE, HI, F, F_1, F_2, G, G_1, CALLS, COUNTS, DONE];

/// Frames as an event stream.
pub(crate) fn sse(frames: &[&str]) -> Vec<u8> {
    let frame = |frame: &&str| format!("data: {frame}\n\n");
    frames.iter().map(frame).collect::<String>().into_bytes()
}

/// A row with everything in it.
pub(crate) fn whole(name: &'static str, frames: &[&str]) -> Row {
    whole_bytes(name, sse(frames))
}

pub(crate) fn whole_bytes(name: &'static str, body: impl Into<Vec<u8>>) -> Row {
    Row::new(Api::Chat, name, body)
        .text("hi")
        .call("f", r#"{"x":1}"#)
        .call("g", r#"{"y":"z"}"#)
        .usage(10, 5)
        .stops(StopReason::ToolUse)
}

/// A row that says `hi`, and nothing else.
pub(crate) fn hi(name: &'static str, frames: &[&str]) -> Row {
    Row::new(Api::Chat, name, sse(frames))
        .text("hi")
        .stops(StopReason::Stop)
}

/// The golden stream with another form of some of its text.
fn golden(name: &'static str, from: &str, to: &str) -> Row {
    let frames: Vec<String> = GOLDEN.iter().map(|frame| frame.replace(from, to)).collect();
    assert!(
        frames.iter().zip(GOLDEN).any(|(new, old)| new != old),
        "{name}"
    );
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    whole(name, &frames)
}

/// The golden stream as text, with another form of its lines.
fn lines(name: &'static str, change: impl Fn(String) -> String) -> Row {
    let text = String::from_utf8(sse(&GOLDEN)).expect("it is text");
    whole_bytes(name, change(text))
}

/// How chunks are put into lines.
pub(crate) fn framing() -> Vec<Row> {
    let text = |name, body: &str| {
        Row::new(Api::Chat, name, body)
            .text("hi")
            .stops(StopReason::Stop)
    };
    vec![
        whole("as it should be", &GOLDEN),
        lines("lines end with CRLF", |it| it.replace('\n', "\r\n")),
        lines("lines end with CR", |it| it.replace('\n', "\r")),
        lines("no blank behind data:", |it| it.replace("data: ", "data:")),
        lines("a mark of byte order", |it| format!("\u{FEFF}{it}")),
        lines("comments keep it alive", |it| {
            format!(
                ": first\n\n{}",
                it.replace("\n\n", "\n: OPENROUTER PROCESSING\n\n:\n\n")
            )
        }),
        lines("blank lines keep it alive", |it| {
            format!("\n\n \n{}", it.replace("\n\n", "\n\n\n\n"))
        }),
        lines("data over several lines", |it| {
            it.replace(r#","choices""#, ",\ndata: \"choices\"")
        }),
        lines("event, id and retry on every frame", |it| {
            it.replace("data: ", "event: message\nid: 7\nretry: 10\ndata: ")
        }),
        lines("unknown fields", |it| {
            it.replace("data: ", "colour: red\nlonely\ndata: ")
        }),
        lines("no blank line at the end", |it| it.trim_end().to_owned()),
        lines("blanks around [DONE]", |it| {
            it.replace("[DONE]", "  [DONE]  ")
        }),
        lines("text behind [DONE]", |it| {
            format!("{it}data: {HI}\n\ndata: [DONE]\n\n")
        }),
        lines("called text/plain", |it| it).header("content-type", "text/plain"),
        lines("an event stream in capitals", |it| it)
            .header("content-type", "Text/Event-Stream; Charset=UTF-8"),
        text(
            "the last frame is whole, but not ended",
            &format!("data: {HI}\n\ndata: {STOP}"),
        ),
        lines("empty data", |it| it.replace("\n\n", "\n\ndata:\n\n")),
    ]
}

/// What chunks leave out, repeat and rename.
pub(crate) fn chunks() -> Vec<Row> {
    const LEAN: [&str; 4] = [
        r#"{"choices":[{"delta":{"content":"h"}}]}"#,
        r#"{"choices":[{"delta":{"content":"i"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        DONE,
    ];
    const X_GROQ: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}}"#;
    const FINISH_AND_COUNTS: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
    const CHOICE_COUNTS: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}]}"#;
    const ALL_COUNTS: &str = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}"#;
    let all_counts = counts(10, 5).cached_input_tokens(4).reasoning_tokens(3);
    vec![
        golden("finish_reason is empty on every chunk", r#""finish_reason":null"#, r#""finish_reason":"""#),
        golden("no finish_reason where there is none", r#","finish_reason":null"#, ""),
        hi("a finish_reason that nobody knows", &[HI, finish!("galactic"), DONE])
            .stops(StopReason::Other("galactic".to_owned())),
        hi("eos is a stop", &[HI, finish!("eos"), DONE]),
        hi("a finish_reason in capitals", &[HI, finish!("STOP"), DONE]),
        hi("the token limit", &[HI, finish!("length"), DONE]).stops(StopReason::MaxTokens),
        hi("a filter", &[HI, finish!("content_filter"), DONE]).stops(StopReason::ContentFilter),
        hi("two finish_reasons", &[HI, STOP, STOP, DONE]),
        hi("an empty delta behind the finish", &[HI, STOP, delta!(r#"{"content":""}"#), DONE]),
        golden("stop with calls is tool_calls", r#""finish_reason":"tool_calls""#, r#""finish_reason":"stop""#),
        hi("no id, object, created, model", &LEAN),
        golden("usage {} on every chunk", r#""model":"m","#, r#""model":"m","usage":{},"#)
            .no_usage()
            .usage(10, 5),
        golden("usage null on every chunk", r#""logprobs":null"#, r#""usage":null"#),
        golden("error null on every chunk", r#""model":"m","#, r#""model":"m","error":null,"#),
        golden("choices null with usage", r#""choices":[]"#, r#""choices":null"#),
        golden("no choices with usage", r#""choices":[],"#, ""),
        hi("no [DONE]", &[HI, STOP]),
        whole("no [DONE] behind usage", &GOLDEN[..9]),
        hi("no finish_reason, but [DONE]", &[HI, DONE]).stops(StopReason::Unspecified),
        hi("the limit, then a stop", &[HI, finish!("length"), STOP, DONE]).stops(StopReason::MaxTokens),
        hi("a stop, then the limit", &[HI, STOP, finish!("length"), DONE]).stops(StopReason::MaxTokens),
        hi("a call without arguments, then abort", &[HI, F, finish!("abort"), DONE])
            .cut("f")
            .stops(StopReason::Other("abort".to_owned())),
        hi("a call without arguments, then [DONE]", &[HI, F, DONE]).cut("f").stops(StopReason::Unspecified),
        whole("no usage at all", &[ROLE, HI, F, F_1, F_2, G, G_1, CALLS, DONE]).no_usage(),
        whole("usage with the finish", &[HI, F, F_1, F_2, G, G_1, FINISH_AND_COUNTS, DONE]),
        hi("usage of Groq", &[HI, X_GROQ, DONE]).usage(10, 5),
        hi("usage in the choice", &[HI, CHOICE_COUNTS, DONE]).usage(10, 5),
        hi(
            "usage that grows",
            &[
                r#"{"choices":[{"delta":{"content":"h"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}"#,
                r#"{"choices":[{"delta":{"content":"i"}}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}"#,
                STOP,
                DONE,
            ],
        )
        .usage(10, 2),
        hi("usage with everything", &[HI, STOP, ALL_COUNTS, DONE]).counts(all_counts),
        hi(
            "counts as floats, and some null",
            &[
                HI,
                STOP,
                r#"{"choices":[],"usage":{"prompt_tokens":10.0,"completion_tokens":5.0,"total_tokens":null,"prompt_tokens_details":null}}"#,
                DONE,
            ],
        )
        .usage(10, 5),
        hi(
            "negative counts",
            &[HI, STOP, r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":-1}}"#, DONE],
        )
        .usage(10, 0),
        hi(
            "usage behind [DONE] is too late",
            &[HI, STOP, DONE, COUNTS],
        ),
        hi(
            "Azure begins with what its filter says of the prompt",
            &[
                r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}"#,
                ROLE,
                HI,
                STOP,
                DONE,
            ],
        ),
        hi("a role on every chunk", &[delta!(r#"{"role":"assistant","content":"h"}"#), delta!(r#"{"role":"assistant","content":"i"}"#), STOP, DONE]),
        hi("an empty role", &[delta!(r#"{"role":"","content":"hi"}"#), STOP, DONE]),
        hi("content null", &[delta!(r#"{"role":"assistant","content":null}"#), HI, STOP, DONE]),
        hi("delta null", &[r#"{"choices":[{"index":0,"delta":null}]}"#, HI, STOP, DONE]),
        hi("tool_calls null", &[delta!(r#"{"content":"hi","tool_calls":null,"function_call":null}"#), STOP, DONE]),
        hi("tool_calls []", &[delta!(r#"{"content":"hi","tool_calls":[]}"#), STOP, DONE]),
        hi("content as parts", &[delta!(r#"{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}"#), STOP, DONE]),
        hi("text and finish in one chunk", &[r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#, DONE]),
        hi("message in place of delta", &[r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#, DONE]),
        hi("text in place of delta", &[r#"{"choices":[{"index":0,"text":"hi"}]}"#, STOP, DONE]),
        golden("choices from 1", r#"[{"index":0,"delta""#, r#"[{"index":1,"delta""#),
        hi("a second choice is not ours", &[r#"{"choices":[{"index":0,"delta":{"content":"hi"}},{"index":1,"delta":{"content":"no"}}]}"#, STOP, DONE]),
        hi("a second choice in chunks of its own", &[HI, r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#, STOP, DONE]),
        hi("a second choice comes first", &[OTHER, HI, OTHER, STOP, DONE]),
        hi("a second choice comes first, with a reason to stop", &[OTHER_STOP, HI, STOP, DONE]),
        hi("a second choice comes in front of counts and ours", &[OTHER, COUNTS, HI, STOP, DONE]).usage(10, 5),
        hi("a second choice after a chunk without choices", &[r#"{"choices":[]}"#, HI, OTHER, OTHER, STOP, DONE]),
        hi("only a second choice", &[r#"{"choices":[{"index":1,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#, DONE]),
        hi("only a second choice, and an end without [DONE]", &[r#"{"choices":[{"index":1,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#]),
        hi("only a piece of a second choice", &[r#"{"choices":[{"index":1,"delta":{"content":"hi"}}]}"#]).fails(ModelErrorKind::Truncated),
        hi("frames that nobody knows", &[r#"{"type":"keepalive"}"#, r#"{"foo":[1,2]}"#, HI, "17", STOP, DONE]),
        hi("reasoning_content", &[delta!(r#"{"role":"assistant","content":null,"reasoning_content":"hm"}"#), HI, STOP, DONE]).reasoning("hm"),
        hi("reasoning", &[delta!(r#"{"reasoning":"hm"}"#), HI, STOP, DONE]).reasoning("hm"),
        hi("reasoning twice over", &[delta!(r#"{"reasoning":"hm","reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#), HI, STOP, DONE]).reasoning("hm"),
        hi("reasoning in details alone", &[delta!(r#"{"reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#), HI, STOP, DONE]).reasoning("hm"),
        hi("a refusal", &[delta!(r#"{"refusal":"no"}"#), STOP, DONE]).text("").stops(StopReason::ContentFilter),
        hi("a refusal behind text", &[HI, delta!(r#"{"refusal":"no"}"#), HI, STOP, DONE]).stops(StopReason::ContentFilter),
    ]
}

/// Characters that are cut.
pub(crate) fn characters() -> Vec<Row> {
    let broken = {
        let mut body = sse(&[delta!(r#"{"content":"hi #"}"#), STOP, DONE]);
        let at = body
            .iter()
            .position(|byte| *byte == b'#')
            .expect("it is there");
        body[at] = 0xFF;
        body
    };
    let args = |name, first, second| {
        Row::new(Api::Chat, name, sse(&[F, first, second, CALLS, DONE])).stops(StopReason::ToolUse)
    };
    vec![
        hi(
            "characters of several bytes",
            &[delta!(r#"{"content":"žluťoučký 🦀 漢字"}"#), STOP, DONE],
        )
        .text("žluťoučký 🦀 漢字"),
        hi(
            "a surrogate pair in two chunks",
            &[
                delta!(r#"{"content":"a\ud83e"}"#),
                delta!(r#"{"content":"\udd80b"}"#),
                STOP,
                DONE,
            ],
        )
        .text("a🦀b"),
        hi(
            "a surrogate pair in two chunks, one between",
            &[
                delta!(r#"{"content":"\ud83e"}"#),
                delta!(r#"{"content":""}"#),
                delta!(r#"{"content":"\udd80"}"#),
                STOP,
                DONE,
            ],
        )
        .text("🦀"),
        hi(
            "a surrogate pair escaped in one chunk",
            &[delta!(r#"{"content":"\ud83e\udd80"}"#), STOP, DONE],
        )
        .text("🦀"),
        hi(
            "a first half alone",
            &[
                delta!(r#"{"content":"a\ud83e"}"#),
                delta!(r#"{"content":"b"}"#),
                STOP,
                DONE,
            ],
        )
        .text("a\u{FFFD}b"),
        hi(
            "a first half at the end",
            &[delta!(r#"{"content":"a\ud83e"}"#), STOP, DONE],
        )
        .text("a\u{FFFD}"),
        hi(
            "a second half alone",
            &[delta!(r#"{"content":"\udd80b"}"#), STOP, DONE],
        )
        .text("\u{FFFD}b"),
        hi(
            "an escaped backslash before u",
            &[delta!(r#"{"content":"\\ud83e"}"#), STOP, DONE],
        )
        .text("\\ud83e"),
        args(
            "a surrogate pair in two pieces of arguments, raw",
            piece!(r#"{"index":0,"function":{"arguments":"{\"x\":\"\ud83e"}}"#),
            piece!(r#"{"index":0,"function":{"arguments":"\udd80\"}"}}"#),
        )
        .call("f", r#"{"x":"🦀"}"#),
        args(
            "a surrogate pair in two pieces of arguments, escaped",
            piece!(r#"{"index":0,"function":{"arguments":"{\"x\":\"\\ud83e"}}"#),
            piece!(r#"{"index":0,"function":{"arguments":"\\udd80\"}"}}"#),
        )
        .call("f", r#"{"x":"🦀"}"#),
        args(
            "an escape in two pieces of arguments",
            piece!(r#"{"index":0,"function":{"arguments":"{\"x\":\"a\\"}}"#),
            piece!(r#"{"index":0,"function":{"arguments":"\"b}\"}"}}"#),
        )
        .call("f", r#"{"x":"a\"b}"}"#),
        Row::new(Api::Chat, "a byte that is no text", broken)
            .text("hi \u{FFFD}")
            .stops(StopReason::Stop),
        hi(
            "zero characters",
            &[delta!(r#"{"content":"h\u0000i"}"#), STOP, DONE],
        )
        .text("h\0i"),
    ]
}
