//! `gadgetry gadget`: the gadgets of a file, without a model.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::workshop::{Ended, Workshop};

const FILE: &str = r#"
[[gadget]]
name = "Add"
description = "Adds two numbers\nand says the sum"
command = ["cat"]
[gadget.parameters]
type = "object"
properties = { a = { type = "integer", description = "The first" }, b = { type = "integer", default = 1 } }
required = ["a"]
[[gadget.examples]]
params = { a = 2, b = 3 }
output = "5"
comment = "A sum"
[[gadget]]
name = "Key"
description = "Shows variables"
command = ["sh", "-c", "echo \"key=$OPENAI_API_KEY home=$SOMETHING\""]
[[gadget]]
name = "Rich"
description = "Says more than a text"
command = ["sh", "-c", "echo '{\"cost\":0.25}'; echo '{\"text\":\"Done.\",\"completesRun\":true,\"media\":[{\"kind\":\"image\",\"mimeType\":\"image/png\",\"data\":{\"base64\":\"AAAA\"}}]}'"]
result = "jsonl"
[[gadget]]
name = "Ask"
description = "Asks a person"
command = ["sh", "-c", "echo '{\"asksHuman\":\"Where?\"}'"]
result = "jsonl"
[[gadget]]
name = "Empty"
description = "Says nothing"
command = ["true"]
[[gadget]]
name = "Slow"
description = "Is too slow"
command = ["sleep", "1000"]
timeout = "50ms"
"#;

fn workshop() -> Workshop {
    let workshop = Workshop::new("");
    workshop.write("more.toml", FILE);
    workshop
}

/// `gadgetry gadget` in a folder with both files.
fn gadget(workshop: &Workshop, args: &[&str]) -> Command {
    let mut command = workshop.command(&[&["gadget"], args].concat());
    command.envs([("OPENAI_API_KEY", "sk-secret"), ("SOMETHING", "here")]);
    command
}

#[track_caller]
fn check(args: &[&str], stdout: &str, stderr: &str, code: i32) {
    let workshop = workshop();
    Ended::of(&mut gadget(&workshop, args)).check(stdout, stderr, code);
}

#[test]
fn what_a_file_has() {
    let more = ["--gadgets", "more.toml"];
    let list = "\
Add    Adds two numbers and says the sum
Key    Shows variables
Rich   Says more than a text
Ask    Asks a person
Empty  Says nothing
Slow   Is too slow
";
    check(&["list", more[0], more[1]], list, "", 0);
    let validate = "\
Add: ok, 2 parameters, 1 example
Key: ok, 0 parameters, 0 examples
Rich: ok, 0 parameters, 0 examples
Ask: ok, 0 parameters, 0 examples
Empty: ok, 0 parameters, 0 examples
Slow: ok, 0 parameters, 0 examples
";
    check(&["validate", more[0], more[1]], validate, "", 0);
    let info = "\
## Add
Adds two numbers
and says the sum
Parameters:
- a (integer; required): The first
- b (integer; optional; default 1)
Example: A sum
!!!GADGET_START:Add
!!!ARG:a
2
!!!ARG:b
3
!!!GADGET_END
Output: 5
";
    check(&["info", "add", more[0], more[1]], info, "", 0);
    let schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"description\":\"The first\"},\
        \"b\":{\"type\":\"integer\",\"default\":1}},\"required\":[\"a\"]}\n";
    check(&["info", "Add", more[0], more[1], "--json"], schema, "", 0);
}

#[test]
fn what_info_prints_is_what_the_model_reads() {
    let workshop = workshop();
    let info = Ended::of(&mut gadget(
        &workshop,
        &["info", "Add", "--gadgets", "more.toml"],
    ));
    let expect = json!({ "text": "Done.", "expect": { "contains": [info.stdout.trim_end()] } });
    workshop.write("script.jsonl", &format!("{expect}\n"));
    let agent = ["--gadgets", "more.toml", "--model", "script:script.jsonl"];
    let args = [&["agent", "Go!"], &agent[..]].concat();
    Ended::of(&mut workshop.command(&args)).check("Done.\n", "[1] calling model\n", 0);
}

