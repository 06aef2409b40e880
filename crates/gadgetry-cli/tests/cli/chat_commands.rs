//! Slash commands of `gadgetry chat`, in a terminal.

use super::doctor::NO_SERVERS;
use super::screen::{CTRL_D, Screen};
use super::server::{Reply, Server};
use super::workshop::{Workshop, block, call, reply};

/// What the status line has when nothing is in progress and no token was used.
const READY: &str = "script:script.jsonl";

/// Leaves, and returns the last screen.
#[track_caller]
fn leave(mut screen: Screen) -> String {
    screen.keys(CTRL_D);
    let (code, text) = screen.ends();
    assert_eq!(code, 0, "{text}");
    text
}

/// What `sessions show` prints.
fn shown(workshop: &Workshop, name: &str) -> String {
    let shown = workshop.command(&["sessions", "show", name]).output();
    String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8")
}

fn write_file(id: &str, path: &str, content: &str) -> String {
    let body = format!("!!!ARG:filePath\n{path}\n!!!ARG:content\n{content}\n");
    call(&format!("WriteFile:{id}"), &body)
}

#[test]
fn slash_commands_are_carried_out() {
    let script = reply("Hello.") + &reply("Again.");
    let workshop = Workshop::new(&script);
    workshop.write("other.jsonl", &reply("From another model."));
    let mut screen = Screen::chat(&workshop, 80, &["Hi"]);
    screen.shows("Hello.");
    screen.rests();
    let mut check = |command: &str, expected: &str| {
        screen.say(command);
        screen.shows(expected);
        // A reply that is shown may not have ended its run.
        screen.rests();
    };
    // The first rows of the list are above the screen.
    check(
        "/help",
        "  /approvals            lists the rules about calls",
    );
    check("/tools", "  Touch               Leaves a trace");
    check("/cost", "token");
    check(
        "/xyzzyplugh",
        "unknown command /xyzzyplugh; /help lists the commands",
    );
    check("/modle x", "unknown command /modle; did you mean /model?");
    check("/model script:nonesuch.jsonl", "nonesuch.jsonl");
    check(
        "/model script:other.jsonl",
        "script:other.jsonl is in use now",
    );
    check("next", "From another model.");
    check("/export talk.md", "talk.md has the conversation");
    check("/export talk.md", "cannot write talk.md");
    check("/compact", "there is nothing to compact");
    check(
        "/profile",
        "there are no profiles; add a table [profiles.NAME] to the configuration",
    );
    check("/skill", "there are no skills; name their folder");
    check("/undo", "there is no change of a file to undo");
    check("/undo twice", "usage: /undo [N]");
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
    let expected = "## User\n\nHi\n\n## Model\n\nHello.\n\n## User\n\nnext\n\n## Model\n\nFrom another model.\n";
    assert_eq!(workshop.read("talk.md"), expected);
}

#[test]
fn models_that_can_be_used_are_offered() {
    let workshop = Workshop::new("");
    let check = |key: &[(&str, &str)], expected: &str, others: &str| {
        let variables = [&NO_SERVERS[..], key].concat();
        let args = ["chat", "--model", "script:script.jsonl"];
        let mut screen = Screen::start(&workshop, (80, 40), &args, &variables);
        screen.shows(READY);
        screen.say("/model");
        let text = screen.shows(expected);
        assert!(!text.contains(others), "{text}");
        screen.keys("\x15/model grok-4");
        screen.until("others", |text| {
            text.contains("xai/grok-4") && text.contains("no key is set")
        });
        screen.keys("\x15");
        screen.hides("grok");
        leave(screen);
    };
    let key = [("MISTRAL_API_KEY", "k")];
    check(&key, "› mistral:", "openai:");
    check(&[], "no model can be used: no key is set", "›");
    // Those of local servers are found while a name is typed.
    let models = r#"{ "data": [{ "id": "smaller" }] }"#.to_owned();
    let server = Server::start([Reply::Gets("/v1/models", "200 OK", models)]);
    let variables = [&NO_SERVERS[..], &[("VLLM_BASE_URL", server.url())]].concat();
    let args = ["chat", "--model", "script:script.jsonl"];
    let mut screen = Screen::start(&workshop, (80, 40), &args, &variables);
    screen.shows(READY);
    screen.keys("/model smal");
    screen.shows("› vllm:smaller");
    screen.keys("\x15");
    leave(screen);
    // With `--base-url`, those of that server, and no others.
    let args = ["chat", "--model", "larger", "--base-url"];
    let url = format!("{}/v1", server.url().trim_end_matches("/v1"));
    let args = [&args[..], &[&url]].concat();
    let variables = [&NO_SERVERS[..], &key[..]].concat();
    let mut screen = Screen::start(&workshop, (80, 40), &args, &variables);
    screen.shows("larger · asks");
    screen.say("/model");
    let text = screen.shows("› smaller");
    assert!(!text.contains("mistral"), "{text}");
    screen.keys("\x15");
    leave(screen);
}

