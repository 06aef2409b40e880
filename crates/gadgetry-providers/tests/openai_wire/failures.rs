//! Failures of a real server, as an agent and a web server that uses it see them: by fields, never by the message.

use gadgetry::{Agent, Classified as _, EventKind, Fault, ModelErrorKind, RunError};
use gadgetry_providers::{HttpConfig, OpenAi};
use serde_json::json;
use tokio::net::TcpListener;

use super::server::{Act, Server, answer};

const KEY: &str = "sk-0123456789abcdef";

/// The answer of a web server to its own client: status, and seconds of `Retry-After`.
fn response(error: &RunError) -> (u16, Option<u64>) {
    let Some(error) = error.model_error() else {
        return (500, None);
    };
    let status = match error.kind {
        ModelErrorKind::RateLimit => 429,
        ModelErrorKind::ContextOverflow => 413,
        _ => match error.fault() {
            Fault::Caller => 400,
            Fault::Program => 500,
            _ => 502,
        },
    };
    (status, error.retry_after().map(|wait| wait.as_secs()))
}

/// The error of a run whose model is served at `base_url`. Its events say the same.
async fn failure(base_url: &str) -> RunError {
    let model = OpenAi::builder("m").base_url(base_url).api_key(KEY);
    let model = model.http(HttpConfig::new()).build().unwrap();
    let agent = Agent::builder()
        .model(model)
        .without_retry()
        .build()
        .unwrap();
    let mut reported = Vec::new();
    let run = agent.ask("Hi").on_event(|event| match &event.kind {
        EventKind::ModelCallEnd { error, .. } | EventKind::RunFinished { error, .. } => {
            reported.push(error.clone());
        }
        _ => {}
    });
    let error = run.await.unwrap_err();
    let expected = error.model_error().cloned();
    assert_eq!(reported, [expected.clone(), expected]);
    error
}

#[tokio::test]
async fn a_web_server_maps_failures_without_their_messages() {
    struct Row {
        act: Act,
        response: (u16, Option<u64>),
        kind: ModelErrorKind,
        status: Option<u16>,
        code: Option<&'static str>,
        is_retryable: bool,
    }
    let error = |code: &str| json!({ "error": { "message": "no", "code": code } }).to_string();
    let id = ("x-request-id", "req_7");
    for row in [
        Row {
            act: answer("401 Unauthorized", &[id], &error("invalid_api_key")),
            response: (500, None),
            kind: ModelErrorKind::Authentication,
            status: Some(401),
            code: Some("invalid_api_key"),
            is_retryable: false,
        },
        Row {
            act: answer(
                "429 Too Many Requests",
                &[id, ("retry-after", "7")],
                &error("rate_limit_exceeded"),
            ),
            response: (429, Some(7)),
            kind: ModelErrorKind::RateLimit,
            status: Some(429),
            code: Some("rate_limit_exceeded"),
            is_retryable: true,
        },
        Row {
            act: answer("400 Bad Request", &[id], &error("context_length_exceeded")),
            response: (413, None),
            kind: ModelErrorKind::ContextOverflow,
            status: Some(400),
            code: Some("context_length_exceeded"),
            is_retryable: false,
        },
        Row {
            act: answer("503 Service Unavailable", &[id], &error("overloaded")),
            response: (502, None),
            kind: ModelErrorKind::Overloaded,
            status: Some(503),
            code: Some("overloaded"),
            is_retryable: true,
        },
    ] {
        let server = Server::start(vec![row.act]).await;
        let failed = failure(&server.base_url()).await;
        let error = failed.model_error().expect("a model error");
        assert_eq!(response(&failed), row.response, "{error:?}");
        assert_eq!(error.kind, row.kind, "{error:?}");
        assert_eq!(error.status, row.status, "{error:?}");
        assert_eq!(error.code.as_deref(), row.code, "{error:?}");
        assert_eq!(error.request_id.as_deref(), Some("req_7"), "{error:?}");
        assert_eq!(failed.is_retryable(), row.is_retryable, "{error:?}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_the_providers_fault() {
    // Bound, so that no other test gets the port, and then closed.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failed = failure(&format!("http://{address}/v1")).await;
    assert_eq!(response(&failed), (502, None));
    assert_eq!(failed.fault(), Fault::Provider);
    let error = failed.model_error().expect("a model error");
    assert_eq!(
        (error.kind, error.status),
        (ModelErrorKind::Transport, None)
    );
}

/// A server that repeats the key wherever it can.
#[tokio::test]
async fn no_field_of_an_error_has_the_key() {
    let echo = json!({ "error": { "message": format!("bad {KEY}"), "code": format!("no_{KEY}") }, "request_id": KEY });
    for headers in [vec![], vec![("x-request-id", KEY)]] {
        let server = Server::start(vec![answer("400 No", &headers, &echo.to_string())]).await;
        let failed = failure(&server.base_url()).await;
        let error = failed.model_error().expect("a model error");
        assert!(
            error.request_id.is_some() && error.code.is_some(),
            "{error:?}"
        );
        let shown = format!("{failed:?} {failed} {}", json!(error));
        assert!(!shown.contains(KEY), "{shown}");
    }
}
