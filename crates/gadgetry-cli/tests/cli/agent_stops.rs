//! `gadgetry agent` is stopped from outside: by signals, and by a reader who goes away. No process of a gadget stays.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::workshop::{Alive, Ended, Workshop, block, events, reply, signal};

/// A reply that goes on when its gadgets run: one that hangs, one that waits for it, and a block that is not complete.
fn streaming() -> String {
    let calls = format!(
        "{}{}!!!GADGET_START:Touch:c\n",
        block("Hang:a", ""),
        block("Echo:b:a", "x")
    );
    let chunks =
        serde_json::json!({ "chunks": ["Go.\n", calls, { "delayMs": 3_600_000 }, "never"] });
    format!("{chunks}\n")
}

/// A reply that has ended when its gadgets run.
fn read() -> String {
    reply(&format!(
        "{}{}",
        block("Hang:a", ""),
        block("Echo:b:a", "x")
    ))
}

fn start(workshop: &Workshop, args: &[&str]) -> (Child, Alive) {
    let alive = workshop.watch_alive();
    let child = workshop.agent(args).spawn().expect("it starts");
    alive.up();
    (child, alive)
}

#[test]
fn a_signal_cancels_the_run() {
    for (script, calls) in [(streaming(), 3), (read(), 2)] {
        for name in ["INT", "TERM"] {
            let workshop = Workshop::new(&script);
            let args = ["--events", "jsonl", "--save", "run.log"];
            let (child, alive) = start(&workshop, &args);
            signal(&child, name);
            let ended = Ended::wait(child);
            alive.gone();
            ended.check(&ended.stdout, "error: cancelled\n", 1);
            check_cancelled(&events(&ended.stdout), calls);
            assert!(!workshop.has("trace"));
            let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
            again.check(&ended.stdout, "", 0);
        }
    }
}

/// Every call was answered once, and then the run was over.
#[track_caller]
fn check_cancelled(events: &[Value], calls: usize) {
    let ids = |kinds: &[&str]| -> Vec<String> {
        let of = events
            .iter()
            .filter(|event| kinds.iter().any(|kind| event["type"] == *kind));
        let mut ids: Vec<String> = of.map(|event| event["invocationId"].to_string()).collect();
        ids.sort_unstable();
        ids
    };
    let called = ids(&["gadget_call"]);
    assert_eq!(called.len(), calls);
    assert_eq!(called, ids(&["gadget_result", "gadget_skipped"]));
    let last = events.last().expect("events");
    assert_eq!(last["type"], "run_finished");
    assert_eq!(last["reason"], "cancelled");
}

#[test]
fn a_run_has_so_much_time() {
    let slow = "{\"chunks\":[\"Go.\",{\"delayMs\":3600000}]}\n";
    let workshop = Workshop::new(slow);
    let args = ["--timeout", "200ms", "--save", "run.log"];
    let (events, ended) = workshop.events(&args);
    ended.check(&ended.stdout, "error: the run exceeded its --timeout\n", 1);
    check_cancelled(&events, 0);
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    again.check(&ended.stdout, "", 0);
    let quick = Workshop::new(&reply("Done."));
    let ended = Ended::of(&mut quick.agent(&["--timeout", "1h", "--quiet"]));
    ended.check("Done.\n", "", 0);
}

#[test]
fn an_interrupted_run_ends_with_one_line() {
    let workshop = Workshop::new(&streaming());
    let (child, alive) = start(&workshop, &[]);
    signal(&child, "INT");
    let ended = Ended::wait(child);
    alive.gone();
    assert_eq!(ended.stdout, "Go.\n");
    let last = ended.stderr.lines().last();
    assert_eq!((last, ended.code), (Some("error: cancelled"), Some(1)));
}

#[test]
fn a_second_signal_waits_for_nothing() {
    // More than a pipe holds, and nobody reads it: the run cannot be told anything.
    let long = reply(&format!(
        "{}{}",
        block("Hang:a", ""),
        "long ".repeat(200_000)
    ));
    let workshop = Workshop::new(&long);
    // A session would start the gadget only after what has arrived of the reply was shown.
    let (child, alive) = start(&workshop, &["--events", "jsonl", "--no-session"]);
    let (sender, receiver) = channel();
    let pid = child.id();
    thread::scope(|scope| {
        scope.spawn(move || {
            // One that comes too early is the same as the one before it.
            while receiver.recv_timeout(Duration::from_millis(50)).is_err() {
                let pid = pid.to_string();
                drop(Command::new("kill").args(["-s", "INT", &pid]).status());
            }
        });
        alive.gone();
        let ended = wait_without_reading(child);
        sender.send(()).expect("somebody listens");
        let stderr = "error: stopped without waiting for the gadgets\n";
        ended.check("", stderr, 1);
    });
}

fn wait_without_reading(mut child: Child) -> Ended {
    let code = child.wait().expect("it ends").code();
    drop(child.stdout.take());
    Ended {
        code,
        ..Ended::wait(child)
    }
}

