//! The Responses API: how servers say the same in other ways, in another order, and what breaks. Every row but the marked
//! ones says `hi`, calls `f` with `{"x":1}` and `g` with `{"y":"z"}`, and counts 10 and 5 tokens.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind as Kind;

use super::row::{Api, End, Row, counts};

const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","error":null,"incomplete_details":null,"output":[],"usage":null}}"#;
const BEGUN: &str = r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}}"#;
const MESSAGE: &str = r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}"#;
const PART: &str = r#"{"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#;
const H: &str = r#"{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"h"}"#;
const I: &str = r#"{"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"i"}"#;
const HI: &str = r#"{"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hi"}"#;
const PART_DONE: &str = r#"{"type":"response.content_part.done","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"hi","annotations":[]}}"#;
const MESSAGE_DONE: &str = r#"{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}}"#;
const F: &str = r#"{"type":"response.output_item.added","sequence_number":9,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_a","name":"f","arguments":""}}"#;
const F_1: &str = r#"{"type":"response.function_call_arguments.delta","sequence_number":10,"item_id":"fc_1","output_index":1,"delta":"{\"x\""}"#;
const F_2: &str = r#"{"type":"response.function_call_arguments.delta","sequence_number":11,"item_id":"fc_1","output_index":1,"delta":":1}"}"#;
const F_ARGUMENTS: &str = r#"{"type":"response.function_call_arguments.done","sequence_number":12,"item_id":"fc_1","output_index":1,"arguments":"{\"x\":1}"}"#;
const F_DONE: &str = r#"{"type":"response.output_item.done","sequence_number":13,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"x\":1}"}}"#;
const G: &str = r#"{"type":"response.output_item.added","sequence_number":14,"output_index":2,"item":{"id":"fc_2","type":"function_call","status":"in_progress","call_id":"call_b","name":"g","arguments":""}}"#;
const G_1: &str = r#"{"type":"response.function_call_arguments.delta","sequence_number":15,"item_id":"fc_2","output_index":2,"delta":"{\"y\":\"z\"}"}"#;
const G_DONE: &str = r#"{"type":"response.output_item.done","sequence_number":16,"output_index":2,"item":{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b","name":"g","arguments":"{\"y\":\"z\"}"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","sequence_number":17,"response":{"id":"resp_1","object":"response","status":"completed","model":"m","error":null,"incomplete_details":null,"output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"x\":1}"},{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b","name":"g","arguments":"{\"y\":\"z\"}"}],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}}"#;

/// The end of a reply, without its repetition.
const END: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
const CUT: &str = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}"#;

/// The stream as it should be.
pub(crate) const GOLDEN: [&str; 18] = [
    CREATED,
    BEGUN,
    MESSAGE,
    PART,
    H,
    I,
    HI,
    PART_DONE,
    MESSAGE_DONE,
    F,
    F_1,
    F_2,
    F_ARGUMENTS,
    F_DONE,
    G,
    G_1,
    G_DONE,
    COMPLETED,
];

/// Frames as an event stream, each with the name of its event.
fn sse(frames: &[&str]) -> String {
    let frame = |frame: &&str| {
        let event = frame.split('"').nth(3).unwrap_or("message");
        format!("event: {event}\ndata: {frame}\n\n")
    };
    frames.iter().map(frame).collect()
}

/// A row with everything in it.
pub(crate) fn whole(name: &'static str, frames: &[&str]) -> Row {
    whole_text(name, &sse(frames))
}

