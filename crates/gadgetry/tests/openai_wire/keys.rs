//! Keys stay out of everything that is shown or saved.

use futures_util::StreamExt as _;
use gadgetry::Model as _;
use gadgetry::proto::message::Request;
use gadgetry::provider::{ApiKey, HttpConfig, HttpRequest, OpenAi, ProviderError, Wire as _};

use crate::server::{Server, answer, chunk, head};

const KEY: &str = "sk-proj-Abc123Def456Ghi789";
const OTHER: &str = "Zyx987Wvu654Tsr321";

/// Fails if any eight bytes of a key stand in what is shown.
#[track_caller]
fn silent(shown: &str) {
    for key in [KEY, OTHER] {
        for part in key.as_bytes().windows(8) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!shown.contains(part), "{part} in {shown}");
        }
    }
}

#[test]
fn a_key_prints_as_stars() {
    let key = ApiKey::new(format!(" {KEY}\n"));
    assert_eq!(key.expose(), KEY);
    let forms = [
        format!("{key}"),
        format!("{key:?}"),
        format!("{key:#?}"),
        serde_json::to_string(&key).unwrap(),
    ];
    assert_eq!(forms, ["***", "ApiKey(***)", "ApiKey(***)", "\"***\""]);
}

#[test]
fn texts_lose_the_key() {
    let key = ApiKey::new(KEY);
    let table = [
        ("nothing", "nothing"),
        ("", ""),
        (KEY, "***"),
        (
            "key sk-proj-Abc123Def456Ghi789, sk-proj-Abc123Def456Ghi789!",
            "key ***, ***!",
        ),
        ("cut sk-proj-Abc1...", "cut ***..."),
        ("the end ...f456Ghi789", "the end ...***"),
        ("short: sk-proj", "short: sk-proj"),
        ("é\u{1F600}sk-proj-Abc123Def456Ghi789é", "é\u{1F600}***é"),
    ];
    for (text, expected) in table {
        assert_eq!(key.redact(text), expected, "{text}");
    }
    assert_eq!(ApiKey::new("key").redact("the key"), "the key");
    assert_eq!(
        ApiKey::new("ключ-секрет").redact("мой ключ-секрет!"),
        "мой ***!"
    );
    assert_eq!(ApiKey::new("").redact("x"), "x");
}

#[test]
fn what_holds_a_key_does_not_show_it() {
    let http = HttpConfig::new()
        .header("x-title", OTHER)
        .secret_header("x-key", OTHER);
    let builder = OpenAi::builder("m")
        .base_url(format!("http://user:{OTHER}@127.0.0.1:1/v1?key={OTHER}"))
        // The password needs the usual one.
        .key_header("api-key")
        .api_key(KEY)
        .http(http.clone());
    let model = builder.clone().build().unwrap();
    let request = model.wire().request(&Request::default()).unwrap();
    silent(&format!(
        "{http:?} {builder:?} {model:?} {request:?} {http:#?} {builder:#?} {model:#?} {request:#?}"
    ));
    let plain = HttpRequest::post("http://127.0.0.1:1", "x", &serde_json::Value::Null).unwrap();
    let plain = plain.secret("x-api-key", &ApiKey::new(KEY)).unwrap();
    silent(&format!(
        "{plain:?} {:?} {:?}",
        plain.header_value("x-api-key"),
        plain.url()
    ));
}

#[test]
fn errors_lose_the_key() {
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY}","code":"{KEY}"}},"request_id":"{KEY}"}}"#
    );
    let error = ProviderError::from_response(401, &body).redacted(&ApiKey::new(KEY));
    silent(&format!("{error} {error:?}"));
}

#[tokio::test]
async fn what_a_provider_repeats_is_not_handed_on() {
    let frames = |frame: String| vec![head(), chunk(&format!("data: {frame}\n\n")), chunk("")];
    let echo = format!("wrong {KEY} and {OTHER}");
    let error = format!(r#"{{"error":{{"message":"{echo}","code":"{KEY}"}}}}"#);
    let answers = [
        vec![answer("401 Unauthorized", &[("x-request-id", KEY)], &error)],
        vec![answer("500 Oh", &[], &echo)],
        vec![answer("200 OK", &[], &error)],
        vec![answer("200 OK", &[], &format!("{{{echo}"))],
        vec![answer(
            "302 Found",
            &[("location", &format!("http://{OTHER}.example/{KEY}"))],
            "",
        )],
        frames(error),
        frames(format!("not JSON {echo}")),
        frames(format!(r#"{{"echo":["{echo}"]}}"#)),
    ];
    for acts in answers {
        let name = format!("{acts:?}");
        let server = Server::start(acts).await;
        let http = HttpConfig::new()
            .raw_frames(true)
            .secret_header("x-key", OTHER);
        let model = OpenAi::builder("m")
            .base_url(server.base_url())
            .api_key(KEY)
            .http(http)
            .build()
            .unwrap();
        let deltas: Vec<_> = model.stream(Request::default()).collect().await;
        assert!(!deltas.is_empty());
        let shown = format!("{deltas:?} {}", serde_json::to_string(&deltas).unwrap());
        silent(&shown);
        let [sent] = server.requests().try_into().unwrap();
        assert!(sent.contains(KEY) && sent.contains(OTHER), "{name}: {sent}");
    }
}

#[tokio::test]
async fn a_password_in_the_base_url_is_not_shown() {
    let model = OpenAi::builder("m")
        .base_url(format!(
            "http://user:{OTHER}@127.0.0.1:1/{OTHER}?key={OTHER}"
        ))
        .build()
        .unwrap();
    let deltas: Vec<_> = model.stream(Request::default()).collect().await;
    assert!(
        format!("{deltas:?}").contains("no connection to http://127.0.0.1:1:"),
        "{deltas:?}"
    );
    silent(&format!("{deltas:?}"));
}
