//! Modes of approval in `gadgetry chat` and `gadgetry agent`, and what interrupts a reply.

use serde_json::json;

use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, block, call, expecting, reply};

const SHIFT_TAB: &str = "\x1b[Z";
const ESC: &str = "\x1b";

fn write_file(id: &str, path: &str) -> String {
    let body = format!("!!!ARG:filePath\n{path}\n!!!ARG:content\nhello\n");
    call(&format!("WriteFile:{id}"), &body)
}

/// `gadgetry chat` with the built-in gadgets.
fn chat(workshop: &Workshop, args: &[&str]) -> Screen {
    let usual = ["chat", "--model", "script:script.jsonl"];
    Screen::start(workshop, (80, 40), &[&usual, args].concat(), &[])
}

#[test]
fn a_key_switches_the_mode() {
    let workshop = Workshop::new(&(reply(&write_file("a", "a.txt")) + &reply("Written.")));
    let mut screen = chat(&workshop, &[]);
    for mode in [
        "· accepts edits",
        "· plans (read only)",
        "· asks",
        "· accepts edits",
    ] {
        screen.keys(SHIFT_TAB);
        screen.shows(mode);
    }
    screen.say("Write it.");
    screen.shows("Written.");
    assert_eq!(workshop.read("a.txt").trim_end(), "hello");
    screen.leave();
}

/// Edits run, commands do not; a gadget of the same name that is not built in asks.
#[test]
fn accepted_edits_are_no_other_calls() {
    let run = call("RunCommand:r", "!!!ARG:command\ntouch b.txt\n");
    let script = reply(&(write_file("w", "a.txt") + &run)) + &reply("Done.");
    let workshop = Workshop::new(&script);
    let mut screen = chat(&workshop, &["Go!", "--approval-mode", "accept-edits"]);
    screen.shows("Run this command?");
    screen.keys(ESC);
    screen.shows("Done.");
    assert!(workshop.has("a.txt") && !workshop.has("b.txt"));
    screen.leave();
    // Without a user, too.
    workshop.write("script.jsonl", &script);
    std::fs::remove_file(workshop.path("a.txt")).expect("it is there");
    let args = ["agent", "Go!", "--model", "script:script.jsonl"];
    let mode = ["--approval-mode", "accept-edits", "--quiet"];
    let ended = super::workshop::Ended::of(&mut workshop.command(&[&args[..], &mode].concat()));
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    assert!(workshop.has("a.txt") && !workshop.has("b.txt"));
    let own = "[[gadget]]\nname = \"WriteFile\"\ndescription = \"Writes\"\ncommand = [\"touch\", \"own.txt\"]\n";
    workshop.write("own.toml", own);
    workshop.write(
        "script.jsonl",
        &(reply(&call("WriteFile:o", "")) + &reply("Asked.")),
    );
    let mut screen = chat(
        &workshop,
        &[
            "Go!",
            "--gadgets",
            "own.toml",
            "--approval",
            "ask WriteFile",
            "--approval-mode",
            "accept-edits",
        ],
    );
    screen.shows("Make this change?");
    screen.keys(ESC);
    screen.shows("Asked.");
    assert!(!workshop.has("own.txt"));
    screen.leave();
}

