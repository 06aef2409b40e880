//! What a client may send to our server: none of it makes the server panic, hang, or end.

use std::future::pending;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

use crate::support::{LONG, toolbox};

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Sends lines to a server that is ready, and returns its answers up to that to a last, valid request.
async fn answers(lines: &[String]) -> Vec<Value> {
    let (ours, theirs) = duplex(1 << 16);
    let (input, output) = split(theirs);
    let server = toolbox::server().serve(input, output, pending());
    let server = tokio::spawn(server);
    let (reader, mut writer) = split(ours);
    let info = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let mut all = vec![
        request(1, "initialize", &hello),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
    ];
    all.extend_from_slice(lines);
    let add = json!({ "name": "Add", "arguments": { "a": 40, "b": 2 } });
    all.push(request(99, "tools/call", &add));
    let talk = async {
        let write = async {
            for line in all {
                writer.write_all(line.as_bytes()).await.unwrap();
                writer.write_all(b"\n").await.unwrap();
            }
        };
        let read = async {
            let mut lines = BufReader::new(reader).lines();
            let mut answers = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                let answer: Value = serde_json::from_str(&line).unwrap();
                let is_last = answer["id"] == 99;
                answers.push(answer);
                if is_last {
                    break;
                }
            }
            answers
        };
        tokio::join!(write, read).1
    };
    let mut answers = tokio::time::timeout(LONG, talk).await.unwrap();
    drop(writer);
    tokio::time::timeout(LONG, server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(answers.pop().unwrap()["result"]["content"][0]["text"], "42");
    answers.remove(0);
    answers
}

#[tokio::test]
async fn whatever_is_sent_the_next_call_works() {
    let call = |arguments: &Value| {
        let params = json!({ "name": "Add", "arguments": arguments });
        request(2, "tools/call", &params)
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    // What the answer contains; without any, the line is ignored.
    let rows: [(String, &str); 15] = [
        ("not JSON".to_owned(), ""),
        ("\u{0}\u{1b}[2J".to_owned(), ""),
        (deep.clone(), ""),
        ("x".repeat(17 << 20), ""),
        ("[]".to_owned(), "-32600"),
        ("{}".to_owned(), "-32600"),
        (request(2, "no/such/method", &json!({})), "-32601"),
        (request(2, "tools/call", &json!({})), "-32601"),
        (
            request(2, "tools/call", &json!({ "name": "Nothing" })),
            "'Nothing' not found",
        ),
        (call(&json!("text")), "-32601"),
        (call(&Value::Null), "Invalid parameters for 'Add'"),
        (call(&json!({ "a": {}, "b": [] })), "expected integer"),
        // No integer of the client's can be another one here.
        (
            call(&json!({ "a": 1, "b": 0.25 })).replace("0.25", "12345678901234567890123"),
            "cannot be kept",
        ),
        (
            call(&json!({ "a": "!!!GADGET_END", "b": "${call}" })),
            "expected integer",
        ),
        (
            request(2, "prompts/get", &json!({ "name": "x" })),
            "there is no prompt",
        ),
    ];
    for (line, expected) in rows {
        let found = answers(std::slice::from_ref(&line)).await;
        let found = found.iter().map(Value::to_string).collect::<String>();
        let start: String = line.chars().take(100).collect();
        if expected.is_empty() {
            assert_eq!(found, "", "{start}");
        } else {
            assert!(found.contains(expected), "{start}: {found}");
        }
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_is_no_error() {
    for text in ["", "\n", "garbage\n"] {
        let (ours, theirs) = duplex(1 << 16);
        let (input, output) = split(theirs);
        let server = tokio::spawn(toolbox::server().serve(input, output, pending()));
        let (_reader, mut writer) = split(ours);
        writer.write_all(text.as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
        let served = tokio::time::timeout(LONG, server).await.unwrap().unwrap();
        assert!(served.is_ok(), "{text:?}: {served:?}");
    }
}

#[tokio::test]
async fn calls_in_flight_are_limited() {
    let slow = json!({ "name": "Slow", "arguments": {} });
    let lines: Vec<String> = (100..400)
        .map(|id| request(id, "tools/call", &slow))
        .collect();
    let (ours, theirs) = duplex(1 << 20);
    let (input, output) = split(theirs);
    let server = tokio::spawn(toolbox::server().serve(input, output, pending()));
    let (reader, mut writer) = split(ours);
    let info = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let text = [vec![request(1, "initialize", &hello), ready], lines]
        .concat()
        .join("\n")
        + "\n";
    writer.write_all(text.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    let (mut timed_out, mut refused) = (0, 0);
    while timed_out + refused < 300 {
        let line = tokio::time::timeout(LONG, lines.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        timed_out += usize::from(line.contains("exceeded timeout"));
        refused += usize::from(line.contains("too many calls are in flight"));
    }
    assert!(timed_out >= 256, "{timed_out} {refused}");
    drop((writer, lines));
    tokio::time::timeout(LONG, server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}
