//! What settings of Git name in ways that are easy to overlook.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::json;

use super::{IDENTITY, MODES, as_ordinary_user, outside, stage};

/// A way in which Git is made to run what is in the workspace.
struct Case {
    /// Makes the settings.
    before: &'static str,
    /// What a command writes there.
    plants: &'static str,
    /// The file that it writes, for `WriteFile`.
    file: &'static str,
    /// What the user does later.
    after: &'static str,
}

/// `EVIL FILE` makes a script that leaves a mark, `SETTINGS FILE` settings with a program that does.
const CASES: &[Case] = &[
    // `core.fsmonitor` is a command line.
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor './watch.sh 1' && touch watch.sh",
        plants: "EVIL watch.sh",
        file: "watch.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor 'sh \"tools/watch.sh\"' && mkdir tools && touch tools/watch.sh",
        plants: "mv tools old; EVIL tools/watch.sh",
        file: "tools/watch.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor '$PWD/tools/f.sh' && mkdir tools && touch tools/f.sh",
        plants: "EVIL tools/f.sh",
        file: "tools/f.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor '$(git rev-parse --show-toplevel)/tools/f.sh' && mkdir tools && touch tools/f.sh",
        plants: "EVIL tools/f.sh",
        file: "tools/f.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor 'cd tools&&sh f.sh||true' && mkdir tools && touch tools/f.sh",
        plants: "EVIL tools/f.sh",
        file: "tools/f.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor 'X=1&&`pwd`/my\\ f.sh|cat' && touch 'my f.sh'",
        plants: "cd \"$PWD\"; evil f.sh; cat f.sh > 'my f.sh'; chmod +x 'my f.sh'",
        file: "my f.sh",
        after: "git status",
    },
    Case {
        before: "git init -q . && git add a.txt && git config core.fsmonitor \"\\\"./Bob's/f.sh\\\"\" && mkdir \"Bob's\" && touch \"Bob's/f.sh\"",
        plants: "cd Bob*; EVIL f.sh",
        file: "Bob's/f.sh",
        after: "git status",
    },
    // A repository whose settings are elsewhere.
    Case {
        before: "git init -q . && mkdir -p x/common && mv .git/config .git/objects .git/refs x/common && echo ../x/common > .git/commondir",
        plants: "SETTINGS x/common/config",
        file: "x/common/config",
        after: "git status",
    },
    Case {
        before: "git init -q . && mkdir -p x/common && mv .git/config .git/objects .git/refs x/common && echo ../x/common > .git/commondir",
        plants: "mv x y; cp -r y x; EVIL x/common/hooks/post-commit",
        file: "x/common/hooks/post-commit",
        after: "git IDENTITY commit -q --allow-empty -m x",
    },
    // Hooks are relative to the work tree, which is not always the parent of `.git`.
    Case {
        before: "git init -q . && mkdir -p tree/hooks && git config core.worktree ../tree && git config core.hooksPath hooks",
        plants: "EVIL tree/hooks/post-commit",
        file: "tree/hooks/post-commit",
        after: "cd tree && git IDENTITY commit -q --allow-empty -m x",
    },
    // A hook that is a link, also to a link.
    Case {
        before: "git init -q . && mkdir hooks && touch script && ln -s script second && ln -s ../second hooks/post-commit && git config core.hooksPath hooks",
        plants: "EVIL script",
        file: "script",
        after: "git IDENTITY commit -q --allow-empty -m x",
    },
    Case {
        before: "git init -q . && mkdir hooks && touch script && chmod +x script && ln -s script second && ln -s ../second hooks/post-commit && git config core.hooksPath hooks",
        plants: "rm second; EVIL second",
        file: "second",
        after: "git IDENTITY commit -q --allow-empty -m x",
    },
    // A name that is not UTF-8.
    Case {
        before: "git init -q . && d=$(printf 'h\\344') && mkdir \"$d\" && printf '[core]\\nhooksPath = h\\344\\n' >> .git/config",
        plants: "for d in h*; do EVIL \"$d/post-commit\"; done",
        file: "",
        after: "git IDENTITY commit -q --allow-empty -m x",
    },
    // The home directory of another user.
    Case {
        before: "git init -q . && mkdir hooks && git config core.hooksPath \"~daemon/$(realpath --relative-to ~daemon .)/hooks\"",
        plants: "EVIL hooks/post-commit",
        file: "hooks/post-commit",
        after: "git IDENTITY commit -q --allow-empty -m x",
    },
];

