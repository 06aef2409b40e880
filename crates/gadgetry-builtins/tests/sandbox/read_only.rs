//! Commands that may change nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use gadgetry::approval::Answer;
use gadgetry_builtins::ReadOnly;
use serde_json::json;

use super::{INNER, MODES, Mode, as_ordinary_user, outside, with_repositories};
use crate::stage::{Stage, run, tree};

/// A stage whose commands are confined by `mode` while the switch is on, and not at all otherwise.
fn stage(mode: Mode) -> (Stage, ReadOnly) {
    if let Some(helper) = std::env::var_os(INNER) {
        gadgetry::command::supervisor::use_program(helper);
    }
    let switch = ReadOnly::default();
    let stage = Stage::with(|builtins| {
        let builtins = match mode {
            Mode::Namespaces => builtins,
            Mode::Landlock => builtins.sandbox_by_landlock().sandbox(false),
        };
        builtins.read_only(switch.clone())
    });
    (stage, switch)
}

/// Modes and times of all files, in the order of their names.
fn states(folder: &Path) -> Vec<(u32, i64, u64)> {
    let state = |path: &Path| {
        let metadata = fs::symlink_metadata(path).unwrap();
        (
            metadata.permissions().mode(),
            metadata.mtime_nsec(),
            metadata.nlink(),
        )
    };
    tree(folder).keys().map(|it| state(it)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed() {
    as_ordinary_user("sandbox::read_only::nothing_is_changed");
    for mode in MODES {
        let (stage, switch) = stage(mode);
        with_repositories(&stage);
        switch.set(true);
        let folder = stage.folder.path();
        let before = (tree(folder), states(folder));
        let refused = [
            "echo x > a.txt",
            "echo x >> a.txt",
            ": > a.txt",
            "echo x > new",
            "rm a.txt",
            "mv a.txt b.txt",
            "mkdir d",
            "rmdir src/deep || rm -r src",
            "ln a.txt b.txt",
            "ln -s a.txt b.txt",
            "mkfifo f",
            "cp a.txt b.txt",
            "truncate -s 0 a.txt",
            "touch a.txt",
            "chmod 777 a.txt",
            "chown $(id -u) a.txt && exit 1",
            "python3 -c 'import os; os.setxattr(\"a.txt\", \"user.x\", b\"x\")'",
            "python3 -c 'import os; os.utime(\"a.txt\", (1, 1))'",
            "sed -i s/one/two/ a.txt",
            "dd if=/dev/zero of=a.txt bs=1 count=1 conv=notrunc",
            "mv src/deep src/other",
            "echo x > .git/config",
            "echo x > .git/hooks/pre-commit",
            "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
            "git init -q other",
            "echo x > ../outside/secret.txt",
            "rm ../outside/secret.txt",
            "mount -o remount,rw . && exit 1 || exit 1",
            "unshare -rm true",
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'",
            "(cd src && exec sh -c 'echo x > deep/mod.rs')",
            "echo x > /proc/self/cwd/a.txt",
            "echo x > \"/proc/$$/root$PWD/a.txt\"",
            "exec 3<> a.txt && echo x >&3",
        ];
        for command in refused {
            let ended = stage.call("RunCommand", json!({ "command": command }));
            let ended = ended.await.unwrap();
            assert!(
                !ended.starts_with("status=0\n"),
                "{mode:?} {command}: {ended}"
            );
        }
        assert_eq!((tree(folder), states(folder)), before, "{mode:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_read() {
    as_ordinary_user("sandbox::read_only::everything_is_read");
    for mode in MODES {
        let (stage, switch) = stage(mode);
        with_repositories(&stage);
        switch.set(true);
        let check = async |command: &str, expected: &str| {
            let ended = stage.call("RunCommand", json!({ "command": command }));
            let expected = Ok(format!("status=0\n\n{expected}\n"));
            assert_eq!(mode.text(ended.await), expected, "{mode:?}: {command}");
        };
        check("cat a.txt", "one\ntwo\nthree").await;
        check("grep -q root: /etc/passwd && echo read", "read").await;
        check(
            "git log --format=%s && git status --short a.txt && echo x > /dev/null",
            "x",
        )
        .await;
        check("f=$(mktemp) && echo temporary > $f && cat $f", "temporary").await;
        let elsewhere = json!({ "command": "basename $PWD; ls", "cwd": "src/deep" });
        let ended = mode.text(stage.call("RunCommand", elsewhere).await);
        assert_eq!(
            ended.as_deref(),
            Ok("status=0\n\ndeep\nmod.rs\n"),
            "{mode:?}"
        );
        // It is no state of the workspace.
        switch.set(false);
        let write = json!({ "command": "echo new > b.txt && cat b.txt" });
        let ended = stage.call("RunCommand", write).await;
        assert_eq!(ended.as_deref(), Ok("status=0\n\nnew\n"), "{mode:?}");
    }
}

/// That a mount is read-only stops neither pipes nor devices.
#[tokio::test(flavor = "multi_thread")]
async fn pipes_and_devices_of_the_workspace() {
    as_ordinary_user("sandbox::read_only::pipes_and_devices_of_the_workspace");
    for mode in MODES {
        let (stage, switch) = stage(mode);
        assert_eq!(outside(&stage.work(), "mkfifo pipe"), "");
        // `zero`, by a node of its own, which only root can make.
        let is_made = outside(&stage.work(), "mknod zero c 1 5").is_empty();
        switch.set(true);
        let refused = async |command: &str| {
            let ended = stage.call("RunCommand", json!({ "command": command }));
            let ended = ended.await.unwrap();
            assert!(
                ended.starts_with("status=2\n") || ended.starts_with("status=1\n"),
                "{mode:?} {command}: {ended}"
            );
        };
        refused("exec sh -c 'echo x > pipe'").await;
        if is_made && mode == Mode::Namespaces {
            refused("head -c 1 zero").await;
            let sandboxed = Stage::with(|builtins| mode.builtins(builtins));
            assert_eq!(outside(&sandboxed.work(), "mknod zero c 1 5"), "");
            let read = json!({ "command": "head -c 1 zero | wc -c" });
            let ended = sandboxed.call("RunCommand", read).await.unwrap();
            assert!(ended.contains("Permission denied"), "{ended}");
        }
    }
}

/// A command that was approved as one that can change nothing does not run otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn the_switch_is_part_of_what_is_approved() {
    let (stage, switch) = stage(Mode::Namespaces);
    switch.set(true);
    let calls = [("RunCommand", json!({ "command": "echo x > a.txt" }))];
    let off = switch.clone();
    let said = run(&stage, &[], &calls, move |request| {
        let notes = request.preview.notes.join("\n");
        assert_eq!(request.suggestions().is_empty(), off.is_on());
        if off.is_on() {
            assert!(
                notes.contains("in the sandbox: no network, no writing"),
                "{notes}"
            );
            off.set(false);
            return Answer::Once;
        }
        assert!(!notes.contains("in the sandbox"), "{notes}");
        Answer::No(None)
    });
    assert_eq!(said.await, ["Denied by the user"]);
    assert_eq!(stage.content("a.txt"), "one\ntwo\nthree\n");
    // What the sandbox allows is allowed.
    switch.set(true);
    let rules = ["allow RunCommand in the sandbox"];
    let said = run(&stage, &rules, &calls, |_| Answer::No(None)).await;
    assert!(
        said[0].contains("status=2") || said[0].contains("status=1"),
        "{said:?}"
    );
    switch.set(false);
    let said = run(&stage, &rules, &calls, |_| Answer::No(None)).await;
    assert_eq!(said, ["Denied by the user"]);
}
