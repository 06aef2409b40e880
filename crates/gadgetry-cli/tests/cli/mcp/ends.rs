//! Servers end with the program, however it ends.

use std::process::{Child, Command};

use super::super::workshop::{Ended, Workshop, block, reply};
use super::{AGENT, GADGETRY, own};

/// A server with a child that keeps the pipe `alive` open and does not heed SIGTERM.
fn with_child(server: &str) -> String {
    let (_, server) = server.split_once('=').expect("a name");
    let script = format!("trap '' TERM; exec 9>alive; sleep 1000 & echo up >&9; {server}");
    format!("kept=sh -c '{}'", script.replace('\'', r"'\''"))
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.expect("kill").success());
}

#[test]
fn after_a_run() {
    let check = |script: &str, code: i32| {
        let workshop = Workshop::new(script);
        let alive = workshop.watch_alive();
        let server = with_child(&own());
        let args = [&AGENT[..], &["--approval", "allow *", "--mcp", &server]].concat();
        let ended = Ended::of(&mut workshop.command(&args));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        alive.up();
        alive.gone();
    };
    check(&(reply(&block("Echo", "hi")) + &reply("Done.")), 0);
    // The script has no second reply.
    check(&reply(&block("Echo", "hi")), 1);
}

/// Also where the program ends before there is a run.
#[test]
fn after_a_mistake() {
    let workshop = Workshop::new("");
    let alive = workshop.watch_alive();
    let server = with_child(&own());
    let args = ["gadget", "info", "Nothing", "--mcp", &server];
    let ended = Ended::of(&mut workshop.command(&args));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    alive.up();
    alive.gone();
}

#[test]
fn after_an_interrupt_while_connecting() {
    let workshop = Workshop::new(&reply("Done."));
    let alive = workshop.watch_alive();
    let silent = "silent=sh -c 'trap \"\" TERM INT; exec 9>alive; echo up >&9; sleep 1000'";
    let args = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--mcp",
        silent,
    ];
    let child = workshop.command(&args).spawn().expect("it starts");
    alive.up();
    interrupt(&child);
    Ended::wait(child).check("", "error: cancelled\n", 1);
    alive.gone();
}

#[test]
fn after_an_interrupt_during_a_call() {
    let workshop = Workshop::new(&reply(&block("Hang", "")));
    let alive = workshop.watch_alive();
    let own = own();
    let args = [
        &AGENT[..],
        &["--no-session", "--approval", "allow *", "--mcp", &own],
    ]
    .concat();
    let child = workshop.command(&args).spawn().expect("it starts");
    alive.up();
    interrupt(&child);
    let ended = Ended::wait(child);
    assert_eq!((&*ended.stdout, ended.code), ("", Some(1)), "{ended:?}");
    assert!(ended.stderr.ends_with("error: cancelled\n"), "{ended:?}");
    alive.gone();
}

/// An interrupt while nothing but the connections waits for one ends the program as well.
#[test]
fn after_an_interrupt_between_runs() {
    let workshop = Workshop::new(&reply("Done."));
    let alive = workshop.watch_alive();
    let server = with_child(&own());
    let args = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--builtins",
        "none",
        "--mcp",
        &server,
    ];
    if !cfg!(feature = "chat") {
        return;
    }
    let mut command = Command::new(GADGETRY);
    super::super::workshop::without_keys(&mut command);
    let mut child = command
        .args(args)
        .env("XDG_DATA_HOME", workshop.path(""))
        .current_dir(workshop.path(""))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, b"Hello\n").expect("it is read");
    let mut answer = [0; 6];
    let stdout = child.stdout.as_mut().expect("a pipe");
    std::io::Read::read_exact(stdout, &mut answer).expect("an answer");
    assert_eq!(&answer, b"Done.\n");
    alive.up();
    // The run may be in its last steps, of which it cancels none; then another one is needed.
    while child.try_wait().expect("a state").is_none() {
        interrupt(&child);
        std::thread::yield_now();
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    drop(stdin);
    alive.gone();
}