fn written(line: &str, mark: &Path) -> String {
    let mark = mark.display();
    let script = format!("touch {mark}");
    let evil = format!(
        "evil() {{ for f in $1; do mkdir -p \"$(dirname \"$f\")\"; printf '#!/bin/sh\\n{script}\\n' > \"$f\"; chmod +x \"$f\"; done; }}; "
    );
    let settings = format!(
        "settings() {{ printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = {script}\\n' > $1; }}; "
    );
    let line = line
        .replace("IDENTITY", IDENTITY)
        .replace("EVIL ", "evil ")
        .replace("SETTINGS ", "settings ");
    format!("{evil}{settings}{line}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_runs_from_elsewhere() {
    as_ordinary_user("sandbox::named::what_git_runs_from_elsewhere");
    for case in CASES {
        let prepared = |mode| {
            let stage = stage(mode);
            let mark = stage.folder.path().join("escaped");
            assert_eq!(outside(&stage.work(), case.before), "", "{}", case.before);
            (stage, mark)
        };
        // A test that could not fail would be none: without a sandbox, Git runs it.
        let (stage, mark) = prepared(MODES[0]);
        outside(&stage.work(), &written(case.plants, &mark));
        outside(&stage.work(), &written(case.after, &mark));
        assert!(mark.exists(), "Git does not run: {}", case.plants);
        for mode in MODES {
            let (stage, mark) = prepared(mode);
            let command = json!({ "command": written(case.plants, &mark) });
            let ended = stage.call("RunCommand", command).await;
            let done = outside(&stage.work(), &written(case.after, &mark));
            assert!(
                !mark.exists(),
                "{mode:?}: {}: {ended:?} {done}",
                case.plants
            );
        }
        if !case.file.is_empty() {
            let (stage, _) = prepared(MODES[0]);
            let write = json!({ "filePath": case.file, "content": "x" });
            let ended = stage.call("WriteFile", write).await;
            assert!(ended.is_err(), "{}: {ended:?}", case.file);
        }
    }
}

/// Hooks in the workspace itself cannot be covered, so nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_in_the_workspace_itself() {
    for mode in MODES {
        let stage = stage(mode);
        assert_eq!(
            outside(
                &stage.work(),
                "git init -q . && git config core.hooksPath ."
            ),
            ""
        );
        let ended = stage
            .call("RunCommand", json!({ "command": "touch ran" }))
            .await;
        let is_right = ended
            .as_ref()
            .is_err_and(|error| error.contains("leads to the workspace itself"));
        assert!(
            is_right && !stage.work().join("ran").exists(),
            "{mode:?}: {ended:?}"
        );
    }
}

/// What the program itself runs: a script of a hook, by a link.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_program_runs() {
    as_ordinary_user("sandbox::named::what_the_program_runs");
    let before = "mkdir tools && echo true > tools/guard.sh && ln -s tools/guard.sh guard";
    let prepared = |mode| {
        let stage = stage(mode);
        assert_eq!(outside(&stage.work(), before), "");
        let workspace = stage.builtins.workspace();
        workspace.protect([workspace.root().join("guard")]);
        stage
    };
    for plants in [
        "echo false > tools/guard.sh",
        "rm -f tools/guard.sh; echo false > tools/guard.sh",
        "echo false > other; mv other tools/guard.sh",
        "mv tools old; mkdir tools; echo false > tools/guard.sh",
        "rm -f guard; echo false > guard",
        "mkdir x; mv guard x; ln -s a.txt guard",
        ": > guard",
    ] {
        for mode in MODES {
            let stage = prepared(mode);
            let command = json!({ "command": plants });
            let ended = stage.call("RunCommand", command).await;
            let guard = fs::read_to_string(stage.work().join("guard"));
            assert!(
                guard.as_ref().is_ok_and(|it| it == "true\n") || guard.is_err(),
                "{mode:?}: {plants}: {guard:?} {ended:?}"
            );
        }
    }
    for mode in MODES {
        let stage = prepared(mode);
        let command = json!({ "command": "sh guard && echo x > tools/guard.txt; cat tools/*.sh" });
        let ended = stage.call("RunCommand", command).await.unwrap();
        assert!(ended.contains("\n\ntrue\n"), "{mode:?}: {ended}");
    }
    // While a command runs, nothing else takes their places, from wherever it works.
    for (cwd, command) in [
        (
            ".",
            "mv tools old; mv guard x; rm -f guard; mkdir tools; echo false > tools/guard.sh; ln -sf a.txt guard; cat guard",
        ),
        (
            "tools",
            "echo false > guard.sh; rm -f guard.sh; mv guard.sh x; mv ../guard ../x; cat guard.sh",
        ),
    ] {
        for mode in MODES {
            let stage = prepared(mode);
            let call = json!({ "command": format!("({command}) 2> /dev/null"), "cwd": cwd });
            let ended = mode.text(stage.call("RunCommand", call).await);
            assert_eq!(
                ended.as_deref(),
                Ok("status=0\n\ntrue\n"),
                "{mode:?}: {command}"
            );
        }
    }
    let stage = prepared(MODES[0]);
    let refused = "is, or contains, a program, a script or settings of the agent itself";
    for path in ["guard", "tools/guard.sh"] {
        let write = json!({ "filePath": path, "content": "false" });
        stage.check("WriteFile", write, Err(refused)).await;
        let edit = json!({ "filePath": path, "search": "true", "replace": "false" });
        stage.check("EditFile", edit, Err(refused)).await;
    }
    for path in ["tools", "tools/guard.sh"] {
        let delete = json!({ "filePath": path, "recursive": true });
        stage.check("DeleteFile", delete, Err(refused)).await;
    }
    assert_eq!(stage.content("tools/guard.sh"), "true\n");
    let write = json!({ "filePath": "tools/other.sh", "content": "x" });
    assert!(stage.call("WriteFile", write).await.is_ok());
}

