//! One request on a real connection: statuses, waits, timeouts, and connections that break.

use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelError;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_providers::model::Model as _;
use gadgetry_providers::{HttpConfig, OpenAi};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::server::{Act, Server, answer, chunk, head};
use super::show::show;

/// Long enough for loopback, short enough for a test that waits for it.
const SHORT: Duration = Duration::from_millis(150);

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn request() -> Request {
    Request::default().messages(vec![Message::text(Role::User, "hello")])
}

async fn ask(base_url: &str, http: HttpConfig) -> Vec<Delta> {
    let model = OpenAi::builder("m")
        .base_url(base_url)
        .api_key("sk-0123456789abcdef")
        .http(http)
        .build()
        .unwrap();
    model.stream(request()).collect().await
}

/// What a server that does this makes of a request.
async fn asked(acts: Vec<Act>) -> Vec<Delta> {
    let server = Server::start(acts).await;
    ask(&server.base_url(), HttpConfig::new()).await
}

#[tokio::test]
async fn a_stream() {
    let server = Server::start(vec![head(), chunk(HI), chunk(STOP), chunk(DONE), chunk("")]).await;
    let deltas = ask(&server.base_url(), HttpConfig::new().header("x-title", "t")).await;
    assert_eq!(show(&deltas), "start | text hi | stop stop");
    let [sent] = server.requests().try_into().unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    for line in [
        "authorization: Bearer sk-0123456789abcdef",
        "content-type: application/json",
        "x-title: t",
    ] {
        assert!(head.lines().any(|it| it == line), "{line} in {head}");
    }
    let expected = r#"{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}"#;
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let end = Act::Write(format!("{:x}\r\n{DONE}\r\n0\r\n\r\n", DONE.len()).into_bytes());
    let server = Server::start(vec![head(), chunk(HI), chunk(STOP), end]).await;
    let model = OpenAi::builder("m")
        .base_url(server.base_url())
        .build()
        .unwrap();
    for _ in 0..5 {
        let deltas: Vec<_> = model.stream(request()).collect().await;
        assert_eq!(show(&deltas), "start | text hi | stop stop");
        // The connection's own task gives it back.
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

/// A server may close a connection that it has kept open in the moment in which the next request is sent on it.
#[tokio::test]
async fn a_request_is_sent_twice_if_the_connection_closes_without_an_answer() {
    let whole = || answer("200 OK", &[], &format!("{HI}{STOP}{DONE}"));
    let closed = "error Transport: the request to http://HOST failed: connection closed before message completed";
    for (connections, expected, requests) in [
        (
            vec![vec![Act::Close], vec![whole()]],
            "start | text hi | stop stop",
            2,
        ),
        (
            vec![vec![Act::Close], vec![Act::Close], vec![whole()]],
            closed,
            2,
        ),
        // An answer has begun.
        (
            vec![vec![head(), chunk(HI), Act::Close], vec![whole()]],
            "start | text hi | error Truncated: the reply was cut off: unexpected EOF during chunk size line",
            1,
        ),
    ] {
        let server = Server::start_each(connections).await;
        let deltas = ask(&server.base_url(), HttpConfig::new()).await;
        let address = server.base_url();
        let host = address
            .trim_start_matches("http://")
            .trim_end_matches("/v1");
        assert_eq!(show(&deltas).replace(host, "HOST"), expected);
        assert_eq!(server.requests().len(), requests, "{expected}");
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_read() {
    let server = Server::start(vec![Act::Close]).await;
    let model = OpenAi::builder("m")
        .base_url(server.base_url())
        .build()
        .unwrap();
    drop(model.stream(request()));
    tokio::task::yield_now().await;
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn refusals_carry_what_the_headers_say() {
    let body = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#;
    let table = [
        (
            "429 Too Many Requests",
            vec![("retry-after", "7"), ("x-request-id", "r1")],
            "error RateLimit: slow down (HTTP 429, request r1)",
            Some(7000),
        ),
        (
            "429 Too Many Requests",
            vec![("x-ratelimit-reset-requests", "20ms")],
            "error RateLimit: slow down (HTTP 429)",
            Some(20),
        ),
        (
            "503 Service Unavailable",
            vec![("retry-after-ms", "30"), ("request-id", "r2")],
            "error Overloaded: slow down (HTTP 503, request r2)",
            Some(30),
        ),
        (
            "503 Service Unavailable",
            vec![("x-ratelimit-reset-requests", "1h")],
            "error Overloaded: slow down (HTTP 503)",
            None,
        ),
        (
            "429 Too Many Requests",
            vec![("retry-after", "90")],
            "error RateLimit: slow down (HTTP 429); the provider asks to wait 90 s",
            Some(90_000),
        ),
        (
            "429 Too Many Requests",
            vec![("retry-after", "99999")],
            "error RateLimit: slow down (HTTP 429); the provider asks to wait 27 h 46 min",
            Some(99_999_000),
        ),
        (
            "429 Too Many Requests",
            vec![("retry-after", "inf")],
            "error RateLimit: slow down (HTTP 429); the provider asks to wait longer than a thousand days",
            Some(u64::MAX),
        ),
        (
            "429 Too Many Requests",
            vec![("llm_provider-retry-after", "2")],
            "error RateLimit: slow down (HTTP 429)",
            Some(2000),
        ),
    ];
    for (status, headers, expected, wait) in table {
        let deltas = asked(vec![answer(status, &headers, body)]).await;
        assert_eq!(show(&deltas), expected);
        let [
            Delta::Error(ModelError {
                code,
                retry_after_ms,
                ..
            }),
        ] = deltas.as_slice()
        else {
            panic!("{deltas:?}");
        };
        assert_eq!(
            (code.as_deref(), *retry_after_ms),
            (Some("rate_limit_exceeded"), wait)
        );
    }
}

#[tokio::test]
async fn the_body_of_an_error_may_say_how_long_to_wait() {
    let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}"#;
    let error = format!(
        r#"{{"error":{{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{{"@type":"x"}},{info}]}}}}"#
    );
    let frame = format!("data: {error}\n\n");
    for (acts, expected) in [
        (vec![answer("429 Too Many Requests", &[], &error)], 2500),
        (
            vec![answer("429 Too Many Requests", &[], &format!("[{error}]"))],
            2500,
        ),
        (
            vec![answer(
                "429 Too Many Requests",
                &[("retry-after", "1")],
                &error,
            )],
            1000,
        ),
        (vec![head(), chunk(&frame), chunk("")], 2500),
    ] {
        let deltas = asked(acts.clone()).await;
        let waits = deltas.iter().find_map(|delta| match delta {
            Delta::Error(ModelError { retry_after_ms, .. }) => *retry_after_ms,
            _ => None,
        });
        assert_eq!(waits, Some(expected), "{acts:?}");
    }
}

#[tokio::test]
async fn encoded_answers_are_named_and_not_shown() {
    let stream = format!("{HI}{STOP}{DONE}");
    for (status, encoding, body, expected) in [
        (
            "200 OK",
            "gzip",
            "\u{1f}\u{8b}xx",
            "error BadRequest: http://HOST answers with the content encoding gzip, although the request allows none; turn \
             off compression in the server or proxy",
        ),
        (
            "429 Too Many Requests",
            "br",
            "\u{1f}\u{8b}xx",
            "error RateLimit: the error has the content encoding br, although the request allows none (HTTP 429)",
        ),
        ("200 OK", "identity", &stream, "start | text hi | stop stop"),
        ("200 OK", "", &stream, "start | text hi | stop stop"),
    ] {
        let headers = [("content-encoding", encoding)];
        let server = Server::start(vec![answer(status, &headers, body)]).await;
        let shown = show(&ask(&server.base_url(), HttpConfig::new()).await);
        let host = server.base_url().replace("http://", "").replace("/v1", "");
        assert_eq!(shown, expected.replace("HOST", &host));
        let [sent] = server.requests().try_into().unwrap();
        assert!(sent.contains("\r\naccept-encoding: identity\r\n"), "{sent}");
    }
}

#[tokio::test]
async fn answers_that_are_no_apis() {
    for (kind, body, expected) in [
        (
            "text/plain",
            "Hello this is not an API",
            "error BadRequest: the answer is not an API's; check the base URL. It begins: Hello this is not an API",
        ),
        (
            "text/event-stream",
            "\r\n  Welcome!\r\n",
            "error BadRequest: the answer is not an API's; check the base URL. It begins: Welcome!",
        ),
        (
            "application/json",
            r#"{"hello":1}"#,
            r#"error BadRequest: the answer is JSON, but not a reply; check the base URL. It begins: {"hello":1}"#,
        ),
        // An answer that was cut, or has nothing to say yet, may be better the next time.
        (
            "application/json",
            r#"{"choices":[{"#,
            r#"error Transport: the answer is neither an event stream nor JSON: {"choices":[{"#,
        ),
        (
            "text/event-stream",
            ": hello\n\n",
            "error Truncated: the stream ended before the reply did",
        ),
        (
            "text/plain",
            "",
            "error Truncated: the stream ended before the reply did",
        ),
    ] {
        let acts = vec![answer("200 OK", &[("content-type", kind)], body)];
        assert_eq!(show(&asked(acts).await), expected, "{body}");
    }
}

#[tokio::test]
async fn a_redirect_within_one_host_names_the_path() {
    let place = ("location", "/api/v1/chat/completions?key=secret");
    let server = Server::start(vec![answer("308 Permanent Redirect", &[place], "")]).await;
    let shown = show(&ask(&server.base_url(), HttpConfig::new()).await);
    let host = server.base_url().replace("/v1", "");
    let expected = format!(
        "error BadRequest: {host} redirects to {host}/api/v1/chat/completions; a key is not sent on, so set the base URL \
         to where it leads (HTTP 308)"
    );
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_proxy_is_asked_for_everything_but_this_machine() {
    let acts = vec![head(), chunk(HI), chunk(STOP), chunk("")];
    let proxy = Server::start(acts.clone()).await;
    let url = proxy.base_url().replace("http://", "http://bob:pass1234@");
    let http = HttpConfig::new().proxy(url);
    let shown = show(&ask("http://model.example/v1", http.clone()).await);
    assert_eq!(shown, "start | text hi | stop stop");
    let [sent] = proxy.requests().try_into().unwrap();
    let first = sent.lines().next().unwrap();
    assert_eq!(
        first,
        "POST http://model.example/v1/chat/completions HTTP/1.1"
    );
    assert!(
        sent.contains("proxy-authorization: Basic Ym9iOnBhc3MxMjM0"),
        "{sent}"
    );

    let server = Server::start(acts).await;
    for host in ["127.0.0.1", "localhost"] {
        let base = server.base_url().replace("127.0.0.1", host);
        let shown = show(&ask(&base, http.clone()).await);
        assert_eq!(shown, "start | text hi | stop stop");
    }
    assert_eq!((server.requests().len(), proxy.requests().len()), (2, 1));

    // What the proxy repeats of its password is not shown.
    let refusal = "you said bob:pass1234, Ym9iOnBhc3MxMjM0";
    let proxy = Server::start(vec![answer("407 No", &[], refusal)]).await;
    let url = proxy.base_url().replace("http://", "http://bob:pass1234@");
    let shown = show(&ask("http://model.example/v1", HttpConfig::new().proxy(url)).await);
    assert!(
        shown.starts_with("error BadRequest: you said bob:***, ***"),
        "{shown}"
    );
}

#[tokio::test]
async fn answers_that_are_documents() {
    let whole = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(
        show(&asked(vec![answer("200 OK", &json, whole)]).await),
        "start | text hi | stop stop"
    );
    let error = r#"{"error":{"message":"m","type":"overloaded_error"}}"#;
    let stream = [("content-type", "text/event-stream")];
    assert_eq!(
        show(&asked(vec![answer("200 OK", &stream, error)]).await),
        "error Overloaded: m"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::start(vec![head(), chunk(STOP), chunk("")]).await;
    for status in [
        "301 Moved",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let place = format!("{}/chat/completions?key=secret", elsewhere.base_url());
        let deltas = asked(vec![answer(status, &[("location", &place)], "")]).await;
        let shown = show(&deltas);
        assert!(
            shown.starts_with("error BadRequest: http://127.0.0.1:"),
            "{shown}"
        );
        let host = elsewhere.base_url().replace("/v1", ";");
        assert!(
            shown.contains(&format!("redirects to {host} a key is not sent on")),
            "{shown}"
        );
        assert!(!shown.contains("secret"), "{shown}");
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn connections_that_break() {
    let cut = |acts| async {
        let shown = show(&asked(acts).await);
        let errors = shown.split(" | ").filter(|it| it.starts_with("error "));
        assert_eq!(errors.count(), 1, "{shown}");
        shown
    };
    let text = "start | text hi | error Truncated: ";
    let shown = cut(vec![head(), chunk(HI), Act::Close]).await;
    assert!(
        shown.starts_with(&format!("{text}the reply was cut off: ")),
        "{shown}"
    );
    let shown = cut(vec![head(), chunk(HI), chunk("")]).await;
    assert_eq!(
        shown,
        format!("{text}the stream ended before the reply did")
    );
    let shown = cut(vec![head(), Act::Close]).await;
    assert!(
        shown.starts_with("error Truncated: the reply was cut off: "),
        "{shown}"
    );
    let shown = cut(vec![Act::Close]).await;
    assert!(
        shown.starts_with("error Transport: the request to http://127.0.0.1:"),
        "{shown}"
    );
    let shown = cut(vec![Act::Write("what?\r\n\r\n".into()), Act::Close]).await;
    assert!(shown.starts_with("error Transport: "), "{shown}");
}

#[tokio::test]
async fn a_reply_that_was_complete_before_the_break_is_whole() {
    let deltas = asked(vec![head(), chunk(HI), chunk(STOP), Act::Close]).await;
    assert_eq!(show(&deltas), "start | text hi | stop stop");
}

#[tokio::test]
async fn a_refused_connection_asks_whether_the_server_runs() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let shown = show(&ask(&format!("http://{address}/v1"), HttpConfig::new()).await);
    assert!(
        shown.starts_with(&format!(
            "error Transport: no connection to http://{address}: "
        )),
        "{shown}"
    );
    assert!(
        shown.ends_with("is the server running, and the base URL right?"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer() {
    let server = Server::start(vec![Act::Hang]).await;
    let shown = show(&ask(&server.base_url(), HttpConfig::new().header_timeout(SHORT)).await);
    let host = server.base_url().replace("/v1", "");
    assert_eq!(
        shown,
        format!("error Transport: {host} has not answered for 150ms")
    );
}

#[tokio::test]
async fn a_server_that_falls_silent() {
    let server = Server::start(vec![
        head(),
        chunk(HI),
        chunk(": still here\n\n"),
        Act::Hang,
    ])
    .await;
    let shown = show(&ask(&server.base_url(), HttpConfig::new().idle_timeout(SHORT)).await);
    assert_eq!(
        shown,
        "start | text hi | error Truncated: the reply stalled: no data for 150ms"
    );
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let server = Server::start(vec![
        head(),
        chunk(&format!("data: {}", "x".repeat(2000))),
        Act::Hang,
    ])
    .await;
    let shown = show(&ask(&server.base_url(), HttpConfig::new().size_limit(1000)).await);
    assert_eq!(
        shown,
        "error Other: the event stream has a line or an event of more than 1000 bytes"
    );
    let server = Server::start(vec![answer(
        "200 OK",
        &[],
        &format!("{{\"x\":\"{}\"}}", "x".repeat(2000)),
    )])
    .await;
    let shown = show(&ask(&server.base_url(), HttpConfig::new().size_limit(1000)).await);
    assert_eq!(shown, "error Other: the answer has more than 1000 bytes");
}

#[tokio::test]
async fn invalid_settings_are_refused_when_a_model_is_built() {
    let table = [
        (
            OpenAi::builder("m").base_url("localhost:8080"),
            "invalid base URL: the scheme is not http or https; expected a form like https://host/v1",
        ),
        (
            OpenAi::builder("m").base_url("/v1"),
            "invalid base URL: relative URL without a base; expected a form like https://host/v1",
        ),
        (OpenAi::builder(""), "the model has no name"),
        (
            OpenAi::builder("m").api_key("a\nb"),
            "the value of the header \"authorization\" contains an invalid character",
        ),
        (
            OpenAi::builder("m").http(HttpConfig::new().proxy("socks5://u:secret@p:1")),
            "the URL of the proxy is invalid: socks5 is not supported; use an HTTP proxy; it looks like http://host:3128",
        ),
        (
            OpenAi::builder("m").http(HttpConfig::new().header("a b", "c")),
            "the name of the header \"a b\" contains an invalid character",
        ),
    ];
    for (builder, expected) in table {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn tls_needs_no_default_provider_of_the_process() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 No TLS\r\n\r\n")
            .await
            .unwrap();
        stream
    };
    let url = format!("https://{address}/v1");
    let (_stream, deltas) = tokio::join!(server, ask(&url, HttpConfig::new()));
    let shown = show(&deltas);
    assert!(
        shown.starts_with(&format!(
            "error Transport: no connection to https://{address}: received corrupt message"
        )),
        "{shown}"
    );
    assert!(
        rustls::crypto::CryptoProvider::get_default().is_none(),
        "something was installed for the whole process"
    );
}
