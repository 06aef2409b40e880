//! `gadgetry agent` in scripts: `--print`, stdin, `--output-format`, denied calls, and what users of other programs type.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::{Value, json};

use super::screen::Screen;
use super::workshop::{Ended, Workshop, block, call, events, expecting, reply};

fn agent(workshop: &Workshop, args: &[&str]) -> Ended {
    let usual = ["agent", "--model", "script:script.jsonl"];
    Ended::of(&mut workshop.command(&[&usual, args].concat()))
}

/// The same with a text on stdin: in a file, or through a pipe.
fn with_stdin(workshop: &Workshop, args: &[&str], stdin: &str, is_pipe: bool) -> Ended {
    let usual = ["agent", "--model", "script:script.jsonl"];
    let mut command = workshop.command(&[&usual, args].concat());
    workshop.write("stdin", stdin);
    if !is_pipe {
        return Ended::of(command.stdin(File::open(workshop.path("stdin")).expect("a file")));
    }
    let mut cat = workshop.run("cat", &["stdin"]);
    let mut cat = cat.stdout(Stdio::piped()).spawn().expect("cat starts");
    let ended = Ended::of(command.stdin(cat.stdout.take().expect("a pipe")));
    cat.wait().expect("cat ends");
    ended
}

#[test]
fn print_prints_the_answer_alone() {
    let workshop = Workshop::new(&reply("Hi."));
    for print in ["-p", "--print"] {
        agent(&workshop, &[print, "Go!"]).check("Hi.\n", "", 0);
    }
    // `-m` is `--model`.
    let mut command = workshop.command(&["agent", "-p", "Go!", "-m", "script:script.jsonl"]);
    Ended::of(&mut command).check("Hi.\n", "", 0);
}

#[test]
fn stdin_comes_before_the_prompt() {
    let workshop = Workshop::new(&expecting("Hi.", &["diff --git\nx\n\nReview it."]));
    for is_pipe in [true, false] {
        for args in [
            &["-p", "Review it."][..],
            &["Review it.", "--quiet"],
            &["Review it.", "-", "--quiet"],
        ] {
            with_stdin(&workshop, args, "diff --git\nx\n", is_pipe).check("Hi.\n", "", 0);
        }
    }
    // Without a prompt, stdin is one.
    let workshop = Workshop::new(&expecting("Hi.", &["All of it"]));
    for args in [&["-p"][..], &["-", "-p"], &["-", "--quiet"]] {
        with_stdin(&workshop, args, "All of it", true).check("Hi.\n", "", 0);
    }
    let empty = "error: the prompt is empty: write one, or pipe a text into stdin\n";
    with_stdin(&workshop, &["-p"], "", true).check("", empty, 2);
    agent(&workshop, &["-p"]).check("", empty, 2);
    // Nothing on stdin is nothing.
    let workshop = Workshop::new(&expecting("Hi.", &["Go!"]));
    with_stdin(&workshop, &["-p", "Go!"], "", true).check("Hi.\n", "", 0);
    let unexpected = "error: unexpected argument 'more' found\n";
    agent(&workshop, &["Go!", "more"]).check("", unexpected, 2);
    // The next prompt of a session, too.
    let workshop = Workshop::new(&(reply("One.") + &expecting("Two.", &["context\n\nAgain!"])));
    agent(&workshop, &["-p", "Go!", "--session", "a"]).check("One.\n", "", 0);
    workshop.write("script.jsonl", &expecting("Two.", &["context\n\nAgain!"]));
    let again = ["--continue", "a", "Again!", "-p"];
    with_stdin(&workshop, &again, "context", true).check("Two.\n", "", 0);
}