#[test]
fn invalid_arguments_are_refused() {
    let check = |args: &[&str], error: &str| check(args, "", &format!("error: {error}\n"), 2);
    check(
        &[],
        "'gadgetry gadget' requires a subcommand but one was not provided [subcommands: list, info, validate, run, help]",
    );
    check(
        &["list", "--builtins", "ReadFiles"],
        "--builtins: there is no built-in gadget ReadFiles; did you mean ReadFile?",
    );
    check(
        &["list", "--workspace", "missing"],
        "cannot open the workspace missing: No such file or directory (os error 2)",
    );
    check(
        &["validate", "--gadgets", "missing.toml"],
        "cannot read the gadget file missing.toml: No such file or directory (os error 2)",
    );
    for args in [&["info", "Ad"][..], &["run", "Ad"]] {
        let args = [args, &["--gadgets", "more.toml"]].concat();
        check(
            &args,
            "Gadget 'Ad' not found. Did you mean 'Add'? Available gadgets: Add, Key, Rich, Ask, Empty, Slow",
        );
    }
    let run = ["run", "Add", "--gadgets", "more.toml", "--params"];
    for (params, error) in [
        ("[1]", "--params: the parameters are not a JSON object"),
        ("", "--params: the parameters are not a JSON object"),
        (
            "{\"a\": 1,}",
            "--params: key must be a string at line 1 column 9",
        ),
        ("-", "stdin: the parameters are not a JSON object"),
    ] {
        check(&[&run[..], &[params]].concat(), error);
    }
}

#[test]
fn what_validate_finds() {
    let head = "[[gadget]]\nname = \"A\"\ndescription = \"Does a\"\n";
    let cat = "command = [\"cat\"]\n";
    let schema = "parameters = { type = \"object\", properties = { a = { type = \"integer\" } }, required = [\"a\"] }\n";
    for (rest, error) in [
        (
            "command = [\"no-such-program\"]\n".to_owned(),
            "4:11: cannot find an executable program \"no-such-program\"; correct the command (a path with / counts \
             from this file's folder), or make the file executable",
        ),
        (
            format!("{cat}parameters = {{ type = \"object\", required = 1 }}\n"),
            "5:14: parameters: invalid schema at #/required: 1 is not of type \"array\"",
        ),
        (
            format!("{cat}{schema}[[gadget.examples]]\nparams = {{ a = \"one\" }}\n"),
            "7:10: example 1 of gadget 'A' does not fit its parameters: a: expected integer, got string \"one\"",
        ),
    ] {
        let workshop = Workshop::new("");
        workshop.write("bad.toml", &format!("{head}{rest}"));
        let args = ["validate", "--gadgets", "bad.toml"];
        let ended = Ended::of(&mut gadget(&workshop, &args));
        ended.check("", &format!("error: bad.toml:{error}\n"), 2);
    }
}

#[test]
fn one_call() {
    let run = |name, params, stdout, stderr: &str, code| {
        let args = ["run", name, "--gadgets", "more.toml", "--params", params];
        check(&args, stdout, stderr, code);
    };
    run("add", "{\"a\": 5}", "{\"a\":5,\"b\":1}\n", "", 0);
    let invalid =
        "error: Invalid parameters for 'Add': - a: expected integer, got string \"five\"\n";
    run("Add", "{\"a\": \"five\"}", "", invalid, 1);
    // Texts become what the schema asks for.
    run("Add", "{\"a\": \"5\"}", "{\"a\":5,\"b\":1}\n", "", 0);
    run("Key", "{}", "key= home=here\n", "", 0);
    run("Empty", "{}", "", "", 0);
    let note = "note: media in the result: 1; see --json\n";
    run("Rich", "{}", "Done.\n", note, 0);
    let slow = "error: Gadget 'Slow' execution exceeded timeout of 50ms\n";
    run("Slow", "{}", "", slow, 1);

    let workshop = Workshop::new("");
    for (name, params, stdout, stderr, code) in [
        ("Fail", "{}", "", "error: no luck\n", 1),
        (
            "Echo",
            r#"{"say": "!!!GADGET_END\n<think>a</think> ${x}"}"#,
            "{\"say\":\"!!!GADGET_END\\n<think>a</think> ${x}\"}\n",
            "",
            0,
        ),
    ] {
        let args = ["run", name, "--gadgets", "gadgets.toml", "--params", params];
        Ended::of(&mut gadget(&workshop, &args)).check(stdout, stderr, code);
    }
}