/// `gadgetry chat` with the built-in gadgets, of which those that write need no approval.
fn editing(workshop: &Workshop, args: &[&str]) -> Screen {
    let usual = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--approval",
        "allow WriteFile",
        "--approval",
        "allow DeleteFile",
    ];
    Screen::start(workshop, (80, 60), &[&usual, args].concat(), &[])
}

#[test]
fn changes_of_files_are_undone() {
    let delete = call("DeleteFile:d", "!!!ARG:filePath\nold.txt\n");
    let script = reply(&(write_file("w", "a.txt", "two") + &write_file("n:w", "new/b.txt", "b")))
        + &reply("Written.")
        + &reply(&delete)
        + &reply("Deleted.")
        + &reply("I see.");
    let workshop = Workshop::new(&script);
    workshop.write("a.txt", "one\n");
    workshop.write("old.txt", "old\n");
    let mut screen = editing(&workshop, &["--session", "undo", "Go!"]);
    screen.shows("Written.");
    screen.rests();
    screen.say("Delete the old one.");
    screen.shows("Deleted.");
    screen.rests();
    // Another model has the same workspace, and so the same changes.
    workshop.write("other.jsonl", &reply("I see."));
    screen.say("/model script:other.jsonl");
    screen.shows("script:other.jsonl is in use now");
    screen.say("/undo");
    let text = screen.shows("undone: old.txt was restored");
    assert!(text.contains("\n  +old\n"), "{text}");
    assert_eq!(workshop.read("old.txt"), "old\n");
    // Two more, of which the first removes a file.
    screen.say("/undo 2");
    screen.shows("undone: new/b.txt was removed");
    let text = screen.shows("undone: a.txt was restored");
    assert!(
        text.contains("\n  -two\n  \\ No newline at end of file\n  +one\n"),
        "{text}"
    );
    assert_eq!(workshop.read("a.txt"), "one\n");
    assert!(!workshop.has("new/b.txt"));
    assert!(screen.bytes().contains(";32m"), "no colour");
    screen.say("/undo");
    screen.shows("there is no change of a file to undo");
    leave(screen);
    // The model reads about it with the next message, also in another program.
    let args = ["chat", "--continue", "undo"];
    let mut screen = Screen::start(&workshop, (80, 60), &args, &[]);
    screen.shows("Deleted.");
    screen.rests();
    screen.say("Look again.");
    screen.shows("I see.");
    leave(screen);
    let told = "> [The user has undone changes of files: old.txt was restored, ";
    let shown = shown(&workshop, "undo");
    assert!(
        shown.contains(told) && shown.contains("> Look again.\n"),
        "{shown}"
    );
}

#[test]
fn what_was_changed_since_is_not_undone() {
    let script =
        reply(&write_file("w", "a.txt", "two")) + &reply("Written.") + &reply(&block("Left:a", ""));
    let workshop = Workshop::new(&script);
    let gadgets = [
        "--gadgets",
        "gadgets.toml",
        "--builtins",
        "WriteFile",
        "Go!",
    ];
    let mut screen = editing(&workshop, &gadgets);
    screen.shows("Written.");
    workshop.write("a.txt", "mine\n");
    screen.say("/undo");
    screen.shows("cannot undo the change: a.txt has been changed since; it was left as it is");
    assert_eq!(workshop.read("a.txt"), "mine\n");
    screen.say("Wait.");
    screen.shows("running 1 gadget");
    screen.say("/undo");
    screen.shows("a run is in progress; wait for its end or cancel it first");
    workshop.write("right", "");
    screen.shows("model call failed");
    leave(screen);
}

const SKILL: &str =
    "---\ndescription: Writes release notes\nargument-hint: VERSION\n---\nWrite notes for $1.\n";