/// A program that starts this one may leave a pipe open, into which nothing comes.
#[test]
fn an_idle_pipe_does_not_hold_a_run() {
    let workshop = Workshop::new(&reply("Hi."));
    let mut command = workshop.command(&[
        "agent",
        "Go!",
        "--no-session",
        "--model",
        "script:script.jsonl",
    ]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let open = child.stdin.take();
    let note = "stdin is not read: nothing came for 3 s; add - after the prompt to wait for it\n";
    Ended::wait(child).check("Hi.\n", &format!("{note}[1] calling model\n"), 0);
    drop(open);
}

/// The object about a run, which fits the schema that is printed.
#[track_caller]
fn result(workshop: &Workshop, line: &str) -> Value {
    let mut command = workshop.command(&["events", "--schema", "--result"]);
    let schema = serde_json::from_str(&Ended::of(&mut command).stdout).expect("a schema");
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    let result: Value = serde_json::from_str(line).expect("JSON");
    if let Err(error) = schema.validate(&result) {
        panic!("{error}, in {result}");
    }
    result
}

#[test]
fn json_has_all_about_the_run() {
    let workshop = Workshop::new("");
    let write = call(
        "WriteFile:w",
        "!!!ARG:filePath\nsrc/a.txt\n!!!ARG:content\nx\n",
    );
    let run = call("RunCommand:r", "!!!ARG:command\ntouch trace\n");
    let usage = json!({ "inputTokens": 1200, "outputTokens": 34 });
    let first = json!({ "text": write + &run, "usage": usage });
    let script = format!("{first}\n{}", reply("Done."));
    workshop.write("script.jsonl", &script);
    let args = [
        "Go!",
        "--output-format",
        "json",
        "--session",
        "j",
        "--approval",
        "allow WriteFile",
    ];
    let ended = agent(&workshop, &args);
    let denied = "1 call was denied, because no user was at a terminal: RunCommand; allow them with --approval 'allow …', or with --yes --sandbox";
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (format!("error: {denied}\n").as_str(), Some(3))
    );
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
    let mut found = result(&workshop, &ended.stdout);
    let taken =
        |found: &mut Value, name: &str| found.as_object_mut().expect("an object").remove(name);
    assert!(taken(&mut found, "durationMs").is_some_and(|it| it.is_u64()));
    let reason = found["denied"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("Denied: RunCommand needs approval"),
        "{reason}"
    );
    let tokens = found["usage"]["inputTokens"].as_u64();
    assert!(tokens >= Some(1200), "{found}");
    taken(&mut found, "usage");
    let of_call = found["denied"][0].as_object_mut().expect("an object");
    of_call.remove("reason");
    let expected = json!({
        "type": "result", "v": 1, "answer": "Done.", "reason": "completed", "error": denied, "session": "j",
        "model": "script:script.jsonl", "iterations": 2, "cost": null, "knownCost": 0.0,
        "denied": [{ "gadget": "RunCommand", "invocationId": "r" }], "filesChanged": ["src/a.txt"],
    });
    assert_eq!(found, expected);
    assert!(!workshop.has("trace"));

    // A session that has ended has the same answer and the same exit code.
    let again = ["--continue", "j", "--output-format", "json"];
    let mut command = workshop.command(&[&["agent"], &again[..]].concat());
    let repeated = Ended::of(&mut command);
    assert_eq!(repeated.code, Some(3), "{repeated:?}");
    let repeated = result(&workshop, &repeated.stdout);
    for name in ["answer", "error", "usage", "cost"] {
        assert_eq!(
            repeated[name],
            result(&workshop, &ended.stdout)[name],
            "{name}"
        );
    }
    assert_eq!(repeated["denied"][0]["gadget"], "RunCommand");

    // The events, and then the object.
    let args = [&args[..3], &["--no-session"]].concat();
    let args: Vec<&str> = args
        .iter()
        .map(|it| if *it == "json" { "stream-json" } else { it })
        .collect();
    let ended = agent(&workshop, &args);
    let (stream, last) = ended.stdout.trim_end().rsplit_once('\n').expect("lines");
    let last = result(&workshop, last);
    assert_eq!(
        (&last["session"], &last["answer"]),
        (&Value::Null, &json!("Done."))
    );
    assert_eq!(last["denied"].as_array().map(Vec::len), Some(2), "{last}");
    assert_eq!(last["filesChanged"], json!([]));
    let stream = events(stream);
    assert_eq!(
        stream.last().map(|it| it["type"].clone()),
        Some(json!("run_finished"))
    );
    // The answer of a session again.
    let again = ["--continue", "j", "--output-format", "json"];
    let ended = agent(&workshop, &again);
    assert_eq!(result(&workshop, &ended.stdout)["answer"], "Done.");

    // A run that fails has an object, too; a mistake of the user has none.
    workshop.write("script.jsonl", &reply(&block("Nonesuch:n", "")));
    let args = ["Go!", "--output-format", "json", "--max-iterations", "1"];
    let ended = agent(&workshop, &args);
    let stopped =
        "stopped after 1 iteration (--max-iterations); --continue with a prompt continues it";
    assert_eq!(
        (ended.stderr, ended.code),
        (format!("error: {stopped}\n"), Some(1))
    );
    assert_eq!(result(&workshop, &ended.stdout)["error"], stopped);
    let ended = agent(
        &workshop,
        &[
            "Go!",
            "--output-format",
            "json",
            "--gadgets",
            "nonesuch.toml",
        ],
    );
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    let both = agent(
        &workshop,
        &["Go!", "--output-format", "json", "--events", "jsonl"],
    );
    assert!(both.stderr.contains("cannot be used with"), "{both:?}");
}

