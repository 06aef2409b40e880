//! Servers that others wrote, in runs.

use std::path::Path;

use super::super::workshop::{Ended, Workshop, call, masked, reply};
use super::{AGENT, found};

fn everything() -> Option<String> {
    let program = found::node("@modelcontextprotocol/server-everything", "dist/index.js")?;
    Some(format!("everything=node {program} stdio"))
}

fn filesystem() -> Option<String> {
    let program = found::node("@modelcontextprotocol/server-filesystem", "dist/index.js")?;
    Some(format!("files=node {program} ."))
}

fn python() -> Option<String> {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../gadgetry-mcp/tests/servers/peer.py");
    Some(format!("python={} {}", found::python()?, script.display()))
}

/// What the progress of a run says about one call.
#[track_caller]
fn check(server: &str, name: &str, arguments: &str, shown: &str) {
    let workshop = Workshop::new(&(reply(&call(name, arguments)) + &reply("Done.")));
    workshop.write("note.txt", "of the file");
    let rule = format!("allow {name}@*");
    let args = [
        &AGENT[..],
        &["--no-session", "--mcp", server, "--approval", &rule],
    ]
    .concat();
    let ended = Ended::of(&mut workshop.command(&args));
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    assert!(masked(&ended.stderr).contains(shown), "{ended:?}");
}

#[test]
fn tools_of_other_servers_are_called() {
    if let Some(server) = everything() {
        let echo = "!!!ARG:message\nhello\n";
        check(
            &server,
            "echo",
            echo,
            "+ gadget_1 done in N ms: Echo: hello",
        );
        check(
            &server,
            "get-sum",
            "!!!ARG:a\n2\n!!!ARG:b\n3\n",
            "The sum of 2 and 3 is 5.",
        );
    }
    if let Some(server) = filesystem() {
        check(
            &server,
            "read_text_file",
            "!!!ARG:path\nnote.txt\n",
            "of the file",
        );
        check(
            &server,
            "read_text_file",
            "!!!ARG:path\n/etc/passwd\n",
            "Access denied",
        );
    }
    if let Some(server) = python() {
        check(
            &server,
            "add",
            "!!!ARG:a\n2\n!!!ARG:b\n3\n",
            "+ gadget_1 done in N ms: 5",
        );
    }
}

/// The names of these servers' tools do not collide with each other, and the model reads them all.
#[test]
fn several_servers() {
    let servers = [everything(), filesystem(), python()];
    let [Some(everything), Some(filesystem), Some(python)] = servers else {
        return;
    };
    let workshop = Workshop::new("");
    let servers = ["--mcp", &everything, "--mcp", &filesystem, "--mcp", &python];
    let args = [&["gadget", "list", "--builtins", "none"], &servers[..]].concat();
    let ended = Ended::of(&mut workshop.command(&args));
    assert_eq!((&*ended.stderr, ended.code), ("", Some(0)));
    let names = ended
        .stdout
        .lines()
        .filter_map(|it| it.split_whitespace().next());
    let names: Vec<&str> = names.collect();
    for name in ["echo", "read_text_file", "add", "ListResources"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(names.len() > 30, "{names:?}");
}