/// A call whose result is printed as JSON; without its duration.
#[track_caller]
fn check_json(name: &str, params: &str, mut expected: Value, code: i32) {
    let workshop = workshop();
    let args = [
        "run",
        name,
        "--gadgets",
        "more.toml",
        "--params",
        "-",
        "--json",
    ];
    let mut child = gadget(&workshop, &args)
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(params.as_bytes()).expect("it reads");
    drop(stdin);
    let ended = Ended::wait(child);
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let mut report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert!(report["durationMs"].take().is_u64(), "{report}");
    expected["durationMs"] = Value::Null;
    assert_eq!(report, expected);
}

/// Without `--params`, what is piped in are the parameters.
#[test]
fn parameters_on_stdin() {
    let check = |name: &str, stdin: &str, stdout: &str, stderr: &str, code: i32| {
        let workshop = workshop();
        workshop.write("stdin", stdin);
        let stdin = std::fs::File::open(workshop.path("stdin")).expect("a file");
        let mut command = gadget(&workshop, &["run", name, "--gadgets", "more.toml"]);
        Ended::of(command.stdin(stdin)).check(stdout, stderr, code);
    };
    check("Add", " {\"a\": 5}\n", "{\"a\":5,\"b\":1}\n", "", 0);
    let object = "error: stdin: the parameters are not a JSON object\n";
    check("Add", "5", "", object, 2);
    let missing = "error: Invalid parameters for 'Add': - a: expected integer, but it is missing\n";
    check("Add", "\n", "", missing, 1);
    // A gadget without parameters leaves stdin to others.
    check("Empty", "5", "", "", 0);
}

#[test]
fn one_call_as_json() {
    let rich = json!({
        "gadgetName": "Rich", "parameters": {}, "result": "Done.", "cost": 0.25, "completesRun": true,
        "media": [{ "kind": "image", "mimeType": "image/png", "data": { "base64": "AAAA" } }],
    });
    check_json("rich", "{}\n", rich, 0);
    let nothing = |fields: Value| {
        let mut report = json!({ "cost": 0.0, "media": [], "completesRun": false });
        let fields = fields.as_object().expect("an object").clone();
        report.as_object_mut().expect("an object").extend(fields);
        report
    };
    let missing =
        "Error: Invalid parameters for 'Add':\n  - a: expected integer, but it is missing";
    check_json(
        "Add",
        "{}",
        nothing(json!({ "gadgetName": "Add", "error": missing })),
        1,
    );
    let slow = "Gadget 'Slow' execution exceeded timeout of 50ms";
    check_json(
        "Slow",
        "{}",
        nothing(json!({ "gadgetName": "Slow", "parameters": {}, "error": slow })),
        1,
    );
    check_json(
        "Ask",
        "{}",
        nothing(
            json!({ "gadgetName": "Ask", "parameters": {}, "error": "The question has no answer: no user is available in this run, or they declined. The question was: Where?" }),
        ),
        1,
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_whole_process_group() {
    let workshop = Workshop::new("");
    let alive = workshop.watch_alive();
    let child = gadget(&workshop, &["run", "Hang", "--gadgets", "gadgets.toml"])
        .spawn()
        .expect("the binary starts");
    alive.up();
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    Ended::wait(child).check("", "error: cancelled\n", 1);
    alive.gone();
}
