//! Clients that go, bodies that are wrong, and a gateway that ends.

use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ModelRules;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::replies::body;
use crate::support::upstream::Upstream;
use crate::support::world::{World, client, get, settings};

#[tokio::test]
async fn a_client_that_goes_ends_the_upstreams_reply() {
    let world = World::start().await;
    for api in ClientApi::ALL {
        let (path, body) = body(api, "endless", true);
        let answer = client()
            .post(world.url(path))
            .json(&body)
            .send()
            .await
            .expect("it answers");
        let mut stream = answer.bytes_stream();
        let first = stream.next().await.expect("a part").expect("no error");
        assert!(!first.is_empty());
        assert_eq!(world.upstream.open(), 1, "{api:?}");
        drop(stream);
        world.upstream.until_dropped().await;
    }
    let metrics = get(world.url("/metrics"))
        .await
        .expect("it answers")
        .text()
        .await
        .expect("text");
    assert!(
        metrics.contains("gadgetry_client_disconnects_total{api=\"chat\"} 1"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_is_not_a_request_is_refused() {
    let world = World::start().await;
    let client = client();
    let check = |path: &'static str,
                 kind: &'static str,
                 body: &'static str,
                 status: u16,
                 part: &'static str| {
        let request = client
            .post(world.url(path))
            .header("content-type", kind)
            .body(body);
        async move {
            let answer = request.send().await.expect("it answers");
            let got = answer.status().as_u16();
            let text = answer.text().await.expect("text");
            assert_eq!(got, status, "{path} {body}: {text}");
            assert!(text.contains(part), "{path} {body}: {text}");
        }
    };
    let json = "application/json";
    check("/v1/chat/completions", json, "{", 400, "not valid JSON").await;
    check("/v1/chat/completions", json, "[]", 400, "not a JSON object").await;
    check("/v1/chat/completions", json, "{}", 400, "messages").await;
    check(
        "/v1/chat/completions",
        json,
        r#"{"messages": []}"#,
        400,
        "model",
    )
    .await;
    check(
        "/v1/chat/completions",
        json,
        r#"{"model": "m", "messages": []}"#,
        400,
        "empty",
    )
    .await;
    check(
        "/v1/chat/completions",
        json,
        r#"{"model": "m", "messages": [{"role": "user", "content": "x"}], "n": 2}"#,
        400,
        "`n`",
    )
    .await;
    check(
        "/v1/chat/completions",
        "text/plain",
        "{}",
        400,
        "content type",
    )
    .await;
    check(
        "/v1/responses",
        json,
        r#"{"model": "m", "previous_response_id": "r"}"#,
        404,
        "previous_response_not_found",
    )
    .await;
    check(
        "/v1/responses",
        json,
        r#"{"model": "m", "input": 5}"#,
        400,
        "input",
    )
    .await;
    check(
        "/v1/messages",
        json,
        r#"{"model": "m"}"#,
        400,
        "invalid_request_error",
    )
    .await;
    check("/v1/nothing", json, "{}", 404, "/v1/nothing").await;
    let got = client
        .get(world.url("/v1/messages"))
        .send()
        .await
        .expect("it answers");
    assert_eq!(got.status().as_u16(), 405);
}

#[tokio::test]
async fn a_body_is_limited() {
    let upstream = Upstream::start().await;
    let mut settings = settings(&upstream.url(), ModelRules::default());
    settings.limits.body_bytes = 2_000;
    let world = World::serve(upstream, settings).await;
    let (path, mut body) = body(ClientApi::Chat, "text", false);
    body["messages"][0]["content"] = "x".repeat(3_000).into();
    let answer = client()
        .post(world.url(path))
        .json(&body)
        .send()
        .await
        .expect("it answers");
    assert_eq!(answer.status().as_u16(), 413);
}

#[tokio::test]
async fn a_slow_body_is_given_up() {
    let upstream = Upstream::start().await;
    let mut settings = settings(&upstream.url(), ModelRules::default());
    settings.limits.body_timeout = Duration::from_millis(200);
    let world = World::serve(upstream, settings).await;
    let mut socket = TcpStream::connect(world.address).await.expect("it listens");
    let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.expect("it reads");
    let mut answer = vec![0; 12];
    socket.read_exact(&mut answer).await.expect("it answers");
    assert_eq!(answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_its_connection() {
    let upstream = Upstream::start().await;
    let mut settings = settings(&upstream.url(), ModelRules::default());
    settings.limits.header_timeout = Duration::from_millis(50);
    let world = World::serve(upstream, settings).await;
    let mut socket = TcpStream::connect(world.address).await.expect("it listens");
    socket
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: loc")
        .await
        .expect("it reads");
    // It ends without an answer, or with one that says so.
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.expect("the end");
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test]
async fn the_models_and_the_tokens() {
    let world = World::start().await;
    let models: Value = get(world.url("/v1/models"))
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    let entry = &models["data"][0];
    assert_eq!(entry["id"], "scripted");
    // How it is treated, and what is known about it: nothing here.
    assert_eq!(entry["tool_mode"], "text");
    assert_eq!(entry["form"], "block");
    assert_eq!(entry["dialects"][0], "hermes");
    assert_eq!(entry["constrained"], false);
    assert_eq!(entry.get("context_window"), None);
    let model: Value = get(world.url("/v1/models/a/b"))
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    assert_eq!(model["id"], "a/b");
    assert_eq!(model["tool_mode"], "text");
    let request =
        json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(4_000)}]});
    let count = client()
        .post(world.url("/v1/messages/count_tokens"))
        .json(&request);
    let count: Value = count
        .send()
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    let tokens = count["input_tokens"].as_u64().expect("a number");
    assert!((900..1_100).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn requests_in_flight_end_before_the_gateway() {
    let upstream = Upstream::start().await;
    let gateway = gadgetry_gateway::Gateway::new(settings(&upstream.url(), ModelRules::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(gadgetry_gateway::server::serve(listener, gateway, async {
        let _ = stopped.await;
    }));
    let (path, body) = body(ClientApi::Chat, "endless", true);
    let answer = client()
        .post(format!("{url}{path}"))
        .json(&body)
        .send()
        .await
        .expect("it answers");
    let mut stream = answer.bytes_stream();
    stream.next().await.expect("a part").expect("no error");
    stop.send(()).expect("it serves");
    // It still streams, and admits nobody.
    for _ in 0..3 {
        stream.next().await.expect("a part").expect("no error");
    }
    assert!(
        get(format!("{url}/healthz")).await.is_err(),
        "it no longer listens"
    );
    assert!(!serving.is_finished());
    drop(stream);
    serving.await.expect("it ends");
}

#[tokio::test]
async fn headers_say_what_was_ignored_and_added() {
    let world = World::start().await;
    let (path, mut body) = body(ClientApi::Responses, "text", false);
    let tools = body["tools"].as_array_mut().expect("a list");
    tools.push(json!({"type": "web_search"}));
    let answer = client()
        .post(world.url(path))
        .json(&body)
        .send()
        .await
        .expect("it answers");
    let header = |name: &str| {
        answer
            .headers()
            .get(name)
            .map(|it| it.to_str().expect("text").to_owned())
    };
    assert_eq!(
        header("x-gadgetry-warning").as_deref(),
        Some("the tool web_search is ignored")
    );
    assert_eq!(header("x-gadgetry-upstream").as_deref(), Some("scripted"));
    let tokens: u64 = header("x-gadgetry-injected-tokens")
        .expect("tools add text")
        .parse()
        .expect("a number");
    assert!(tokens > 100, "{tokens}");
    assert!(header("x-request-id").is_some_and(|id| id.starts_with("req_")));
}