#[test]
fn files_of_commands_are_in_the_json() {
    let line =
        "mkdir -p src && echo y > src/b.txt && rm old.txt && echo '*.o' > .gitignore && touch a.o";
    let run = call("RunCommand:r", &format!("!!!ARG:command\n{line}\n"));
    let script = reply(&run) + &reply("Done.");
    let check = |workshop: &Workshop, files: &Value, problem: &Value| {
        fs::create_dir_all(workshop.path("project/many")).expect("folders");
        workshop.write("project/old.txt", "x");
        let args = ["--workspace", "project", "--output-format", "json", "--yes"];
        let args = [&["Go!", "--dangerously-without-sandbox"], &args[..]].concat();
        let ended = agent(workshop, &args);
        assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
        let found = result(workshop, &ended.stdout);
        assert_eq!(
            (&found["filesChanged"], &found["commandsNotRecorded"]),
            (files, problem)
        );
    };
    let workshop = Workshop::new(&script);
    let files = json!([".gitignore", "old.txt", "src/b.txt"]);
    check(&workshop, &files, &Value::Null);
    // More than are recorded.
    let workshop = Workshop::new(&script);
    fs::create_dir_all(workshop.path("project/many")).expect("folders");
    for name in 0..=50_000 {
        File::create(workshop.path(&format!("project/many/{name}"))).expect("a file");
    }
    let problem =
        "the workspace has more than 50000 files, so changes by commands are not recorded";
    check(&workshop, &json!([]), &json!(problem));
}

#[test]
fn denied_calls_are_one_line_and_an_exit_code() {
    let check = |args: &[&str], stderr: &str, code: i32| {
        let write = |id: &str| {
            call(
                &format!("WriteFile:{id}"),
                "!!!ARG:filePath\na\n!!!ARG:content\nx\n",
            )
        };
        let script = reply(&(write("a") + &write("b"))) + &reply("Done.");
        let workshop = Workshop::new(&script);
        let ended = agent(&workshop, &[&["Go!", "-p"], args].concat());
        ended.check("Done.\n", stderr, code);
    };
    let line = "error: 2 calls were denied, because no user was at a terminal: WriteFile; allow them with --approval 'allow …', or with --yes --sandbox\n";
    check(&[], line, 3);
    check(&["--approval", "allow WriteFile"], "", 0);
    // What a rule denies is as the user wanted it.
    check(&["--approval", "deny WriteFile"], "", 0);
    check(&["--dry-run"], "", 0);
    // What a gadget says is no denial.
    let gadget = "[[gadget]]\nname = \"Liar\"\ndescription = \"Lies\"\n\
        command = [\"sh\", \"-c\", \"echo 'Denied: Liar needs approval, but no user is at a terminal' >&2; exit 1\"]\n";
    let workshop = Workshop::new(&(reply(&block("Liar:l", "")) + &reply("Done.")));
    workshop.write("gadgets.toml", gadget);
    agent(&workshop, &["Go!", "-p", "--gadgets", "gadgets.toml"]).check("Done.\n", "", 0);
}

