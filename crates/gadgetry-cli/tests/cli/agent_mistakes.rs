//! What can be wrong with the input of `gadgetry agent`: one clear line, exit code 2, and nothing was done.

use crate::workshop::{Ended, Workshop, block, reply};

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
        "no script is named; write script:FILE",
    );
    check(
        &["--model", "script:missing.jsonl"],
        "cannot read the script missing.jsonl: No such file or directory (os error 2)",
    );
    check(
        &["--model", "script:."],
        "cannot read the script .: Is a directory (os error 21)",
    );
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
        "invalid value '0' for '--max-iterations <N>': write a whole number of at least 1",
    );
    check(
        &with(&["--max-gadgets-per-response", "no"]),
        "invalid value 'no' for '--max-gadgets-per-response <N>': write a whole number of at least 1",
    );
    check(
        &with(&["--timeout", "10"]),
        "invalid value '10' for '--timeout <DURATION>': write a number and a unit, like 500ms, 90s, 1.5m or 1h",
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
                "invalid value '{percent}' for '--output-limit <PERCENT>': write a percentage above 0 and up to 100, or off"
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
            "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"sh\"]\ntimeout = \"soon\"\n",
            "5:11: \"soon\" is no duration; write a number and a unit, like 500ms, 10s, 1.5m or 1h",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"d\"\ncommand = [\"./nope.sh\"]\n",
            "4:11: there is no program \"./nope.sh\" that can be run; correct the command (a path with / counts from this \
             file's folder), or make the file executable",
        ),
        (
            "[[gadget]]\nname = \"A\"\ntimeuot = \"1s\"\n",
            "3:1: unknown field `timeuot`, expected one of `name`, `description`, `command`, `timeout`, \
             `max-concurrent`, `exclusive`, `env`, `parameters`, `examples`",
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

/// A log does not take the place of what the run is made from.
#[test]
fn a_log_in_the_place_of_an_input() {
    let workshop = workshop();
    for input in ["script.jsonl", "gadgets.toml"] {
        let before = workshop.read(input);
        let args = [
            "Go!",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
            "--save",
        ];
        let save = format!("./{input}");
        let problem = format!(
            "--save would overwrite {input}, which the run is made from; name another file"
        );
        check(&workshop, &[&args[..], &[&save]].concat(), &problem);
        assert_eq!(workshop.read(input), before);
    }
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
}
