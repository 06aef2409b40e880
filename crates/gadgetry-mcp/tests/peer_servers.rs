//! Servers that others wrote, over stdio and HTTP.

use std::sync::Arc;

use gadgetry::{CancellationToken, MediaKind, Outcome};
use gadgetry_mcp::{Protocol, ServerConfig, Servers};
use serde_json::{Value, json};

use crate::support::installed::{HttpServer, everything, node, python_server};
use crate::support::{LONG, Run, call, call_in, connect, gadget, names};

async fn outcome(
    servers: &Servers,
    run: Run,
    name: &str,
    parameters: Value,
) -> (Outcome, Arc<Run>) {
    let run = Arc::new(run);
    let gadget = gadget(servers, name);
    let outcome = call_in(&run, &gadget, parameters, CancellationToken::new()).await;
    (outcome, run)
}

/// The reference server, whatever the transport.
async fn check_everything(config: ServerConfig) {
    let servers = connect(&[("everything", config)]).await;
    assert_eq!(
        servers.protocol("everything").await.as_deref(),
        Some("2025-11-25")
    );
    let echo = call(&servers, "echo", json!({ "message": "hi" })).await;
    assert_eq!(echo.as_deref(), Ok("Echo: hi"));
    let sum = call(&servers, "get-sum", json!({ "a": 2, "b": 3 })).await;
    assert_eq!(sum.as_deref(), Ok("The sum of 2 and 3 is 5."));

    // Text and structured content are the same JSON, which is shown once.
    let weather = call(
        &servers,
        "get-structured-content",
        json!({ "location": "Chicago" }),
    )
    .await;
    let weather = weather.unwrap();
    assert!(
        serde_json::from_str::<Value>(&weather).unwrap().is_object(),
        "{weather}"
    );

    let (image, _) = outcome(&servers, Run::default(), "get-tiny-image", json!({})).await;
    assert_eq!(image.media.len(), 1);
    assert_eq!(image.media[0].kind, MediaKind::Image);
    assert_eq!(image.media[0].mime_type, "image/png");

    let links = call(&servers, "get-resource-links", json!({ "count": 2 }))
        .await
        .unwrap();
    assert!(links.contains("://") && links.contains(" | "), "{links}");

    let steps = json!({ "duration": 0.2, "steps": 2 });
    let long = outcome(
        &servers,
        Run::default(),
        "trigger-long-running-operation",
        steps,
    )
    .await;
    assert!(long.0.result.is_ok());
    assert_eq!(*long.1.progress.lock().unwrap(), ["1 of 2", "2 of 2"]);

    let listed = call(&servers, "ListResources", json!({})).await.unwrap();
    let first = listed.lines().next().unwrap();
    let uri = first.strip_prefix("everything: ").unwrap();
    let uri = uri.split(" | ").next().unwrap();
    let read = call(&servers, "ReadResource", json!({ "uri": uri })).await;
    assert!(read.is_ok_and(|text| !text.is_empty()));
    let wrong = call(
        &servers,
        "ReadResource",
        json!({ "uri": format!("{uri}x") }),
    )
    .await;
    assert!(wrong.unwrap_err().contains(&format!("Did you mean {uri}")));

    // It offers this tool only once it knows that we can ask the user.
    let mut changes = servers.changes();
    let name = "trigger-elicitation-request";
    while !names(&servers, &[]).iter().any(|it| it == name) {
        tokio::time::timeout(LONG, changes.changed())
            .await
            .unwrap()
            .unwrap();
    }
    let run = Run::with_answers(&["Ada", "yes", "x", "/decline"]);
    let (declined, run) = outcome(&servers, run, name, json!({})).await;
    let questions = run.questions.lock().unwrap().clone();
    assert!(
        questions[0].starts_with("MCP server \"everything\": "),
        "{questions:?}"
    );
    assert!(declined.result.unwrap().contains("declined"));
    servers.close().await;
}

#[tokio::test]
async fn everything_over_stdio() {
    if let Some(config) = everything() {
        check_everything(config).await;
    }
}

#[tokio::test]
async fn everything_over_http() {
    if let Some(server) = HttpServer::everything().await {
        check_everything(ServerConfig::http(&server.url)).await;
    }
}

