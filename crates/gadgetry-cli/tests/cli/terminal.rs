//! What a person at a terminal sees. `script`, which every Linux has, plays the terminal.

use std::io::{Read as _, Write as _};

use super::GADGETRY;
use super::workshop::{Ended, Workshop, block, call, reply};

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
fn the_progress_line_is_cleared_when_a_run_ends() {
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
fn markdown_is_formatted_unless_it_is_printed() {
    let workshop = Workshop::new(&reply("It is **fine**."));
    let check = |options: &str, expected: &str| {
        let agent = format!("stty cols 80; {GADGETRY} agent Go! {MODEL} {options}");
        let seen = seen(&workshop, &agent);
        assert!(seen.ends_with(expected), "{options}: {seen:?}");
    };
    check("", "It is \u{1b}[0;1mfine\u{1b}[0m.\r\n");
    check("-p", "It is **fine**.\r\n");
    check("> answer.txt; cat answer.txt", "It is **fine**.\r\n");
}

#[test]
fn quiet_shows_nothing_and_neither_do_events() {
    let agent = format!("{GADGETRY} agent Go! --gadgets gadgets.toml {MODEL}");
    assert_eq!(seen(&workshop(), &format!("{agent} --quiet")), "Done.\r\n");
    let events = seen(&workshop(), &format!("{agent} --events jsonl"));
    assert!(!events.contains(CLEARED), "{events:?}");
}

/// What the terminal shows of a run whose calls need approval, and the user's answers to its questions.
fn approved(answers: &[&str]) -> (String, Workshop) {
    let write = |id: &str, path: &str| {
        let body = format!("!!!ARG:filePath\n{path}\n!!!ARG:content\n{id}\u{1b}]0;title\n");
        call(&format!("WriteFile:{id}"), &body)
    };
    let calls = write("one", "src/1.txt") + &write("two:one", "src/2.txt");
    let workshop = Workshop::new(&(reply(&calls) + &reply("Done.")));
    let agent = format!("{GADGETRY} agent Go! --no-session {MODEL}");
    let mut script = workshop.run("script", &["-qfec", &agent, "/dev/null"]);
    let mut child = script
        .env("TERM", "xterm")
        .env("XDG_CONFIG_HOME", workshop.path("config"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut keys = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let mut seen = Vec::new();
    let mut answers = answers.iter();
    let mut chunk = [0; 4096];
    let mut asked = 0;
    // Each question ends with a prompt, and is answered when that is there.
    while let Ok(length) = screen.read(&mut chunk) {
        if length == 0 {
            break;
        }
        seen.extend_from_slice(&chunk[..length]);
        let prompts = String::from_utf8_lossy(&seen).matches("\n  > ").count();
        if prompts > asked {
            asked = prompts;
            let answer = answers.next().copied().unwrap_or("n");
            writeln!(keys, "{answer}").expect("it is written");
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    (String::from_utf8_lossy(&seen).into_owned(), workshop)
}

#[test]
fn calls_are_approved_one_by_one() {
    let check = |answers: &[&str], expected: [bool; 2], shown: &str| {
        let (seen, workshop) = approved(answers);
        let written = ["src/1.txt", "src/2.txt"].map(|file| workshop.has(file));
        assert_eq!(written, expected, "{answers:?}: {seen}");
        // Long rows are continued, each with a mark.
        let unwrapped = seen.replace("\r\n  : ", " ");
        assert!(unwrapped.contains(shown), "{answers:?}: {seen}");
        // No progress is between a question and its answer.
        assert!(!seen.contains("\n  >   "), "{seen:?}");
        // The content cannot set the title of the terminal.
        assert!(!seen.contains("\u{1b}]0;"), "{seen:?}");
    };
    check(
        &["y", "y"],
        [true, true],
        "? WriteFile src/1.txt needs approval",
    );
    check(
        &["y", "n"],
        [true, false],
        "  | \u{1b}[32m+one\\u{1b}]0;title\u{1b}[0m",
    );
    check(
        &["n not now"],
        [false, false],
        "Denied by the user: not now",
    );
    // After what is not an answer, the question is repeated.
    check(
        &["what?", "1", "s9", "y", "n"],
        [true, false],
        "y once, n no, n REASON, s this session or a always: WriteFile(src/1.txt)",
    );
    // A rule for good is in the user's file, and nowhere else.
    let (_, workshop) = approved(&["a2"]);
    let kept = workshop.read("config/gadgetry/config.toml");
    let rule = "[approvals]\nrules = [{ allow = \"WriteFile(src/**)\" }]\n";
    assert_eq!(kept, rule);
    // The second rule allows the folder, so the second call is not asked about.
    check(
        &["s2"],
        [true, true],
        ", s2 or a2: WriteFile(src/**), s3 or a3: WriteFile\r\n",
    );
}

/// The catalogue fits the terminal, and is complete in a pipe.
#[test]
fn the_catalogue_is_as_wide_as_the_terminal() {
    let workshop = Workshop::new("");
    let models = format!("stty cols 90; {GADGETRY} models --all");
    let shown = seen(&workshop, &models);
    assert!(
        shown.lines().all(|line| line.chars().count() <= 90),
        "{shown}"
    );
    let piped = seen(&workshop, &format!("{models} > all.txt"));
    assert_eq!(piped, "");
    let all = workshop.read("all.txt");
    assert_eq!(all.lines().count(), shown.lines().count());
    assert!(all.lines().any(|line| line.chars().count() > 200));
    assert!(!all.contains('…'));
}
