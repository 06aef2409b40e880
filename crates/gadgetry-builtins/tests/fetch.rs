//! `HttpFetch`, from servers of this machine.

use std::net::{IpAddr, Ipv4Addr};

use gadgetry::approval::Answer;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::stage::{Stage, run};

/// A server that answers by the path; returns its port.
async fn server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                let answer = answer(&path, port);
                // The client may have gone.
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    port
}

fn answer(path: &str, port: u16) -> Vec<u8> {
    let with = |kind: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let to = |url: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {url}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .into_bytes()
    };
    if let Some(port) = path.strip_prefix("/to-port/") {
        return to(&format!("http://127.0.0.1:{port}/json"));
    }
    if let Some(port) = path.strip_prefix("/chain/") {
        return to(&format!("/to-port/{port}"));
    }
    match path {
        "/page" => with("text/html; charset=utf-8", b"<html><h1>Title</h1><p>One <b>two</b>.<script>x()</script></html>"),
        "/json" => with("application/json", b"{\"a\":1}"),
        "/latin" => with("text/plain; charset=iso-8859-1", b"caf\xe9"),
        "/binary" => with("application/octet-stream", b"\0\x01"),
        "/deep" => with("text/html", "<div>".repeat(100_000).as_bytes()),
        "/large" => with("text/plain", &vec![b'x'; 6 << 20]),
        "/missing" => b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnone".to_vec(),
        "/cut" => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 40\r\n\r\nhalf".to_vec(),
        "/again" => to("/json"),
        "/loop" => to("/loop"),
        "/nowhere" => b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
        "/to-other" => to(&format!("http://127.0.0.2:{port}/json")),
        "/to-ten" => to("http://10.0.0.1/"),
        "/to-metadata" => to("http://169.254.169.254/latest/meta-data/"),
        "/to-six" => to(&format!("http://[::1]:{port}/json")),
        "/to-mapped" => to(&format!("http://[::ffff:127.0.0.2]:{port}/json")),
        "/to-file" => to("file:///etc/passwd"),
        "/to-key" => to(&format!("http://user:key@127.0.0.1:{port}/json")),
        _ => with("text/plain", path.as_bytes()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_fetched_as_text() {
    let port = server().await;
    let stage = Stage::with(|builtins| builtins.allow_addresses([IpAddr::V4(Ipv4Addr::LOCALHOST)]));
    let base = format!("http://127.0.0.1:{port}");
    let check = async |path: &str, expected: Result<&str, &str>| {
        let url = format!("{base}{path}");
        let with_head = expected.map(|body| format!("url={base}{body}"));
        let expected = with_head
            .as_ref()
            .map_or_else(|error| Err(*error), |text| Ok(text.as_str()));
        stage
            .check("HttpFetch", json!({ "url": url }), expected)
            .await;
    };
    check(
        "/page#x",
        Ok("/page status=200 type=text/html\n\n# Title\n\nOne **two**.\n"),
    )
    .await;
    check(
        "/json",
        Ok("/json status=200 type=application/json\n\n{\"a\":1}"),
    )
    .await;
    check("/latin", Ok("/latin status=200 type=text/plain\n\ncafé")).await;
    check(
        "/again",
        Ok("/json status=200 type=application/json\n\n{\"a\":1}"),
    )
    .await;
    check(
        "/binary",
        Err("is not text (status 200, type application/octet-stream)"),
    )
    .await;
    check(
        "/missing",
        Err("/missing status=404 type=text/plain\n\nnone"),
    )
    .await;
    check("/cut", Err("/cut: ")).await;
    check("/loop", Err("more than 5 redirects")).await;
    check("/nowhere", Err("redirects without a location")).await;
    for escape in [
        "/to-other",
        "/to-ten",
        "/to-metadata",
        "/to-six",
        "/to-mapped",
    ] {
        check(
            escape,
            Err("an address of a private network or of this machine"),
        )
        .await;
    }
    check("/to-file", Err("only http and https")).await;
    check("/to-key", Err("a user name or a password")).await;
    let large = stage
        .call("HttpFetch", json!({ "url": format!("{base}/large") }))
        .await
        .unwrap();
    assert!(large.contains("(cut off after 5 MiB)") && large.len() < (5 << 20) + 200);
    // A page that would take minutes to convert is returned as it is.
    let deep = stage
        .call("HttpFetch", json!({ "url": format!("{base}/deep") }))
        .await
        .unwrap();
    assert!(deep.contains("<div><div>"));
    let raw = json!({ "url": format!("{base}/page"), "raw": true });
    let raw = stage.call("HttpFetch", raw).await.unwrap();
    assert!(raw.contains("<h1>Title</h1>"), "{raw}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_this_machine_and_its_networks_is_fetched() {
    let port = server().await;
    let stage = Stage::new();
    let check = async |url: &str, expected: &str| {
        stage
            .check("HttpFetch", json!({ "url": url }), Err(expected))
            .await;
    };
    let private = "an address of a private network or of this machine";
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "①②⑦.⓪.⓪.①",
        "localhost",
        "LOCALHOST",
    ] {
        check(&format!("http://{host}:{port}/json"), private).await;
    }
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://100.100.100.200/",
        "http://172.16.5.4/",
    ] {
        check(url, private).await;
    }
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:text/plain,x",
        "gopher://x/",
    ] {
        check(url, "only http and https URLs are fetched").await;
    }
    check("http://user@example.com/", "a user name or a password").await;
    check("not a URL", "invalid URL").await;
    check(
        &format!("http://example.com/{}", "x".repeat(9000)),
        "more than 8192 bytes",
    )
    .await;
}

