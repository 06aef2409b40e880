//! `RunCommand`.

#![cfg(unix)]

use std::time::Duration;

use gadgetry_builtins::AfterEdit;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_to_their_end() {
    let stage = Stage::new();
    let check = async |parameters, expected| stage.check("RunCommand", parameters, expected).await;
    check(
        json!({ "command": "cat a.txt" }),
        Ok("status=0\n\none\ntwo\nthree\n"),
    )
    .await;
    check(
        json!({ "command": "echo out; echo err >&2; exit 3" }),
        Ok("status=3\n\nout\nerr\n"),
    )
    .await;
    check(
        json!({ "command": "true" }),
        Ok("status=0\n\n(no output)\n"),
    )
    .await;
    check(
        json!({ "command": "kill -9 $$" }),
        Ok("status=killed (signal: 9 (SIGKILL))\n\n(no output)\n"),
    )
    .await;
    check(json!({ "command": "cat" }), Ok("status=0\n\n(no output)\n")).await;
    check(
        json!({ "command": "basename \"$(pwd -P)\" \"$PWD\"", "cwd": "src/deep" }),
        Ok("status=0\n\ndeep\n"),
    )
    .await;
    check(
        json!({ "command": "ls", "cwd": "none" }),
        Err("there is no such file"),
    )
    .await;
    check(
        json!({ "command": "ls", "cwd": "a.txt" }),
        Err("not a folder"),
    )
    .await;
    check(json!({ "command": "" }), Err("Invalid parameters")).await;
    check(
        json!({ "command": "ls", "timeout": 600_001 }),
        Err("Invalid parameters"),
    )
    .await;
    let slow = json!({ "command": "echo begun; sleep 1000", "timeout": 1000 });
    check(slow, Ok("status=timeout (ended after 1000 ms)\n\nbegun\n")).await;
    let much = stage
        .call("RunCommand", json!({ "command": "seq 1000000" }))
        .await
        .unwrap();
    assert!(much.starts_with("status=0\n\n1\n2\n"), "{}", &much[..40]);
    assert!(much.ends_with("\n999999\n1000000\n"));
    assert!(
        much.contains("bytes left out]\n") && much.len() < 70_000,
        "{}",
        much.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_outlives_its_command() {
    let stage = Stage::new();
    let pipe = stage.work().join("pipe");
    // The background process keeps the pipe open for writing, and the read ends only when it is gone.
    let command = "mkfifo pipe; (exec 3<>pipe; sleep 1000) & echo started; wait";
    let run = stage.call("RunCommand", json!({ "command": command, "timeout": 1500 }));
    assert!(run.await.unwrap().contains("started"));
    let mut left = std::process::Command::new("fuser");
    if let Ok(ended) = left.arg(&pipe).output() {
        assert!(ended.stdout.is_empty(), "{ended:?}");
    }
    let running = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path().join("cwd");
        std::fs::read_link(path).ok()
    });
    let work = stage.builtins.workspace().root().to_owned();
    #[cfg(target_os = "linux")]
    assert_eq!(running.filter(|cwd| cwd.starts_with(&work)).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_not_see_secrets() {
    // The test's own variables cannot be changed here, so the command adds nothing: what cargo sets is enough.
    let stage = Stage::with(|builtins| builtins.without_env(["CARGO_MANIFEST_DIR"]));
    let seen = stage
        .call("RunCommand", json!({ "command": "env" }))
        .await
        .unwrap();
    assert!(seen.contains("PATH="), "{seen}");
    assert!(seen.contains("CARGO_PKG_NAME="), "{seen}");
    assert!(!seen.contains("CARGO_MANIFEST_DIR="), "{seen}");
}

/// Diagnostics: the model reads them with the result of the change.
#[tokio::test(flavor = "multi_thread")]
async fn commands_run_after_a_change() {
    let stage = Stage::with(|builtins| {
        let check = AfterEdit::new("echo checked $GADGETRY_FILE; echo bad >&2; exit 3");
        let slow = AfterEdit::new("sleep 1000").files(["slow.*"]).unwrap();
        let format = AfterEdit::new("echo more >> \"$GADGETRY_FILE\"");
        builtins.after_edit([
            check.files(["*.rs", "src/*.toml"]).unwrap(),
            slow.timeout(Duration::from_millis(1)),
            format.files(["format.txt"]).unwrap(),
            AfterEdit::new("pwd -P; echo again")
                .files(["src/lib.rs"])
                .unwrap(),
        ])
    });
    let write = async |path: &str, expected: &str| {
        let parameters = json!({ "filePath": path, "content": "x" });
        stage.check("WriteFile", parameters, Ok(expected)).await;
    };
    write("new.md", "path=new.md\n\nWrote 1 byte (new file)").await;
    write(
        "new.rs",
        "path=new.rs\n\nWrote 1 byte (new file)\n\nafter the edit: echo checked $GADGETRY_FILE; echo bad >&2; exit 3\n\
         status=3\n\nchecked ./new.rs\nbad\n",
    )
    .await;
    write(
        "slow.txt",
        "path=slow.txt\n\nWrote 1 byte (new file)\n\nafter the edit: sleep 1000\n\
         status=timeout (ended after 1 ms)\n\n(no output)\n",
    )
    .await;
    write(
        "format.txt",
        "path=format.txt\n\nWrote 1 byte (new file)\n\nafter the edit: echo more >> \"$GADGETRY_FILE\"\n\
         status=0\n\n(no output)\n\n[format.txt has been changed since, perhaps by a command; read it again before the next edit]\n",
    )
    .await;
    let edit = json!({ "filePath": "src/lib.rs", "search": "fn a()", "replace": "fn z()" });
    let edited = stage.call("EditFile", edit).await.unwrap();
    let at = |text: &str| {
        edited
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {edited}"))
    };
    let root = stage.work().canonicalize().unwrap();
    let folder = format!("status=0\n\n{}\nagain\n", root.display());
    assert!(
        at("+fn z()") < at("checked ./src/lib.rs\nbad\n"),
        "{edited}"
    );
    assert!(at("bad") < at(&folder), "{edited}");
    // The user approves them with the change.
    let parameters = json!({ "filePath": "b.rs", "content": "x" });
    let preview = stage.gadget("WriteFile").preview(&parameters).await;
    let note = "and then runs: echo checked $GADGETRY_FILE; echo bad >&2; exit 3";
    assert_eq!(preview.unwrap().notes, [note]);
    // A change that has not happened is not followed by anything.
    stage
        .check(
            "EditFile",
            json!({ "filePath": "none.rs", "search": "a", "replace": "b" }),
            Err("no such file"),
        )
        .await;
    assert!(AfterEdit::new("true").files(["["]).is_err());
}
