//! Commands while they run, and runs that fail.

use super::*;

#[test]
fn the_output_of_commands_is_shown_while_they_run() {
    let mut played = Played::new();
    played.step(0, Message::Began("go".to_owned()));
    let start = r#""call": 3, "invocationId": "a", "gadgetName": "RunCommand""#;
    let call = r#""parameters": {"command": "make"}"#;
    let start_event = format!(r#""run": "s.1.x", "type": "gadget_start", {start}, {call}"#);
    played.event(&start_event);
    let lines = [1, 2, 3, 4, 5, 6, 7]
        .map(|it| format!("line {it}\n"))
        .concat();
    played.step(0, Message::Output("s.1.x/3".to_owned(), lines));
    let (_, live) = played.screen(60, 24);
    let shown =
        "make 0.0 s\n  … 2 lines before\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7\n";
    assert!(live.contains(shown), "{live}");
    // Output of another call, and of one that has ended, is nobody's.
    played.step(0, Message::Output("s.1.x/4".to_owned(), "other".to_owned()));
    let result = format!(
        r#""run": "s.1.x", "type": "gadget_result", {start}, "result": "status=0\n\nall done", "durationMs": 10, "completesRun": false, "executed": true"#
    );
    played.event(&result);
    played.step(0, Message::Output("s.1.x/3".to_owned(), "late".to_owned()));
    let (settled, live) = played.screen(60, 24);
    let text = settled + &live;
    assert!(
        text.contains("all done") && !text.contains("line 7"),
        "{text}"
    );
    assert!(!text.contains("late") && !text.contains("other"), "{text}");
    // The same for a command of the user.
    played.step(0, Message::Ended(Ok(())));
    played.keys("!make\n");
    played.step(0, Message::Output("!".to_owned(), "half\n".to_owned()));
    let (_, live) = played.screen(60, 24);
    assert!(live.contains("  half\n⠋ $ make"), "{live}");
}

#[test]
fn the_output_of_a_command_that_was_cancelled_stays() {
    let check = |end: Message, expected: &str| {
        let mut played = Played::new();
        played.step(0, Message::Began("go".to_owned()));
        let start = r#""run": "s.1.x", "type": "gadget_start", "call": 3, "invocationId": "a", "gadgetName": "RunCommand", "parameters": {"command": "make"}"#;
        played.event(start);
        let lines = [1, 2, 3, 4, 5, 6].map(|it| format!("line {it}\n"));
        played.step(0, Message::Output("s.1.x/3".to_owned(), lines.concat()));
        played.screen(60, 24);
        // A key prints all of it, also while it grows.
        let all = "  line 1\n  line 2\n  line 3\n  line 4\n  line 5\n  line 6";
        let (settled, _) = played.control(0, 'o').screen(60, 24);
        assert_eq!(settled, all);
        played.step(0, end);
        let (settled, _) = played.screen(60, 24);
        let output = "  … 1 line before\n  line 2\n  line 3\n  line 4\n  line 5\n  line 6\n";
        let expected = expected.replace("OUTPUT", output);
        assert_eq!(settled, expected);
        let (settled, _) = played.control(0, 'o').screen(60, 24);
        assert!(settled.ends_with(all), "{settled}");
    };
    let cancelled_with = |error: &str| {
        let event = r#"{ "v": 1, "seq": 0, "timeMs": 0, "run": "s.1.x", "type": "gadget_result", "call": 3, "invocationId": "a", "gadgetName": "RunCommand", "error": "ERROR", "durationMs": 10, "completesRun": false, "executed": true }"#;
        serde_json::from_str(&event.replace("ERROR", error)).expect("an event")
    };
    let cancelled = cancelled_with("it was cancelled");
    check(
        Message::Run(Box::new(cancelled)),
        "✗ $ make\nOUTPUT  it was cancelled",
    );
    let with_output =
        "it was cancelled\\n\\nline 1\\nline 2\\nline 3\\nline 4\\nline 5\\nline 6\\n";
    let cancelled = cancelled_with(with_output);
    check(
        Message::Run(Box::new(cancelled)),
        "✗ $ make\nOUTPUT  it was cancelled",
    );
    check(
        Message::Ended(Ok(())),
        "- $ make\nOUTPUT  ended with the run",
    );
}

#[test]
fn a_failure_is_said_once() {
    let mut played = Played::new();
    played.step(0, Message::Began(String::new()));
    let error = r#""type": "model_retry", "iteration": 1, "attempt": 1, "left": 2, "delayMs": 1500, "kind": "overloaded", "error": "overloaded""#;
    played.event(error);
    let (settled, live) = played.screen(60, 24);
    assert_eq!(settled, "model call failed (attempt 1 of 4): overloaded");
    assert!(live.starts_with("⠋ retrying in 1.5 s · 0.0 s"), "{live}");
    let problem = format!("model call failed: {}", "line\n".repeat(30));
    played.step(0, Message::Ended(Err(Failure::Model(problem))));
    let (settled, _) = played.screen(60, 24);
    assert!(
        settled.starts_with("model call failed: line\nline\n"),
        "{settled}"
    );
    let end = "\nline\n… 10 more lines\nUp, then Enter sends the message again";
    assert!(settled.ends_with(end), "{settled}");
}
