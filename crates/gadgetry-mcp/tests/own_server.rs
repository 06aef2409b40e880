//! Our server with our client, over both transports and in both revisions.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::agent::{AgentRun, single_call};
use gadgetry::control::RunContext;
use gadgetry::{CancellationToken, Event, EventKind, Hook, MediaKind, Skills, TraceContext};
use gadgetry_mcp::config::Transport;
use gadgetry_mcp::{GadgetServer, HttpOptions, Protocol, ServeError, ServerConfig, Servers};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::support::{LONG, Run, call, call_in, connect, ended, gadget, names, program, toolbox};

/// A server over HTTP in this process.
pub(crate) struct Serving {
    pub(crate) url: String,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Serving {
    pub(crate) async fn start(options: HttpOptions, skills: Skills) -> Self {
        Self::of(toolbox::server().skills(skills), options).await
    }

    async fn of(server: GadgetServer, options: HttpOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        Self {
            url: format!("http://{address}/mcp"),
            task: tokio::spawn(server.serve_http(listener, options, stopped)),
            stop,
        }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(LONG, self.task).await;
        ended.unwrap().unwrap().unwrap();
    }
}

const REVISIONS: [Protocol; 2] = [Protocol::V2025_11_25, Protocol::V2026_07_28];

/// What a client sees, whatever the transport.
async fn check(config: &ServerConfig) {
    for protocol in REVISIONS {
        let config = config.clone().protocol(protocol);
        let servers = connect(&[("own", config)]).await;
        let spoken = serde_json::to_value(protocol).unwrap();
        assert_eq!(servers.protocol("own").await.as_deref(), spoken.as_str());
        check_calls(&servers).await;
        check_approval(&servers).await;
        check_cancellation(&servers).await;
        servers.close().await;
    }
}

async fn check_calls(servers: &Servers) {
    let all = [
        "Add", "Fail", "Panics", "Slow", "Wait", "Steps", "Picture", "Much", "Write", "Clock",
    ];
    assert_eq!(names(servers, &[]), all);
    let rows = [
        ("Add", json!({ "a": 2, "b": 3 }), Ok("5")),
        ("Fail", json!({}), Err("as documented")),
        ("Panics", json!({}), Err("on purpose")),
        ("Slow", json!({}), Err("exceeded timeout of 50ms")),
        ("Clock", json!({}), Ok("noon")),
        ("Much", json!({ "bytes": 1_000 }), Ok("xxx")),
        (
            "Much",
            json!({ "bytes": 1_001 }),
            Ok("Only the first 1000 are here"),
        ),
    ];
    for (name, parameters, expected) in rows {
        let found = call(servers, name, parameters).await;
        let text = match (&found, expected) {
            (Ok(text), Ok(part)) | (Err(text), Err(part)) => text.contains(part),
            _ => false,
        };
        assert!(text, "{name}: {found:?}");
    }
    let run = Arc::new(Run::default());
    let token = CancellationToken::new;
    let steps = gadget(servers, "Steps");
    let done = call_in(&run, &steps, json!({ "count": 3 }), token()).await;
    assert_eq!(done.result.as_deref(), Ok("done"));
    let progress = ["step 1 (1)", "step 2 (2)", "step 3 (3)"];
    assert_eq!(*run.progress.lock().unwrap(), progress);
    let picture = gadget(servers, "Picture");
    let picture = call_in(&run, &picture, json!({}), token()).await;
    assert_eq!(picture.result.as_deref(), Ok("a dot"));
    assert_eq!(picture.media[0].kind, MediaKind::Image);
}

async fn check_approval(servers: &Servers) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    for (answers, expected) in [
        (&["yes"][..], Ok("written")),
        (&["no"], Err("Denied by the user")),
        (&["/decline"], Err("Denied by the user")),
        (
            &["/cancel"],
            Err("Denied: Write needs approval, but the client's user gave no answer"),
        ),
        (
            &[],
            Err("Denied: Write needs approval, but the client's user gave no answer"),
        ),
    ] {
        let run = Arc::new(Run::with_answers(answers));
        let write = gadget(servers, "Write");
        let parameters = json!({ "file": file });
        let outcome = call_in(&run, &write, parameters, CancellationToken::new()).await;
        match expected {
            Ok(text) => assert_eq!(outcome.result.as_deref(), Ok(text)),
            Err(part) => assert!(outcome.result.unwrap_err().contains(part), "{answers:?}"),
        }
        assert_eq!(file.exists(), expected.is_ok());
        let questions = run.questions.lock().unwrap();
        assert!(
            questions[0].contains("May the gadget Write run?"),
            "{questions:?}"
        );
        std::fs::remove_file(&file).ok();
    }
}

