//! Sessions: what is kept of runs, and what is done with it.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, block, events, reply};

/// `Count` leaves a line in `count` each time. `Wait` says in the pipe `alive` that it runs, and ends when there is a file
/// `go`; `Risk` does the same, but is not to be run twice without the user.
const GADGETS: &str = r#"
[[gadget]]
name = "Count"
description = "Counts its executions"
command = ["sh", "-c", "echo once >> count; echo counted"]
[[gadget]]
name = "Wait"
description = "Waits"
on-interrupt = "rerun"
command = ["sh", "-c", "[ -p alive ] && exec 9<>alive; echo up >&9; until [ -e go ]; do sleep 0.01; done; echo waited"]
[[gadget]]
name = "Risk"
description = "Waits, too"
on-interrupt = "ask"
command = ["sh", "-c", "[ -p alive ] && exec 9<>alive; echo up >&9; until [ -e go ]; do sleep 0.01; done; echo done"]
"#;

fn workshop(script: &str) -> Workshop {
    let workshop = Workshop::new(script);
    workshop.write("gadgets.toml", GADGETS);
    workshop
}

/// A session `k` whose process was killed while `gadget` waited.
fn killed(gadget: &str, args: &[&str]) -> Workshop {
    let first = reply(&format!(
        "{}{}",
        block("Count:c", ""),
        block(&format!("{gadget}:w:c"), "")
    ));
    let workshop = workshop(&(first + &reply("Done.") + &reply("More.")));
    let alive = workshop.watch_alive();
    let args = [&["--session", "k"], args].concat();
    let mut child = workshop.agent(&args).spawn().expect("it starts");
    alive.up();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // The gadget's process was not killed with it.
    workshop.write("go", "");
    workshop
}

fn sessions(workshop: &Workshop, args: &[&str]) -> Ended {
    Ended::of(&mut workshop.command(&[&["sessions"], args].concat()))
}

fn continued(workshop: &Workshop, args: &[&str]) -> Ended {
    let args = [&["agent", "--quiet", "--continue"], args].concat();
    Ended::of(&mut workshop.command(&args))
}