#[tokio::test]
async fn files() {
    let Some(program) = node("@modelcontextprotocol/server-filesystem", "dist/index.js") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
    let root = folder.display().to_string();
    let config = ServerConfig::stdio("node", [program, root.clone()]);
    let servers = connect(&[("files", config)]).await;
    let file = json!({ "path": format!("{root}/a.txt") });
    let text = call(&servers, "read_text_file", file).await;
    assert_eq!(text.as_deref(), Ok("one\ntwo\n"));
    let outside = call(&servers, "read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(outside.unwrap_err().contains("Access denied"));
    servers.close().await;
}

/// The server of the Python SDK, in the revision that `protocol` leads to.
async fn check_python(mut config: ServerConfig, protocol: Protocol, spoken: &str) {
    config.protocol = protocol;
    let servers = connect(&[("python", config)]).await;
    assert_eq!(servers.protocol("python").await.as_deref(), Some(spoken));
    let sum = call(&servers, "add", json!({ "a": 2, "b": 3 })).await;
    assert!(
        sum.as_ref().is_ok_and(|sum| sum.starts_with('5')),
        "{sum:?}"
    );
    let failed = call(&servers, "fail", json!({})).await;
    assert!(
        failed.as_ref().is_err_and(|error| error.contains("fail")),
        "{failed:?}"
    );
    let (steps, run) = outcome(&servers, Run::default(), "steps", json!({ "count": 2 })).await;
    assert_eq!(steps.result.as_deref(), Ok("done"));
    assert_eq!(
        *run.progress.lock().unwrap(),
        ["step 1 (1 of 2)", "step 2 (2 of 2)"]
    );
    let note = call(&servers, "ReadResource", json!({ "uri": "note://today" })).await;
    assert_eq!(note.as_deref(), Ok("buy milk"));

    let huge = call(&servers, "huge", json!({})).await.unwrap_err();
    assert!(
        huge.contains("16 MiB") || huge.contains("16777216"),
        "{huge}"
    );
    assert_eq!(
        call(&servers, "add", json!({ "a": 1, "b": 1 }))
            .await
            .as_deref(),
        Ok("2")
    );

    if spoken == "2025-11-25" {
        let run = Run::with_answers(&["twelve", "12", "3", "no", ""]);
        let (order, run) = outcome(&servers, run, "order", json!({})).await;
        let expected = "accept size=3 express=False note='none'";
        assert_eq!(order.result.as_deref(), Ok(expected));
        let questions = run.questions.lock().unwrap().clone();
        assert_eq!(questions.len(), 5);
        assert!(questions[0].starts_with("MCP server \"python\": What shall it be?\n"));
        assert!(
            questions[1].contains("Invalid: expected integer, got string"),
            "{questions:?}"
        );
        assert!(
            questions[2].contains("Invalid: must be at most 9"),
            "{questions:?}"
        );
        let run = Run::with_answers(&["/cancel"]);
        let (order, _) = outcome(&servers, run, "order", json!({})).await;
        assert_eq!(order.result.as_deref(), Ok("cancel None"));
        let none = call(&servers, "order", json!({})).await;
        assert_eq!(none.as_deref(), Ok("cancel None"), "there is no user");
    }

    // In the older revision it does not report that. Over HTTP it is the same server in all of them.
    let has_grown = names(&servers, &[]).iter().any(|name| name == "grown");
    if spoken == "2026-07-28" && !has_grown {
        let mut changes = servers.changes();
        let grown = call(&servers, "grow", json!({})).await;
        assert_eq!(grown.as_deref(), Ok("grown"));
        let changed = tokio::time::timeout(LONG, changes.changed());
        changed.await.unwrap().unwrap();
        let new = call(&servers, "grown", json!({})).await;
        assert_eq!(new.as_deref(), Ok("new"));
    }
    servers.close().await;
}

const REVISIONS: [(Protocol, &str); 3] = [
    (Protocol::Auto, "2026-07-28"),
    (Protocol::V2025_11_25, "2025-11-25"),
    (Protocol::V2026_07_28, "2026-07-28"),
];

#[tokio::test]
async fn python_over_stdio() {
    for (protocol, spoken) in REVISIONS {
        if let Some(config) = python_server() {
            check_python(config, protocol, spoken).await;
        }
    }
}

#[tokio::test]
async fn python_over_http() {
    let Some(server) = HttpServer::python().await else {
        return;
    };
    for (protocol, spoken) in REVISIONS {
        check_python(ServerConfig::http(&server.url), protocol, spoken).await;
    }
}
