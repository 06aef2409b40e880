//! `gadgetry acp`, with the official SDKs as clients.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::acp::{AGENT, texts};
use super::found;
use super::workshop::{Ended, Workshop, call, reply};

/// A client of an SDK: the interpreter, and the script with its first arguments.
pub(super) fn clients() -> Vec<Vec<String>> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp_clients");
    let script = |name: &str| scripts.join(name).display().to_string();
    let python = found::installed("acp-python").map(|it| vec![it, script("client.py")]);
    let node = found::installed("acp-node");
    let node = node.map(|it| vec!["node".to_owned(), script("client.mjs"), it]);
    let clients: Vec<_> = python.into_iter().chain(node).collect();
    assert!(
        !clients.is_empty(),
        "no client is installed: run `cargo xtask test servers`"
    );
    clients
}

/// Runs a scenario with each SDK, and gives what it has seen to `check`.
fn each(script: &str, scenario: (&str, &str), options: &[&str], check: impl Fn(&Workshop, &Value)) {
    for client in clients() {
        let workshop = Workshop::new(script);
        workshop.write("a.txt", "one\ntwo\n");
        let seen = run(&client, &workshop, scenario, &[&AGENT, options].concat());
        check(&workshop, &seen);
    }
}

/// Runs a scenario with a client, and the agent with these arguments, in the folder of the workshop; returns what the client has seen.
#[track_caller]
pub(super) fn run(
    client: &[String],
    workshop: &Workshop,
    (scenario, choice): (&str, &str),
    agent: &[&str],
) -> Value {
    let made = Command::new("mkfifo").arg(workshop.path("alive")).status();
    assert!(made.expect("mkfifo").success());
    let (program, first) = client.split_first().expect("a program");
    let mut command: Command = workshop.run(program, &[]);
    command.args(first).args([scenario, choice]);
    command.arg(workshop.path("")).arg(super::GADGETRY);
    command.args(agent).env("TEST_API_KEY", "12345");
    let ended = Ended::of(&mut command);
    assert_eq!(ended.code, Some(0), "{client:?}: {ended:#?}");
    let seen: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    if matches!(scenario, "cancel" | "kill") {
        // No process of the command is left.
        assert_eq!((&seen["up"], &seen["gone"]), (&json!("up\n"), &json!("")));
    }
    assert_eq!(seen["agent"]["protocolVersion"], 1, "{client:?}");
    assert_eq!(seen["modes"], json!(["ask", "accept-edits", "plan"]));
    seen
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The last state of a call.
fn last<'v>(updates: &'v [Value], call: &str, field: &str) -> &'v Value {
    let of_call = updates.iter().rev().filter(|it| it["toolCallId"] == call);
    let mut values = of_call.map(|it| &it[field]);
    values.find(|it| !it.is_null()).unwrap_or(&Value::Null)
}

const EDIT: &str = "!!!ARG:filePath\na.txt\n!!!ARG:search\ntwo\n!!!ARG:replace\n2\n";

#[test]
fn a_task_is_allowed() {
    let read = call("ReadFile", "!!!ARG:filePath\na.txt\n");
    let script = reply(&read) + &reply(&call("EditFile", EDIT)) + &reply("It is done.");
    for choice in ["allow_once", "allow_always"] {
        each(&script, ("task", choice), &[], |workshop, seen| {
            assert_eq!(seen["stop"], "end_turn", "{seen:#}");
            assert_eq!(workshop.read("a.txt"), "one\n2\n");
            let updates = list(&seen["updates"]);
            assert_eq!(texts(updates, "agent_message_chunk"), "It is done.");
            assert_eq!(last(updates, "1.0", "kind"), "read");
            assert_eq!(last(updates, "1.0", "status"), "completed");
            assert_eq!(last(updates, "1.1", "kind"), "edit");
            assert_eq!(last(updates, "1.1", "title"), "Edit a.txt");
            assert_eq!(last(updates, "1.1", "status"), "completed");
            let path = workshop.path("a.txt");
            assert_eq!(
                last(updates, "1.1", "locations"),
                &json!([{ "path": path }])
            );
            let diff = json!([{ "type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\n2\n" }]);
            assert_eq!(last(updates, "1.1", "content"), &diff);
            let permissions = list(&seen["permissions"]);
            assert_eq!(permissions.len(), 1, "{seen:#}");
            assert_eq!(permissions[0]["toolCall"]["content"], diff);
            let kinds = list(&permissions[0]["kinds"]);
            assert_eq!(kinds.first(), Some(&json!("allow_once")));
            assert_eq!(kinds.last(), Some(&json!("reject_always")));
        });
    }
}

#[test]
fn a_call_is_rejected() {
    let refused = json!({ "text": "Then not.", "expect": { "contains": ["Denied by the user"] } });
    let script = format!("{}{refused}\n", reply(&call("EditFile", EDIT)));
    for choice in ["reject_once", "reject_always"] {
        each(&script, ("task", choice), &[], |workshop, seen| {
            assert_eq!(seen["stop"], "end_turn", "{seen:#}");
            assert_eq!(workshop.read("a.txt"), "one\ntwo\n");
            let updates = list(&seen["updates"]);
            assert_eq!(last(updates, "1.0", "status"), "failed");
            assert_eq!(texts(updates, "agent_message_chunk"), "Then not.");
        });
    }
}

