//! One stream of text, two calls and counts, as a good server sends it, and what others make of it. What a good client
//! keeps must be kept.

use serde_json::{Value, json};

use super::show::{check, read, show, sse};

const WHOLE: &str = "start m | text hi | call a f | args a {\"x\":1} | end a | call b g | args b {\"y\":\"z\"} | end b | stop tool_use 7+5";

fn good() -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let call = |index: u64, id: &str, name: &str| json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]});
    let args = |index: u64, json: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": json}}]});
    vec![
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(json!({"content": "h"}), Value::Null),
        chunk(json!({"content": "i"}), Value::Null),
        chunk(call(0, "a", "f"), Value::Null),
        chunk(args(0, "{\"x\""), Value::Null),
        chunk(args(0, ":1}"), Value::Null),
        chunk(call(1, "b", "g"), Value::Null),
        chunk(args(1, "{\"y\":\"z\"}"), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}),
    ]
}

fn text(frames: &[Value]) -> String {
    let frames: Vec<String> = frames.iter().map(Value::to_string).collect();
    let frames: Vec<&str> = frames
        .iter()
        .map(String::as_str)
        .chain(["[DONE]"])
        .collect();
    sse(&frames)
}

/// Holds the good stream, each frame changed, against `expected`.
#[track_caller]
fn changed(name: &str, change: impl Fn(usize, &mut Value), expected: &str) {
    let mut frames = good();
    for (at, frame) in frames.iter_mut().enumerate() {
        change(at, frame);
    }
    check(name, text(&frames), expected);
}

/// The pieces of calls in a frame.
fn calls(frame: &mut Value) -> Option<&mut Vec<Value>> {
    frame
        .pointer_mut("/choices/0/delta/tool_calls")?
        .as_array_mut()
}

fn each_call(frame: &mut Value, change: impl Fn(&mut Value)) {
    calls(frame).into_iter().flatten().for_each(change);
}

fn remove(value: &mut Value, field: &str) {
    value.as_object_mut().unwrap().remove(field);
}

#[test]
fn the_good_stream() {
    changed("good", |_, _| {}, WHOLE);
}

#[test]
fn fields_that_are_missing_or_more() {
    let nameless = WHOLE.replace("start m", "start");
    changed(
        "no id, object, created, model",
        |_, frame| {
            for field in ["id", "object", "created", "model"] {
                remove(frame, field);
            }
        },
        &nameless,
    );
    changed(
        "null for id, object, created, model",
        |_, frame| {
            for field in ["id", "object", "created", "model"] {
                frame[field] = Value::Null;
            }
        },
        &nameless,
    );
    changed(
        "no role",
        |at, frame| {
            if at == 0 {
                frame["choices"][0]["delta"] = json!({});
            }
        },
        WHOLE,
    );
    changed(
        "role in each chunk",
        |at, frame| {
            if at < 9 {
                frame["choices"][0]["delta"]["role"] = json!("assistant");
            }
        },
        WHOLE,
    );
    changed(
        "unknown fields",
        |at, frame| {
            frame["timings"] = json!({"predicted_ms": 1.5});
            if at < 9 {
                frame["choices"][0]["delta"]["audio"] = json!({"id": "x"});
                frame["choices"][0]["logprobs"] = json!({"content": []});
            }
        },
        WHOLE,
    );
    changed(
        "content null beside calls",
        |at, frame| {
            if (3..9).contains(&at) {
                frame["choices"][0]["delta"]["content"] = Value::Null;
            }
        },
        WHOLE,
    );
    changed(
        "no choice index",
        |at, frame| {
            if at < 9 {
                remove(&mut frame["choices"][0], "index");
            }
        },
        WHOLE,
    );
    changed(
        "error null in each chunk",
        |_, frame| frame["error"] = Value::Null,
        WHOLE,
    );
    changed(
        "a second choice first",
        |at, frame| {
            if at < 9 {
                let other = json!({"index": 1, "delta": {"content": "no"}});
                frame["choices"].as_array_mut().unwrap().insert(0, other);
            }
        },
        WHOLE,
    );
}

#[test]
fn counts_in_odd_frames() {
    changed(
        "usage null in each chunk",
        |at, frame| {
            if at < 9 {
                frame["usage"] = Value::Null;
            }
        },
        WHOLE,
    );
    changed(
        "usage {} in the first chunk",
        |at, frame| {
            if at == 0 {
                frame["usage"] = json!({});
            }
        },
        WHOLE,
    );
    changed(
        "choices null beside usage",
        |at, frame| {
            if at == 9 {
                frame["choices"] = Value::Null;
            }
        },
        WHOLE,
    );
    changed(
        "choices missing beside usage",
        |at, frame| {
            if at == 9 {
                remove(frame, "choices");
            }
        },
        WHOLE,
    );
    let mut frames = good();
    frames[8]["usage"] = frames[9]["usage"].take();
    frames.truncate(9);
    check("usage with the finish reason", text(&frames), WHOLE);
    let mut frames = good();
    frames.swap(8, 9);
    check("usage before the finish reason", text(&frames), WHOLE);
    let mut frames = good();
    frames.truncate(9);
    check("no usage", text(&frames), &WHOLE.replace(" 7+5", ""));
}

