//! Servers and clients that others wrote, where they are installed.

use std::net::TcpListener;
use std::process::Stdio;

use gadgetry_mcp::ServerConfig;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

pub(crate) use super::found::{node, python};
use super::{LONG, script};

/// The reference server, over stdio.
pub(crate) fn everything() -> Option<ServerConfig> {
    let program = node("@modelcontextprotocol/server-everything", "dist/index.js")?;
    Some(ServerConfig::stdio("node", [program, "stdio".to_owned()]))
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

    /// The one that requires a login, with tokens of this lifetime in seconds, and more arguments.
    pub(crate) async fn with_login(lifetime: u32, more: &[&str]) -> Option<Self> {
        let port = free_port();
        let mut command = Command::new(python()?);
        command.arg(script("login.py")).arg(port.to_string());
        command.arg(lifetime.to_string()).args(more);
        Some(Self::start(command, port).await)
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}
