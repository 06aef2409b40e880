//! `gadgetry serve` from outside: its mistakes, its signals, and two coding agents as its clients.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use super::server::{Reply, Server};
use super::workshop::without_config;
use super::{GADGETRY, check};

#[test]
fn invalid_arguments_are_refused() {
    let refused = |args: &[&str], problem: &str| {
        let args = [&["serve"], args].concat();
        check(&args, "", "", &format!("error: {problem}\n"), 2);
    };
    refused(
        &[],
        "the following required arguments were not provided: --upstream <URL|MODEL>",
    );
    refused(
        &[
            "--upstream",
            "http://127.0.0.1:1/v1",
            "--listen",
            "0.0.0.0:0",
        ],
        "0.0.0.0:0 can be reached from other machines, and there are no keys: add --keys FILE, or listen on 127.0.0.1",
    );
    refused(
        &[
            "--upstream",
            "http://127.0.0.1:1/v1",
            "--upstream-key-env",
            "GADGETRY_NO_SUCH_KEY",
        ],
        "--upstream-key-env GADGETRY_NO_SUCH_KEY: the variable is not set",
    );
    refused(
        &[
            "--upstream",
            "http://127.0.0.1:1/v1",
            "--dialects",
            "klingon",
        ],
        "invalid value 'klingon' for '--dialects <LIST>': unknown dialect \"klingon\"; available: hermes, qwen-coder, mistral, \
         llama, anthropic, fenced-json, xml, python, harmony, glm, kimi, deepseek, gemma and lfm2",
    );
    refused(
        &["--config", "/nonexistent/gateway.toml"],
        "cannot read /nonexistent/gateway.toml: No such file or directory (os error 2)",
    );
}

/// A gateway that runs, and what it writes.
pub(super) struct Serving {
    process: Child,
    lines: BufReader<ChildStderr>,
    address: String,
    /// Lines before that of the address.
    first_lines: String,
}

impl Serving {
    fn start(args: &[&str]) -> Self {
        Self::configured(&[], args)
    }

    /// With options of the program before the verb.
    fn configured(before: &[&str], args: &[&str]) -> Self {
        Self::with(None, before, args)
    }

