//! The Messages API: how servers and proxies say the same in other ways. Every row but the marked ones says `hi`, calls
//! `f` with `{"x":1}` and `g` with `{"y":"z"}`, and counts 10 and 5 tokens.

use gadgetry_proto::delta::StopReason;

use super::row::{Api, Row, counts};

/// The frame that says why the model stopped.
macro_rules! stop {
    ($reason:literal) => {
        concat!(
            r#"{"type":"message_delta","delta":{"stop_reason":""#,
            $reason,
            r#"","stop_sequence":null},"usage":{"output_tokens":5}}"#
        )
    };
}

/// More text of block 0.
macro_rules! text {
    ($text:literal) => {
        concat!(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""#,
            $text,
            r#""}}"#
        )
    };
}

pub(crate) const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#;
pub(crate) const HI_START: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
pub(crate) const HI: &str = text!("hi");
pub(crate) const HI_END: &str = r#"{"type":"content_block_stop","index":0}"#;
pub(crate) const USE_F: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_a","name":"f","input":{}}}"#;
pub(crate) const USE_F_1: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}"#;
pub(crate) const USE_F_2: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#;
pub(crate) const USE_F_END: &str = r#"{"type":"content_block_stop","index":1}"#;
pub(crate) const USE_G: &str = r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_b","name":"g","input":{}}}"#;
pub(crate) const USE_G_1: &str = r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"y\":\"z\"}"}}"#;
pub(crate) const USE_G_END: &str = r#"{"type":"content_block_stop","index":2}"#;
pub(crate) const USED: &str = stop!("tool_use");
pub(crate) const STOP: &str = stop!("end_turn");
pub(crate) const END: &str = r#"{"type":"message_stop"}"#;

/// The stream as it should be.
pub(crate) const GOLDEN: [&str; 13] = [
    START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, USE_G, USE_G_1, USE_G_END,
    USED, END,
];

/// Frames as an event stream, each with its name.
pub(crate) fn sse(frames: &[&str]) -> Vec<u8> {
    let frame = |frame: &&str| {
        let json: serde_json::Value = serde_json::from_str(frame).unwrap_or_default();
        match json["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {frame}\n\n"),
            None => format!("data: {frame}\n\n"),
        }
    };
    frames.iter().map(frame).collect::<String>().into_bytes()
}

/// A row with everything in it.
pub(crate) fn whole(name: &'static str, frames: &[&str]) -> Row {
    whole_bytes(name, sse(frames))
}