/// A coding task needs more than ten replies.
#[test]
fn replies_have_no_limit_by_default() {
    let replies: String = (0..30)
        .map(|it| reply(&block(&format!("Echo:e{it}"), "x")))
        .collect();
    let workshop = Workshop::new(&(replies + &reply("Done.")));
    let ended = Ended::of(&mut workshop.agent(&["-p"]));
    ended.check("Done.\n", "", 0);
    let ended = Ended::of(&mut workshop.agent(&["-p", "--max-iterations", "10"]));
    let line = "error: stopped after 10 iterations (--max-iterations); --continue with a prompt continues it\n";
    ended.check("", line, 1);
}

#[test]
fn habits_have_tips() {
    let workshop = Workshop::new("");
    let check = |args: &[&str], stderr: &str| {
        Ended::of(&mut workshop.command(args)).check("", &format!("error: {stderr}\n"), 2);
    };
    let run_all =
        "--yes --sandbox runs all calls without a question, and keeps commands in the workspace";
    for option in ["--yolo", "--full-auto", "--dangerously-skip-permissions"] {
        let problem = format!("unexpected argument '{option}' found; tip: {run_all}");
        check(&["agent", "Go!", option], &problem);
    }
    let print = "`gadgetry agent -p PROMPT --model NAME` prints the answer and nothing else";
    check(
        &["-p", "Go!"],
        &format!("unexpected argument '-p' found; tip: {print}"),
    );
    check(
        &["exec", "Go!"],
        &format!("unrecognized subcommand 'exec'; tip: {print}"),
    );
    check(
        &["run", "Go!"],
        "unrecognized subcommand 'run'; tip: `gadgetry agent PROMPT --model NAME` runs an agent, `gadgetry gadget run NAME` a single gadget",
    );
    check(
        &["agent", "Go!", "--json"],
        "unexpected argument '--json' found; tip: --output-format json prints one object about the run",
    );
    let either = "`gadgetry chat PROMPT --model NAME` begins a conversation, `gadgetry agent PROMPT --model NAME` runs one task";
    for (args, problem) in [
        (
            &["fix the bug"][..],
            "unrecognized subcommand 'fix the bug'",
        ),
        (
            &["--model", "x", "Go!"],
            "unexpected argument '--model' found",
        ),
        (&["-m", "x"], "unexpected argument '-m' found"),
    ] {
        check(args, &format!("{problem}; tip: {either}"));
    }
    check(
        &["chat", "--resume"],
        "unexpected argument '--resume' found; tip: `gadgetry chat --continue [NAME]` continues a session, and so does \
         `gadgetry agent --continue [NAME] [PROMPT]`",
    );
    // A slip of an option has the tip about that.
    check(
        &["agent", "Go!", "--modle", "x"],
        "unexpected argument '--modle' found; tip: a similar argument exists: '--model'",
    );
}

#[test]
fn a_bare_continue_is_about_this_folder() {
    let workshop = Workshop::new(&(reply("Here.") + &reply("Again.")));
    std::fs::create_dir(workshop.path("other")).expect("a folder");
    agent(&workshop, &["-p", "One", "--session", "here"]).check("Here.\n", "", 0);
    workshop.write("other/script.jsonl", &reply("There."));
    let there = |args: &[&str]| {
        let mut command = workshop.command(args);
        Ended::of(command.current_dir(workshop.path("other")))
    };
    let missing = "error: there is no session of this folder to continue; `gadgetry sessions list` lists those of others, which are continued by name\n";
    there(&["agent", "--continue", "Two"]).check("", missing, 2);
    there(&["chat", "--continue"]).check("", missing, 2);
    let begin = [
        "agent",
        "-p",
        "Two",
        "--session",
        "there",
        "--model",
        "script:script.jsonl",
    ];
    there(&begin).check("There.\n", "", 0);
    // The latest one is that of the other folder.
    let ended = agent(&workshop, &["--continue"]);
    ended.check("Here.\n", "", 0);
    there(&["agent", "--continue"]).check("There.\n", "", 0);
    // It works where it began, and says so elsewhere.
    let folder = workshop.path("").canonicalize().expect("a folder");
    let works = format!("the session works in {}\n", folder.display());
    there(&["agent", "--continue", "here"]).check("Here.\n", &works, 0);
}