async fn check_cancellation(servers: &Servers) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let run = Arc::new(Run::default());
    let token = CancellationToken::new();
    let wait = gadget(servers, "Wait");
    let calling = call_in(&run, &wait, json!({ "file": file }), token.clone());
    let cancelling = async {
        while run.progress.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    assert_eq!(outcome.result, Err("cancelled".to_owned()));
    written(&file).await;
}

async fn written(file: &Path) {
    let written = async {
        while !file.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, written)
        .await
        .expect("the gadget was cancelled");
}

#[tokio::test]
async fn over_stdio() {
    check(&ServerConfig::stdio(program(), [""; 0])).await;
}

#[tokio::test]
async fn over_http() {
    let serving = Serving::start(HttpOptions::default(), Skills::new()).await;
    check(&ServerConfig::http(&serving.url)).await;
    serving.end().await;
}

/// Notes the trace of each run.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Option<TraceContext>>>>);

impl Hook for Noted {
    fn event(&self, run: &RunContext, event: &Event) {
        if matches!(event.kind, EventKind::GadgetStart { .. }) {
            let trace = run.get::<TraceContext>().ok().cloned();
            self.0.lock().unwrap().push(trace);
        }
    }
}

#[tokio::test]
async fn a_call_is_part_of_the_trace_of_its_run() {
    let noted = Noted::default();
    let serving = Serving::of(
        toolbox::server().hook(noted.clone()),
        HttpOptions::default(),
    )
    .await;
    let trace: TraceContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        .parse()
        .unwrap();
    let mut expected = Vec::new();
    for protocol in REVISIONS {
        let config = ServerConfig::http(&serving.url).protocol(protocol);
        let servers = connect(&[("own", config)]).await;
        for trace in [Some(trace.clone().state("a=1")), None] {
            let agent = single_call(gadget(&servers, "Clock"), "{}", 1).unwrap();
            let run = agent.without_approvals().ask("").unwrap();
            let run = trace.clone().into_iter().fold(run, AgentRun::with);
            let _ended = run.await;
            expected.push(trace);
        }
        servers.close().await;
    }
    assert_eq!(*noted.0.lock().unwrap(), expected);
    serving.end().await;
}

#[tokio::test]
async fn a_client_that_leaves_and_a_server_that_stops_cancel_calls() {
    for leaves in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        let serving = Serving::start(HttpOptions::default(), Skills::new()).await;
        let servers = connect(&[("own", ServerConfig::http(&serving.url))]).await;
        let run = Arc::new(Run::default());
        let wait = gadget(&servers, "Wait");
        let parameters = json!({ "file": file });
        let calling = call_in(&run, &wait, parameters, CancellationToken::new());
        let started = async {
            while run.progress.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        if leaves {
            tokio::select! {
                _ = calling => panic!("it runs until it is cancelled"),
                () = started => {}
            }
            written(&file).await;
            serving.end().await;
        } else {
            let stopping = async {
                started.await;
                serving.end().await;
            };
            let (outcome, ()) = tokio::join!(calling, stopping);
            assert!(outcome.result.is_err(), "{outcome:?}");
            written(&file).await;
        }
        servers.close().await;
    }
}

#[tokio::test]
async fn the_process_ends_with_its_client() {
    let servers = connect(&[("own", ServerConfig::stdio(program(), [""; 0]))]).await;
    let children = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let is_ours = command.starts_with(program().as_bytes());
        is_ours.then(|| entry.file_name().into_string().unwrap())
    });
    let children: Vec<String> = children.collect();
    assert!(!children.is_empty());
    servers.close().await;
    // Those of other tests end as well, once they are closed.
    for child in children {
        ended(&child).await;
    }
}

