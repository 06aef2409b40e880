//! Repositories that a command makes: none of them is left, and none is trusted by the next command.

use gadgetry_builtins::Builtins;
use serde_json::json;

use super::{IDENTITY, MODES, as_ordinary_user, outside, stage};
use crate::stage::Stage;

/// Commands that try to leave a repository in a place that the user looks at.
struct Case {
    /// Made by the user.
    before: &'static str,
    /// Calls, one after the other.
    commands: &'static [&'static str],
    /// What the user does later.
    after: &'static str,
}

/// `ARMED FOLDER` makes a repository there whose monitor leaves a mark, `BARE FOLDER` one without a `.git`, `EVIL FILE` a script that
/// leaves one.
const CASES: &[Case] = &[
    // A link that takes the place of a folder, on the way of a repository that was moved.
    Case {
        before: "mkdir -p a/sub/tools/hooks && touch a/sub/tools/hooks/x && git init -q a/sub && git -C a/sub config core.hooksPath tools/hooks",
        commands: &[
            "EVIL evil/hooks/pre-commit; mv a b; cd b/sub; mv tools old; ln -s \"${PWD%/b/sub}/evil\" tools",
        ],
        after: "cd b/sub 2> /dev/null || cd a/sub; git IDENTITY commit --allow-empty -m x",
    },
    Case {
        before: "mkdir -p a/sub/tools/hooks && touch a/sub/tools/hooks/x && git init -q a/sub && git -C a/sub config core.hooksPath tools/hooks",
        commands: &[
            "EVIL evil/hooks/pre-commit; mv a b; cd b/sub; mv tools old; ln -s ../../second tools; ln -s \"${PWD%/b/sub}/evil\" ../../second",
        ],
        after: "cd b/sub 2> /dev/null || cd a/sub; git IDENTITY commit --allow-empty -m x",
    },
    Case {
        before: "mkdir -p a/sub c && git init -q a/sub && ln -s ../../c a/sub/way && git -C a/sub config core.hooksPath way/../hooks",
        commands: &["EVIL b/hooks/pre-commit; mv a b/a; mkdir b/c; EVIL b/hooks/pre-commit"],
        after: "cd b/a/sub 2> /dev/null || cd a/sub; git IDENTITY commit --allow-empty -m x",
    },
    // Deeper than a path can be long, and then moved.
    Case {
        before: "true",
        commands: &[
            "BARE src; python3 -c 'import os\ntop = os.open(\".\", 0)\nfor name in 16 * [\"d\" * 250] + [\"pkg\", \"e\" * 73]: os.mkdir(name); os.chdir(name)\nos.rename(\"src\", \"src\", src_dir_fd=top, dst_dir_fd=os.open(\".\", 0))'",
            "python3 -c 'import os\ntop = os.open(\".\", 0)\nfor name in 16 * [\"d\" * 250]: os.chdir(name)\nos.rename(\"pkg\", \"pkg\", dst_dir_fd=top)'",
        ],
        after: "cd pkg/*/src && git status",
    },
    // Where the names that it could be renamed to are taken.
    Case {
        before: "true",
        commands: &[
            "for d in y1 y2 y3 y4 y5 y6 aaa; do ARMED $d; (cd $d; for i in $(seq 999); do : > .git.untrusted-$i; : > .git/HEAD.untrusted-$i; done); done",
            "mv aaa pkg; rm -f pkg/.git.unt*",
        ],
        after: "cd pkg && git status",
    },
    // Folders that are closed to their owner.
    Case {
        before: "true",
        commands: &[
            "ARMED aaa; chmod 500 aaa aaa/.git",
            "chmod 700 aaa; mv aaa pkg",
        ],
        after: "cd pkg && git status",
    },
    Case {
        before: "true",
        commands: &[
            "mkdir x; ARMED x/aaa; chmod 600 x",
            "chmod 700 x; mv x/aaa pkg",
        ],
        after: "cd pkg && git status",
    },
    // Names that a longer one has no room after.
    Case {
        before: "true",
        commands: &[
            "ARMED aaa; mv aaa/.git aaa/.git:$LONG",
            "mv aaa/.git:$LONG aaa/.git; mv aaa pkg",
        ],
        after: "cd pkg && git status",
    },
    // Deeper than is searched, until the user moves it.
    Case {
        before: "true",
        commands: &[
            "mkdir x; cd x; for i in $(seq 230); do mkdir d; cd d; done; mkdir aaa; ARMED aaa",
            "USER d=$(find x -name aaa) && mv $d aaa && rm -r x",
            "mv aaa pkg",
        ],
        after: "cd pkg && git status",
    },
];

