//! Keys stay out of everything that is shown or saved.

use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_providers::model::Model as _;
use gadgetry_providers::resolve::FoundServer;
use gadgetry_providers::{
    Anthropic, ApiKey, BaseUrl, HttpConfig, HttpRequest, ModelOptions, OpenAi, ProviderError,
    Resolver, Wire as _,
};

use super::server::{Act, Server, answer, chunk, head};
use super::show::{show, sse};

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
    let url = format!("http://user:{OTHER}@127.0.0.1:1/v1?key={OTHER}");
    let anthropic = Anthropic::builder("m").base_url(&url).api_key(KEY);
    let resolver = Resolver::new([("OPENAI_BASE_URL", &url), ("OLLAMA_HOST", &url)]);
    let place = resolver.locate("m").unwrap();
    let server = FoundServer {
        provider: "ollama",
        base_url: BaseUrl::new(&url),
        models: Vec::new(),
        needs_key: None,
    };
    silent(&format!(
        "{anthropic:?} {:?} {:?} {place:?} {server:?}",
        anthropic.clone().build().unwrap(),
        resolver.configured(),
    ));
    let options = ModelOptions {
        api_key: Some(ApiKey::new(KEY)),
        base_url: Some(BaseUrl::new(&url)),
        ..ModelOptions::default()
    };
    silent(&serde_json::to_string(&options).unwrap());
    let fields = serde_json::Map::from_iter([("token".to_owned(), OTHER.into())]);
    silent(&format!("{:?}", ModelOptions { fields, ..options }));
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
async fn keys_that_a_provider_echoes_are_redacted() {
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

/// What a server that does this is understood to say, by a model whose base URL has a password and a key.
async fn asked(acts: Vec<Act>, user: &str, query: &str) -> Vec<Delta> {
    let server = Server::start(acts).await;
    let base = server
        .base_url()
        .replace("http://", &format!("http://{user}"));
    let model = OpenAi::builder("m")
        .base_url(format!("{base}{query}"))
        .http(HttpConfig::new().secret_header("x-key", KEY))
        .build()
        .unwrap();
    model.stream(Request::default()).collect().await
}

#[tokio::test]
async fn passwords_and_keys_of_a_base_url_are_redacted() {
    // User and password, query, and what the server repeats of them.
    let table = [
        ("bob:hunter2@", "", "hunter2"),
        ("bob:hunter2@", "", "Basic Ym9iOmh1bnRlcjI="),
        ("bob:p%40ss%2Fword1@", "", "p@ss/word1"),
        ("bob:p%40ss%2Fword1@", "", "p%40ss%2Fword1"),
        ("bob:p%40ss%2fword1@", "", "p%40ss%2Fword1"),
        ("ghp_0123456789abcdef@", "", "ghp_0123456789abcdef"),
        ("", "?key=abc1234", "abc1234"),
        ("", "?v=1&id=0f9e8d7c6b", "0f9e8d7c6b"),
        ("", "?sig=a%2Bb%3D1234", "a+b=1234"),
        ("", "?sig=a%2Bb%3D1234", "a%2bb%3d1234"),
    ];
    for (user, query, echoed) in table {
        let text = format!("you sent {echoed} and that is wrong");
        let error = serde_json::json!({"error": {"message": text}}).to_string();
        for acts in [
            vec![answer("401 Unauthorized", &[], &error)],
            vec![answer("500 Oh", &[], &text)],
            vec![answer("200 OK", &[], &sse(&[&error]))],
            vec![answer("200 OK", &[], &sse(&[&text]))],
        ] {
            let deltas = asked(acts.clone(), user, query).await;
            let shown = format!("{deltas:?}");
            assert!(!shown.contains(echoed), "{acts:?}: {shown}");
            assert!(
                shown.contains("you sent") && shown.contains("***"),
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn no_part_of_a_key_is_left_where_a_message_is_cut() {
    // Messages are cut after 1,000 characters, frames that cannot be read after 200.
    let cuts = [200, 1000].map(|limit| limit - KEY.len() - 2..limit + 2);
    for before in cuts.into_iter().flatten() {
        let text = format!("{}{KEY}", ".".repeat(before));
        let error = serde_json::json!({"error": {"message": text}}).to_string();
        for acts in [
            vec![answer("401 Unauthorized", &[], &error)],
            vec![answer("500 Oh", &[], &text)],
            vec![answer("200 OK", &[], &sse(&[&error]))],
            vec![answer("200 OK", &[], &sse(&[&text]))],
            vec![answer("200 OK", &[], &format!("{{{text}"))],
        ] {
            let deltas = asked(acts, "", "").await;
            let shown = format!("{deltas:?}");
            assert!(!shown.contains("sk"), "{before}: {shown}");
        }
    }
}

#[tokio::test]
async fn replies_lose_keys_that_come_in_pieces() {
    let frame = |field: &str, text: &str| {
        serde_json::json!({"choices": [{"delta": {field: text}}]}).to_string()
    };
    let piece = |text: &str| {
        let call = serde_json::json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": text}});
        serde_json::json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let end = |reason: &str| {
        serde_json::json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()
    };
    let (stop, calls) = (end("stop"), end("tool_calls"));
    let text = format!("the sk-proj of {KEY}, s");
    let clean = "the sk-proj of ***, s";
    let json = format!("{{\"x\":\"{KEY}\"}}");
    for at in 0..=text.len() {
        let (one, two) = text.split_at(at);
        for (field, kind) in [("content", "text"), ("reasoning_content", "think")] {
            let frames = [
                frame(field, one),
                frame(field, two),
                stop.clone(),
                "[DONE]".to_owned(),
            ];
            let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
            let deltas = asked(vec![answer("200 OK", &[], &sse(&frames))], "", "").await;
            assert_eq!(
                show(&deltas),
                format!("start | {kind} {clean} | stop stop"),
                "{at}"
            );
        }
        let Some((one, two)) = json.split_at_checked(at) else {
            continue;
        };
        let frames = [piece(one), piece(two), calls.clone(), "[DONE]".to_owned()];
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let deltas = asked(vec![answer("200 OK", &[], &sse(&frames))], "", "").await;
        let expected = "start | call a f | args a {\"x\":\"***\"} | end a | stop tool_use";
        assert_eq!(show(&deltas), expected, "{at}");
    }
    // One byte at a time, and a text that begins like the key and is none.
    let text = format!("{KEY}{}{KEY}", &KEY[..20]);
    let mut frames: Vec<String> = text
        .chars()
        .map(|c| frame("content", &c.to_string()))
        .collect();
    frames.push(stop);
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let deltas = asked(vec![answer("200 OK", &[], &sse(&frames))], "", "").await;
    let expected = format!("start | text ***{}*** | stop stop", &KEY[..20]);
    assert_eq!(show(&deltas), expected);
}

#[tokio::test]
async fn words_that_serve_as_keys_stay_in_replies() {
    for word in ["ollama", "lm-studio", "not-needed", "EMPTY"] {
        let text = format!("I run on {word}.");
        let frame =
            serde_json::json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
        let server = Server::start(vec![answer("200 OK", &[], &sse(&[&frame.to_string()]))]).await;
        let model = OpenAi::builder("m")
            .base_url(server.base_url())
            .api_key(word);
        let deltas: Vec<_> = model
            .build()
            .unwrap()
            .stream(Request::default())
            .collect()
            .await;
        assert_eq!(show(&deltas), format!("start | text {text} | stop stop"));
    }
}