fn whole_bytes(name: &'static str, body: impl Into<Vec<u8>>) -> Row {
    Row::new(Api::Messages, name, body)
        .text("hi")
        .call("f", r#"{"x":1}"#)
        .call("g", r#"{"y":"z"}"#)
        .usage(10, 5)
        .stops(StopReason::ToolUse)
}

/// A row that says `hi`, and nothing else.
pub(crate) fn hi(name: &'static str, frames: &[&str]) -> Row {
    Row::new(Api::Messages, name, sse(frames))
        .text("hi")
        .usage(10, 5)
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

/// How frames are put into lines.
pub(crate) fn framing() -> Vec<Row> {
    let without = |text: String, word: &str| {
        let lines = text.split_inclusive('\n');
        lines.filter(|line| !line.starts_with(word)).collect()
    };
    vec![
        whole("as it should be", &GOLDEN),
        lines("lines end with CRLF", |it| it.replace('\n', "\r\n")),
        lines("lines end with CR", |it| it.replace('\n', "\r")),
        lines("no blank behind colons", |it| {
            it.replace("event: ", "event:").replace("data: ", "data:")
        }),
        lines("no event lines", |it| without(it, "event:")),
        lines("the event behind the data", |it| {
            let frames = it.split_terminator("\n\n").map(|frame| {
                let (event, data) = frame.split_once('\n').expect("two lines");
                format!("{data}\n{event}\n\n")
            });
            frames.collect()
        }),
        lines("the wrong event", |it| {
            it.replace("event: content_block_delta", "event: message")
        }),
        lines("no type in the data", |it| {
            let frames = it.split_terminator("\n\n").map(|frame| {
                let (event, data) = frame.split_once('\n').expect("two lines");
                let name = event.trim_start_matches("event: ");
                let data = data.replacen(&format!(r#""type":"{name}","#), "", 1);
                format!(
                    "{event}\n{}\n\n",
                    data.replacen(&format!(r#"{{"type":"{name}"}}"#), "{}", 1)
                )
            });
            frames.collect()
        }),
        lines("comments keep it alive", |it| {
            format!(
                ":\n\n{}",
                it.replace("\n\n", "\n: hush\n\n: keep-alive\n\n")
            )
        }),
        lines("data over several lines", |it| {
            it.replace(r#","index""#, ",\ndata: \"index\"")
        }),
        lines("pings everywhere", |it| {
            it.replace("\n\n", "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n")
        }),
        lines("frames that nobody knows", |it| {
            it.replace("\n\n", "\n\nevent: vertex_event\ndata: {\"type\":\"vertex_event\",\"x\":1}\n\ndata: [1]\n\n")
        }),
        lines("[DONE] at the end", |it| format!("{it}data: [DONE]\n\n")),
        lines("[DONE] before the end", |it| {
            it.replace("event: message_stop", "data: [DONE]\n\nevent: message_stop")
        }),
        lines("no blank line at the end", |it| it.trim_end().to_owned()),
        lines("empty data", |it| it.replace("\n\n", "\n\ndata:\n\n")),
    ]
}

/// What frames leave out, repeat and mix.
pub(crate) fn frames() -> Vec<Row> {
    const G_AT_1: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_b","name":"g","input":{}}}"#;
    const G_AT_1_1: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"y\":\"z\"}"}}"#;
    const START_0: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":0,"output_tokens":0}}}"#;
    const USED_ALL: &str = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":10,"output_tokens":5}}"#;
    const EMPTY_PIECE: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#;
    const THINK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    const THINK_1: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    const THINK_2: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#;
    const HI_AT_1: &str =
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#;
    const HI_AT_1_1: &str =
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}"#;
    let all = counts(60, 5)
        .cached_input_tokens(30)
        .cache_creation_tokens(20);
    let hi_with = |name, stop: &'static str| hi(name, &[START, HI_START, HI, HI_END, stop, END]);
    vec![
        golden("no usage at the start", r#","usage":{"input_tokens":10,"output_tokens":1}"#, "").usage(0, 5),
        golden("usage null at the start", r#""usage":{"input_tokens":10,"output_tokens":1}"#, r#""usage":null"#).usage(0, 5),
        golden("no usage at the end", r#","usage":{"output_tokens":5}"#, "").usage(10, 1),
        golden("usage null at the end", r#""usage":{"output_tokens":5}"#, r#""usage":null"#).usage(10, 1),
        golden("all usage at the end", r#""usage":{"output_tokens":5}"#, r#""usage":{"input_tokens":10,"output_tokens":5}"#),
        whole("usage 0 at the start, all at the end", &[&[START_0], &GOLDEN[1..11], &[USED_ALL, END]].concat()),
        golden("caches", r#""usage":{"input_tokens":10,"#, r#""usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0},"service_tier":"standard","#).counts(all),
        golden("cache counts null", r#""usage":{"input_tokens":10,"#, r#""usage":{"input_tokens":10,"cache_read_input_tokens":null,"cache_creation_input_tokens":null,"cache_creation":null,"server_tool_use":null,"#),
        whole("no message_start", &GOLDEN[1..]).usage(0, 5),
        whole("no message_stop", &GOLDEN[..12]),
        whole("no content_block_stop", &[START, HI_START, HI, USE_F, USE_F_1, USE_F_2, USE_G, USE_G_1, USED, END]),
        whole("no content_block_start for text", &[START, HI, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END]),
        whole("interleaved", &[START, HI_START, USE_F, USE_G, USE_F_1, USE_G_1, HI, USE_F_2, USE_G_END, USE_F_END, HI_END, USED, END]),
        whole("one index for both calls", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, G_AT_1, G_AT_1_1, USE_F_END, USED, END]),
        whole("one index for both calls, and no end of the first", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_2, G_AT_1, G_AT_1_1, USE_F_END, USED, END]),
        golden("gaps between indices", r#""index":2"#, r#""index":9"#),
        golden("indices from 1", r#""index":0"#, r#""index":7"#),
        golden("one id for both calls, which is one call", "toolu_b", "toolu_a")
            .no_call()
            .call("f", r#"{"x":1}"#),
        golden("no id for one call", r#""id":"toolu_a","#, ""),
        golden("ids that are empty", r#""id":"toolu_a""#, r#""id":"""#),
        golden("input null at the start", r#""input":{}"#, r#""input":null"#),
        golden("no input at the start", r#","input":{}"#, ""),
        golden("input empty text at the start", r#""input":{}"#, r#""input":"""#),
        whole("empty pieces of input", &[START, HI_START, HI, HI_END, USE_F, EMPTY_PIECE, USE_F_1, EMPTY_PIECE, USE_F_2, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END]),
        whole("input whole at the start", &[START, HI_START, HI, HI_END, r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_a","name":"f","input":{"x":1}}}"#, USE_F_END, r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_b","name":"g","input":{"y":"z"}}}"#, USE_G_END, USED, END]),
        whole("input as an object in a piece", &[START, HI_START, HI, HI_END, USE_F, r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":{"x":1}}}"#, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END]),
        whole("text whole at the start of its block", &[START, r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}"#, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END]),
        whole("an empty block of text first", &[START, HI_START, HI_END, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END]),
        whole("no index on any frame", &[
            START,
            r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"content_block_stop"}"#,
            r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"toolu_a","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}"#,
            r#"{"type":"content_block_stop"}"#,
            r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"toolu_b","name":"g","input":{}}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"y\":\"z\"}"}}"#,
            r#"{"type":"content_block_stop"}"#,
            USED,
            END,
        ]),
        golden("end_turn with calls is tool_use", r#""stop_reason":"tool_use""#, r#""stop_reason":"end_turn""#),
        golden("no stop_reason, but message_stop", r#""stop_reason":"tool_use""#, r#""stop_reason":null"#).stops(StopReason::Unspecified),
        hi("a call without input, then the limit", &[START, HI_START, HI, HI_END, USE_F, USE_F_END, stop!("max_tokens"), END])
            .cut("f")
            .stops(StopReason::MaxTokens),
        hi("a call without input, then pause_turn", &[START, HI_START, HI, HI_END, USE_F, USE_F_END, stop!("pause_turn"), END])
            .cut("f")
            .stops(StopReason::Other("pause_turn".to_owned())),
        hi("a call without input, then message_stop", &[START, HI_START, HI, HI_END, USE_F, USE_F_END, END])
            .usage(10, 1)
            .cut("f")
            .stops(StopReason::Unspecified),
        hi("a call without input, and another block", &[START, HI_START, HI, HI_END, USE_F, USE_F_END, USE_G, USE_G_1, USE_G_END, stop!("max_tokens"), END])
            .call("f", "{}")
            .call("g", r#"{"y":"z"}"#)
            .stops(StopReason::MaxTokens),
        hi("the limit, then end_turn", &[START, HI_START, HI, HI_END, stop!("max_tokens"), STOP, END]).stops(StopReason::MaxTokens),
        whole("a call whose JSON is broken, and another", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_END, USE_G, USE_G_1, USE_G_END, USED, END])
            .no_call()
            .call("f", r#""{\"x\"""#)
            .call("g", r#"{"y":"z"}"#),
        whole("the last call's JSON is broken", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_END, USED, END])
            .no_call()
            .call("f", r#""{\"x\"""#),
        hi("no arguments", &[START, HI_START, HI, HI_END, USE_F, USE_F_END, USED, END]).call("f", "{}").stops(StopReason::ToolUse),
        hi("thoughts", &[START, THINK, THINK_1, THINK_2, HI_END, HI_AT_1, HI_AT_1_1, USE_F_END, STOP, END]).reasoning("hm"),
        hi("thoughts that nobody may read", &[START, r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}"#, HI_END, HI_AT_1, HI_AT_1_1, USE_F_END, STOP, END]),
        hi("thoughts without a start", &[START, THINK_1, HI_END, HI_AT_1, HI_AT_1_1, USE_F_END, STOP, END]).reasoning("hm"),
        hi("a tool of the server is no call", &[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}"#,
            HI_END,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}"#,
            USE_F_END,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://example.com"}}}"#,
            USE_G_END,
            STOP,
            END,
        ]),
        hi("a delta that nobody knows", &[START, HI_START, r#"{"type":"content_block_delta","index":0,"delta":{"type":"colour_delta","colour":"red"}}"#, HI, HI_END, STOP, END]),
        hi_with("the token limit", stop!("max_tokens")).stops(StopReason::MaxTokens),
        hi_with("the window", stop!("model_context_window_exceeded")).stops(StopReason::MaxTokens),
        hi_with("a stop sequence that was not requested", stop!("stop_sequence")).stops(StopReason::Other("stop_sequence, which was not requested".to_owned())),
        hi_with("a refusal", stop!("refusal")).stops(StopReason::ContentFilter),
        hi_with("a pause", stop!("pause_turn")).stops(StopReason::Other("pause_turn".to_owned())),
        hi_with("a stop_reason that nobody knows", stop!("galactic")).stops(StopReason::Other("galactic".to_owned())),
        hi("the limit in the middle of a call", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, stop!("max_tokens"), END]).cut("f").stops(StopReason::MaxTokens),
        hi("the limit in the middle of a call, whose block is ended", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_END, stop!("max_tokens"), END]).cut("f").stops(StopReason::MaxTokens),
        hi("the limit behind a whole call", &[START, HI_START, HI, HI_END, USE_F, USE_F_1, USE_F_2, USE_F_END, stop!("max_tokens"), END]).call("f", r#"{"x":1}"#).stops(StopReason::MaxTokens),
        hi("text behind message_stop is too late", &[START, HI_START, HI, HI_END, STOP, END, HI_START, HI]),
    ]
}

/// Characters that are cut.
pub(crate) fn characters() -> Vec<Row> {
    let said = |name, pieces: &[&str]| {
        hi(
            name,
            &[&[START, HI_START], pieces, &[HI_END, STOP, END]].concat(),
        )
    };
    let broken = {
        let mut body = sse(&[START, HI_START, text!("hi #"), HI_END, STOP, END]);
        let at = body
            .iter()
            .position(|byte| *byte == b'#')
            .expect("it is there");
        body[at] = 0xFF;
        body
    };
    vec![
        said("characters of several bytes", &[text!("žluťoučký 🦀 漢字")]).text("žluťoučký 🦀 漢字"),
        said("a surrogate pair in two frames", &[text!(r"a\ud83e"), text!(r"\udd80b")]).text("a🦀b"),
        said("a first half alone", &[text!(r"a\ud83e"), text!("b")]).text("a\u{FFFD}b"),
        said("a first half at the end", &[text!(r"a\ud83e")]).text("a\u{FFFD}"),
        said("a second half alone", &[text!(r"\udd80b")]).text("\u{FFFD}b"),
        hi("a surrogate pair in two pieces of input", &[
            START,
            USE_F,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":\"\ud83e"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\udd80\"}"}}"#,
            USE_F_END,
            USED,
            END,
        ])
        .text("")
        .call("f", r#"{"x":"🦀"}"#)
        .stops(StopReason::ToolUse),
        Row::new(Api::Messages, "a byte that is no text", broken).text("hi \u{FFFD}").usage(10, 5).stops(StopReason::Stop),
    ]
}
