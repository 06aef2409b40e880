//! Clients that send what they must not.

use serde_json::{Value, json};

use crate::support::{Connection, call, script};

/// Lines that are answered with an error of this code, and with this id.
#[tokio::test]
async fn lines_that_are_no_requests() {
    let hello = script(&[json!({ "text": "Hi." })]);
    let mut connection = Connection::with_session(&hello, &[]).await;
    let deep = "[".repeat(100_000);
    for (line, id, code) in [
        ("{", Value::Null, -32700),
        ("\u{0}", Value::Null, -32700),
        ("nul", Value::Null, -32700),
        (&*deep, Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#,
            Value::Null,
            -32600,
        ),
        ("7", Value::Null, -32600),
        (r#""text""#, Value::Null, -32600),
        ("{}", Value::Null, -32600),
        (r#"{"id":1}"#, Value::Null, -32600),
        (r#"{"id":{},"method":"session/list"}"#, Value::Null, -32600),
        (r#"{"id":1,"method":7}"#, json!(1), -32600),
        (r#"{"id":"a","method":"no/such"}"#, json!("a"), -32601),
        (r#"{"id":null,"method":"no/such"}"#, Value::Null, -32601),
        (
            r#"{"id":1,"method":"session/fork","params":{"sessionId":"x","cwd":"/"}}"#,
            json!(1),
            -32601,
        ),
        (r#"{"id":1,"method":"session/new"}"#, json!(1), -32602),
        (
            r#"{"id":1,"method":"session/new","params":[]}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/new","params":{"cwd":"a","mcpServers":[]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/new","params":{"cwd":"/no/such","mcpServers":[]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"type":"sse","name":"x","url":"x","headers":[]}]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/list","params":{"cursor":"x"}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/list","params":{"cursor":"18446744073709551615"}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/prompt","params":{"sessionId":"s1"}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"odd"}]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"id":1,"method":"session/prompt","params":{"sessionId":"no","prompt":[]}}"#,
            json!(1),
            -32002,
        ),
        (
            r#"{"id":1,"method":"session/load","params":{"sessionId":"no","cwd":"/","mcpServers":[]}}"#,
            json!(1),
            -32002,
        ),
        (
            r#"{"id":1,"method":"session/close","params":{"sessionId":""}}"#,
            json!(1),
            -32002,
        ),
        (
            r#"{"id":1,"method":"session/set_mode","params":{"sessionId":"no","modeId":"ask"}}"#,
            json!(1),
            -32002,
        ),
        (
            r#"{"id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"/fail"}]}}"#,
            json!(1),
            -32603,
        ),
    ] {
        connection.send_raw(format!("{line}\n").as_bytes()).await;
        let answer = connection.receive().await;
        let shown = &line[..line.len().min(80)];
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{shown}: {answer}"
        );
    }
    // These are not answered.
    for line in [
        "",
        "  \r",
        r#"{"method":"no/such"}"#,
        r#"{"method":7}"#,
        r#"{"method":"session/cancel"}"#,
        r#"{"method":"session/cancel","params":{"sessionId":"no"}}"#,
        r#"{"method":"session/cancel","params":{"sessionId":"s1"}}"#,
        r#"{"method":"$/cancel_request","params":{"requestId":"x"}}"#,
        r#"{"method":"$/cancel_request","params":[]}"#,
        r#"{"id":999,"result":{}}"#,
        r#"{"id":"x","error":{}}"#,
        r#"{"id":-1,"result":null}"#,
    ] {
        connection.send_raw(format!("{line}\n").as_bytes()).await;
    }
    connection.prompt(2, "Go").await;
    let (updates, answer) = connection.until_answer(2).await;
    assert_eq!(updates.len(), 1, "{updates:?}");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(connection.end().await, [] as [Value; 0]);
}

#[tokio::test]
async fn nothing_before_the_handshake() {
    let mut connection = Connection::new("", &[]);
    let params = json!({ "cwd": "/", "mcpServers": [] });
    connection.request(1, "session/new", params).await;
    let refused = connection.receive().await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    for params in [
        json!({}),
        json!({ "protocolVersion": "1" }),
        json!({ "protocolVersion": -1 }),
    ] {
        connection.request(1, "initialize", params).await;
        assert_eq!(connection.receive().await["error"]["code"], -32602);
    }
    connection.end().await;
}

/// A line of 65 MiB is skipped, and memory is not.
#[tokio::test]
async fn a_line_that_is_too_long() {
    let mut connection = Connection::with_session("", &[]).await;
    let mebibyte = vec![b' '; 1 << 20];
    for _ in 0..65 {
        connection.send_raw(&mebibyte).await;
    }
    connection.send_raw(b"\n").await;
    assert_eq!(connection.receive().await["error"]["code"], -32600);
    connection.request(1, "session/list", json!({})).await;
    assert_eq!(connection.receive().await["id"], 1);
    connection.end().await;
}

#[tokio::test]
async fn two_prompts_at_once() {
    let replies = [json!({ "text": call("Wait", &[]) })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "Go").await;
    assert_eq!(connection.waits.recv().await, Some("begun"));
    let load = json!({ "sessionId": "s1", "cwd": "/", "mcpServers": [] });
    connection.prompt(2, "Go, too").await;
    connection.request(3, "session/load", load).await;
    let mut refused = Vec::new();
    while refused.len() < 2 {
        let message = connection.receive().await;
        if message.get("id").is_some() {
            assert_eq!(message["error"]["code"], -32600, "{message}");
            refused.push(message["id"].clone());
        }
    }
    assert_eq!(refused, [json!(2), json!(3)]);
    let cancel = json!({ "method": "session/cancel", "params": { "sessionId": "s1" } });
    connection.send(cancel).await;
    assert_eq!(
        connection.until_answer(1).await.1["result"]["stopReason"],
        "cancelled"
    );
    connection.end().await;
}

/// A panic of the host ends its session only.
#[tokio::test]
async fn a_host_that_panics() {
    let mut connection = Connection::with_session("", &[]).await;
    connection.prompt(1, "/panic").await;
    let answer = connection.receive().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32603))
    );
    connection.prompt(2, "Go").await;
    assert_eq!(connection.receive().await["error"]["code"], -32002);
    connection.request(3, "session/list", json!({})).await;
    assert_eq!(connection.receive().await["id"], 3);
    connection.end().await;
}

/// More sessions than there may be are refused, and so are more requests than a session keeps.
#[tokio::test]
async fn too_many() {
    let replies = [json!({ "text": call("Wait", &[]) })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    let (mut opened, mut refused) = (1, 0);
    while refused == 0 {
        let params = json!({ "cwd": "/", "mcpServers": [] });
        connection.request(1, "session/new", params).await;
        let answer = connection.receive().await;
        if answer["error"]["code"] == -32600 {
            refused += 1;
        } else {
            assert!(answer["result"]["sessionId"].is_string(), "{answer}");
            // Its commands.
            connection.receive().await;
            opened += 1;
        }
    }
    assert_eq!(opened, 64);
    connection.end().await;
}

/// A client that leaves in the middle of a line, or does not read.
#[tokio::test]
async fn clients_that_leave() {
    let mut connection = Connection::with_session("", &[]).await;
    connection
        .send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met")
        .await;
    let left = connection.end().await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["error"]["code"], -32700);

    let long = "x".repeat(1 << 20);
    let replies = [json!({ "text": long })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "Go").await;
    drop(connection);
}
