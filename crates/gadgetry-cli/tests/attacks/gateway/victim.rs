//! The gateway as a process, and what of an attack on it must not be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::client::{Answer, begin, send};
use super::row::{Row, Step, replaced, text_replaced};
use crate::attacks::row::Wire;
use crate::attacks::server::Server;
use crate::attacks::victim::{KEY, without_keys};

/// Private memory that the gateway may have, in KiB.
const MEMORY: &str = "524288";

/// A gateway that takes longer to begin or to end hangs.
const FOREVER: Duration = Duration::from_mins(5);

/// The keys of the clients.
const KEYS: [(&str, &str); 2] = [
    ("A", "gw-AAAA0123456789abcdefghijkl"),
    ("B", "gw-BBBB0123456789abcdefghijkl"),
];

/// A gateway that runs.
struct Gateway {
    child: Child,
    address: String,
    /// All of stderr, once it ends.
    stderr: Receiver<String>,
}

/// Carries out the attack; returns everything that is not as it must be.
pub(crate) fn run(row: &Row) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(Wire::Chat, &row.replies, &row.gets);
    let upstream = server.address.to_string();
    let gateway = match start(row, folder.path(), &upstream) {
        Ok(gateway) => gateway,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    let mut kept = BTreeMap::new();
    let mut answers: Vec<Answer> = Vec::new();
    let mut open = Vec::new();
    for (at, step) in row.steps.iter().enumerate() {
        for _ in 0..step.slow {
            let head = head(
                step,
                &gateway.address,
                "expect: 100-continue\r\ncontent-length: 1000\r\n",
            );
            match begin(&gateway.address, &head) {
                Ok(socket) => open.push(socket),
                Err(problem) => problems.push(format!("step {at}: {problem}")),
            }
        }
        if step.slow > 0 {
            answers.push(Answer::default());
            continue;
        }
        let body = replaced(&step.body, &kept);
        let text = body.as_str().map(str::to_owned);
        let text = text.or(body.is_null().then(String::new));
        let body = text.unwrap_or_else(|| body.to_string());
        let length = format!("connection: close\r\ncontent-length: {}\r\n", body.len());
        let head = head(step, &gateway.address, &length);
        let answer = match send(&gateway.address, &head, body.as_bytes()) {
            Ok(answer) => answer,
            Err(problem) => {
                problems.push(format!("step {at}: {problem}"));
                break;
            }
        };
        let all = Answers {
            step,
            before: &answers,
            steps: &row.steps,
            upstream: &upstream,
            kept: &kept,
        };
        let found = all.problems(&answer).into_iter();
        problems.extend(found.map(|it| format!("step {at}: {it}")));
        keep(step, &answer, &mut kept, &mut problems);
        answers.push(answer);
    }
    problems.extend(end(gateway, &upstream));
    drop(open);
    let requests = server.requests();
    for text in row.unsent.iter().map(|text| text_replaced(text, &kept)) {
        if requests.iter().any(|request| request.contains(&text)) {
            problems.push(format!("the upstream was sent {text:?}"));
        }
    }
    for text in row.sends.iter().map(|text| text_replaced(text, &kept)) {
        if !requests.iter().any(|request| request.contains(&text)) {
            problems.push(format!("the upstream was not sent {text:?}"));
        }
    }
    problems
}

fn start(row: &Row, folder: &Path, upstream: &str) -> Result<Gateway, String> {
    let base = format!("http://{upstream}/v1");
    let mut args: Vec<String> = ["serve", "-v", "--listen", "127.0.0.1:0"]
        .map(str::to_owned)
        .into();
    if let Some(config) = &row.config {
        fs::write(folder.join("gateway.toml"), config.replace("{BASE}", &base)).expect("a file");
        args.extend(["--config", "gateway.toml"].map(str::to_owned));
    } else {
        args.extend(["--upstream".to_owned(), base]);
        args.extend(["--upstream-key-env", "UPSTREAM_KEY"].map(str::to_owned));
    }
    if row.keys {
        let lines = KEYS.map(|(name, key)| format!("{name} {key}\n"));
        fs::write(folder.join("keys"), lines.concat()).expect("a file");
        args.extend(["--keys", "keys"].map(str::to_owned));
    }
    args.extend(row.args.iter().cloned());
    let limited = "ulimit -d \"$0\" 2> /dev/null; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", limited, MEMORY, env!("CARGO_BIN_EXE_gadgetry")])
        .args(args);
    without_keys(&mut command);
    let mut child = command
        .env("UPSTREAM_KEY", KEY)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe"));
    let (begun, begins) = channel();
    let (ended, stderr) = channel();
    thread::spawn(move || {
        let mut all = String::new();
        for line in lines.lines().map_while(Result::ok) {
            if line.starts_with("serving http://") {
                // The one line that is about the upstream's address.
                let _ = begun.send(line);
            } else {
                all.extend([&line, "\n"]);
            }
        }
        let _ = ended.send(all);
    });
    let address = begins.recv_timeout(FOREVER).ok().and_then(|line| {
        let rest = line.strip_prefix("serving http://")?.to_owned();
        Some(rest.split_once("/v1")?.0.to_owned())
    });
    if let Some(address) = address {
        return Ok(Gateway {
            child,
            address,
            stderr,
        });
    }
    let _ = child.kill();
    let _ = child.wait();
    let log = stderr.recv_timeout(FOREVER);
    Err(format!("it does not serve: {log:?}"))
}

