//! Servers and clients that others wrote, where they are installed.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use gadgetry_mcp::ServerConfig;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::{LONG, script};

/// The last word of the command of what `cargo xtask test servers` has installed under a name; `None` if it is not there,
/// which a line on standard error says.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn installed(name: &str) -> Option<String> {
    // Two folders above the test program, whatever the target folder is.
    let program = std::env::current_exe().expect("it runs");
    let servers = program
        .ancestors()
        .nth(3)
        .expect("a target folder")
        .join("servers");
    let command = fs::read_to_string(servers.join(format!("{name}.command"))).ok();
    if command.is_none() {
        let why = fs::read_to_string(servers.join(format!("{name}.missing")));
        let why = why.unwrap_or_else(|_| "run cargo xtask test servers".to_owned());
        eprintln!("skipped: {name} is not installed: {why}");
    }
    Some(command?.lines().last()?.to_owned())
}

/// A program of a package for Node.js, as the arguments of `node`.
pub(crate) fn node(package: &str, program: &str) -> Option<String> {
    let folder = installed("mcp-node")?;
    let program = Path::new(&folder).join(package).join(program);
    Some(program.display().to_string())
}

/// The reference server, over stdio.
pub(crate) fn everything() -> Option<ServerConfig> {
    let program = node("@modelcontextprotocol/server-everything", "dist/index.js")?;
    Some(ServerConfig::stdio("node", [program, "stdio".to_owned()]))
}

/// The interpreter that has the Python SDK.
pub(crate) fn python() -> Option<String> {
    installed("mcp-python")
}

/// The server made with the Python SDK, over stdio.
pub(crate) fn python_server() -> Option<ServerConfig> {
    Some(ServerConfig::stdio(python()?, [script("peer.py")]))
}

/// A server over HTTP, which ends when it is dropped.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    _process: Child,
}

impl HttpServer {
    async fn start(mut command: Command, port: u16) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).kill_on_drop(true);
        let process = command.spawn().expect("it starts");
        let ready = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, ready).await.expect("it listens");
        Self {
            url: format!("http://127.0.0.1:{port}/mcp"),
            _process: process,
        }
    }

    /// The reference server.
    pub(crate) async fn everything() -> Option<Self> {
        let program = node("@modelcontextprotocol/server-everything", "dist/index.js")?;
        let port = free_port();
        let mut command = Command::new("node");
        command.args([&program, "streamableHttp"]);
        command.env("PORT", port.to_string());
        Some(Self::start(command, port).await)
    }

    /// The server made with the Python SDK.
    pub(crate) async fn python() -> Option<Self> {
        let port = free_port();
        let mut command = Command::new(python()?);
        command.arg(script("peer.py")).arg(port.to_string());
        Some(Self::start(command, port).await)
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}