/// A file of the program that does not exist yet: nothing is left in its place, and what is made next to it stays.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_exist_yet() {
    as_ordinary_user("sandbox::named::what_does_not_exist_yet");
    let prepared = |mode| {
        let stage = stage(mode);
        let workspace = stage.builtins.workspace();
        workspace.protect([workspace.root().join("local/guard.sh")]);
        stage
    };
    for plants in [
        "mkdir local; echo x > local/guard.sh",
        "mkdir x local; echo x > x/guard.sh; mv x/guard.sh local",
        "mkdir x; echo x > x/guard.sh; ln -s x local",
        "mkdir -p x/y; echo x > x/y/guard.sh; ln -s x/y local",
        "mkdir local; ln -s ../a.txt local/guard.sh; chmod 0 local",
        "mkdir -p local/guard.sh",
    ] {
        for mode in MODES {
            let stage = prepared(mode);
            let call = json!({ "command": plants });
            let ended = stage.call("RunCommand", call).await;
            let guard = fs::symlink_metadata(stage.work().join("local/guard.sh"));
            let is_absent = guard.is_err_and(|it| it.kind() == ErrorKind::NotFound);
            assert!(is_absent, "{mode:?}: {plants}: {ended:?}");
        }
    }
    let stage = prepared(MODES[0]);
    let command = "mkdir local && echo x > local/other.sh; echo x > local/guard.sh";
    let ended = stage.call("RunCommand", json!({ "command": command }));
    let ended = ended.await.unwrap();
    assert!(ended.contains("local/guard.sh was renamed to local/guard.sh.untrusted-"));
    assert_eq!(stage.content("local/other.sh"), "x\n");
    let write = |path: &str| json!({ "filePath": path, "content": "x" });
    let refused = "is, or contains, a program, a script or settings of the agent itself";
    let other = stage.call("WriteFile", write("local/other.sh")).await;
    assert!(other.is_ok(), "{other:?}");
    let guard = write("local/guard.sh");
    stage.check("WriteFile", guard, Err(refused)).await;
}

/// A folder of the program's own, such as its data: nothing is made in it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_a_folder_of_the_program() {
    as_ordinary_user("sandbox::named::what_is_in_a_folder_of_the_program");
    for mode in MODES {
        let stage = stage(mode);
        assert_eq!(
            outside(&stage.work(), "mkdir -p own/in; echo x > own/a"),
            ""
        );
        let workspace = stage.builtins.workspace();
        workspace.protect([workspace.root().join("own")]);
        let command = "(echo y > own/a; echo y > own/b; rm -r own/in; mv own x; cat own/a; ls own) 2> /dev/null";
        let ended = stage.call("RunCommand", json!({ "command": command }));
        let ended = mode.text(ended.await);
        assert_eq!(ended.as_deref(), Ok("status=0\n\nx\na\nin\n"), "{mode:?}");
        for path in ["own/a", "own/b", "own/in/c"] {
            let write = json!({ "filePath": path, "content": "y" });
            let ended = stage.call("WriteFile", write).await;
            assert!(ended.is_err(), "{path}: {ended:?}");
        }
    }
}

/// The workspace itself cannot be read-only.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_of_the_program_s_own() {
    for mode in MODES {
        let stage = stage(mode);
        let workspace = stage.builtins.workspace();
        workspace.protect([workspace.root()]);
        let write = json!({ "filePath": "b.txt", "content": "y" });
        assert!(stage.call("WriteFile", write).await.is_ok());
        let ended = stage.call("RunCommand", json!({ "command": "true" })).await;
        let is_refused =
            (ended.as_ref()).is_err_and(|error| error.contains("leads to the workspace itself"));
        assert!(is_refused, "{mode:?}: {ended:?}");
    }
}
