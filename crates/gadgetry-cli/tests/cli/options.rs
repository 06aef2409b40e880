//! What can be typed wrongly, and help.

use std::fs;

use super::doctor::NO_SERVERS;
use super::workshop::{Ended, Workshop};
use super::{check, run};

/// What to do without a model, where no key is set and no server answers.
pub(crate) const NO_MODEL: &str = "error: no model is chosen: say --model NAME, set GADGETRY_MODEL, or write model = \"NAME\" into the configuration; \
    no key is set: set ANTHROPIC_API_KEY for haiku, OPENAI_API_KEY for gpt5 or GEMINI_API_KEY for flash, or start a local server; \
    `gadgetry models` lists what you can use, `gadgetry doctor` looks for keys and servers\n";

#[test]
fn without_a_model() {
    let workshop = Workshop::new("");
    let mut command = workshop.command(&["agent", "hello"]);
    Ended::of(command.envs(NO_SERVERS)).check("", NO_MODEL, 2);
}

#[test]
fn mistakes_in_the_arguments_are_one_line_and_exit_code_2() {
    let mistake = |args: &[&str], stderr: &str| check(args, "x", "", stderr, 2);
    mistake(&["bogus"], "error: unrecognized subcommand 'bogus'\n");
    mistake(
        &["parse", "--tags", "x"],
        "error: unexpected argument '--tags' found; tip: a similar argument exists: '--tag'\n",
    );
    mistake(
        &["parse", "a", "b"],
        "error: unexpected argument 'b' found\n",
    );
    for size in ["0", "-1", "x", "1.5", ""] {
        let option = format!("--chunk-size={size}");
        let output = run(&["parse", &option], b"x");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.starts_with("error: "), "{stderr}");
        assert!(stderr.contains("--chunk-size <N>"), "{stderr}");
        assert_eq!(
            (stderr.lines().count(), output.status.code()),
            (1, Some(2)),
            "{stderr}"
        );
    }
    mistake(
        &["parse", "--chunk-size", "0"],
        "error: invalid value '0' for '--chunk-size <N>': expected a whole number of at least 1\n",
    );
    mistake(
        &["parse", "--batch", "--chunk-size", "4"],
        "error: the argument '--batch' cannot be used with '--chunk-size <N>'\n",
    );
    mistake(
        &["replay"],
        "error: the following required arguments were not provided: <FILE>\n",
    );
}

#[test]
fn markers_and_tags_are_checked_before_anything_is_read() {
    for verb in ["parse", "write"] {
        let mistake =
            |args: &[&str], stderr: &str| check(&[&[verb], args].concat(), "x", "", stderr, 2);
        mistake(&["--start", ""], "error: the start marker is empty\n");
        mistake(&["--end="], "error: the end marker is empty\n");
        mistake(&["--arg", ""], "error: the argument marker is empty\n");
        mistake(
            &["--start", "@@", "--arg", "@@"],
            "error: the start marker and the argument marker are both \"@@\"; they must differ\n",
        );
        mistake(
            &["--start", "@@a", "--end", "@@"],
            "error: the start marker begins with the end marker \"@@\"; a parser could not distinguish them\n",
        );
        mistake(
            &["--end", "a\nb"],
            "error: the end marker \"a\\nb\" contains a line break or begins with whitespace\n",
        );
    }
    let rule = "write a letter or _, then letters, digits, _ or -, at most 64 bytes";
    for name in ["", "1", "a b", "<a>", "-a"] {
        let stderr = format!("error: {name:?} is not a tag name: {rule}\n");
        check(&["parse", "--tag", name], "x", "", &stderr, 2);
    }
    check(
        &["parse", "--tag", "a", "--tag", "a"],
        "x",
        "",
        "error: the tag <a> is registered twice\n",
        2,
    );
}

#[test]
fn files_that_cannot_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
        path(name)
    };
    let missing = path("missing");
    let gone = format!("error: cannot read {missing}: No such file or directory (os error 2)\n");
    check(&["parse", &missing], "", "", &gone, 2);
    check(&["parse", "--batch", &missing], "", "", &gone, 2);
    check(&["write", &missing], "", "", &gone, 2);
    check(&["parse", "--schema", &missing], "text", "", &gone, 2);
    let directory = path("");
    let stderr = format!("error: cannot read {directory}: Is a directory (os error 21)\n");
    check(&["parse", &directory], "", "", &stderr, 2);

    let schema = |name: &str, text: &str, problem: &str| {
        let path = file(name, text);
        let stderr = format!("error: {path}: {problem}\n");
        check(&["parse", "--schema", &path], "text", "", &stderr, 2);
    };
    schema(
        "a",
        "{\n  \"type\": object\n}",
        "expected value at line 2 column 11",
    );
    schema("b", "", "EOF while parsing a value at line 1 column 0");
    schema("c", "[]", "a schema must be a JSON object or `true`");
    schema(
        "d",
        r#"{"type":"string"}"#,
        "parameters are an object, but the schema admits only: string",
    );
    schema(
        "e",
        r#"{"type":"strong"}"#,
        "invalid schema at #/type: \"strong\" is not valid under any of the schemas listed in the 'anyOf' keyword",
    );
}

