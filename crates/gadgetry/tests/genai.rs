//! Guards around the crate `genai`.

#![cfg(feature = "genai")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks at"
)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::Model as _;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::provider::genai::Genai;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const CHUNK: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n\
    data: [DONE]\n\n";

/// What becomes of one answer; a server that `hangs` keeps the connection open.
async fn ask(head: &str, body: &str, hangs: bool) -> (Vec<Delta>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1/", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.windows(2).any(|it| it == b"Hi") {
            let length = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..length]);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        if hangs {
            std::future::pending::<()>().await;
        }
        String::from_utf8_lossy(&request).into_owned()
    });
    let model = Genai::builder("openai::m")
        .base_url(address)
        .api_key("sk-0123456789");
    // Only a server that hangs is meant to reach the timeout.
    let timeout = if hangs {
        Duration::from_secs(5)
    } else {
        Duration::from_mins(5)
    };
    let model = model.timeout(timeout).build().unwrap();
    let request = Request {
        messages: Arc::new(vec![
            Message::text(Role::System, "S"),
            Message::text(Role::User, "Hi"),
        ]),
        ..Request::default()
    };
    let deltas = model.stream(request).collect().await;
    let asked = if hangs {
        server.abort();
        String::new()
    } else {
        server.await.unwrap()
    };
    (deltas, asked)
}

const EVENTS: &str = "200 OK\r\ncontent-type: text/event-stream";

fn text(deltas: &[Delta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::Text { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_whole_reply() {
    let (deltas, asked) = ask(EVENTS, &format!("{CHUNK}{END}"), false).await;
    assert_eq!(text(&deltas), "hi");
    let Some(Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: Some(usage),
    }) = deltas.last()
    else {
        panic!("{deltas:?}");
    };
    assert_eq!((usage.input_tokens, usage.output_tokens), (3, 2));
    assert!(
        asked.contains("include_usage") && asked.contains("\"S\""),
        "{asked}"
    );
}

#[tokio::test]
async fn a_stream_without_its_end_is_truncated() {
    let (deltas, _) = ask(EVENTS, CHUNK, false).await;
    assert_eq!(text(&deltas), "hi");
    let Some(Delta::Error { kind, .. }) = deltas.last() else {
        panic!("{deltas:?}");
    };
    assert!(kind.is_retryable(), "{deltas:?}");
}

#[tokio::test]
async fn a_refusal_keeps_its_status_and_its_time() {
    let body = r#"{"error":{"message":"slow down, sk-0123456789","type":"rate_limit_error"}}"#;
    let head = format!(
        "429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: application/json\r\ncontent-length: {}",
        body.len()
    );
    let (deltas, _) = ask(&head, body, false).await;
    let [
        ..,
        Delta::Error {
            kind,
            retry_after_ms,
            error,
            ..
        },
    ] = &deltas[..]
    else {
        panic!("{deltas:?}");
    };
    assert_eq!(
        (*kind, *retry_after_ms),
        (ModelErrorKind::RateLimit, Some(7000))
    );
    assert!(
        error.contains("slow down") && !error.contains("0123456789"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let (deltas, _) = ask(EVENTS, CHUNK, true).await;
    let Some(Delta::Error { kind, .. }) = deltas.last() else {
        panic!("{deltas:?}");
    };
    assert!(kind.is_retryable(), "{deltas:?}");
}
