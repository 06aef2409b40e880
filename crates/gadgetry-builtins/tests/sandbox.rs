//! Commands in the sandbox: what they can do, and ways out, none of which works.
//!
//! Everything is tried with namespaces and with Landlock alone, and if the tests run as root, as an ordinary user as well.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gadgetry_builtins::Builtins;
use serde_json::json;

use crate::stage::{Stage, tree};

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
        fs::copy(from, &to).unwrap();
        to
    };
    let helper = copy(Path::new(env!("CARGO_BIN_EXE_gadgetry-supervisor")));
    let program = copy(&std::env::current_exe().unwrap());
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
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

/// Makes `work` a repository with a nested one, a linked worktree outside, and the settings of a submodule.
fn with_repositories(stage: &Stage) {
    let made = outside(
        &stage.work(),
        &format!(
            "git init -q . && git add a.txt && git {IDENTITY} commit -q -m x \
             && git worktree add -q ../outside/linked && git init -q nested \
             && mkdir -p .git/modules/sub && cp -r .git/HEAD .git/objects .git/refs .git/config .git/modules/sub \
             && git config include.path ../shared.gitconfig && git config core.hooksPath .hooks && mkdir .hooks \
             && printf '[core]\\n' > shared.gitconfig"
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
            let note = match renamed {
                "" => String::new(),
                renamed => format!(
                    "\n[{renamed}: in the sandbox, commands cannot make what Git runs code from]\n"
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
            ".git was renamed to .git.untrusted-1",
        )
        .await;
        check(
            "true",
            "mkdir -p a/b/.git c/objects c/refs; echo > c/HEAD; echo gitdir: x > src/.git",
            silent,
            "a/b/.git was renamed to a/b/.git.untrusted-1; c/HEAD was renamed to c/HEAD.untrusted-1; src/.git was renamed to src/.git.untrusted-1",
        )
        .await;
        check(
            "true",
            "ln -s src .git; mkdir objects refs; echo > HEAD",
            silent,
            ".git was renamed to .git.untrusted-1; HEAD was renamed to HEAD.untrusted-1",
        )
        .await;
        if mode == Mode::Namespaces {
            check(
                "git init -q x; cd x; git config include.path ../../y",
                "echo > y",
                silent,
                "y was renamed to y.untrusted-1",
            )
            .await;
        }
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
            "the workspace itself is laid out as a folder of Git",
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

/// A file as it must stay.
#[derive(Debug, PartialEq, Eq)]
struct State {
    content: Vec<u8>,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    links: u64,
}

fn states(folder: &Path) -> BTreeMap<PathBuf, State> {
    let files = tree(folder).into_iter().map(|(path, content)| {
        let found = fs::symlink_metadata(&path).unwrap();
        let state = State {
            content,
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            modified: (found.mtime(), found.mtime_nsec()),
            links: found.nlink(),
        };
        (path, state)
    });
    files.collect()
}

/// What of this process a command could change.
fn own_limits() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap();
    let status = read("status");
    let allowed = status
        .lines()
        .filter(|line| line.starts_with("Cpus_allowed"));
    let stat = read("stat");
    // Priority and niceness are the 16th and 17th field after the name.
    let nice: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .skip(15)
        .take(2)
        .collect();
    format!(
        "{}{:?}{nice:?}",
        read("limits"),
        allowed.collect::<Vec<_>>()
    )
}

/// Processes that work below a folder.
fn processes_in(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap();
    let folders = all.filter_map(|entry| fs::read_link(entry.ok()?.path().join("cwd")).ok());
    folders.filter(|cwd| cwd.starts_with(folder)).collect()
}

/// Commands that try to leave. `OUT` is a folder outside, `MARK` a file that no one may make.
const ESCAPES: &[&str] = &[
    // Writing outside.
    "echo x > ../outside/secret.txt",
    "echo x > OUT/new.txt",
    "echo x >> link/secret.txt",
    "rm -rf ../outside",
    "rm -rf link/folder",
    "mv ../outside/secret.txt .",
    "mv a.txt ../outside/",
    "cp a.txt OUT/copied",
    "ln -s /etc ../outside/etc",
    "ln OUT/secret.txt linked && echo x > linked",
    "ln a.txt ../outside/linked-file",
    "mkdir OUT/made; mkfifo OUT/pipe",
    "touch MARK",
    ": > OUT/secret.txt; truncate -s 0 OUT/secret.txt",
    "dd if=/dev/zero of=OUT/secret.txt bs=1 count=1",
    "cd .. && touch MARK",
    "cd /proc/self/root && touch MARK",
    "cd /proc/1/root && touch MARK",
    "x=MARK; eval \"touch $x\"",
    "env -i PATH=$PATH touch MARK",
    "find . -maxdepth 0 -exec touch MARK ';'",
    "awk 'BEGIN { print \"x\" > \"MARK\" }'",
    "tar cf t.tar a.txt --transform 's,^,../outside/,' && tar xPf t.tar",
    "HOME=OUT sh -c 'echo x > ~/.profile'",
    "TMPDIR=OUT mktemp",
    "python3 -c 'open(\"OUT/secret.txt\", \"r+\").truncate(0)'",
    "python3 -c 'import os; os.rename(\"a.txt\", \"OUT/a.txt\")'",
    "python3 -c 'import os; f = os.open(\"OUT\", os.O_PATH); os.open(\"new\", os.O_CREAT | os.O_WRONLY, dir_fd=f)'",
    "echo '* * * * * touch MARK' | crontab -",
    "echo x > /proc/$PPID/root/OUT/secret.txt; echo x > /proc/$PPID/cwd/../outside/secret.txt",
    // Metadata outside.
    "chmod 777 OUT OUT/secret.txt",
    "chmod 000 ..",
    "chown nobody OUT/secret.txt; chgrp nogroup OUT/secret.txt",
    "touch -d 2001-01-01 OUT/secret.txt",
    "python3 -c 'import os; os.utime(\"OUT/secret.txt\", (1, 1))'",
    "python3 -c 'import os; os.utime(os.open(\"OUT/secret.txt\", os.O_RDONLY), (1, 1))'",
    "python3 -c 'import os; os.fchmod(os.open(\"OUT/secret.txt\", os.O_RDONLY), 0o777)'",
    "python3 -c 'import os; os.setxattr(\"OUT/secret.txt\", \"user.x\", b\"x\")'",
    "setfattr -n user.x -v x OUT/secret.txt; setfacl -m u:nobody:rw OUT/secret.txt",
    "chattr +i OUT/secret.txt; chattr +a ../outside",
    // Mounts, namespaces, devices, the kernel.
    "unshare -rm sh -c 'mount -t tmpfs none OUT; touch OUT/x'",
    "unshare -Ur sh -c 'chmod 777 OUT; touch MARK'",
    "mount --bind OUT src && echo x > src/secret.txt",
    "mount -o remount,rw / ; touch MARK; umount -l .git/config; echo x >> .git/config",
    "umount -l /; umount -l \"$PWD\"; touch MARK",
    "chroot / touch MARK; nsenter -t 1 -a touch MARK; nsenter -t $PPID -m touch MARK",
    "mknod disk b 8 0; mknod kmsg c 1 11 && echo x > kmsg",
    "echo x > /proc/sys/kernel/core_pattern; echo 1 > /proc/sys/vm/drop_caches",
    "hostname changed; echo changed > /proc/sys/kernel/hostname",
    "echo x > /dev/tty; echo x > /dev/pts/0; echo x > /dev/console; echo x > /dev/kmsg",
    "echo 1000 > /proc/$PPID/oom_score_adj; echo x > /sys/power/state",
    // Other processes.
    "kill -STOP $PPID; kill -9 $PPID; kill -9 -1; kill -9 -- -$PPID; true",
    "kill -9 PARENT; pkill -9 -f GADGETRY; true",
    "prlimit --nofile=3 --pid PARENT; prlimit --nofile=3 --pid $PPID; true",
    "renice -n 19 -p PARENT; taskset -p 1 PARENT; ionice -c 3 -p PARENT; chrt -i -p 0 PARENT; true",
    "cat /proc/PARENT/environ /proc/$PPID/environ | tr '\\0' '\\n' | grep SECRET-IN-ENVIRONMENT",
    "python3 -c 'open(\"/proc/PARENT/mem\", \"r+b\").write(b\"x\")'; true",
    "gdb -p PARENT --batch; strace -p PARENT; true",
    // What stays.
    "setsid sh -c 'while :; do touch MARK; done' > /dev/null 2>&1 < /dev/null & exit 0",
    "nohup setsid sleep 1000 > /dev/null 2>&1 & (setsid sleep 1000 &) & exit 0",
    "python3 -c 'import os; [os.setsid() or os.fork() and os._exit(0) if os.fork() == 0 else os._exit(0) for _ in [0]]; import time; time.sleep(1000)' & exit 0",
    "trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 1000' & exit 0",
    "at now + 1 minute < a.txt; systemd-run --user touch MARK; dbus-send --session x; true",
    // Sockets.
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET6); s.connect((\"::ffff:127.0.0.1\", PORT))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", 53))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"../socket\")'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'; curl -s http://127.0.0.1:PORT/",
    // What Git runs code from.
    "EVIL .git/hooks/pre-commit",
    "EVIL .git/hooks/pre-commit; chmod 500 .git/hooks",
    "EVIL .hooks/pre-commit; EVIL .hooks/post-index-change",
    "EVIL pre-commit; mv .hooks old; mkdir .hooks; cp pre-commit .hooks; ln -s \"$PWD/pre-commit\" .hooks/post-checkout",
    "FSMONITOR .git/config; chmod 000 .git",
    "FSMONITOR shared.gitconfig",
    "rm -f shared.gitconfig; FSMONITOR new; mv new shared.gitconfig; ln -s new shared.gitconfig",
    "git config core.fsmonitor 'touch MARK'; git config --worktree core.fsmonitor 'touch MARK'",
    "FSMONITOR .git/config.worktree; git config extensions.worktreeConfig true",
    "rm -rf .git/config; mkdir .git/config; rm -rf .git",
    "mv .git evil; FSMONITOR evil/config; echo 'gitdir: evil' > .git",
    "mv .git evil; FSMONITOR evil/config; ln -s evil .git",
    "mkdir evil; FSMONITOR evil/config; echo ../evil > .git/commondir",
    "FSMONITOR .git/modules/sub/config; FSMONITOR .git/worktrees/linked/config.worktree",
    "mkdir evil; FSMONITOR evil/config; echo \"$PWD/evil\" > .git/worktrees/linked/commondir",
    "rm .git/HEAD; git init -q --bare tmp && mv tmp/* . && FSMONITOR config",
    "git init -q --bare evil; FSMONITOR evil/config; printf '[core]\\nworktree = ..\\n' >> evil/config",
    "git init -q evil; FSMONITOR evil/.git/config; chmod 000 evil",
    "mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/x' > evil/HEAD; FSMONITOR evil/config; chmod 500 evil",
    "git init -q evil; FSMONITOR evil/.git/config; mv evil/.git evil/.GIT; git init -q src; FSMONITOR src/.git/config; chmod a-w src",
    "FSMONITOR nested/.git/config; EVIL nested/.git/hooks/pre-commit",
    "mv nested moved; git init -q nested; FSMONITOR nested/.git/config",
    "mkdir d; cd d; for i in $(seq 150); do mkdir d; cd d; done; git init -q .; FSMONITOR .git/config",
    "git init -q evil; FSMONITOR evil/.git/config; prlimit --nofile=3 --pid $PPID; chattr +i evil/.git evil",
    "(sleep 0.2; git init -q evil; FSMONITOR evil/.git/config) > /dev/null 2>&1 & setsid sh -c 'sleep 0.3; git init -q evil' > /dev/null 2>&1 & exit 0",
    "mkdir -p .git/rebase-merge; echo 'exec touch MARK' > .git/rebase-merge/git-rebase-todo; echo x > .git/info/attributes",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_works() {
    as_ordinary_user("sandbox::no_way_out_works");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for mode in MODES {
        for escape in ESCAPES {
            let stage = stage(mode);
            with_repositories(&stage);
            let (work, folder) = (stage.work(), stage.folder.path().to_owned());
            std::os::unix::fs::symlink("../outside", work.join("link")).unwrap();
            let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
            socket.set_nonblocking(true).unwrap();
            let mark = folder.join("escaped");
            let evil = format!(
                "evil() {{ mkdir -p \"$(dirname $1)\"; printf '#!/bin/sh\\ntouch {}\\n' > $1; chmod +x $1; }}; ",
                mark.display()
            );
            let fsmonitor = format!(
                "fsmonitor() {{ printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch {}; false\\n' >> $1; }}; ",
                mark.display()
            );
            let command = escape
                .replace("OUT", stage.outside().to_str().unwrap())
                .replace("MARK", mark.to_str().unwrap())
                .replace("PARENT", &std::process::id().to_string())
                .replace("PORT", &port)
                .replace("EVIL", "evil")
                .replace("FSMONITOR", "fsmonitor");
            let command = format!("{evil}{fsmonitor}{command}");
            let before = (
                states(&stage.outside()),
                own_limits(),
                states(&work.join(".hooks")),
            );
            let settings = fs::read(work.join("shared.gitconfig")).unwrap();
            let hostname = fs::read("/proc/sys/kernel/hostname").unwrap();
            let ended = stage
                .call(
                    "RunCommand",
                    json!({ "command": command, "timeout": 20_000 }),
                )
                .await;
            let what = format!("{mode:?}: {escape}: {ended:?}");
            assert!(processes_in(&folder).is_empty(), "{what}");
            assert!(!mark.exists(), "{what}");
            let after = (
                states(&stage.outside()),
                own_limits(),
                states(&work.join(".hooks")),
            );
            assert_eq!(after, before, "{what}");
            assert_eq!(
                fs::read(work.join("shared.gitconfig")).unwrap(),
                settings,
                "{what}"
            );
            assert_eq!(
                fs::read("/proc/sys/kernel/hostname").unwrap(),
                hostname,
                "{what}"
            );
            assert!(
                listener.accept().is_err() && socket.accept().is_err(),
                "{what}"
            );
            let (Ok(text) | Err(text)) = &ended;
            assert!(!text.contains("SECRET-IN-ENVIRONMENT"), "{what}");
            // It ran, or the sandbox could not look at what it has left, and says so.
            assert!(
                text.starts_with("status=")
                    || text.contains("would make Git run code")
                    || text.contains("searched"),
                "{what}"
            );
            // The user's next commands.
            for place in [
                "work",
                "work/nested",
                "work/evil",
                "work/src",
                "outside/linked",
            ] {
                let place = folder.join(place);
                if place.is_dir() {
                    outside(&place, "git status; git diff");
                }
            }
            outside(
                &work,
                &format!("git {IDENTITY} commit --allow-empty -m y; git checkout -q -b new"),
            );
            assert!(!mark.exists(), "{what}: with the user's Git");
        }
    }
    assert!(ESCAPES.len() >= 60);
}
