//! `gadgetry gadget run` in a terminal: the parameters are asked for field by field.

use super::screen::Screen;
use super::workshop::Workshop;

const GADGET: &str = r#"
[[gadget]]
name = "Order"
description = "Orders"
command = ["cat"]
[gadget.parameters]
type = "object"
required = ["size"]
[gadget.parameters.properties]
size = { type = "integer", minimum = 1, maximum = 9, description = "Pieces\u001b[2J" }
colour = { type = "string", enum = ["red", "blue"], default = "red" }
tags = { type = "array", items = { type = "string" } }
[gadget.parameters.properties.to]
type = "object"
required = ["city"]
properties = { city = { type = "string" }, express = { type = "boolean" } }
[[gadget]]
name = "None"
description = "Needs nothing"
command = ["echo", "done"]
"#;

const SIZE: &str = "? size (integer; required; 1 to 9): Pieces\\u{1b}[2J";

fn start(name: &str, args: &[&str]) -> (Screen, Workshop) {
    let workshop = Workshop::new("");
    workshop.write("order.toml", GADGET);
    let run = ["gadget", "run", name, "--gadgets", "order.toml"];
    let screen = Screen::start(&workshop, (120, 40), &[&run, args].concat(), &[]);
    (screen, workshop)
}

/// What the terminal shows in the end, after these answers to these questions.
#[track_caller]
fn check(answers: &[(&str, &str)], code: u32, end: &str) {
    let (mut screen, _workshop) = start("Order", &[]);
    for (question, answer) in answers {
        screen.shows(question);
        screen.keys(answer);
    }
    let (ended, text) = screen.ends();
    assert_eq!(ended, code, "{text}");
    assert!(text.ends_with(end), "{text}");
}

const COLOUR: &str = "? colour (one of red | blue; optional; default red)";
const TAGS: &str = "? tags (array of string; optional; items separated by commas, or JSON)";
const TO: &str = "? to (object; optional; yes to fill it in, or JSON)";

#[test]
fn each_field_is_a_question() {
    check(
        &[
            (SIZE, "3\r"),
            (COLOUR, "Blue\r"),
            (TAGS, "a, b\r"),
            (TO, "yes\r"),
            ("? to/city (string; required)", "Oslo\r"),
            ("? to/express (boolean; optional)", "no\r"),
        ],
        0,
        r#"{"size":3,"colour":"blue","tags":["a","b"],"to":{"city":"Oslo","express":false}}"#,
    );
    // What is left out is left out, and defaults are those of the gadget.
    check(
        &[(SIZE, "3\r"), (COLOUR, "\r"), (TAGS, "\r"), (TO, "\r")],
        0,
        r#"{"size":3,"colour":"red"}"#,
    );
}

#[test]
fn an_invalid_answer_is_asked_for_again() {
    check(
        &[
            (SIZE, "\r"),
            ("? invalid: a value is required; size", "ten\r"),
            (
                "? invalid: expected integer, got string \"ten\"; size",
                "10\r",
            ),
            ("? invalid: must be at most 9, got 10; size", "9\r"),
            (COLOUR, "\r"),
            (TAGS, "\r"),
            (TO, "{}\r"),
            ("? invalid: to.city: ", "{\"city\": \"Rome\"}\r"),
        ],
        0,
        r#"{"size":9,"to":{"city":"Rome"},"colour":"red"}"#,
    );
}

#[test]
fn the_user_can_leave() {
    check(&[(SIZE, "\x04")], 1, "error: cancelled");
    check(&[(SIZE, "3\r"), (COLOUR, "\x03")], 1, "error: cancelled");
}

#[test]
fn without_fields_and_with_an_option_nothing_is_asked() {
    let check = |name: &str, args: &[&str], end: &str| {
        let (screen, _workshop) = start(name, args);
        let (code, text) = screen.ends();
        assert_eq!((code, &*text), (0, end));
    };
    check("None", &[], "done");
    let params = ["--params", r#"{"size": 1}"#];
    check("Order", &params, r#"{"size":1,"colour":"red"}"#);
}