/// Stops the gateway; returns what is wrong with its end, and with what it has logged.
fn end(mut gateway: Gateway, upstream: &str) -> Vec<String> {
    let pid = gateway.child.id().to_string();
    let sent = Command::new("kill").args(["-s", "TERM", &pid]).status();
    let mut problems = Vec::new();
    if !sent.is_ok_and(|it| it.success()) {
        problems.push("it had ended before".to_owned());
    }
    let log = gateway.stderr.recv_timeout(FOREVER);
    if log.is_err() {
        problems.push("it hung".to_owned());
        let _ = gateway.child.kill();
    }
    let status = gateway.child.wait().expect("it ends");
    if status.code() != Some(0) {
        problems.push(format!("it ended with {status}"));
    }
    let log = log.unwrap_or_default();
    for secret in [upstream, "panicked at", KEY, KEYS[0].1, KEYS[1].1] {
        if log.contains(secret) {
            problems.push(format!("the log holds {secret:?}: {log}"));
        }
    }
    problems
}

fn head(step: &Step, address: &str, more: &str) -> String {
    let mut headers = BTreeMap::from([
        ("host".to_owned(), address.to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
    ]);
    if let Some((_, key)) = KEYS.iter().find(|(name, _)| *name == step.client) {
        headers.insert("authorization".to_owned(), format!("Bearer {key}"));
    }
    headers.extend(step.headers.clone());
    let mut lines = String::new();
    for (name, value) in &headers {
        lines.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    format!(
        "{} {} HTTP/1.1\r\n{lines}{more}\r\n",
        step.method, step.path
    )
}

fn keep(
    step: &Step,
    answer: &Answer,
    kept: &mut BTreeMap<String, String>,
    problems: &mut Vec<String>,
) {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    for (name, pointer) in &step.keep {
        match body.pointer(pointer).and_then(Value::as_str) {
            Some(text) => {
                kept.insert(name.clone(), text.to_owned());
            }
            None => problems.push(format!("nothing at {pointer}: {}", short(&answer.body))),
        }
    }
}

/// What an answer is compared with.
struct Answers<'a> {
    step: &'a Step,
    steps: &'a [Step],
    before: &'a [Answer],
    upstream: &'a str,
    kept: &'a BTreeMap<String, String>,
}

impl Answers<'_> {
    fn problems(&self, answer: &Answer) -> Vec<String> {
        let Self { step, kept, .. } = self;
        let mut problems = Vec::new();
        let all = format!("{}\n\n{}", answer.head, answer.body);
        if answer.status != step.status {
            let body = short(&answer.body);
            problems.push(format!(
                "status {}, not {}: {body}",
                answer.status, step.status
            ));
        }
        for text in step.says.iter().map(|text| text_replaced(text, kept)) {
            if !all.contains(&text) {
                problems.push(format!("does not say {text:?}: {}", short(&all)));
            }
        }
        let hides = step.hides.iter().map(|text| text_replaced(text, kept));
        let port = self
            .upstream
            .rfind(':')
            .map_or("", |at| &self.upstream[at..]);
        let always = [self.upstream, port, &KEY[..12]].map(str::to_owned);
        for text in hides.chain(always) {
            if all.contains(&text) {
                problems.push(format!("says {text:?}: {}", short(&all)));
            }
        }
        if let Some(like) = step.like {
            let plain = |step: &Step, answer: &Answer| {
                let id = text_replaced(&step.id, kept);
                let body = answer.body.replace(&id, "ID");
                // Ids may differ in length.
                let lines = answer.head.lines();
                let head =
                    lines.filter(|line| !line.to_ascii_lowercase().starts_with("content-length"));
                (answer.status, head.collect::<Vec<_>>().join("\n"), body)
            };
            let (own, other) = (
                plain(step, answer),
                plain(&self.steps[like], &self.before[like]),
            );
            if own != other {
                problems.push(format!("differs from step {like}: {own:?}, {other:?}"));
            }
        }
        problems
    }
}

fn short(text: &str) -> String {
    text.chars().take(600).collect()
}

/// A check that cannot fail would be none.
#[test]
fn each_problem_of_an_answer_is_noticed() {
    let step = |json: Value| -> Step { serde_json::from_value(json).expect("a step") };
    let steps = [
        step(serde_json::json!({"path": "/", "status": 404, "id": "x-1"})),
        step(serde_json::json!({
            "path": "/", "status": 200, "says": ["{ID}"], "hides": ["secret"], "like": 0, "id": "x-22",
        })),
    ];
    let answer = |body: &str| Answer {
        status: 404,
        head: "HTTP/1.1 404 Not Found".to_owned(),
        body: body.to_owned(),
    };
    let kept = BTreeMap::from([("ID".to_owned(), "x-1".to_owned())]);
    let all = Answers {
        step: &steps[1],
        steps: &steps,
        before: &[answer("no x-1")],
        upstream: "127.0.0.1:4711",
        kept: &kept,
    };
    let problems = all.problems(&answer(
        "no x-22, a secret at 127.0.0.1:4711, sk-SECRET0123",
    ));
    let begins = [
        "status 404, not 200",
        "does not say \"x-1\"",
        "says \"secret\"",
        "says \"127.0.0.1:4711\"",
        "says \":4711\"",
        "says \"sk-SECRET012\"",
        "differs from step 0",
    ];
    assert_eq!(problems.len(), begins.len(), "{problems:?}");
    for (problem, begin) in problems.iter().zip(begins) {
        assert!(problem.starts_with(begin), "{problem}");
    }
    let fine = all.problems(&answer("no x-22"));
    assert_eq!(fine.len(), 2, "{fine:?}");
}
