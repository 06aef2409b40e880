//! `worker`, `submit` and `remote` with a real Restate server, which `cargo xtask test servers` installs. Without it, the test
//! says that it is skipped.

#[path = "../../../gadgetry-restate/tests/support/restate.rs"]
#[expect(dead_code, reason = "the tests of the library use all of it")]
mod server;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};
use std::thread;

use serde_json::Value;

#[cfg(feature = "otel")]
use super::server::{Reply, Server as Collector};
use super::workshop::{Ended, Workshop, block, reply};
use server::Restate;

/// A gadget that leaves a line in `ups` when it starts, says so in the pipe `alive`, and ends when there is a file `go`.
const RISK: &str = r#"
[[gadget]]
name = "Risk"
description = "Waits"
on-interrupt = "ask"
command = ["sh", "-c", "echo up >> ups; [ -p alive ] && exec 9<>alive; echo up >&9; until [ -e go ]; do sleep 0.01; done; echo done"]
"#;

/// One more: another agent.
const MORE: &str = r#"
[[gadget]]
name = "More"
description = "Does more"
command = ["sh", "-c", "echo more >> more"]
"#;

/// The worker of all runs.
const WORKER: [&str; 5] = [
    "worker",
    "--model",
    "script:script.jsonl",
    "--gadgets",
    "gadgets.toml",
];

/// A worker, and where it listens.
struct Worker {
    process: Child,
    address: String,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn worker(workshop: &Workshop, restate: &Restate, listen: &str, more: &[&str]) -> Worker {
    started(&mut command(workshop, restate, listen, more))
}

fn command(workshop: &Workshop, restate: &Restate, listen: &str, more: &[&str]) -> Command {
    let served = [
        "--restate",
        &restate.ingress,
        "--restate-admin",
        &restate.admin,
        "--listen",
        listen,
    ];
    workshop.command(&[&WORKER, &served[..], more].concat())
}

fn started(command: &mut Command) -> Worker {
    let mut process = command.spawn().expect("it starts");
    let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
    let serves = lines.find_map(|line| {
        let line = line.expect("text");
        Some(
            line.strip_prefix("serving runs of Restate")?
                .rsplit(' ')
                .next()?
                .to_owned(),
        )
    });
    thread::spawn(move || lines.for_each(drop));
    Worker {
        process,
        address: serves.expect("it has ended before it served"),
    }
}

#[test]
fn runs_are_submitted_answered_followed_and_cancelled() {
    let (risk, done) = (reply(&block("Risk:w", "")), reply("Done."));
    let workshop = Workshop::new(&risk);
    workshop.write("gadgets.toml", RISK);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let Some(restate) = runtime.block_on(Restate::start(&workshop.path("restate"))) else {
        return;
    };
    let url = restate.ingress.as_str();
    let run = |args: &[&str]| {
        let args = [args, &["--restate", url]].concat();
        Ended::of(&mut workshop.command(&args))
    };
    // Waits until the status of a run has these words.
    let until = |id: &str, words: &str| {
        loop {
            let status = run(&["remote", "status", id]);
            assert_eq!(status.code, Some(0), "{status:?}");
            if status.stdout.contains(words) {
                return status.stdout;
            }
        }
    };

    let alive = workshop.watch_alive();
    let first = worker(&workshop, &restate, "127.0.0.1:0", &[]);
    run(&["submit", "Go!", "--run-id", "one"]).check("one\n", "", 0);
    run(&["submit", "Go!", "--run-id", "one"]).check("one\n", "run one was submitted before\n", 0);
    alive.up();
    until("one", "running\n");
    let address = first.address.clone();
    drop(first);

    // Another agent would not continue the run without `--force`.
    workshop.write("gadgets.toml", &[RISK, MORE].concat());
    // A script is of a process: this run, which continues after its first reply, and two others.
    let more = reply(&block("More:m", ""));
    let script = [&risk, &done, &more, &done, &risk].map(String::as_str);
    let script = script.concat();
    workshop.write("script.jsonl", &script);
    let more = ["--force", "--spread", "More"];
    let _second = worker(&workshop, &restate, &address, &more);
    let status = until("one", "question 0: ");
    assert!(
        status.starts_with("waiting for an answer\nquestion 0: Gadget 'Risk'"),
        "{status}"
    );
    workshop.write("go", "");
    for refused in [&["7", "yes"][..], &["0", "--decision", "stop"]] {
        let args = [&["remote", "answer", "one"], refused].concat();
        let refused = run(&args);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("has no open question"),
            "{refused:?}"
        );
    }
    run(&["remote", "answer", "one", "0", "yes"]).check("", "", 0);
    let followed = run(&["remote", "follow", "one"]);
    assert_eq!(
        (followed.stdout.as_str(), followed.code),
        ("Done.\n", Some(0)),
        "{followed:?}"
    );
    assert_eq!(workshop.read("ups"), "up\nup\n");
    let ended = run(&["remote", "status", "one"]);
    assert!(
        ended.stdout.starts_with("ended: Completed, 2 replies"),
        "{ended:?}"
    );

