//! A Restate server as a process, with a folder of its own.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;

/// How long it may take to start on a busy machine.
const START: Duration = Duration::from_mins(5);

/// A server that is killed when it is dropped.
pub(crate) struct Restate {
    process: Child,
    program: Vec<String>,
    folder: PathBuf,
    pub(crate) ingress: String,
    pub(crate) admin: String,
}

impl Restate {
    /// Starts it with an empty folder.
    pub(crate) async fn start(folder: &Path) -> Option<Self> {
        let program = server("restate")?;
        std::fs::create_dir_all(folder).expect("a folder");
        let [ingress, admin, fabric] = free_ports();
        let config = format!(
            r#"
node-name = "test"
bind-ip = "127.0.0.1"
bind-port = {fabric}
listen-mode = "tcp"
default-num-partitions = 4
disable-telemetry = true
log-filter = "warn"
log-disable-ansi-codes = true
rocksdb-total-memory-size = "128 MiB"
[ingress]
bind-address = "127.0.0.1:{ingress}"
[admin]
bind-address = "127.0.0.1:{admin}"
"#
        );
        std::fs::write(folder.join("restate.toml"), config).expect("it is written");
        let mut restate = Self {
            process: spawn(&program, folder),
            program,
            folder: folder.to_owned(),
            ingress: format!("http://127.0.0.1:{ingress}"),
            admin: format!("http://127.0.0.1:{admin}"),
        };
        restate.ready().await;
        Some(restate)
    }

    /// `kill -9`.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.expect("it runs");
    }

    /// Starts it again with the folder that it had.
    pub(crate) async fn restart(&mut self) {
        self.process = spawn(&self.program, &self.folder);
        self.ready().await;
    }

    /// Waits until the workflow of a run has this status in Restate.
    pub(crate) async fn until(&self, run: &str, status: &str) {
        let expected = format!("\"status\":\"{status}\"");
        let reached = async {
            while !self.column(run, "status").await.contains(&expected) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let reached = tokio::time::timeout(START, reached).await;
        reached.unwrap_or_else(|_| panic!("{run} is never {status}"));
    }

    /// What Restate knows of the workflow of a run, as JSON.
    pub(crate) async fn column(&self, run: &str, column: &str) -> String {
        let query = format!(
            "select {column} from sys_invocation \
             where target_service_key = '{run}' and target_handler_name = 'run'"
        );
        let body = serde_json::json!({"query": query}).to_string();
        let address = address(&self.admin);
        let request = format!(
            "POST /query HTTP/1.0\r\nhost: {address}\r\naccept: application/json\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        ask(address, &request).await.unwrap_or_default()
    }

    async fn ready(&mut self) {
        let healthy = async {
            loop {
                let [admin, ingress] = [&self.admin, &self.ingress].map(|url| address(url));
                if is_ok(admin, "/health").await && is_ok(ingress, "/restate/health").await {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(START, healthy).await.is_err() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            panic!("Restate does not start: {log}");
        }
    }
}

fn address(url: &str) -> &str {
    url.trim_start_matches("http://")
}

async fn is_ok(address: &str, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n");
    let answer = ask(address, &request).await;
    answer.is_some_and(|answer| answer.split(' ').nth(1) == Some("200"))
}

/// Sends a request and reads all of the answer.
async fn ask(address: &str, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// Waits until someone listens at `address`.
pub(crate) async fn until_listening(address: &str) {
    let listening = async {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let listening = tokio::time::timeout(START, listening).await;
    listening.expect("it listens soon");
}

fn spawn(program: &[String], folder: &Path) -> Child {
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .expect("a file");
    Command::new(&program[0])
        .args(&program[1..])
        .arg("--no-logo")
        .arg("-c")
        .arg(folder.join("restate.toml"))
        .arg("--base-dir")
        .arg(folder.join("data"))
        .env("DO_NOT_TRACK", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .expect("it was started when it was installed")
}

/// Ports that no one listens on. Another process may take one before the server does; nothing else in a test does.
pub(crate) fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("it listens").port())
}

/// What starts a server, as `cargo xtask test servers` has left it; `None`, with a notice, if it is not installed.
pub(crate) fn server(name: &str) -> Option<Vec<String>> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("it is a folder in another");
    let folder = target.join("servers");
    if let Ok(text) = std::fs::read_to_string(folder.join(format!("{name}.command"))) {
        return Some(text.lines().map(str::to_owned).collect());
    }
    let why = std::fs::read_to_string(folder.join(format!("{name}.missing")));
    let why = why.unwrap_or_else(|_| "install it with `cargo xtask test servers`".to_owned());
    // Not through the test's own output, which nobody sees when it passes.
    let notice = format!("SKIPPED: a test against {name}: {why}\n");
    _ = std::io::stderr().write_all(notice.as_bytes());
    None
}
