//! `mcp serve`: our gadgets for clients of others, and for `mcp test` and `--mcp`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::super::config::Configured;
use super::super::workshop::{Ended, Workshop};
use super::{GADGETRY, found};

pub(crate) const SERVE: [&str; 6] = [
    "mcp",
    "serve",
    "--builtins",
    "none",
    "--gadgets",
    "gadgets.toml",
];

/// What the server answers to these messages, each of which has an id, or is `None` for no answer.
pub(crate) struct Client {
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Client {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut client = Self { process, lines };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        client.ask("initialize", &params);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.process.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{message}").expect("it is read");
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["result"].clone()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> (bool, String) {
        let result = self.ask(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        );
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        (result["isError"] == true, text.to_owned())
    }

    /// Closes stdin, and returns how it ended.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        drop(self.process.stdin.take());
        self.ended()
    }

    fn ended(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("the end");
        assert_eq!(rest, "");
        let output = self.process.wait_with_output().expect("it ends");
        (
            String::from_utf8(output.stderr).expect("UTF-8"),
            output.status.code(),
        )
    }
}

#[test]
fn calls_over_stdio() {
    let workshop = Workshop::new("");
    let mut allowed =
        Client::start(&mut workshop.command(&[&SERVE[..], &["--output-limit", "6"]].concat()));
    let tools = allowed.ask("tools/list", &json!({}));
    assert_eq!(tools["tools"][0]["name"], "Echo");
    let (is_error, said) = allowed.call("Echo", &json!({ "say": "hello" }));
    assert!(
        !is_error && said.len() < 100 && said.starts_with('{'),
        "{said}"
    );
    assert_eq!(allowed.end(), (String::new(), Some(0)));

    // Gadgets that belong to a run are offered only by name.
    for (more, is_offered) in [(&[][..], false), (&["--builtins", "ReadFile,Finish"], true)] {
        let mut client = Client::start(&mut workshop.command(&[&["mcp", "serve"], more].concat()));
        let tools = client.ask("tools/list", &json!({})).to_string();
        assert!(tools.contains("\"ReadFile\""), "{tools}");
        assert_eq!(tools.contains("\"Finish\""), is_offered, "{tools}");
        assert_eq!(client.end(), (String::new(), Some(0)));
    }

    let rules = ["--approval", "deny Touch", "--approval", "ask Echo"];
    let mut ruled = Client::start(&mut workshop.command(&[&SERVE[..], &rules].concat()));
    let (is_error, denied) = ruled.call("Touch", &json!({}));
    assert!(is_error && denied.contains("Denied"), "{denied}");
    assert!(!workshop.has("trace"));
    // The client cannot put a question to its user.
    let (is_error, denied) = ruled.call("Echo", &json!({ "say": "x" }));
    assert!(is_error && denied.contains("Denied"), "{denied}");
    assert_eq!(ruled.end(), (String::new(), Some(0)));

    let hurried = [&SERVE[..], &["--timeout", "50ms"]].concat();
    let mut hurried = Client::start(&mut workshop.command(&hurried));
    let alive = workshop.watch_alive();
    // The time may be over before the program runs.
    while !alive.is_up() {
        let (is_error, late) = hurried.call("Hang", &json!({}));
        assert!(is_error && late.contains("50"), "{late}");
    }
    alive.gone();
    assert_eq!(hurried.end(), (String::new(), Some(0)));
}

/// Rules and skills of the configuration count.
#[test]
fn what_is_configured() {
    let configured = Configured::new(
        "[approvals]\nrules = [{ deny = 'Touch' }]\n[skills]\nfolders = ['skills']\n",
    );
    let folder = configured.0.path("home/gadgetry/skills/greet");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(
        folder.join("SKILL.md"),
        "---\ndescription: Greets\n---\nSay hello to $1.\n",
    )
    .expect("a file");
    let mut client = Client::start(
        &mut configured.command(&[&SERVE[..], &["--approval", "allow Touch"]].concat()),
    );
    let prompts = client.ask("prompts/list", &json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "greet");
    let prompt = client.ask(
        "prompts/get",
        &json!({ "name": "greet", "arguments": { "arguments": "Ada" } }),
    );
    let text = prompt["messages"][0]["content"]["text"]
        .as_str()
        .expect("a text");
    assert_eq!(text.trim(), "Say hello to Ada.");
    // What was typed precedes.
    assert!(!client.call("Touch", &json!({})).0);
    client.end();
    let mut client = Client::start(&mut configured.command(&SERVE));
    assert!(client.call("Touch", &json!({})).0);
    client.end();
    // Two skills of one name are a mistake.
    let other = configured.0.path("other/greet");
    fs::create_dir_all(&other).expect("a folder");
    fs::copy(folder.join("SKILL.md"), other.join("SKILL.md")).expect("a file");
    let ended = configured.ended(&["mcp", "serve", "--skills", "other"]);
    assert_eq!((&*ended.stdout, ended.code), ("", Some(2)), "{ended:?}");
    assert!(ended.stderr.contains("both named \"greet\""), "{ended:?}");
}

