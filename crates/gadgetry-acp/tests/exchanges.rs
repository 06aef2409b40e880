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

fn call_update(id: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = "tool_call_update".into();
    fields["toolCallId"] = id.into();
    fields
}

#[tokio::test]
async fn initialize_answers_with_the_version_and_capabilities() {
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
            "sessionCapabilities": { "list": {}, "delete": {}, "resume": {}, "close": {} },
            "auth": {},
        },
        "authMethods": [{ "id": "keys", "name": "Keys", "description": "Set a key" }],
        "agentInfo": { "name": "tester", "title": "tester", "version": "1.2.3" },
    } });
    assert_eq!(connection.receive().await, expected);
    connection
        .request(2, "authenticate", json!({ "methodId": "keys" }))
        .await;
    assert_eq!(connection.receive().await, json!({ "id": 2, "result": {} }));
    connection
        .request(3, "authenticate", json!({ "methodId": "x" }))
        .await;
    let error = json!({ "code": -32000, "message": "no login x" });
    assert_eq!(
        connection.receive().await,
        json!({ "id": 3, "error": error })
    );
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
    let commands =
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": [review] });
    let expected = json!({
        "method": "session/update", "params": { "sessionId": "s1", "update": commands },
    });
    assert_eq!(connection.receive().await, expected);
    connection.end().await;
}

