//! The whole way, over a connection: an agent and a server that speaks the API.

use futures_util::StreamExt as _;
use gadgetry::{Agent, Model as _, gadget};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_providers::Anthropic;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::stream;

/// Adds two numbers.
#[gadget]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// A server that gives these answers, one to each connection, and then the requests that it got.
async fn serve(answers: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // The body is the last thing, and ends with a brace.
            while !(request.ends_with(b"}") && request.windows(4).any(|it| it == b"\r\n\r\n")) {
                let length = stream.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..length]);
            }
            requests.push(String::from_utf8(request).unwrap());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (address, task)
}

fn says(pieces: &[&str]) -> String {
    let pieces = pieces.iter().map(|piece| {
        let text = serde_json::Value::from(*piece);
        format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#)
    });
    let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":10}}}"#
        .to_owned();
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#.to_owned();
    let stop = r#"{"type":"message_stop"}"#.to_owned();
    let frames: Vec<String> = [start]
        .into_iter()
        .chain(pieces)
        .chain([end, stop])
        .collect();
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{}",
        stream(&frames)
    )
}

#[tokio::test]
async fn an_agent_calls_a_gadget() {
    let call = says(&[
        "!!!GADGET_ST",
        "ART:Add:sum\n!!!ARG:a\n2\n!!!ARG:b\n2\n!!!GAD",
        "GET_END",
    ]);
    let (address, requests) = serve(vec![call, says(&["It is ", "4."])]).await;
    let model = Anthropic::builder("claude-haiku-4-5")
        .base_url(address)
        .api_key("sk-ant-0123456789")
        .build()
        .unwrap();
    let agent = Agent::builder().model(model).gadget(Add).without_retry();
    assert_eq!(
        agent.ask("2 + 2?").unwrap().text().await.unwrap(),
        "It is 4."
    );
    let requests = requests.await.unwrap();
    assert!(
        requests[0].starts_with("POST /v1/messages HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    assert!(requests[0].contains("x-api-key: sk-ant-0123456789\r\n"));
    assert!(
        requests[1].contains("!!!GADGET_START:Add:sum") && requests[1].contains("Result (sum): 4"),
        "{}",
        requests[1]
    );
}

#[tokio::test]
async fn a_refusal_says_what_it_is() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let answer = format!(
        "HTTP/1.1 529 \r\nretry-after: 3\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let (address, _) = serve(vec![answer]).await;
    let model = Anthropic::builder("m").base_url(address).build().unwrap();
    let deltas: Vec<Delta> = model.stream(Request::default()).collect().await;
    let [
        Delta::Error(ModelError {
            kind,
            retry_after_ms,
            message: error,
            ..
        }),
    ] = &deltas[..]
    else {
        panic!("{deltas:?}");
    };
    assert_eq!(
        (*kind, *retry_after_ms),
        (ModelErrorKind::Overloaded, Some(3000))
    );
    assert!(
        error.contains("Overloaded") && error.contains("req_1"),
        "{error}"
    );
}
