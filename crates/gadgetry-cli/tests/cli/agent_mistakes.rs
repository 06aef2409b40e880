//! What can be wrong with the input of `gadgetry agent`: one clear line, exit code 2, and nothing was done.

use super::workshop::{Ended, Workshop, block, reply};

/// A run that would leave a trace, and an earlier log that must stay.
fn workshop() -> Workshop {
    let workshop = Workshop::new(&reply(&block("Touch", "")));
    workshop.write("old.log", "old\n");
    workshop
}

#[track_caller]
fn check(workshop: &Workshop, args: &[&str], stderr: &str) {
    let args = [&["agent"], args].concat();
    let ended = Ended::of(&mut workshop.command(&args));
    ended.check("", &format!("error: {stderr}\n"), 2);
    assert!(!workshop.has("trace"), "a gadget ran: {args:?}");
    assert_eq!(workshop.read("old.log"), "old\n", "{args:?}");
}

#[test]
fn mistakes_in_the_arguments() {
    let workshop = workshop();
    let usual = ["Go!", "--save", "old.log", "--gadgets", "gadgets.toml"];
    let check = |args: &[&str], stderr: &str| {
        check(&workshop, &[&usual, args].concat(), stderr);
    };
    let script = ["--model", "script:script.jsonl"];
    check(
        &["--model", "script"],
        "no provider is known for the model \"script\"; write it as provider:model, or give a base URL. \
         Providers: openai, anthropic, openrouter, groq, gemini, deepseek, mistral, xai, together, fireworks, cerebras, \
         moonshot, zai, minimax, perplexity, nvidia, huggingface, github, cohere, azure, ollama, lmstudio, llamacpp, vllm, \
         sglang, tgi, jan, llamafile, litellm. Configured: nothing",
    );
    check(
        &["--model", "script:"],
        "the script's file is missing; write script:FILE",
    );
    check(
        &["--model", "script:missing.jsonl"],
        "cannot read the script missing.jsonl: No such file or directory (os error 2)",
    );
    check(
        &["--model", "script:."],
        "cannot read the script .: Is a directory (os error 21)",
    );
    let empty = "the prompt is empty: write one, or pipe a text into stdin";
    for prompt in ["", " \n\t", "-"] {
        let args = [&[prompt], &usual[1..], &script].concat();
        super::agent_mistakes::check(&workshop, &args, empty);
    }
    let with = |args: &[&'static str]| [&script, args].concat();
    check(
        &with(&["--event", "jsonl"]),
        "unexpected argument '--event' found; tip: a similar argument exists: '--events'",
    );
    check(
        &with(&["--events", "xml"]),
        "invalid value 'xml' for '--events <FORMAT>' [possible values: jsonl]",
    );
    check(
        &with(&["--max-iterations", "0"]),
        "invalid value '0' for '--max-iterations <N>': expected a whole number of at least 1",
    );
    check(
        &with(&["--max-gadgets-per-response", "no"]),
        "invalid value 'no' for '--max-gadgets-per-response <N>': expected a whole number of at least 1",
    );
    check(
        &with(&["--timeout", "10"]),
        "invalid value '10' for '--timeout <DURATION>': expected a number and a unit, such as 500ms, 90s, 1.5m or 1h",
    );
    check(
        &with(&["--markers", "random", "--end", "@@"]),
        "the argument '--markers <KIND>' cannot be used with '--end <MARKER>'",
    );
    check(
        &with(&["--end", "!!!ARG:"]),
        "the end marker and the argument marker are both \"!!!ARG:\"; they must differ",
    );
    for percent in ["0", "101", "much"] {
        check(
            &with(&["--output-limit", percent]),
            &format!(
                "invalid value '{percent}' for '--output-limit <PERCENT>': expected a percentage above 0 and up to 100, or off"
            ),
        );
    }
    check(&with(&["more"]), "unexpected argument 'more' found");
    check(
        &with(&["--tag", "a", "--tag", "a"]),
        "the tag <a> is registered twice",
    );
}

#[test]
fn mistakes_in_the_gadget_file() {
    let workshop = workshop();
    let rows = [
        ("[gadget\n", "1:8: unclosed table, expected `]`"),
        (
            "# one\n[[gadget]]\ndescription = \"d\"\n",
            "2:1: this gadget has no name; add name = \"Fetch\"",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"cat\"]\ntimeout = \"soon\"\n",
            "5:11: invalid duration \"soon\"; expected a number and a unit, such as 500ms, 10s, 1.5m or 1h",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"./nope.sh\"]\n",
            "4:11: cannot find an executable program \"./nope.sh\"; correct the command (a path with / counts from this \
             file's folder), or make the file executable",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"sh\", \"-e\"]\n",
            "4:11: \"sh\" without a script would run the parameters, which the model writes, as one; \
             write command = [\"sh\", \"-c\", \"…\"], or name a script",
        ),
        (
            "[[gadget]]\nname = \"A\"\ntimeuot = \"1s\"\n",
            "3:1: unknown field `timeuot`, expected one of `name`, `description`, `command`, `timeout`, \
             `max-concurrent`, `exclusive`, `unterminated`, `on-interrupt`, `on_interrupt`, `env`, `result`, `parameters`, `examples`",
        ),
    ];
    let args = [
        "Go!",
        "--model",
        "script:script.jsonl",
        "--save",
        "old.log",
        "--gadgets",
    ];
    for (toml, problem) in rows {
        workshop.write("bad.toml", toml);
        let args = [&args[..], &["bad.toml"]].concat();
        check(&workshop, &args, &format!("bad.toml:{problem}"));
    }
    check(
        &workshop,
        &[&args[..], &["missing.toml"]].concat(),
        "cannot read the gadget file missing.toml: No such file or directory (os error 2)",
    );
}

/// A log does not take the place of what the run is made from, nor of anything else but a log.
#[test]
#[cfg(unix)]
fn a_log_in_the_place_of_something_else() {
    use std::os::unix::fs::symlink;

    let workshop = workshop();
    let input = |name: &str| {
        format!("--save would overwrite {name}, which the run is made from; name another file")
    };
    let no_log = |name: &str| {
        format!(
            "{name} is not a gadgetry log, so --save does not overwrite it; delete it or name another file"
        )
    };
    let link =
        |name: &str| format!("cannot write {name}: it is a symbolic link; name the file itself");
    let special = |name: &str| {
        format!("cannot write {name}: a log is a regular file, not a pipe or a device")
    };
    std::fs::copy("/bin/cat", workshop.path("program")).expect("a program");
    workshop.write("argument.txt", "");
    let program = workshop.path("program").display().to_string();
    let toml = "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"./program\", \"argument.txt\"]\n";
    workshop.write("gadgets.toml", toml);
    std::fs::hard_link(workshop.path("gadgets.toml"), workshop.path("hard")).expect("a link");
    symlink("script.jsonl", workshop.path("soft")).expect("a link");
    symlink("nowhere", workshop.path("dangling")).expect("a link");
    workshop.pipe("pipe");
    workshop.write("notes.txt", "dear diary");
    workshop.write("package.json", "{\"version\":1,\"lockfileVersion\":3}\n");
    let rows = [
        ("./script.jsonl", input("script.jsonl")),
        ("./gadgets.toml", input("gadgets.toml")),
        ("hard", input("gadgets.toml")),
        ("program", input(&program)),
        ("argument.txt", input("argument.txt")),
        ("soft", link("soft")),
        ("dangling", link("dangling")),
        ("pipe", special("pipe")),
        ("notes.txt", no_log("notes.txt")),
        ("package.json", no_log("package.json")),
    ];
    let kept = [
        "script.jsonl",
        "gadgets.toml",
        "argument.txt",
        "notes.txt",
        "package.json",
    ];
    let before = kept.map(|name| workshop.read(name));
    for (save, problem) in rows {
        let args = [
            "Go!",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
            "--save",
            save,
        ];
        check(&workshop, &args, &problem);
        assert_eq!(kept.map(|name| workshop.read(name)), before, "{save}");
    }
    assert!(!workshop.has("nowhere"));
    assert_eq!(
        std::fs::read(workshop.path("program")).ok(),
        std::fs::read("/bin/cat").ok()
    );
}

/// Whoever can read a log knows everything that was said.
#[test]
#[cfg(unix)]
fn a_log_is_private() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let workshop = Workshop::new(&reply("Hi."));
    let mode = || {
        metadata(workshop.path("run.log"))
            .expect("a log")
            .permissions()
            .mode()
            & 0o777
    };
    let save =
        || Ended::of(&mut workshop.agent(&["--quiet", "--save", "run.log"])).check("Hi.\n", "", 0);
    save();
    assert_eq!(mode(), 0o600);
    // An earlier log gives way.
    let first = workshop.read("run.log");
    set_permissions(workshop.path("run.log"), Permissions::from_mode(0o644)).expect("a mode");
    save();
    assert_eq!(mode(), 0o600);
    assert_eq!(
        workshop.read("run.log").lines().count(),
        first.lines().count()
    );
    // What is on stdout cannot be in the log.
    let command = format!(
        "{} agent Go! --model script:script.jsonl --gadgets gadgets.toml --save out > out",
        super::GADGETRY
    );
    let ended = Ended::of(&mut workshop.run("sh", &["-c", &command]));
    let problem = "error: --save would overwrite the file on stdout, which the run writes; name another file\n";
    ended.check("", problem, 2);
}