/// Changes that are not saved are what the agent edits, and the editor has the result.
#[test]
fn files_of_the_editor() {
    let edit = EDIT.replace("two", "unsaved");
    let script = reply(&call("EditFile", &edit)) + &reply("It is done.");
    each(&script, ("files", "allow_once"), &[], |workshop, seen| {
        assert_eq!(seen["stop"], "end_turn", "{seen:#}");
        assert_eq!(seen["files"], json!(["one\n2\n"]));
        assert_eq!(workshop.read("a.txt"), "one\ntwo\n");
        let path = workshop.path("a.txt");
        let diff = json!([{ "type": "diff", "path": path, "oldText": "one\nunsaved\n", "newText": "one\n2\n" }]);
        assert_eq!(seen["permissions"][0]["toolCall"]["content"], diff);
        // The SDK for Python has no request for it.
        if let Some(left) = seen.get("left") {
            assert_eq!(left, 0, "{seen:#}");
        }
    });
}

/// Without the sandbox, commands run in terminals of the client, and do not see its keys.
#[test]
fn terminals_of_the_client() {
    let command = "echo \"key=$TEST_API_KEY\"; pwd; exit 3";
    let run = call("RunCommand", &format!("!!!ARG:command\n{command}\n"));
    let read = json!({ "text": "It failed.", "expect": { "contains": ["status=3", "key=\n"] } });
    let script = format!("{}{read}\n", reply(&run));
    each(
        &script,
        ("terminal", "allow_once"),
        &[],
        |workshop, seen| {
            assert_eq!(seen["stop"], "end_turn", "{seen:#}");
            let terminals = list(&seen["terminals"]);
            assert_eq!(
                (terminals.len(), &seen["released"]),
                (1, &seen["terminals"])
            );
            let updates = list(&seen["updates"]);
            let shown = json!([{ "type": "terminal", "terminalId": terminals[0] }]);
            assert!(updates.iter().any(|it| it["content"] == shown), "{seen:#}");
            assert_eq!(last(updates, "1.0", "status"), "failed");
            let result = last(updates, "1.0", "content")[0]["content"]["text"].clone();
            let folder = workshop.path("");
            let folder = folder.canonicalize().expect("a folder");
            let expected = format!("status=3\n\nkey=\n{}\n", folder.display());
            assert_eq!(result, format!("```\n{expected}```"));
            let shown = list(&seen["permissions"][0]["toolCall"]["content"]);
            let notes = shown.last().map(|it| &it["content"]["text"]);
            assert_eq!(notes, Some(&json!("in a terminal of the editor")));
        },
    );
    let sandboxed = call("RunCommand", "!!!ARG:command\necho here\n");
    let script = reply(&sandboxed) + &reply("Done.");
    each(
        &script,
        ("terminal", "allow_once"),
        &["--sandbox"],
        |_, seen| {
            assert_eq!(seen["terminals"], json!([]), "{seen:#}");
        },
    );
}

/// A command that holds the pipe `alive` open, and does not end.
fn long() -> String {
    let command = "exec 9>alive; echo up >&9; sleep 1000 & wait";
    call("RunCommand", &format!("!!!ARG:command\n{command}\n"))
}

#[test]
fn a_prompt_is_cancelled() {
    let script = reply(&format!("On it.\n{}", long())) + &reply("Never.");
    let options = ["--approval", "allow RunCommand"];
    each(&script, ("cancel", "allow_once"), &options, |_, seen| {
        assert_eq!(seen["stop"], "cancelled", "{seen:#}");
        let updates = list(&seen["updates"]);
        assert_eq!(last(updates, "1.0", "kind"), "execute");
        assert_eq!(last(updates, "1.0", "status"), "failed");
    });
}

#[test]
fn a_killed_agent_is_loaded() {
    // The run continues where it was, and the prompt is added to it.
    let unknown = ["Whether it took effect is unknown"];
    let first = json!({ "text": "I check.", "expect": { "contains": unknown } });
    let more = json!({ "text": "I continue.", "expect": { "contains": ["Go on."] } });
    let script = format!("{}{first}\n{more}\n", reply(&format!("On it.\n{}", long())));
    let options = ["--approval", "allow RunCommand"];
    each(&script, ("kill", "allow_once"), &options, |_, seen| {
        assert_eq!(seen["listed"], json!([true]), "{seen:#}");
        assert_eq!(seen["title"], "Do it.");
        let loaded = list(&seen["loaded"]);
        assert_eq!(texts(loaded, "user_message_chunk"), "Do it.");
        assert_eq!(texts(loaded, "agent_message_chunk").trim(), "On it.");
        assert_eq!(last(loaded, "1.0", "status"), "failed");
        assert_eq!(seen["stop"], "end_turn", "{seen:#}");
        let continued = list(&seen["continued"]);
        assert_eq!(
            texts(continued, "agent_message_chunk"),
            "I check.I continue."
        );
        assert_eq!(seen["unknown"], -32002);
    });
}
