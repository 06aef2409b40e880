//! What a server is: recorded answers, and servers that mean harm.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry_providers::model::ModelInfo;
use gadgetry_providers::server::recognise;
use gadgetry_providers::{ApiKey, BaseUrl, Http, HttpConfig, Resolver, ServerFacts};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::OPENAI;

/// Head and body of an answer; the head may have more headers after the status.
pub(super) type Answer = (&'static str, String);

/// A server with an answer for each `METHOD path` that it has.
pub(super) struct Server {
    pub(super) url: String,
    /// Heads of the requests, in lower case, and their bodies.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn start(routes: impl IntoIterator<Item = (String, Answer)>) -> Self {
        let routes: Arc<BTreeMap<String, Answer>> = Arc::new(routes.into_iter().collect());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (routes, seen) = (Arc::clone(&routes), Arc::clone(&seen));
                tokio::spawn(async move { serve(stream, &routes, &seen).await });
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    routes: &BTreeMap<String, Answer>,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(&mut stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.read_line(&mut head).await.ok()? > 0).then_some(())?;
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
    reader.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    seen.lock().unwrap().push(format!("{lower}{body}"));
    let line = head.split(" HTTP/").next()?;
    // `POST path {"model":"NAME"}` is for one model only.
    let exact = format!("{line} {body}");
    let missing = ("404 Not Found", r#"{"error":"not found"}"#.to_owned());
    let (head, body) = routes
        .get(exact.trim())
        .or_else(|| routes.get(line))
        .unwrap_or(&missing);
    if *head == "SILENT" {
        return std::future::pending().await;
    }
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await.ok()
}

pub(super) fn http() -> Http {
    Http::new(HttpConfig::new()).unwrap()
}

/// `kind version constraint; model window tools; …`
fn words(facts: &ServerFacts) -> String {
    let version = facts.version.as_deref().unwrap_or("-");
    let mut out = format!("{} {version} {:?}", facts.kind, facts.constraint);
    for model in &facts.models {
        let window = model
            .context_window
            .map_or_else(|| "?".to_owned(), |it| it.to_string());
        let tools = model.template_has_tools;
        write!(out, "; {} {window} {tools:?}", model.name).unwrap();
    }
    if facts.refuses_key {
        out += "; refuses the key";
    }
    out
}

#[track_caller]
fn same(facts: &ServerFacts, expected: &str, row: &str) {
    assert_eq!(words(facts), expected, "{row}");
}

/// What is recognised by answers with status 200, `GET path body` or `POST path {request} body`.
async fn check(row: &str, answers: &[(&str, &str)], expected: &str) {
    let routes = answers
        .iter()
        .map(|(route, body)| ((*route).to_owned(), ("200 OK", (*body).to_owned())));
    let server = Server::start(routes).await;
    let url = BaseUrl::new(server.url.clone());
    let facts = recognise(&http(), &url, None, None).await;
    same(&facts, expected, row);
}

pub(super) const LLAMA_CPP_MODELS: &str = r#"{"object":"list","data":[{"id":"smollm2","aliases":["smollm2","small"],"object":"model",
    "owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":49152,"n_ctx":16384,"n_ctx_train":8192}}]}"#;
pub(super) const VLLM_MODELS: &str = r#"{"object":"list","data":[{"id":"Qwen/Qwen2.5-7B-Instruct","object":"model","created":1764000000,
    "owned_by":"vllm","root":"Qwen/Qwen2.5-7B-Instruct","parent":null,"max_model_len":32768,"permission":[]}]}"#;
const SGLANG_MODELS: &str = r#"{"object":"list","data":[{"id":"meta-llama/Llama-3.1-8B-Instruct","object":"model",
    "created":1764000000,"owned_by":"sglang","root":"meta-llama/Llama-3.1-8B-Instruct","parent":null,"max_model_len":131072}]}"#;
const OLLAMA_MODELS: &str = r#"{"object":"list","data":[{"id":"qwen3:8b","object":"model","created":1,"owned_by":"library"},
    {"id":"gemma3:latest","object":"model","created":1,"owned_by":"library"}]}"#;
const OLLAMA_QWEN: &str = r#"{"license":"…","parameters":"stop \"<|im_end|>\"\ntemperature 0.6","template":"{{ .Tools }}",
    "details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"tokenizer.ggml.tokens":null},
    "capabilities":["completion","tools","thinking"]}"#;
const OLLAMA_GEMMA: &str = r#"{"parameters":"num_ctx                        8192\nstop \"x\"","model_info":{"gemma3.context_length":131072},
    "capabilities":["completion","vision"]}"#;
