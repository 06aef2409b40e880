//! Commands in the sandbox: what they can do, and ways out, none of which works.
//!
//! Everything is tried with namespaces and with Landlock alone, and if the tests run as root, as an ordinary user as well.

mod named;
mod read_only;
mod repositories;
mod ways_out;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gadgetry_builtins::Builtins;
use serde_json::json;

use crate::stage::Stage;

/// How commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Namespaces,
    Landlock,
}

impl Mode {
    fn builtins(self, builtins: Builtins) -> Builtins {
        match self {
            Self::Namespaces => builtins.sandbox(true),
            Self::Landlock => builtins.sandbox_by_landlock(),
        }
    }

    /// Without what the report says about missing namespaces.
    fn text(self, ended: Result<String, String>) -> Result<String, String> {
        let ended = ended?;
        Ok(
            match (
                self,
                ended.split_once("\n[this system's sandbox has no namespaces"),
            ) {
                (Self::Landlock, Some((text, _))) => text.to_owned(),
                (Self::Landlock, None) => panic!("the report says nothing: {ended}"),
                (Self::Namespaces, _) => ended,
            },
        )
    }
}

const MODES: [Mode; 2] = [Mode::Namespaces, Mode::Landlock];

/// The variable that tells a test in a process of its own that it is there.
const INNER: &str = "GADGETRY_TEST_ORDINARY_USER";

/// `nobody`.
const NOBODY: u32 = 65_534;