/// What a plan is made from is looked up with commands, too, and they change nothing.
#[test]
fn commands_of_plan_mode_can_write_nothing() {
    let run = |id: &str, command: &str| {
        call(
            &format!("RunCommand:{id}"),
            &format!("!!!ARG:command\n{command}\n"),
        )
    };
    let script = reply(&(run("a", "cat known.txt") + &run("b", "echo x > new.txt")))
        + &expecting("I have looked.", &["status=0", "what is there", "status=2"])
        + &expecting(&run("c", "echo x > new.txt"), &["Plan mode is over"])
        + &expecting("I have written.", &["status=0"]);
    let workshop = Workshop::new(&script);
    workshop.write("known.txt", "what is there");
    let mut screen = chat(&workshop, &["Look.", "--approval-mode", "plan"]);
    for command in ["cat known.txt", "echo x > new.txt"] {
        screen.shows(&format!("│ {command}"));
        screen.shows("in the sandbox: no network, no writing");
        screen.shows("y once");
        screen.keys("y");
    }
    screen.shows("I have looked.");
    assert!(!workshop.has("new.txt"));
    screen.keys(SHIFT_TAB);
    screen.shows("· asks");
    screen.say("Write it.");
    screen.shows("y once");
    screen.keys("y");
    screen.shows("I have written.");
    assert!(workshop.has("new.txt"));
    screen.leave();
    // A rule is enough, also for a subagent and where no user is.
    let helper = "---\ndescription: Helps\n---\nHelp.\n";
    let script = reply(&call(
        "RunAgent:h",
        "!!!ARG:agent\nhelper\n!!!ARG:prompt\nLook.\n",
    )) + &reply(&run("d", "cat known.txt; touch new.txt"))
        + &expecting("It is there.", &["what is there", "status=1"])
        + &reply("Done.");
    let workshop = Workshop::new(&script);
    workshop.write("known.txt", "what is there");
    std::fs::create_dir_all(workshop.path("home/.claude/agents")).expect("a folder");
    workshop.write("home/.claude/agents/helper.md", helper);
    let args = [
        "agent",
        "-p",
        "Look.",
        "--model",
        "script:script.jsonl",
        "--approval-mode",
        "plan",
    ];
    let rules = ["--approval", "allow RunCommand in the sandbox"];
    let mut command = workshop.command(&[&args[..], &rules].concat());
    command.env("HOME", workshop.path("home"));
    Ended::of(&mut command).check("Done.\n", "", 0);
    assert!(!workshop.has("new.txt"));
}

#[test]
fn a_plan_is_accepted_and_carried_out() {
    let script = reply(&write_file("w", "a.txt"))
        + &expecting("## Plan\n\nI would write a.txt.", &["this is plan mode"])
        + &expecting("It is empty:\n- no files", &["What is there?"])
        + &expecting("**Plan**\n- I would write b.txt.", &["Rather b.txt."])
        + &expecting(
            &write_file("x", "b.txt"),
            &["Carry out the plan.", "Plan mode is over"],
        )
        + &reply("Written.");
    let workshop = Workshop::new(&script);
    // No rule is stronger than the mode.
    let args = [
        "Write it.",
        "--approval-mode",
        "plan",
        "--approval",
        "allow *",
    ];
    let mut screen = chat(&workshop, &args);
    screen.shows("I would write a.txt.");
    screen.shows("Carry out this plan?");
    screen.shows("plans (read only)");
    // The answer to a question has no plan, whatever else it has.
    screen.say("What is there?");
    screen.shows("no files");
    let text = screen.rests();
    assert!(!text.contains("Carry out"), "{text}");
    // A message is another plan.
    screen.say("Rather b.txt.");
    screen.shows("I would write b.txt.");
    screen.shows("Carry out this plan?");
    assert!(!workshop.has("a.txt"));
    // It counts as an answer after a pause without keys.
    screen.shows("1 yes, ask before changes  2 yes, accept edits");
    screen.keys("2");
    screen.shows("Enter carries out the plan and accepts all edits");
    screen.keys("\r");
    screen.shows("Written.");
    let text = screen.shows("accepts edits");
    assert!(text.contains("> Carry out the plan."), "{text}");
    assert_eq!(workshop.read("b.txt").trim_end(), "hello");
    assert!(!workshop.has("a.txt"));
    screen.leave();
}

#[test]
fn escape_refuses_a_question_and_interrupts_a_reply() {
    let slow = json!({ "chunks": ["I begin ", "to write", { "delayMs": 600_000 }, "never"] });
    let script = reply(&block("Echo:a", "one"))
        + &format!("{slow}\n")
        + &expecting(
            "I see.",
            &[
                "I begin to write",
                "The user has interrupted your reply.",
                "And now?",
            ],
        );
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--approval", "ask Echo"]);
    screen.shows("Run Echo?");
    screen.keys(ESC);
    screen.shows("✗ Echo one");
    screen.shows("I begin to write");
    screen.keys(ESC);
    let text = screen.shows("interrupted; what was received is kept");
    assert!(text.contains("I begin to write"), "{text}");
    screen.rests();
    screen.say("And now?");
    screen.shows("I see.");
    screen.leave();
}

