//! `gadgetry agent` with built-in gadgets, rules and approvals.

use serde_json::json;

use super::workshop::{Ended, Workshop, call, reply};

/// A reply that reads, writes and runs, and an answer.
fn workshop() -> Workshop {
    let calls = [
        call("ReadFile:r", "!!!ARG:filePath\na.txt\n"),
        call(
            "WriteFile:w",
            "!!!ARG:filePath\nnew/b.txt\n!!!ARG:content\nhello\n",
        ),
        call(
            "RunCommand:c",
            "!!!ARG:command\ntouch made; echo x > ../escaped; true\n",
        ),
        call("TellUser:t:w", "!!!ARG:message\nWritten.\n"),
    ];
    let script = reply(&calls.concat()) + &reply("Done.");
    let workshop = Workshop::new(&script);
    workshop.write("a.txt", "one\n");
    workshop
}

/// What the calls ended with, in the order of their ids.
fn outcomes(workshop: &Workshop, options: &[&str]) -> (Vec<String>, Ended) {
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let ended = Ended::of(&mut workshop.command(&[&agent, options].concat()));
    let mut lines: Vec<String> = ended
        .stderr
        .lines()
        .filter_map(|line| {
            let (mark, line) = line.strip_prefix("  ")?.split_once(' ')?;
            let id = line.split(' ').next()?;
            matches!(mark, "+" | "x" | "-").then(|| format!("{mark} {id}"))
        })
        .collect();
    lines.sort();
    (lines, ended)
}

#[test]
fn without_a_terminal_only_what_reads_runs() {
    let workshop = workshop();
    let (lines, ended) = outcomes(&workshop, &[]);
    assert_eq!(lines, ["+ r", "- t", "x c", "x w"], "{ended:?}");
    assert!(
        ended.stderr.contains("Denied: WriteFile needs approval"),
        "{ended:?}"
    );
    assert_eq!((ended.stdout.as_str(), ended.code), ("Done.\n", Some(3)));
    assert!(!workshop.has("new") && !workshop.has("made"));
}

