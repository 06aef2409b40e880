//! Nothing is written that Git would use as a repository.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::stage::{Stage, tree};

/// Makes the entries in the workspace: a folder if the name ends with `/`.
fn with(entries: &[&str]) -> Stage {
    let stage = Stage::new();
    for entry in entries {
        let path = stage.work().join(entry);
        if entry.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x\n").unwrap();
        }
    }
    stage
}

#[tokio::test]
async fn nothing_is_written_in_a_repository() {
    let check = async |entries: &[&str], path: &str, expected: &str| {
        let stage = with(entries);
        let before = tree(&stage.work());
        let write = json!({ "filePath": path, "content": "y\n" });
        stage.check("WriteFile", write, Err(expected)).await;
        let edit = json!({ "filePath": path, "search": "x", "replace": "y" });
        assert!(stage.call("EditFile", edit).await.is_err(), "{path}");
        assert!(tree(&stage.work()) == before, "{entries:?} {path}");
    };
    let belongs = "belongs to Git";
    let would = "would make its folder a repository";
    for path in [
        ".git",
        ".GIT",
        ".git/config",
        "src/.git",
        "a/.git/hooks/pre-commit",
        ".g\u{200c}it/x",
    ] {
        check(&[], path, belongs).await;
    }
    // Bare layouts, in the root and below it, in any order.
    let three = ["HEAD", "objects/x", "refs/x"];
    for folder in ["", "sub/", "src/deep/", ".git-like/"] {
        for last in 0..3 {
            let entries: Vec<String> = (0..3)
                .filter(|index| *index != last)
                .map(|index| format!("{folder}{}", three[index]))
                .collect();
            let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
            check(&entries, &format!("{folder}{}", three[last]), would).await;
        }
        let all = three.map(|entry| format!("{folder}{entry}"));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        for inside in [
            "config",
            "hooks/pre-commit",
            "objects/x",
            "HEAD",
            "info/new/file",
        ] {
            check(&all, &format!("{folder}{inside}"), belongs).await;
        }
    }
    check(&["w/HEAD"], "w/commondir", would).await;
    check(&["w/commondir"], "w/HEAD", would).await;
    check(&["w/head", "w/OBJECTS/", "w/Refs/"], "w/config", belongs).await;
    check(
        &["modules/m/HEAD", "modules/m/commondir"],
        "modules/m/config",
        belongs,
    )
    .await;
    check(&["w/objects/", "w/HEAD"], "w/refs", would).await;
}

#[tokio::test]
async fn what_is_no_repository_is_written() {
    let stage = with(&[
        "a/HEAD",
        "a/objects/x",
        "b/refs/",
        "b/objects/",
        ".git/HEAD",
    ]);
    for path in [
        "a/config",
        "b/config",
        "HEAD",
        "objects/x",
        ".gitignore",
        ".github/x.yml",
        "a.git/HEAD",
    ] {
        let write = json!({ "filePath": path, "content": "y" });
        assert!(stage.call("WriteFile", write).await.is_ok(), "{path}");
    }
}

#[tokio::test]
async fn a_repository_is_not_deleted() {
    let check = async |entries: &[&str], path: &str, expected: &str| {
        let stage = with(entries);
        let before = tree(&stage.work());
        let delete = json!({ "filePath": path, "recursive": true });
        stage.check("DeleteFile", delete, Err(expected)).await;
        assert!(tree(&stage.work()) == before, "{entries:?} {path}");
    };
    check(
        &["proj/.git/HEAD", "proj/a"],
        "proj",
        "contains a repository",
    )
    .await;
    check(&["proj/x/y/.git"], "proj", "contains a repository").await;
    check(&["proj/x/.GIT/"], "proj", "contains a repository").await;
    check(
        &["b/HEAD", "b/objects/", "b/refs/"],
        "b",
        "contains a repository",
    )
    .await;
    check(
        &["b/HEAD", "b/objects/", "b/refs/"],
        "b/refs",
        "belongs to Git",
    )
    .await;
    check(&["b/HEAD", "b/commondir"], "b/commondir", "belongs to Git").await;
    check(&[".git/HEAD"], ".git", "belongs to Git").await;

    let stage = with(&["proj/x/y/z", "proj/HEAD"]);
    symlink("../src", stage.work().join("proj/link")).unwrap();
    let delete = json!({ "filePath": "proj", "recursive": true });
    stage
        .check("DeleteFile", delete, Ok("Deleted the folder proj"))
        .await;
    assert!(!stage.work().join("proj").exists());
    assert!(stage.work().join("src/lib.rs").exists());
}