#[test]
fn finish_reasons_that_say_nothing() {
    changed(
        "empty in each chunk",
        |at, frame| {
            if at < 8 {
                frame["choices"][0]["finish_reason"] = json!("");
            }
        },
        WHOLE,
    );
    changed(
        "missing in each chunk",
        |at, frame| {
            if at < 8 {
                remove(&mut frame["choices"][0], "finish_reason");
            }
        },
        WHOLE,
    );
    changed(
        "never",
        |at, frame| {
            if at < 9 {
                frame["choices"][0]["finish_reason"] = Value::Null;
            }
        },
        &WHOLE.replace("tool_use", "unspecified"),
    );
    changed(
        "stop beside calls",
        |at, frame| {
            if at == 8 {
                frame["choices"][0]["finish_reason"] = json!("stop");
            }
        },
        WHOLE,
    );
    changed(
        "unknown",
        |at, frame| {
            if at == 8 {
                frame["choices"][0]["finish_reason"] = json!("done?");
            }
        },
        &WHOLE.replace("tool_use", "other(done?)"),
    );
    changed(
        "with each call's last piece",
        |at, frame| {
            if at == 7 {
                frame["choices"][0]["finish_reason"] = json!("tool_calls");
            }
        },
        WHOLE,
    );
}

#[test]
fn calls_with_odd_indices() {
    changed(
        "no index",
        |_, frame| each_call(frame, |call| remove(call, "index")),
        WHOLE,
    );
    changed(
        "index null",
        |_, frame| each_call(frame, |call| call["index"] = Value::Null),
        WHOLE,
    );
    changed(
        "index 0 for both",
        |_, frame| each_call(frame, |call| call["index"] = json!(0)),
        WHOLE,
    );
    changed(
        "index from 1",
        |_, frame| {
            each_call(frame, |call| {
                call["index"] = json!(call["index"].as_u64().unwrap() + 1);
            });
        },
        WHOLE,
    );
    changed(
        "sparse",
        |_, frame| {
            each_call(frame, |call| {
                call["index"] = json!(call["index"].as_u64().unwrap() * 5);
            });
        },
        WHOLE,
    );
    changed(
        "index as text",
        |_, frame| {
            each_call(frame, |call| {
                call["index"] = json!(call["index"].to_string());
            });
        },
        WHOLE,
    );
}

#[test]
fn calls_with_odd_ids() {
    let numbered = WHOLE
        .replace("call a", "call call_1")
        .replace("call b", "call call_2")
        .replace("args a", "args call_1")
        .replace("args b", "args call_2")
        .replace("end a", "end call_1")
        .replace("end b", "end call_2");
    changed(
        "no id",
        |_, frame| each_call(frame, |call| remove(call, "id")),
        &numbered,
    );
    changed(
        "id empty",
        |_, frame| each_call(frame, |call| call["id"] = json!("")),
        &numbered,
    );
    changed(
        "id null later",
        |at, frame| {
            if at != 3 && at != 6 {
                each_call(frame, |call| call["id"] = Value::Null);
            }
        },
        WHOLE,
    );
    let again = |call: &mut Value| {
        let first = call["index"] == 0;
        call["id"] = json!(if first { "a" } else { "b" });
        call["type"] = json!("function");
        call["function"]["name"] = json!(if first { "f" } else { "g" });
    };
    changed(
        "id, type and name in each piece",
        |_, frame| each_call(frame, again),
        WHOLE,
    );
    changed(
        "id and name in each piece, no index",
        |_, frame| {
            each_call(frame, |call| {
                again(call);
                remove(call, "index");
            });
        },
        WHOLE,
    );
    changed(
        "another id in each piece",
        |at, frame| {
            if at != 3 && at != 6 {
                each_call(frame, |call| call["id"] = json!(format!("x{at}")));
            }
        },
        WHOLE,
    );
    changed(
        "one id for both",
        |_, frame| {
            each_call(frame, |call| {
                if call.get("id").is_some() {
                    call["id"] = json!("a");
                }
            });
        },
        &WHOLE.replace(
            "call b g | args b {\"y\":\"z\"} | end b",
            r#"{"type":"diagnostic","code":"repeatedCall","message":"the reply used the call id \"a\" more than once; only the first call with it was executed","span":{"start":0,"end":0}}"#,
        ),
    );
    changed(
        "no id, no index",
        |_, frame| {
            each_call(frame, |call| {
                remove(call, "id");
                remove(call, "index");
            });
        },
        &numbered,
    );
}