#[test]
fn a_reader_who_goes_ends_the_run() {
    for script in [streaming(), read()] {
        let workshop = Workshop::new(&script);
        let (mut child, alive) = start(&workshop, &["--events", "jsonl"]);
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        assert!(line.contains("run_start"), "{line}");
        drop(stdout);
        let ended = Ended::wait(child);
        alive.gone();
        ended.check("", "", 0);
    }
}

#[test]
fn a_run_succeeds_when_stdout_is_closed() {
    let workshop = Workshop::new(&(reply(&block("Touch:a", "")) + &reply("Done.")));
    let mut child = workshop.agent(&[]).spawn().expect("it starts");
    drop(child.stdout.take());
    let ended = Ended::wait(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The work is wanted all the same.
    assert!(workshop.has("trace"));
}

/// A system that allows no further thread is an error, and not a panic.
#[test]
#[cfg(target_os = "linux")]
fn too_few_processes() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let workshop = Workshop::new(&reply("Hi."));
    let command = "ulimit -u 1; exec ./copy agent Go! --quiet --model script:script.jsonl --gadgets gadgets.toml";
    // Not by this process: a child of another test could keep the file open for writing.
    let mut copy = workshop.run("cp", &[super::GADGETRY, "copy"]);
    Ended::of(&mut copy).check("", "", 0);
    // The limit is one of a user, and none of root.
    set_permissions(workshop.path("."), Permissions::from_mode(0o755)).expect("a mode");
    let id = Command::new("id").arg("-u").output().expect("id").stdout;
    let mut limited = if id == b"0\n" {
        let user = ["--reuid=65533", "--clear-groups", "bash", "-c", command];
        workshop.run("setpriv", &user)
    } else {
        workshop.run("bash", &["-c", command])
    };
    let error = "error: system error: Resource temporarily unavailable (os error 11)\n";
    Ended::of(&mut limited).check("", error, 1);
}

/// Gadgets whose process stays: in its group, in a session of its own, and one that has left both its parents.
#[cfg(target_os = "linux")]
fn gadgets_that_stay(workshop: &Workshop, ends: &str) {
    let stay = "exec 9>alive; echo up >&9; trap '' TERM HUP INT; touch ready; sleep 1000";
    let file: String = [("Group", "sh -c"), ("Session", "setsid sh -c"), ("Orphan", "setsid -f sh -c")]
        .map(|(name, start)| {
            let line = format!("{start} \"{stay}\" > /dev/null 2>&1 & until [ -e ready ]; do sleep 0.01; done; {ends}");
            format!("[[gadget]]\nname = \"{name}\"\ndescription = \"Stays\"\ncommand = [\"sh\", \"-c\", '''{line}''']\n")
        })
        .concat();
    workshop.write("gadgets.toml", &file);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_outlives_a_call() {
    for name in ["Group", "Session", "Orphan"] {
        let workshop = Workshop::new(&(reply(&block(name, "")) + &reply("Done.")));
        gadgets_that_stay(&workshop, "exit 0");
        let (child, alive) = start(&workshop, &[]);
        alive.gone();
        assert_eq!(Ended::wait(child).stdout, "Done.\n", "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_outlives_a_program_that_is_killed() {
    for name in ["Group", "Session", "Orphan"] {
        let workshop = Workshop::new(&reply(&block(name, "")));
        gadgets_that_stay(&workshop, "wait; sleep 1000");
        let (child, alive) = start(&workshop, &[]);
        signal(&child, "KILL");
        alive.gone();
        Ended::wait(child);
    }
}

/// `kill -9` at any moment: a gadget has its whole input, or has not started.
#[cfg(target_os = "linux")]
#[test]
fn a_gadget_has_its_input_however_the_program_ends() {
    let input = "x".repeat(100_000);
    for moment in 0..40 {
        let workshop = Workshop::new(&reply(&block("Log", &input)));
        workshop.write(
            "gadgets.toml",
            "[[gadget]]\nname = \"Log\"\ndescription = \"Logs\"\ncommand = [\"sh\", \"-c\", '''trap \"\" TERM; echo up > alive; wc -c >> log''']\nparameters = { type = \"object\", properties = { say = { type = \"string\" } } }\n",
        );
        let alive = workshop.watch_alive();
        let child = workshop.agent(&[]).spawn().expect("it starts");
        // Soon after the start of the gadget, or some steps of this thread later.
        alive.up();
        for _ in 0..moment {
            thread::yield_now();
        }
        signal(&child, "KILL");
        alive.gone();
        Ended::wait(child);
        if workshop.has("log") {
            let log = workshop.read("log");
            assert!(
                log.is_empty()
                    || log.trim() == format!("{}", input.len() + "{\"say\":\"\"}\n".len()),
                "{log}"
            );
        }
    }
}
