//! What was approved is what built-in gadgets do.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use gadgetry::approval::{Answer, ApprovalRequest};
use serde_json::{Value, json};

use crate::stage::{Stage, run};

fn denied(_: ApprovalRequest) -> Answer {
    Answer::No(None)
}

#[tokio::test]
async fn rules_about_folders() {
    let check =
        async |rules: &[&str], gadget: &str, parameters: Value, with: &str, without: &str| {
            let stage = Stage::new();
            for path in ["secrets/key", "tmp/x/deep/file", "tmp/file"] {
                let path = stage.work().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "TOKEN\n").unwrap();
            }
            let said = run(&stage, rules, &[(gadget, parameters.clone())], denied).await;
            let what = format!("{rules:?} {gadget} {parameters}: {said:?}");
            assert!(said[0].contains(with), "{what}");
            assert!(without.is_empty() || !said[0].contains(without), "{what}");
            if with.starts_with("Denied") {
                assert!(stage.work().join("secrets/key").exists(), "{what}");
                assert!(stage.work().join("tmp/x/deep/file").exists(), "{what}");
            }
        };
    let all = |path: &str| json!({ "filePath": path, "recursive": true });
    let secrets = ["deny *(secrets/**)", "allow *"];
    let rule = "Denied by the rule `deny *(secrets/**)`";
    check(&secrets, "DeleteFile", all("secrets"), rule, "").await;
    check(
        &secrets,
        "DeleteFile",
        json!({ "filePath": "secrets/key" }),
        rule,
        "",
    )
    .await;
    check(
        &["allow DeleteFile(tmp/*)"],
        "DeleteFile",
        all("tmp/x"),
        "Denied by the user",
        "",
    )
    .await;
    check(
        &["allow DeleteFile(tmp)"],
        "DeleteFile",
        all("tmp"),
        "Denied by the user",
        "",
    )
    .await;
    check(
        &["allow DeleteFile(tmp/*)"],
        "DeleteFile",
        json!({ "filePath": "tmp/file" }),
        "Deleted",
        "",
    )
    .await;
    check(
        &["allow DeleteFile(tmp/**)"],
        "DeleteFile",
        all("tmp/x"),
        "Deleted the folder tmp/x",
        "",
    )
    .await;
    let below = ["deny *(tmp/x/deep/*)", "allow *"];
    check(
        &below,
        "DeleteFile",
        all("tmp"),
        "tmp/x/deep/file in it may not be deleted",
        "",
    )
    .await;
    let search = |path: &str| json!({ "pattern": "TOKEN", "path": path });
    check(
        &secrets,
        "Search",
        search("."),
        "tmp/file:1:TOKEN",
        "secrets",
    )
    .await;
    check(&secrets, "Search", search("secrets"), rule, "TOKEN").await;
    check(&secrets, "Search", search("secrets/key"), rule, "TOKEN").await;
    check(
        &["ask *(secrets/**)"],
        "Search",
        search("."),
        "tmp/file:1:TOKEN",
        "secrets",
    )
    .await;
    check(&[], "Search", search("."), "secrets/key:1:TOKEN", "").await;
    let list = |path: &str| json!({ "directoryPath": path });
    check(
        &secrets,
        "ListDirectory",
        list("."),
        "tmp/x/deep",
        "secrets",
    )
    .await;
    check(&secrets, "ListDirectory", list("secrets"), rule, "key").await;
    check(
        &["deny *(secrets/key)", "allow *"],
        "ListDirectory",
        list("."),
        "D|secrets",
        "key",
    )
    .await;
}

#[tokio::test]
async fn the_folder_of_a_command() {
    let check = async |rule: &str, cwd: &str, runs: bool| {
        let stage = Stage::new();
        let command = json!({ "command": "echo RAN", "cwd": cwd });
        let said = run(&stage, &[rule], &[("RunCommand", command)], denied).await;
        assert_eq!(said[0].contains("RAN"), runs, "{rule} {cwd}: {said:?}");
    };
    check("allow RunCommand(echo RAN)", ".", true).await;
    check("allow RunCommand(echo RAN)", "src", false).await;
    check("allow RunCommand(echo *)", "src/deep", false).await;
    check("allow RunCommand(echo RAN) in src", "src", true).await;
    check("allow RunCommand(echo RAN) in src", "src/deep", false).await;
    check("allow RunCommand(echo RAN) in src/**", "src/deep", true).await;
    check("allow RunCommand(echo RAN) in **", ".", true).await;
    check("allow RunCommand", "src", true).await;
}