#[test]
fn rules_allow_and_deny() {
    let check = |options: &[&str], expected: &[&str], written: bool| {
        let workshop = workshop();
        let (lines, ended) = outcomes(&workshop, options);
        assert_eq!(lines, expected, "{options:?}: {ended:?}");
        assert_eq!(workshop.has("new/b.txt"), written, "{options:?}");
    };
    let none = ["+ r", "- t", "x c", "x w"];
    check(
        &["--approval", "allow WriteFile(new/*)"],
        &["+ r", "+ t", "+ w", "x c"],
        true,
    );
    check(&["--approval", "allow WriteFile(old/*)"], &none, false);
    check(
        &[
            "--approval",
            "deny WriteFile(**/b.txt)",
            "--approval",
            "allow WriteFile",
        ],
        &none,
        false,
    );
    // A pattern for a command does not extend to what follows it.
    check(&["--approval", "allow RunCommand(touch *)"], &none, false);
    check(
        &["--approval", "deny ReadFile"],
        &["- t", "x c", "x r", "x w"],
        false,
    );
    check(
        &["--dry-run", "--approval", "allow WriteFile"],
        &["+ r", "+ t", "+ w", "x c"],
        false,
    );
    check(
        &["--yes", "--dangerously-without-sandbox"],
        &["+ c", "+ r", "+ t", "+ w"],
        true,
    );
    check(
        &[
            "--yes",
            "--dangerously-without-sandbox",
            "--approval",
            "deny RunCommand",
        ],
        &["+ r", "+ t", "+ w", "x c"],
        true,
    );
    check(
        &["--builtins", "ReadFile, WriteFile"],
        &["+ r", "x c", "x t", "x w"],
        false,
    );
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_approved_in_the_sandbox_stays_there() {
    let workshop = workshop();
    std::fs::create_dir(workshop.path("inner")).expect("a folder");
    workshop.write("inner/a.txt", "one\n");
    let options = ["--yes", "--sandbox", "--workspace", "inner"];
    let (lines, ended) = outcomes(&workshop, &options);
    assert_eq!(lines, ["+ c", "+ r", "+ t", "+ w"], "{ended:?}");
    assert!(workshop.has("inner/made") && workshop.has("inner/new/b.txt"));
    assert!(!workshop.has("escaped"), "{ended:?}");
    assert!(ended.stderr.contains("  | ℹ️ Written.\n"), "{ended:?}");
}

/// Returns whether a line is a note or a mistake, and not the one about calls that were denied.
fn is_about_rule(line: &&str) -> bool {
    let is_about = line.starts_with("note: ") || line.starts_with("error: ");
    is_about && !line.contains("denied, because no user")
}

/// A rule that resembles the name of a gadget is a mistake, wherever it is written; any other name may be of another run.
#[test]
fn rules_about_no_gadget() {
    let workshop = workshop();
    let typed = |rule: &str| outcomes(&workshop, &["--approval", rule]).1;
    let written = |rule: &str| {
        let (permission, calls) = rule.split_once(' ').expect("a permission");
        let rules = format!("[approvals]\nrules = [{{ {permission} = '{calls}' }}]\n");
        workshop.write("rules.toml", &rules);
        outcomes(&workshop, &["--config", "rules.toml"]).1
    };
    let check = |rule: &str, of_option: &str, of_file: &str| {
        for (ended, expected) in [(typed(rule), of_option), (written(rule), of_file)] {
            let mut lines = ended.stderr.lines();
            let line = lines.find(is_about_rule);
            assert_eq!(line.unwrap_or_default(), expected, "{ended:?}");
            // A run in which calls were denied has its own exit code.
            let is_mistake = ended.code == Some(2);
            assert_eq!(is_mistake, expected.starts_with("error"), "{ended:?}");
        }
    };
    let place = "rules.toml:2:19";
    check(
        "deny RunComand(cat *)",
        "error: --approval 'deny RunComand(cat *)' is about no gadget of this run; did you mean RunCommand?",
        &format!("error: {place}: there is no gadget RunComand; did you mean RunCommand?"),
    );
    check(
        "deny Xyzzy",
        "note: --approval 'deny Xyzzy' is about no gadget of this run",
        &format!("note: {place}: 'deny Xyzzy' is about no gadget of this run"),
    );
    for known in [
        "deny runcommand(cat *)",
        "allow Write*",
        "deny *",
        "deny LoadSkill",
    ] {
        check(known, "", "");
    }
}

/// Tools of servers that are not connected may have any name, but for the name of the server.
#[test]
fn rules_about_tools_of_servers() {
    let workshop = workshop();
    let check = |rule: &str, expected: &str| {
        let config = format!(
            "[approvals]\nrules = [{{ deny = '{rule}' }}]\n[mcp.servers.files]\ncommand = 'x'\nenabled = false\n"
        );
        workshop.write("rules.toml", &config);
        let (_, ended) = outcomes(&workshop, &["--config", "rules.toml"]);
        let mut lines = ended.stderr.lines();
        let line = lines.find(is_about_rule);
        assert_eq!(line.unwrap_or_default(), expected, "{ended:?}");
    };
    check("files__read", "");
    check(
        "fles__read",
        "error: rules.toml:2:19: there is no gadget fles__read; did you mean files__read?",
    );
    check(
        "read_file",
        "note: rules.toml:2:19: 'deny read_file' is about no gadget of this run; did you mean ReadFile?",
    );
}

#[test]
fn invalid_options_of_built_in_gadgets_are_refused() {
    let check = |options: &[&str], error: &str| {
        let args = [&["agent", "Go!", "--model", "script:script.jsonl"], options].concat();
        let ended = Ended::of(&mut workshop().command(&args));
        assert_eq!(ended.stderr, format!("error: {error}\n"), "{options:?}");
        assert_eq!(ended.code, Some(2), "{options:?}");
    };
    check(
        &["--yes"],
        "--yes needs one of --sandbox (commands have no network, and write nothing outside the workspace) and --dangerously-without-sandbox (commands may do what you may)",
    );
    check(
        &["--approval", "permit ReadFile"],
        "invalid value 'permit ReadFile' for '--approval <RULE>': invalid rule `permit ReadFile`: it does not begin with `allow`, `ask` or `deny`; write `Gadget` or `Gadget(pattern)`",
    );
    check(
        &["--builtins", "Shell"],
        "--builtins: there is no built-in gadget Shell; they are ReadFile, ListDirectory, Search, WriteFile, EditFile, DeleteFile, RunCommand, AskUser, TellUser, Finish, TodoWrite, HttpFetch",
    );
    check(
        &["--workspace", "missing"],
        "cannot open the workspace missing: No such file or directory (os error 2)",
    );
    check(
        &["--dry-run", "--yes", "--sandbox"],
        "the argument '--dry-run' cannot be used with '--yes'",
    );
}

#[test]
fn built_in_gadgets_run_without_a_model() {
    let workshop = workshop();
    let run = |args: &[&str]| Ended::of(&mut workshop.command(&[&["gadget"], args].concat()));
    let parameters = json!({ "filePath": "a.txt" }).to_string();
    run(&["run", "ReadFile", "--params", &parameters]).check("path=a.txt\n\none\n\n", "", 0);
    let listed = run(&["list", "--builtins", "ReadFile"]);
    assert!(
        listed.stdout.starts_with("ReadFile  Reads a text file"),
        "{listed:?}"
    );
    let with_file = run(&["list", "--gadgets", "gadgets.toml"]);
    assert!(!with_file.stdout.contains("ReadFile"), "{with_file:?}");
    let both = run(&["list", "--gadgets", "gadgets.toml", "--builtins", "all"]);
    assert!(
        both.stdout.contains("ReadFile") && both.stdout.contains("Echo"),
        "{both:?}"
    );
    let schema = run(&["info", "EditFile", "--json"]);
    assert!(schema.stdout.contains("expectedCount"), "{schema:?}");
}