#[test]
fn the_list_of_sessions_has_folders_and_titles() {
    let usage = json!({ "inputTokens": 1_000_000, "outputTokens": 0 });
    let priced = json!({ "text": "Hi.", "usage": usage });
    let workshop = Workshop::new(&(reply("Hi.") + &format!("{priced}\n")));
    agent(&workshop, &["-p", "Fix the parser", "--session", "a"]);
    agent(&workshop, &["-p", "--continue", "a", "And the tests"]);
    let folder = workshop.path("").canonicalize().expect("a folder");
    let mut command = workshop.command(&["sessions", "list"]);
    let home = folder.parent().expect("a folder").display().to_string();
    let ended = Ended::of(command.env("HOME", &home));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(
        head,
        [
            "NAME", "STATUS", "AGE", "PROMPTS", "COST", "FOLDER", "TITLE"
        ]
    );
    let name = folder
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let row: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((row[0], row[3], row[4]), ("a", "2", "?"), "{lines:?}");
    assert_eq!(row[5], format!("~/{name}"));
    assert!(lines[1].ends_with("  Fix the parser"), "{lines:?}");
    let ended = Ended::of(&mut workshop.command(&["sessions", "list", "--json"]));
    let listed: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(listed["title"], "Fix the parser");
    assert_eq!(listed["lastPrompt"], "And the tests");
    assert_eq!(listed["folder"], folder.display().to_string().as_str());
    assert_eq!(
        (&listed["cost"], &listed["knownCost"]),
        (&Value::Null, &json!(0.0))
    );
}

#[test]
fn help_begins_with_what_matters() {
    let workshop = Workshop::new("");
    let help = |args: &[&str]| {
        let ended = Ended::of(&mut workshop.command(args));
        assert_eq!(
            (ended.stderr.as_str(), ended.code),
            ("", Some(0)),
            "{args:?}"
        );
        ended.stdout
    };
    let options = |text: &str| {
        let lines = text.lines().map(str::trim_start);
        let is_option =
            |it: &&str| it.starts_with("--") || (it.starts_with('-') && !it.starts_with("- "));
        let lines = lines.filter(is_option);
        lines.count()
    };
    for verb in ["agent", "chat"] {
        let usage = format!("Usage: gadgetry {verb} [OPTIONS] --model <MODEL> [PROMPT]");
        for option in ["-h", "--help"] {
            let text = help(&[verb, option]);
            assert!(text.contains(&usage), "{text}");
            assert!((8..=13).contains(&options(&text)), "{text}");
            assert!(text.contains("--help-all"), "{text}");
            assert!(!text.contains("--retry-min-delay"), "{text}");
            assert!(!text.contains("configured-"), "{text}");
        }
        let all = help(&[verb, "--help-all"]);
        assert!(options(&all) > 50, "{}", options(&all));
        assert!(!all.contains("configured-"), "{all}");
        // The groups, each with its own options.
        let of_group = |group: &str| {
            let (_, rest) = all.split_once(&format!("\n{group}:\n")).expect(group);
            rest.split("\n\n")
                .take_while(|it| !it.starts_with(char::is_alphabetic))
                .collect::<String>()
        };
        let group_has = |group: &str, option: &str| {
            let lines = of_group(group);
            assert!(lines.contains(option), "{option} in {group}: {lines}");
        };
        group_has("Options", "--model <MODEL>");
        group_has("Gadgets", "--builtins <LIST>");
        group_has("Approvals", "--dry-run");
        group_has("Limits", "--max-iterations <N>");
        group_has("Project", "--no-instructions");
        assert!(!of_group("Session").contains("--gadgets"));
        assert!(!of_group("Approvals").contains("--max-iterations"));
    }
    // `--model` is among the first ten lines of options.
    let text = help(&["agent", "-h"]);
    let (_, listed) = text.split_once("Options:\n").expect("options");
    assert!(
        listed.trim_start().starts_with("-m, --model <MODEL>"),
        "{text}"
    );
}

