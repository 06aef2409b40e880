//! Ways out of the sandbox. None of them works.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gadgetry_builtins::AfterEdit;
use serde_json::json;

use super::{
    IDENTITY, MODES, Mode, as_ordinary_user, outside, processes_in, stage, with_repositories,
};
use crate::stage::{SECRET, Stage, tree};

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
    if !folder.exists() {
        return BTreeMap::new();
    }
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
    "printf x | dd of=OUT/secret.txt bs=1 count=1",
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
    "python3 -c 'import ctypes, os, threading, time; os.fork() and os._exit(0); os.setsid(); threading.Thread(target=lambda: (time.sleep(1000))).start(); ctypes.CDLL(None).syscall({\"x86_64\": 60}.get(os.uname().machine, 93), 0)' > /dev/null 2>&1 < /dev/null & exit 0",
    "python3 -c 'import ctypes; print(ctypes.CDLL(None).shmget(4711, 100, 0o1666), ctypes.CDLL(None).msgget(4711, 0o1666))'; true",
    "at now + 1 minute < a.txt; systemd-run --user touch MARK; dbus-send --session x; true",
    // Sockets.
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET6); s.connect((\"::ffff:127.0.0.1\", PORT))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", 53))'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"../socket\")'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
    "python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b\"x\", \"../datagrams\")'",
    "python3 -c 'import socket; a, b = socket.socketpair(); a.connect(\"../socket\")'",
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'; curl -s http://127.0.0.1:PORT/",
    // What Git runs code from.
    "EVIL .git/hooks/pre-commit",
    "EVIL .git/hooks/pre-commit; chmod 500 .git/hooks",
    "EVIL tools/hooks/pre-commit; EVIL tools/hooks/post-index-change",
    "EVIL pre-commit; mv tools/hooks old; mkdir tools/hooks; cp pre-commit tools/hooks; ln -s \"$PWD/pre-commit\" tools/hooks/post-checkout",
    "FSMONITOR .git/config; chmod 000 .git",
    "FSMONITOR shared.gitconfig",
    "FSMONITOR second.gitconfig",
    "mv tools old; EVIL tools/hooks/pre-commit",
    "EVIL script; mv script old; EVIL script",
    "mkdir src/objects src/refs; echo 'ref: refs/heads/x' > src/HEAD; git init -q evil; mv evil/.git src/.git; FSMONITOR src/.git/config",
    "mkdir -p evil/objects evil/refs; echo x > evil/HEad; echo x > evil/Head; echo 'ref: refs/heads/x' > evil/HEAD; FSMONITOR evil/config",
    "git init -q evil; FSMONITOR evil/.git/config; mkdir src/d; cd src/d; for i in $(seq 250); do mkdir d; cd d; done",
    "mkdir -p evil/objects evil/refs; git init -q evil/src; FSMONITOR evil/src/.git/config; echo 'ref: refs/heads/x' > evil/HEAD; mv evil/src/.git evil/.git",
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
    as_ordinary_user("sandbox::ways_out::no_way_out_works");
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
            let before = (states(&stage.outside()), own_limits());
            let hooks = states(&work.join("tools/hooks"));
            let settings = fs::read(work.join("shared.gitconfig")).unwrap();
            let shared =
                ["shm", "msg", "sem"].map(|name| fs::read(format!("/proc/sysvipc/{name}")).ok());
            let datagrams =
                std::os::unix::net::UnixDatagram::bind(folder.join("datagrams")).unwrap();
            datagrams.set_nonblocking(true).unwrap();
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
            let after = (states(&stage.outside()), own_limits());
            // A command may move them away, as any other file.
            let now = states(&work.join("tools/hooks"));
            assert!(now.is_empty() || now == hooks, "{what}: {now:?}");
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
            assert!(datagrams.recv(&mut [0; 8]).is_err(), "{what}");
            let now =
                ["shm", "msg", "sem"].map(|name| fs::read(format!("/proc/sysvipc/{name}")).ok());
            assert_eq!(now, shared, "{what}");
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
            outside(
                &work.join("nested"),
                &format!("git {IDENTITY} commit --allow-empty -m y"),
            );
            assert!(!mark.exists(), "{what}: with the user's Git");
        }
    }
    assert!(ESCAPES.len() >= 60);
}

