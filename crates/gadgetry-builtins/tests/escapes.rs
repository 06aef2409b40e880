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
    link(&"/dev/zero", "zero");
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
        own("zero"),
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

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn by_commands_in_the_sandbox() {
    let stage = Stage::with(|builtins| builtins.sandbox(true));
    let (work, outside) = (stage.work(), stage.outside());
    symlink("../outside", work.join("link")).unwrap();
    for (name, content) in [("config", "[core]\n"), ("hooks/pre-commit", "#!/bin/sh\n")] {
        let path = work.join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let git = tree(&work.join(".git"));
    let socket =
        std::os::unix::net::UnixListener::bind(stage.folder.path().join("socket")).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (out, escaped) = (outside.display(), stage.folder.path().join("escaped"));
    let escaped = escaped.display();
    let python = |code: &str| format!("python3 -c '{code}'");
    let commands = [
        "echo x > ../outside/secret.txt".to_owned(),
        format!("echo x > {out}/new.txt"),
        "echo x >> link/secret.txt".to_owned(),
        "rm -rf ../outside".to_owned(),
        "rm -rf link/folder".to_owned(),
        "mv ../outside/secret.txt .".to_owned(),
        "mv a.txt ../outside/".to_owned(),
        format!("cp a.txt {out}/copied"),
        "ln -s /etc ../outside/etc".to_owned(),
        format!("ln {out}/secret.txt linked && echo x > linked"),
        "ln a.txt ../outside/linked".to_owned(),
        format!("mkdir {out}/made"),
        format!("mkfifo {out}/pipe"),
        format!("touch {escaped}"),
        format!(": > {out}/secret.txt"),
        format!("truncate -s 0 {out}/secret.txt"),
        format!("chmod +w {out}/secret.txt; dd if=/dev/zero of={out}/secret.txt bs=1 count=1"),
        "cd .. && touch escaped".to_owned(),
        format!("cd /proc/self/root && touch {escaped}"),
        format!("echo $(touch {escaped})"),
        format!("`touch {escaped}`"),
        format!("x={escaped}; touch $x"),
        format!("eval 'touch {escaped}'"),
        format!("sh -c 'sh -c \"touch {escaped}\"'"),
        format!("(setsid sh -c 'sleep 0; touch {escaped}') & wait"),
        format!("nohup touch {escaped} >/dev/null 2>&1"),
        format!("env -i PATH=$PATH touch {escaped}"),
        format!("find . -maxdepth 0 -exec touch {escaped} ';'"),
        format!("awk 'BEGIN {{ print \"x\" > \"{escaped}\" }}'"),
        format!(
            "tar cf t.tar a.txt --transform 's,^,../outside/,' && tar xPf t.tar; tar cPf u.tar a.txt --transform 's,^,{out}/,' && tar xPf u.tar"
        ),
        format!("unshare -rm sh -c 'mount -t tmpfs none {out}; touch {out}/x'"),
        format!("mount --bind /tmp . ; touch {escaped}"),
        format!("chroot / touch {escaped}"),
        format!("echo x > /proc/$PPID/root{out}/secret.txt"),
        "echo x > /proc/$PPID/cwd/../outside/secret.txt".to_owned(),
        "kill -STOP $PPID; kill -CONT $PPID".to_owned(),
        "cat /proc/$PPID/environ".to_owned(),
        "echo x > /dev/tty; echo x > /dev/pts/0".to_owned(),
        "echo '* * * * * touch /tmp/x' | crontab -".to_owned(),
        python(&format!("open(\"{out}/secret.txt\", \"r+\").truncate(0)")),
        python(&format!("import os; os.rename(\"a.txt\", \"{out}/a.txt\")")),
        python(&format!(
            "import os; os.utime(\"{out}/new\", None) if os.open(\"{out}/new\", 65) else 0"
        )),
        python(&format!(
            "import socket; socket.create_connection((\"127.0.0.1\", {port}))"
        )),
        python(&format!(
            "import socket; s = socket.socket(socket.AF_INET6); s.connect((\"::ffff:127.0.0.1\", {port}))"
        )),
        python(
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", 53))",
        ),
        python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
        python("import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"../socket\")"),
        python("import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"own\"); s.listen()"),
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
        format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
        format!("curl -s http://127.0.0.1:{port}/ http://2130706433:{port}/"),
        "echo 'touch /tmp/x' > .git/hooks/pre-commit".to_owned(),
        "echo 'touch /tmp/x' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout"
            .to_owned(),
        "printf '[core]\\n\\tfsmonitor = touch /tmp/x\\n' > .git/config".to_owned(),
        "git config core.hooksPath /tmp || echo x >> .git/config".to_owned(),
        "rm -rf .git/hooks; ln -s ../link .git/hooks".to_owned(),
        "rm .git/config; ln -s ../../outside/secret.txt .git/config".to_owned(),
        "echo x > .git/config.worktree".to_owned(),
        format!("TMPDIR={out} mktemp"),
        format!("HOME={out} sh -c 'echo x > ~/.profile'"),
        "cd link && touch new".to_owned(),
        format!("rsync -a a.txt {out}/ ; install a.txt {out}/installed"),
        format!("sqlite3 {out}/db 'create table t(x)'; perl -e 'open F, q(>{out}/perl)'"),
    ];
    let mut attempts = Attempts::of(stage);
    for command in &commands {
        attempts.count += 1;
        let ended = attempts
            .stage
            .call("RunCommand", json!({ "command": command }))
            .await;
        let what = format!("{command}: {ended:?}");
        assert!(tree(&outside) == attempts.before, "{what}");
        assert!(
            !attempts.stage.folder.path().join("escaped").exists(),
            "{what}"
        );
        assert!(
            listener.accept().is_err() && socket.accept().is_err(),
            "{what}"
        );
        assert!(tree(&work.join(".git")) == git, "{what}");
        // It ran: the sandbox is there, and is not what refuses everything.
        assert!(ended.unwrap().starts_with("status="), "{command}");
    }
    assert!(attempts.count >= 60, "{}", attempts.count);
}
