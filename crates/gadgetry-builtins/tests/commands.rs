//! `RunCommand`.

#![cfg(unix)]

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
async fn the_sandbox_leaves_what_work_needs() {
    let stage = Stage::with(|builtins| builtins.sandbox(cfg!(target_os = "linux")));
    let check = async |command: &str, expected: &str| {
        let parameters = json!({ "command": command });
        stage.check("RunCommand", parameters, Ok(expected)).await;
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
        "cat /etc/passwd | grep -c root: | grep -q . && echo read",
        "status=0\n\nread\n",
    )
    .await;
    check("python3 -c 'import multiprocessing, socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'", "status=0\n\nb'x'\n").await;
    check("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s", "status=0\n\nx\n").await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn settings_and_hooks_of_git_are_put_back() {
    /// What `.git` is before the command, its command, the note, and what there is afterwards.
    async fn check(before: &str, command: &str, note: &str, after: &[(&str, Option<&str>)]) {
        let stage = Stage::with(|builtins| builtins.sandbox(true));
        let prepared = std::process::Command::new("sh")
            .args(["-c", before])
            .current_dir(stage.work())
            .status();
        assert!(prepared.unwrap().success(), "{before}");
        let expected = if note.is_empty() {
            "status=0\n\n(no output)\n".to_owned()
        } else {
            format!(
                "status=0\n\n(no output)\n\n[{note}; in the sandbox, commands cannot change Git's settings and hooks]\n"
            )
        };
        let parameters = json!({ "command": command });
        stage.check("RunCommand", parameters, Ok(&expected)).await;
        for (path, content) in after {
            let found = std::fs::read_to_string(stage.work().join(path)).ok();
            assert_eq!(found.as_deref(), *content, "{command}: {path}");
        }
    }
    let repository =
        "mkdir -p .git/hooks; printf old > .git/config; printf '!' > .git/hooks/pre-push";
    let config = (".git/config", Some("old"));
    check(
        repository,
        "echo new > .git/config; echo new > .git/hooks/x; rm .git/hooks/pre-push",
        "put back: config, hooks/pre-push, hooks/x",
        &[
            config,
            (".git/hooks/x", None),
            (".git/hooks/pre-push", Some("!")),
        ],
    )
    .await;
    check(
        repository,
        "mkdir evil; echo ../evil > .git/commondir; for i in $(seq 300); do echo > .git/hooks/$i; done; rm .git/hooks/[0-9]*",
        "put back: commondir",
        &[config, (".git/commondir", None)],
    )
    .await;
    check(
        repository,
        "rm .git/config; mkdir .git/config",
        "put back: config",
        &[config],
    )
    .await;
    let replaced = ".git was replaced, and its replacement renamed to .git.untrusted-1";
    check(
        repository,
        "mv .git evil; echo 'gitdir: evil' > .git",
        replaced,
        &[(".git", None), ("evil/config", Some("old"))],
    )
    .await;
    check(
        repository,
        "mv .git evil; ln -s evil .git",
        replaced,
        &[(".git/config", None)],
    )
    .await;
    check(repository, "rm -r .git", ".git is gone", &[]).await;
    check(
        "printf 'gitdir: ../w' > .git",
        "echo 'gitdir: evil' > .git",
        &format!("{replaced}; put back: .git"),
        &[(".git", Some("gitdir: ../w"))],
    )
    .await;
    check(
        "true",
        "echo 'gitdir: evil' > .git",
        replaced,
        &[(".git", None)],
    )
    .await;
    let new = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    check("true", new, "", &[]).await;
    check(
        "true",
        &format!("{new}; git config core.fsmonitor 'touch x'; echo x > .git/hooks/pre-commit"),
        "put back: config, hooks/pre-commit",
        &[
            (".git/config", Some("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n")),
            (".git/hooks/pre-commit", None),
        ],
    )
    .await;
}

/// The second command starts when the first one has planted a hook, and ends after it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn what_one_command_plants_is_not_kept_by_another() {
    let stage = Stage::with(|builtins| builtins.sandbox(true));
    let hook = stage.work().join(".git/hooks/x");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let run = |command: &str| {
        stage.call(
            "RunCommand",
            json!({ "command": command, "timeout": 600_000 }),
        )
    };
    let wait = |path: &str| format!("until [ -e {path} ]; do sleep 0.01; done");
    let first = format!("echo x > .git/hooks/x; touch planted; {}", wait("seen"));
    let second = format!("touch seen; {}", wait("first-is-over"));
    let is_over = std::cell::Cell::new(false);
    let first = async {
        let ended = run(&first).await;
        std::fs::write(stage.work().join("first-is-over"), "").unwrap();
        is_over.set(true);
        ended
    };
    let second = async {
        while !is_over.get() && !stage.work().join("planted").exists() {
            tokio::task::yield_now().await;
        }
        run(&second).await
    };
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_ok() && second.is_ok(), "{first:?}, {second:?}");
    assert!(!hook.exists());
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
