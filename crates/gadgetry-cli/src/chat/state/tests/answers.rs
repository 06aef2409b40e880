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
    // It ends the run, and all questions with it.
    check(|it| it.control(10, 'c'), vec![Effect::CancelRun]);
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
}

#[test]
fn nothing_is_approved_before_its_last_page() {
    let subject: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
    let approval = |subject: String| Approval {
        gadget: "Run".to_owned(),
        subject,
        rules: vec!["Run".to_owned()],
        ..Approval::default()
    };
    let opened = || {
        let mut played = Played::new();
        let open = Message::Approval(1, approval(subject.join("\n")));
        played.step(0, Message::Began(String::new())).step(0, open);
        played
    };
    let check = |played: &mut Played, first: usize, last: usize, keys: &str| {
        let (settled, live) = played.screen(80, 24);
        assert_eq!(settled.trim_matches('\n').trim_start_matches("? Run"), "");
        let rows: Vec<&str> = live.lines().filter(|it| it.starts_with("  │ ")).collect();
        let expected: Vec<String> = (first..=last).map(|it| format!("  │ line {it}")).collect();
        assert_eq!(rows, expected);
        assert!(live.contains(keys), "{live}");
    };
    let mut played = opened();
    let more = "Space shows more (25 more lines)  n no  PgUp goes back  End prints all";
    check(&mut played, 1, 15, more);
    for key in ['y', 's', 'a', 'Y'] {
        played.press(300, KeyCode::Char(key));
    }
    assert_eq!(played.effects(), []);
    // Space counts at once, because it approves nothing.
    played
        .press(0, KeyCode::Char(' '))
        .press(0, KeyCode::Char('y'));
    check(&mut played, 16, 30, "(10 more lines)");
    // What was typed too early is nothing.
    played.press(10, KeyCode::PageUp);
    check(&mut played, 1, 15, "(25 more lines)");
    played.keys("  ").press(0, KeyCode::Char(' '));
    check(
        &mut played,
        31,
        40,
        "Run Run? (PgUp goes back, End prints all)",
    );
    played.step(300, Message::Tick);
    check(&mut played, 31, 40, "y once  n no  s this session");
    played.press(10, KeyCode::PageUp);
    check(&mut played, 16, 30, "Run Run?");
    played.press(299, KeyCode::Char('y'));
    assert_eq!(played.effects(), []);
    played.press(300, KeyCode::Char('y'));
    assert_eq!(played.effects(), [Effect::Decide(1, Verdict::Once)]);
    // The end is everything, so nothing is left out.
    let mut played = opened();
    played.screen(80, 24);
    played.press(0, KeyCode::End);
    let (settled, live) = played.screen(80, 24);
    assert!(settled.starts_with("  │ line 1\n") && settled.ends_with("\n  │ line 40"));
    assert!(!live.contains("Space"), "{live}");
    played.press(300, KeyCode::Char('y'));
    assert_eq!(played.effects(), [Effect::Decide(1, Verdict::Once)]);
    // It can be refused at any time.
    let mut played = Played::new();
    let open = Message::Approval(1, approval("x".repeat(30_000)));
    played.step(0, Message::Began(String::new())).step(0, open);
    assert!(played.screen(80, 24).1.contains("(405 more lines)"));
    played
        .press(300, KeyCode::Char('n'))
        .press(10, KeyCode::Enter);
    assert_eq!(played.effects(), [Effect::Decide(1, Verdict::No(None))]);
}
