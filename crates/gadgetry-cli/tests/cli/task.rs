//! Whole tasks with built-in gadgets, on a model server that others wrote: a repository whose test fails, and passes afterwards.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::acp::texts;
use super::acp_clients::{clients, list, run};
use super::workshop::{Ended, Workshop, call};
use foreign::Server;

#[path = "../../../gadgetry-providers/tests/foreign_servers/server.rs"]
#[expect(dead_code, reason = "the runtime's tests use all of it")]
mod foreign;

/// A repository with a test that fails.
struct Repository {
    files: &'static [(&'static str, &'static str)],
    /// What the model looks for, where it finds that, and what it writes instead.
    wrong: &'static str,
    file: &'static str,
    right: &'static str,
    /// Runs the tests.
    test: &'static str,
    /// What the tests print when they pass.
    passed: &'static str,
}

const RUST: Repository = Repository {
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
        ),
        (
            "src/lib.rs",
            "pub fn mean(numbers: &[f64]) -> f64 {\n    numbers.iter().sum::<f64>() / 2.0\n}\n\n#[test]\nfn of_three() {\n    assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);\n}\n",
        ),
        (".gitignore", "target/\n"),
    ],
    wrong: "/ 2.0",
    file: "src/lib.rs",
    right: "/ numbers.len() as f64",
    test: "CARGO_TARGET_DIR=target cargo test --quiet --offline 2>&1",
    passed: "1 passed; 0 failed",
};

const PYTHON: Repository = Repository {
    files: &[
        (
            "words.py",
            "def words(text):\n    return text.split(\" \")\n",
        ),
        (
            "test_words.py",
            "import unittest\nfrom words import words\n\n\nclass Words(unittest.TestCase):\n    def test_blanks(self):\n        self.assertEqual(words(\"a  b\"), [\"a\", \"b\"])\n",
        ),
    ],
    wrong: "split(\" \")",
    file: "words.py",
    right: "split()",
    test: "python3 -m unittest 2>&1",
    passed: "OK",
};

impl Repository {
    /// The replies of the model. Each is for a conversation that ends with the result before it.
    fn replies(&self, prompt: &str, interrupted: bool) -> Vec<Value> {
        let run = |id: &str, command: &str| {
            let arguments = format!("!!!ARG:command\n{command}\n!!!ARG:timeout\n600000\n");
            call(&format!("RunCommand:{id}"), &arguments)
        };
        let look = call("ListDirectory:l", "")
            + &call(
                "Search:s",
                &format!("!!!ARG:pattern\n{}\n!!!ARG:literal\ntrue\n", self.wrong),
            )
            + &run("before", self.test);
        let read = call("ReadFile:r", &format!("!!!ARG:filePath\n{}\n", self.file));
        let edit = call(
            "EditFile:e:r",
            &format!(
                "!!!ARG:filePath\n{}\n!!!ARG:search\n{}\n!!!ARG:replace\n{}\n",
                self.file, self.wrong, self.right
            ),
        );
        let wait = "exec 9>alive; echo up >&9; until [ -e go ]; do sleep 0.01; done; echo waited";
        let mut replies = vec![
            (prompt, look),
            ("1 match in 1 file", read + &edit),
            ("status=success strategy=exact", run("after", self.test)),
            (
                self.passed,
                call("Finish:f", "!!!ARG:message\nFixed, and the tests pass.\n"),
            ),
        ];
        if interrupted {
            replies.insert(3, (self.passed, run("wait", wait)));
            replies[4].0 = "interrupted";
            // A message that is added continues the run.
            replies.push(("Go on.", "There is no more to do.".to_owned()));
        }
        let replies = replies.into_iter().enumerate();
        let replies = replies.map(|(turn, (last, content))| {
            json!({
                "match": { "turnIndex": turn, "userMessage": last },
                "response": { "content": content },
                "chunkSize": 5,
            })
        });
        replies.collect()
    }

