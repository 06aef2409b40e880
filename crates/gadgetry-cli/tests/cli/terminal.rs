//! What a person at a terminal sees. `script`, which every Linux has, plays the terminal.

use super::GADGETRY;
use super::workshop::{Ended, Workshop, block, reply};

/// What the terminal gets of this command, stderr at least.
#[track_caller]
fn seen(workshop: &Workshop, command: &str) -> String {
    let mut script = workshop.run("script", &["-qec", command, "/dev/null"]);
    let ended = Ended::of(script.env("TERM", "xterm"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

fn workshop() -> Workshop {
    let usage = serde_json::json!({ "inputTokens": 1200, "outputTokens": 34 });
    let last = serde_json::json!({ "chunks": ["Do", { "delayMs": 300 }, "ne."], "usage": usage });
    Workshop::new(&format!("{}{last}\n", reply(&block("Touch:a", ""))))
}

const MODEL: &str = "--model script:script.jsonl";
/// Takes a line away.
const CLEARED: &str = "\u{1b}[2K";

#[test]
fn progress_stands_at_the_end_and_goes_away() {
    let agent = format!("{GADGETRY} agent Go! --gadgets gadgets.toml {MODEL}");
    let seen = seen(&workshop(), &agent);
    let (progress, end) = seen.rsplit_once(CLEARED).expect("a spinner");
    assert!(progress.contains("tokens out"), "{seen:?}");
    assert!(progress.contains("> Touch a {}"), "{seen:?}");
    assert_eq!(end, "1,200 tokens in, 34 tokens out\r\nDone.\r\n");
}

#[test]
fn the_answer_is_not_disturbed() {
    let workshop = workshop();
    let script = r#"{"chunks":[{"delayMs":300},"On",{"delayMs":300},"e."]}"#;
    workshop.write("one.jsonl", script);
    let complete = format!("{GADGETRY} complete Go! --model script:one.jsonl < /dev/null");
    let both = seen(&workshop, &complete);
    let (_, end) = both.rsplit_once(CLEARED).expect("a spinner");
    assert_eq!(end, "One.\r\nabout 1 token out\r\n");
    let alone = seen(&workshop, &format!("{complete} > answer.txt"));
    assert!(
        alone.contains("the model writes: about 1 token out"),
        "{alone:?}"
    );
    assert_eq!(workshop.read("answer.txt"), "One.\n");
}

#[test]
fn quiet_shows_nothing_and_neither_do_events() {
    let agent = format!("{GADGETRY} agent Go! --gadgets gadgets.toml {MODEL}");
    assert_eq!(seen(&workshop(), &format!("{agent} --quiet")), "Done.\r\n");
    let events = seen(&workshop(), &format!("{agent} --events jsonl"));
    assert!(!events.contains(CLEARED), "{events:?}");
}
