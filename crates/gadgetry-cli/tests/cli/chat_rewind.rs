//! `/undo`, `/rewind`, `/fork` and `/new` in `gadgetry chat`, in a terminal.

use super::screen::Screen;
use super::workshop::{Workshop, call, expecting, reply};

/// A call of `RunCommand`.
fn run(command: &str) -> String {
    call(
        &format!("RunCommand:r{}", command.len()),
        &format!("!!!ARG:command\n{command}\n"),
    )
}

/// The conversation as `/export` writes it.
#[track_caller]
fn exported(screen: &mut Screen, workshop: &Workshop, file: &str) -> String {
    screen.rests();
    screen.say(&format!("/export {file}"));
    screen.shows(&format!("{file} has the conversation"));
    workshop.read(file)
}

/// `gadgetry chat` with the built-in gadgets, of which commands need no approval.
fn chat(workshop: &Workshop, args: &[&str]) -> Screen {
    let usual = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--approval",
        "allow *",
    ];
    Screen::start(workshop, (80, 60), &[&usual, args].concat(), &[])
}

#[test]
fn changes_by_a_command_are_undone_as_one_step() {
    let script = reply(&run(
        "echo two > a.txt; rm old.txt; mkdir new; echo b > new/b.txt",
    )) + &reply("Changed.")
        + &expecting("I see.", &["old.txt was restored", "new/b.txt was removed"]);
    let workshop = Workshop::new(&script);
    workshop.write("a.txt", "one\n");
    workshop.write("old.txt", "old\n");
    let mut screen = chat(&workshop, &["Go!"]);
    screen.shows("Changed.");
    screen.rests();
    assert_eq!(workshop.read("a.txt"), "two\n");
    screen.say("/undo");
    screen.shows("undone: a.txt was restored");
    assert_eq!(workshop.read("a.txt"), "one\n");
    assert_eq!(workshop.read("old.txt"), "old\n");
    assert!(!workshop.has("new/b.txt"));
    screen.say("/undo");
    screen.shows("there is no change of a file to undo");
    screen.say("And now?");
    screen.shows("I see.");
    screen.leave();
}

