//! `mcp login` and `logout`, with an authorization server made with the Python SDK.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::super::workshop::{Ended, Workshop};
use super::found::python;

/// Longer than anything here takes.
const FOREVER: Duration = Duration::from_mins(3);

/// A server that requires a login. It ends when it is dropped.
struct Server(Child, u16);

impl Server {
    fn start() -> Option<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gadgetry-mcp/tests/servers");
        let mut command = Command::new(python()?);
        command.arg(scripts.join("login.py"));
        command.args([port.to_string(), "3600".to_owned()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self(command.spawn().expect("it starts"), port);
        let deadline = Instant::now() + FOREVER;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "it does not listen");
            thread::yield_now();
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a browser shows of a page, after redirects.
fn visit(url: &str) -> String {
    let (address, path) = url
        .strip_prefix("http://")
        .and_then(|it| it.split_once('/'))
        .expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let mut lines = answer.lines();
    let location = lines.find_map(|line| line.strip_prefix("location: "));
    location.map_or(answer.clone(), visit)
}

#[test]
fn a_login_is_kept_until_a_logout() {
    let Some(server) = Server::start() else {
        return;
    };
    let workshop = Workshop::new("");
    let table = format!(
        "[mcp.servers.s]\nurl = 'http://127.0.0.1:{}/mcp'\n[mcp.servers.s.oauth]\nclient-secret = 's3cret'\nscopes = ['use']\n",
        server.1
    );
    workshop.write(
        "mine.toml",
        &table.replace("client-secret = 's3cret'\n", ""),
    );
    let mcp = |verb: &str| workshop.command(&["--config", "mine.toml", "mcp", verb, "s"]);
    let required = "error: MCP server \"s\": it requires authorization; log in to it, or set the header `Authorization` in `headers`; \
        `gadgetry mcp login s` logs in\n";
    Ended::of(&mut mcp("test")).check("", required, 1);
    Ended::of(&mut mcp("logout")).check("", "s has no login\n", 0);
    let mut login = mcp("login").spawn().expect("it starts");
    let mut stdout = BufReader::new(login.stdout.take().expect("a pipe"));
    let mut url = String::new();
    stdout.read_line(&mut url).expect("an address");
    assert!(visit(url.trim()).ends_with("You are logged in. You can close this page.\n"));
    let said = "Open this address to log in; Ctrl-C cancels\nlogged in to s\n";
    Ended::wait(login).check("", said, 0);
    let ended = Ended::of(&mut mcp("test"));
    assert!(
        ended.stdout.contains("refreshed") && ended.code == Some(0),
        "{ended:?}"
    );
    // Gadgets and agents use it, too.
    let args = [
        "--config",
        "mine.toml",
        "gadget",
        "run",
        "refreshed",
        "--builtins",
        "none",
    ];
    Ended::of(&mut workshop.command(&args)).check("0\n", "", 0);
    Ended::of(&mut mcp("logout")).check("", "logged out of s\n", 0);
    Ended::of(&mut mcp("test")).check("", required, 1);
    // An interrupt ends the wait.
    let mut login = mcp("login").spawn().expect("it starts");
    let mut stdout = BufReader::new(login.stdout.take().expect("a pipe"));
    stdout.read_line(&mut String::new()).expect("an address");
    let kill = Command::new("kill")
        .args(["-INT", &login.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    let ended = Ended::wait(login);
    assert!(
        ended.stderr.ends_with("error: cancelled\n") && ended.code == Some(1),
        "{ended:?}"
    );
    // The secret of a client is shown nowhere.
    workshop.write("mine.toml", &table);
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &["mcp", "login", "s"],
    ] {
        let args = [&["--config", "mine.toml"], args].concat();
        let ended = Ended::of(&mut workshop.command(&args));
        assert!(!format!("{ended:?}").contains("s3cret"), "{ended:?}");
    }
}

#[test]
fn servers_without_a_login() {
    let workshop = Workshop::new("");
    let check = |server: &str, problem: &str| {
        let ended = Ended::of(&mut workshop.command(&["mcp", "login", server]));
        ended.check("", &format!("error: MCP server {problem}\n"), 1);
    };
    check(
        "cat",
        "cat: it is a program and has no login; only servers with `url` have one",
    );
    check(
        "http://example.com/mcp",
        "example.com: tokens are only sent over https, or to this machine; change `url`",
    );
}