/// The completions that a shell is given for the words of a line, the last of which is not complete.
#[track_caller]
fn completed(workshop: &Workshop, words: &[&str]) -> Vec<String> {
    let mut command = workshop.command(&[&["--", "gadgetry"], words].concat());
    command
        .env("GADGETRY_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "false")
        .env("_CLAP_IFS", "\n");
    let ended = Ended::of(&mut command);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        ("", Some(0)),
        "{words:?}"
    );
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_values() {
    let workshop = Workshop::new(&reply("Hi."));
    agent(&workshop, &["-p", "Go!", "--session", "mine"]);
    let check = |words: &[&str], expected: &[&str]| {
        let found = completed(&workshop, words);
        for name in expected {
            assert!(
                found.iter().any(|it| it == name),
                "{name} of {words:?}: {found:?}"
            );
        }
        found
    };
    check(&["ag"], &["agent"]);
    let models = check(&["agent", "--model", "anthropic:claude-ha"], &[]);
    assert!(
        !models.is_empty()
            && models
                .iter()
                .all(|it| it.starts_with("anthropic:claude-ha")),
        "{models:?}"
    );
    check(&["sessions", "show", ""], &["mine"]);
    check(&["sessions", "rm", "m"], &["mine"]);
    check(&["agent", "--continue", "m"], &["mine"]);
    check(&["chat", "--continue", "m"], &["mine"]);
    check(&["gadget", "info", "Re"], &["ReadFile"]);
    check(&["agent", "--builtins", "Re"], &["ReadFile"]);
    let lists = check(
        &["agent", "--builtins", "ReadFile,"],
        &["ReadFile,WriteFile"],
    );
    check(&["agent", "--dialects", "hermes,har"], &["hermes,harmony"]);
    for list in ["all,", "none,Re", "readfile,ReadF"] {
        let found = completed(&workshop, &["agent", "--builtins", list]);
        assert_eq!(found, [""; 0], "{list}");
    }
    let never = ["ReadFile,ReadFile", "ReadFile,all"];
    assert!(
        !lists.iter().any(|it| never.contains(&it.as_str())),
        "{lists:?}"
    );
    // Hidden options stay hidden.
    for verb in ["agent", "chat"] {
        let found = check(&[verb, "--"], &["--max-iterations", "--model"]);
        assert!(
            !found.iter().any(|it| it.contains("configured")),
            "{found:?}"
        );
        assert_eq!(completed(&workshop, &[verb, "--configured"]), [""; 0]);
    }
}

/// Nobody can answer, so the model is not offered a question, unless the user says so by name.
#[test]
fn headless_runs_offer_no_question() {
    let ask = call("AskUser", "!!!ARG:question\nWhich?\n");
    let check = |options: &[&str], expected: &str| {
        let next = expecting("Hi.", &[expected]);
        let workshop = Workshop::new(&(reply(&ask) + &next));
        let options = [&["Go!", "--no-session"], options].concat();
        agent(&workshop, &options)
    };
    check(&["-p"], "Gadget 'AskUser' not found").check("Hi.\n", "", 0);
    // Without a terminal as well.
    let piped = check(&[], "Gadget 'AskUser' not found");
    assert_eq!(
        (&*piped.stdout, piped.code),
        ("Hi.\n", Some(0)),
        "{piped:?}"
    );
    let named = check(&["-p", "--builtins", "AskUser"], "AskUser");
    assert!(!named.stderr.contains("not found"), "{named:?}");
    // At a terminal it is there.
    let workshop = Workshop::new(&(reply(&ask) + &expecting("Hi.", &["blue"])));
    let args = ["agent", "Go!", "--model", "script:script.jsonl"];
    let mut screen = Screen::start(&workshop, (80, 24), &args, &[]);
    screen.shows("Which?");
    screen.say("blue");
    screen.shows("Hi.");
    assert_eq!(screen.ends().0, 0);
}