    fn workshop(&self) -> Workshop {
        let workshop = Workshop::new("");
        for (name, text) in self.files {
            let path = workshop.path(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        workshop
    }

    /// Whether the tests of the repository pass, without gadgetry.
    fn passes(&self, workshop: &Workshop) -> bool {
        let ended = Ended::of(&mut workshop.run("sh", &["-c", self.test]));
        ended.code == Some(0)
    }
}

/// The server with these replies; `None`, with a notice, if it is not installed.
fn start(replies: &[Value]) -> Option<(Runtime, Server, TempDir)> {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let fixtures = json!({ "fixtures": replies }).to_string();
    std::fs::write(folder.path().join("fixtures.json"), fixtures).expect("a file");
    let path = folder.path().to_str().expect("it is text").to_owned();
    let server = runtime.block_on(Server::start(
        "aimock",
        &["-p", "0", "-f", &path, "--validate-on-load"],
    ))?;
    Some((runtime, server, folder))
}

fn agent(workshop: &Workshop, server: &Server, args: &[&str]) -> Command {
    let url = server.url("/v1");
    let all = [
        "agent",
        "--base-url",
        &url,
        "--model",
        "any",
        "--markers",
        "plain",
    ];
    let all = [&all[..], &["--max-iterations", "20"], args].concat();
    let mut command = workshop.command(&all);
    // Its packages and toolchain are those of the machine.
    for variable in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        command.envs(std::env::var_os(variable).map(|value| (variable, value)));
    }
    command
}

/// Fails, is fixed by the agent of an editor, with each official SDK, and passes.
fn fix_in_editor(repository: &Repository, scenario: (&str, &str), options: &[&str]) {
    for client in clients() {
        let replies = repository.replies("Do it.", scenario.0 == "kill");
        let Some((_runtime, server, _folder)) = start(&replies) else {
            return;
        };
        let workshop = repository.workshop();
        assert!(!repository.passes(&workshop));
        let (url, data) = (server.url("/v1"), tempfile::tempdir().expect("a folder"));
        let data = data.path().display().to_string();
        let model = ["acp", "--no-config", "--base-url", &url, "--model", "any"];
        let usual = ["--markers", "plain", "--data-dir", &data];
        let agent = [&model[..], &usual, options].concat();
        let seen = run(&client, &workshop, scenario, &agent);
        assert_eq!(seen["stop"], "end_turn", "{seen:#}");
        let said = seen.get("continued").unwrap_or(&seen["updates"]);
        let said = texts(list(said), "agent_message_chunk");
        assert!(said.starts_with("Fixed, and the tests pass."), "{seen:#}");
        assert!(repository.passes(&workshop), "{seen:#}");
    }
}

/// Fails, is fixed, and passes.
fn fix(repository: &Repository, rights: &[&str]) {
    let Some((_runtime, server, _folder)) = start(&repository.replies("Fix", false)) else {
        return;
    };
    let workshop = repository.workshop();
    assert!(!repository.passes(&workshop));
    let args = [&["Fix the failing test."], rights].concat();
    let ended = Ended::of(&mut agent(&workshop, &server, &args));
    assert_eq!(ended.stdout, "Fixed, and the tests pass.\n", "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(repository.passes(&workshop), "{ended:?}");
}

#[test]
fn a_python_repository_is_fixed() {
    fix(&PYTHON, &["--yes", "--dangerously-without-sandbox"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_rust_repository_is_fixed_in_the_sandbox() {
    fix(&RUST, &["--yes", "--sandbox"]);
}

#[test]
fn repositories_are_fixed_in_editors() {
    fix_in_editor(&PYTHON, ("task", "allow_once"), &[]);
    fix_in_editor(&PYTHON, ("terminal", "allow_always"), &[]);
    fix_in_editor(&PYTHON, ("kill", "allow_once"), &[]);
    if cfg!(target_os = "linux") {
        fix_in_editor(&RUST, ("task", "allow_once"), &["--sandbox"]);
    }
}

#[test]
fn rules_are_enough_for_a_task() {
    let rules = [
        "--approval",
        "allow EditFile(*.py)",
        "--approval",
        "allow RunCommand(python3 -m unittest 2>&1)",
    ];
    fix(&PYTHON, &rules);
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_task_is_continued() {
    let Some((_runtime, server, _folder)) = start(&PYTHON.replies("Fix", true)) else {
        return;
    };
    let workshop = PYTHON.workshop();
    let alive = workshop.watch_alive();
    let rights = ["--yes", "--sandbox"];
    let first = [&["Fix the failing test.", "--session", "k"], &rights[..]].concat();
    let mut child = agent(&workshop, &server, &first)
        .spawn()
        .expect("it starts");
    alive.up();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(PYTHON.passes(&workshop), "the edit was made before");
    workshop.write("go", "");
    let rest = ["agent", "--continue", "k", "--yes", "--sandbox"];
    let ended = Ended::of(&mut workshop.command(&rest));
    assert_eq!(ended.stdout, "Fixed, and the tests pass.\n", "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