#[test]
fn help_is_no_mistake() {
    let help = |args: &[&str], parts: &[&str]| {
        let output = run(args, b"");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            (output.stderr.len(), output.status.code()),
            (0, Some(0)),
            "{args:?}"
        );
        for part in parts {
            assert!(
                stdout.contains(part),
                "{part:?} in the help of {args:?}:\n{stdout}"
            );
        }
    };
    let verbs = ["parse", "write", "agent", "replay", "demo"];
    help(&[], &verbs);
    help(&["--help"], &verbs);
    help(
        &["--version"],
        &["gadgetry ", "\ncommit: ", "\ntarget: ", "\nfeatures: "],
    );
    let parse = [
        "--chunk-size <N>",
        "--start <MARKER>",
        "--end <MARKER>",
        "--arg <MARKER>",
        "--line-start",
        "--tag <NAME>",
        "--schema <FILE>",
        "--no-partials",
        "--batch",
        "gadget_args_partial",
        "custom_block_start",
        "diagnostic",
        "lineStart",
        "!!!GADGET_START:",
    ];
    help(&["parse", "--help"], &parse);
    help(
        &["write", "--help"],
        &["--jsonl", "--line-start", "gadgetName"],
    );
    let agent = [
        "--model <MODEL>",
        "--gadgets <FILE>",
        "--events <FORMAT>",
        "--max-iterations <N>",
        "--max-gadgets-per-response <N>",
        "--save <FILE>",
    ];
    help(&["agent", "--help"], &agent[..1]);
    help(&["agent", "--help-all"], &agent);
    // The options of a verb's own are in its first help, and the groups of the others in the whole one.
    let complete = [
        "Usage: gadgetry complete [OPTIONS] --model <MODEL> [PROMPT] [-]",
        "--image <FILE|URL>",
        "--help-all",
    ];
    help(&["complete", "--help"], &complete);
    help(
        &["complete", "--help-all"],
        &["Limits:", "--retry-max-delay <DURATION>"],
    );
    #[cfg(feature = "restate")]
    {
        help(
            &["worker", "--help"],
            &["--restate <URL>", "--spread <GADGET>", "--help-all"],
        );
        help(
            &["worker", "--help-all"],
            &["Worker:", "--own-url <URL>", "Approvals:"],
        );
    }
    help(&["replay", "--help"], &["--save FILE"]);
    help(&["demo", "--help"], &["Usage"]);
}

/// A verb with the options about configuration has its own description.
#[test]
fn every_verb_has_its_own_description() {
    let check = |args: &[&str], part: &str| {
        let stdout = String::from_utf8_lossy(&run(args, b"").stdout).into_owned();
        assert!(stdout.contains(part), "{part:?} of {args:?}:\n{stdout}");
        assert!(
            !stdout.contains("Which configuration"),
            "{args:?}:\n{stdout}"
        );
    };
    check(&["--help"], "agent        Runs a model and its gadgets");
    check(
        &["agent", "-h"],
        "Runs a model and its gadgets until the model is done",
    );
    check(&["agent", "--help"], "Every run is a session");
    check(&["complete", "--help"], "Sends one request to a model");
    check(&["gadget", "--help"], "Commands:\n  list");
    check(&["gadget", "list", "--help"], "Lists");
}

#[test]
fn a_byte_order_mark_before_json_is_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = folder.path().join("schema.json");
    fs::write(&schema, "\u{feff}{\"type\":\"object\"}").expect("a file");
    let schema = schema.display().to_string();
    let event = "{\"type\":\"text\",\"text\":\"Hi.\"}";
    check(
        &["parse", "--schema", &schema],
        "Hi.",
        &format!("{event}\n"),
        "",
        0,
    );
    let text = "{\"chunks\":[\"Hi.\"]}\n";
    let events = format!("{{\"id\":null,\"events\":[{event}]}}\n");
    let batch = ["parse", "--batch"];
    check(
        &batch,
        format!("\u{feff}{text}{text}"),
        &events.repeat(2),
        "",
        0,
    );
    let call = "{\"gadgetName\":\"Bell\",\"parameters\":{}}\n";
    let block = "!!!GADGET_START:Bell\n!!!GADGET_END\n";
    check(&["write"], format!("\u{feff}{call}"), block, "", 0);
    // One, and only there.
    let twice = "error: line 1: the line is not a JSON object\n";
    check(&["write"], format!("\u{feff}\u{feff}{call}"), "", twice, 2);
    let later = "error: line 2: the line is not a JSON object\n";
    check(&["write"], format!("{call}\u{feff}{call}"), block, later, 2);
}
