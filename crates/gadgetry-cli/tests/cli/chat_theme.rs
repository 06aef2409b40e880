//! Colours of `gadgetry chat`.

use super::screen::{CTRL_D, Screen};
use super::workshop::{Workshop, reply};

/// The mark of a prompt in the colour of names: cyan, and blue on a light background.
const DARK: &str = "\x1b[0;36m> ";
const LIGHT: &str = "\x1b[0;34m> ";
const NONE: &str = "\x1b[0;1mgadgetry";

/// A conversation with these arguments and variables, in a terminal that answers so; whether it asks, and the colours that it ends with.
#[track_caller]
fn check(args: &[&str], variables: &[(&str, &str)], answer: &str, asks: bool, colors: &str) {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    let usual = ["chat", "--model", "script:script.jsonl"];
    let args = [&usual, args].concat();
    let mut screen = Screen::start(&workshop, (80, 24), &args, variables);
    screen.shows("Message, /help");
    assert_eq!(screen.bytes().contains("\x1b]11;?"), asks, "{args:?}");
    // With keys around it.
    screen.keys("a");
    screen.keys(answer);
    screen.say("b");
    let text = screen.shows("One.");
    assert!(text.contains("> ab\n"), "{text}");
    screen.rests();
    let before = screen.bytes().len();
    screen.say("c");
    screen.shows("Two.");
    screen.rests();
    let bytes = screen.bytes().split_off(before);
    let is_plain = colors == NONE;
    for mark in [DARK, LIGHT] {
        let expected = !is_plain && mark == colors;
        assert_eq!(
            bytes.contains(mark),
            expected,
            "{args:?} {variables:?}: {bytes:?}"
        );
    }
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

#[test]
fn colours_suit_the_background() {
    let white = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
    let black = "\x1b]11;rgb:0000/0000/0000\x07";
    check(&[], &[], "", true, DARK);
    check(&[], &[], white, true, LIGHT);
    check(&[], &[("COLORFGBG", "0;15")], "", true, LIGHT);
    check(&[], &[("COLORFGBG", "0;15")], black, true, DARK);
    check(&[], &[("NO_COLOR", "1")], "", false, NONE);
    check(
        &["--theme", "light"],
        &[("NO_COLOR", "1")],
        "",
        false,
        LIGHT,
    );
    check(
        &["--theme", "dark"],
        &[("COLORFGBG", "0;15")],
        "",
        false,
        DARK,
    );
    check(&["--theme", "none"], &[], "", false, NONE);
}