fn written(line: &str, mark: &str) -> String {
    let mark = format!("touch {mark}");
    let functions = format!(
        "LONG=$(printf 'd%.0s' $(seq 250)); \
         evil() {{ mkdir -p \"$(dirname $1)\"; printf '#!/bin/sh\\n{mark}\\n' > $1; chmod +x $1; }}; \
         bare() {{ mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/x' > $1/HEAD; \
         printf '[core]\\nrepositoryformatversion = 0\\nworktree = .\\nfsmonitor = {mark}; false\\n' > $1/config; }}; \
         armed() {{ mkdir -p $1; bare $1/.git; sed -i /worktree/d $1/.git/config; }}; "
    );
    let line = line
        .replace("IDENTITY", IDENTITY)
        .replace("EVIL ", "evil ")
        .replace("BARE ", "bare ")
        .replace("ARMED ", "armed ");
    format!("{functions}{line}")
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_left_or_trusted() {
    as_ordinary_user("sandbox::repositories::none_is_left_or_trusted");
    for case in CASES {
        for mode in MODES.map(Some).into_iter().chain([None]) {
            let stage = stage(mode.unwrap_or(MODES[0]));
            let mark = stage.folder.path().join("escaped");
            let mark_text = mark.to_str().unwrap();
            assert_eq!(outside(&stage.work(), case.before), "", "{}", case.before);
            let mut all = Vec::new();
            for command in case.commands {
                let line = written(command.trim_start_matches("USER "), mark_text);
                all.push(match mode {
                    Some(_) if !command.starts_with("USER ") => {
                        let parameters = json!({ "command": line });
                        stage.call("RunCommand", parameters).await
                    }
                    // A test that could not fail would be none: without a sandbox, Git runs it.
                    _ => Ok(outside(&stage.work(), &line)),
                });
            }
            let done = outside(&stage.work(), &written(case.after, mark_text));
            let what = format!("{mode:?}: {:?}: {all:?} {done}", case.commands);
            assert_eq!(mark.exists(), mode.is_none(), "{what}");
        }
    }
}

/// A folder that cannot be searched may hold a repository, so nothing runs until it is gone.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_while_one_may_be_left() {
    as_ordinary_user("sandbox::repositories::no_command_runs_while_one_may_be_left");
    for mode in MODES {
        let stage = stage(mode);
        let call = async |command: &str| {
            let parameters = json!({ "command": command });
            mode.text(stage.call("RunCommand", parameters).await)
        };
        let made = call("mkdir x; cd x; for i in $(seq 230); do mkdir d; cd d; done").await;
        let is_named = made
            .as_ref()
            .is_err_and(|error| error.contains("too deep") && error.contains("no command runs"));
        assert!(is_named, "{mode:?}: {made:?}");
        let refused = call("touch ran").await;
        let is_named = refused
            .as_ref()
            .is_err_and(|error| error.contains("did not run") && error.contains("too deep"));
        assert!(is_named, "{mode:?}: {refused:?}");
        assert!(!stage.work().join("ran").exists(), "{mode:?}");
        outside(&stage.work(), "rm -r x");
        let ran = call("echo ran").await;
        assert_eq!(ran.as_deref(), Ok("status=0\n\nran\n"), "{mode:?}");
    }
}

/// What the user makes between two commands is not taken for what a command has made.
#[tokio::test(flavor = "multi_thread")]
async fn the_user_s_repositories_stay() {
    as_ordinary_user("sandbox::repositories::the_user_s_repositories_stay");
    for mode in MODES {
        let stage = stage(mode);
        for name in ["one", "two"] {
            let made = outside(&stage.work(), &format!("git init -q {name}"));
            assert_eq!(made, "", "{mode:?}");
            let parameters = json!({ "command": "echo x > $(mktemp); ls -d */.git" });
            let ended = mode.text(stage.call("RunCommand", parameters).await);
            let listed = ended.is_ok_and(|text| text.contains(&format!("{name}/.git\n")));
            assert!(listed, "{mode:?}: {name}");
        }
    }
}

/// Git runs code from these folders, however deep in its own the workspace is. A work tree may be among them.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_in_a_folder_of_git() {
    for mode in MODES {
        let check = async |workspace: &str, is_refused: bool| {
            let stage = stage(mode);
            let made = outside(
                &stage.work(),
                &format!(
                    "git init -q r; mkdir -p r/.git/info/deep; git init -q --bare b; mkdir -p b/hooks r/.hg/x r/src; \
                     git -C r {IDENTITY} commit -q --allow-empty -m x; git -C r worktree add -q ../b/tree; mkdir b/tree/src"
                ),
            );
            assert_eq!(made, "", "{workspace}");
            let stage = Stage {
                builtins: mode.builtins(Builtins::in_dir(stage.work().join(workspace)).unwrap()),
                folder: stage.folder,
            };
            let ran = stage.call("RunCommand", json!({ "command": "touch ran" }));
            let parameters = json!({ "filePath": "written", "content": "x" });
            let ended = [ran.await, stage.call("WriteFile", parameters).await];
            let what = format!("{mode:?}: {workspace}: {ended:?}");
            assert!(ended.iter().all(|it| it.is_err() == is_refused), "{what}");
            let folder = stage.work().join(workspace);
            let has = ["ran", "written"].map(|name| folder.join(name).exists());
            assert_eq!(has, [!is_refused; 2], "{what}");
        };
        check("r/.git/hooks", true).await;
        check("r/.git/info/deep", true).await;
        check("r/.hg/x", true).await;
        check("b/hooks", true).await;
        check("b/refs", true).await;
        check("b/tree/src", false).await;
        check("r/src", false).await;
    }
}