/// The sessions, as JSON.
fn list(workshop: &Workshop) -> Vec<Value> {
    let ended = sessions(workshop, &["list", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_name_is_typed_or_generated() {
    let workshop = workshop(&reply("Hi."));
    let check = |name: &str, error: &str| {
        let ended = Ended::of(&mut workshop.agent(&["--session", name]));
        if error.is_empty() {
            let progress = format!("session {name}\n[1] calling model\n");
            ended.check("Hi.\n", &progress, 0);
        } else {
            let error = format!("error: {error}\n");
            ended.check("", &error, 2);
        }
    };
    check("a", "");
    check("Invoice_42-b", "");
    check(&"x".repeat(64), "");
    check(
        "a",
        "there is a session a already; continue it with --continue a, or choose another name",
    );
    let invalid = |name: &str| {
        format!(
            "invalid value '{name}' for '--session <NAME>': expected 1 to 64 ASCII letters, digits, hyphens and \
             underscores, the first one not a hyphen"
        )
    };
    for name in ["a.b", "a b", "ä", &"x".repeat(65)] {
        check(name, &invalid(name));
    }

    let output = workshop.agent(&[]).output().expect("it runs");
    let progress = String::from_utf8(output.stderr).expect("UTF-8");
    let name = progress
        .lines()
        .next()
        .and_then(|it| it.strip_prefix("session "));
    let name = name.expect("a name").to_owned();
    assert_eq!(list(&workshop)[0]["name"], name.as_str());
    let none = workshop.agent(&["--no-session"]).output().expect("it runs");
    assert_eq!(none.stderr, b"[1] calling model\n");
    assert_eq!(list(&workshop).len(), 4);
}

#[test]
fn a_session_is_continued_by_name_or_as_the_latest() {
    let script = reply("Hi.") + &reply("Never.");
    let workshop = workshop(&script);
    continued(&workshop, &[]).check("", "error: there is no session to continue\n", 2);
    for name in ["a", "b"] {
        let ended = Ended::of(&mut workshop.agent(&["--session", name]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let check = |args: &[&str], prompts: [u64; 2]| {
        let ended = continued(&workshop, args);
        ended.check("Hi.\n", "", 0);
        let all = list(&workshop);
        let of = |name: &str| {
            let session = all.iter().find(|it| it["name"] == name);
            session.expect("a session")["prompts"].as_u64()
        };
        assert_eq!([of("a"), of("b")], prompts.map(Some), "{args:?}");
    };
    check(&[], [1, 1]);
    check(&["a"], [1, 1]);
    check(&["What is new?"], [1, 2]);
    check(&["a", "What is new?"], [2, 2]);
    // It is the latest now.
    check(&["--", "-v"], [3, 2]);
    check(&["b", "a"], [3, 3]);
    let unknown = "error: there is no session c; `gadgetry sessions list` lists the sessions\n";
    continued(&workshop, &["c", "a"]).check("", unknown, 2);
    sessions(&workshop, &["resume", "c"]).check("", unknown, 2);
    sessions(&workshop, &["resume", "a", "--quiet"]).check("Hi.\n", "", 0);
    let conflict = continued(&workshop, &["--session", "d"]);
    assert_eq!(conflict.code, Some(2), "{conflict:?}");
    let two = Ended::of(&mut workshop.agent(&["Two"]));
    two.check("", "error: unexpected argument 'Two' found\n", 2);
}

#[test]
fn a_conversation_continues() {
    let workshop = workshop(&reply("Four."));
    let ended = Ended::of(&mut workshop.agent(&["--session", "sum"]));
    assert_eq!(ended.code, Some(0));
    let expected = r#"{"text":"Yes.","expect":{"contains":["Go!","Four.","Are you sure?"]}}"#;
    workshop.write("next.jsonl", expected);
    let args = ["sum", "Are you sure?", "--model", "script:next.jsonl"];
    continued(&workshop, &args).check("Yes.\n", "", 0);
    let show = sessions(&workshop, &["show", "sum"]);
    let (head, talk) = show.stdout.split_once("\n\n").expect("two parts");
    assert!(
        head.starts_with("session  sum\nstatus   finished\nmodel    script:/"),
        "{head}"
    );
    // What was given again is kept.
    assert!(head.contains("next.jsonl\n"), "{head}");
    assert_eq!(talk, "> Go!\n\nFour.\n\n> Are you sure?\n\nYes.\n");
    let second = sessions(&workshop, &["show", "sum", "--run", "2"]).stdout;
    assert!(
        second.ends_with("\n\n> Are you sure?\n\nYes.\n"),
        "{second}"
    );
    let third = "error: session sum has no run 3\n";
    sessions(&workshop, &["show", "sum", "--run", "3"]).check("", third, 2);
    let zero = "error: invalid value '0' for '--run <N>': expected a whole number of at least 1\n";
    sessions(&workshop, &["show", "sum", "--run", "0"]).check("", zero, 2);
}

#[test]
fn a_killed_run_is_resumed_from_anywhere() {
    let workshop = killed("Wait", &[]);
    assert_eq!(list(&workshop)[0]["status"], "interrupted");
    let progress = sessions(&workshop, &["show", "k"]).stdout;
    let calls = "\n\n> Go!\n\n  > Count c {}\n  > Wait w after c {}\n  + c done in ";
    assert!(progress.contains(calls), "{progress}");
    let mut resume = workshop.command(&["sessions", "resume", "k"]);
    let ended = Ended::of(resume.current_dir("/"));
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    let folder = workshop.path("").canonicalize().expect("a folder");
    let begins = format!(
        "the session works in {}\nsession k\n  . w starts again\n",
        folder.display()
    );
    assert!(ended.stderr.starts_with(&begins), "{ended:?}");
    assert_eq!(workshop.read("count"), "once\n");
    assert_eq!(list(&workshop)[0]["status"], "finished");
    // Once it has ended, there is nothing left to do.
    workshop.write("script.jsonl", "");
    sessions(&workshop, &["resume", "k"]).check("Done.\n", "", 0);
}

#[test]
fn a_prompt_is_added_to_a_killed_run() {
    let workshop = killed("Wait", &[]);
    std::fs::write(workshop.path("cat.png"), b"\x89PNG\r\n\x1a\n").expect("an image");
    let image = ["agent", "--continue", "k", "Look!", "--image", "cat.png"];
    let ended = Ended::of(&mut workshop.command(&image));
    let refused = "error: the session was interrupted, so its run must end first: continue it without --image\n";
    ended.check("", refused, 2);
    let ended = continued(&workshop, &["k", "And then?"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    let all = list(&workshop);
    assert_eq!(all[0]["prompts"], 2);
    let show = sessions(&workshop, &["show", "k"]).stdout;
    let said = "> Go!\n\n> And then?\n\n  > Count c {}\n";
    assert!(show.contains(said), "{show}");
    assert!(show.ends_with(": waited\n\nDone.\n"), "{show}");
    let log = sessions(&workshop, &["export", "k"]).stdout;
    assert!(log.contains("And then?"), "{log}");
}

/// It is resumed with the gadgets that it began with, whoever answers now.
#[test]
fn a_run_that_began_unattended_is_resumed() {
    for print in [&["k", "-p"][..], &["k"]] {
        let workshop = killed("Wait", &["-p", "--builtins", "all"]);
        let ended = continued(&workshop, print);
        assert_eq!(
            (ended.stdout.as_str(), ended.code),
            ("Done.\n", Some(0)),
            "{ended:?}"
        );
    }
}

#[test]
fn a_changed_agent_is_refused() {
    let check = |change: fn(&Workshop), args: &[&str], changes: &str| {
        let workshop = killed("Wait", &[]);
        change(&workshop);
        let args = [&["resume", "k", "--quiet"], args].concat();
        let error = format!(
            "error: session k was begun with something else: {changes}; undo the change, or add --force\n"
        );
        sessions(&workshop, &args).check("", &error, 2);
        let forced = [&args[..], &["--force"]].concat();
        sessions(&workshop, &forced).check("Done.\n", "", 0);
    };
    let describe = |workshop: &Workshop| {
        let changed = GADGETS.replace("\"Waits\"", "\"Waits long\"");
        workshop.write("gadgets.toml", &changed);
    };
    check(
        describe,
        &[],
        "the description or policy of the gadget Wait",
    );
    check(|_| {}, &["--system", "Be kind."], "the system prompt");
}

#[test]
fn a_log_is_exported_as_it_was_saved() {
    let script = reply(&block("Count:c", "")) + &reply("Done.");
    let workshop = workshop(&script);
    let args = ["--session", "e", "--save", "saved.log"];
    let (told, ended) = workshop.events(&args);
    assert_eq!(ended.code, Some(0));
    let export = sessions(&workshop, &["export", "e", "exported.log"]);
    export.check("", "", 0);
    assert_eq!(workshop.read("exported.log"), workshop.read("saved.log"));
    let on_stdout = sessions(&workshop, &["export", "e"]);
    assert_eq!(on_stdout.stdout, workshop.read("saved.log"));
    let replay = Ended::of(&mut workshop.command(&["replay", "exported.log"]));
    assert_eq!(events(&replay.stdout), told);
    let show = sessions(&workshop, &["show", "e", "--events"]);
    assert_eq!(events(&show.stdout), told);
    let taken = sessions(&workshop, &["export", "e", "gadgets.toml"]);
    assert_eq!(taken.code, Some(2), "{taken:?}");
    assert_eq!(workshop.read("gadgets.toml"), GADGETS);
}

/// The log of a resumed run begins with what happened before.
#[test]
fn the_log_of_a_resumed_run_is_whole() {
    let workshop = killed("Wait", &[]);
    let args = ["k", "--save", "saved.log"];
    continued(&workshop, &args).check("Done.\n", "", 0);
    let replay = Ended::of(&mut workshop.command(&["replay", "saved.log"]));
    let told = events(&replay.stdout);
    assert_eq!(told[0]["type"], "run_start");
    assert_eq!(told.last().expect("events")["answer"], "Done.");
}

#[test]
fn sessions_are_removed() {
    let workshop = workshop(&reply("Hi."));
    sessions(&workshop, &["list"]).check("", "no sessions\n", 0);
    assert!(!workshop.has("gadgetry"), "nothing is made by a look");
    for name in ["a", "b", "c"] {
        assert_eq!(
            Ended::of(&mut workshop.agent(&["--session", name])).code,
            Some(0)
        );
    }
    continued(&workshop, &["a", "Again"]).check("Hi.\n", "", 0);
    let none = "error: there is no session d; `gadgetry sessions list` lists the sessions\n";
    sessions(&workshop, &["rm", "b", "d"]).check("", none, 2);
    assert_eq!(list(&workshop).len(), 3);
    sessions(&workshop, &["rm", "a", "b"]).check("", "", 0);
    assert_eq!(list(&workshop)[0]["name"], "c");
    sessions(&workshop, &["rm", "--older-than", "30d"]).check("", "removed 0 sessions\n", 0);
    sessions(&workshop, &["vacuum"]).check("", "", 0);
    let unit = sessions(&workshop, &["rm", "--older-than", "30y"]);
    assert_eq!(unit.code, Some(2), "{unit:?}");
    sessions(&workshop, &["rm", "--older-than", "1ms"]).check("", "removed 1 session\n", 0);
    sessions(&workshop, &["list"]).check("", "no sessions\n", 0);
}

#[test]
fn a_table_lists_the_sessions() {
    let workshop = workshop(&reply("Hi."));
    let ended = Ended::of(&mut workshop.agent(&["--session", "first"]));
    assert_eq!(ended.code, Some(0));
    let table = sessions(&workshop, &["list"]).stdout;
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "NAME", "STATUS", "AGE", "PROMPTS", "COST", "FOLDER", "TITLE"
        ]
    );
    assert_eq!(lines[1][..2], ["first", "finished"]);
    let name = workshop.path("");
    let name = name.file_name().expect("a name").to_string_lossy();
    assert_eq!(lines[1][3..5], ["1", "?"]);
    assert!(lines[1][5].ends_with(&*name), "{lines:?}");
    assert_eq!(lines[1][6..], ["Go!"]);
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_run_without_a_home_is_no_session() {
    let workshop = workshop(&reply("Hi."));
    let run = |args: &[&str]| {
        let mut command = workshop.agent(args);
        Ended::of(command.env_remove("XDG_DATA_HOME").env_remove("HOME"))
    };
    let problem = "no home directory in the environment; set one with --data-dir";
    let progress = format!("no session: {problem}\n[1] calling model\n");
    run(&[]).check("Hi.\n", &progress, 0);
    run(&["--quiet"]).check("Hi.\n", "", 0);
    run(&["--session", "a"]).check("", &format!("error: {problem}\n"), 2);
    run(&["--data-dir", "data", "--quiet"]).check("Hi.\n", "", 0);
    assert!(workshop.has("data/sessions/sessions.db"));
    let in_the_way = run(&["--data-dir", "gadgets.toml"]);
    assert_eq!(
        (in_the_way.stdout.as_str(), in_the_way.code),
        ("", Some(2)),
        "{in_the_way:?}"
    );
}

#[test]
fn the_working_directory_is_that_of_the_session() {
    let workshop = workshop(&reply("Hi."));
    fs::create_dir(workshop.path("there")).expect("a folder");
    let args = [
        "agent",
        "Go!",
        "--session",
        "a",
        "--gadgets",
        "../gadgets.toml",
        "--model",
        "script:../script.jsonl",
    ];
    let ended = Ended::of(workshop.command(&args).current_dir(workshop.path("there")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    workshop.write("other.jsonl", &reply("Moved."));
    continued(&workshop, &["a", "Next", "--model", "script:other.jsonl"]).check("Moved.\n", "", 0);
    fs::remove_dir(workshop.path("there")).expect("a folder");
    let gone = continued(&workshop, &["a", "Next"]);
    assert_eq!((gone.stdout.as_str(), gone.code), ("", Some(2)));
    let error = "error: cannot continue in the session's working directory /";
    assert!(gone.stderr.starts_with(error), "{gone:?}");
}

#[test]
fn no_key_is_kept() {
    const KEYS: [&str; 5] = [
        "key-of-env-1",
        "key-of-header-2",
        "key-of-body-3",
        "key-of-url-4",
        "key-of-query-5",
    ];
    let workshop = workshop("");
    let run = |url: &str, args: &[&str]| {
        let usual = [
            "agent",
            "--model",
            "openai:small",
            "--gadgets",
            "gadgets.toml",
            "--header",
            "x-extra: key-of-header-2",
            "--extra-body",
            r#"{"user":"key-of-body-3"}"#,
            "--max-retries",
            "0",
            "--base-url",
            url,
        ];
        let mut command = workshop.command(&[&usual, args].concat());
        Ended::of(command.env("MY_SECRET", "key-of-env-1"))
    };
    let server = Server::start([Reply::says("Done."), Reply::says("More.")]);
    let ended = run(
        server.url(),
        &["Go!", "--session", "a", "--api-key-env", "MY_SECRET"],
    );
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    assert!(server.asked()[0].headers.contains(KEYS[0]));

    // Keys are to be given again; the environment variable is known by its name.
    let mut next = workshop.command(&["agent", "--continue", "a", "Next"]);
    let ended = Ended::of(next.env("MY_SECRET", "key-of-env-1"));
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("More.\n", Some(0)),
        "{ended:?}"
    );
    let note = "--extra-body and --header may contain a key and was not kept; give it again if the server needs it\n";
    assert!(ended.stderr.starts_with(note), "{ended:?}");
    let second = &server.asked()[1];
    assert!(second.headers.contains(KEYS[0]) && !second.headers.contains(KEYS[1]));

    for (name, part) in [("b", "key-of-url-4@"), ("c", "")] {
        let query = if part.is_empty() {
            "?key=key-of-query-5"
        } else {
            ""
        };
        let url = format!("http://{part}127.0.0.1:9{query}");
        let failed = run(&url, &["Go!", "--session", name]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        let lost = continued(&workshop, &[name, "Next"]);
        let error = "error: the session did not keep its --base-url, because it contains a password or a query; add \
                     --base-url URL\n";
        lost.check("", error, 2);
    }
    let folder = workshop.path("gadgetry/sessions");
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        files += 1;
        for key in KEYS {
            let found = bytes.windows(key.len()).any(|it| it == key.as_bytes());
            assert!(!found, "{key} is in a file");
        }
    }
    assert!(files > 0);
}

#[test]
#[cfg(unix)]
fn only_the_owner_reads_sessions() {
    use std::os::unix::fs::PermissionsExt as _;

    let workshop = workshop(&reply("Hi."));
    assert_eq!(Ended::of(&mut workshop.agent(&[])).code, Some(0));
    let mode = |name: &str| {
        let data = fs::metadata(workshop.path(name)).expect("it is there");
        data.permissions().mode() & 0o777
    };
    assert_eq!(mode("gadgetry/sessions"), 0o700);
    assert_eq!(mode("gadgetry/sessions/sessions.db"), 0o600);
}

#[test]
fn a_session_in_progress_is_left_alone() {
    let first = reply(&block("Wait:w", ""));
    let workshop = workshop(&(first + &reply("Done.")));
    let alive = workshop.watch_alive();
    let mut agent: Command = workshop.agent(&["--session", "k", "--quiet"]);
    let child = agent.spawn().expect("it starts");
    alive.up();
    assert_eq!(list(&workshop)[0]["status"], "running");
    for args in [&["resume", "k"][..], &["rm", "k"]] {
        let refused = sessions(&workshop, args);
        let error = "error: session k is in progress in another process (process ";
        assert!(refused.stderr.starts_with(error), "{refused:?}");
        assert_eq!(refused.code, Some(2));
    }
    workshop.write("go", "");
    Ended::wait(child).check("Done.\n", "", 0);
}

#[test]
fn a_question_is_answered_later() {
    let check = |answer: &str, stdout: &str| {
        let workshop = killed("Risk", &[]);
        let resume = ["resume", "k", "--quiet"];
        let left = sessions(&workshop, &resume);
        let question = "Gadget 'Risk' (call w) was interrupted: the program ended while it was running, so whether it \
                        took effect is unknown. Execute it again? (yes/no)";
        let error = format!(
            "error: the run waits for an answer; question 0: {question} Answer it with `gadgetry sessions answer k 0 TEXT`, \
             then `gadgetry sessions resume k`\n"
        );
        left.check("", &error, 1);
        assert_eq!(list(&workshop)[0]["status"], "waiting");
        let show = sessions(&workshop, &["show", "k"]).stdout;
        assert!(
            show.contains(&format!("\nquestion 0: {question}\n")),
            "{show}"
        );
        // A second time, nothing has changed.
        sessions(&workshop, &resume).check("", &error, 1);
        let unknown = sessions(&workshop, &["answer", "k", "7", "yes"]);
        assert_eq!(unknown.code, Some(2), "{unknown:?}");
        let kept = "the answer is kept; `gadgetry sessions resume k` continues the run\n";
        sessions(&workshop, &["answer", "k", "0", answer]).check("", kept, 0);
        sessions(&workshop, &resume).check("Done.\n", "", 0);
        let told = sessions(&workshop, &["show", "k", "--events"]).stdout;
        let told = events(&told);
        let result = told.iter().rfind(|it| it["type"] == "gadget_result");
        let result = result.expect("a result");
        let text = result["result"].as_str().or(result["error"].as_str());
        assert!(text.expect("a text").contains(stdout), "{result}");
        assert_eq!(workshop.read("count"), "once\n");
    };
    check("yes", "done");
    check("no", "answered: no");
}

/// `script` plays the terminal.
#[test]
#[cfg(target_os = "linux")]
fn a_question_is_asked_at_a_terminal() {
    let workshop = killed("Risk", &[]);
    workshop.write("typed", "yes\n");
    let command = format!("{} sessions resume k", super::GADGETRY);
    let mut script = workshop.run("script", &["-qec", &command, "/dev/null"]);
    let typed = fs::File::open(workshop.path("typed")).expect("a file");
    let ended = Ended::of(script.env("TERM", "xterm").stdin(typed));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("Execute it again? (yes/no)"),
        "{ended:?}"
    );
    assert!(ended.stdout.ends_with("Done.\r\n"), "{ended:?}");
    assert!(ended.stdout.contains("  . w starts again"), "{ended:?}");
}

/// Of two processes that begin a session of one name at once, one has it, and the other says so.
#[test]
fn a_name_is_begun_once() {
    let workshop = Workshop::new(&reply("Hello."));
    let args = ["agent", "Go!", "--model", "script:script.jsonl", "--quiet"];
    let named = [&args[..], &["--session", "day"]].concat();
    let started = (0..4).map(|_| {
        let mut command = workshop.command(&named);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary starts")
    });
    let started: Vec<_> = started.collect();
    let ended = started.into_iter().map(Child::wait_with_output);
    let ended: Vec<_> = ended.map(|it| it.expect("it ends")).collect();
    let winners = ended.iter().filter(|it| it.status.success()).count();
    assert_eq!(winners, 1, "{ended:?}");
    for loser in ended.iter().filter(|it| !it.status.success()) {
        let said = String::from_utf8_lossy(&loser.stderr);
        let words = "there is a session day already; continue it with --continue day";
        assert!(said.contains(words), "{said}");
    }
}
