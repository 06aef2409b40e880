//! A golden stream, cut into pieces and cut off at every byte.

use gadgetry_proto::delta::Delta;

use super::{read, shown, stream};

fn golden() -> String {
    stream(&[
        r#"message_start {"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#,
        r#"ping {"type":"ping"}"#,
        r#"content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"größer"}}"#,
        r#"content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#,
        r#"content_block_stop {"type":"content_block_stop","index":0}"#,
        r#"content_block_start {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi 👋 \ud83d"}}"#,
        r#"content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\ude00"}}"#,
        r#"content_block_stop {"type":"content_block_stop","index":1}"#,
        r#"content_block_start {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
        r#"content_block_delta {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}"#,
        r#"content_block_stop {"type":"content_block_stop","index":2}"#,
        r#"message_delta {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
        r#"message_stop {"type":"message_stop"}"#,
    ])
}

const SHOWN: [&str; 8] = [
    "start m",
    "think größer",
    r#"about {"signature":"s"}"#,
    "text hi 👋 😀",
    "call a f",
    r#"json a {"x":1}"#,
    "done a",
    "end tool_use 15(5+0)>7(0)",
];

#[test]
fn pieces_change_nothing() {
    let golden = golden();
    for size in [1, 2, 3, 7, 100, golden.len()] {
        for text in [golden.clone(), golden.replace('\n', "\r\n")] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(shown(&read(&chunks)), SHOWN, "pieces of {size} bytes");
        }
    }
}

#[test]
fn any_bytes_end_once() {
    let golden = golden();
    for at in 0..golden.len() {
        for byte in *b"{\"\n:7\xFF" {
            let mut bytes = golden.clone().into_bytes();
            bytes[at] = byte;
            let deltas = read(&[&bytes]);
            let is_end =
                |delta: &Delta| matches!(delta, Delta::MessageEnd { .. } | Delta::Error(_));
            let ends = deltas.iter().filter(|delta| is_end(delta)).count();
            assert_eq!(ends, 1, "{byte} at {at}: {deltas:?}");
            assert!(deltas.last().is_some_and(is_end), "{byte} at {at}");
        }
    }
}

#[test]
fn a_cut_adds_nothing_and_ends_nothing() {
    let golden = golden();
    let complete = golden.find("event: message_stop").unwrap();
    for end in 0..golden.len() {
        let lines = shown(&read(&[&golden.as_bytes()[..end]]));
        let is_whole = lines.last().is_some_and(|line| line.starts_with("end"));
        // The frame with the reason may lack the blank line behind it.
        assert_eq!(is_whole, end >= complete - 2, "cut at {end}: {lines:?}");
        if is_whole {
            continue;
        }
        assert_eq!(lines.last().unwrap(), "cut", "cut at {end}");
        let said = lines
            .iter()
            .filter(|line| !line.starts_with("usage") && *line != "cut");
        for (line, whole) in said.zip(SHOWN) {
            assert!(
                whole.starts_with(line.trim_end_matches('\u{FFFD}')),
                "cut at {end}: {line}"
            );
        }
    }
}
