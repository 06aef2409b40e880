//! The official SDKs and two coding agents as clients, installed by `cargo xtask test servers`.
//!
//! Each battery prints `ok NAME` or `FAIL NAME: reason` for each of its cases.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
#[cfg(unix)]
use std::{fs, os::unix::fs::symlink};

use tokio::process::Command;

use crate::support::command;
use crate::support::world::World;

/// How long a battery may take on a machine that is busy.
const LIMIT: Duration = Duration::from_mins(10);

/// Runs a battery, and fails with the cases of it that have failed.
async fn run(program: &[String], arguments: &[&str]) {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).args(arguments);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    let output = output.expect("it ends").expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", failed.join("\n"));
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed > 1, "{text}\n{errors}");
}

fn battery(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    folder.join(name).display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn python_sdks() {
    let Some(program) = command("sdk-python") else {
        return;
    };
    let world = World::start().await;
    run(&program, &[&battery("sdk/battery.py"), &world.url("")]).await;
}

/// The client of `README.md`, whose question here makes the model obey.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_readme() {
    let Some(mut program) = command("sdk-python") else {
        return;
    };
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```python\n").skip(1);
    let mut clients = blocks.filter_map(|rest| rest.split("```").next());
    let client = clients
        .find(|it| it.contains("import OpenAI"))
        .expect("a client");
    let world = World::start().await;
    let client = client
        .replace("http://127.0.0.1:8787", &world.url(""))
        .replace("What is the weather in Paris?", "scenario: obedient");
    let python = program.remove(0);
    let mut command = Command::new(python);
    command.args(program).args(["-c", &client]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    let output = output.expect("it ends").expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "{\"city\":\"Oslo\"}\n",
        "{errors}"
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn javascript_sdks() {
    let Some(list) = command("sdk-node") else {
        return;
    };
    let installed = list.last().expect("it names a folder");
    // Modules are looked for next to the program and above it.
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(battery("sdk")).expect("the programs") {
        let path = entry.expect("a program").path();
        if path.extension().is_some_and(|it| it == "mjs") {
            let name = path.file_name().expect("it has a name");
            fs::copy(&path, folder.path().join(name)).expect("it is written");
        }
    }
    let modules = Path::new(installed).join("node_modules");
    symlink(modules, folder.path().join("node_modules")).expect("a link");
    let world = World::start().await;
    let program = folder.path().join("battery.mjs").display().to_string();
    run(&["node".to_owned(), program], &[&world.url("")]).await;
}