const LM_STUDIO: &str = r#"{"object":"list","data":[
    {"id":"qwen2-vl-7b-instruct","object":"model","type":"vlm","publisher":"mlx-community","arch":"qwen2_vl",
     "compatibility_type":"mlx","quantization":"4bit","state":"not-loaded","max_context_length":32768},
    {"id":"qwen3-8b","object":"model","type":"llm","arch":"qwen3","compatibility_type":"gguf","state":"loaded",
     "max_context_length":40960,"loaded_context_length":4096,"capabilities":["tool_use"]}]}"#;
const TGI: &str = r#"{"model_id":"bigcode/santacoder","model_sha":"d4f3a2","model_pipeline_tag":"text-generation",
    "max_concurrent_requests":128,"max_best_of":2,"max_stop_sequences":4,"max_input_tokens":1024,"max_total_tokens":2048,
    "validation_workers":2,"max_client_batch_size":32,"router":"text-generation-router","version":"3.3.6","sha":null}"#;

/// llama.cpp's answer, as recorded from b11549 with two slots, without the settings of sampling.
fn llama_cpp(caps: &str) -> String {
    format!(
        r#"{{"default_generation_settings":{{"params":{{"temperature":0.8}},"n_ctx":8192}},"total_slots":2,
        "model_alias":"smollm2","chat_template":"{{% if tools %}}x{{% endif %}}"{caps},"build_info":"b11549-abc"}}"#
    )
}