/// Runs the test `name` again as an ordinary user, if this is root.
fn as_ordinary_user(name: &str) {
    if std::env::var_os(INNER).is_some() || fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    // Programs of root may be in folders that are not for others.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = |from: &Path| {
        let to = folder.path().join(from.file_name().unwrap());
        // Not in this process: a program that another test starts meanwhile would hold the file open for writing, so that nothing could
        // run it.
        let copied = Command::new("cp").arg(from).arg(&to).status().unwrap();
        assert!(copied.success());
        to
    };
    let helper = copy(Path::new(env!("CARGO_BIN_EXE_gadgetry-supervisor")));
    let program = copy(&std::env::current_exe().unwrap());
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    for folder in ["", "closed", "passable"] {
        let folder = own.join(folder);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    // What `folders_of_another_user` finds.
    for (name, mode) in [("closed/folder", 0o700), ("passable/folder", 0o711)] {
        fs::create_dir(own.join(name)).unwrap();
        fs::set_permissions(own.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let ended = Command::new(program)
        .args([name, "--exact", "--nocapture"])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir(&own)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TMPDIR", &own)
        .env("HOME", &own)
        .env(INNER, helper)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(
        ended.status.success() && out.contains("1 passed"),
        "{name} as an ordinary user: {out}{err}"
    );
}

/// A container often leaves a folder that only root can read. What is in one that can be entered may be the user's all the same.
#[tokio::test]
async fn folders_of_another_user() {
    as_ordinary_user("sandbox::folders_of_another_user");
    // Only root can make these folders.
    if std::env::var_os(INNER).is_none() {
        return;
    }
    for mode in MODES {
        let check = async |folder: &str, expected: &str| {
            let folder = Path::new(&std::env::var_os("TMPDIR").unwrap()).join(folder);
            let builtins = gadgetry_builtins::Builtins::in_dir(folder).unwrap();
            let stage = Stage::with(|_| mode.builtins(builtins));
            let ended = stage.call("RunCommand", json!({ "command": "echo runs" }));
            let (Ok(said) | Err(said)) = ended.await;
            assert!(said.contains(expected), "{mode:?}: {said}");
        };
        check("closed", "runs").await;
        check("passable", "folder cannot be searched").await;
    }
}

fn stage(mode: Mode) -> Stage {
    if let Some(helper) = std::env::var_os(INNER) {
        gadgetry::command::supervisor::use_program(helper);
    }
    Stage::with(|builtins| mode.builtins(builtins))
}

/// Runs a command outside the sandbox, as the user would.
fn outside(folder: &Path, command: &str) -> String {
    let ended = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output();
    // A command may have closed the folder to its user.
    ended.map_or_else(
        |error| error.to_string(),
        |ended| String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned(),
    )
}

const IDENTITY: &str = "-c user.name=a -c user.email=a@b";

/// Makes `work` a repository with a nested one, a linked worktree outside, the settings of a submodule, and links and settings that
/// lead to the workspace.
fn with_repositories(stage: &Stage) {
    let made = outside(
        &stage.work(),
        &format!(
            "git init -q . && git add a.txt && git {IDENTITY} commit -q -m x \
             && git worktree add -q ../outside/linked && git init -q nested \
             && mkdir -p .git/modules/sub && cp -r .git/HEAD .git/objects .git/refs .git/config .git/modules/sub \
             && git config include.path ../shared.gitconfig && git config core.hooksPath tools/hooks && mkdir -p tools/hooks && printf '#!/bin/sh\\n' > tools/hooks/post-commit && chmod +x tools/hooks/post-commit \
             && printf '[include]\\npath = second.gitconfig # more\\n' > shared.gitconfig && printf '[core]\\n' > second.gitconfig \
             && printf '#!/bin/sh\\n' > script && chmod +x script && ln -s ../../../script nested/.git/hooks/pre-commit"
        ),
    );
    assert_eq!(made, "", "{made}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_work_needs() {
    as_ordinary_user("sandbox::what_work_needs");
    for mode in MODES {
        let stage = stage(mode);
        let check = async |command: &str, expected: &str| {
            let ended = mode.text(
                stage
                    .call("RunCommand", json!({ "command": command }))
                    .await,
            );
            assert_eq!(ended.as_deref(), Ok(expected), "{mode:?}: {command}");
        };
        check("echo new > b.txt && cat b.txt", "status=0\n\nnew\n").await;
        check(
            "mkdir x && mv b.txt x/ && rm -r x && ls",
            "status=0\n\na.txt\nsrc\ntarget\nx.log\n",
        )
        .await;
        check(
            "echo x > /dev/null; head -c 3 /dev/zero | wc -c",
            "status=0\n\n3\n",
        )
        .await;
        check(
            "f=$(mktemp) && echo temporary > $f && cat $f",
            "status=0\n\ntemporary\n",
        )
        .await;
        check(
            "grep -q root: /etc/passwd && echo read",
            "status=0\n\nread\n",
        )
        .await;
        check("exit 3", "status=3\n\n(no output)\n").await;
        check(
            "kill -9 $$",
            "status=killed (signal: 9 (SIGKILL))\n\n(no output)\n",
        )
        .await;
        check(
            "test -t 0 || cat; basename \"$PWD\"; test \"$PWD\" = \"$(pwd -P)\"",
            "status=0\n\nwork\n",
        )
        .await;
        check(
            "echo $(id -u) | grep -qx \"$(stat -c %u .)\" && echo own",
            "status=0\n\nown\n",
        )
        .await;
        check("(sleep 0; echo late) & exit 0", "status=0\n\nlate\n").await;
        check(
            "python3 -c 'import multiprocessing, socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'",
            "status=0\n\nb'x'\n",
        )
        .await;
        if mode == Mode::Namespaces {
            check(
                "chmod 600 a.txt && touch -d 2001-01-01 a.txt && chmod 644 a.txt; echo $?",
                "status=0\n\n0\n",
            )
            .await;
            check(
                "python3 -c 'import pty; pty.spawn([\"echo\", \"terminal\"])'",
                "status=0\n\nterminal\n",
            )
            .await;
        }
        let slow = json!({ "command": "echo begun; sleep 1000", "timeout": 700 });
        let ended = mode.text(stage.call("RunCommand", slow).await);
        assert_eq!(
            ended.as_deref(),
            Ok("status=timeout (ended after 700 ms)\n\nbegun\n"),
            "{mode:?}"
        );
        let elsewhere =
            json!({ "command": "basename \"$PWD\" && echo > here && ls", "cwd": "src/deep" });
        let ended = mode.text(stage.call("RunCommand", elsewhere).await);
        assert_eq!(
            ended.as_deref(),
            Ok("status=0\n\ndeep\nhere\nmod.rs\n"),
            "{mode:?}"
        );
    }
}

/// The text without the random ends of new names, which have 16 digits.
fn without_random(text: &str) -> String {
    let mut parts = text.split(".untrusted-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + ".untrusted-RANDOM" + &part[16..])
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_are_read_and_not_made() {
    as_ordinary_user("sandbox::repositories_are_read_and_not_made");
    for mode in MODES {
        let check = async |before: &str, command: &str, expected: &str, renamed: &str| {
            let stage = stage(mode);
            assert_eq!(outside(&stage.work(), before), "", "{before}");
            let ended = mode.text(
                stage
                    .call("RunCommand", json!({ "command": command }))
                    .await,
            );
            let ended = ended.map(|text| without_random(&text));
            let note = match renamed {
                "" => String::new(),
                renamed => format!(
                    "\n[{renamed}: in the sandbox, commands cannot make what Git, Mercurial or this agent runs code from]\n"
                ),
            };
            let expected = format!("status={expected}{note}");
            assert_eq!(
                ended.as_deref(),
                Ok(expected.as_str()),
                "{mode:?}: {before}: {command}"
            );
        };
        let repository =
            &format!("git init -q . && git add a.txt && git {IDENTITY} commit -q -m x");
        let links = &format!("{repository}; mv .git/hooks .hooks; ln -s ../.hooks .git/hooks");
        let silent = "0\n\n(no output)\n";
        check(
            repository,
            "git log --format=%s; git status --short src",
            "0\n\nx\n?? src/\n",
            "",
        )
        .await;
        check(
            links,
            "readlink .git/hooks; touch .hooks/x 2> /dev/null || echo refused",
            "0\n\n../.hooks\nrefused\n",
            "",
        )
        .await;
        check(
            "git init -q src/own",
            "mv src/own/a src/own/b 2>/dev/null; cat src/own/.git/HEAD",
            "0\n\nref: refs/heads/master\n",
            "",
        )
        .await;
        check(
            "true",
            "git init -q . 2> /dev/null; true",
            silent,
            ".git was renamed to .git.untrusted-RANDOM",
        )
        .await;
        check(
            "true",
            "mkdir -p a/b/.git c/objects c/refs; echo > c/HEAD; echo gitdir: x > src/.git",
            silent,
            "a/b/.git was renamed to a/b/.git.untrusted-RANDOM; c/HEAD was renamed to c/HEAD.untrusted-RANDOM; src/.git was renamed to src/.git.untrusted-RANDOM",
        )
        .await;
        check(
            "true",
            "ln -s src .git; mkdir objects refs; echo > HEAD",
            silent,
            ".git was renamed to .git.untrusted-RANDOM; HEAD was renamed to HEAD.untrusted-RANDOM",
        )
        .await;
        check(
            "true",
            "mkdir -p .hg/store; printf '[hooks]\\npre-status = touch ran\\n' > .hg/hgrc",
            silent,
            ".hg was renamed to .hg.untrusted-RANDOM",
        )
        .await;
        check(
            "mkdir -p src/.hg; echo > src/.hg/hgrc",
            "echo x 2> /dev/null >> src/.hg/hgrc || echo refused",
            "0\n\nrefused\n",
            "",
        )
        .await;
        if mode == Mode::Namespaces {
            check(
                "true",
                "mkdir -p x/.git; echo > x/.git/HEAD; chmod 0 x/.git; chmod 0 x",
                silent,
                "x/.git was renamed to x/.git.untrusted-RANDOM",
            )
            .await;
            check(
                "git init -q x; cd x; git config include.path ../../y",
                "echo > y",
                silent,
                "y was renamed to y.untrusted-RANDOM",
            )
            .await;
        }
    }
}

/// A repository above the workspace names hooks in it.
#[tokio::test(flavor = "multi_thread")]
async fn repositories_above_the_workspace() {
    for mode in MODES {
        let stage = stage(mode);
        let folder = stage.folder.path();
        let prepare = format!(
            "git init -q . && git {IDENTITY} commit -q --allow-empty -m x && git config core.hooksPath work/hooks"
        );
        assert_eq!(outside(folder, &prepare), "");
        let plant = "mkdir -p hooks; printf '#!/bin/sh\\ntouch ran\\n' > hooks/pre-commit; chmod +x hooks/pre-commit; cp hooks/pre-commit .";
        stage
            .call("RunCommand", json!({ "command": plant }))
            .await
            .unwrap();
        outside(folder, &format!("git {IDENTITY} commit --allow-empty -m y"));
        assert!(
            !folder.join("ran").exists() && !stage.work().join("hooks").exists(),
            "{mode:?}"
        );
    }
}

/// As root there is no limit of processes, so this is for ordinary users.
#[tokio::test(flavor = "multi_thread")]
async fn processes_without_end_are_ended() {
    as_ordinary_user("sandbox::processes_without_end_are_ended");
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        return;
    }
    let stage = stage(Mode::Namespaces);
    let command = "ulimit -u 200; f() { f 2> /dev/null | f 2> /dev/null & }; f; sleep 1000";
    let command = json!({ "command": format!("bash -c '{command}'"), "timeout": 1000 });
    let ended = stage.call("RunCommand", command).await;
    assert!(
        ended.as_ref().is_ok_and(|text| text.starts_with("status=")),
        "{ended:?}"
    );
    assert!(processes_in(stage.folder.path()).is_empty());
}

/// What was closed before a command, and is searched because root can, stays closed.
#[tokio::test(flavor = "multi_thread")]
async fn modes_of_folders_stay() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    for mode in MODES {
        for closed in [0o000, 0o333, 0o055, 0o600] {
            let stage = stage(mode);
            let folder = stage.work().join("closed");
            fs::create_dir_all(folder.join("in")).unwrap();
            for path in [folder.join("in"), folder.clone()] {
                fs::set_permissions(path, fs::Permissions::from_mode(closed)).unwrap();
            }
            let ended = stage.call("RunCommand", json!({ "command": "true" })).await;
            for path in [folder.join("in"), folder] {
                let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                assert_eq!(found, closed, "{mode:?}: {path:?}: {ended:?}");
            }
        }
    }
}

/// What a user's own links mean to Git cannot be protected, so nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_protected_is_refused() {
    for (before, expected) in [
        (
            "git init -q x; mv x/.git y; ln -s y .git; rm y/HEAD",
            ".git is a link",
        ),
        (
            "git init -q --bare .",
            "the workspace itself is a folder of Git",
        ),
    ] {
        let stage = stage(Mode::Namespaces);
        outside(&stage.work(), before);
        let ended = stage
            .call("RunCommand", json!({ "command": "touch ran" }))
            .await;
        assert!(
            ended.as_ref().is_err_and(|error| error.contains(expected)),
            "{before}: {ended:?}"
        );
        assert!(!stage.work().join("ran").exists());
    }
}

/// Threads that work below a folder. The first one of a process may have ended before the others.
fn processes_in(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap();
    let tasks = all.filter_map(|entry| fs::read_dir(entry.ok()?.path().join("task")).ok());
    let folders = tasks
        .flatten()
        .filter_map(|entry| fs::read_link(entry.ok()?.path().join("cwd")).ok());
    folders.filter(|cwd| cwd.starts_with(folder)).collect()
}