    /// With a variable of the environment as well.
    pub(super) fn with(variable: Option<(&str, &str)>, before: &[&str], args: &[&str]) -> Self {
        let mut command = Command::new(GADGETRY);
        without_config(&mut command);
        command.envs(variable);
        let mut process = command
            .args([before, &["serve", "--listen", "127.0.0.1:0"], args].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(process.stderr.take().expect("it is piped"));
        let (mut line, mut first_lines) = (String::new(), String::new());
        // Lines of the log may come first.
        while !line.starts_with("serving http://") {
            first_lines.push_str(&line);
            line.clear();
            assert_ne!(lines.read_line(&mut line).expect("a line"), 0, "it ends");
        }
        let rest = &line["serving http://".len()..];
        let (address, _) = rest
            .split_once("/v1 with the models of ")
            .expect("the upstream");
        Self {
            address: address.to_owned(),
            process,
            lines,
            first_lines,
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill").success());
    }

    /// The answer to a GET request.
    fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1"), "")
    }

    /// Ends it, with all that it has to do.
    pub(super) fn end(&mut self) {
        self.signal("TERM");
        let status = self.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
    }

    /// The answer to a request.
    pub(super) fn send(&self, head: &str, body: &str) -> String {
        exchange(&self.address, head, body)
    }
}

/// The answer of the server at an address to a request.
fn exchange(address: &str, head: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let request = format!(
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    answer
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(unix)]
#[test]
fn it_ends_at_a_signal() {
    for signal in ["TERM", "INT"] {
        let mut serving = Serving::start(&["--upstream", "http://127.0.0.1:9/v1"]);
        assert!(serving.get("/healthz").ends_with(r#"{"status":"ok"}"#));
        serving.signal(signal);
        let status = serving.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{signal}");
    }
}

/// Everything that is logged at the highest level about a request whose prompt, key and reply are known words.
#[cfg(unix)]
#[test]
fn prompts_are_logged_on_demand_and_keys_never() {
    let log_of = |args: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = folder.path().join("keys");
        fs::write(&keys, "laptop secret-key-1234567\n").expect("it is written");
        let refused = r#"{"error": {"message": "your prompt was: the-prompt"}}"#;
        let server = Server::start([
            Reply::says("the-reply is this."),
            Reply::Status("400 Bad Request", refused),
        ]);
        let keys = keys.display().to_string();
        let own = ["--upstream", server.url(), "--keys", &keys, "-vvv"];
        let mut serving = Serving::start(&[&own, args].concat());
        let body = r#"{"model": "m", "messages": [{"role": "user", "content": "the-prompt"}]}"#;
        let head = "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer";
        let answer = serving.send(&format!("{head} secret-key-1234567"), body);
        assert!(answer.contains("the-reply"), "{answer}");
        let answer = serving.send(&format!("{head} secret-key-1234567"), body);
        assert!(answer.contains("your prompt was"), "{answer}");
        let answer = serving.send(&format!("{head} wrong-key-7654321"), body);
        assert!(answer.contains("401"), "{answer}");
        serving.signal("TERM");
        let mut log = String::new();
        serving.lines.read_to_string(&mut log).expect("text");
        assert!(log.contains("laptop"), "each request has a line: {log}");
        for key in ["secret-key", "wrong-key"] {
            assert!(!log.contains(key), "{log}");
        }
        log
    };
    let words = ["the-prompt", "the-reply"];
    let log = log_of(&[]);
    assert!(words.iter().all(|word| !log.contains(word)), "{log}");
    let log = log_of(&["--log-prompts"]);
    assert!(words.iter().all(|word| log.contains(word)), "{log}");
}

/// The page of `--inspect` has each request as a run: what was sent and received, calls and tokens, and what has failed. Keys are not
/// in it.
#[cfg(unix)]
#[test]
fn requests_are_runs_on_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    fs::write(&keys, "laptop secret-key-1234567\n").expect("it is written");
    let server = Server::start([
        Reply::says("I look.\n!!!GADGET_START:look\n!!!ARG:at\nhome\n!!!GADGET_END\n"),
        Reply::Status(
            "400 Bad Request",
            r#"{"error": {"message": "no such thing"}}"#,
        ),
    ]);
    let keys = keys.display().to_string();
    let own = [
        "--upstream",
        server.url(),
        "--keys",
        &keys,
        "--markers",
        "plain",
    ];
    let mut serving = Serving::configured(&["--inspect"], &own);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer secret-key-1234567";
    let body = r#"{"model": "m", "messages": [{"role": "user", "content": "Use sk-0123456789abcdefghijklmnop"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]}"#;
    let answer = serving.send(head, body);
    assert!(answer.contains("tool_calls"), "{answer}");
    let answer = serving.send(head, body);
    assert!(answer.contains("HTTP/1.1 400"), "{answer}");

    let url = serving
        .first_lines
        .lines()
        .find_map(|line| line.strip_prefix("inspect http://"));
    let (address, path) = url.and_then(|it| it.split_once('/')).expect("a page");
    let page = |rest: &str| exchange(address, &format!("GET /{path}{rest} HTTP/1.1"), "");
    let list = page("runs");
    for state in ["finished", "failed"] {
        assert!(list.contains(&format!(r#""state":"{state}""#)), "{list}");
    }
    let first = page("runs/0/from/0");
    for record in [
        r#""agent":"chat""#,
        r#""type":"inspect_request""#,
        "!!!GADGET_START:look",
        r#""gadgetName":"look""#,
        r#"{"at":"home"}"#,
        r#""outputTokens""#,
        "Use ***",
        r#""type":"run_finished""#,
    ] {
        assert!(first.contains(record), "{record}: {first}");
    }
    let second = page("runs/1/from/0");
    assert!(second.contains("no such thing"), "{second}");
    for key in ["secret-key", "sk-0123456789"] {
        assert!(!first.contains(key) && !second.contains(key), "{key}");
    }
    serving.end();
}

/// What `eval --save` writes counts for the gateway as it does for agents.
#[test]
fn the_tables_of_models_are_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    let check = |table: &str, args: &[&str], has_json: bool| {
        fs::write(&path, table).expect("it can be written");
        let server = Server::start([Reply::says("Yes.")]);
        let own = ["--upstream", server.url()];
        let before = ["--config", path.to_str().expect("UTF-8")];
        let serving = Serving::configured(&before, &[&own, args].concat());
        let body = r#"{"model": "qwen3", "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"type": "function", "function": {"name": "now"}}]}"#;
        let answer = serving.send("POST /v1/chat/completions HTTP/1.1", body);
        assert!(answer.contains("Yes."), "{answer}");
        let asked = server.asked();
        let prompt = asked.last().expect("a request").body.to_string();
        assert_eq!(
            prompt.contains("<tool_call>"),
            has_json,
            "{table}: {prompt}"
        );
    };
    check("", &[], false);
    check("[models.qwen3]\nform = \"json\"\n", &[], true);
    check("[models.\"ollama:qwen3\"]\nform = \"json\"\n", &[], true);
    check("[models.qwen]\nform = \"json\"\n", &[], false);
    check(
        "[models.qwen3]\nform = \"json\"\n",
        &["--form", "block"],
        false,
    );
}

#[cfg(unix)]
#[test]
fn a_hangup_reads_the_file_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let write = |model: &str| {
        let upstream = "[[upstream]]\nname = \"a\"\nurl = \"http://127.0.0.1:9/v1\"\n";
        fs::write(&path, format!("{upstream}{model}")).expect("it can be written");
    };
    write("[[model]]\nname = \"one\"\n");
    let file = path.to_str().expect("UTF-8").to_owned();
    let mut serving = Serving::start(&["--config", &file]);
    assert!(serving.get("/v1/models").contains(r#""id":"one""#));
    write("[[model]]\nname = \"two\"\n");
    serving.signal("HUP");
    assert_eq!(serving.line(), "the configuration was read again\n");
    assert!(serving.get("/v1/models").contains(r#""id":"two""#));
    write("[[model]]\nnome = \"three\"\n");
    serving.signal("HUP");
    let line = serving.line();
    let expected = format!("the old configuration stays: {file}:5:1: unknown field `nome`");
    assert!(line.starts_with(&expected), "{line}");
    assert!(serving.get("/v1/models").contains(r#""id":"two""#));
}

#[test]
fn the_example_is_valid() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway/gateway.toml");
    let serving = Serving::start(&["--config", file.to_str().expect("UTF-8")]);
    assert!(serving.get("/healthz").ends_with(r#"{"status":"ok"}"#));
}

/// Codex and Claude Code edit files through the gateway, with a scripted text model behind it.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn coding_agents_do_their_tasks() {
    let target = Path::new(GADGETRY)
        .ancestors()
        .nth(2)
        .expect("a target folder");
    let Ok(words) = fs::read_to_string(target.join("servers/agents.command")) else {
        eprintln!("skipped: the agents are not installed: run cargo xtask test servers");
        return;
    };
    let programs = words.lines().last().expect("a folder");
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../gadgetry-gateway/tests/agents/run.py");
    let output = Command::new("python3")
        .arg(script)
        .args([GADGETRY, "--bin", programs])
        .stdin(Stdio::null())
        .output()
        .expect("python3");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(
        text.lines().any(|line| line.starts_with("ok ")),
        "{text}\n{errors}"
    );
}
