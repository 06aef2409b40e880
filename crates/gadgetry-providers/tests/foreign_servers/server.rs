//! A server as a process, for as long as a test runs.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// How long a server may take until it listens: Python reads many files.
const START: Duration = Duration::from_mins(5);

/// A server that is stopped when it is dropped.
pub(crate) struct Server {
    _process: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    /// What starts it.
    command: Vec<String>,
}

impl Server {
    /// Starts it; it must be told to take a free port. `None`, with a notice, if it is not installed.
    pub(crate) async fn start(name: &str, arguments: &[&str]) -> Option<Self> {
        let command = match command(name) {
            Ok(command) => command,
            Err(why) => {
                // Not through the test's own output, which nobody sees when it passes.
                let notice = format!("SKIPPED: a test against {name}: {why}\n");
                _ = std::io::stderr().write_all(notice.as_bytes());
                return None;
            }
        };
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it was started when it was installed");
        let (sender, mut lines) = mpsc::unbounded_channel();
        listen(process.stdout.take(), sender.clone());
        listen(process.stderr.take(), sender);
        let mut said = String::new();
        let address = async {
            while let Some(line) = lines.recv().await {
                let is_up = line.contains("listening on") || line.contains("running on");
                if is_up && let Some((_, url)) = line.split_once("http://") {
                    let is_address = |c: &char| c.is_ascii_digit() || matches!(c, '.' | ':');
                    return Some(url.chars().take_while(is_address).collect());
                }
                said.push_str(&line);
                said.push('\n');
            }
            None
        };
        let address = tokio::time::timeout(START, address).await.ok().flatten();
        Some(Self {
            _process: process,
            address: address.unwrap_or_else(|| panic!("{name} does not listen; it said:\n{said}")),
            command,
        })
    }

    /// Where a path of it is.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it answers on one of its own paths, as JSON.
    pub(crate) async fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .await
            .expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it speaks HTTP");
        assert!(head.contains(" 20"), "{answer}");
        if body.is_empty() {
            return Value::Null;
        }
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// Runs another of its commands to the end: whether it was content, and what it said.
    pub(crate) async fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(&self.command[0])
            .args(&self.command[1..])
            .args(arguments)
            .output()
            .await
            .expect("it starts");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

/// What starts a server, as `cargo xtask test servers` has left it.
fn command(name: &str) -> Result<Vec<String>, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("it is a folder in another");
    let folder = target.join("servers");
    match std::fs::read_to_string(folder.join(format!("{name}.command"))) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(_) => Err(
            std::fs::read_to_string(folder.join(format!("{name}.missing")))
                .unwrap_or_else(|_| "install it with `cargo xtask test servers`".to_owned()),
        ),
    }
}

/// Reads to the end, so that the process never waits for us.
fn listen(
    output: Option<impl AsyncRead + Unpin + Send + 'static>,
    to: mpsc::UnboundedSender<String>,
) {
    let mut lines = BufReader::new(output.expect("it is piped")).lines();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            // Nobody cares once it listens.
            _ = to.send(line);
        }
    });
}
