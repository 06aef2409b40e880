//! Models by their names.

#![cfg(feature = "providers")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use gadgetry::ModelInfo;
use gadgetry::provider::Resolver;
use gadgetry::provider::resolve::{LocalServer, ResolveError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-openai-0123456789");
const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-0123456789");

/// `provider model address` of a name, or the error.
fn place(resolver: &Resolver, name: &str) -> String {
    match resolver.locate(name) {
        Ok(place) => format!(
            "{} {} {}",
            place.provider.unwrap_or("-"),
            place.model,
            place.base_url
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn names() {
    let resolver = Resolver::new([OPENAI]);
    let cases = [
        ("openai:gpt-4o", "openai gpt-4o https://api.openai.com/v1"),
        (
            " OpenAI : gpt-4o ",
            "openai gpt-4o https://api.openai.com/v1",
        ),
        ("gpt-4o", "openai gpt-4o https://api.openai.com/v1"),
        ("o3", "openai o3 https://api.openai.com/v1"),
        ("o4-mini", "openai o4-mini https://api.openai.com/v1"),
        (
            "claude-opus-4-8",
            "anthropic claude-opus-4-8 https://api.anthropic.com",
        ),
        (
            "HAIKU",
            "anthropic claude-haiku-5-5 https://api.anthropic.com",
        ),
        (
            "or:llama",
            "openrouter meta-llama/llama-3.3-70b-instruct https://openrouter.ai/api/v1",
        ),
        (
            "openrouter:a/b:free",
            "openrouter a/b:free https://openrouter.ai/api/v1",
        ),
        (
            "groq:llama-3.3-70b",
            "groq llama-3.3-70b https://api.groq.com/openai/v1",
        ),
        (
            "ollama:llama3:8b",
            "ollama llama3:8b http://127.0.0.1:11434/v1",
        ),
        ("lmstudio:x", "lmstudio x http://127.0.0.1:1234/v1"),
        ("llamacpp:x", "llamacpp x http://127.0.0.1:8080/v1"),
        ("vllm:x", "vllm x http://127.0.0.1:8000/v1"),
    ];
    for (name, expected) in cases {
        assert_eq!(place(&resolver, name), expected, "{name}");
    }
}

#[test]
fn every_shortcut_leads_to_a_provider() {
    for (short, full) in Resolver::shortcuts() {
        let (provider, model) = full.split_once(':').unwrap();
        let place = Resolver::new([OPENAI]).locate(short).unwrap();
        assert_eq!(
            (place.provider, place.model.as_str()),
            (Some(provider), model)
        );
        assert!(Resolver::providers().any(|it| it == provider), "{full}");
    }
}

#[test]
fn names_that_lead_nowhere() {
    let resolver = Resolver::new([ANTHROPIC]);
    let configured = "Configured: anthropic (ANTHROPIC_API_KEY). On this machine: ollama, lmstudio, llamacpp, vllm";
    for name in ["llama3", "gpt-oss-20b", "o30", "mine:x", "llama3:8b"] {
        let error = resolver.resolve(name).err().unwrap();
        assert!(matches!(error, ResolveError::Unknown { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "no provider is known for the model {name:?}; write it as provider:model, or give a base URL. \
                 {configured}"
            )
        );
    }
    for name in ["", " ", "openai:"] {
        assert_eq!(
            resolver.resolve(name).err(),
            Some(ResolveError::NoName),
            "{name:?}"
        );
    }
    let nothing = Resolver::new([("OPENAI_API_KEY", " ")]);
    let error = nothing.resolve("gemini:x").err().unwrap().to_string();
    assert!(
        error.starts_with(
            "no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY. Configured: nothing."
        ),
        "{error}"
    );
    let error = resolver
        .clone()
        .base_url("nowhere")
        .resolve("x")
        .err()
        .unwrap();
    assert!(matches!(error, ResolveError::Settings(_)), "{error}");
    let error = resolver
        .reasoning_effort("hard")
        .resolve("haiku")
        .err()
        .unwrap();
    assert!(error.to_string().contains("reasoning effort"), "{error}");
}

#[test]
fn addresses_of_the_environment() {
    let cases = [
        (
            "OPENAI_BASE_URL",
            "http://h/v1",
            "gpt-4o",
            "openai gpt-4o http://h/v1",
        ),
        // Whatever has no provider is a model there.
        (
            "OPENAI_BASE_URL",
            "http://h/v1",
            "mine",
            "openai mine http://h/v1",
        ),
        (
            "ANTHROPIC_BASE_URL",
            "http://h",
            "claude-x",
            "anthropic claude-x http://h",
        ),
        (
            "OLLAMA_HOST",
            "0.0.0.0",
            "ollama:x",
            "ollama x http://127.0.0.1:11434/v1",
        ),
        (
            "OLLAMA_HOST",
            "box:9999",
            "ollama:x",
            "ollama x http://box:9999/v1",
        ),
        (
            "OLLAMA_HOST",
            "https://h/o/",
            "ollama:x",
            "ollama x https://h/o/v1",
        ),
        (
            "VLLM_BASE_URL",
            "http://h/v1",
            "vllm:x",
            "vllm x http://h/v1",
        ),
    ];
    for (variable, value, name, expected) in cases {
        let resolver = Resolver::new([(variable, value)]);
        assert_eq!(place(&resolver, name), expected, "{variable}={value}");
        // A server of one's own may want no key.
        assert!(resolver.resolve(name).is_ok(), "{variable}={value}");
    }
}

#[test]
fn an_address_that_is_given_comes_first() {
    let resolver =
        Resolver::new([OPENAI, ("OPENAI_BASE_URL", "http://other/v1")]).base_url("http://h/v1");
    assert_eq!(place(&resolver, "gpt-oss-20b"), "- gpt-oss-20b http://h/v1");
    assert_eq!(place(&resolver, "llama3:8b"), "- llama3:8b http://h/v1");
    assert_eq!(place(&resolver, "openai:x"), "openai x http://h/v1");
    assert_eq!(place(&resolver, "anthropic:x"), "anthropic x http://h/v1");
    assert_eq!(resolver.resolve("llama3:8b").unwrap().name(), "llama3:8b");
}

#[test]
fn what_is_known_of_a_model() {
    let known = |name: &str| {
        let context_window = (name == "openai:gpt-4o").then_some(128_000);
        context_window.map(|_| ModelInfo {
            context_window,
            ..ModelInfo::default()
        })
    };
    let resolver = Resolver::new([OPENAI, ANTHROPIC]).info(known);
    assert_eq!(
        resolver.resolve("gpt-4o").unwrap().info().context_window,
        Some(128_000)
    );
    assert_eq!(
        resolver.resolve("gpt-4").unwrap().info(),
        ModelInfo::default()
    );
    // Anthropic's models see, whoever knows them.
    assert!(resolver.resolve("haiku").unwrap().info().reads_images);
    assert!(resolver.resolve("ollama:x").unwrap().info().is_local);
    let elsewhere = Resolver::new([("OLLAMA_HOST", "box")]);
    assert!(!elsewhere.resolve("ollama:x").unwrap().info().is_local);
    assert!(
        !resolver
            .base_url("http://127.0.0.1/v1")
            .resolve("openai:x")
            .unwrap()
            .info()
            .is_local
    );
}

#[test]
fn no_key_is_shown() {
    let resolver = Resolver::new([OPENAI, ANTHROPIC]).api_key("sk-given-0123456789");
    let configured = format!("{:?}", resolver.configured());
    assert!(configured.contains("OPENAI_API_KEY"), "{configured}");
    let error = resolver.resolve("nobody").err().unwrap();
    for shown in [
        format!("{resolver:?}"),
        configured,
        format!("{error:?} {error}"),
    ] {
        assert!(!shown.contains("0123456789"), "{shown}");
    }
}

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
async fn servers_on_this_machine_are_found() {
    let (ollama, asked) = server(
        "200 OK",
        r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#,
    )
    .await;
    let (empty, _) = server("200 OK", r#"{"object":"list","data":null}"#).await;
    let (other, _) = server("200 OK", "<html>").await;
    let (refuses, _) = server("404 Not Found", "{}").await;
    let host = ollama
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned();
    let resolver = Resolver::new([
        ("OLLAMA_HOST", host),
        ("LMSTUDIO_BASE_URL", empty.clone()),
        ("LLAMACPP_BASE_URL", other),
        ("VLLM_BASE_URL", refuses),
    ]);
    let found = |provider, base_url, models: &[&str]| LocalServer {
        provider,
        base_url,
        models: models.iter().map(ToString::to_string).collect(),
    };
    let expected = [
        found("ollama", ollama, &["a", "b"]),
        found("lmstudio", empty, &[]),
    ];
    assert_eq!(resolver.local_servers().await, expected);
    assert!(asked.await.unwrap().starts_with("get /v1/models "));
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
            .stream(gadgetry::proto::message::Request::default())
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