#[test]
fn mistakes_in_the_script() {
    let workshop = workshop();
    let rows = [
        ("{}\n", "1:1: a reply needs \"text\" or \"chunks\""),
        ("{\"text\":\"a\"}\n\n  nonsense\n", "3:4: expected ident"),
        (
            "{\"text\":\"a\",\"finish\":\"soon\"}\n",
            "1:27: unknown variant `soon`, expected one of `stop`, `length`, `error`, `disconnect`",
        ),
        (
            "{\"chunks\":[\"a\",{\"delay\":1}]}\n",
            "1:23: unknown field `delay`, expected `delayMs`",
        ),
    ];
    let args = [
        "Go!",
        "--model",
        "script:bad.jsonl",
        "--save",
        "old.log",
        "--gadgets",
        "gadgets.toml",
    ];
    for (script, problem) in rows {
        workshop.write("bad.jsonl", script);
        check(&workshop, &args, &format!("bad.jsonl:{problem}"));
    }
}

#[test]
fn a_log_that_cannot_be_kept() {
    let workshop = workshop();
    let args = [
        "Go!",
        "--model",
        "script:script.jsonl",
        "--gadgets",
        "gadgets.toml",
        "--save",
    ];
    check(
        &workshop,
        &[&args[..], &["missing/run.log"]].concat(),
        "cannot write missing/run.log: No such file or directory (os error 2)",
    );
    check(
        &workshop,
        &[&args[..], &["."]].concat(),
        "cannot write .: Is a directory (os error 21)",
    );
    check(
        &workshop,
        &[&args[..], &["old.log"]].concat(),
        "old.log is not a gadgetry log, so --save does not overwrite it; delete it or name another file",
    );
}