/// A link that is moved while the question is open.
#[tokio::test]
async fn a_link_that_moves_is_asked_about_again() {
    let check = async |call: (&str, Value), subjects: &[&str]| {
        let stage = Stage::new();
        for folder in ["a", "b"] {
            fs::create_dir(stage.work().join(folder)).unwrap();
            fs::write(stage.work().join(folder).join("x"), "old\n").unwrap();
        }
        let link = stage.work().join("l");
        symlink("a", &link).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        run(&stage, &[], &[call], move |request| {
            let subject = request.preview.subject.unwrap().text().to_owned();
            log.lock().unwrap().push(subject.clone());
            if subject.starts_with('b') {
                return Answer::No(None);
            }
            fs::remove_file(&link).unwrap();
            symlink("b", &link).unwrap();
            Answer::Once
        })
        .await;
        assert_eq!(*asked.lock().unwrap(), subjects);
        assert_eq!(stage.content("a/x"), "old\n");
        assert_eq!(stage.content("b/x"), "old\n");
    };
    check(
        ("WriteFile", json!({ "filePath": "l/x", "content": "new" })),
        &["a/x", "b/x"],
    )
    .await;
    check(
        (
            "EditFile",
            json!({ "filePath": "l/x", "search": "old", "replace": "new" }),
        ),
        &["a/x", "b/x"],
    )
    .await;
    check(
        ("DeleteFile", json!({ "filePath": "l/x" })),
        &["a/x", "b/x"],
    )
    .await;
    check(
        (
            "DeleteFile",
            json!({ "filePath": "l/x", "recursive": true }),
        ),
        &["a/x", "b/x"],
    )
    .await;
}

/// A file that is changed while the question is open.
#[tokio::test]
async fn a_file_that_changes_is_shown_again() {
    let stage = Stage::new();
    let file = stage.work().join("a.txt");
    let diffs = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&diffs);
    let write = (
        "WriteFile",
        json!({ "filePath": "a.txt", "content": "new\n" }),
    );
    run(&stage, &[], &[write], move |request| {
        let mut diffs = log.lock().unwrap();
        diffs.push(request.preview.diff.unwrap());
        if diffs.len() == 1 {
            fs::write(&file, "other\n").unwrap();
        }
        Answer::Once
    })
    .await;
    let diffs = diffs.lock().unwrap();
    assert_eq!(diffs.len(), 2);
    assert!(
        diffs[0].contains("-three") && diffs[1].contains("-other"),
        "{diffs:?}"
    );
    assert_eq!(stage.content("a.txt"), "new\n");
}