/// Each hop needs what the first address needs: a rule, or for the same host the user.
#[tokio::test(flavor = "multi_thread")]
async fn redirects_need_approval() {
    let (first, second) = (server().await, server().await);
    let stage = Stage::with(|builtins| builtins.allow_addresses([IpAddr::V4(Ipv4Addr::LOCALHOST)]));
    let check = async |rules: &[&str], is_approved: bool, path: &str, expected: &str| {
        let with_ports = |text: &str| {
            let text = text.replace("FIRST", &format!("http://127.0.0.1:{first}"));
            let text = text.replace("SECOND", &format!("http://127.0.0.1:{second}"));
            text.replace("PORT", &second.to_string())
        };
        let rules: Vec<String> = rules.iter().map(|rule| with_ports(rule)).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let fetch = ("HttpFetch", json!({ "url": with_ports(path) }));
        let answer = move |_| {
            if is_approved {
                Answer::Once
            } else {
                Answer::No(None)
            }
        };
        let said = run(&stage, &rules, &[fetch], answer).await;
        let expected = with_ports(expected);
        assert!(said[0].contains(&expected), "{rules:?} {path}: {said:?}");
    };
    let (page, other) = ("url=FIRST/json status=200", "url=SECOND/json status=200");
    let refused = "redirects to FIRST/json, which is not approved";
    let refused_other = "redirects to SECOND/json, which is not approved";
    let (again, to, chain) = ("FIRST/again", "FIRST/to-port/PORT", "FIRST/chain/PORT");
    // By rules alone, each address has to have one.
    check(&["allow HttpFetch(FIRST/**)"], false, again, page).await;
    check(&["allow HttpFetch(FIRST/again)"], false, again, refused).await;
    check(&["allow HttpFetch(FIRST/**)"], false, to, refused_other).await;
    check(&["allow HttpFetch(FIRST/**)"], false, chain, refused_other).await;
    let both = ["allow HttpFetch(FIRST/**)", "allow HttpFetch(SECOND/json)"];
    check(&both, false, to, other).await;
    check(&both, false, chain, other).await;
    let not_between = [
        "allow HttpFetch(FIRST/chain/*)",
        "allow HttpFetch(SECOND/json)",
    ];
    check(
        &not_between,
        false,
        chain,
        "redirects to FIRST/to-port/PORT, which is not approved",
    )
    .await;
    check(&["allow HttpFetch"], false, chain, other).await;
    // The user approves a host.
    check(&[], true, again, page).await;
    check(&[], true, to, refused_other).await;
    check(&[], true, chain, refused_other).await;
    check(&["allow HttpFetch(SECOND/**)"], true, to, other).await;
    check(&["deny HttpFetch(**/json)"], true, again, refused).await;
    check(
        &["deny HttpFetch(SECOND/**)", "allow *"],
        false,
        to,
        refused_other,
    )
    .await;
    check(&[], false, again, "Denied by the user").await;
}
