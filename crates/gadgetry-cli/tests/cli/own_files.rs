//! What the program itself runs and reads is not the work of a model.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use super::acp::{self, Editor};
use super::workshop::{Ended, Workshop, call, reply};

/// A script that leaves a mark.
const EVIL: &str = "#!/bin/sh\necho EVIL >> ran\n";

/// Makes a program, and the folders that it is in.
fn program(workshop: &Workshop, name: &str, text: &str) {
    let path = workshop.path(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(&path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// `PATH` with folders of the workshop first.
fn path(workshop: &Workshop, folders: &[&str]) -> OsString {
    path_of(folders.iter().map(|it| workshop.path(it)))
}

/// `PATH` with folders first.
fn path_of(folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    let usual = std::env::var_os("PATH").expect("a path");
    let folders = folders.into_iter();
    std::env::join_paths(folders.chain(std::env::split_paths(&usual))).expect("a path")
}

fn command(line: &str) -> String {
    reply(&call("RunCommand:c", &format!("!!!ARG:command\n{line}\n")))
}

const AGENT: [&str; 8] = [
    "agent",
    "Go!",
    "--model",
    "script:script.jsonl",
    "--config",
    "conf.toml",
    "--yes",
    "--sandbox",
];

/// Programs that are found in folders of `PATH` in the workspace, also by links, and those that a command puts before others.
#[test]
fn what_path_finds_in_the_workspace() {
    let check = |line: &str| {
        let script = command(line) + &command("true") + &reply("Done.");
        let workshop = Workshop::new(&script);
        program(&workshop, ".venv/bin/guard", "#!/bin/sh\nexit 0\n");
        program(&workshop, "modules/tool/cli", "#!/bin/sh\nexit 0\n");
        fs::create_dir_all(workshop.path("modules/.bin")).expect("a folder");
        symlink("../tool/cli", workshop.path("modules/.bin/tool")).expect("a link");
        program(&workshop, "evil", EVIL);
        let hooks = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'guard && tool'\n";
        workshop.write("conf.toml", hooks);
        let folders = [".venv/bin", "modules/.bin", "later/bin"];
        let mut agent = workshop.command(&AGENT);
        let ended = Ended::of(agent.env("PATH", path(&workshop, &folders)));
        assert!(!workshop.has("ran"), "{line}: {ended:?}");
        assert_eq!(ended.stdout, "Done.\n", "{line}: {ended:?}");
        for name in [".venv/bin/guard", "modules/tool/cli"] {
            assert_eq!(workshop.read(name), "#!/bin/sh\nexit 0\n", "{line}");
        }
        let names = [".venv/bin/sh", "modules/.bin/sh", "later/bin/sh"];
        assert!(
            !names.iter().any(|it| workshop.has(it)),
            "{line}: {ended:?}"
        );
    };
    check(
        "cat evil > .venv/bin/guard; cat evil > modules/tool/cli; cat evil > modules/.bin/tool; true",
    );
    check("cp evil .venv/bin/sh; cp evil modules/.bin/sh; true");
    check("mkdir -p later/bin; cp evil later/bin/sh; cp evil later/bin/guard; true");
    check("mv .venv v; mkdir -p .venv/bin; cp evil .venv/bin/guard; mv modules m; true");
    check("rm modules/.bin/tool; cp evil modules/.bin/tool; true");
}

/// Programs that `PATH` has elsewhere, with links into the workspace, as package managers make them.
#[test]
fn what_path_finds_elsewhere() {
    let guard = "#!/bin/sh\nexit 0\n";
    let check = |conf: &str, options: &[&str]| {
        let line = "for f in dist/*; do cat evil > $f; done; true";
        let write = "!!!ARG:filePath\ndist/guard\n!!!ARG:content\nevil\n";
        let script = command(line) + &reply(&call("WriteFile:w", write)) + &reply("Done.");
        let (workshop, elsewhere) = (Workshop::new(&script), Workshop::new(""));
        program(&workshop, "dist/guard", guard);
        program(&workshop, "evil", EVIL);
        let link = elsewhere.path("my-guard");
        symlink(workshop.path("dist/guard"), link).expect("a link");
        workshop.write("conf.toml", conf);
        workshop.write(
            "own.toml",
            "[[gadget]]\nname = 'Own'\ndescription = 'Does it'\ncommand = ['my-guard']\n",
        );
        let folders = [elsewhere.path("")];
        let mut agent = workshop.command(&[&AGENT[..6], options].concat());
        let path = path_of(folders);
        let ended = Ended::of(agent.arg("--yes").env("PATH", path));
        assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
        assert_eq!(workshop.read("dist/guard"), guard, "{conf}{options:?}");
    };
    let hook = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'my-guard'\n";
    let server = "[mcp.servers.s]\ncommand = 'my-guard'\nenabled = false\n";
    check(hook, &["--sandbox"]);
    check(server, &["--sandbox"]);
    let own = ["--gadgets", "own.toml", "--builtins", "all"];
    check("", &[&own[..], &["--sandbox"]].concat());
    // What no command line names: another program may start it.
    check("", &["--sandbox"]);
}

/// Relative folders of `PATH` begin where programs are started, also if that is not the working directory.
#[test]
fn relative_folders_of_path() {
    let check = |folder: &str, conf: &str, line: &str| {
        let script = command(line) + &command("true") + &reply("Done.");
        let (workshop, elsewhere) = (Workshop::new(&script), Workshop::new(""));
        program(&workshop, "bin/guard", "#!/bin/sh\nexit 0\n");
        program(&workshop, "server/bin/guard", "#!/bin/sh\nexit 0\n");
        program(&workshop, "evil", EVIL);
        workshop.write("conf.toml", conf);
        let script = format!("script:{}", workshop.path("script.jsonl").display());
        let conf = workshop.path("conf.toml");
        let mut acp = elsewhere.command(&["acp", "--model", &script, "--sandbox"]);
        acp.args(["--approval", "allow RunCommand", "--config"])
            .arg(conf);
        let mut editor = Editor::of({
            acp.env("PATH", path_of([folder.into()]));
            acp
        });
        editor.begin();
        let (_, begun) = editor.ask("session/new", acp::folder(&workshop));
        let session = begun["result"]["sessionId"].clone();
        let (_, answer) = editor.ask("session/prompt", acp::prompt(&session, "Go!"));
        let ended = editor.leave();
        assert!(!workshop.has("ran"), "{line}: {answer} {ended:?}");
        for name in ["bin/guard", "server/bin/guard"] {
            assert_eq!(
                workshop.read(name),
                "#!/bin/sh\nexit 0\n",
                "{line}: {answer}"
            );
        }
        format!("{begun}{answer}")
    };
    let hook = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'guard'\n";
    let ended = check("bin", hook, "cat evil > bin/guard; true");
    assert!(ended.contains("end_turn"), "{ended}");
    check("bin", hook, "cp evil bin/cat; cp evil bin/sh; true");
    let cat = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'cat > /dev/null'\n";
    let ended = check(".", cat, "cp evil cat; true");
    assert!(ended.contains("PATH has the workspace itself"), "{ended}");
    let server = "[mcp.servers.s]\ncommand = 'guard'\ncwd = 'server'\nenabled = false\n";
    check("bin", server, "cat evil > server/bin/guard; true");
}

/// Files of hooks that do not exist yet are not made by a call.
#[test]
fn hooks_whose_files_are_missing() {
    let check = |hook: &str, line: &str| {
        let write = "!!!ARG:filePath\nlocal/guard.sh\n!!!ARG:content\necho EVIL > ran\n";
        let script = command("mkdir local x; echo x > local/other; true")
            + &reply(&call("WriteFile:w", write))
            + &command(line)
            + &command("true")
            + &reply("Done.");
        let workshop = Workshop::new(&script);
        program(&workshop, "evil", EVIL);
        let hooks = format!("[[hooks]]\nevent = 'PreToolUse'\ncommand = '{hook}; exit 0'\n");
        workshop.write("conf.toml", &hooks);
        let ended = Ended::of(&mut workshop.command(&AGENT));
        for mark in ["ran", "local/ran"] {
            assert!(!workshop.has(mark), "{hook}: {line}: {ended:?}");
        }
        assert_eq!(ended.stdout, "Done.\n", "{hook}: {line}: {ended:?}");
        ended
    };
    let copy = "cp evil local/guard.sh";
    for hook in [
        "[ -f local/guard.sh ] && sh local/guard.sh",
        "[ -f \"$PWD/local/guard.sh\" ] && sh \"$PWD/local/guard.sh\"",
        "test -f $(pwd)/local/guard.sh && . $(pwd)/local/guard.sh",
        "cd local && test -f guard.sh && ./guard.sh",
    ] {
        check(hook, copy);
        check(
            hook,
            "mv local old; cp evil x/guard.sh; ln -s x local; true",
        );
    }
    check(
        "if test -x ./local/guard; then ./local/guard; fi",
        "cp evil local/guard",
    );
    check("test -x x.sh && ./x.sh", "ln -s evil x.sh");
}

/// `sh` of hooks and `git` of `--worktree` are not those of the workspace, even if they were there before.
#[test]
fn programs_of_our_own_are_from_elsewhere() {
    let script = reply(&call("ReadFile:r", "!!!ARG:filePath\nconf.toml\n")) + &reply("Done.");
    let check = |prepare: &str, options: &[&str]| {
        let workshop = Workshop::new(&script);
        let made = workshop.run("sh", &["-c", prepare]).status();
        assert!(made.expect("sh runs").success());
        for name in ["sh", "git"] {
            program(&workshop, &format!("bin/{name}"), EVIL);
        }
        let hooks = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'true'\n";
        workshop.write("conf.toml", hooks);
        let mut agent = workshop.command(&[&AGENT[..6], options].concat());
        let ended = Ended::of(agent.env("PATH", path(&workshop, &["bin"])));
        assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
        assert!(!workshop.has("ran"), "{ended:?}");
    };
    check("true", &[]);
    let commit = "git init -q && git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m x";
    check(commit, &["--worktree", "fix"]);
}

/// Hooks of a repository that only the environment names.
#[test]
fn repositories_of_the_environment() {
    let line = "echo EVIL > hk/pre-commit; mv hk x; true";
    let workshop = Workshop::new(&(command(line) + &reply("Done.")));
    let elsewhere = Workshop::new("");
    workshop.write("conf.toml", "");
    program(&workshop, "hk/pre-commit", "#!/bin/sh\n");
    let made = "git init -q --bare own.git && git -C own.git config core.hooksPath hk";
    let made = elsewhere.run("sh", &["-c", made]).status();
    assert!(made.expect("sh runs").success());
    let mut agent = workshop.command(&AGENT);
    agent.env("GIT_DIR", elsewhere.path("own.git"));
    let ended = Ended::of(agent.env("GIT_WORK_TREE", workshop.path("")));
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    assert_eq!(workshop.read("hk/pre-commit"), "#!/bin/sh\n", "{ended:?}");
}

/// Toolboxes protect the same files as agents.
#[test]
fn toolboxes_protect_their_files() {
    let workshop = Workshop::new("");
    let conf = "data-dir = 'data'\n[[hooks]]\nevent = 'Stop'\ncommand = 'sh $(pwd)/guard.sh'\n\
        [mcp.servers.s]\ncommand = 'sh'\nargs = ['server.sh']\nenabled = false\n";
    workshop.write("conf.toml", conf);
    for name in ["guard.sh", "server.sh"] {
        workshop.write(name, "true\n");
    }
    let line =
        "echo x > guard.sh; echo x > server.sh; echo x > conf.toml; mkdir gadgetry/x data/x; true";
    let params = serde_json::json!({ "command": line }).to_string();
    let args = [
        "gadget",
        "run",
        "RunCommand",
        "--params",
        &params,
        "--config",
        "conf.toml",
    ];
    let ended = Ended::of(&mut workshop.command(&[&args[..], &["--sandbox"]].concat()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Read-only"), "{ended:?}");
    assert_eq!(workshop.read("conf.toml"), conf);
    for name in ["guard.sh", "server.sh"] {
        assert_eq!(workshop.read(name), "true\n", "{ended:?}");
    }
    for name in ["gadgetry/x", "data/x"] {
        assert!(!workshop.has(name), "{ended:?}");
    }
}

/// Sessions and decisions are not changed, neither by commands nor by built-in gadgets.
#[test]
fn the_user_s_folders_are_not_changed() {
    let write = |file: &str| {
        let parameters = format!("!!!ARG:filePath\n{file}\n!!!ARG:content\n{{}}\n");
        reply(&call("WriteFile:w", &parameters))
    };
    let line = "for d in data gadgetry config/gadgetry; do echo x > $d/trusted.json; cp conf.toml $d/new; rm -rf $d; mv $d x; done; true";
    let files = [
        "data/trusted.json",
        "gadgetry/new",
        "config/gadgetry/trusted.json",
    ];
    let calls = files.map(write).concat();
    let workshop = Workshop::new(&(command(line) + &calls + &reply("Done.")));
    workshop.write("conf.toml", "");
    let mut agent = workshop.command(&[&AGENT[..], &["--data-dir", "data"]].concat());
    let ended = Ended::of(agent.env("XDG_CONFIG_HOME", workshop.path("config")));
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    let made = ["data", "gadgetry", "config/gadgetry"];
    for folder in made {
        assert!(workshop.has(folder), "{folder}: {ended:?}");
        for name in ["trusted.json", "new"] {
            assert!(
                !workshop.has(&format!("{folder}/{name}")),
                "{folder}: {ended:?}"
            );
        }
    }
    // The session was written meanwhile.
    let mut list = workshop.command(&["sessions", "list", "--data-dir", "data"]);
    let listed = Ended::of(&mut list);
    assert!(listed.stdout.contains("Go!"), "{listed:?}");
}

/// Links in the user's folders that lead into the workspace, as those of a repository of settings do.
#[test]
fn links_in_the_user_s_folders() {
    let line = "echo x > dots/trusted.json; echo x > dots/config.toml; true";
    let workshop = Workshop::new(&(command(line) + &reply("Done.")));
    let elsewhere = Workshop::new("");
    workshop.write("conf.toml", "");
    fs::create_dir_all(workshop.path("dots")).expect("a folder");
    fs::create_dir_all(elsewhere.path("gadgetry")).expect("a folder");
    for (name, text) in [("trusted.json", "{}"), ("config.toml", "")] {
        workshop.write(&format!("dots/{name}"), text);
        let link = elsewhere.path("gadgetry").join(name);
        symlink(workshop.path("dots").join(name), link).expect("a link");
    }
    let mut agent = workshop.command(&AGENT);
    let ended = Ended::of(agent.env("XDG_CONFIG_HOME", elsewhere.path("")));
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    assert_eq!(workshop.read("dots/trusted.json"), "{}", "{ended:?}");
    assert_eq!(workshop.read("dots/config.toml"), "", "{ended:?}");
}

/// What cannot be protected is refused at the start.
#[test]
fn workspaces_that_cannot_be_protected() {
    let check = |options: &[&str], folders: &[&str], expected: &str| {
        let workshop = Workshop::new(&reply("Done."));
        workshop.write("conf.toml", "");
        let mut agent = workshop.command(&[&AGENT[..], options].concat());
        let ended = Ended::of(agent.env("PATH", path(&workshop, folders)));
        let is_refused = ended.code == Some(2) && ended.stderr.contains(expected);
        assert!(is_refused, "{ended:?}");
    };
    check(&[], &["."], "PATH has the workspace itself");
    check(
        &["--data-dir", "."],
        &[],
        "the folder of gadgetry's own files",
    );
}