#[tokio::test]
async fn replies_and_ends() {
    check(
        &[json!({
            "text": "<think>Hm.</think>Hello.", "usage": { "inputTokens": 9, "outputTokens": 3 },
        })],
        &[],
        json!([
            { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." }, "messageId": "1.1" },
            said("Hello.", "1.1"),
            { "sessionUpdate": "usage_update", "used": 12, "size": 1000 },
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
    let failed = "model call failed: the script says that the model fails here";
    check(
        &[json!({ "text": "", "finish": "error" })],
        &[],
        json!([]),
        json!({ "id": 1, "error": { "code": -32603, "message": failed } }),
    )
    .await;
    // The limit of the host is three replies.
    let more = || json!({ "text": call("Todo", &[("step", "x")]) });
    let mut connection = Connection::with_session(&script(&[more(), more(), more()]), &[]).await;
    connection.prompt(1, "Go").await;
    assert_eq!(
        connection.until_answer(1).await.1,
        stopped("max_turn_requests")
    );
    connection.end().await;
}

#[tokio::test]
async fn calls() {
    let done = json!({ "text": "Done." });
    // A change that a rule allows: its description, its start, its result.
    let write = call("Write", &[("path", "a.txt"), ("content", "hi")]);
    let input = json!({ "path": "a.txt", "content": "hi" });
    check(
        &[json!({ "text": write }), done.clone()],
        &["allow Write"],
        json!([
            {
                "sessionUpdate": "tool_call", "toolCallId": "1.0", "title": "Write", "name": "Write",
            },
            call_update("1.0", json!({
                "title": "Write a.txt", "kind": "edit", "content": [], "locations": [{ "path": "/a.txt", "line": 1 }],
                "rawInput": input,
            })),
            call_update("1.0", json!({ "status": "in_progress" })),
            call_update("1.0", json!({
                "status": "completed",
                "content": [{ "type": "content", "content": { "type": "text", "text": "written to a.txt" } }],
            })),
            said("Done.", "1.2"),
        ]),
        stopped("end_turn"),
    )
    .await;
    // The answer of a run that a call completes is a text, after what was said before.
    for (before, answer) in [("", "Fixed."), ("Now.\n", "\n\nFixed.")] {
        let finish = before.to_owned() + &call("Finish", &[("message", "Fixed.")]);
        let mut connection =
            Connection::with_session(&script(&[json!({ "text": finish })]), &[]).await;
        connection.prompt(1, "Go").await;
        let (updates, _) = connection.until_answer(1).await;
        let [.., completed, said_last] = &updates[..] else {
            panic!("{updates:#?}");
        };
        let expected = call_update("1.0", json!({ "status": "completed", "content": [] }));
        assert_eq!((completed, said_last), (&expected, &said(answer, "1.1")));
        connection.end().await;
    }
    // A plan.
    let todo = call("Todo", &[("step", "Think")]);
    let mut connection =
        Connection::with_session(&script(&[json!({ "text": todo }), done.clone()]), &[]).await;
    connection.prompt(1, "Go").await;
    let (updates, _) = connection.until_answer(1).await;
    let entries = json!([{ "content": "Think", "priority": "medium", "status": "in_progress" }]);
    let plan = json!({ "sessionUpdate": "plan", "entries": entries });
    assert!(updates.contains(&plan), "{updates:#?}");
    connection.end().await;
    // Malformed, unknown, panicking.
    for (text, error) in [
        (call("Nope", &[]), "Gadget 'Nope' not found"),
        (call("Write", &[("path", "a")]), "content"),
        (call("Explode", &[]), "as it should"),
    ] {
        let replies = [json!({ "text": text }), done.clone()];
        let mut connection = Connection::with_session(&script(&replies), &["allow *"]).await;
        connection.prompt(1, "Go").await;
        let (updates, answer) = connection.until_answer(1).await;
        assert_eq!(answer, stopped("end_turn"));
        let failed = updates.iter().find(|it| it["status"] == "failed");
        let failed = failed.unwrap_or_else(|| panic!("{updates:#?}"));
        assert!(failed["content"].to_string().contains(error), "{failed}");
        connection.end().await;
    }
}

/// A connection that has asked for permission for the first of several calls, and that request.
async fn asked(calls: &[String], end: &str) -> (Connection, Value) {
    let last = json!({ "text": "Done.", "expect": { "contains": [end] } });
    let mut replies: Vec<Value> = calls.iter().map(|it| json!({ "text": it })).collect();
    replies.push(last);
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "Go").await;
    let request = permission(&mut connection).await;
    (connection, request)
}

/// The next request for permission; updates before it are skipped.
async fn permission(connection: &mut Connection) -> Value {
    loop {
        let message = connection.receive().await;
        if message["method"] == "session/request_permission" {
            return message;
        }
        assert_eq!(message["method"], "session/update", "{message}");
    }
}

async fn answer(connection: &mut Connection, request: &Value, option: &str) {
    let outcome = json!({ "outcome": "selected", "optionId": option });
    let result = json!({ "outcome": outcome });
    connection
        .send(json!({ "id": request["id"], "result": result }))
        .await;
}

#[tokio::test]
async fn permissions() {
    let write = |path: &str| call("Write", &[("path", path), ("content", "hi")]);
    let one = [write("src/a.txt")];
    let (mut connection, request) = asked(&one, "written to src/a.txt").await;
    let diff = json!({ "type": "diff", "path": "/src/a.txt", "newText": "hi\n" });
    let call_of_it = json!({
        "toolCallId": "1.0", "title": "Write src/a.txt", "kind": "edit", "status": "pending", "content": [diff],
        "locations": [{ "path": "/src/a.txt", "line": 1 }], "rawInput": { "path": "src/a.txt", "content": "hi" },
    });
    assert_eq!(request["params"]["toolCall"], call_of_it);
    let option =
        |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
    let options = json!([
        option("allow", "Allow", "allow_once"),
        option(
            "allow-always-0",
            "Allow Write(src/a.txt) in this session",
            "allow_always"
        ),
        option(
            "allow-always-1",
            "Allow Write(src/**) in this session",
            "allow_always"
        ),
        option(
            "allow-always-2",
            "Allow Write in this session",
            "allow_always"
        ),
        option("reject", "Reject", "reject_once"),
        option(
            "reject-always",
            "Reject this in this session",
            "reject_always"
        ),
    ]);
    assert_eq!(request["params"]["options"], options);
    answer(&mut connection, &request, "allow").await;
    assert_eq!(connection.until_answer(1).await.1, stopped("end_turn"));
    connection.end().await;

    // Of two calls, both are asked about; or only the first, and the second is decided as it.
    let two = [write("src/a.txt"), write("src/a.txt")];
    for (option, end, asks_again) in [
        ("allow", "written to src/a.txt", true),
        ("allow-always-1", "written to src/a.txt", false),
        ("reject", "Denied by the user", true),
        ("reject-always", "rejected the same call before", false),
        ("no-such-option", "Denied by the user", true),
    ] {
        let (mut connection, request) = asked(&two, end).await;
        answer(&mut connection, &request, option).await;
        if asks_again {
            let request = permission(&mut connection).await;
            answer(&mut connection, &request, option).await;
        }
        let (_, ended) = connection.until_answer(1).await;
        assert_eq!(ended, stopped("end_turn"), "{option}");
        connection.end().await;
    }

    // Whatever else a client answers, the call does not run.
    for result in [
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "result": null }),
        json!({ "result": { "outcome": { "outcome": "selected", "optionId": 7 } } }),
        json!({ "error": { "code": -32603, "message": "no" } }),
    ] {
        let (mut connection, request) = asked(&one, "Denied by the user").await;
        let mut response = result.clone();
        response["id"] = request["id"].clone();
        connection.send(response).await;
        let (_, ended) = connection.until_answer(1).await;
        assert_eq!(ended, stopped("end_turn"), "{result}");
        connection.end().await;
    }
}

/// A field that is there twice has two values, and the call does not run.
#[tokio::test]
async fn answers_with_a_field_twice() {
    let allow = r#"{"outcome":{"outcome":"selected","optionId":"allow"}}"#;
    for answer in [
        r#""result":{"outcome":{"outcome":"selected","optionId":"reject","optionId":"allow"}}"#,
        r#""result":{"outcome":{"outcome":"cancelled","outcome":"selected","optionId":"allow"}}"#,
        r#""result":{"outcome":{"outcome":"cancelled"},"outcome":{"outcome":"selected","optionId":"allow"}}"#,
        &format!(r#""result":{{"outcome":{{"outcome":"cancelled"}}}},"result":{allow}"#),
        &format!(r#""error":{{"code":1}},"result":{allow},"result":{allow}"#),
        &format!(r#""id":0,"result":{allow}"#),
        &format!(r#""result":{allow},"jsonrpc":"1.0""#),
    ] {
        let write = call("Write", &[("path", "a"), ("content", "hi")]);
        let (mut connection, request) = asked(&[write], "Denied by the user").await;
        let line = format!(r#"{{"jsonrpc":"2.0",{answer},"id":{}}}"#, request["id"]);
        connection.send_raw(format!("{line}\n").as_bytes()).await;
        let (_, ended) = connection.until_answer(1).await;
        assert_eq!(ended, stopped("end_turn"), "{line}");
        connection.end().await;
    }
}

/// What a call does is in the question, whatever the client makes of title and input.
#[tokio::test]
async fn questions_show_everything() {
    let check = async |command: &str, expected: &[&str]| {
        let run = call("Run", &[("command", command)]);
        let (mut connection, request) = asked(&[run], "Denied by the user").await;
        let content = request["params"]["toolCall"]["content"].as_array();
        let texts = content.into_iter().flatten();
        let texts: Vec<_> = texts
            .map(|it| it["content"]["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, expected, "{command}");
        answer(&mut connection, &request, "reject").await;
        connection.until_answer(1).await;
        connection.end().await;
    };
    check("make", &[]).await;
    check("echo hi\nrm -rf x", &["```\necho hi\nrm -rf x\n```"]).await;
    check("a  b\u{202e}", &["```\na  b\\u{202e}\n```"]).await;
    check("a\n```\nb", &["````\na\n```\nb\n````"]).await;
    let long = format!("make {} ; rm -rf x", "a".repeat(300));
    check(&long, &[&format!("```\n{long}\n```")]).await;

    let note = call("Note", &[("text", "hi"), ("list/0", "a")]);
    let (connection, request) = asked(&[note], "").await;
    let text = &request["params"]["toolCall"]["content"][0]["content"]["text"];
    let expected = "```\n{\n  \"text\": \"hi\",\n  \"list\": [\n    \"a\"\n  ]\n}\n```";
    assert_eq!(text, expected);
    connection.end().await;
}

#[tokio::test]
async fn modes_change_and_unknown_ones_are_refused() {
    let write = call("Write", &[("path", "a"), ("content", "hi")]);
    let replies = [json!({ "text": write }), json!({ "text": "Done." })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    for (method, params) in [
        ("session/set_mode", json!({ "modeId": "no-such" })),
        (
            "session/set_config_option",
            json!({ "configId": "mode", "value": "x" }),
        ),
        (
            "session/set_config_option",
            json!({ "configId": "x", "value": "ask" }),
        ),
        (
            "session/set_config_option",
            json!({ "configId": "mode", "type": "boolean", "value": true }),
        ),
    ] {
        let mut params = params;
        params["sessionId"] = "s1".into();
        connection.request(2, method, params).await;
        let (_, refused) = connection.until_answer(2).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let params = json!({ "sessionId": "s1", "modeId": "edit" });
    connection.request(2, "session/set_mode", params).await;
    let (updates, changed) = connection.until_answer(2).await;
    assert_eq!(changed["result"], json!({}));
    assert_eq!(updates[0]["configOptions"][0]["currentValue"], "edit");
    let mode = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "edit" });
    assert_eq!(updates[1], mode);
    // No permission is requested.
    connection.prompt(1, "Go").await;
    assert_eq!(connection.until_answer(1).await.1, stopped("end_turn"));
    connection.end().await;
}

#[tokio::test]
async fn questions_are_forwarded_to_the_client() {
    let question = call("Ask", &[("question", "Which day?")]);
    let replies = |end: &str| {
        let last = json!({ "text": "Done.", "expect": { "contains": [end] } });
        script(&[json!({ "text": question }), last])
    };
    for (result, end) in [
        (
            json!({ "result": { "action": "accept", "content": { "answer": "Monday" } } }),
            "the user says Monday",
        ),
        (
            json!({ "result": { "action": "decline" } }),
            "the question was not answered",
        ),
        (
            json!({ "result": { "action": "accept" } }),
            "the question was not answered",
        ),
        (json!({ "error": 1 }), "the question was not answered"),
    ] {
        let mut connection = Connection::new(&replies(end), &[]);
        connection
            .begin(json!({ "elicitation": { "form": {} } }))
            .await;
        connection.prompt(1, "Go").await;
        let request = loop {
            let message = connection.receive().await;
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        assert_eq!(request["params"]["message"], "Which day?");
        assert_eq!(request["params"]["sessionId"], "s1");
        let mut response = result.clone();
        response["id"] = request["id"].clone();
        connection.send(response).await;
        assert_eq!(
            connection.until_answer(1).await.1,
            stopped("end_turn"),
            "{result}"
        );
        connection.end().await;
    }
    // A client without forms.
    let mut connection =
        Connection::with_session(&replies("the question was not answered"), &[]).await;
    connection.prompt(1, "Go").await;
    assert_eq!(connection.until_answer(1).await.1, stopped("end_turn"));
    connection.end().await;
}

/// A connection with a gadget that does not end by itself.
async fn waiting() -> Connection {
    let first = json!({ "text": format!("On it.\n{}", call("Wait", &[])) });
    let replies = [first, json!({ "text": "Again." })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "Go").await;
    assert_eq!(connection.waits.recv().await, Some("begun"));
    connection
}

#[tokio::test]
async fn cancelling_ends_the_prompt_and_not_the_session() {
    for message in [
        json!({ "method": "session/cancel", "params": { "sessionId": "s1" } }),
        json!({ "method": "$/cancel_request", "params": { "requestId": 1 } }),
    ] {
        let mut connection = waiting().await;
        connection.send(message).await;
        let (updates, answer) = connection.until_answer(1).await;
        assert_eq!(answer, stopped("cancelled"));
        assert_eq!(connection.waits.recv().await, Some("ended"));
        let last = updates.last().unwrap();
        assert_eq!(
            (&last["toolCallId"], &last["status"]),
            (&json!("1.0"), &json!("failed"))
        );
        // The session continues.
        connection.prompt(2, "Again").await;
        let (_, answer) = connection.until_answer(2).await;
        assert_eq!(answer["result"]["stopReason"], "end_turn");
        connection.end().await;
    }
    // While the user decides. The client answers nothing.
    let write = call("Write", &[("path", "a"), ("content", "hi")]);
    let (mut connection, _) = asked(&[write], "never").await;
    let cancel = json!({ "method": "session/cancel", "params": { "sessionId": "s1" } });
    connection.send(cancel).await;
    assert_eq!(connection.until_answer(1).await.1, stopped("cancelled"));
    connection.end().await;
}

#[tokio::test]
async fn sessions_are_listed_and_replayed() {
    let wait = call("Todo", &[("step", "x")]);
    let replies = [
        json!({ "text": wait }),
        json!({ "text": "One." }),
        json!({ "text": "Two." }),
    ];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "First").await;
    let (mut shown, _) = connection.until_answer(1).await;
    connection.prompt(2, "Second").await;
    let (second, _) = connection.until_answer(2).await;
    connection.request(3, "session/list", json!({})).await;
    let entry = json!({
        "sessionId": "s1", "cwd": "/", "title": "Session s1", "updatedAt": "1970-01-01T00:00:00Z",
    });
    let (_, listed) = connection.until_answer(3).await;
    assert_eq!(listed["result"], json!({ "sessions": [entry] }));
    let closed = json!({ "sessionId": "s1" });
    connection.request(4, "session/close", closed.clone()).await;
    assert_eq!(connection.until_answer(4).await.1["result"], json!({}));
    connection.request(5, "session/close", closed).await;
    assert_eq!(connection.until_answer(5).await.1["error"]["code"], -32002);
    // What is loaded is what was shown.
    let user = |text: &str| {
        let content = json!({ "type": "text", "text": text });
        json!({ "sessionUpdate": "user_message_chunk", "content": content })
    };
    let mut expected = vec![user("First")];
    expected.append(&mut shown);
    expected.push(user("Second"));
    expected.extend(second);
    let load = json!({ "sessionId": "s1", "cwd": "/", "mcpServers": [] });
    connection.request(6, "session/load", load.clone()).await;
    let (loaded, answer) = connection.until_answer(6).await;
    assert_eq!(Value::from(loaded), Value::from(expected.clone()));
    assert_eq!(answer["result"]["modes"]["currentModeId"], "ask");
    // Again, while it is open: after the commands of the first time.
    connection.request(7, "session/load", load.clone()).await;
    let (loaded, _) = connection.until_answer(7).await;
    assert_eq!(loaded[1..], expected[..]);
    connection.request(8, "session/resume", load).await;
    let (nothing, answer) = connection.until_answer(8).await;
    assert_eq!(nothing, [] as [Value; 0]);
    assert_eq!(answer["result"]["configOptions"][0]["id"], "mode");
    // One that is open is closed first; one that is not there is deleted already.
    let deleted = json!({ "sessionId": "s1" });
    for (id, method, code) in [
        (9, "session/delete", json!(-32600)),
        (10, "session/close", Value::Null),
        (11, "session/delete", Value::Null),
        (12, "session/delete", Value::Null),
        (13, "session/load", json!(-32602)),
    ] {
        let params = if code == -32602 {
            json!({})
        } else {
            deleted.clone()
        };
        connection.request(id, method, params).await;
        let (_, answer) = connection.until_answer(id).await;
        assert_eq!(answer["error"]["code"], code, "{id}: {answer}");
    }
    connection.request(14, "session/list", json!({})).await;
    let (_, listed) = connection.until_answer(14).await;
    assert_eq!(listed["result"], json!({ "sessions": [] }));
    connection.end().await;
}

/// A run in progress ends with its connection, and with its session.
#[tokio::test]
async fn a_run_ends_with_its_connection_and_its_session() {
    let connection = waiting().await;
    let left = connection.end().await;
    let answer = left.iter().find(|it| it["id"] == 1);
    let reason = answer.map(|it| &it["result"]["stopReason"]);
    assert_eq!(reason, Some(&json!("cancelled")), "{left:?}");

    let mut connection = waiting().await;
    connection.stop();
    assert_eq!(connection.waits.recv().await, Some("ended"));
    connection.end().await;

    let mut connection = waiting().await;
    connection
        .request(2, "session/close", json!({ "sessionId": "s1" }))
        .await;
    loop {
        let message = connection.receive().await;
        if message.get("id").is_some() {
            assert_eq!(message, stopped("cancelled"));
            break;
        }
    }
    assert_eq!(connection.receive().await, json!({ "id": 2, "result": {} }));
    connection.end().await;
}