#[tokio::test]
async fn servers_by_their_answers() {
    let caps = r#","chat_template_caps":{"supports_tools":false,"supports_system_role":true}"#;
    let models = |body| ("GET /v1/models", body);
    check(
        "llama.cpp: the window of one slot",
        &[
            models(LLAMA_CPP_MODELS),
            ("GET /props", &llama_cpp(caps)),
            // Some imitate Ollama as well.
            ("GET /api/version", r#"{"version":"0.9"}"#),
        ],
        "llama.cpp b11549-abc LlamaCpp; smollm2 8192 Some(false)",
    )
    .await;
    check(
        "an older llama.cpp",
        &[models(LLAMA_CPP_MODELS), ("GET /props", &llama_cpp(""))],
        "llama.cpp b11549-abc LlamaCpp; smollm2 8192 Some(true)",
    )
    .await;
    check(
        "llama.cpp with several models",
        &[
            models(r#"{"data":[{"id":"a"},{"id":"b"}]}"#),
            ("GET /props", r#"{"role":"router","max_instances":4}"#),
        ],
        "llama.cpp - LlamaCpp; a ? None; b ? None",
    )
    .await;
    for (version, constraint) in [
        ("0.12.0", "Vllm"),
        ("0.11.1rc2.dev57+g1b2c3d", "Vllm"),
        ("1.0.0", "Vllm"),
        ("0.1.dev9+gabcdef", "Vllm"),
        ("0.10.2", "None"),
        ("0.8.5.post1", "None"),
    ] {
        check(
            version,
            &[
                models(VLLM_MODELS),
                ("GET /version", &format!(r#"{{"version":"{version}"}}"#)),
            ],
            &format!("vLLM {version} {constraint}; Qwen/Qwen2.5-7B-Instruct 32768 None"),
        )
        .await;
    }
    check(
        "vLLM whose version is hidden",
        &[models(VLLM_MODELS)],
        "vLLM - None; Qwen/Qwen2.5-7B-Instruct 32768 None",
    )
    .await;
    for (path, backend, length, constraint, window) in [
        ("/get_server_info", "xgrammar", "null", "Sglang", 131_072),
        ("/server_info", "llguidance", "8192", "Sglang", 8192),
        ("/server_info", "outlines", "null", "None", 131_072),
    ] {
        check(
            backend,
            &[
                models(SGLANG_MODELS),
                (
                    &format!("GET {path}"),
                    &format!(
                        r#"{{"model_path":"meta-llama/Llama-3.1-8B-Instruct","tp_size":1,"context_length":{length},
                        "grammar_backend":"{backend}","max_total_num_tokens":400000,"internal_states":[{{}}],"version":"0.5.5"}}"#
                    ),
                ),
            ],
            &format!("SGLang 0.5.5 {constraint}; meta-llama/Llama-3.1-8B-Instruct {window} None"),
        )
        .await;
    }
    check(
        "Ollama: the window in use, else what the model sets, else what it was trained with",
        &[
            models(OLLAMA_MODELS),
            ("GET /api/version", r#"{"version":"0.12.6"}"#),
            (r#"POST /api/show {"model":"qwen3:8b"}"#, OLLAMA_QWEN),
            (r#"POST /api/show {"model":"gemma3:latest"}"#, OLLAMA_GEMMA),
            ("GET /api/ps", r#"{"models":[]}"#),
        ],
        "Ollama 0.12.6 None; qwen3:8b 40960 Some(true); gemma3:latest 8192 Some(false)",
    )
    .await;
    check(
        "a loaded model",
        &[
            models(OLLAMA_MODELS),
            ("GET /api/version", r#"{"version":"0.12.6"}"#),
            ("POST /api/show", OLLAMA_QWEN),
            (
                "GET /api/ps",
                r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","context_length":4096}]}"#,
            ),
        ],
        "Ollama 0.12.6 None; qwen3:8b 4096 Some(true); gemma3:latest 40960 Some(true)",
    )
    .await;
    check(
        "LM Studio, which answers every path",
        &[
            models(
                r#"{"data":[{"id":"qwen2-vl-7b-instruct"},{"id":"qwen3-8b"},{"id":"text-embedding"}]}"#,
            ),
            ("GET /api/v0/models", LM_STUDIO),
            (
                "GET /props",
                r#"{"error":"Unexpected endpoint or method. (GET /props)"}"#,
            ),
            ("GET /version", r#"{"error":"Unexpected endpoint"}"#),
        ],
        "LM Studio - None; qwen2-vl-7b-instruct 32768 None; qwen3-8b 4096 Some(true); text-embedding ? None",
    )
    .await;
    check(
        "TGI",
        &[("GET /info", TGI)],
        "TGI 3.3.6 None; bigcode/santacoder 2048 None",
    )
    .await;
    check(
        "gateways with windows",
        &[models(
            r#"{"data":[{"id":"ours","context_window":4096},{"id":"other","context_length":8192}]}"#,
        )],
        "unknown - None; ours 4096 None; other 8192 None",
    )
    .await;
    for (row, body) in [
        (
            "a gateway",
            r#"{"data":[{"id":"m","owned_by":"gadgetry"}]}"#,
        ),
        (
            "no window",
            r#"{"data":[{"id":"m","max_model_len":0,"meta":null}]}"#,
        ),
        (
            "a window that is no number",
            r#"{"data":[{"id":"m","max_model_len":"9"}]}"#,
        ),
        (
            "a negative window",
            r#"{"data":[{"id":"m","max_model_len":-1}]}"#,
        ),
    ] {
        check(row, &[models(body)], "unknown - None; m ? None").await;
    }
    for body in [
        "",
        "[]",
        "null",
        "<html>",
        r#"{"data":7}"#,
        r#"{"data":[7,{}]}"#,
    ] {
        check(
            body,
            &[models(body), ("GET /props", body)],
            "unknown - None",
        )
        .await;
    }
}

/// What a hostile server says is no more than data, within limits.
#[tokio::test]
async fn hostile_answers() {
    let long = "9".repeat(1000);
    check(
        "a long version",
        &[
            ("GET /v1/models", VLLM_MODELS),
            ("GET /version", &format!(r#"{{"version":"{long}"}}"#)),
        ],
        &format!(
            "vLLM {} None; Qwen/Qwen2.5-7B-Instruct 32768 None",
            &long[..64]
        ),
    )
    .await;
    let flood = "[".repeat(5 << 20);
    check(
        "5 MB",
        &[("GET /v1/models", &flood), ("GET /props", &flood)],
        "unknown - None",
    )
    .await;
    let deep = "[".repeat(100_000);
    check("a deep list", &[("GET /props", &deep)], "unknown - None").await;
}

#[tokio::test]
async fn keys_stay_at_their_origin() {
    let elsewhere = Server::start([]).await;
    let target = elsewhere.url.trim_end_matches("/v1");
    let head: &'static str =
        Box::leak(format!("307 Temporary Redirect\r\nlocation: {target}/props").into_boxed_str());
    let redirects = ["GET /v1/models", "GET /props", "GET /version"];
    let routes = redirects.map(|route| (route.to_owned(), (head, String::new())));
    let server = Server::start(routes).await;
    let key = ApiKey::new("sk-0123456789");
    let url = BaseUrl::new(server.url.clone());
    let facts = recognise(&http(), &url, Some(&key), Some("m")).await;
    same(&facts, "unknown - None", "redirects");
    assert_eq!(elsewhere.asked(), Vec::<String>::new());
    let asked = server.asked();
    assert_eq!(asked.len(), 8, "{asked:#?}");
    for request in asked {
        assert!(
            request.contains("authorization: bearer sk-0123456789\r\n"),
            "{request}"
        );
    }
}

#[tokio::test]
async fn a_key_that_is_refused() {
    let refused = ("401 Unauthorized", r#"{"error":"no"}"#.to_owned());
    let server = Server::start([("GET /v1/models".to_owned(), refused)]).await;
    let url = BaseUrl::new(server.url.clone());
    let facts = recognise(&http(), &url, None, None).await;
    same(&facts, "unknown - None; refuses the key", "refused");
}

/// On the clock of the test, which waits for nothing.
#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_four_seconds_at_most() {
    let silent = ("SILENT", String::new());
    let version = ("200 OK", r#"{"version":"0.12.6"}"#.to_owned());
    let models = ("200 OK", OLLAMA_MODELS.to_owned());
    for (row, routes, expected) in [
        (
            "all of it",
            vec![
                ("GET /v1/models", silent.clone()),
                ("GET /props", silent.clone()),
            ],
            "unknown - None",
        ),
        (
            "the second round",
            vec![
                ("GET /v1/models", models),
                ("GET /api/version", version),
                ("POST /api/show", silent.clone()),
                ("GET /api/ps", silent.clone()),
            ],
            "Ollama 0.12.6 None; qwen3:8b ? None; gemma3:latest ? None",
        ),
    ] {
        let routes = routes.into_iter().map(|(path, it)| (path.to_owned(), it));
        let server = Server::start(routes).await;
        let began = tokio::time::Instant::now();
        let url = BaseUrl::new(server.url.clone());
        let facts = recognise(&http(), &url, None, None).await;
        assert!(began.elapsed() <= Duration::from_secs(4), "{row}");
        // The clock may be ahead of an answer that was sent, so that less is known.
        assert!(
            [expected, "unknown - None"].contains(&words(&facts).as_str()),
            "{row}: {facts:?}"
        );
    }
}

#[tokio::test]
async fn only_servers_of_the_user_are_asked() {
    let server = Server::start([
        (
            "GET /v1/models".to_owned(),
            ("200 OK", LLAMA_CPP_MODELS.to_owned()),
        ),
        ("GET /props".to_owned(), ("200 OK", llama_cpp(""))),
    ])
    .await;
    let here = [
        ("LLAMACPP_BASE_URL", server.url.clone()),
        ("OPENAI_BASE_URL", server.url.clone()),
        ("GROQ_BASE_URL", server.url.clone()),
    ];
    let resolver = Resolver::new(here);
    for name in ["llamacpp:small", "unheard-of", "groq:x"] {
        let facts = resolver.recognise(name).await;
        assert_eq!(facts.kind.name(), "llama.cpp", "{name}");
    }
    let facts = resolver.recognise("llamacpp:small").await;
    let model = facts.model("small").unwrap();
    assert_eq!(
        (model.name.as_str(), model.context_window),
        ("smollm2", Some(8192))
    );
    let count = server.asked().len();
    // Providers at their own addresses, and names that mean nothing.
    for name in ["mistral:x", "anthropic:x", "azure:x", "", "bedrock:x"] {
        let facts = resolver.recognise(name).await;
        assert_eq!(facts, ServerFacts::default(), "{name}");
    }
    // Also where the address is written out.
    let official = resolver.clone().base_url("https://API.openai.com/v1/");
    assert!(!official.is_of_user("whatever"));
    assert_eq!(server.asked().len(), count);
}

/// The server's word counts more than the catalogue's, and the user's most.
#[tokio::test]
async fn the_window_of_a_model() {
    let server = Server::start([
        (
            "GET /v1/models".to_owned(),
            ("200 OK", LLAMA_CPP_MODELS.to_owned()),
        ),
        ("GET /props".to_owned(), ("200 OK", llama_cpp(""))),
    ])
    .await;
    let silent = Server::start([]).await;
    let own = |window| {
        move |it: Resolver| it.info(move |_| Some(ModelInfo::default().context_window(window)))
    };
    let as_is: Box<dyn Fn(Resolver) -> Resolver> = Box::new(|it| it);
    for (row, url, set, name, window) in [
        ("read", &server.url, as_is, "llamacpp:small", Some(8192)),
        ("user's", &server.url, Box::new(own(Some(9))), "x", Some(9)),
        (
            "user's, unknown",
            &server.url,
            Box::new(own(None)),
            "x",
            Some(8192),
        ),
        (
            "catalogue",
            &server.url,
            Box::new(|it| it),
            "openai:gpt-4o",
            Some(8192),
        ),
        ("nothing", &silent.url, Box::new(|it| it), "x", None),
        (
            "catalogue alone",
            &silent.url,
            Box::new(|it| it),
            "openai:gpt-4o",
            Some(128_000),
        ),
    ] {
        let resolver = Resolver::new([OPENAI]).base_url(url.clone());
        let model = set(resolver).connect(name).await.unwrap();
        assert_eq!(model.info().context_window, window, "{row}");
    }
}
