//! Commands of `[[hooks]]` about prompts and sessions, in `gadgetry chat`.

use super::screen::{CTRL_D, Screen};
use super::workshop::{Workshop, reply};

const ESC: &str = "\x1b";

/// `gadgetry chat` with these hooks, as (event, command).
fn chat(workshop: &Workshop, hooks: &[(&str, &str)]) -> Screen {
    let tables = hooks.iter().map(|(event, command)| {
        format!("[[hooks]]\nevent = '{event}'\ncommand = '''{command}'''\n")
    });
    workshop.write("hooks.toml", &tables.collect::<String>());
    let args = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--config",
        "hooks.toml",
    ];
    let screen = Screen::start(workshop, (80, 40), &args, &[]);
    screen.shows("/help for commands");
    screen
}

#[test]
fn a_denied_message_can_be_changed() {
    let workshop = Workshop::new(&reply("Hello."));
    let hook = "grep -q secret && echo It has a secret. >&2 && exit 2; exit 0";
    let mut screen = chat(&workshop, &[("UserPromptSubmit", hook)]);
    screen.say("my secret");
    screen.shows("the prompt was not sent: It has a secret.");
    // It is in the input line again.
    screen.keys("\x7f".repeat("secret".len()));
    screen.say("name");
    screen.shows("Hello.");
    screen.rests();
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

/// The screen is alive while a command decides, and Esc ends it.
#[test]
fn a_command_that_hangs_is_interrupted() {
    let workshop = Workshop::new(&reply("Hello."));
    let hook = "test -e passes || sleep 600";
    let mut screen = chat(&workshop, &[("UserPromptSubmit", hook)]);
    screen.say("Go!");
    screen.shows("Esc interrupts");
    screen.keys(ESC);
    screen.shows("interrupted");
    workshop.write("passes", "");
    screen.say("Again!");
    screen.shows("Hello.");
    screen.rests();
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

#[test]
fn a_session_ends_when_another_begins() {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    let seen = r#"sed -E 's/.*"hook_event_name":"([A-Za-z]*)".*"(source|reason|notification_type)":"([a-z_]*)".*/\1 \3/' >> seen"#;
    let events = ["SessionStart", "SessionEnd", "Notification"];
    let mut screen = chat(&workshop, &events.map(|event| (event, seen)));
    screen.say("1");
    screen.shows("One.");
    screen.rests();
    screen.say("/new");
    screen.shows("begins another session");
    screen.say("2");
    screen.shows("Two.");
    screen.rests();
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
    // Notifications come whenever they are done.
    let seen = workshop.read("seen");
    let (waits, sessions): (Vec<_>, Vec<_>) = seen
        .lines()
        .partition(|line| line.starts_with("Notification"));
    assert!(waits.contains(&"Notification idle_prompt"), "{seen}");
    let expected = [
        "SessionStart startup",
        "SessionEnd clear",
        "SessionStart clear",
        "SessionEnd prompt_input_exit",
    ];
    assert_eq!(sessions, expected, "{seen}");
}

/// A command learns why a conversation is compacted, and keeps it as it is.
#[test]
fn a_command_decides_about_a_compaction() {
    let check = |decides: &str, is_compacted: bool| {
        // Two of them go, and no model is asked for a summary of so few.
        let words = "word ".repeat(60);
        let replies = (1..=8).map(|n| reply(&format!("{words}Reply {n}.")));
        let workshop = Workshop::new(&replies.collect::<String>());
        let hook = format!("cat > seen; {decides}");
        let mut screen = chat(&workshop, &[("PreCompact", &hook)]);
        for n in 1..=7 {
            screen.say(&format!("Message {n}"));
            screen.shows(&format!("Reply {n}."));
            screen.rests();
        }
        assert!(!workshop.has("seen"));
        screen.say("/compact");
        screen.shows("compacted before the next request");
        screen.say("Message 8");
        screen.shows("Reply 8.");
        screen.rests();
        let shown = screen.bytes().contains("conversation compacted: ");
        assert_eq!(shown, is_compacted, "{decides}");
        screen.keys(CTRL_D);
        assert_eq!(screen.ends().0, 0);
        let seen: serde_json::Value = serde_json::from_str(&workshop.read("seen")).expect("JSON");
        let fields = ["hook_event_name", "trigger", "custom_instructions"];
        let expected = ["PreCompact", "manual", ""].map(Some);
        assert_eq!(fields.map(|name| seen[name].as_str()), expected);
    };
    check("true", true);
    check("exit 7", true);
    check("exit 2", false);
    check(r#"echo '{"decision": "block"}'"#, false);
}
