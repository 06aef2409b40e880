//! `#[gadget(…)]` on the function.

use super::{read, tokens};

const KNOWN: &str = "`#[gadget]` knows `name`, `description`, `timeout`, `max_concurrent`, `exclusive`, `blocking`, `sticky_result`, `unterminated`, `on_interrupt`, `permission`, `preview`, `example`";
const TIMEOUT: &str = "a timeout is a text such as \"500ms\", \"10s\" or \"2m\", or a whole number of milliseconds, \
     and greater than 0";
const COUNT: &str = "`max_concurrent` is a whole number, 1 or more";
const NAME: &str =
    "a gadget's name has no `:`, whitespace or control character, and does not begin with `!!!`";

/// `arguments` of a flawless function have exactly these mistakes.
fn check(arguments: &str, expected: &[&str]) {
    let (_, said) = read(arguments, "/// Rings.\nfn ring() {}");
    assert_eq!(said, expected, "{arguments}");
}

#[test]
fn all_are_read() {
    let arguments = r#"
        name = "bell", description = " Rings. ", timeout = "1.5s", max_concurrent = 2, exclusive, sticky_result, unterminated = "confirm", on_interrupt = "rerun",
        permission = "ask", preview = previews::of_ring,
        example(params = {"times": 1}, output = "ding", comment = "Once"), example(params = {}),
    "#;
    let (gadget, said) = read(arguments, "/// Not this.\nfn ring() {}");
    assert_eq!(said, [""; 0]);
    assert_eq!(gadget.type_name.expect("a name"), "Ring");
    assert_eq!(gadget.name, "bell");
    assert_eq!(gadget.description, "Rings.");
    let options = gadget.options;
    assert_eq!(options.timeout_ms, Some(1500));
    assert_eq!(options.max_concurrent, Some(2));
    assert!(options.exclusive && options.sticky_result);
    assert_eq!(options.unterminated, Some("Confirm"));
    assert_eq!(options.on_interrupt, Some("Rerun"));
    assert_eq!(options.permission, Some("Ask"));
    let preview = options.preview.as_ref().expect("a path");
    assert_eq!(preview.segments.len(), 2);
    let [once, bare] = options.examples.as_slice() else {
        panic!("not two examples");
    };
    let params = tokens(r#"{"times": 1}"#).to_string();
    assert_eq!(once.params.to_string(), params);
    assert_eq!(once.output.as_ref().expect("output").value(), "ding");
    assert_eq!(once.comment.as_ref().expect("comment").value(), "Once");
    assert!(bare.output.is_none() && bare.comment.is_none());
}

#[test]
fn they_have_right_forms() {
    let unknown = format!("unknown argument `speed`: {KNOWN}");
    let needs_value = r#"`timeout` needs a value: `timeout = "10s"`"#;
    for (arguments, expected) in [
        ("timeout = Map::<A, B>::new()", TIMEOUT),
        ("speed = Map::<A, B>::new()", &unknown),
        ("speed", &unknown),
        ("speed(1, 2)", &unknown),
        ("speed = {\"a\": 1, \"b\": 2}", &unknown),
        ("\"ring\"", KNOWN),
        ("exclusive, exclusive", "`exclusive` is given twice"),
        (
            "exclusive = true",
            "`exclusive` takes no value: `exclusive`",
        ),
        ("timeout", needs_value),
        ("timeout =", needs_value),
        ("timeout = , exclusive", needs_value),
        ("timeout(3)", needs_value),
        (
            "name = 3",
            r#"`name` is a string literal: `name = "Weather"`"#,
        ),
        (r#"name = "a" "b""#, "expected `,`"),
        (
            r#"permission = "maybe""#,
            r#"`permission` is "allow", "ask" or "deny""#,
        ),
        (
            r#"unterminated = "maybe""#,
            r#"`unterminated` is "execute" or "confirm""#,
        ),
        (
            r#"preview = "of_ring""#,
            "`preview` names a function: `preview = preview_of_delete`",
        ),
        (
            r#"name = """#,
            "a gadget has a name; without `name` it is that of its type",
        ),
        (r#"name = "a b""#, NAME),
        (r#"name = "a:b""#, NAME),
        (r#"name = "!!!Ab""#, NAME),
        (r#"name = "a\u{7}b""#, NAME),
    ] {
        check(arguments, &[expected]);
    }
    for flawless in [
        "",
        "timeout = 250",
        "timeout = \"2m\",",
        "name = \"math.add\"",
    ] {
        check(flawless, &[]);
    }
    for value in ["\"10\"", "\"0s\"", "0", "-1", "1.5", "LONG"] {
        check(&format!("timeout = {value}"), &[TIMEOUT]);
    }
    for value in ["\"2\"", "0", "-1", "99999999999"] {
        check(&format!("max_concurrent = {value}"), &[COUNT]);
    }
}

#[test]
fn examples_have_right_forms() {
    check(
        "example",
        &[r#"`example` needs parentheses: `example(params = {"city": "Paris"}, output = "21°C")`"#],
    );
    check(
        "example(comment = \"c\")",
        &[
            r#"an example needs its parameters: `example(params = {"city": "Paris"}, output = "21°C")`"#,
        ],
    );
    check(
        "example(params = 3, output = 4, note = \"x\", comment = \"c\", comment = \"d\")",
        &[
            r#"`params` is a JSON object: `params = {"city": "Paris"}`"#,
            r#"`output` is a string literal: `output = "21°C"`"#,
            "unknown argument `note`: an example knows `params`, `output`, `comment`",
            "`comment` is given twice",
        ],
    );
}

#[test]
fn parameters_of_examples_are_json() {
    let key = r#"a JSON key is a string literal: `"city": "Paris"`"#;
    for (params, expected) in [
        (
            r#"{"a": 1, "b": -1.5, "c": [true, null, {"d": N + 1}], "e": {},}"#,
            &[][..],
        ),
        (r#"{"a" 1}"#, &["expected `:`"]),
        (r#"{"a": 1 "b": 2}"#, &["expected `,`"]),
        ("{a: 1}", &[key]),
        ("{'a': 1}", &[key]),
        (r#"{"a": [1; 2]}"#, &["expected `,`"]),
        (
            r#"{"a": }"#,
            &["unexpected end of input, expected an expression"],
        ),
    ] {
        check(
            &format!("example(params = {params}, output = \"x\")"),
            expected,
        );
    }
}

#[test]
fn one_mistake_does_not_hide_the_next() {
    check(
        r#"timeout = "soon", max_concurrent = 0, speed = 3, exclusive = 1, name = "a b", timeout = 1"#,
        &[
            TIMEOUT,
            COUNT,
            &format!("unknown argument `speed`: {KNOWN}"),
            "`exclusive` takes no value: `exclusive`",
            "`timeout` is given twice",
            NAME,
        ],
    );
}