/// What the server answers to a plain request.
async fn status(url: &str, headers: &[(&str, &str)], body: String) -> u16 {
    let (tls, _) = gadgetry_providers::tls::config();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let mut request = client.build().unwrap().post(url).body(body);
    request = request.header("content-type", "application/json");
    request = request.header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

/// URL, headers, body, status.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16);

fn initialize() -> Value {
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[tokio::test]
async fn requests_that_are_admitted() {
    let mut options = HttpOptions::default();
    options.body_bytes = 10_000;
    let open = Serving::start(options.clone(), Skills::new()).await;
    options.keys = vec!["0123456789abcdef".to_owned(), "fedcba9876543210".to_owned()];
    let keyed = Serving::start(options, Skills::new()).await;
    let host = |url: &str| {
        url.trim_start_matches("http://")
            .trim_end_matches("/mcp")
            .to_owned()
    };
    let own_origin = format!("http://{}", host(&open.url));
    let body = initialize().to_string();
    let rows: [Row<'_>; 16] = [
        (&open.url, &[], &body, 200),
        (&open.url, &[("host", "localhost")], &body, 200),
        (&open.url, &[("host", "[::1]:80")], &body, 200),
        (&open.url, &[("host", "evil.example")], &body, 403),
        (&open.url, &[("host", "[::1].evil.example")], &body, 403),
        (
            &open.url,
            &[("host", "localhost:80@evil.example")],
            &body,
            403,
        ),
        (&open.url, &[("origin", "https://evil.example")], &body, 403),
        (&open.url, &[("origin", &own_origin)], &body, 403),
        (&open.url, &[("origin", "null")], &body, 403),
        (&open.url, &[], "{", 415),
        (&keyed.url, &[], &body, 401),
        (
            &keyed.url,
            &[("authorization", "Bearer 0123456789abcdeX")],
            &body,
            401,
        ),
        (
            &keyed.url,
            &[("authorization", "Basic 0123456789abcdef")],
            &body,
            401,
        ),
        (
            &keyed.url,
            &[("authorization", "Bearer 0123456789abcdef")],
            &body,
            200,
        ),
        (
            &keyed.url,
            &[("authorization", "bearer fedcba9876543210")],
            &body,
            200,
        ),
        (
            &keyed.url,
            &[
                ("authorization", "Bearer fedcba9876543210"),
                ("origin", "https://evil.example"),
            ],
            &body,
            403,
        ),
    ];
    for (url, headers, body, expected) in rows {
        let found = status(url, headers, body.to_owned()).await;
        assert_eq!(found, expected, "{headers:?} {body}");
    }
    let large = format!("{}{}", initialize(), " ".repeat(20_000));
    assert_eq!(status(&open.url, &[], large).await, 413);

    // Our client, with and without the key.
    let servers = Servers::connect([("own".to_owned(), ServerConfig::http(&keyed.url))]).await;
    let failure = servers.failures()[0].to_string();
    assert!(failure.contains("it requires authorization"), "{failure}");
    let mut config = ServerConfig::http(&keyed.url);
    if let Transport::Http(http) = &mut config.transport {
        let key = "Bearer ${NO_SUCH_KEY:-0123456789abcdef}".to_owned();
        http.headers.insert("Authorization".to_owned(), key);
    }
    let servers = connect(&[("own", config)]).await;
    assert_eq!(
        call(&servers, "Clock", json!({})).await.as_deref(),
        Ok("noon")
    );
    servers.close().await;
    open.end().await;
    keyed.end().await;
}

/// A client of the server, by its key.
pub(crate) struct Client<'a> {
    pub(crate) url: &'a str,
    pub(crate) key: &'a str,
}

impl Client<'_> {
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response {
        let (tls, _) = gadgetry_providers::tls::config();
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
        let mut request = client.build().unwrap().request(method, self.url).body(body);
        for (name, value) in [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ] {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.bearer_auth(self.key).send().await.unwrap()
    }

    /// The status of a request that opens a session, and the session.
    pub(crate) async fn open(&self) -> (u16, String) {
        let answer = self.send(Method::POST, &[], initialize().to_string()).await;
        let status = answer.status().as_u16();
        let session = answer.headers().get("mcp-session-id").cloned();
        let session = session.map_or_else(String::new, |it| it.to_str().unwrap().to_owned());
        answer.text().await.unwrap();
        (status, session)
    }

    /// The status of a request within a session.
    pub(crate) async fn uses(&self, session: &str) -> u16 {
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        let headers = [("mcp-session-id", session)];
        let answer = self.send(Method::POST, &headers, body).await;
        let status = answer.status().as_u16();
        answer.text().await.unwrap();
        status
    }

    /// The answer to a request of the revision without sessions.
    async fn call(&self, name: &str, mut params: Value) -> String {
        params["name"] = json!(name);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = self.send(Method::POST, &headers, body.to_string()).await;
        answer.text().await.unwrap()
    }
}

pub(crate) const KEYS: [&str; 2] = ["0123456789abcdef", "fedcba9876543210"];

/// One client took all sessions, and all others were refused.
#[tokio::test]
async fn each_client_has_its_own_sessions() {
    let mut options = HttpOptions::default();
    options.sessions = 2;
    options.keys = KEYS.map(str::to_owned).to_vec();
    let serving = Serving::start(options, Skills::new()).await;
    let url = &serving.url;
    let [one, other] = KEYS.map(|key| Client { url, key });
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let (status, session) = one.open().await;
        assert_eq!(status, 200);
        sessions.push(session);
    }
    assert_eq!(one.uses(&sessions[0]).await, 404, "the oldest has ended");
    assert_eq!(one.uses(&sessions[2]).await, 202);
    assert_eq!(one.uses(&sessions[1]).await, 202);
    assert_eq!(other.uses(&sessions[1]).await, 404, "of another client");
    let (_, last) = one.open().await;
    assert_eq!(one.uses(&sessions[2]).await, 404, "idle for longest");
    // Sessions in use do not end.
    let mut streams = Vec::new();
    for session in [&sessions[1], &last] {
        let headers = [("mcp-session-id", &**session)];
        let stream = one.send(Method::GET, &headers, String::new()).await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    assert_eq!(one.open().await.0, 503);
    let answer = one.call("Clock", json!({ "arguments": {} })).await;
    assert!(answer.contains("noon"), "{answer}");
    assert_eq!(other.open().await.0, 200);
    drop(streams);
    serving.end().await;
}

#[tokio::test]
async fn consent_is_for_one_client() {
    let mut options = HttpOptions::default();
    options.keys = KEYS.map(str::to_owned).to_vec();
    let serving = Serving::start(options, Skills::new()).await;
    let url = &serving.url;
    let [one, other] = KEYS.map(|key| Client { url, key });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let arguments = json!({ "file": file });
    let asked = one.call("Write", json!({ "arguments": arguments })).await;
    let (_, state) = asked.split_once(r#""requestState":""#).expect(&asked);
    let (state, _) = state.split_once('"').unwrap();
    let yes = json!({ "approval": { "action": "accept", "content": { "approve": true } } });
    let params = json!({ "arguments": arguments, "requestState": state, "inputResponses": yes });
    let answer = other.call("Write", params.clone()).await;
    assert!(
        answer.contains("the answer is for another call"),
        "{answer}"
    );
    assert!(!file.exists());
    let answer = one.call("Write", params).await;
    assert!(answer.contains("written"), "{answer}");
    assert!(file.exists());
    serving.end().await;
}

/// Bodies that do not come take the places of others for a while only.
#[tokio::test]
async fn slow_bodies_are_refused() {
    let mut options = HttpOptions::default();
    options.connections = 4;
    options.body_timeout = Duration::from_millis(50);
    let serving = Serving::start(options, Skills::new()).await;
    let address = serving.url.trim_start_matches("http://");
    let address = address.trim_end_matches("/mcp");
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                accept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{";
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    for mut stream in slow {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 408");
    }
    let other = status(&serving.url, &[], initialize().to_string());
    assert_eq!(tokio::time::timeout(LONG, other).await, Ok(200));
    serving.end().await;
}

#[tokio::test]
async fn what_needs_a_key() {
    let check = async |address: &str, keys: &[&str], expected: &str| {
        let listener = TcpListener::bind(address).await.unwrap();
        let mut options = HttpOptions::default();
        options.keys = keys.iter().map(|&key| key.to_owned()).collect();
        let served = toolbox::server().serve_http(listener, options, std::future::ready(()));
        let served = served.await.map_err(|error| error.to_string());
        match expected {
            "" => assert_eq!(served, Ok(())),
            part => assert!(served.unwrap_err().contains(part)),
        }
    };
    check("127.0.0.1:0", &[], "").await;
    check("0.0.0.0:0", &[], "a key is needed").await;
    check("0.0.0.0:0", &["0123456789abcdef"], "").await;
    check("127.0.0.1:0", &["short"], "at least 16 characters").await;
    check(
        "127.0.0.1:0",
        &["0123456789abcdef", "0123456789 abcdef"],
        "at least 16",
    )
    .await;
}
