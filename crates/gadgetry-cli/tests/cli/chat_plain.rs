//! `gadgetry chat` in lines: pipes, and terminals that cannot do more.

use std::fs::File;

use super::screen::Screen;
use super::workshop::{Ended, Workshop, call, reply};

const ARGS: [&str; 7] = [
    "chat",
    "--model",
    "script:script.jsonl",
    "--gadgets",
    "gadgets.toml",
    "--output-limit",
    "off",
];

/// What the conversation prints for these lines of stdin.
fn piped(workshop: &Workshop, args: &[&str], lines: &str) -> Ended {
    workshop.write("input", lines);
    let mut command = workshop.command(args);
    command.stdin(File::open(workshop.path("input")).expect("a file"));
    Ended::of(&mut command)
}

/// A conversation that cannot be kept is held all the same.
#[test]
fn without_a_data_folder() {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    workshop.write("input", "first\nsecond\n");
    workshop.write("file", "");
    let run = |options: &[&str]| {
        let args = [&["chat", "--model", "script:script.jsonl"], options].concat();
        let mut command = workshop.command(&args);
        command.env("XDG_DATA_HOME", workshop.path("file"));
        command.stdin(File::open(workshop.path("input")).expect("a file"));
        Ended::of(&mut command)
    };
    let ended = run(&[]);
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("One.\nTwo.\n", Some(0)),
        "{ended:?}"
    );
    let note = "the conversation is not kept: ";
    assert_eq!(ended.stderr.matches(note).count(), 1, "{ended:?}");
    assert!(!ended.stderr.contains("continue with"), "{ended:?}");
    // A session that has a name must be kept.
    assert_ne!(run(&["--session", "a"]).code, Some(0));
}

#[test]
fn dumb_terminals_and_pipes_have_lines() {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    let mut screen = Screen::start(&workshop, (80, 40), &ARGS, &[("TERM", "dumb")]);
    screen.shows(">");
    screen.say("first");
    screen.shows("One.");
    screen.say("/help");
    screen.shows("  /export FILE          writes the conversation");
    // With a user, a mistake is not the end.
    screen.say("/model script:nonesuch.jsonl");
    screen.shows("nonesuch.jsonl: No such file");
    screen.say("/quit");
    let (code, text) = screen.ends();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");

    let quiet = [&ARGS[..], &["--quiet"]].concat();
    piped(&workshop, &quiet, "first\n\nsecond\n").check("One.\nTwo.\n", "", 0);
}

#[test]
fn slash_commands_work_in_a_pipe() {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    workshop.write("other.jsonl", &reply("Other."));
    let gadgets = "[[gadget]]\nname = \"Echo\"\ndescription = \"Says its parameters\"\ncommand = [\"cat\"]\n\
                   [[gadget]]\nname = \"Touch\"\ndescription = \"Leaves a trace\"\ncommand = [\"touch\", \"trace\"]\n";
    workshop.write("gadgets.toml", gadgets);
    let named = [&ARGS[..], &["--session", "piped"]].concat();
    let lines =
        "first\n/tools\n/cost\n/model script:other.jsonl\nsecond\n/export talk.md\n/quit\nnever\n";
    let ended = piped(&workshop, &named, lines);
    ended.check(
        "One.\nOther.\n",
        "[1] calling model\n\
         \x20 Echo   Says its parameters\n  Touch  Leaves a trace\n\
         about 1 token out\n\
         script:other.jsonl is in use now\n\
         [1] calling model\n\
         talk.md has the conversation\n\
         continue with: gadgetry chat --continue piped\n",
        0,
    );
    // The command works as it is shown.
    let elsewhere = [&named[..], &["--data-dir", "my data"]].concat();
    let ended = piped(&workshop, &elsewhere, "first\n");
    let shown = "continue with: gadgetry chat --data-dir 'my data' --continue piped\n";
    assert!(ended.stderr.ends_with(shown), "{ended:?}");
    assert!(workshop.read("talk.md").ends_with("## Model\n\nOther.\n"));
    // Without a user, a command that fails is the end.
    let check = |line: &str, problem: &str| {
        let workshop = Workshop::new(&reply("One."));
        let ended = piped(&workshop, &ARGS, &format!("{line}\nnever\n"));
        ended.check("", &format!("error: {problem}\n"), 2);
    };
    check("/modle x", "unknown command /modle; did you mean /model?");
    check(
        "/profile x",
        "there is no profile \"x\"; add a table [profiles.x]",
    );
    check(
        "/skill x",
        "there is no skill \"x\"; there are no skills: name their folder with --skills DIR, or in [skills] of the configuration",
    );
    check(
        "/undo",
        "there is no change of a file to undo; only changes since the start of this program can be undone",
    );
}

/// A reply that writes two files, and an answer.
fn writes() -> Workshop {
    let write = |id: &str, path: &str| {
        let body = format!("!!!ARG:filePath\n{path}\n!!!ARG:content\nx\n");
        call(id, &body)
    };
    let calls = write("WriteFile:one", "src/1.txt") + &write("WriteFile:two:one", "src/2.txt");
    Workshop::new(&(reply(&calls) + &reply("Done.")))
}

#[test]
fn calls_are_approved_in_lines() {
    let check = |answers: &[&str], expected: [bool; 2]| {
        let workshop = writes();
        let args = ["chat", "--model", "script:script.jsonl"];
        let mut screen = Screen::start(&workshop, (100, 60), &args, &[("TERM", "dumb")]);
        screen.shows(">");
        screen.say("Go!");
        for (index, answer) in answers.iter().enumerate() {
            screen.until("a question", |text| {
                text.matches("y once, n no, n REASON, s this session")
                    .count()
                    == index + 1
                    && text.trim_end().ends_with('>')
            });
            screen.say(answer);
        }
        let text = screen.shows("Done.");
        let written = ["src/1.txt", "src/2.txt"].map(|file| workshop.has(file));
        assert_eq!(written, expected, "{answers:?}: {text}");
        screen.say("/undo 2");
        if expected[0] {
            screen.shows("undone: src/1.txt was removed");
            assert!(!workshop.has("src/1.txt"));
        } else {
            screen.shows("there is no change of a file to undo");
        }
        screen.say("/quit");
        assert_eq!(screen.ends().0, 0);
    };
    check(&["y", "n"], [true, false]);
    check(&["s2"], [true, true]);
    check(&["n not now"], [false, false]);
}

#[test]
fn without_a_terminal_calls_are_denied() {
    let workshop = writes();
    let args = ["chat", "--model", "script:script.jsonl"];
    let ended = piped(&workshop, &args, "Go!\n");
    assert_eq!((ended.stdout.as_str(), ended.code), ("Done.\n", Some(0)));
    let denied = "Denied: WriteFile needs approval, but no user is at a terminal";
    assert!(ended.stderr.contains(denied), "{ended:?}");
    assert!(!workshop.has("src"));
}
