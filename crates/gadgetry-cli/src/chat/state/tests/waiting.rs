//! Notes and messages while the model writes.

use super::*;

/// The places of texts in a screen, which must be in this order.
fn check_order(shown: &str, texts: &[&str]) {
    let mut at = 0;
    for text in texts {
        let found = shown[at..].find(text);
        at += found.unwrap_or_else(|| panic!("{text} is not there: {shown}")) + text.len();
    }
}

#[test]
fn a_note_does_not_end_a_code_block() {
    let mut played = Played::new();
    let text = |text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!(r#""type": "text", "text": {text}"#)
    };
    played.step(0, Message::Began("go".to_owned()));
    played.event(&text("```python\nx = 1  # **a**\n"));
    played
        .keys("/cost\n")
        .step(0, Message::Added("and".to_owned()));
    let (_, live) = played.screen(80, 24);
    check_order(&live, &["tokens out"]);
    played.step(0, Message::Read("and".to_owned()));
    played.event(&text("y = 2  # **b**\n```\n\nDone **c**."));
    played.event(
        r#""type": "model_call_end", "iteration": 1, "stopReason": "stop", "usage": { "inputTokens": 4, "outputTokens": 1 }, "cost": 0"#,
    );
    played.event(&text("Next **d**."));
    let (settled, live) = played.screen(80, 24);
    check_order(
        &settled,
        &["y = 2  # **b**", "Done c.", "tokens out", "> and"],
    );
    check_order(&live, &["Next d."]);
}

#[test]
fn messages_that_wait_are_shown_or_in_the_input_again() {
    let waits = |played: &mut Played| {
        played.step(0, Message::Began("go".to_owned()));
        for text in ["one", "two"] {
            played.step(0, Message::Added(text.to_owned()));
        }
        played.effects();
    };
    let ends = |played: &mut Played, result| {
        for text in ["one", "two"] {
            played.step(0, Message::NotInjected(text.to_owned()));
        }
        played.step(0, Message::Ended(result));
        played.effects()
    };
    let mut played = Played::new();
    waits(&mut played);
    assert_eq!(ends(&mut played, Ok(())), [Effect::Send("one".to_owned())]);
    played.step(0, Message::Began("one".to_owned()));
    let (settled, _) = played.screen(80, 24);
    check_order(&settled, &["> go", "begins another one", "> one"]);

    let mut played = Played::new();
    waits(&mut played);
    played.keys("three").press(10, KeyCode::Esc);
    assert_eq!(played.effects(), [Effect::CancelRun]);
    let cancelled = Err(Failure::Run("cancelled".to_owned()));
    assert_eq!(ends(&mut played, cancelled), []);
    let (_, live) = played.screen(80, 24);
    check_order(&live, &["one", "two", "three"]);
}