#[test]
fn calls_with_odd_arguments() {
    let both = |frames: &mut Vec<Value>| {
        let first = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]});
        let second = json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": {"y": "z"}}}]});
        frames[3]["choices"][0]["delta"] = first;
        frames[6]["choices"][0]["delta"] = second;
        frames.remove(7);
        frames.drain(4..6);
    };
    let mut frames = good();
    both(&mut frames);
    check("objects", text(&frames), WHOLE);
    let second = calls(&mut frames[4]).unwrap().pop().unwrap();
    calls(&mut frames[3]).unwrap().push(second);
    frames.remove(4);
    check("both in one chunk", text(&frames), WHOLE);
    let long = text(&frames).replace(r#"{"x":1}"#, r#"{"x": 12345678901234567890123}"#);
    let whole = WHOLE.replace(r#"{"x":1}"#, r#"{"x": 12345678901234567890123}"#);
    check("the digits of a long number", long, &whole);
    changed(
        "arguments null at first",
        |at, frame| {
            if at == 3 || at == 6 {
                each_call(frame, |call| call["function"]["arguments"] = Value::Null);
            }
        },
        WHOLE,
    );
    changed(
        "arguments missing at first",
        |at, frame| {
            if at == 3 || at == 6 {
                each_call(frame, |call| remove(&mut call["function"], "arguments"));
            }
        },
        WHOLE,
    );
    changed(
        "calls as one object",
        |_, frame| {
            if let Some(call) = calls(frame).map(|calls| calls[0].clone()) {
                frame["choices"][0]["delta"]["tool_calls"] = call;
            }
        },
        WHOLE,
    );
    changed(
        "type missing",
        |_, frame| {
            each_call(frame, |call| {
                if call.get("type").is_some() {
                    remove(call, "type");
                }
            });
        },
        WHOLE,
    );
    let mut frames = good();
    let repeated = json!([
        {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"y\":\"z\"}"}}]);
    frames[8]["choices"][0]["delta"]["tool_calls"] = repeated;
    check("all repeated at the end", text(&frames), WHOLE);
}

#[test]
fn calls_that_interleave() {
    let mut frames = good();
    let end = frames.remove(5);
    frames.insert(6, end);
    let expected = "start m | text hi | call a f | args a {\"x\" | call b g | args a :1} | end a | args b {\"y\":\"z\"} | end b | stop tool_use 7+5";
    check("interleaved", text(&frames), expected);
}

#[test]
fn frames_that_are_written_oddly() {
    let good = text(&good());
    for (name, body) in [
        ("no space", good.replace("data: ", "data:")),
        ("CRLF", good.replace('\n', "\r\n")),
        ("CR", good.replace('\n', "\r")),
        (
            "comments",
            format!(": hello\n\n{}", good.replace("\n\n", "\n: keep-alive\n\n")),
        ),
        (
            "event names",
            good.replace("data: ", "event: message\ndata: "),
        ),
        ("ids", good.replace("data: ", "id: 7\nretry: 10\ndata: ")),
        ("byte order mark", format!("\u{FEFF}{good}")),
        (
            "data over lines",
            good.replace(",\"object\"", ",\ndata: \"object\""),
        ),
        (
            "empty data",
            good.replace("data: [DONE]", "data:\n\ndata: [DONE]"),
        ),
        ("blank lines", good.replace("\n\n", "\n\n\n\n")),
        ("blanks first", format!("\n \n{good}")),
        ("no [DONE]", good.replace("data: [DONE]\n\n", "")),
        (
            "no [DONE], no empty line",
            good.replace("\n\ndata: [DONE]\n\n", ""),
        ),
        ("[DONE] without its empty line", good.trim_end().to_owned()),
        (
            "more behind [DONE]",
            format!("{good}data: {{\"choices\":[{{\"delta\":{{\"content\":\"no\"}}}}]}}\n\n"),
        ),
    ] {
        check(name, body, WHOLE);
    }
}

#[test]
fn a_stream_cut_anywhere_never_looks_whole() {
    let body = text(&good());
    let finish = body.find("\"tool_calls\"}]").unwrap();
    // Behind the finish reason the reply is complete, with or without its counts.
    let enough = finish + body[finish..].find('\n').unwrap();
    for end in 0..body.len() {
        let shown = show(&read(&body.as_bytes()[..end], false, || 64));
        let last = shown.split(" | ").last().unwrap();
        if end + 1 < enough {
            assert_eq!(
                last, "error Truncated: the stream ended before the reply did",
                "{end}: {shown}"
            );
        } else if end > enough {
            assert!(last.starts_with("stop tool_use"), "{end}: {shown}");
        }
    }
}

#[test]
fn unknown_frames_are_passed_through() {
    let mut frames = good();
    frames.insert(1, json!({"type": "ping", "cost": 0.5}));
    check(
        "ping",
        text(&frames),
        &WHOLE.replace("start m", "start m | raw {\"type\":\"ping\",\"cost\":0.5}"),
    );
}

#[test]
fn each_frame_is_reachable() {
    let shown = show(&read(text(&good()).as_bytes(), true, || 9));
    assert_eq!(shown.matches("raw {").count(), 10);
    assert!(
        shown.ends_with("| raw \"[DONE]\" | stop tool_use 7+5"),
        "{shown}"
    );
    assert!(shown.contains("| raw {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"}"), "{shown}");
}