#[test]
fn a_conversation_returns_to_an_earlier_message() {
    let script = reply("First answer.")
        + &reply(&run("echo two > a.txt"))
        + &reply("Second answer.")
        + &reply("Third answer.")
        + &expecting("Another answer.", &["First answer.", "second, please"]);
    let workshop = Workshop::new(&script);
    workshop.write("a.txt", "one\n");
    let mut screen = chat(&workshop, &["--session", "long"]);
    for (message, answer) in [
        ("first", "First answer."),
        ("second", "Second answer."),
        ("third", "Third answer."),
    ] {
        screen.shows("script:script.jsonl");
        screen.say(message);
        screen.shows(answer);
        screen.rests();
    }
    screen.say("/rewind");
    screen.shows("/rewind 3  third");
    screen.say("/rewind 7");
    screen.shows("there is no message 7");
    screen.say("/rewind 2");
    let text = screen.shows("back before message 2");
    assert!(text.contains("undone: a.txt was restored"), "{text}");
    assert_eq!(workshop.read("a.txt"), "one\n");
    // The message is in the input line, to be changed.
    screen.shows("> second");
    screen.say(", please");
    screen.shows("Another answer.");
    let talk = "## User\n\nfirst\n\n## Model\n\nFirst answer.\n\n## User\n\nsecond, please\n\n## Model\n\nAnother answer.\n";
    assert_eq!(exported(&mut screen, &workshop, "talk.md"), talk);
    let text = screen.leave();
    // It is another session, and the first one is as it was.
    assert!(!text.contains("--continue long"), "{text}");
    let shown = workshop.command(&["sessions", "show", "long"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(shown.contains("Third answer."), "{shown}");
    // A session of another program, too, but without its files.
    workshop.write(
        "script.jsonl",
        &expecting("Yet another.", &["First answer."]),
    );
    let mut screen = chat(&workshop, &["--continue", "long"]);
    screen.shows("Third answer.");
    screen.say("/rewind 2");
    screen.shows("files that an earlier program may have changed are left as they are");
    screen.shows("> second");
    screen.say("");
    screen.shows("Yet another.");
    screen.leave();
}

/// What is said about files of an earlier program, which are not restored.
#[test]
fn earlier_changes_are_mentioned_if_there_are_some() {
    let write = call(
        "WriteFile:w",
        "!!!ARG:filePath\na.txt\n!!!ARG:content\ntwo\n",
    );
    let read = call("ReadFile:r", "!!!ARG:filePath\na.txt\n");
    let own = run("echo three > a.txt");
    let check = |earlier: &str, expected: Option<&str>, content: &str| {
        let workshop = Workshop::new(&(reply(earlier) + &reply("First.")));
        workshop.write("a.txt", "one\n");
        let mut screen = chat(&workshop, &["--session", "s"]);
        screen.shows("script:script.jsonl");
        screen.say("first");
        screen.shows("First.");
        screen.rests();
        screen.leave();
        workshop.write("script.jsonl", &(reply(&own) + &reply("Second.")));
        let mut screen = chat(&workshop, &["--continue", "s"]);
        screen.shows("First.");
        screen.say("second");
        screen.shows("Second.");
        screen.rests();
        assert_eq!(workshop.read("a.txt"), "three\n");
        screen.say("/rewind 1");
        let text = screen.shows("back before message 1");
        let note = expected.map(|verb| {
            format!("files that an earlier program {verb} changed are left as they are")
        });
        let is_said = text.contains("left as they are");
        assert_eq!(is_said, note.is_some(), "{text}");
        assert!(text.contains(&note.unwrap_or_default()), "{text}");
        // What this program has changed is undone in any case.
        assert_eq!(workshop.read("a.txt"), content, "{text}");
        screen.shows("> first");
        screen.keys("\u{15}");
        screen.leave();
    };
    check(&read, None, "one\n");
    check(&write, Some("has"), "two");
    check(&run("true"), Some("may have"), "one\n");
}

#[test]
fn fork_and_clear_start_other_conversations() {
    let script = reply("First answer.")
        + &expecting("Second answer.", &["First answer."])
        + &reply("Third answer.");
    let workshop = Workshop::new(&script);
    let mut screen = chat(&workshop, &["--session", "one"]);
    screen.shows("script:script.jsonl");
    screen.say("/fork");
    screen.shows("nothing was said yet");
    screen.say("first");
    screen.shows("First answer.");
    screen.rests();
    screen.say("/fork");
    screen.shows("(/resume one)");
    screen.say("second");
    screen.shows("Second answer.");
    screen.rests();
    screen.say("/clear");
    screen.shows("a new conversation");
    screen.say("third");
    screen.shows("Third answer.");
    let talk = "## User\n\nthird\n\n## Model\n\nThird answer.\n";
    assert_eq!(exported(&mut screen, &workshop, "talk.md"), talk);
    screen.leave();
    let listed = workshop.command(&["sessions", "list"]).output();
    let listed = String::from_utf8(listed.expect("sessions").stdout).expect("UTF-8");
    let count = listed.lines().count();
    assert_eq!(count, 4, "{listed}");
}

#[test]
fn another_session_is_resumed_from_a_list() {
    let workshop = Workshop::new(&reply("Hello."));
    // The latest one is the first of the list, whatever their names.
    for (name, message) in [("a", "Long ago"), ("one", "The first message")] {
        let screen = chat(&workshop, &["--session", name, message]);
        screen.shows("Hello.");
        screen.leave();
    }
    workshop.write("script.jsonl", &(reply("Two.") + &reply("Again.")));
    let mut screen = chat(&workshop, &["--session", "two", "Another"]);
    screen.shows("Two.");
    screen.rests();
    screen.say("/resume nope");
    screen.shows("there is no session nope");
    // Words of titles find it, also without the list.
    screen.keys("/resume first");
    screen.until("a session by its title", |text| {
        text.contains("› one  ") && text.contains(" ago · The first message")
    });
    screen.keys("\x15/resume\r");
    screen.shows("› one  ");
    screen.keys("\r");
    screen.shows("> The first message\n\nHello.");
    screen.say("And?");
    screen.shows("Two.");
    let text = screen.leave();
    assert!(
        text.ends_with("continue with: gadgetry chat --continue one"),
        "{text}"
    );
}

/// Without what the model reads in addition.
#[test]
fn a_message_is_shown_again_as_it_was_typed() {
    let script = expecting("It is here.", &["run a command", "hello", "What is it?"]);
    let workshop = Workshop::new(&script);
    let mut screen = chat(&workshop, &["--session", "s"]);
    screen.shows("script:script.jsonl");
    screen.say("!echo hello; exit 3");
    screen.shows("· exit 3\n  hello\n");
    screen.say("What is it?");
    screen.shows("It is here.");
    screen.rests();
    screen.leave();
    let mut screen = chat(&workshop, &["--continue", "s"]);
    let text = screen.shows("> What is it?\n\nIt is here.");
    assert!(!text.contains("run a command"), "{text}");
    screen.say("/rewind 1");
    screen.shows("\n> What is it?\nscript:");
    // It empties the line.
    screen.keys("\u{15}");
    screen.leave();
    let listed = workshop.command(&["sessions", "list"]).output();
    let listed = String::from_utf8(listed.expect("sessions").stdout).expect("UTF-8");
    assert!(listed.ends_with("  What is it?\n"), "{listed}");
}

#[test]
fn changes_and_rules_are_listed_and_the_answer_copied() {
    let write = call(
        "WriteFile:w",
        "!!!ARG:filePath\na.txt\n!!!ARG:content\ntwo\n",
    );
    let workshop = Workshop::new(&(reply(&write) + &reply("It is **two**.")));
    workshop.write("a.txt", "one\n");
    let mut screen = chat(&workshop, &[]);
    screen.shows("script:script.jsonl");
    screen.say("/diff");
    screen.shows("no file has changed in this conversation");
    screen.say("/copy");
    screen.shows("there is no answer to copy");
    screen.say("Go!");
    screen.shows("It is two.");
    screen.rests();
    screen.say("/diff");
    screen.shows("  -one\n  +two\n");
    screen.say("/approvals");
    screen.shows("  allow  *\n");
    screen.say("/copy");
    screen.shows("the answer is in the clipboard");
    assert!(
        screen
            .bytes()
            .contains("\u{1b}]52;c;SXQgaXMgKip0d28qKi4=\u{1b}\\")
    );
    screen.leave();
}

/// A session that a conversation has open is left alone by others, until it is left, even by a kill.
#[test]
fn a_session_is_open_once() {
    let workshop = Workshop::new(&reply("First."));
    let mut screen = chat(&workshop, &["--session", "day"]);
    screen.shows("script:script.jsonl");
    screen.say("first");
    screen.shows("First.");
    screen.rests();
    let refused = |args: &[&str]| {
        let output = workshop.command(args).output().expect("it runs");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        let words = "error: session day is in progress in another process (process ";
        assert!(error.starts_with(words), "{args:?}: {error}");
        assert!(error.contains("leave it there, or begin another session"));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    };
    refused(&["agent", "--continue", "day", "second"]);
    refused(&["chat", "--continue", "day"]);
    refused(&["sessions", "rm", "day"]);
    let mut other = chat(&workshop, &[]);
    other.shows("script:script.jsonl");
    other.say("/resume day");
    other.shows("session day is in progress in another process");
    other.leave();
    screen.kill();
    screen.ends();
    workshop.write("script.jsonl", &expecting("Second.", &["First."]));
    let mut screen = chat(&workshop, &["--continue", "day"]);
    screen.shows("First.");
    screen.say("/fork");
    screen.shows("forked");
    // It was left, so another program may continue it.
    let args = ["agent", "--continue", "day", "second", "--quiet"];
    let output = workshop.command(&args).output().expect("it runs");
    let answer = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(answer, "Second.\n", "{:?}", output.stderr);
    screen.leave();
    assert!(!workshop.has("gadgetry/sessions/day.open"));
}

/// In a workspace that is too large for `/undo` of commands, the user reads so while the run is in progress, and from `/undo`.
#[test]
fn a_workspace_that_is_too_large_is_named_at_once() {
    let slow = "!!!ARG:command\nuntil [ -e go ]; do sleep 0.01; done\n";
    let workshop = Workshop::new(&(reply(&call("RunCommand:r", slow)) + &reply("Done.")));
    std::fs::create_dir(workshop.path("many")).expect("a folder");
    for number in 0..=50_000 {
        workshop.write(&format!("many/{number}"), "");
    }
    let mut screen = chat(&workshop, &["Go!"]);
    screen.shows("/undo does not cover commands here: ");
    screen.shows("running 1 gadget");
    workshop.write("go", "");
    screen.shows("Done.");
    screen.rests();
    screen.say("/undo");
    screen.shows("there is no change of a file to undo; /undo does not cover commands here");
    screen.leave();
}
