//! Calls whose text parameters are sent as soon as they are complete, for clients that ask for it.

use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry_gateway::Api;
use gadgetry_gateway::exchange::Progress;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, Received, end, feed};

fn ask() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"type": "integer"},
            "text": {"type": "string", "maxLength": 40},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "required": ["path", "text"],
    });
    json!({
        "model": "m", "max_tokens": 100, "stream": true,
        "messages": [{"role": "user", "content": "Write a file."}],
        "tools": [
            {"name": "write", "input_schema": schema, "eager_input_streaming": true},
            {"name": "look", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}},
        ],
    })
}

/// What is received of a reply in pieces of a size, and how it goes on.
fn receive(reply: &str, size: usize) -> (Received, Vec<Delta>, Progress) {
    let client = Client::new(Api::Messages);
    let mut exchange = client.exchange(ask(), 1);
    let mut out = Vec::new();
    let progress = feed(&mut exchange, &client.written(reply), size, &mut out);
    (Received::of(&out), out, progress)
}

const WRITE: &str = "I write.\n{S}write:w\n{A}path\na.txt\n{A}text\n\"one\"\n\nthree é\n{A}owner/name\nAda\n{A}mode\n7\n{E}\n";

#[test]
fn a_text_parameter_is_sent_when_it_is_complete() {
    let input =
        json!({"path": "a.txt", "text": "\"one\"\n\nthree é", "owner": {"name": "Ada"}, "mode": 7});
    for size in 1..200 {
        let (received, out, progress) = receive(WRITE, size);
        assert_eq!(progress, Progress::Done);
        assert_eq!(
            received.calls,
            [("in parts".to_owned(), input.clone())],
            "{size}"
        );
        assert_eq!(received.text, "I write.\n", "{size}");
        assert_eq!(received.stop_reason, Some(StopReason::ToolUse), "{size}");
        let parts = out.iter().filter_map(|delta| match delta {
            Delta::ToolCallDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        });
        let parts: Vec<&str> = parts.collect();
        assert_eq!(
            parts[..2],
            [
                "{\"path\":\"a.txt\"",
                ",\"text\":\"\\\"one\\\"\\n\\nthree é\""
            ]
        );
        assert_eq!(parts.len(), 3, "{size}: {parts:?}");
    }
}

#[test]
fn what_is_sent_and_what_is_not() {
    // The calls, whether one has begun and has no end, and an error.
    let check = |reply: &str, calls: &[Value], is_open: bool, error: Option<&str>| {
        for size in [1, 7, 1_000] {
            let (received, _, _) = receive(reply, size);
            let inputs: Vec<Value> = received.calls.iter().map(|(_, it)| it.clone()).collect();
            assert_eq!(inputs, calls, "{reply}");
            assert_eq!(received.open.is_some(), is_open, "{reply}");
            match (&received.error, error) {
                (Some(found), Some(part)) => assert!(found.contains(part), "{found}"),
                (found, expected) => assert_eq!(found.as_deref(), expected, "{reply}"),
            }
            assert_eq!(received.stop_reason.is_some(), error.is_none(), "{reply}");
        }
    };
    let write = json!({"path": "a", "text": "b"});
    check(
        "{S}write:w\n{A}path\na\n{A}text\nb\n{E}\n",
        std::slice::from_ref(&write),
        false,
        None,
    );
    // Two, and one of a tool that is not eager.
    let look = json!({"at": "here"});
    check(
        "{S}look:l\n{A}at\nhere\n{E}\n{S}write:w\n{A}path\na\n{A}text\nb\n{E}\n{S}write:w\n{A}path\na\n{A}text\nb\n{E}\n",
        &[look, write.clone(), write],
        false,
        None,
    );
    // Invalid after a part was sent: nothing can be corrected.
    check("{S}write:w\n{A}path\na\n{E}\n", &[], true, Some("text"));
    check(
        "{S}write:w\n{A}path\na\n{A}text\nb\n{A}mode\nmany\n{E}\n",
        &[],
        true,
        Some("mode"),
    );
    let long = format!(
        "{{S}}write:w\n{{A}}path\na\n{{A}}text\n{}\n{{E}}\n",
        "x".repeat(50)
    );
    check(&long, &[], true, Some("text"));
    // A call that depends on another one is kept until its result is there.
    check(
        "{S}look:l\n{A}at\nx\n{E}\n{S}write:w:l\n{A}path\na\n{A}text\n${l}\n{E}\n",
        &[json!({"at": "x"})],
        false,
        None,
    );
    // The same parameter again.
    check(
        "{S}write:w\n{A}path\na\n{A}path\nz\n{A}text\nb\n{E}\n",
        &[],
        true,
        Some(""),
    );
    // A block that has no end.
    check(
        "{S}write:w\n{A}path\na\n{A}text\nb",
        &[],
        true,
        Some("end marker"),
    );
}

#[test]
fn a_call_that_begins_with_another_type_is_corrected_as_any_other() {
    let client = Client::new(Api::Messages);
    let mut exchange = client.exchange(ask(), 1);
    let mut out = Vec::new();
    let wrong = client.written("{S}write:w\n{A}mode\n7\n{E}\n");
    let progress = feed(&mut exchange, &wrong, 5, &mut out);
    assert!(matches!(progress, Progress::Again(_)), "{progress:?}");
    let progress = feed(&mut exchange, &client.written(WRITE), 5, &mut out);
    assert_eq!(progress, Progress::Done);
    // What a repair turn says is sent when it is whole.
    let received = Received::of(&out);
    assert_eq!(received.calls.len(), 1);
    assert_eq!(received.calls[0].0, "write");
}

#[test]
fn a_reply_that_does_not_stream_has_whole_calls() {
    let client = Client::new(Api::Messages);
    let mut body = ask();
    body["stream"] = false.into();
    let wrong = "{S}write:w\n{A}path\na\n{E}\n";
    // An invalid call is corrected, although its text came first.
    let received = client.receive(body, &[wrong, WRITE]);
    assert_eq!(received.calls.len(), 1);
    assert_eq!(received.calls[0].0, "write");
    assert_eq!((received.open, received.error), (None, None));
}

#[test]
fn a_reply_that_is_cut_off_completes_no_call() {
    let client = Client::new(Api::Messages);
    let golden = client.written(WRITE);
    for at in (0..golden.len()).filter(|at| golden.is_char_boundary(*at)) {
        for reason in [StopReason::MaxTokens, StopReason::ContentFilter] {
            let mut exchange = client.exchange(ask(), 1);
            let mut out = vec![];
            exchange.push(Delta::text(&golden[..at]), &mut out);
            end(&mut exchange, reason, &mut out);
            let received = Received::of(&out);
            let is_whole = golden[at..].trim().is_empty();
            assert_eq!(received.calls.len(), usize::from(is_whole), "{at}");
            // The client must not take what it has for a call.
            assert_eq!(received.open.is_some(), received.error.is_some(), "{at}");
            assert_eq!(
                received.error.is_some(),
                received.stop_reason.is_none(),
                "{at}"
            );
        }
    }
}
