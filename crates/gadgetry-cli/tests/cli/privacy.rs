//! No telemetry: without a model on the network, the program does not even try to connect.

use std::process::{Command, Stdio};

use super::GADGETRY;
use super::workshop::{Workshop, reply, without_keys};

/// Counters of the kernel for packets, and for attempts to send some without a network.
const COUNTERS: [&str; 6] = [
    "Ip OutNoRoutes",
    "Ip OutRequests",
    "Tcp ActiveOpens",
    "Udp OutDatagrams",
    "Ip6OutNoRoutes",
    "Ip6OutRequests",
];

/// Runs the program in a network of its own, in which there is nothing, and returns how often it tried to send something.
fn attempts(workshop: &Workshop, args: &[&str]) -> u64 {
    attempts_of(workshop, args, r#""$@" > printed 2>&1; echo "code $?""#)
}

/// The same for a server: it prints a line when it listens, and then it is stopped.
fn attempts_of_server(workshop: &Workshop, args: &[&str]) -> u64 {
    let script = r#"mkfifo lines; "$@" > lines 2>&1 & exec 3< lines; read -r line <&3; kill -TERM $!; wait $!; echo "code $?""#;
    attempts_of(workshop, args, script)
}

fn attempts_of(workshop: &Workshop, args: &[&str], script: &str) -> u64 {
    let script = &format!("{script}; cat /proc/net/snmp /proc/net/snmp6");
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", script, "sh", GADGETRY]);
    without_keys(&mut command);
    let output = command
        .args(args)
        .current_dir(workshop.path(""))
        .env("XDG_DATA_HOME", workshop.path(""))
        .env("XDG_CONFIG_HOME", workshop.path("config"))
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.starts_with("code 0") || args.contains(&"--base-url"),
        "{args:?}: {text}"
    );
    let counted = counters(&text);
    assert_eq!(counted.len(), COUNTERS.len(), "{text}");
    counted.into_iter().sum()
}

/// The values of [`COUNTERS`]: in pairs of lines with names and values, and in lines of both.
fn counters(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2) {
        let (names, values) = (pair[0].split_once(": "), pair[1].split_once(": "));
        if let (Some((table, names)), Some((other, values))) = (names, values)
            && table == other
        {
            let columns = names.split(' ').zip(values.split(' '));
            let wanted =
                columns.filter(|(name, _)| COUNTERS.contains(&&*format!("{table} {name}")));
            found.extend(wanted.filter_map(|(_, value)| value.parse::<u64>().ok()));
        }
    }
    let words = lines
        .iter()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    for words in words {
        if let [name, value] = words[..]
            && COUNTERS.contains(&name)
        {
            found.extend(value.parse::<u64>());
        }
    }
    found
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn no_telemetry() {
    let can = Command::new("unshare").args(["-rn", "true"]).output();
    if !can.is_ok_and(|it| it.status.success()) {
        eprintln!("skipped: this machine gives no network namespaces to users");
        return;
    }
    let workshop = Workshop::new(&reply("Hi."));
    workshop.write("script.jsonl", &reply("Hi."));
    for args in [
        &["demo"][..],
        &["agent", "Hello", "--model", "script:script.jsonl"],
        &["complete", "Hello", "--model", "script:script.jsonl"],
        &["sessions", "list"],
        &["gadget", "list"],
        &["config"],
        &["models", "--all"],
        &["--version"],
        // These end with their input, which is empty.
        &["chat", "--model", "script:script.jsonl"],
        &["acp", "--model", "script:script.jsonl"],
        &["mcp", "serve"],
    ] {
        assert_eq!(attempts(&workshop, args), 0, "{args:?}");
    }
    let serve = [
        "serve",
        "--upstream",
        "http://192.0.2.1/v1",
        "--listen",
        "127.0.0.1:0",
    ];
    for args in [&serve[..], &["inspect"]] {
        assert_eq!(attempts_of_server(&workshop, args), 0, "{args:?}");
    }
    // The same counters see a model that is asked for.
    let model = [
        "complete",
        "Hello",
        "--model",
        "m",
        "--base-url",
        "http://192.0.2.1/v1",
        "--max-retries",
        "0",
    ];
    assert!(attempts(&workshop, &model) > 0);
}