fn with_skills(script: &str) -> Workshop {
    let workshop = Workshop::new(script);
    let hidden = "---\ndescription: For the model\nuser-invocable: false\n---\nHidden.\n";
    for (name, text) in [("notes", SKILL), ("hidden", hidden)] {
        std::fs::create_dir_all(workshop.path("skills").join(name)).expect("a folder");
        workshop.write(&format!("skills/{name}/SKILL.md"), text);
    }
    workshop.write("skills/notes/tone.md", "Short.\n");
    workshop
}

#[test]
fn skills_are_messages() {
    let script = reply("Version 2 is out.") + &reply(&block("Left:a", "")) + &reply("Read.");
    let workshop = with_skills(&script);
    let args = ["--skills", "skills", "--session", "skilled"];
    let mut screen = Screen::chat(&workshop, 80, &args);
    screen.shows(READY);
    screen.say("/skill");
    let text = screen.shows("  notes VERSION  Writes release notes");
    assert!(!text.contains("hidden"), "{text}");
    screen.say("/skill note 2.0");
    screen.shows("there is no skill \"note\"; did you mean notes?");
    screen.say("/skill hidden");
    screen.shows("the skill hidden is for the model only");
    // The name is completed.
    screen.keys("/skill no");
    screen.shows("› notes  Writes release notes");
    screen.keys("\t 2.0\r");
    screen.shows("> /skill notes 2.0\n");
    screen.shows("Version 2 is out.");
    screen.rests();
    screen.say("Wait.");
    screen.shows("running 1 gadget");
    screen.say("/skill notes 3.0");
    screen.shows("+ /skill notes 3.0");
    workshop.write("right", "");
    screen.shows("> /skill notes 3.0\n  (added to the run)");
    screen.shows("Read.");
    leave(screen);
    let shown = shown(&workshop, "skilled");
    let sent = "> Skill notes\n> \n> Write notes for 2.0.\n> \n> Files of this skill";
    assert!(shown.contains(sent), "{shown}");
    assert!(
        shown.contains("Write notes for 3.0.") || shown.contains("> /skill notes 3.0"),
        "{shown}"
    );
}

/// A configuration with two profiles, in the folder of the workshop. Returns the folder for `XDG_CONFIG_HOME`.
fn with_profiles(workshop: &Workshop) -> String {
    let folder = workshop.path("config/gadgetry");
    std::fs::create_dir_all(&folder).expect("a folder");
    let script = |name: &str| workshop.path(name).display().to_string();
    let config = format!(
        "model = 'script:{}'\nprofile = 'quick'\n\
         [profiles.quick]\nsystem = 'Be quick.'\n\
         [profiles.deep]\nmodel = 'script:{}'\nsandbox = true\nbuiltins = 'ReadFile'\n",
        script("script.jsonl"),
        script("deep.jsonl"),
    );
    workshop.write("config/gadgetry/config.toml", &config);
    workshop.path("config").display().to_string()
}

