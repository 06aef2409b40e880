//! A conversation in a project: its instructions, subagents and worktrees, in a terminal.

use std::fs;

use serde_json::json;

use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::{Workshop, call, expecting, reply};
use super::worktree::git;

/// A repository with instructions, and a subagent with a model of its own.
fn project() -> Workshop {
    let workshop = Workshop::new("");
    let script = workshop.path("sub.jsonl").display().to_string();
    fs::create_dir_all(workshop.path(".agents/agents")).expect("a folder");
    let agent = format!(
        "---\nname: reviewer\ndescription: Reviews\ntools: Read\nmodel: script:{script}\n---\nYou review."
    );
    workshop.write(".agents/agents/reviewer.md", &agent);
    workshop.write("AGENTS.md", "Use tabs.\n");
    let sub =
        json!({ "text": "It is fine.", "expect": { "contains": ["You review.", "Look at it."] } });
    workshop.write("sub.jsonl", &format!("{sub}\n"));
    git(&workshop, &["init", "-q", "-b", "trunk"]);
    git(&workshop, &["add", "AGENTS.md"]);
    git(&workshop, &["commit", "-q", "-m", "first"]);
    workshop
}

#[test]
fn a_conversation_reads_instructions_and_calls_subagents() {
    let workshop = project();
    let run = "!!!ARG:agent\nreviewer\n!!!ARG:prompt\nLook at it.\n";
    let known = expecting("I know.", &["Use tabs.", "(Git branch trunk)"]);
    let script =
        known + &reply(&call("RunAgent:r", run)) + &expecting("Reviewed.", &["It is fine."]);
    workshop.write("script.jsonl", &script);
    let args = ["chat", "--model", "script:script.jsonl"];
    let mut screen = Screen::start(&workshop, (100, 40), &args, &[]);
    screen.shows("subagent reviewer: Reviews (.agents/agents/reviewer.md; model");
    screen.shows("Use them from now on? [y/N]");
    screen.say("y");
    screen.shows("AGENTS.md");
    screen.shows("Message, /help for commands");
    screen.say("What do you know?");
    screen.shows("I know.");
    screen.say("Review it.");
    screen.shows("Reviewed.");
    screen.leave();
}

#[test]
fn a_conversation_works_in_a_worktree() {
    let workshop = project();
    let write = "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n";
    let script = reply(&call("WriteFile:w", write)) + &reply("Written.");
    workshop.write("script.jsonl", &script);
    let script = format!("script:{}", workshop.path("script.jsonl").display());
    let args = [
        "chat",
        "Go!",
        "--model",
        &script,
        "--approval",
        "allow *",
        "--no-discovery",
        "--worktree",
        "fix",
    ];
    let mut screen = Screen::start(&workshop, (100, 40), &args, &[]);
    screen.shows("(branch fix, new)");
    screen.shows("Written.");
    assert!(workshop.has(".gadgetry/worktrees/fix/new.txt") && !workshop.has("new.txt"));
    screen.rests();
    screen.say("/quit");
    let (code, text) = screen.ends();
    assert_eq!(code, 0);
    assert!(text.contains("it stays in"), "{text}");
}

/// `agent -p` at a terminal prints nothing but the object, and asks nothing.
#[test]
fn a_headless_run_at_a_terminal_is_one_object() {
    let workshop = project();
    let write = "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n";
    let script = reply(&call("WriteFile:w", write)) + &reply("I may not.");
    workshop.write("script.jsonl", &script);
    let args = [
        "agent",
        "-p",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--output-format",
        "json",
        "--quiet",
    ];
    let screen = Screen::start(&workshop, (200, 40), &args, &[]);
    screen.shows("\"denied\"");
    let (code, text) = screen.ends();
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("I may not.") && text.contains("WriteFile"),
        "{text}"
    );
    assert!(!workshop.has("new.txt"));
}

/// Ten turns in a window of 4,096 tokens, with all built-in gadgets: earlier ones are compacted, and none is refused.
#[test]
fn a_conversation_fits_into_a_small_window() {
    const WINDOW: usize = 4096;

    let models = json!({ "data": [{ "id": "m", "meta": { "n_ctx": WINDOW } }] });
    let server = Server::start([
        Reply::Gets("/v1/models", "200 OK", models.to_string()),
        Reply::By(|request| {
            let text = request["messages"].to_string();
            let turn = text.rsplit("Turn ").next().and_then(|it| it.chars().next());
            let end = format!("\n\nEnd {}.", turn.unwrap_or('?'));
            let facts = (0..100).map(|n| format!("Fact {n} is known. "));
            Reply::says(&(facts.collect::<String>() + &end))
        }),
    ]);
    let workshop = project();
    let args = [
        "chat",
        "--base-url",
        server.url(),
        "--model",
        "m",
        "--no-discovery",
    ];
    let mut screen = Screen::start(&workshop, (100, 60), &args, &[]);
    screen.shows("Message, /help for commands");
    for turn in 0..10 {
        screen.say(&format!(
            "Turn {turn}: {}",
            "what is new there? ".repeat(40)
        ));
        screen.shows(&format!("End {turn}."));
        screen.rests();
    }
    let text = screen.leave();
    assert!(text.contains("conversation compacted"), "{text}");
    let asked = server.asked();
    assert!(asked.len() >= 10, "{}", asked.len());
    for request in asked {
        // Four bytes a token.
        let bytes = request.body["messages"].to_string().len();
        assert!(bytes < 4 * WINDOW, "{bytes}");
    }
}
