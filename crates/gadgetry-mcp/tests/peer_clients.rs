//! Clients that others wrote, with our server.

use std::path::Path;
use std::process::Stdio;

use gadgetry::Skills;
use gadgetry_mcp::HttpOptions;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::own_server::Serving;
use crate::support::installed::{node, python};
use crate::support::{LONG, program};

fn skills() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("greet")).unwrap();
    let text = "---\ndescription: Greets a user\n---\nSay hello to $1.\n";
    std::fs::write(folder.path().join("greet/SKILL.md"), text).unwrap();
    folder
}

/// The stdout of a program that must succeed.
async fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = tokio::time::timeout(LONG, output).await.unwrap().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

async fn check_python(python: &str, mode: &str, protocol: &str, target: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/client.py");
    let seen = output(Command::new(python).arg(script).arg(mode).args(target)).await;
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["protocol"], protocol);
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    assert_eq!(seen["tools"][0], "Add");
    assert_eq!(seen["add"], json!([false, text("5")]));
    assert_eq!(seen["fail"], json!([true, text("as documented")]));
    assert_eq!(seen["wrong"][0], true);
    assert!(
        seen["wrong"].to_string().contains("expected integer"),
        "{seen}"
    );
    let picture = json!({ "type": "image", "data": "iVA=", "mimeType": "image/png" });
    assert_eq!(seen["picture"][1][1], picture);
    assert_eq!(seen["progress"], json!(["step 1", "step 2"]));
    assert!(
        seen["unknown"]
            .as_str()
            .unwrap()
            .contains("'Nothing' not found"),
        "{seen}"
    );
    assert_eq!(seen["approved"], json!([false, text("written")]));
    assert_eq!(seen["denied"][0], true);
    let question = "May the gadget Write run?";
    assert_eq!(seen["questions"], json!([question, question]));
    assert_eq!(seen["prompts"], json!([["greet", "Greets a user"]]));
    assert_eq!(
        seen["prompt"].as_str().map(str::trim),
        Some("Say hello to Ada.")
    );
}

const MODES: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("auto", "2026-07-28")];

#[tokio::test]
async fn python_over_stdio() {
    let Some(python) = python() else { return };
    let (program, skills) = (program(), skills());
    let target = [program.as_str(), skills.path().to_str().unwrap()];
    for (mode, protocol) in MODES {
        check_python(&python, mode, protocol, &target).await;
    }
}

#[tokio::test]
async fn python_over_http() {
    let Some(python) = python() else { return };
    let skills = Skills::from_dir(skills().path()).unwrap();
    let serving = Serving::start(HttpOptions::default(), skills).await;
    for (mode, protocol) in MODES {
        check_python(&python, mode, protocol, &[&serving.url]).await;
    }
    serving.end().await;
}

#[tokio::test]
async fn inspector() {
    let Some(inspector) = node("@modelcontextprotocol/inspector", "cli/build/index.js") else {
        return;
    };
    let serving = Serving::start(HttpOptions::default(), Skills::new()).await;
    let program = program();
    let stdio = [program.as_str()];
    let http = [serving.url.as_str(), "--transport", "http"];
    for target in [&stdio[..], &http] {
        let ask = async |arguments: &[&str]| {
            let mut command = Command::new("node");
            command.arg(&inspector).args(target).args(arguments);
            let answer = output(&mut command).await;
            serde_json::from_str::<Value>(&answer).unwrap()
        };
        let tools = ask(&["--method", "tools/list"]).await;
        assert_eq!(tools["tools"][0]["name"], "Add");
        assert_eq!(tools["tools"][0]["inputSchema"]["type"], "object");
        let call = ["--method", "tools/call", "--tool-name", "Add"];
        let sum = ask(&[&call[..], &["--tool-arg", "a=2", "--tool-arg", "b=3"]].concat()).await;
        assert_eq!(sum["content"][0]["text"], "5");
    }
    serving.end().await;
}
