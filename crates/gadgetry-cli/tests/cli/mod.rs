//! The binary from outside: arguments and stdin in; stdout, stderr and exit code out.

#[cfg(all(feature = "acp", target_os = "linux"))]
mod acp;
#[cfg(all(feature = "acp", feature = "mcp", target_os = "linux"))]
mod acp_clients;
#[cfg(all(feature = "acp", target_os = "linux"))]
mod acp_options;
mod agent;
mod agent_events;
mod agent_images;
mod agent_mistakes;
mod agent_models;
mod agent_stops;
mod batch;
mod builtins;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_commands;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_config;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_hooks;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_images;
mod chat_limits;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_modes;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_plain;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_project;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_rewind;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_theme;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod chat_transcript;
mod complete;
mod config;
mod demo;
mod docs;
#[cfg(all(unix, feature = "inspect", feature = "otel", feature = "chat"))]
mod docs_commands;
mod doctor;
mod eval;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod first_run;
#[cfg(all(
    any(feature = "acp", feature = "inspect", feature = "mcp"),
    target_os = "linux"
))]
#[path = "../../../gadgetry-mcp/tests/support/found.rs"]
mod found;
mod gadget;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod gadget_form;
mod headless;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(all(feature = "inspect", target_os = "linux"))]
mod inspect;
mod logging;
#[cfg(all(feature = "mcp", target_os = "linux"))]
mod mcp;
mod models;
mod options;
#[cfg(target_os = "linux")]
mod own_files;
mod parse;
mod picture;
mod pipes;
#[cfg(target_os = "linux")]
mod privacy;
mod project;
mod real_models;
#[cfg(feature = "restate")]
mod restate;
#[cfg(all(feature = "chat", target_os = "linux"))]
mod screen;
mod serve;
mod server;
mod session_damage;
mod sessions;
mod skill;
#[cfg(all(feature = "acp", feature = "mcp", target_os = "linux"))]
mod task;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(target_os = "linux")]
mod terminal;
mod workshop;
mod worktree;
mod write;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;

const GADGETRY: &str = env!("CARGO_BIN_EXE_gadgetry");

/// Runs the binary and compares everything that comes out of it.
#[track_caller]
fn check(args: &[&str], stdin: impl AsRef<[u8]>, stdout: &str, stderr: &str, code: i32) {
    let output = run(args, stdin.as_ref());
    let context = format!(
        "gadgetry {args:?} < {:?}",
        String::from_utf8_lossy(stdin.as_ref())
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        stdout,
        "stdout of {context}"
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        stderr,
        "stderr of {context}"
    );
    assert_eq!(output.status.code(), Some(code), "exit code of {context}");
}

/// Runs the binary with this input.
fn run(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(GADGETRY);
    workshop::without_config(&mut command);
    let mut child = command
        .args(args)
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    thread::scope(|scope| {
        // A command that ends early does not read all of it.
        scope.spawn(move || drop(pipe.write_all(stdin)));
        child.wait_with_output().expect("the binary ends")
    })
}

/// The JSON values on the lines of a successful run's stdout.
#[track_caller]
fn lines(args: &[&str], stdin: impl AsRef<[u8]>) -> Vec<Value> {
    let output = run(args, stdin.as_ref());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Events with adjacent deltas of one thing joined.
fn joined(events: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events {
        match joined.last_mut() {
            Some(last) if continues(last, &event) => {
                let field = if event["type"] == "text" {
                    "text"
                } else {
                    "delta"
                };
                let text = format!("{}{}", text(&last[field]), text(&event[field]));
                *last = event;
                last[field] = text.into();
            }
            Some(_) | None => joined.push(event),
        }
    }
    joined
}

fn continues(last: &Value, event: &Value) -> bool {
    let same = ["type", "invocationId", "fieldPath", "blockId"]
        .iter()
        .all(|field| last.get(field) == event.get(field));
    let kind = text(&event["type"]);
    let more = matches!(kind, "text" | "gadget_args_partial" | "custom_block_delta");
    same && more && last.get("isFieldComplete") != Some(&Value::Bool(true))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}
