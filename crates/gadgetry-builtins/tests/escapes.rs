//! Ways out of the workspace. None of them works.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::stage::{SECRET, Stage, tree};

/// Counts attempts, and checks after each that nothing outside was read or changed.
struct Attempts {
    stage: Stage,
    before: BTreeMap<PathBuf, Vec<u8>>,
    count: usize,
}

impl Attempts {
    fn of(stage: Stage) -> Self {
        let before = tree(&stage.outside());
        Self {
            stage,
            before,
            count: 0,
        }
    }

    async fn attempt(&mut self, gadget: &str, parameters: Value) {
        self.count += 1;
        let ended = self.stage.call(gadget, parameters.clone()).await;
        let what = format!("attempt {}: {gadget} {parameters}: {ended:?}", self.count);
        let (Ok(text) | Err(text)) = &ended;
        assert!(!text.contains(SECRET), "{what}");
        assert!(!text.contains("root:x:0"), "{what}");
        assert!(tree(&self.stage.outside()) == self.before, "{what}");
        assert!(!self.stage.folder.path().join("escaped").exists(), "{what}");
    }
}

fn with_links() -> Stage {
    let stage = Stage::new();
    let (work, outside) = (stage.work(), stage.outside());
    let link = |to: &dyn AsRef<std::path::Path>, name: &str| symlink(to, work.join(name)).unwrap();
    link(&"../outside", "link");
    link(&"../outside/secret.txt", "file-link");
    link(&outside, "absolute");
    link(&outside.join("secret.txt"), "absolute-file");
    link(&"/proc/self/root", "proc-root");
    link(&"/proc/self/cwd", "proc-cwd");
    link(&"..", "up");
    link(&"up/outside", "chain");
    link(&"loop", "loop");
    link(&"/proc/version", "kernel");
    link(&"../../outside", "src/deep-link");
    link(&"../outside/new.txt", "dangling");
    link(&"/etc/passwd", "passwd");
    fs::hard_link(outside.join("secret.txt"), work.join("hard")).unwrap();
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn by_paths() {
    let mut attempts = Attempts::of(with_links());
    let outside = attempts.stage.outside();
    let secret = outside.join("secret.txt");
    let work = attempts.stage.work();
    let own = |path: &str| path.to_owned();
    let paths = [
        own("../outside/secret.txt"),
        own("src/../../outside/secret.txt"),
        own("./././../outside/secret.txt"),
        own("src/deep/../../../outside/secret.txt"),
        own("none/../../outside/secret.txt"),
        secret.display().to_string(),
        format!("{}/../outside/secret.txt", work.display()),
        format!("{}/link/secret.txt", work.display()),
        format!("//{}", secret.display()),
        format!("file://{}", secret.display()),
        own("link/secret.txt"),
        own("link/folder/other.txt"),
        own("file-link"),
        own("absolute/secret.txt"),
        own("absolute-file"),
        own("up/outside/secret.txt"),
        own("chain/secret.txt"),
        own("src/deep-link/secret.txt"),
        own("link/../outside/secret.txt"),
        own("hard"),
        format!("proc-root/{}", secret.display()),
        own("proc-cwd/../outside/secret.txt"),
        own("passwd"),
        own("/etc/passwd"),
        own("/proc/self/root/etc/passwd"),
        own("~/../outside/secret.txt"),
        own("..\\outside\\secret.txt"),
        own("dangling"),
        own("loop"),
        own("kernel"),
    ];
    for path in &paths {
        attempts
            .attempt("ReadFile", json!({ "filePath": path }))
            .await;
        attempts
            .attempt(
                "ReadFile",
                json!({ "filePath": path, "startLine": 1, "endLine": 1 }),
            )
            .await;
        attempts
            .attempt(
                "EditFile",
                json!({ "filePath": path, "search": SECRET, "replace": "x" }),
            )
            .await;
        attempts
            .attempt("Search", json!({ "pattern": ".", "path": path }))
            .await;
        attempts
            .attempt("ListDirectory", json!({ "directoryPath": path }))
            .await;
    }
    // A link is replaced or refused, never followed to the outside; so is a hard link.
    for path in &paths {
        attempts
            .attempt("WriteFile", json!({ "filePath": path, "content": "x" }))
            .await;
    }
    for folder in [
        "link",
        "absolute",
        "up",
        "chain",
        "src/deep-link",
        "../outside",
        "..",
    ] {
        for name in ["new.txt", "a/b/new.txt", "secret.txt"] {
            let path = format!("{folder}/{name}");
            attempts
                .attempt("WriteFile", json!({ "filePath": path, "content": "x" }))
                .await;
        }
        let everything = json!({ "directoryPath": folder, "maxDepth": 10, "includeIgnored": true });
        attempts.attempt("ListDirectory", everything).await;
        attempts
            .attempt("Search", json!({ "pattern": "SECRET", "path": folder }))
            .await;
        let inside = format!("{folder}/secret.txt");
        attempts
            .attempt(
                "DeleteFile",
                json!({ "filePath": inside, "recursive": true }),
            )
            .await;
        let cwd = json!({ "command": "cat secret.txt; rm -rf folder", "cwd": folder });
        attempts.attempt("RunCommand", cwd).await;
    }
    // Everything that is inside, links included, is searched and deleted without following them.
    attempts
        .attempt(
            "Search",
            json!({ "pattern": "SECRET", "includeIgnored": true }),
        )
        .await;
    for name in [
        "link",
        "absolute",
        "up",
        "chain",
        "hard",
        "file-link",
        "src",
    ] {
        let all = json!({ "filePath": name, "recursive": true });
        attempts.attempt("DeleteFile", all).await;
    }
    assert!(attempts.count >= 60, "{}", attempts.count);
}

/// A file name that alternates between a folder inside and a link to the outside.
#[tokio::test(flavor = "multi_thread")]
async fn by_links_that_change_meanwhile() {
    let mut attempts = Attempts::of(Stage::new());
    let work = attempts.stage.work();
    fs::create_dir(work.join("inside")).unwrap();
    fs::write(work.join("inside/secret.txt"), "inside").unwrap();
    symlink("inside", work.join("swap")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let swapped = work.clone();
    let swapping = std::thread::spawn(move || {
        let mut swaps = 0_u64;
        while !stopped.load(Ordering::Relaxed) {
            let target = if swaps.is_multiple_of(2) {
                "../outside"
            } else {
                "inside"
            };
            symlink(target, swapped.join("new-link")).unwrap();
            fs::rename(swapped.join("new-link"), swapped.join("swap")).unwrap();
            swaps += 1;
        }
        swaps
    });
    for n in 0..150 {
        let path = "swap/secret.txt";
        attempts
            .attempt("ReadFile", json!({ "filePath": path }))
            .await;
        attempts
            .attempt(
                "WriteFile",
                json!({ "filePath": path, "content": format!("{n}") }),
            )
            .await;
        attempts
            .attempt(
                "WriteFile",
                json!({ "filePath": format!("swap/{n}/x"), "content": "x" }),
            )
            .await;
        attempts
            .attempt("Search", json!({ "pattern": "SECRET", "path": "swap" }))
            .await;
        attempts
            .attempt(
                "DeleteFile",
                json!({ "filePath": "swap/folder", "recursive": true }),
            )
            .await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 100, "the link has not changed");
}
