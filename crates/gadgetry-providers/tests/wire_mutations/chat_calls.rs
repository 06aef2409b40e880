//! Chat Completions: calls, in every form that servers give them.

use gadgetry_proto::delta::StopReason;

use super::chat::{CALLS, COUNTS, DONE, F, F_1, F_2, G, G_1, HI, ROLE, hi, sse, whole};
use super::row::{Api, Row};

/// A chunk with an array of pieces.
macro_rules! pieces {
    ($pieces:literal) => {
        concat!(
            r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":"#,
            $pieces,
            r#"},"finish_reason":null}]}"#
        )
    };
}

/// `hi`, the frames of calls, the finish and the counts.
fn calls(name: &'static str, frames: &[&str]) -> Row {
    let frames = [&[ROLE, HI], frames, &[CALLS, COUNTS, DONE]].concat();
    whole(name, &frames)
}

/// One call of `f` with these arguments, written as the JSON of the field.
fn arguments(name: &'static str, json: &str, input: &str) -> Row {
    let frame = format!(
        r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_a","type":"function","function":{{"name":"f"{json}}}}}]}}}}]}}"#
    );
    Row::new(Api::Chat, name, sse(&[&frame, CALLS, DONE]))
        .call("f", input)
        .stops(StopReason::ToolUse)
}

pub(crate) fn rows() -> Vec<Row> {
    const LENGTH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    let cut = |name, frames: &[&str]| {
        let frames = [&[ROLE, HI], frames].concat();
        hi(name, &frames)
    };
    vec![
        calls("each call in one chunk", &[
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("both calls in one chunk", &[
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("both calls in one chunk, without index", &[
            pieces!(r#"[{"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("interleaved", &[F, G, F_1, G_1, F_2]),
        calls("no index", &[
            pieces!(r#"[{"id":"call_a","type":"function","function":{"name":"f","arguments":""}}]"#),
            pieces!(r#"[{"function":{"arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"function":{"arguments":":1}"}}]"#),
            pieces!(r#"[{"id":"call_b","type":"function","function":{"name":"g","arguments":""}}]"#),
            pieces!(r#"[{"function":{"arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("no index, but the id on every piece", &[
            pieces!(r#"[{"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":"}}]"#),
            pieces!(r#"[{"id":"call_a","function":{"arguments":":1}"}}]"#),
            pieces!(r#"[{"id":"call_b","function":{"arguments":"\"z\"}"}}]"#),
        ]),
        calls("index 0 for both", &[
            F,
            F_1,
            F_2,
            pieces!(r#"[{"index":0,"id":"call_b","type":"function","function":{"name":"g","arguments":""}}]"#),
            pieces!(r#"[{"index":0,"function":{"arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("index 0 for both, each in one chunk", &[
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":0,"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("index from 1", &[
            pieces!(r#"[{"index":1,"id":"call_a","type":"function","function":{"name":"f","arguments":""}}]"#),
            pieces!(r#"[{"index":1,"function":{"arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":2,"id":"call_b","type":"function","function":{"name":"g","arguments":""}}]"#),
            pieces!(r#"[{"index":2,"function":{"arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("gaps between indices", &[
            F,
            F_1,
            F_2,
            pieces!(r#"[{"index":7,"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("index as text", &[
            pieces!(r#"[{"index":"0","id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"index":"1","id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
            pieces!(r#"[{"index":"0","function":{"arguments":":1}"}}]"#),
        ]),
        calls("id, type and name on every piece", &[
            F,
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":":1}"}}]"#),
            G,
            G_1,
        ]),
        calls("id and name null on later pieces", &[
            F,
            pieces!(r#"[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":":1}"}}]"#),
            G,
            G_1,
        ]),
        calls("id and name empty on later pieces", &[
            F,
            pieces!(r#"[{"index":0,"id":"","type":"function","function":{"name":"","arguments":"{\"x\":1}"}}]"#),
            G,
            pieces!(r#"[{"index":1,"id":"","type":"function","function":{"name":"","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("a new id for every piece", &[
            F,
            pieces!(r#"[{"index":0,"id":"call_a2","type":"function","function":{"arguments":"{\"x\""}}]"#),
            pieces!(r#"[{"index":0,"id":"call_a3","type":"function","function":{"arguments":":1}"}}]"#),
            G,
            G_1,
        ]),
        calls("no ids", &[
            pieces!(r#"[{"index":0,"type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":1,"type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("no ids, index 0 for both", &[
            pieces!(r#"[{"index":0,"type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":0,"type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("one id for both, which is one call", &[
            F,
            F_1,
            F_2,
            pieces!(r#"[{"index":1,"id":"call_a","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ])
        .no_call()
        .call("f", r#"{"x":1}"#),
        calls("no type", &[
            pieces!(r#"[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"index":1,"id":"call_b","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]"#),
        ]),
        calls("tool_calls as one object", &[
            pieces!(r#"{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}"#),
            pieces!(r#"{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}"#),
        ]),
        calls("text behind the calls", &[F, F_1, F_2, G, G_1, r#"{"choices":[{"index":0,"delta":{"content":"!"}}]}"#]).text("hi!"),
        calls("arguments as an object", &[
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":{"x":1}}}]"#),
            pieces!(r#"[{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":{"y":"z"}}}]"#),
        ]),
        calls("arguments repeated whole at the end", &[
            F,
            F_1,
            F_2,
            pieces!(r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            G,
            G_1,
        ]),
        arguments("no arguments, empty", r#","arguments":"""#, "{}"),
        arguments("no arguments, {}", r#","arguments":"{}""#, "{}"),
        arguments("no arguments, null", r#","arguments":null"#, "{}"),
        arguments("no arguments, no field", "", "{}"),
        arguments("no arguments, an empty object", r#","arguments":{}"#, "{}"),
        arguments("arguments with blanks around", r#","arguments":"\n {\"x\": 1} \n""#, r#"{"x":1}"#),
        arguments("arguments that are no JSON", r#","arguments":"{\"x\": }""#, r#""{\"x\": }""#),
        hi("the old function_call", &[
            HI,
            r#"{"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":""}}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"x\":1}"}}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#,
            DONE,
        ])
        .call("f", r#"{"x":1}"#)
        .stops(StopReason::ToolUse),
        hi("the same gadget twice", &[
            HI,
            F,
            F_1,
            F_2,
            pieces!(r#"[{"index":1,"id":"call_b","type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}]"#),
            CALLS,
            DONE,
        ])
        .call("f", r#"{"x":1}"#)
        .call("f", r#"{"x":2}"#)
        .stops(StopReason::ToolUse),
        hi("the same gadget twice, no ids and no index", &[
            HI,
            pieces!(r#"[{"function":{"name":"f","arguments":"{\"x\":1}"}}]"#),
            pieces!(r#"[{"function":{"name":"f","arguments":"{\"x\":2}"}}]"#),
            CALLS,
            DONE,
        ])
        .call("f", r#"{"x":1}"#)
        .call("f", r#"{"x":2}"#)
        .stops(StopReason::ToolUse),
        cut("the limit in the middle of a call", &[F, F_1, LENGTH, DONE]).cut("f").stops(StopReason::MaxTokens),
        cut("the limit in the middle of the second call", &[F, F_1, F_2, G, LENGTH, DONE])
            .call("f", r#"{"x":1}"#)
            .cut("g")
            .stops(StopReason::MaxTokens),
        cut("the limit behind a whole call", &[F, F_1, F_2, LENGTH, DONE])
            .call("f", r#"{"x":1}"#)
            .stops(StopReason::MaxTokens),
    ]
}
