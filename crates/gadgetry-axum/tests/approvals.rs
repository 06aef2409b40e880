//! Approvals over HTTP.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use gadgetry::Agent;
use gadgetry_axum::{Runs, Sse};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Events, client, deploying, serve};

async fn server() -> String {
    let ask = async |State((agent, runs)): State<(Agent, Runs)>, Path(run): Path<String>| {
        let stream = Sse::ui_messages(agent.ask("Go"));
        stream
            .listed_in(&runs, run)
            .map_err(|_| StatusCode::CONFLICT)
    };
    // The second call keeps the run open after the first one is answered.
    let agent = deploying(&["ask *"], &["staging", "production"]);
    let runs = Runs::default();
    let app = Router::new()
        .route("/ask/{run}", post(ask))
        .with_state((agent, runs.clone()))
        .nest("/runs", runs.router());
    serve(app).await
}

async fn ask(url: &str, run: &str) -> Events {
    let response = client().post(format!("{url}/ask/{run}")).send().await;
    Events::new(response.unwrap().error_for_status().unwrap())
}

/// Sends a body; returns the status and the code of the error.
async fn send(url: &str, path: &str, kind: &str, body: impl Into<String>) -> (u16, String) {
    let request = client().post(format!("{url}{path}"));
    let request = request.header("content-type", kind).body(body.into());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let error: Value = serde_json::from_str(&text).unwrap_or_default();
    let code = error["error"]["code"].as_str().unwrap_or_default();
    (status, code.to_owned())
}

const JSON: &str = "application/json";

#[tokio::test]
async fn approvals_are_listed_and_answered() {
    let url = server().await;
    let (mut one, mut other) = (ask(&url, "one").await, ask(&url, "other").await);
    let shown = one.until("data-approval").await["data"].clone();
    let request = one.until("tool-approval-request").await;
    let id = request["approvalId"].as_str().unwrap().to_owned();
    let others = other.until("tool-approval-request").await;
    assert_ne!(request["approvalId"], others["approvalId"]);
    assert_eq!(shown["parameters"], json!({ "to": "staging" }));
    let listed = client()
        .get(format!("{url}/runs/one/approvals"))
        .send()
        .await;
    let listed: Value = listed.unwrap().json().await.unwrap();
    assert_eq!(listed, json!({ "approvals": [shown] }));
    // An id is taken as long as its run is served.
    let taken = client()
        .post(format!("{url}/ask/one"))
        .send()
        .await
        .unwrap();
    assert_eq!(taken.status(), 409);

    let yes = r#"{"answer":"allowed"}"#;
    let path = format!("/runs/one/approvals/{id}");
    let mut wrong = id.clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    for (path, kind, body, expected) in [
        // Another run's, an id that is none, another hash.
        (
            format!("/runs/other/approvals/{id}"),
            JSON,
            yes.to_owned(),
            (404, "unknown_approval"),
        ),
        (
            format!("/runs/none/approvals/{id}"),
            JSON,
            yes.to_owned(),
            (404, "unknown_run"),
        ),
        (
            format!("/runs/one/approvals/{wrong}"),
            JSON,
            yes.to_owned(),
            (404, "unknown_approval"),
        ),
        (
            "/runs/one/approvals/x%0d%0ay".to_owned(),
            JSON,
            yes.to_owned(),
            (404, "unknown_approval"),
        ),
        // What a page of another site can send, and what means nothing.
        (
            path.clone(),
            "text/plain",
            yes.to_owned(),
            (415, "invalid_content_type"),
        ),
        (path.clone(), JSON, "{".to_owned(), (400, "not_json")),
        (path.clone(), JSON, "[".repeat(10_000), (400, "not_json")),
        (path.clone(), JSON, " ".repeat(1 << 20), (413, "too_large")),
        (
            path.clone(),
            JSON,
            r#"{"answer":"withdrawn"}"#.to_owned(),
            (400, "invalid_answer"),
        ),
        (
            path.clone(),
            JSON,
            r#"{"answer":1}"#.to_owned(),
            (400, "invalid_answer"),
        ),
        (
            path.clone(),
            JSON,
            r#"["allowed"]"#.to_owned(),
            (400, "invalid_answer"),
        ),
        (
            path.clone(),
            JSON,
            r#""allowed""#.to_owned(),
            (400, "invalid_answer"),
        ),
        (
            path.clone(),
            JSON,
            r#"{"answer":"denied","answer":"allowed"}"#.to_owned(),
            (400, "not_json"),
        ),
        (
            path.clone(),
            JSON,
            r#"{"answer":"denied","reason":"a","\u0061nswer":"allowed"}"#.to_owned(),
            (400, "not_json"),
        ),
        // Two answers to one approval.
        (path.clone(), JSON, yes.to_owned(), (204, "")),
        (
            path.clone(),
            JSON,
            r#"{"answer":"denied"}"#.to_owned(),
            (409, "closed"),
        ),
    ] {
        let shown = format!("{path} {kind} {body:.30}");
        let (status, code) = send(&url, &path, kind, body).await;
        assert_eq!((status, &*code), expected, "{shown}");
    }
    // The result of the first call comes before or after this.
    let second = one.until("tool-approval-request").await;
    let second = second["approvalId"].as_str().unwrap();
    let path = format!("/runs/one/approvals/{second}");
    assert_eq!(send(&url, &path, JSON, yes).await.0, 204);
    let rest = one.rest().await.concat();
    assert!(
        rest.contains("deployed to production") && rest.contains("[DONE]"),
        "{rest}"
    );

    let other_id = others["approvalId"].as_str().unwrap();
    let no = r#"{"answer":"denied","reason":"not today"}"#;
    let path = format!("/runs/other/approvals/{other_id}");
    assert_eq!(send(&url, &path, JSON, no).await.0, 204);
    other.until("tool-output-denied").await;
    other.until("tool-approval-request").await;
}

#[tokio::test]
async fn a_run_is_cancelled_and_leaves_the_list() {
    let url = server().await;
    let mut run = ask(&url, "one").await;
    run.until("tool-approval-request").await;
    assert_eq!(
        send(&url, "/runs/one/cancel", "text/plain", "{}").await.0,
        415
    );
    assert_eq!(send(&url, "/runs/one/cancel", JSON, "{}").await.0, 204);
    run.until("abort").await;
    run.rest().await;
    assert_eq!(send(&url, "/runs/one/cancel", JSON, "{}").await.0, 404);
}

/// A body that never ends is answered after a while, and holds nothing.
#[tokio::test(start_paused = true)]
async fn a_slow_body_is_refused() {
    let url = serve(Router::new().nest("/runs", Runs::default().router())).await;
    let address = url.strip_prefix("http://").unwrap();
    for path in ["x/cancel", "x/approvals/1"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /runs/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {JSON}\r\ncontent-length: 9\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
        assert!(answer.contains(r#""code":"timeout""#), "{path}: {answer}");
    }
}
