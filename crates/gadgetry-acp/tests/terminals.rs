//! Commands in terminals of the client, and what is seen of calls that run.

use serde_json::{Value, json};

use crate::support::{Connection, call, script};

/// What the client does about the command of a call.
struct Row {
    seconds: &'static str,
    /// Its answer to the request for a terminal; `null` is a refusal.
    created: Value,
    /// Its answer to how the command has ended; `None` while it runs.
    ended: Option<Value>,
    /// The answer to the same after a request to kill it; `null` is an error.
    killed: Value,
    /// Whether the prompt is cancelled while the command runs.
    is_cancelled: bool,
    /// The requests of the agent after that for a terminal.
    requests: &'static [&'static str],
    /// The end of the result of the call.
    result: &'static str,
}

async fn check(row: Row) {
    let shell = call("Shell", &[("line", "make"), ("seconds", row.seconds)]);
    let replies = [json!({ "text": shell }), json!({ "text": "Done." })];
    let mut connection = Connection::new(&script(&replies), &[]);
    connection.begin(json!({ "terminal": true })).await;
    connection.prompt(1, "Go").await;
    let (mut requests, mut live, mut result) = (Vec::new(), Vec::new(), String::new());
    let mut stop = Value::Null;
    let is_over = |requests: &[String]| {
        row.created["terminalId"] != "t7" || requests.iter().any(|it| it == "terminal/release")
    };
    while stop.is_null() || !is_over(&requests) {
        let message = connection.receive().await;
        let params = &message["params"];
        let Some(method) = message["method"].as_str() else {
            stop = message["result"]["stopReason"].clone();
            continue;
        };
        if method == "session/update" {
            let update = &params["update"];
            let content = &update["content"];
            if update["sessionUpdate"] != "tool_call_update" {
            } else if matches!(update["status"].as_str(), Some("completed" | "failed")) {
                let last = content.as_array().and_then(|it| it.last());
                let text = last.and_then(|it| it["content"]["text"].as_str());
                text.unwrap_or_default().clone_into(&mut result);
            } else if content.as_array().is_some_and(|it| !it.is_empty()) {
                live.push(content[0].clone());
            }
            continue;
        }
        assert_eq!(params["sessionId"], "s1");
        let answer = match method {
            "terminal/create" => {
                let expected = json!({
                    "sessionId": "s1",
                    "command": "sh",
                    "args": ["-c", "make"],
                    "cwd": "/work",
                    "outputByteLimit": 1000,
                });
                assert_eq!(*params, expected);
                Some(row.created.clone())
            }
            "terminal/wait_for_exit" if requests.iter().any(|it| it == "terminal/kill") => {
                Some(row.killed.clone())
            }
            "terminal/wait_for_exit" if row.is_cancelled => {
                let params = json!({ "sessionId": "s1" });
                let cancel = json!({ "method": "session/cancel", "params": params });
                connection.send(cancel).await;
                None
            }
            "terminal/wait_for_exit" => row.ended.clone(),
            "terminal/output" => Some(json!({ "output": "made", "truncated": false })),
            _ => Some(json!({})),
        };
        if method != "terminal/create" {
            assert_eq!(params["terminalId"], "t7", "{message}");
            requests.push(method.to_owned());
        }
        if let Some(answer) = answer {
            let field = if answer.is_null() { "error" } else { "result" };
            connection
                .send(json!({ "id": message["id"], field: answer }))
                .await;
        }
    }
    assert_eq!(requests, row.requests, "{result}");
    assert!(
        result.trim_end_matches("\n```").ends_with(row.result),
        "{result}"
    );
    assert_eq!(stop == "cancelled", row.is_cancelled, "{stop}");
    // The output, if the terminal has not replaced it before it was shown.
    let terminal = json!({ "type": "terminal", "terminalId": "t7" });
    let output =
        json!({ "type": "content", "content": { "type": "text", "text": "```\n2%\n```" } });
    assert!(
        live.iter().all(|it| *it == terminal || *it == output),
        "{live:?}"
    );
    connection.end().await;
}

#[tokio::test]
async fn commands_run_in_terminals_of_the_client() {
    const TO_THE_END: &[&str] = &[
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ];
    const KILLED: &[&str] = &[
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ];
    let created = || json!({ "terminalId": "t7" });
    let row = |ended: Option<Value>, requests, result| Row {
        seconds: "100",
        created: created(),
        ended,
        killed: json!({ "signal": "SIGKILL" }),
        is_cancelled: false,
        requests,
        result,
    };
    let exited = r#"TerminalRun { output: "made", end: Exited(3) }"#;
    check(row(Some(json!({ "exitCode": 3 })), TO_THE_END, exited)).await;
    let by_signal = r#"TerminalRun { output: "made", end: Killed("SIGTERM") }"#;
    check(row(
        Some(json!({ "signal": "SIGTERM" })),
        TO_THE_END,
        by_signal,
    ))
    .await;
    let lost = "the client does not say how the command ended in its terminal; it may have run";
    check(row(Some(Value::Null), KILLED, lost)).await;
    for odd in [
        json!({}),
        json!([7]),
        json!({ "exitCode": -1 }),
        json!({ "exitCode": "4" }),
    ] {
        check(row(Some(odd), KILLED, lost)).await;
    }
    let odd = json!({ "terminalId": 5 });
    check(Row {
        created: odd,
        ..row(None, &[], lost)
    })
    .await;
    // Killed, and perhaps still running.
    check(Row {
        seconds: "1",
        killed: Value::Null,
        ..row(None, KILLED, lost)
    })
    .await;
    let timed_out = r#"TerminalRun { output: "made", end: TimedOut }"#;
    check(Row {
        seconds: "1",
        ..row(None, KILLED, timed_out)
    })
    .await;
    check(Row {
        is_cancelled: true,
        ..row(None, KILLED, "")
    })
    .await;
    let not_started = "the client has not started the command in a terminal";
    check(Row {
        created: Value::Null,
        ..row(None, &[], not_started)
    })
    .await;
}

#[tokio::test]
async fn a_client_without_terminals_starts_nothing() {
    let shell = call("Shell", &[("line", "make"), ("seconds", "9")]);
    let replies = [json!({ "text": shell }), json!({ "text": "Done." })];
    let mut connection = Connection::with_session(&script(&replies), &[]).await;
    connection.prompt(1, "Go").await;
    // It panics at a request.
    let (updates, _) = connection.until_answer(1).await;
    let result = updates.iter().find(|it| it["status"] == "failed");
    let text = &result.expect("a result")["content"][0]["content"]["text"];
    let text = text.as_str().unwrap_or_default();
    assert!(text.contains("has not started"), "{text}");
    connection.end().await;
}