#[tokio::test]
async fn a_replaced_file_runs_as_no_one_else() {
    let stage = Stage::new();
    for (mode, expected) in [
        (0o4755, 0o755),
        (0o2755, 0o755),
        (0o6711, 0o711),
        (0o640, 0o640),
    ] {
        let file = stage.work().join("a.txt");
        fs::write(&file, "one\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let write = json!({ "filePath": "a.txt", "content": "two\n" });
        stage.call("WriteFile", write).await.unwrap();
        let now = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(now & 0o7777, expected, "{mode:o}");
    }
}

/// A folder that alternates with a link to `.git`.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_link_changes_nothing_else() {
    let stage = with(&[".git/hooks/x", ".git/HEAD", "real/hooks/x"]);
    let work = stage.work();
    symlink(".git", work.join("link")).unwrap();
    let git = tree(&work.join(".git"));
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, swapped) = (Arc::clone(&stop), work.clone());
    let swapping = std::thread::spawn(move || {
        let rename = |from: &str, to: &str| {
            // The gadget may have created a folder in between.
            fs::rename(swapped.join(from), swapped.join(to)).is_ok()
        };
        let mut swaps = 0;
        while !stopped.load(Ordering::Relaxed) {
            for (from, to) in [("real", "aside"), ("link", "real"), ("real", "link")] {
                swaps += usize::from(rename(from, to));
            }
            if !rename("aside", "real") {
                // That folder is in the way.
                rename("real", &format!("made{swaps}"));
                rename("aside", "real");
            }
        }
        swaps
    });
    for n in 0..200 {
        let write = json!({ "filePath": "real/hooks/pre-commit", "content": format!("{n}") });
        let _ = stage.call("WriteFile", write).await;
        let delete = json!({ "filePath": "real/hooks/x" });
        let _ = stage.call("DeleteFile", delete).await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 100, "the folder has not changed");
    assert!(tree(&work.join(".git")) == git);
}

/// Settings of a repository name files at ordinary places, and Git runs what is in them.
#[tokio::test]
async fn what_settings_name_is_not_changed() {
    let check = async |settings: &[(&str, &str)], path: &str, refused: bool| {
        let stage = with(&[
            "hooks/pre-commit",
            "other/a",
            "sub/hooks/h",
            ".git/HEAD",
            "deep/x/y",
        ]);
        for (file, text) in settings {
            let file = stage.work().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let before = tree(&stage.work());
        let write = json!({ "filePath": path, "content": "y\n" });
        let edit = json!({ "filePath": path, "search": "x", "replace": "y" });
        let delete = json!({ "filePath": path, "recursive": true });
        if !refused {
            assert!(
                stage.call("WriteFile", write).await.is_ok(),
                "{settings:?} {path}"
            );
            return;
        }
        let expected = "is named by Git's settings";
        stage.check("WriteFile", write, Err(expected)).await;
        assert!(stage.call("DeleteFile", delete).await.is_err(), "{path}");
        assert!(stage.call("EditFile", edit).await.is_err(), "{path}");
        assert!(tree(&stage.work()) == before, "{settings:?} {path}");
    };
    let config = |text: &'static str| [(".git/config", text)];
    let hooks = config("[core]\n\thooksPath = hooks\n");
    for (path, refused) in [
        ("hooks/pre-commit", true),
        ("hooks/new", true),
        ("hooks/new/deep", true),
        ("hooks2/pre-commit", false),
        ("other/a", false),
        ("pre-commit", false),
    ] {
        check(&hooks, path, refused).await;
    }
    for (text, path) in [
        ("[core]\nhooksPath = ./hooks/\n", "hooks/pre-commit"),
        ("[core]\nhooksPath = other/../hooks\n", "hooks/pre-commit"),
        (
            "[core]\nhooksPath = nowhere/yet\n",
            "nowhere/yet/pre-commit",
        ),
        ("[core]\nhooksPath = .\n", "pre-commit"),
        ("[core]\nfsmonitor = other/a\n", "other/a"),
        ("[init]\ntemplateDir = other\n", "other/hooks/x"),
        ("[include]\npath = ../other/a\n", "other/a"),
        ("[includeIf \"gitdir:x\"]\npath = ../other/b\n", "other/b"),
    ] {
        check(&config(text), path, true).await;
    }
    // More settings in a file that settings include.
    let included = [
        (".git/config", "[include]\npath = ../other/more\n"),
        ("other/more", "[core]\nhooksPath = deep/x\n"),
    ];
    check(&included, "other/more", true).await;
    check(&included, "deep/x/pre-commit", true).await;
    // Another repository of the workspace, and the file of a worktree.
    let other = [("sub/.git/config", "[core]\nhooksPath = ../hooks\n")];
    check(&other, "hooks/pre-commit", true).await;
    let worktree = [
        ("sub/.git", "gitdir: ../.git/worktrees/sub\n"),
        (".git/worktrees/sub/commondir", "../..\n"),
        (".git/config", "[core]\nhooksPath = hooks\n"),
    ];
    check(&worktree, "sub/hooks/h", true).await;
    check(&worktree, "hooks/pre-commit", true).await;
    check(&worktree, "other/a", false).await;
}

#[tokio::test]
async fn what_settings_name_is_not_changed_through_links() {
    let check = async |hooks: &str, links: &[(&str, &str)], path: &str| {
        let stage = with(&["hooks/pre-commit", "other/a", ".git/HEAD"]);
        for (link, target) in links {
            symlink(target, stage.work().join(link)).unwrap();
        }
        let text = format!("[core]\nhooksPath = {hooks}\n");
        fs::write(stage.work().join(".git/config"), text).unwrap();
        let before = tree(&stage.work());
        let write = json!({ "filePath": path, "content": "y\n" });
        let expected = "is named by Git's settings";
        stage.check("WriteFile", write, Err(expected)).await;
        assert!(tree(&stage.work()) == before, "{hooks} {path}");
    };
    check("link", &[("link", "hooks")], "hooks/pre-commit").await;
    check("link", &[("link", "hooks")], "link/pre-commit").await;
    check("link", &[("link", "nowhere")], "nowhere/pre-commit").await;
    check("one", &[("one", "two"), ("two", "hooks")], "hooks/x").await;
    check("hooks", &[("link", "hooks")], "link/pre-commit").await;
    // A link in the repository leads out of it.
    check("none", &[(".git/hooks", "../other")], "other/a").await;
}
