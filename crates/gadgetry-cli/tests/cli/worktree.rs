//! `--worktree`: an agent works in a worktree of the repository.

use std::process::Command;

use super::workshop::{Ended, Workshop, call, reply};

const WRITE: &str = "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n";

/// Runs Git in the folder.
pub(super) fn git(workshop: &Workshop, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.com",
        "-c",
        "init.defaultBranch=main",
    ]);
    let ended = command
        .arg("-C")
        .arg(workshop.path(""))
        .args(arguments)
        .output();
    let ended = ended.expect("Git runs");
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    String::from_utf8(ended.stdout).expect("text")
}

fn repository() -> Workshop {
    let workshop = Workshop::new("");
    git(&workshop, &["init", "-q"]);
    std::fs::create_dir(workshop.path("inner")).expect("a folder");
    workshop.write("inner/a.txt", "a\n");
    git(&workshop, &["add", "inner"]);
    git(&workshop, &["commit", "-q", "-m", "first"]);
    workshop
}

fn agent(workshop: &Workshop, replies: &str, options: &[&str]) -> Ended {
    workshop.write("script.jsonl", replies);
    let script = workshop.path("script.jsonl").display().to_string();
    let model = format!("script:{script}");
    let agent = ["agent", "Go!", "--model", &model, "--approval", "allow *"];
    Ended::of(&mut workshop.command(&[&agent[..], options].concat()))
}

#[test]
fn a_worktree_is_made_used_and_left() {
    let workshop = repository();
    let writes = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    let ended = agent(&workshop, &writes, &["--worktree", "fix"]);
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    let folder = workshop
        .path("")
        .canonicalize()
        .expect("a folder")
        .join(".gadgetry/worktrees/fix");
    let shown = folder.display();
    let says = |ended: &Ended, text: &str| {
        assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    };
    says(
        &ended,
        &format!("worktree fix: {shown} (branch fix, new)\n"),
    );
    says(
        &ended,
        &format!(
            "worktree fix: 1 file not committed; it stays in {shown} until `git worktree remove {shown}`\n"
        ),
    );
    assert!(folder.join("new.txt").is_file() && !workshop.has("new.txt"));
    // The repository does not show it.
    let status = git(&workshop, &["status", "--porcelain"]);
    assert!(!status.contains(".gadgetry"), "{status}");
    // It is there the next time, also for the session that began in it.
    let commit = "!!!ARG:command\ngit add . && git -c user.name=T -c user.email=t@example.com commit -qm second\n";
    let commits = reply(&call("RunCommand:c", commit)) + &reply("Done.");
    let ended = agent(&workshop, &commits, &["--worktree", "fix"]);
    says(&ended, "(branch fix, as it was left)\n");
    says(&ended, "worktree fix: 1 commit on fix; it stays in");
    let reads = reply(&call("ReadFile:r", "!!!ARG:filePath\nnew.txt\n")) + &reply("Done.");
    let ended = agent(&workshop, &reads, &["--continue"]);
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    says(&ended, "path=new.txt");
    says(&ended, &format!("the session works in {shown}"));
    // Programs are shown nothing.
    let ended = agent(
        &workshop,
        &reply("Done."),
        &["--worktree", "fix", "--print"],
    );
    assert_eq!(
        (&*ended.stdout, &*ended.stderr),
        ("Done.\n", ""),
        "{ended:?}"
    );
    let ended = agent(&workshop, &reply("Done."), &["--worktree", "fix"]);
    says(&ended, "worktree fix: nothing has changed; it stays in");
}

/// What Git's settings make it run may be the work of an agent. So it runs when the user's Git looks, and not before.
#[cfg(unix)]
#[test]
fn git_runs_no_program() {
    let check = |before: &str, command: &str, after: &str| {
        let workshop = repository();
        let mark = workshop.path("mark");
        let sh = |folder: &str, line: &str| {
            let line = line.replace("MARK", &mark.display().to_string());
            let mut command = Command::new("sh");
            command
                .args(["-c", &line])
                .current_dir(workshop.path(folder));
            let identity = ["AUTHOR", "COMMITTER"].map(|who| format!("GIT_{who}_NAME"));
            command.envs(identity.map(|name| (name, "T")));
            command
                .env("EMAIL", "t@example.com")
                .output()
                .expect("sh runs")
        };
        let made = sh("", before);
        assert!(made.status.success(), "{before}: {made:?}");
        let _ = std::fs::remove_file(&mark);
        let command = command.replace("MARK", &mark.display().to_string());
        let runs = format!("!!!ARG:command\n{command}\n");
        let replies = reply(&call("RunCommand:c", &runs)) + &reply("Done.");
        let ended = agent(&workshop, &replies, &["--worktree", "fix"]);
        assert_eq!(ended.stdout, "Done.\n", "{before}: {ended:?}");
        assert!(
            ended.stderr.contains("not committed; it stays in"),
            "{ended:?}"
        );
        assert!(!mark.exists(), "{before}: {command}");
        // A test that could not fail would be none.
        let done = sh(".gadgetry/worktrees/fix", after);
        assert!(mark.exists(), "{after}: {done:?}");
    };
    let changed = "echo '* filter=a=b' > .gitattributes; echo b > inner/a.txt";
    check(
        "git config filter.a=b.clean 'touch MARK; cat'",
        changed,
        "git status",
    );
    check(
        "git config filter.a=b.process 'touch MARK' && git config filter.a=b.required true",
        changed,
        "git status",
    );
    check(
        "git config filter.x.smudge 'touch MARK; cat' && echo '* filter=x' > .gitattributes && git add . && git commit -qm x",
        "touch new",
        "rm inner/a.txt; git checkout inner/a.txt",
    );
    check(
        "printf '#!/bin/sh\\ntouch MARK\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout",
        "touch new",
        "git checkout -q -b other",
    );
    check(
        "git config core.fsmonitor 'touch MARK; false'",
        "touch new",
        "git status",
    );
    check(
        "git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,lib && git commit -qm x",
        "git init -q lib; cd lib; echo a > f; git add f; git -c user.name=T -c user.email=t@example.com commit -qm x; echo b > f; git config filter.x.clean 'touch MARK; cat'; echo '* filter=x' > .git/info/attributes; touch ../new",
        "git status",
    );
}

#[test]
fn mistakes_are_named() {
    let check = |workshop: &Workshop, options: &[&str], problem: &str| {
        let ended = agent(workshop, &reply("Done."), options);
        assert_eq!(ended.code, Some(2), "{options:?}: {ended:?}");
        assert!(ended.stderr.contains(problem), "{options:?}: {ended:?}");
    };
    let workshop = repository();
    check(
        &workshop,
        &["--worktree", "../x"],
        "expected 1 to 64 ASCII letters",
    );
    check(
        &workshop,
        &["--worktree", "x", "--workspace", "."],
        "cannot be used with",
    );
    std::fs::create_dir_all(workshop.path(".gadgetry/worktrees/taken")).expect("a folder");
    check(&workshop, &["--worktree", "taken"], "choose another name");
    // A branch that is checked out elsewhere is Git's to refuse.
    check(&workshop, &["--worktree", "main"], "Git: ");
    let none = Workshop::new("");
    check(
        &none,
        &["--worktree", "x"],
        "--worktree needs a Git repository",
    );
    #[cfg(unix)]
    {
        std::fs::remove_dir_all(workshop.path(".gadgetry")).expect("it is there");
        std::os::unix::fs::symlink("inner", workshop.path(".gadgetry")).expect("a link");
        check(&workshop, &["--worktree", "x"], "it is not a folder");
    }
}
