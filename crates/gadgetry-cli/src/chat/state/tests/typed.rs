//! Characters that come at once, which do what the key of each does.

use super::*;

#[test]
fn characters_at_once_are_keys() {
    let check = |scene: fn(&mut Played) -> &mut Played, text: &str| {
        let (mut at_once, mut by_keys) = (Played::new(), Played::new());
        scene(&mut at_once).step(300, Message::Text(text.to_owned()));
        scene(&mut by_keys).step(300, Message::Tick);
        for c in text.chars() {
            by_keys.press(0, KeyCode::Char(c));
        }
        for then in ["", "\n"] {
            let results = [&mut at_once, &mut by_keys].map(|it| {
                it.keys(then);
                let cover = it.app.overlay(60, 24);
                (it.effects(), it.screen(60, 24), cover)
            });
            assert_eq!(results[0], results[1], "{text:?} {then:?}");
        }
    };
    let scenes: [fn(&mut Played) -> &mut Played; 9] = [
        |it| it,
        |it| it.keys("some text ").press(0, KeyCode::Left),
        |it| it.keys("old\n").step(0, Message::Began("old".to_owned())),
        |it| it.keys("older\n").control(0, 'r'),
        |it| it.keys("older\n").control(0, 't').keys("/"),
        |it| it.step(0, Message::Began(String::new())).approval(7),
        |it| it.approval(7).press(300, KeyCode::Char('n')),
        |it| it.approval(7).press(300, KeyCode::Char('a')),
        |it| it.step(0, Message::Question(7, "Which?".to_owned())),
    ];
    for scene in scenes {
        for text in [
            "x",
            "yes",
            "1. this",
            " a  b",
            "/he",
            "/model sm",
            "日本語 é",
            "!ls",
            "a@",
            "\\",
        ] {
            check(scene, text);
        }
    }
    check(|it| it, &"word ".repeat(200));
}

/// What does not fit is not added, and the user sees that.
#[test]
fn the_line_is_filled_and_not_more() {
    let mut played = Played::new();
    let long = "é".repeat(32 << 10);
    played.step(0, Message::Text(long.clone()));
    assert!(played.screen(80, 24).0.contains("a message has at most"));
    played.keys("\n");
    let sent = Effect::Send(long[..(64 << 10) - 2].to_owned());
    assert_eq!(played.effects().pop(), Some(sent));
}