#[test]
fn profiles_are_switched() {
    let workshop = Workshop::new(&(reply("Quick.") + &reply("Quick again.")));
    workshop.write("deep.jsonl", &reply("Deep."));
    let config = with_profiles(&workshop);
    let variables = [("XDG_CONFIG_HOME", config.as_str())];
    let args = ["chat", "Hi", "--session", "profiled"];
    let mut screen = Screen::start(&workshop, (120, 50), &args, &variables);
    screen.shows("Quick.");
    screen.shows("· asks");
    screen.say("/profile");
    screen.shows("› deep\n  quick  in use\n");
    screen.keys("\u{15}");
    screen.say("/profile dep");
    screen.shows("there is no profile \"dep\"; did you mean \"deep\"?");
    screen.keys("/profile d");
    screen.shows("› deep");
    screen.keys("\t\r");
    screen.shows("profile deep is in use now, with script:");
    screen.shows("· asks, sandbox");
    screen.say("Think.");
    screen.shows("Deep.");
    screen.rests();
    screen.say("/tools");
    let text = screen.shows("  ReadFile  ");
    assert!(!text.contains("WriteFile"), "{text}");
    screen.say("/profile");
    screen.shows("› deep   in use\n  quick\n");
    screen.keys("\u{15}");
    leave(screen);
    // A session keeps the options, and not the name of the profile.
    let args = ["chat", "--continue", "profiled"];
    let mut screen = Screen::start(&workshop, (120, 50), &args, &[]);
    screen.shows("· asks, sandbox");
    screen.say("Sure?");
    screen.until("another answer", |text| {
        text.matches("\nDeep.").count() == 2
    });
    screen.say("/tools");
    screen.shows("  ReadFile  ");
    leave(screen);
    // A continued session takes what the profile says, and keeps the rest.
    let args = ["chat", "Hi", "--session", "more", "--no-config"];
    let model = ["--model", "script:script.jsonl", "--tag", "note"];
    let screen = Screen::start(&workshop, (120, 50), &[&args[..], &model].concat(), &[]);
    screen.shows("Quick.");
    leave(screen);
    let args = ["chat", "--continue", "more"];
    let mut screen = Screen::start(&workshop, (120, 50), &args, &variables);
    screen.shows("· asks");
    screen.say("/profile");
    let text = screen.shows("› deep\n  quick\n");
    screen.keys("\u{15}");
    assert!(!text.contains("in use\n"), "{text}");
    screen.say("/profile deep");
    screen.shows("profile deep is in use now, with script:");
    screen.shows("· asks, sandbox");
    workshop.write("deep.jsonl", &reply("<note>kept</note> Deep."));
    screen.say("/profile deep");
    screen.say("Think.");
    screen.shows("<note> kept");
    leave(screen);
    workshop.write("deep.jsonl", &reply("Deep."));
    // What was typed has precedence.
    workshop.write("typed.jsonl", &reply("Typed."));
    let args = [
        "chat",
        "--model",
        "script:typed.jsonl",
        "--builtins",
        "TodoWrite",
    ];
    let mut screen = Screen::start(&workshop, (120, 50), &args, &variables);
    screen.shows("script:typed.jsonl");
    screen.say("/profile deep");
    screen.shows("profile deep is in use now, with script:typed.jsonl");
    screen.say("/tools");
    let text = screen.shows("  TodoWrite  ");
    assert!(!text.contains("ReadFile"), "{text}");
    screen.shows("· asks, sandbox");
    leave(screen);
}

#[test]
fn a_profile_that_cannot_be_used_changes_nothing() {
    let workshop = Workshop::new(&reply("Hello."));
    let folder = workshop.path("config/gadgetry");
    std::fs::create_dir_all(folder).expect("a folder");
    let config = "[profiles.broken]\nmodel = 'script:nonesuch.jsonl'\n";
    workshop.write("config/gadgetry/config.toml", config);
    let config = workshop.path("config").display().to_string();
    let args = ["chat", "--gadgets", "gadgets.toml", "--profile"];
    let usual = ["broken", "--model", "script:script.jsonl"];
    let variables = [("XDG_CONFIG_HOME", config.as_str())];
    let mut screen = Screen::start(
        &workshop,
        (80, 40),
        &[&args[..3], &usual[1..]].concat(),
        &variables,
    );
    screen.shows(READY);
    screen.say("/model script:script.jsonl");
    screen.shows("is in use now");
    screen.say("Hi");
    screen.shows("Hello.");
    leave(screen);
    let mut screen = Screen::start(&workshop, (80, 40), &["chat", "--continue"], &variables);
    screen.shows("Hello.");
    screen.say("/profile broken");
    screen.shows("nonesuch.jsonl");
    screen.say("/profile");
    let text = screen.shows("› broken\n");
    screen.keys("\u{15}");
    assert!(!text.contains("in use\n"), "{text}");
    leave(screen);
}

#[test]
fn the_status_line_has_mode_and_context() {
    let check = |args: &[&str], expected: &str| {
        let workshop = Workshop::new(&reply("Hi."));
        let screen = Screen::chat(&workshop, 100, args);
        screen.shows(expected);
        leave(screen);
    };
    check(&[], "script:script.jsonl · asks");
    check(&["--sandbox"], "· asks, sandbox");
    check(&["--yes", "--sandbox"], "· allows all (--yes), sandbox");
    check(&["--dry-run"], "· dry run");
    // A model whose window is known; nothing is sent.
    let workshop = Workshop::new("");
    let args = [
        "chat",
        "--model",
        "claude-haiku-4-5",
        "--gadgets",
        "gadgets.toml",
    ];
    let variables = [("ANTHROPIC_API_KEY", "x")];
    let screen = Screen::start(&workshop, (100, 40), &args, &variables);
    screen.shows("100 % context left · asks");
    leave(screen);
}