/// Ways to make a program that runs as its owner, for other users of the machine to start.
const SETTERS: &[&str] = &[
    "cp /bin/sh s && chmod 4755 s",
    "cp /bin/sh s && chmod u+s s",
    "python3 -c 'import os; os.open(\"s\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
    "python3 -c 'import os; os.mknod(\"s\", 0o104755)'",
    "python3 -c 'import os; os.fchmod(os.open(\"s\", os.O_CREAT | os.O_WRONLY), 0o4755)'",
    "python3 -c 'import os; f = os.open(\".\", os.O_TMPFILE | os.O_WRONLY, 0o4755); os.link(f\"/proc/self/fd/{f}\", \"s\")'",
    // `openat2`, `chmod`, `creat` and `fchmodat2` by their numbers.
    "python3 -c 'import ctypes, struct; ctypes.CDLL(None).syscall(437, -100, b\"s\", struct.pack(\"QQQ\", 0o101, 0o4755, 0), 24)'",
    "touch s; python3 -c 'import ctypes; ctypes.CDLL(None).syscall(452, -100, b\"s\", 0o4755, 0)'",
    "python3 -c 'import ctypes, os; os.uname().machine == \"x86_64\" and ctypes.CDLL(None).syscall(85, b\"s\", 0o4755)'",
    "cp /bin/sh s; install -m 4755 s t; tar cf u --mode=4755 s; mkdir v; tar xpf u -C v",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_program_runs_as_its_owner() {
    as_ordinary_user("sandbox::ways_out::no_program_runs_as_its_owner");
    let owned = |folder: &Path| -> Vec<PathBuf> {
        let files = tree(folder).into_keys();
        let is_set = |path: &PathBuf| fs::symlink_metadata(path).unwrap().mode() & 0o4000 != 0;
        files.filter(is_set).collect()
    };
    for line in SETTERS {
        let outside_work = stage(MODES[0]);
        outside(&outside_work.work(), line);
        // Some kernels and file systems lack one or the other; most ways work everywhere.
        if line.contains("chmod") {
            let is_old = line.contains("452");
            assert!(is_old || !owned(&outside_work.work()).is_empty(), "{line}");
        }
        for mode in MODES {
            let stage = stage(mode);
            let ended = stage.call("RunCommand", json!({ "command": line })).await;
            assert_eq!(
                owned(&stage.work()),
                Vec::<PathBuf>::new(),
                "{mode:?}: {line}: {ended:?}"
            );
        }
    }
}

/// What runs after a change runs code of the workspace, such as a build script that a model has written.
#[tokio::test(flavor = "multi_thread")]
async fn commands_after_a_change_are_confined_as_well() {
    for mode in MODES {
        let stage = Stage::with(|builtins| {
            let check = AfterEdit::new("sh ./build.sh; echo done; touch inside");
            mode.builtins(builtins).after_edit([check])
        });
        let script = "echo changed > ../outside/secret.txt; echo new > ../outside/new.txt";
        let parameters = json!({ "filePath": "build.sh", "content": script });
        let written = stage.call("WriteFile", parameters).await.unwrap();
        assert!(written.contains("\ndone\n"), "{mode:?}: {written}");
        assert!(stage.work().join("inside").exists(), "{mode:?}: {written}");
        let secret = fs::read_to_string(stage.outside().join("secret.txt")).unwrap();
        assert_eq!(secret, SECRET, "{mode:?}");
        assert!(!stage.outside().join("new.txt").exists(), "{mode:?}");
    }
}

/// With Landlock alone, `/dev` is that of all: of its terminals a command could take what is typed.
#[tokio::test(flavor = "multi_thread")]
async fn devices_of_others_are_not_read() {
    as_ordinary_user("sandbox::ways_out::devices_of_others_are_not_read");
    let stage = stage(Mode::Landlock);
    let command = "for it in null zero ptmx pts/ptmx; do (: < /dev/$it) 2>/dev/null && echo $it; done; cat a.txt /etc/passwd | head -n 3";
    let ended = stage
        .call("RunCommand", json!({ "command": command }))
        .await;
    let text = Mode::Landlock.text(ended).unwrap();
    assert_eq!(text, "status=0\n\nnull\nzero\none\ntwo\nthree\n");
}

/// A second set of system calls, x32, has other numbers for some.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn calls_by_their_other_numbers_are_refused() {
    for mode in MODES {
        let stage = stage(mode);
        // `ioctl` with `TIOCSTI`, `kexec_load`, `unshare`.
        for (number, argument) in [(16, 0x5412), (514, 0x5412), (528, 0), (246, 0), (272, 0)] {
            for bit in [0, 0x4000_0000] {
                let number = number | bit;
                let command = format!(
                    "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall({number}, 0, {argument}, 0, 0); print(ctypes.get_errno())'"
                );
                let ended = stage.call("RunCommand", json!({ "command": command }));
                let ended = mode.text(ended.await);
                // EPERM
                assert_eq!(ended.as_deref(), Ok("status=0\n\n1\n"), "{mode:?} {number}");
            }
        }
    }
}
