//! What servers are sent, and which servers on this machine answer.

use gadgetry_providers::Resolver;
use gadgetry_providers::resolve::FoundServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{ANTHROPIC, OPENAI};

/// A server that gives one answer to one request, and then the request line that it got and its key.
async fn server(status: &str, body: &str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 65_536];
        let mut length = 0;
        while !request[..length].windows(4).any(|it| it == b"\r\n\r\n") {
            length += stream.read(&mut request[length..]).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).to_ascii_lowercase()
    });
    (address, task)
}

#[tokio::test]
async fn servers_of_this_machine_and_the_environment_are_found() {
    let (ollama, asked) = server(
        "200 OK",
        r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#,
    )
    .await;
    let (empty, _) = server("200 OK", r#"{"object":"list","data":null}"#).await;
    let (other, _) = server("200 OK", "<html>").await;
    let (refuses, _) = server("404 Not Found", "{}").await;
    let (locked, _) = server("401 Unauthorized", "{}").await;
    let (own, of_openai) = server("200 OK", r#"{"data":[{"id":"d"}]}"#).await;
    let (keyed, with_key) = server("200 OK", r#"{"data":[{"id":"c"}]}"#).await;
    let dead = "http://127.0.0.1:1/v1";
    let host = ollama
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned();
    let resolver = Resolver::new([
        ("OPENAI_BASE_URL", own.clone()),
        ("OPENAI_API_KEY", "sk-openai-0123456789".to_owned()),
        // Without an address of its own nothing is asked.
        ("GROQ_API_KEY", "gsk-0123456789".to_owned()),
        ("OLLAMA_HOST", host),
        ("LMSTUDIO_BASE_URL", empty.clone()),
        ("LLAMACPP_BASE_URL", other),
        ("VLLM_BASE_URL", refuses),
        ("SGLANG_BASE_URL", locked.clone()),
        ("TGI_BASE_URL", keyed.clone()),
        ("TGI_API_KEY", "tgi-0123456789".to_owned()),
        ("JAN_BASE_URL", dead.to_owned()),
        ("LLAMAFILE_BASE_URL", dead.to_owned()),
        ("LITELLM_BASE_URL", dead.to_owned()),
    ]);
    let found = |provider, base_url: String, models: &[&str]| FoundServer {
        provider,
        base_url: base_url.into(),
        needs_key: None,
        models: models.iter().map(ToString::to_string).collect(),
    };
    let expected = [
        found("openai", own, &["d"]),
        found("ollama", ollama, &["a", "b"]),
        found("lmstudio", empty, &[]),
        FoundServer {
            needs_key: Some("SGLANG_API_KEY"),
            ..found("sglang", locked, &[])
        },
        found("tgi", keyed, &["c"]),
    ];
    assert_eq!(resolver.find_servers().await, expected);
    assert!(asked.await.unwrap().starts_with("get /v1/models "));
    for (sent, key) in [
        (with_key, "bearer tgi-0123456789"),
        (of_openai, "bearer sk-openai-0123456789"),
    ] {
        let sent = sent.await.unwrap();
        assert!(sent.contains(&format!("authorization: {key}")), "{sent}");
    }
}

#[tokio::test]
async fn keys_go_to_their_providers_alone() {
    use futures_util::StreamExt as _;
    let cases = [
        ("openai:x", "authorization: bearer sk-openai-0123456789"),
        ("anthropic:x", "x-api-key: sk-ant-0123456789"),
        // Nobody has said whose server it is.
        ("x", ""),
    ];
    for (name, expected) in cases {
        let (address, asked) = server("200 OK", "{}").await;
        let model = Resolver::new([OPENAI, ANTHROPIC])
            .base_url(address)
            .resolve(name)
            .unwrap();
        let deltas: Vec<_> = model
            .stream(gadgetry_proto::message::Request::default())
            .collect()
            .await;
        assert_eq!(deltas.len(), 1, "{deltas:?}");
        let asked = asked.await.unwrap();
        assert!(asked.contains(expected), "{name}: {asked}");
        assert_eq!(
            asked.matches("0123456789").count(),
            usize::from(!expected.is_empty()),
            "{name}: {asked}"
        );
    }
}

/// Head and body of the request for a model with these settings, in lower case; the error if none is sent.
async fn sent(set: impl FnOnce(Resolver) -> Resolver, name: &str, tools: bool) -> String {
    use futures_util::StreamExt as _;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = String::new();
        while !request.ends_with('}') {
            let mut piece = vec![0; 65_536];
            let length = stream.read(&mut piece).await.unwrap();
            request.push_str(std::str::from_utf8(&piece[..length]).unwrap());
        }
        request.to_ascii_lowercase()
    });
    let resolver = Resolver::new([OPENAI, ("GATEWAY_KEY", "gate-0123456789")]).max_tokens(9);
    let mut model = match set(resolver.base_url(address)).resolve(name) {
        Ok(model) => model,
        Err(error) => return error.to_string(),
    };
    if tools {
        let gadget = gadgetry_proto::schema::GadgetSpec {
            name: "Bell".to_owned(),
            ..Default::default()
        };
        model = model.with_tools(&[gadget]).unwrap();
    }
    let reply = model.stream(gadgetry_proto::message::Request::default());
    let deltas = tokio::spawn(reply.collect::<Vec<_>>());
    tokio::select! {
        request = task => request.unwrap(),
        deltas = deltas => format!("{:?}", deltas.unwrap()),
    }
}

#[tokio::test]
async fn what_each_server_is_sent() {
    type Set = fn(Resolver) -> Resolver;
    // Settings, name, with tools; what the request has, and what it has not.
    type Row = (
        Set,
        &'static str,
        bool,
        &'static [&'static str],
        &'static str,
    );
    let as_is: Set = |it| it;
    let high: Set = |it| it.reasoning_effort("high");
    let off: Set = |it| it.reasoning_effort("none");
    let cases: &[Row] = &[
        // Gateways pass the names of OpenAI's models on, with OpenAI's rules.
        (
            as_is,
            "gpt-4o",
            false,
            &["\"max_tokens\":9", "stream_options"],
            "authorization",
        ),
        (
            as_is,
            "o3",
            false,
            &["\"max_completion_tokens\":9"],
            "authorization",
        ),
        (
            as_is,
            "openai/gpt-5-mini",
            false,
            &["\"max_completion_tokens\":9"],
            "reasoning",
        ),
        (
            as_is,
            "gpt-oss-20b",
            false,
            &["\"max_tokens\":9"],
            "reasoning",
        ),
        (as_is, "o3000", false, &["\"max_tokens\":9"], "reasoning"),
        (
            as_is,
            "openai:gpt-5.6",
            false,
            &["bearer sk-openai-0123456789"],
            "reasoning",
        ),
        (
            as_is,
            "openai:gpt-5.6",
            true,
            &["\"reasoning_effort\":\"none\""],
            "nothing",
        ),
        (
            as_is,
            "openai:gpt-5.4-mini",
            true,
            &["\"reasoning_effort\":\"none\""],
            "nothing",
        ),
        (
            off,
            "gpt-6-luna",
            true,
            &["\"reasoning_effort\":\"none\""],
            "nothing",
        ),
        (as_is, "gpt-5", true, &["\"tools\""], "reasoning"),
        (
            as_is,
            "gpt-5.6-chat-latest",
            true,
            &["\"tools\""],
            "reasoning",
        ),
        (as_is, "gpt-4o", true, &["\"tools\""], "reasoning"),
        (
            high,
            "gpt-5.6",
            true,
            &[
                "only without reasoning: leave the reasoning effort",
                "BadRequest",
            ],
            "post",
        ),
        (
            high,
            "gpt-5.6",
            false,
            &["\"reasoning_effort\":\"high\""],
            "nothing",
        ),
        // Each server its own fields.
        (
            high,
            "openrouter:a/b",
            false,
            &["\"reasoning\":{\"effort\":\"high\"}"],
            "reasoning_effort",
        ),
        (
            high,
            "deepseek:x",
            false,
            &[
                "\"thinking\":{\"type\":\"enabled\"}",
                "\"reasoning_effort\":\"high\"",
            ],
            "nothing",
        ),
        (
            off,
            "deepseek:x",
            false,
            &["\"thinking\":{\"type\":\"disabled\"}"],
            "reasoning_effort",
        ),
        (
            off,
            "zai:x",
            false,
            &["\"thinking\":{\"type\":\"disabled\"}"],
            "reasoning_effort",
        ),
        (
            as_is,
            "mistral:x",
            false,
            &["\"max_tokens\":9"],
            "stream_options",
        ),
        (
            as_is,
            "cohere:x",
            false,
            &["\"max_tokens\":9"],
            "stream_options",
        ),
        (
            as_is,
            "cerebras:x",
            false,
            &["\"max_completion_tokens\":9"],
            "nothing",
        ),
        (
            |it| it.api_key("azure-0123456789"),
            "azure:mine",
            false,
            &[
                "post /openai/v1/chat/completions ",
                "api-key: azure-0123456789",
                "\"max_completion_tokens\":9",
            ],
            "authorization",
        ),
        // The user's key and fields.
        (
            |it| it.api_key_from("GATEWAY_KEY"),
            "x",
            false,
            &["authorization: bearer gate-0123456789"],
            "sk-openai",
        ),
        (
            |it| it.api_key_from("GATEWAY_KEY"),
            "anthropic:x",
            false,
            &["x-api-key: gate-0123456789"],
            "sk-openai",
        ),
        (
            |it| it.api_key_from("NOWHERE"),
            "x",
            false,
            &["no key: the environment variable NOWHERE is not set"],
            "post",
        ),
        (
            |it| {
                it.option("top_p", 0.5)
                    .option("stream_options", serde_json::Value::Null)
            },
            "x",
            false,
            &["\"top_p\":0.5"],
            "stream_options",
        ),
        (
            |it| it.option("top_k", 5),
            "anthropic:x",
            false,
            &["\"top_k\":5"],
            "nothing",
        ),
    ];
    for (set, name, tools, has, has_not) in cases {
        let request = sent(set, name, *tools).await;
        for part in *has {
            assert!(request.contains(part), "{name} has no {part}: {request}");
        }
        assert!(
            !request.contains(has_not),
            "{name} has {has_not}: {request}"
        );
    }
}