    let whole = run(&["submit", "Go!", "--run-id", "two", "--follow"]);
    assert_eq!(
        (whole.stdout.as_str(), whole.code),
        ("Done.\n", Some(0)),
        "{whole:?}"
    );
    assert_eq!(workshop.read("more"), "more\n");
    std::fs::remove_file(workshop.path("go")).expect("it is there");
    run(&["submit", "Go!", "--run-id", "three"]).check("three\n", "", 0);
    until("three", "running\n");
    let from = [
        "remote",
        "follow",
        "three",
        "--events",
        "jsonl",
        "--from-seq",
        "2",
    ];
    let following = [&from[..], &["--restate", url]].concat();
    let mut following = workshop.command(&following).spawn().expect("it starts");
    let lines = BufReader::new(following.stdout.take().expect("it is piped")).lines();
    let mut seen = Vec::new();
    for line in lines {
        // It follows: from here on it misses nothing.
        if seen.is_empty() {
            run(&["remote", "cancel", "three"]).check("", "", 0);
        }
        let event: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        seen.push(event);
    }
    let followed = Ended::wait(following);
    let last = seen.last().expect("events");
    assert_eq!(last["type"], "run_finished", "{followed:?}");
    let numbers: Vec<u64> = seen
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    let gapless = numbers.windows(2).all(|two| two[0] + 1 == two[1]);
    assert!(numbers[0] >= 2 && gapless, "{numbers:?}");
    let cancelled = until("three", "ended: ");
    assert!(cancelled.starts_with("ended: Cancelled"), "{cancelled}");

    // What cannot be.
    let fails = |args: &[&str], words: &str, code: i32| {
        let ended = Ended::of(&mut workshop.command(args));
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(words), "{args:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{args:?}");
    };
    fails(&["remote", "status", "four", "--restate", url], "four", 1);
    fails(
        &["remote", "cancel", "one", "--restate", url],
        "has ended",
        1,
    );
    fails(
        &["remote", "answer", "one", "0", "yes", "--restate", url],
        "run one has no open question 0",
        2,
    );
    fails(
        &["submit", "Go!", "--run-id", "a/b", "--restate", url],
        "a/b",
        2,
    );
    fails(&["submit", "Go!", "--restate", "nowhere"], "nowhere", 2);
    let spread = [&WORKER[..], &["--restate", url, "--spread", "Less"]].concat();
    fails(&spread, "--spread Less: there is no such gadget", 2);
    let spread = [
        "worker",
        "--model",
        "script:script.jsonl",
        "--spread",
        "RunCommand",
    ];
    fails(
        &[&spread[..], &["--restate", url]].concat(),
        "gadget RunCommand cannot be spread: its calls need approval",
        2,
    );
    fails(
        &["submit", "Go!", "--restate", "http://127.0.0.1:1"],
        "127.0.0.1:1",
        1,
    );
}

/// The rows of the other programs are in `telemetry`.
#[cfg(feature = "otel")]
#[test]
fn a_worker_sends_spans() {
    let workshop = Workshop::new(&reply("Done."));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let Some(restate) = runtime.block_on(Restate::start(&workshop.path("restate"))) else {
        return;
    };
    let collector = Collector::start([Reply::says("")]);
    let url = collector.url().trim_end_matches("/v1");
    let mut command = command(&workshop, &restate, "127.0.0.1:0", &[]);
    // A worker that is killed sends nothing more.
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
    ];
    let _worker = started(command.envs(variables));
    let submit = ["submit", "Go!", "--run-id", "one"];
    let submit = [&submit[..], &["--restate", &restate.ingress]].concat();
    Ended::of(&mut workshop.command(&submit)).check("one\n", "", 0);
    for name in ["chat script", "invoke_agent"] {
        collector.wait_for(|asked| {
            let bodies = asked.iter().filter_map(|it| it.body.as_str());
            bodies.into_iter().any(|body| body.contains(name))
        });
    }
}