#[test]
fn an_interrupt_ends_it_cleanly() {
    let workshop = Workshop::new("");
    let client = Client::start(&mut workshop.command(&SERVE));
    let pid = client.process.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.expect("kill").success());
    // Its stdin is still open.
    assert_eq!(client.ended(), (String::new(), Some(0)));
}

/// A server over HTTP, which ends with the test, whatever its outcome.
struct Http {
    process: Child,
    url: String,
}

impl Http {
    fn start(workshop: &Workshop, more: &[&str]) -> Self {
        Self::of(workshop, &[&SERVE[..], more].concat())
    }

    fn of(workshop: &Workshop, args: &[&str]) -> Self {
        let args = [args, &["--listen", "127.0.0.1:0"]].concat();
        let process = workshop.command(&args).spawn().expect("it starts");
        let mut http = Self {
            process,
            url: String::new(),
        };
        let stderr = http.process.stderr.take().expect("a pipe");
        let mut line = String::new();
        let read = BufReader::new(stderr).read_line(&mut line);
        read.expect("a line");
        let url = line.strip_prefix("serving ").expect("an address");
        url.trim().clone_into(&mut http.url);
        http
    }

    /// Sends a message with headers, and returns the answer as it is.
    fn post(&self, headers: &str, message: &Value) -> String {
        let rest = self.url.strip_prefix("http://").expect("HTTP");
        let (address, path) = rest.split_once('/').expect("a path");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let message = message.to_string();
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{message}",
            message.len()
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn over_http_with_keys() {
    let configured = Configured::new("");
    let workshop = &configured.0;
    workshop.write(
        "keys.txt",
        "# Clients.\nada s3cret-key-of-ada\n\nkey-without-a-name\n",
    );
    let mut server = Http::start(workshop, &["--keys", "keys.txt"]);
    let url = server.url.clone();
    let test = |key: &str| {
        let header = if key.is_empty() {
            String::new()
        } else {
            format!("headers = {{ Authorization = 'Bearer {key}' }}\n")
        };
        configured.user(&format!("[mcp.servers.x]\nurl = '{url}'\n{header}"));
        configured.ended(&["mcp", "test", "x"])
    };
    for key in ["s3cret-key-of-ada", "key-without-a-name"] {
        let ended = test(key);
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{key}");
        assert!(ended.stdout.contains("tools      7\n"), "{ended:?}");
    }
    let refused = "error: MCP server \"x\": it requires authorization; log in to it, or set the header `Authorization` in `headers`; `gadgetry mcp login x` logs in\n";
    for key in ["", "ada", "other"] {
        test(key).check("", refused, 1);
    }
    let pid = server.process.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.expect("kill").success());
    assert_eq!(server.process.wait().expect("it ends").code(), Some(0));
}

/// A client does not add keys for others.
#[test]
fn keys_are_not_changed() {
    let workshop = Workshop::new("");
    let keys = "key-of-a-client-1234\n";
    workshop.write("keys.txt", keys);
    let server = Http::of(
        &workshop,
        &[
            "mcp",
            "serve",
            "--no-config",
            "--builtins",
            "RunCommand,WriteFile",
            "--yes",
            "--sandbox",
            "--keys",
            "keys.txt",
        ],
    );
    let headers = format!("Authorization: Bearer {}\r\n", keys.trim());
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let begun = server.post(&headers, &begin);
    let is_session = |line: &&str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
    let session = begun.lines().find(is_session).expect("a session");
    let headers = format!("{headers}{session}\r\n");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    server.post(&headers, &initialized);
    let check = |name: &str, arguments: Value, expected: &str| {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let answer = server.post(&headers, &call);
        assert!(answer.contains(expected), "{name}: {answer}");
        assert_eq!(workshop.read("keys.txt"), keys, "{name}");
    };
    let line = "echo another-key-12345678 >> keys.txt; echo key >> keys.txt; true";
    check("RunCommand", json!({ "command": line }), "Read-only");
    let write = json!({ "filePath": "keys.txt", "content": "another-key-12345678" });
    check("WriteFile", write, "settings of the agent itself");
}

#[test]
fn invalid_arguments_are_refused() {
    let workshop = Workshop::new("");
    workshop.write("none.txt", "# none\n");
    workshop.write("short.txt", "short\n");
    workshop.write("words.txt", "one two three\n");
    let check = |args: &[&str], problem: &str| {
        let args = [&["mcp", "serve"], args].concat();
        let error = format!("error: {problem}\n");
        Ended::of(&mut workshop.command(&args)).check("", &error, 2);
    };
    check(
        &["--listen", "0.0.0.0:0"],
        "0.0.0.0:0 needs a key, and no key is given: add one to --keys FILE, or listen on 127.0.0.1 without it",
    );
    check(
        &["--listen", "127.0.0.1:0", "--keys", "none.txt"],
        "127.0.0.1:0 needs a key, and no key is given: add one to --keys FILE, or listen on 127.0.0.1 without it",
    );
    check(
        &["--listen", "127.0.0.1:0", "--keys", "words.txt"],
        "words.txt:1:1: a line has one key, or a name and a key",
    );
    check(
        &["--keys", "none.txt"],
        "the following required arguments were not provided: --listen <ADDR>",
    );
    check(
        &["--skills", "missing"],
        "cannot read missing: No such file or directory (os error 2)",
    );
    check(
        &["--yes"],
        "the following required arguments were not provided: <--sandbox|--dangerously-without-sandbox>",
    );
    let short = [
        "mcp",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--keys",
        "short.txt",
        "-q",
    ];
    let error =
        "error: a key must have at least 16 characters, of those that HTTP admits in a header\n";
    Ended::of(&mut workshop.command(&short)).check("", error, 2);
    let check = |args: &[&str], problem: &str| {
        let error = format!("error: {problem}\n");
        Ended::of(&mut workshop.command(args)).check("", &error, 2);
    };
    check(
        &["mcp"],
        "'gadgetry mcp' requires a subcommand but one was not provided [subcommands: list, test, login, logout, trust, import, serve, help]",
    );
}

/// Gadgets of a server that was typed are served as well.
#[test]
fn servers_of_servers() {
    let workshop = Workshop::new("");
    let own = super::own();
    let args = [
        "mcp",
        "serve",
        "--builtins",
        "none",
        "--mcp",
        &own,
        "--approval",
        "allow Touch@own",
    ];
    let mut client = Client::start(&mut workshop.command(&args));
    assert!(!client.call("Touch", &json!({})).0);
    assert!(workshop.has("trace"));
    let (is_error, denied) = client.call("Echo", &json!({ "say": "x" }));
    assert!(is_error && denied.contains("Denied"), "{denied}");
    assert_eq!(client.end(), (String::new(), Some(0)));
}

/// The client of the Python SDK, over stdio and HTTP.
#[test]
fn with_the_python_sdk() {
    let Some(python) = found::python() else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/mcp/client.py");
    let workshop = Workshop::new("");
    let server = Http::start(&workshop, &[]);
    let stdio = [&[GADGETRY][..], &SERVE].concat();
    for target in [&stdio[..], &[&server.url]] {
        let mut client = workshop.run(&python, &[]);
        let ended = Ended::of(client.arg(&script).args(target));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let seen: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(seen["tools"][0], "Echo");
        assert_eq!(seen["echo"][0], false, "{seen}");
        assert!(
            seen["echo"][1].as_str().expect("a text").contains("hello"),
            "{seen}"
        );
        assert_eq!(seen["fail"], json!([true, "no luck"]));
    }
}

/// MCP inspector's command line, over stdio and HTTP.
#[test]
fn with_the_inspector() {
    let Some(inspector) = found::node("@modelcontextprotocol/inspector", "cli/build/index.js")
    else {
        return;
    };
    let workshop = Workshop::new("");
    // It takes the options of a program for its own.
    workshop.write(
        "serve.sh",
        &format!("exec {GADGETRY} {}\n", SERVE.join(" ")),
    );
    let server = Http::start(&workshop, &[]);
    for target in [
        &["sh", "serve.sh"][..],
        &[&server.url, "--transport", "http"],
    ] {
        let ask = |arguments: &[&str]| -> Value {
            let mut client = workshop.run("node", &[]);
            let ended = Ended::of(client.arg(&inspector).args(target).args(arguments));
            assert_eq!(ended.code, Some(0), "{ended:?}");
            serde_json::from_str(&ended.stdout).expect("JSON")
        };
        let tools = ask(&["--method", "tools/list"]);
        assert_eq!(tools["tools"][0]["name"], "Echo");
        let call = ["--method", "tools/call", "--tool-name", "Echo"];
        let echo = ask(&[&call[..], &["--tool-arg", "say=hello"]].concat());
        let text = echo["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("hello"), "{echo}");
        assert_ne!(echo["isError"], true, "{echo}");
    }
}