/// Messages that wait are on the screen, and the last one can be changed until the model reads it.
#[test]
fn a_message_that_waits_is_taken_back() {
    let script = reply(&block("Left:a", "")) + &expecting("Understood.", &["Be brief indeed."]);
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--session", "queue"]);
    screen.shows("running 1 gadget");
    screen.say("Be kind.");
    screen.shows("+ Be kind.");
    screen.say("Be brief.");
    screen.shows("+ Be brief.\n  (waits for the run; Up takes the last one back)");
    screen.keys("\x1b[A");
    screen.shows("> Be brief.");
    screen.hides("+ Be brief.");
    screen.keys("\x7f indeed.\r");
    screen.shows("+ Be brief indeed.");
    screen.say("Be quick.");
    screen.shows("+ Be quick.");
    // Once more, the one before as well.
    screen.keys("\x1b[A");
    screen.shows("> Be quick.");
    screen.keys("\x1b[A");
    screen.shows("> Be brief indeed.\n  Be quick.");
    screen.keys("\x01\x0b\x1b[3~\r");
    screen.shows("+ Be brief indeed.");
    workshop.write("right", "");
    let text = screen.shows("Understood.");
    assert!(
        text.contains(
            "> Be kind.\n  (added to the run)\n\n> Be brief indeed.\n  (added to the run)\n"
        ),
        "{text}"
    );
    screen.leave();
    let shown = workshop.command(&["sessions", "show", "queue"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(!shown.contains("Be brief.\n"), "{shown}");
}

/// A notification is sent only while another window has the focus, as the terminal says.
#[test]
fn a_question_notifies_a_user_who_is_away() {
    let script = reply(&block("Echo:a", "one")) + &reply(&block("Echo:b", "two")) + &reply("Done.");
    let workshop = Workshop::new(&script);
    let notified = "\u{1b}]9;gadgetry: a question waits for you\u{1b}\\\u{7}";
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--approval", "ask Echo"]);
    screen.shows("Run Echo?");
    assert!(!screen.bytes().contains(notified));
    screen.keys("\x1b[O");
    screen.keys(ESC);
    screen.shows("\"say\": \"two\"");
    screen.shows("Run Echo?");
    screen.keys(ESC);
    screen.shows("Done.");
    screen.rests();
    let bytes = screen.bytes();
    assert_eq!(bytes.matches(notified).count(), 1, "{bytes:?}");
    assert_eq!(
        bytes.matches("]9;gadgetry: the run has ended").count(),
        1,
        "{bytes:?}"
    );
    screen.leave();
}

/// A command that fails looks failed, with the end of its output; a read is a line, an edit one diff.
#[test]
fn calls_are_shown_by_what_they_do() {
    let command = "seq 1 50; echo Broken >&2; exit 3";
    let run = call("RunCommand:r", &format!("!!!ARG:command\n{command}\n"));
    let read = call("ReadFile:f", "!!!ARG:filePath\na.txt\n");
    let edit = call(
        "EditFile:e:f",
        "!!!ARG:filePath\na.txt\n!!!ARG:search\ntwo\n!!!ARG:replace\n2\n",
    );
    let workshop = Workshop::new(&(reply(&(run + &read + &edit)) + &reply("Done.")));
    workshop.write("a.txt", "one\ntwo\n");
    let mut screen = chat(&workshop, &["Go!", "--approval", "allow RunCommand"]);
    screen.shows("Make this change?");
    screen.shows("y once");
    screen.keys("y");
    let text = screen.shows("Done.");
    let expected = format!("✗ $ {command} · exit 3\n  … 46 lines before\n  47\n");
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("  Broken\n"), "{text}");
    assert!(text.contains("✓ Read a.txt · 2 lines\n"), "{text}");
    assert!(text.contains("✓ Edit a.txt · +1 -1\n\nDone."), "{text}");
    assert_eq!(text.matches("+2").count(), 1, "{text}");
    screen.leave();
    // The whole of a result, and reasoning, are a key away.
    let thinking = json!({ "text": "<think>Hm, forty-two.</think>\nSo." });
    let run = call("RunCommand:r", "!!!ARG:command\nseq 1 20\n");
    workshop.write("script.jsonl", &(reply(&run) + &format!("{thinking}\n")));
    let mut screen = chat(&workshop, &["Go!", "--approval", "allow RunCommand"]);
    screen.shows("So.");
    let text = screen.shows("reasoned for");
    assert!(!text.contains("forty-two"), "{text}");
    assert!(!text.contains("  11\n"), "{text}");
    screen.keys("\x0f");
    screen.shows("  11\n");
    screen.keys("\x14");
    screen.shows("q returns");
    screen.keys("r");
    screen.shows("  Hm, forty-two.");
    screen.keys("q");
    screen.leave();
}

/// Ctrl-C cancels the command, Esc the run.
#[test]
fn the_output_of_a_cancelled_command_stays_on_the_screen() {
    let run = call(
        "RunCommand:r",
        "!!!ARG:command\necho half of it; sleep 600\n",
    );
    for (key, end) in [
        ("\x03", "Done."),
        ("\x1b", "interrupted; what was received"),
    ] {
        let workshop = Workshop::new(&(reply(&run) + &reply("Done.")));
        let mut screen = chat(&workshop, &["Go!", "--approval", "allow RunCommand"]);
        screen.shows("\n  half of it\n");
        screen.keys(key);
        screen.shows(end);
        let text = screen.leave();
        assert!(text.contains("sleep 600"), "{text}");
        assert!(text.contains("\n  half of it\n  "), "{text}");
    }
}

/// A command of the user runs without a question, and the model reads its output with the next message.
#[test]
fn a_command_of_the_user_is_read_with_the_next_message() {
    let read = expecting(
        "I see.",
        &[
            "The user has run a command, exit 3:]\n$ echo forty-two; exit 3\nforty-two\n\n[The user has run a command, interrupted:]",
        ],
    );
    let workshop = Workshop::new(&read);
    let mut screen = chat(&workshop, &[]);
    screen.shows("script:script.jsonl");
    screen.say("!echo forty-two; exit 3");
    screen.shows("$ echo forty-two; exit 3 · exit 3\n  forty-two\n");
    screen.say("!echo begun; sleep 600");
    screen.shows("$ echo begun; sleep 600 · ");
    screen.keys(ESC);
    screen.shows("$ echo begun; sleep 600 · interrupted\n");
    screen.say("What is it?");
    screen.shows("I see.");
    screen.leave();
}

#[test]
fn a_message_that_is_sent_again_is_read_once() {
    let unknown = Reply::Status("401 Unauthorized", "{}");
    let server = Server::start([
        unknown.clone(),
        unknown,
        Reply::says("Four."),
        Reply::says("Again."),
    ]);
    let workshop = Workshop::new("");
    let args = ["chat", "--model", "openai:m", "--base-url", server.url()];
    let key = [("OPENAI_API_KEY", "k")];
    let mut screen = Screen::start(&workshop, (80, 60), &args, &key);
    screen.say("!echo forty-two");
    screen.shows("exit 0");
    screen.say("What is it?");
    screen.shows("sends the message again");
    screen.rests();
    screen.keys("\x1b[A\r");
    screen.until("a second failure", |text| {
        text.matches("sends the message again").count() == 2
    });
    screen.keys("\x1b[A\r");
    screen.shows("Four.");
    screen.rests();
    screen.say("What is it?");
    screen.shows("Again.");
    screen.leave();
    let count = |index: usize, text: &str| {
        let body = server.asked()[index].body["messages"].to_string();
        body.matches(text).count()
    };
    for (index, expected) in [1, 1, 1, 2].into_iter().enumerate() {
        assert_eq!(count(index, "What is it?"), expected, "{index}");
        // The model has read the note with the first reply.
        assert_eq!(count(index, "echo forty-two"), 1, "{index}");
    }
}
