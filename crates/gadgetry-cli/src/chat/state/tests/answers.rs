//! Keys that approve.

use super::*;

#[test]
fn keys_approve_only_after_a_pause_and_with_an_empty_line() {
    let approve = |keys: fn(&mut Played) -> &mut Played| {
        let mut played = Played::new();
        played.step(0, Message::Began(String::new())).approval(7);
        keys(&mut played);
        played.effects()
    };
    let decided = |verdict: Verdict| vec![Effect::Decide(7, verdict)];
    let check = |keys: fn(&mut Played) -> &mut Played, expected: Vec<Effect>| {
        assert_eq!(approve(keys), expected);
    };
    check(
        |it| it.press(300, KeyCode::Char('y')),
        decided(Verdict::Once),
    );
    check(
        |it| it.press(300, KeyCode::Char('Y')),
        decided(Verdict::Once),
    );
    check(
        |it| it.press(300, KeyCode::Char('n')).press(1, KeyCode::Enter),
        decided(Verdict::No(None)),
    );
    check(
        |it| it.press(300, KeyCode::Char('n')).keys("too bad\n"),
        decided(Verdict::No(Some("too bad".to_owned()))),
    );
    check(
        |it| {
            it.press(300, KeyCode::Char('n'))
                .press(1, KeyCode::Esc)
                .press(300, KeyCode::Char('y'))
        },
        decided(Verdict::Once),
    );
    check(|it| it.control(10, 'c'), decided(Verdict::No(None)));
    check(|it| it.press(10, KeyCode::Esc), decided(Verdict::No(None)));
    // None of these approves.
    check(|it| it.press(300, KeyCode::Char('1')), vec![]);
    check(|it| it.press(299, KeyCode::Char('y')), vec![]);
    check(
        |it| it.press(300, KeyCode::Enter).press(10, KeyCode::Char('y')),
        vec![],
    );
    check(
        |it| {
            it.press(300, KeyCode::Char('x'))
                .press(400, KeyCode::Char('y'))
        },
        vec![],
    );
    check(|it| it.step(300, Message::Paste("y".to_owned())), vec![]);
    check(|it| it.keys("yes").press(400, KeyCode::Char('y')), vec![]);
}

#[test]
fn an_answer_that_lasts_needs_enter_as_well() {
    let check = |step: fn(&mut Played) -> &mut Played, expected: Option<Verdict>, row: &str| {
        let mut played = Played::new();
        played.step(0, Message::Began(String::new())).approval(7);
        step(&mut played);
        let expected = expected.map(|it| Effect::Decide(7, it));
        assert_eq!(played.effects(), Vec::from_iter(expected), "{row}");
        let (_, live) = played.screen(100, 24);
        assert!(live.contains(row), "{row} in\n{live}");
    };
    let back = "y once  n no  Tab another rule  s this session, a always: Run(rm";
    let typed = |text: &str| format!("Send or clear the input line first\n> {text}\n");
    // The first key shows what would be allowed.
    check(
        |it| it.press(300, KeyCode::Char('a')).step(300, Message::Tick),
        None,
        "\nEsc goes back  Enter always allows: Run(rm -r x)\n",
    );
    check(
        |it| {
            it.press(300, KeyCode::Tab)
                .press(300, KeyCode::Char('s'))
                .step(300, Message::Tick)
        },
        None,
        "\nEsc goes back  Enter allows for this session: Run(rm *)\n",
    );
    check(
        |it| it.press(300, KeyCode::Char('a')).press(300, KeyCode::Enter),
        Some(Verdict::Always(0)),
        "",
    );
    check(
        |it| it.press(300, KeyCode::Char('S')).press(300, KeyCode::Enter),
        Some(Verdict::Session(0)),
        "",
    );
    check(
        |it| {
            it.press(300, KeyCode::Tab)
                .press(300, KeyCode::Char('s'))
                .press(300, KeyCode::Enter)
        },
        Some(Verdict::Session(1)),
        "",
    );
    // A message stays a message, however slowly it is typed.
    check(
        |it| it.press(300, KeyCode::Char('a')).keys("lso this"),
        None,
        &typed("also this"),
    );
    check(
        |it| {
            it.press(300, KeyCode::Char('s'))
                .press(300, KeyCode::Char('a'))
                .press(300, KeyCode::Char('y'))
        },
        None,
        &typed("say"),
    );
    check(
        |it| {
            it.press(300, KeyCode::Char('a'))
                .step(300, Message::Paste("nd".to_owned()))
        },
        None,
        &typed("and"),
    );
    check(
        |it| it.press(300, KeyCode::Char('a')).press(299, KeyCode::Enter),
        None,
        "\nEsc goes back  … always allows: Run(rm -r x)\n",
    );
    // Other keys go back, and refuse nothing.
    for key in [KeyCode::Esc, KeyCode::Backspace, KeyCode::Tab] {
        let mut played = Played::new();
        played.step(0, Message::Began(String::new())).approval(7);
        played.press(300, KeyCode::Char('a')).press(300, key);
        played.step(300, Message::Tick);
        assert!(played.screen(100, 24).1.contains(back), "{key:?}");
        played.press(0, KeyCode::Enter);
        assert_eq!(played.effects(), [], "{key:?}");
    }
    // It is an answer to this question alone.
    check(
        |it| {
            it.press(300, KeyCode::Char('a'))
                .step(0, Message::Withdrawn(7))
                .approval(8)
                .press(300, KeyCode::Enter)
        },
        None,
        "Run Run?",
    );
    check(
        |it| it.press(300, KeyCode::Char('a')).control(10, 'c'),
        Some(Verdict::No(None)),
        "",
    );
}
