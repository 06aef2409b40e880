//! What a user at a terminal sees of servers.

use std::fs;

use super::super::screen::Screen;
use super::super::workshop::{Workshop, block, call, reply};
use super::{AGENT, found, odd, own, table};

/// The program in a terminal, with the user's configuration in `home`.
fn screen(workshop: &Workshop, args: &[&str]) -> Screen {
    let home = workshop.path("home").display().to_string();
    // Room for all lines of a test.
    Screen::start(workshop, (160, 600), args, &[("XDG_CONFIG_HOME", &home)])
}

fn workshop(script: &str, config: &str) -> Workshop {
    let workshop = Workshop::new(script);
    fs::create_dir_all(workshop.path("home/gadgetry")).expect("a folder");
    workshop.write("home/gadgetry/config.toml", config);
    workshop
}

#[test]
fn a_program_is_shown_before_its_first_start() {
    let script = reply(&block("Echo", "hi")) + &reply("Done.");
    let config = format!("{}env = {{ KEY = 's3cret' }}\n", table("mine", &own()));
    let check = |answers: &[(&str, bool)]| {
        let workshop = workshop(&script, &config);
        for (answer, is_used) in answers {
            let mut screen = screen(&workshop, &[&AGENT[..], &FREE].concat());
            if !answer.is_empty() {
                let shown = screen.shows("Start it from now on? [y/N]");
                assert!(shown.contains("is a program:\n  sh -c 'exec "), "{shown}");
                assert!(shown.contains("\n  with the variables KEY\n"), "{shown}");
                screen.shows("  >");
                screen.say(answer);
            }
            let shown = screen.until("the end", |text| text.contains("\nDone."));
            assert_eq!(shown.contains("gadget_1 done"), *is_used, "{shown}");
            let (code, text) = screen.ends();
            assert_eq!(code, 0, "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    };
    // An answer is kept.
    check(&[("y", true), ("", true)]);
    check(&[("n", false), ("", false)]);
    check(&[("what?", false), ("", false)]);
}

const FREE: [&str; 3] = ["--no-session", "--approval", "allow *"];

/// The user sees what the program waits for, and can end it.
#[test]
fn servers_that_start_slowly() {
    let workshop = workshop(&reply("Done."), "");
    let mut screen = screen(
        &workshop,
        &[&AGENT[..], &FREE, &["--mcp", &odd("silent")]].concat(),
    );
    screen.shows("connecting to MCP servers: odd");
    screen.keys("\x03");
    let (code, text) = screen.ends();
    assert_eq!(code, 1, "{text}");
    assert!(text.ends_with("error: cancelled"), "{text}");
}

/// A question of a server is put to the user.
#[test]
fn questions_of_servers() {
    let Some(program) = found::node("@modelcontextprotocol/server-everything", "dist/index.js")
    else {
        return;
    };
    let server = format!("every=node {program} stdio");
    let script = reply(&call("trigger-elicitation-request", "")) + &reply("Done.");
    let workshop = workshop(&script, "");
    let args = [
        "chat",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--builtins",
        "none",
        "--approval",
        "allow *",
        "--mcp",
        &server,
    ];
    let mut screen = screen(&workshop, &args);
    let shown = screen.shows("Type the answer: Enter sends it");
    assert!(shown.contains("MCP server \"every\": "), "{shown}");
    screen.say("/decline");
    screen.shows("Done.");
    screen.keys("\x04");
    assert_eq!(screen.ends().0, 0);
}

/// Tools that a server has added are known from the next message on.
#[test]
fn changed_tools() {
    let script = reply(&call("Change", "")) + &reply("Changed.");
    let workshop = workshop(&script, "");
    let server = odd("change");
    let args = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--builtins",
        "none",
        "--approval",
        "allow *",
        "--mcp",
        &server,
    ];
    // How often `/tools` has listed a tool.
    let listed = |text: &str, name: &str| {
        let is_row = |line: &&str| {
            let (first, rest) = line.trim().split_once(' ').unwrap_or_default();
            first == name && rest.trim().starts_with("MCP tool")
        };
        text.lines().filter(is_row).count()
    };
    let mut screen = screen(&workshop, &args);
    screen.shows("script:script.jsonl");
    screen.say("Change!");
    screen.shows("Changed.");
    // The script is read again with the tools, and the server's list in the background.
    workshop.write("script.jsonl", &(reply(&call("New", "")) + &reply("Used.")));
    let has_new = (1..100).any(|times| {
        screen.say("/tools");
        let shown = screen.until("the tools", |text| listed(text, "Change") == times);
        listed(&shown, "New") > 0
    });
    assert!(has_new);
    screen.say("Use it!");
    let shown = screen.shows("Used.");
    assert!(!shown.contains("not found"), "{shown}");
    screen.keys("\x04");
    assert_eq!(screen.ends().0, 0);
}
