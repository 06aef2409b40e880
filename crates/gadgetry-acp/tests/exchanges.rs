//! Tables of messages.

use serde_json::{Value, json};

use crate::support::{Connection, call, script};

/// Replies of a model, and everything that a client reads after a prompt: the updates, and the result.
async fn check(replies: &[Value], rules: &[&'static str], updates: Value, result: Value) {
    let mut connection = Connection::with_session(&script(replies), rules).await;
    connection.prompt(1, "Go").await;
    let (found, answer) = connection.until_answer(1).await;
    assert_eq!(Value::from(found), updates, "{replies:?}");
    assert_eq!(answer, result, "{replies:?}");
    assert_eq!(connection.end().await, [] as [Value; 0]);
}

fn stopped(reason: &str) -> Value {
    json!({ "id": 1, "result": { "stopReason": reason } })
}

fn said(text: &str, message: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "sessionUpdate": "agent_message_chunk", "content": content, "messageId": message })
}

fn usage(used: u32) -> Value {
    json!({ "sessionUpdate": "usage_update", "used": used, "size": 1000 })
}

fn call_update(id: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = "tool_call_update".into();
    fields["toolCallId"] = id.into();
    fields
}

#[tokio::test]
async fn handshake() {
    let mut connection = Connection::new("", &[]);
    // A later version than ours.
    let params = json!({ "protocolVersion": 9, "clientCapabilities": { "unknown": true } });
    connection.request(1, "initialize", params).await;
    let expected = json!({ "id": 1, "result": {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": true, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
            "auth": {},
        },
        "authMethods": [{ "id": "keys", "name": "Keys", "description": "Set a key" }],
        "agentInfo": { "name": "tester", "title": "tester", "version": "1.2.3" },
    } });
    assert_eq!(connection.receive().await, expected);
    connection.request(2, "authenticate", json!({ "methodId": "keys" })).await;
    assert_eq!(connection.receive().await, json!({ "id": 2, "result": {} }));
    connection.request(3, "authenticate", json!({ "methodId": "x" })).await;
    let error = json!({ "code": -32000, "message": "no login x" });
    assert_eq!(connection.receive().await, json!({ "id": 3, "error": error }));
    let params = json!({ "cwd": "/", "mcpServers": [] });
    connection.request(4, "session/new", params).await;
    let modes = json!([{ "id": "ask", "name": "Ask", "description": "Asks" }, { "id": "edit", "name": "Edit" }]);
    let values = json!([{ "value": "ask", "name": "Ask", "description": "Asks" }, { "value": "edit", "name": "Edit" }]);
    let option = json!({
        "id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "ask", "options": values,
    });
    let expected = json!({ "id": 4, "result": {
        "sessionId": "s1",
        "modes": { "currentModeId": "ask", "availableModes": modes },
        "configOptions": [option],
    } });
    assert_eq!(connection.receive().await, expected);
    let review = json!({ "name": "review", "description": "Reviews", "input": { "hint": "FILE" } });
    let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": [review] });
    let expected = json!({
        "method": "session/update", "params": { "sessionId": "s1", "update": commands },
    });
    assert_eq!(connection.receive().await, expected);
    connection.end().await;
}

#[tokio::test]
async fn replies_and_ends() {
    check(
        &[json!({ "text": "<think>Hm.</think>Hello." })],
        &[],
        json!([
            { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." }, "messageId": "1.1" },
            said("Hello.", "1.1"),
        ]),
        stopped("end_turn"),
    )
    .await;
    check(
        &[json!({ "text": "Cut", "finish": "length" })],
        &[],
        json!([said("Cut", "1.1")]),
        stopped("max_tokens"),
    )
    .await;
    check(
        &[json!({ "text": "", "finish": "error" })],
        &[],
        json!([]),
        json!({ "id": 1, "error": { "code": -32603, "message": "model call failed: " } }),
    )
    .await;
}