/// What is deleted, or where a command runs, and another process changes it while the question is open.
#[tokio::test]
async fn what_takes_its_place_is_asked_about_again() {
    let check = async |call: (&str, Value), meanwhile: &str, questions: usize| {
        let stage = Stage::new();
        let run_in = |line: &str| {
            let ended = std::process::Command::new("sh")
                .args(["-c", line])
                .current_dir(stage.work())
                .status();
            assert!(ended.unwrap().success(), "{line}");
        };
        run_in("mkdir -p d/deep e && echo kept > d/deep/x && echo evil > e/x && ln -s d l");
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let (work, meanwhile) = (stage.work(), meanwhile.to_owned());
        let said = run(&stage, &[], std::slice::from_ref(&call), move |_| {
            let mut asked = count.lock().unwrap();
            *asked += 1;
            if *asked > 1 {
                return Answer::No(None);
            }
            let line = std::process::Command::new("sh")
                .args(["-c", &meanwhile])
                .current_dir(&work)
                .status();
            assert!(line.unwrap().success());
            Answer::Once
        })
        .await;
        let asked = *asked.lock().unwrap();
        assert_eq!(asked, questions, "{call:?}: {said:?}");
        assert_eq!(
            said[0].contains("Denied by the user"),
            questions > 1,
            "{call:?}: {said:?}"
        );
    };
    let delete = |path: &str| {
        let parameters = json!({ "filePath": path, "recursive": true });
        ("DeleteFile", parameters)
    };
    let command = |cwd: &str| ("RunCommand", json!({ "command": "cat x", "cwd": cwd }));
    check(delete("d"), "true", 1).await;
    check(delete("a.txt"), "true", 1).await;
    check(delete("a.txt"), "echo other > a.txt", 2).await;
    check(
        delete("a.txt"),
        "echo x > b; touch -r a.txt b; mv b a.txt",
        2,
    )
    .await;
    check(
        delete("a.txt"),
        "echo x >> a.txt; touch -d 2001-01-01 a.txt",
        2,
    )
    .await;
    check(delete("d"), "echo more > d/deep/y", 2).await;
    check(delete("d"), "echo other > d/deep/x", 2).await;
    check(delete("d"), "mv d f; mv e d", 2).await;
    check(delete("d"), "mkdir d/deep/new", 2).await;
    check(delete("l"), "rm l; ln -s e l", 2).await;
    check(command("e"), "true", 1).await;
    check(command("e"), "echo more > e/y", 1).await;
    check(command("e"), "mv e f; mv d e", 2).await;
    check(command("e"), "rm -r e; mkdir e; echo other > e/x", 2).await;
    check(command("e"), "rm -r e; ln -s d e", 2).await;
}

/// Two edits of a reply: the second is shown as it is after the first.
#[tokio::test]
async fn an_edit_is_shown_after_the_edits_before_it() {
    let stage = Stage::new();
    let edit = |search: &str, replace: &str| {
        let edit = json!({ "filePath": "a.txt", "search": search, "replace": replace });
        ("EditFile", edit)
    };
    let diffs = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&diffs);
    let edits = [edit("one", "1"), edit("1\ntwo", "1\n2"), edit("one", "uno")];
    let said = run(&stage, &[], &edits, move |request| {
        log.lock().unwrap().push(request.preview.diff.unwrap());
        Answer::Once
    })
    .await;
    let diffs = diffs.lock().unwrap();
    assert_eq!(diffs.len(), 2, "{diffs:?}");
    assert!(diffs[1].contains(" 1\n-two\n+2\n"), "{diffs:?}");
    assert_eq!(stage.content("a.txt"), "1\n2\nthree\n");
    assert!(
        said.iter()
            .any(|text| text.contains("`search` was not found")),
        "{said:?}"
    );
}

/// A question about a deletion shows the path, the kind, and the number of files; no parameters.
#[tokio::test]
async fn a_deletion_is_described_in_words() {
    let check = async |path: &str, recursive: bool, lines: &[&str]| {
        let stage = Stage::new();
        fs::create_dir_all(stage.work().join("d/deep")).unwrap();
        for file in ["a.txt", "d/x", "d/deep/y"] {
            fs::write(stage.work().join(file), "one\n").unwrap();
        }
        fs::create_dir(stage.work().join("empty")).unwrap();
        symlink("a.txt", stage.work().join("l")).unwrap();
        let delete = json!({ "filePath": path, "recursive": recursive });
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        run(&stage, &[], &[("DeleteFile", delete)], move |request| {
            let lines = request.lines();
            *log.lock().unwrap() = lines.iter().map(ToString::to_string).collect();
            Answer::No(None)
        })
        .await;
        assert_eq!(*asked.lock().unwrap(), lines, "{path}");
    };
    check("a.txt", false, &["DeleteFile", "a file", "| a.txt"]).await;
    check("l", false, &["DeleteFile", "a link", "| l"]).await;
    let empty = ["DeleteFile", "an empty folder", "| empty"];
    check("empty", false, &empty).await;
    let folder = ["DeleteFile", "a folder with 2 files in it", "| d"];
    check("d", true, &folder).await;
    let folder = ["DeleteFile", "a folder with 1 file in it", "| d/deep"];
    check("d/deep", true, &folder).await;
}
