//! Requests that the page's server answers, and those that it refuses.

use std::net::SocketAddr;

use gadgetry::{Agent, ScriptedModel};
use gadgetry_inspect::{Inspector, Recording, RunEntry};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const EVENTS: &str = r#"{"v":1,"seq":0,"timeMs":0,"type":"text","text":"</script>"}"#;

/// A server with one recorded run, and the path of its page.
async fn server(inspector: Inspector) -> (SocketAddr, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let url = inspector.url(address);
    tokio::spawn(inspector.serve(listener, std::future::pending()));
    let path = url.split_once(&address.to_string()).expect("its address").1;
    (address, path.to_owned())
}

/// Sends a request as it is written, and returns the whole answer.
async fn answer(address: SocketAddr, method: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    String::from_utf8(answer).expect("UTF-8")
}

fn recorded() -> Inspector {
    let inspector = Inspector::new();
    inspector.add(Recording::read(EVENTS.as_bytes()).expect("events"));
    inspector
}

#[tokio::test]
async fn only_the_page_itself_is_answered() {
    let (address, root) = server(recorded()).await;
    let host = format!("Host: {address}\r\n");
    let list = format!("{root}runs");
    let other = "/00000000000000000000000000000000/".to_owned();
    let rows: &[(&str, &str, String, u16)] = &[
        ("GET", &root, host.clone(), 200),
        ("GET", &list, host.clone(), 200),
        ("GET", &format!("{root}app.js"), host.clone(), 200),
        ("GET", &format!("{root}runs/0/from/0"), host.clone(), 200),
        (
            "GET",
            &format!("{root}runs/0/from/99999999"),
            host.clone(),
            200,
        ),
        ("GET", &format!("{root}runs/0/run.html"), host.clone(), 200),
        (
            "GET",
            &format!("{root}runs/0/trace.json"),
            host.clone(),
            200,
        ),
        ("GET", &format!("{root}runs/7/from/0"), host.clone(), 404),
        ("GET", &format!("{root}runs/x/from/0"), host.clone(), 400),
        ("GET", &format!("{root}runs/0/from/-1"), host.clone(), 400),
        ("GET", &format!("{root}../Cargo.toml"), host.clone(), 404),
        ("GET", &format!("{root}nothing.js"), host.clone(), 404),
        ("GET", "/", host.clone(), 404),
        ("GET", "/runs", host.clone(), 404),
        ("GET", &other, host.clone(), 404),
        ("POST", &list, host.clone(), 405),
        ("DELETE", &root, host.clone(), 405),
        ("GET", &root, "Host: example.com\r\n".to_owned(), 403),
        (
            "GET",
            &root,
            format!("Host: 127.0.0.1.example.com:{}\r\n", address.port()),
            403,
        ),
        (
            "GET",
            &list,
            format!("{host}Origin: http://{address}\r\n"),
            200,
        ),
        (
            "GET",
            &list,
            format!("{host}Origin: http://example.com\r\n"),
            403,
        ),
        ("GET", &list, format!("{host}Origin: null\r\n"), 403),
        (
            "GET",
            &list,
            format!("{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
            403,
        ),
        (
            "GET",
            &root,
            format!("{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"),
            200,
        ),
    ];
    for (method, path, headers, status) in rows {
        let answer = answer(address, method, path, headers).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{method} {path} {headers}: {answer}"
        );
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(header), "{method} {path}: {head}");
        }
    }
}

#[tokio::test]
async fn records_end_with_a_line_that_says_so() {
    let (address, root) = server(recorded()).await;
    let host = format!("Host: {address}\r\n");
    let answer = answer(address, "GET", &format!("{root}runs/0/from/0"), &host).await;
    let text = answer.replace("\r\n", "\n");
    assert!(text.contains(EVENTS), "{text}");
    assert!(text.contains("{\"type\":\"inspect_end\"}\n"), "{text}");
}

#[tokio::test]
async fn a_run_in_progress_is_followed_to_its_end() {
    let inspector = Inspector::new();
    let (address, root) = server(inspector.clone()).await;
    let model: ScriptedModel = r#"{"text": "The answer is 4."}"#.parse().expect("a script");
    let agent = Agent::builder()
        .model(model)
        .hook(inspector)
        .build()
        .expect("an agent");
    let run = agent.ask("What is 2 + 2?");
    run.await.expect("an answer");
    let host = format!("Host: {address}\r\n");
    let list = answer(address, "GET", &format!("{root}runs"), &host).await;
    assert!(
        list.contains(r#"[{"id":"0","title":"What is 2 + 2?","state":"finished"}]"#),
        "{list}"
    );
    let records = answer(address, "GET", &format!("{root}runs/0/from/0"), &host).await;
    for part in [
        "run_start",
        "inspect_request",
        "inspect_reply",
        "\"answer\":\"The answer is 4.\"",
        "inspect_end",
    ] {
        assert!(records.contains(part), "{part}: {records}");
    }
}

#[tokio::test]
async fn a_stored_run_that_cannot_be_read_says_why() {
    let inspector = Inspector::new();
    inspector.add_entry(RunEntry::new("gone", "finished", || {
        Box::pin(async { Recording::read(&b""[..]) })
    }));
    let (address, root) = server(inspector).await;
    let host = format!("Host: {address}\r\n");
    let answer = answer(address, "GET", &format!("{root}runs/0/from/0"), &host).await;
    assert!(
        answer.contains("this run cannot be read: the log is empty"),
        "{answer}"
    );
}
