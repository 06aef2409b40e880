//! What the program itself runs and reads is not the work of a model.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

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
    let usual = std::env::var_os("PATH").expect("a path");
    let ours = folders.iter().map(|it| workshop.path(it));
    std::env::join_paths(ours.chain(std::env::split_paths(&usual))).expect("a path")
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
