//! What bounds a conversation at a terminal: the sandbox, the budget, an interrupt, and the checks after an edit.

use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::{Workshop, call, expecting, reply};

/// A conversation with a scripted model, which begins at once.
fn chat(workshop: &Workshop, options: &[&str]) -> Screen {
    let usual = ["chat", "Go!", "--model", "script:script.jsonl"];
    Screen::start(workshop, (100, 40), &[&usual, options].concat(), &[])
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_in_the_sandbox_writes_nothing_outside() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let outside = folder.path().join("out");
    let shown = outside.display().to_string();
    let run = format!("!!!ARG:command\necho in > inside; echo out > {shown}\n");
    let script = reply(&call("RunCommand:r", &run)) + &expecting("Refused.", &[&shown, "status="]);
    let workshop = Workshop::new(&script);
    let screen = chat(&workshop, &["--yes", "--sandbox"]);
    let text = screen.shows("Refused.");
    assert!(text.contains("✗ $ echo in > inside;"), "{text}");
    assert!(text.contains(" · exit "), "{text}");
    assert_eq!(workshop.read("inside"), "in\n");
    assert!(!outside.exists());
    screen.leave();
}

#[test]
fn what_a_check_says_after_an_edit_is_read() {
    let write = "!!!ARG:filePath\na.txt\n!!!ARG:content\nx\n";
    let script = reply(&call("WriteFile:w", write)) + &expecting("Seen.", &["line 1 is too short"]);
    let workshop = Workshop::new(&script);
    let config = "after-edit = ['echo line 1 is too short; exit 1']\n[approvals]\nrules = [{ allow = 'WriteFile' }]\n";
    workshop.write("rules.toml", config);
    let screen = chat(&workshop, &["--config", "rules.toml"]);
    screen.shows("Seen.");
    assert_eq!(workshop.read("a.txt"), "x");
    screen.leave();
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_an_answer() {
    let write = "!!!ARG:filePath\na.txt\n!!!ARG:content\nx\n";
    let workshop = Workshop::new(&reply(&call("WriteFile:w", write)));
    let mut screen = chat(&workshop, &[]);
    screen.shows("y once");
    screen.keys("\x03");
    screen.shows("cancelled");
    screen.rests();
    assert!(!workshop.has("a.txt"));
    screen.leave();
}

/// The price is that of the model's own provider, whose address a variable has changed.
#[test]
fn the_cost_is_shown_and_a_budget_ends_a_run() {
    let workshop = Workshop::new("");
    let list = "!!!GADGET_START:ListDirectory\n!!!GADGET_END\n";
    let server = Server::start([Reply::says("Hi."), Reply::says(list)]);
    let variables = [("OPENAI_BASE_URL", server.url()), ("OPENAI_API_KEY", "k")];
    let model = ["--model", "openai:gpt-4o", "--markers", "plain"];
    let args = [&["chat", "--budget", "0.005"], &model[..]].concat();
    let mut screen = Screen::start(&workshop, (100, 40), &args, &variables);
    screen.shows("Message, /help for commands");
    screen.say("Hi");
    screen.shows("Hi.");
    screen.rests();
    screen.say("/cost");
    screen.shows(" out, $0.0033");
    screen.say("Go on");
    screen.shows("budget exceeded: ");
    screen.leave();
}