fn whole_text(name: &'static str, body: &str) -> Row {
    Row::new(Api::Responses, name, body)
        .text("hi")
        .call("f", r#"{"x":1}"#)
        .call("g", r#"{"y":"z"}"#)
        .usage(10, 5)
        .stops(StopReason::ToolUse)
}

/// A row that says `hi`, and nothing else.
fn hi(name: &'static str, frames: &[&str]) -> Row {
    Row::new(Api::Responses, name, sse(frames))
        .text("hi")
        .stops(StopReason::Stop)
}

/// The golden stream with another form of some of its text.
fn golden(name: &'static str, from: &str, to: &str) -> Row {
    let text = sse(&GOLDEN);
    assert!(text.contains(from), "{name}");
    whole_text(name, &text.replace(from, to))
}

/// The golden stream without the frames of some types.
fn without(name: &'static str, types: &[&str]) -> Row {
    let is_kept = |frame: &&&str| {
        let named = |kind: &&str| frame.contains(&format!(r#""type":"response.{kind}""#));
        !types.iter().any(named)
    };
    let frames: Vec<&str> = GOLDEN.iter().filter(is_kept).copied().collect();
    assert!(frames.len() < GOLDEN.len(), "{name}");
    whole(name, &frames)
}

/// The golden stream with its frames of calls in another order.
fn calls(name: &'static str, frames: &[&str]) -> Row {
    whole(name, &[&GOLDEN[..9], frames, &[COMPLETED]].concat())
}

/// How frames are put into lines, and what they leave out and repeat.
pub(crate) fn framing() -> Vec<Row> {
    let text = sse(&GOLDEN);
    vec![
        whole("as it should be", &GOLDEN),
        whole_text("lines end with CRLF", &text.replace('\n', "\r\n")),
        whole_text("lines end with CR", &text.replace('\n', "\r")),
        whole_text(
            "comments keep it alive",
            &text.replace("\n\n", "\n\n: keep-alive\n\n"),
        ),
        whole_text("[DONE] after the end", &format!("{text}data: [DONE]\n\n")),
        whole_text(
            "no names of events",
            &text
                .lines()
                .filter(|line| !line.starts_with("event:"))
                .fold(String::new(), |text, line| text + line + "\n"),
        ),
        whole_text(
            "types in the names of events only",
            &text.replace(r#"data: {"type":"response."#, r#"data: {"was":"response."#),
        ),
        golden(
            "no sequence numbers",
            r#""sequence_number":"#,
            r#""number":"#,
        ),
        golden("no output indexes", r#""output_index":"#, r#""number":"#),
        golden(
            "output indexes as null",
            r#""output_index":1,"#,
            r#""output_index":null,"#,
        ),
        golden("no ids of items in pieces", r#""item_id":"#, r#""item":"#),
        golden(
            "output indexes with a gap",
            r#""output_index":2"#,
            r#""output_index":3"#,
        ),
        golden(
            "another id in the end of an item",
            r#"done","sequence_number":13,"output_index":1,"item":{"id":"fc_1""#,
            r#"done","sequence_number":13,"output_index":1,"item":{"id":"other""#,
        ),
        golden("no model", r#""model":"m","#, ""),
        golden(
            "a text part that is called text",
            r#"[{"type":"output_text""#,
            r#"[{"type":"text""#,
        ),
        golden(
            "arguments with other white space at the end",
            r#""arguments":"{\"x\":1}""#,
            r#""arguments":"{ \"x\": 1 }""#,
        ),
        golden(
            "unknown events",
            "event: response.in_progress",
            "event: response.galactic",
        ),
        without("no response.created", &["created", "in_progress"]),
        without(
            "no parts of content",
            &["content_part.added", "content_part.done"],
        ),
        without("no pieces of text", &["output_text.delta"]),
        without(
            "no pieces and no end of text",
            &["output_text.delta", "output_text.done"],
        ),
        without(
            "no end of the text",
            &["output_text.done", "content_part.done"],
        ),
        without("no pieces of arguments", &["function_call_arguments.delta"]),
        without(
            "no pieces and no end of arguments",
            &[
                "function_call_arguments.delta",
                "function_call_arguments.done",
            ],
        ),
        without("no beginnings of items", &["output_item.added"]),
        without("no ends of items", &["output_item.done"]),
        whole("nothing but the end", &[COMPLETED]),
        whole("the beginning and the end", &[CREATED, COMPLETED]),
    ]
}

/// What a reply may hold, and how it may end.
pub(crate) fn frames() -> Vec<Row> {
    const REASONING: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#;
    const SUMMARY: &str = r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"hm"}"#;
    const SUMMARY_DONE: &str = r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"hm"}"#;
    const SUMMARY_2: &str = r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"so"}"#;
    const THOUGHT: &str = r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"hm"}"#;
    const REASONING_DONE: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}}"#;
    const SAID: &str = r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"hi"}"#;
    const REFUSED: &str = r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"no"}"#;
    const ALL_COUNTS: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":3}}}}"#;
    let all_counts = counts(10, 5).cached_input_tokens(4).reasoning_tokens(3);
    vec![
        hi("text alone", &[CREATED, MESSAGE, H, I, END]),
        hi("half a character in each piece", &[
            &H.replace(r#""h""#, r#""\ud83d""#),
            &I.replace(r#""i""#, r#""\ude00""#),
            END,
        ])
        .text("😀"),
        hi("half a character at the end", &[H, &I.replace(r#""i""#, r#""\ud83d""#), END]).text("h\u{FFFD}"),
        hi("summaries of reasoning", &[REASONING, SUMMARY, SUMMARY_DONE, REASONING_DONE, SAID, END]).reasoning("hm"),
        hi("two summaries", &[REASONING, SUMMARY, SUMMARY_2, SAID, END]).reasoning("hm\n\nso"),
        hi("reasoning with its end only", &[REASONING_DONE, SAID, END]).reasoning("hm"),
        hi("reasoning itself", &[REASONING, THOUGHT, SAID, END]).reasoning("hm"),
        hi("reasoning itself, and a summary", &[REASONING, THOUGHT, SUMMARY, REASONING_DONE, SAID, END]).reasoning("hm"),
        hi("counts of everything", &[H, I, ALL_COUNTS]).counts(all_counts),
        hi("the token limit", &[MESSAGE, H, I, CUT]).stops(StopReason::MaxTokens),
        hi("a filter", &[H, I, &CUT.replace("max_output_tokens", "content_filter")]).stops(StopReason::ContentFilter),
        hi("incomplete without a reason", &[H, I, r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}"#]).stops(StopReason::Unspecified),
        hi("incomplete, and called complete", &[H, I, &CUT.replace("response.incomplete", "response.completed")]).stops(StopReason::MaxTokens),
        hi("cancelled", &[H, I, r#"{"type":"response.cancelled","response":{"status":"cancelled"}}"#]).stops(StopReason::Other("cancelled".to_owned())),
        hi("[DONE] in place of an end", &[H, I, "[DONE]"]).stops(StopReason::Unspecified),
        hi("a refusal", &[MESSAGE, REFUSED, END]).text("").stops(StopReason::ContentFilter),
        hi("a refusal after text", &[H, I, REFUSED, H, END]).stops(StopReason::ContentFilter),
        hi("tools of the server", &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}"#,
            r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed"}}"#,
            SAID,
            END,
        ]),
        hi("a call without arguments", &[H, I, F, &F_DONE.replace(r#"{\"x\":1}"#, ""), END]).call("f", "{}").stops(StopReason::ToolUse),
        hi("a call without call_id", &[H, I, &F.replace(r#""call_id":"call_a","#, ""), F_1, F_2, F_DONE, END]).call("f", r#"{"x":1}"#).stops(StopReason::ToolUse),
        hi("arguments as an object", &[H, I, F, &F_DONE.replace(r#""{\"x\":1}""#, r#"{"x":1}"#), END]).call("f", r#"{"x":1}"#).stops(StopReason::ToolUse),
    ]
}

/// Frames in another order than the API's.
pub(crate) fn disorder() -> Vec<Row> {
    vec![
        calls(
            "pieces of two calls in turns",
            &[F, G, F_1, G_1, F_2, F_DONE, G_DONE],
        ),
        calls(
            "the second call ends first",
            &[F, G, F_1, G_1, G_DONE, F_2, F_DONE],
        ),
        calls(
            "pieces before their call",
            &[F_1, F, F_2, F_DONE, G, G_1, G_DONE],
        ),
        calls(
            "all pieces before their call",
            &[F_1, F_2, F_ARGUMENTS, F, F_DONE, G, G_1, G_DONE],
        ),
        calls(
            "a call begins twice",
            &[F, F, F_1, F_2, F_DONE, G, G_1, G_DONE],
        ),
        calls(
            "a call ends twice",
            &[F, F_1, F_2, F_DONE, F_DONE, G, G_1, G_DONE, G_DONE],
        ),
        calls(
            "pieces after the end of their call",
            &[F, F_1, F_2, F_DONE, F_1, F_ARGUMENTS, G, G_1, G_DONE],
        ),
        // The pieces and the repetition contradict each other: neither is executed.
        hi(
            "pieces in the wrong order",
            &[H, I, F, F_2, F_1, F_DONE, END],
        )
        .cut("f")
        .stops(StopReason::ToolUse),
        hi("a piece is missing", &[H, I, F, F_1, F_DONE, END])
            .cut("f")
            .stops(StopReason::ToolUse),
        hi(
            "other arguments at the end",
            &[H, I, F, F_1, F_2, &F_DONE.replace(":1}", ":2}"), CUT],
        )
        .cut("f")
        .stops(StopReason::MaxTokens),
        hi(
            "two calls with one call_id",
            &[
                H,
                I,
                F,
                F_1,
                F_2,
                F_DONE,
                &G.replace("call_b", "call_a"),
                G_1,
                G_DONE,
                END,
            ],
        )
        .call("f", r#"{"x":1}"#)
        .stops(StopReason::ToolUse),
        hi(
            "two objects in one call",
            &[H, I, F, F_1, F_2, &F_2.replace(":1}", r#"{\"y\":2}"#), CUT],
        )
        .cut("f")
        .stops(StopReason::MaxTokens),
    ]
}

/// Streams that fail or are cut.
pub(crate) fn broken() -> Vec<Row> {
    let failed = |name, error: &str| {
        let frame = format!(
            r#"{{"type":"response.failed","response":{{"status":"failed","error":{error},"output":[]}}}}"#
        );
        hi(name, &[CREATED, H, I, &frame])
    };
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    vec![
        hi("ends without an end", &[CREATED, MESSAGE, H, I]).fails(Kind::Truncated),
        hi("ends after the end of the text", &[H, I, HI, MESSAGE_DONE]).fails(Kind::Truncated),
        hi("ends in the middle of a frame", &[H, I]).cut_frame(&COMPLETED[..300]).fails(Kind::Truncated),
        hi("ends in the middle of a call", &[H, I, F, F_1]).cut("f").fails(Kind::Truncated),
        hi("ends before the end of a whole call", &[H, I, F, F_1, F_2]).cut("f").fails(Kind::Truncated),
        hi("ends after a whole call", &[H, I, F, F_1, F_2, F_DONE]).call("f", r#"{"x":1}"#).fails(Kind::Truncated),
        hi("the connection breaks", &[H, I]).end(End::Broken).fails(Kind::Truncated),
        hi("the connection breaks after the end", &[H, I, END]).end(End::Broken),
        hi("silence", &[H, I]).end(End::Silent).fails(Kind::Truncated),
        hi("silence after the end", &[H, I, END]).end(End::Silent),
        hi("a frame that is not JSON", &[H, I, "{malformed", END]).fails(Kind::Transport),
        hi("a frame that is not JSON in a call", &[H, I, F, F_1, "{malformed", F_2, F_DONE, END]).cut("f").fails(Kind::Transport),
        hi("a frame that is nested too deeply", &[H, I, &deep, END]).fails(Kind::Other),
        hi("the token limit in a call", &[H, I, F, F_1, CUT]).cut("f").stops(StopReason::MaxTokens),
        hi("the token limit in a call, whose item ends", &[H, I, F, F_1, r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"incomplete","call_id":"call_a","name":"f","arguments":"{\"x\""}}"#, CUT]).cut("f").stops(StopReason::MaxTokens),
        hi("the token limit in a call that looks whole", &[H, I, F, F_1, F_2, r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"incomplete","call_id":"call_a","name":"f","arguments":"{\"x\":1}"}}"#, CUT]).cut("f").stops(StopReason::MaxTokens),
        hi("the token limit before the first argument", &[H, I, F, &F_DONE.replace(r#"{\"x\":1}"#, ""), CUT]).cut("f").stops(StopReason::MaxTokens),
        failed("an error of the server", r#"{"code":"server_error","message":"boom"}"#).fails(Kind::Overloaded),
        failed("a limit", r#"{"code":"rate_limit_exceeded","message":"slow down"}"#).fails(Kind::RateLimit),
        failed("too long a conversation", r#"{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}"#).fails(Kind::ContextOverflow),
        failed("an error without words", "null").fails(Kind::Other),
        hi("an error of its own", &[H, I, r#"{"type":"error","code":"server_error","message":"boom","param":null}"#]).fails(Kind::Overloaded),
        hi("an error in an error", &[H, I, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#]).fails(Kind::RateLimit),
        hi("an error of a proxy", &[H, I, r#"{"error":{"message":"slow down","code":429}}"#]).fails(Kind::RateLimit),
    ]
}
